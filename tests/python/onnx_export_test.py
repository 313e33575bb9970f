"""Networks exported to ONNX, run by ONNX Runtime, against the NumPy reference."""

import sys
from pathlib import Path

import numpy as np
import pytest

import tilewright as tw
import tilewright.graph
import tilewright.symbol as sym
from tilewright.contrib import onnx_export
from tilewright.testing import zoo

import numpy_graph

sys.path.insert(0, str(Path(__file__).parent))
from operator_cases import ROWS, sample, samples  # noqa: E402

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
# What the cases of the NumPy reference leave to it.
MORE_CASES = {
    "avg_pool2d": [
        ([(1, 2, 7, 6)], {"pool_size": (3, 2), "padding": (1, 0, 1, 1), "count_include_pad": True}),
        ([(1, 7, 6, 2)], {"pool_size": 3, "strides": 2, "padding": 1, "layout": "NHWC"}),
    ],
    "max_pool2d": [([(7, 6, 1, 2)], {"pool_size": (3, 2), "strides": (2, 1), "padding": 1, "layout": "HWNC", "ceil_mode": True})],
    "conv2d": [([(1, 3, 5, 5), (2, 3, 3, 3)], {"channels": 2, "kernel_size": 3, "padding": 1, "use_bias": False})],
}


def outputs_of(model, inputs):
    onnx.checker.check_model(model, full_check=True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # no remarks on what it optimizes
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {value.name: inputs[value.name] for value in session.get_inputs()})


@pytest.mark.parametrize("operator", sorted(set(onnx_export.operators()) & set(ROWS)))
def test_operators(operator):
    """All cases but those with an attribute that is refused."""
    exported = 0
    for shapes, attributes in ROWS[operator].cases + MORE_CASES.get(operator, []):
        arrays = samples(operator, shapes)
        symbol = getattr(sym, operator)(*(sym.Variable(name) for name in arrays), **attributes)
        everything = sym.Group([output for output in symbol.get_internals() if not output.attr("name").startswith("x")])
        try:
            model = onnx_export.to_onnx(everything, shape={name: array.shape for name, array in arrays.items()})
        except tw.UserError as error:
            assert "cannot be exported" in str(error)
            continue
        exported += 1
        for found, referred in zip(outputs_of(model, arrays), numpy_graph.run(everything, arrays), strict=True):
            assert found.shape == referred.shape and found.dtype == referred.dtype
            referred = np.nan_to_num(referred)  # the maximum of padding alone is the least number there
            np.testing.assert_allclose(found, referred, rtol=2e-5, atol=1e-6, err_msg=f"{operator} {shapes} {attributes}")
    assert exported


def test_every_operator_has_a_case():
    assert set(onnx_export.operators()) <= set(ROWS)


@pytest.mark.parametrize("name", zoo.NETWORKS)
def test_networks(name):
    row = zoo.NETWORKS[name]
    shape = (2, *((3, 64, 64) if row.image_shape[1] > 64 else row.image_shape))
    symbol, params = zoo.get(name, batch_size=2, image_shape=shape[1:], dtype="float32")  # float64 has no kernels there
    model = onnx_export.to_onnx(symbol, params, {"data": shape})
    assert [value.name for value in model.graph.input] == ["data"]
    data = np.random.default_rng(0).standard_normal(shape).astype("float32")
    (found,) = outputs_of(model, {"data": data})
    (referred,) = numpy_graph.run(symbol, {"data": data, **params})
    assert found.shape == referred.shape
    assert abs(found - referred).max() <= 1e-4 * abs(referred).max()


def test_nodes_keep_their_names():
    symbol, params = zoo.get("squeezenet", image_shape=(3, 64, 64))
    model = onnx_export.to_onnx(symbol, params, {"data": (1, 3, 64, 64)})
    names = {node.name: node for node in model.graph.node}
    assert names["conv1"].op_type == "Conv" and list(names["conv1"].output) == ["conv1"]
    assert names["softmax"].op_type == "Softmax" and model.graph.output[0].name == "softmax"
    assert {value.name for value in model.graph.initializer} >= set(params)
    assert not [node for node in model.graph.node if node.name.startswith("drop/")], "the mask of a dropout is not read"


def test_names_that_are_taken():
    """A variable may be called what a step of another node would be."""
    data = sym.Variable("data")
    step = sym.Variable("mean/constant")
    both = sym.Group([sym.sum(data, axis=1, name="mean") + step, data, data])
    arrays = {"data": sample((2, 3), 0), "mean/constant": sample((2,), 1)}
    model = onnx_export.to_onnx(both, {"mean/constant": arrays["mean/constant"]}, {"data": (2, 3)})
    for found, referred in zip(outputs_of(model, arrays), numpy_graph.run(both, arrays), strict=True):
        np.testing.assert_allclose(found, referred, rtol=1e-6)


def test_types():
    data = sym.Variable("data")
    both = sym.Group([sym.cast(data, dtype="int32") + 1.75, sym.clip(sym.cast(data, dtype="int8"), a_min=-9, a_max=300)])
    arrays = {"data": sample((3,), 0).astype("float16")}
    model = onnx_export.to_onnx(both, shape={"data": (3,)}, dtype="float16")
    for found, referred in zip(outputs_of(model, arrays), numpy_graph.run(both, arrays), strict=True):
        assert found.dtype == referred.dtype
        np.testing.assert_array_equal(found, referred)


def test_what_cannot_be_exported_is_named():
    data = sym.Variable("data")
    with pytest.raises(tw.UserError, match="node 'b': axis=0 cannot be exported"):
        onnx_export.to_onnx(sym.batch_norm(data, axis=0, name="b"), shape={"data": (4,)})
    for refused in (sym.avg_pool2d(data, pool_size=2, dilation=2), sym.pad(data, pad_width=((1, 1),), pad_mode="symmetric")):
        with pytest.raises(tw.UserError, match="cannot be exported"):
            onnx_export.to_onnx(refused, shape={"data": (3,) if refused.attr("pad_width") else (1, 3, 4, 4)})
    gradient = tw.compiler.graph_util.get_gradient_graph(sym.conv2d(data, channels=2, kernel_size=1, name="c"), data)
    with pytest.raises(tw.UserError, match="calls '_conv2d_grad', which cannot be exported") as error:
        onnx_export.to_onnx(gradient, shape={"data": (1, 3, 4, 4)})
    assert error.value.code == "bad-argument"


def test_shapes_that_are_unknown_are_named():
    with pytest.raises(tw.UserError, match="the shape of 'data' is unknown"):
        onnx_export.to_onnx(sym.relu(sym.Variable("data")))
