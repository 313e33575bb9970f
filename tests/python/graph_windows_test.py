# SPDX-License-Identifier: Apache-2.0
"""Operators on windows and images of any number of spatial dimensions: what they refuse, and extents of 0."""

import numpy as np
import pytest

import tilewright as tw
import tilewright.symbol as sym
from tilewright import te

LINE, IMAGE, VOLUME = (1, 4, 8), (1, 4, 8, 8), (1, 4, 5, 6, 7)
CONV = {"channels": 6, "kernel_size": 3, "use_bias": False}


def inferred(op, shapes, attributes):
    inputs = [sym.Variable(f"x{k}", shape=shape) for k, shape in enumerate(shapes)]
    return tw.graph.create(getattr(sym, op)(*inputs, **attributes)).apply(["InferShape", "InferType"])


@pytest.mark.parametrize(("op", "shapes", "attributes", "said"), [
    ("conv1d", [LINE, (6, 4, 3)], {**CONV, "kernel_size": (3, 3)}, "kernel_size has 2 values; legal: one, or one for each of 1"),
    ("conv3d", [VOLUME, (6, 4, 3, 3, 3)], {**CONV, "padding": (1, 2)}, "padding has 2 values"),
    ("conv3d", [VOLUME, (6, 4, 3, 3, 3)], {**CONV, "strides": 0}, "strides of 0; legal: 1 or more"),
    ("conv1d", [LINE, (6, 4, 3)], {**CONV, "padding": -1}, "padding of -1; legal: 0 or more"),
    ("conv1d", [LINE, (6, 4, 9)], {**CONV, "kernel_size": 9}, "a window that spans 9 elements over 8"),
    ("conv1d", [LINE, (6, 4, 3)], {**CONV, "groups": 4}, "6 channels in 4 groups"),
    ("conv1d", [LINE, (6, 4, 3)], {**CONV, "layout": "NCHW"}, "layout is 'NCHW'; legal: a permutation of NCW"),
    ("conv1d_transpose", [LINE, (4, 6, 3)], {**CONV, "strides": 2, "output_padding": 2}, "output_padding 2; legal: less than the stride 2 or the dilation 1"),
    ("conv1d_transpose", [(1, 4, 1), (4, 6, 3)], {**CONV, "padding": 2}, "an output of -1 elements"),
    ("conv2d_transpose", [IMAGE, (4, 2, 3, 3)], {**CONV, "groups": 3}, "4 input channels in 3 groups"),
    ("conv2d_transpose", [IMAGE, (4, 6, 3, 2)], CONV, "input 'weight' is"),
    ("max_pool3d", [VOLUME], {"pool_size": 2, "layout": "NCHW"}, "layout is 'NCHW'; legal: a permutation of NCDHW"),
    ("max_pool1d", [LINE], {"pool_size": 2, "ceil_rule": "other"}, "ceil_rule 'other'; legal: tvm, pytorch"),
    ("avg_pool2d", [IMAGE], {"pool_size": 2, "dilation": 0}, "dilation of 0"),
    ("avg_pool2d", [IMAGE], {"pool_size": 3, "dilation": 4}, "a window that spans 9 elements over 8"),
    ("adaptive_avg_pool2d", [IMAGE], {"output_size": (1, 2, 3)}, "output_size has 3 values"),
    ("adaptive_max_pool1d", [LINE], {"output_size": 0}, "output_size of 0"),
    ("lp_pool2d", [IMAGE], {"pool_size": 2, "p": 0}, "a power of 0; legal: 1 or more"),
    ("resize2d", [IMAGE], {"size": (1, 2, 3)}, "size has 3 values"),
    ("resize2d", [IMAGE], {"size": 0}, "size of 0"),
    ("resize2d", [IMAGE], {"size": 4, "method": "other"}, "method 'other'; legal: nearest_neighbor, linear, cubic"),
    ("resize2d", [IMAGE], {"size": 4, "coordinate_transformation_mode": "other"}, "coordinate_transformation_mode 'other'"),
    ("resize2d", [IMAGE], {"size": 4, "rounding_method": "other"}, "rounding_method 'other'"),
    ("resize2d", [IMAGE], {"size": 4, "scales": (0.5,)}, "scales '(0.5,)'; legal: a tuple of 2 numbers"),
    ("resize2d", [IMAGE], {"size": 4, "scales": "(0.5, two)"}, "attribute 'scales' is '(0.5, two)'; legal: a number or a tuple of numbers"),
    ("resize2d", [IMAGE], {"size": 4, "coordinate_transformation_mode": "tf_crop_and_resize"}, "a tuple of 4 numbers"),
    ("resize", [IMAGE], {"size": 4, "method": "CUBIC"}, "method 'CUBIC'; legal: BILINEAR, NEAREST_NEIGHBOR"),
    ("upsampling", [IMAGE], {"scale": 0}, "a scale of 0"),
    ("upsampling3d", [VOLUME], {"scale": 2, "method": "BILINEAR"}, "method 'BILINEAR'; legal: NEAREST_NEIGHBOR, TRILINEAR"),
    ("pad", [(2, 3)], {"pad_width": ((0, 0), (1, 1)), "pad_mode": "other"}, "pad_mode 'other'"),
    ("pad", [(2, 0)], {"pad_width": ((0, 0), (1, 1)), "pad_mode": "edge"}, "elements to pad with"),
    ("lrn", [IMAGE], {"size": 0}, "a size of 0"),
    ("lrn", [IMAGE], {"size": 3, "axis": 4}, "axis 4 of a tensor of rank 4"),
])
def test_what_does_not_fit_is_named(op, shapes, attributes, said):
    with pytest.raises(tw.UserError) as error:
        inferred(op, shapes, attributes)
    assert said in str(error.value)


@pytest.mark.parametrize(("op", "attributes"), [("avg_pool1d", {"pool_size": 2}), ("lp_pool1d", {"pool_size": 2}), ("lrn", {"size": 3})])
def test_means_and_norms_of_integers_are_refused(op, attributes):
    x = te.placeholder((1, 2, 4), "int32", name="x")
    with pytest.raises(tw.UserError) as error:
        tw.graph.compute(getattr(sym, op)(sym.Variable("x"), **attributes), {"x": x})
    assert error.value.code == "type-mismatch"


@pytest.mark.parametrize(("op", "shape", "attributes", "expected"), [
    ("conv1d_transpose", (0, 4, 8), {"channels": 6, "kernel_size": 3, "strides": 2}, (0, 6, 17)),
    ("adaptive_avg_pool3d", (0, 4, 5, 6, 7), {"output_size": 3}, (0, 4, 3, 3, 3)),
    ("max_pool1d", (2, 0, 8), {"pool_size": 3}, (2, 0, 6)),
    ("resize2d", (2, 0, 3, 4), {"size": 5}, (2, 0, 5, 5)),
    ("pad", (2, 0), {"pad_width": ((1, 1), (0, 0)), "pad_mode": "wrap"}, (4, 0)),
])
def test_tensors_without_elements(op, shape, attributes, expected):
    weights = [(4, 6, 3), (6,)] if "conv" in op else []
    shapes = {f"x{k}": s for k, s in enumerate([shape, *weights])}
    inputs = {n: te.placeholder(s, name=n) for n, s in shapes.items()}
    (result,) = tw.graph.compute(getattr(sym, op)(*map(sym.Variable, shapes), **attributes), inputs)
    out = np.empty(expected, "float32")
    tw.build(te.create_schedule(result.op), [*inputs.values(), result])(*(np.ones(s, "float32") for s in shapes.values()), out)


def test_shapes_follow_from_the_output():
    """Of transposed convolutions and upsampled images the input's extents are known by the output's."""
    for op, attributes, result, data in (
        ("conv2d_transpose", {**CONV, "strides": 2, "padding": 1, "output_padding": 1}, (2, 6, 16, 8), (2, 4, 8, 4)),
        ("upsampling3d", {"scale": 2}, (2, 4, 4, 6, 8), (2, 4, 2, 3, 4)),
    ):
        weight = [sym.Variable("w", shape=(4, 6, 3, 3))] if "conv" in op else []
        z = sym.elemwise_add(getattr(sym, op)(sym.Variable("x"), *weight, **attributes), sym.Variable("y", shape=result))
        graph = tw.graph.create(z).apply("InferShape")
        assert tuple(graph.json_attr("shape")[graph.index.entry_id("x")]) == data
