"""Cases of each operator, odd and small: shapes of its inputs, and attributes."""

import numpy as np

import tilewright as tw
import tilewright.graph

import numpy_graph

OPERATORS = {op["name"]: op for op in tw.graph.operators()}

# Shapes that a function of elements is tried on, and pairs of them that broadcast.
SHAPES = [(), (1,), (3, 5), (2, 1, 7, 3)]
PAIRS = [((), ()), ((3, 1), (1, 5)), ((7,), (2, 3, 7)), ((2, 3, 1, 5), (3, 1, 1)), ((1,), ())]

ELEMENTS = [name for name, op in OPERATORS.items()
            if op["pattern"] == "ElemWise" and not op["variadic"] and not [a for a in op["attributes"] if a[2] is None]]
SCALAR = [name for name in OPERATORS if name.endswith("_scalar__")]
BROADCAST = [name for name in OPERATORS if name.startswith("broadcast_") and "_to" not in name]
MAX_WINDOWS = {"pool_size": (3, 2), "strides": (2, 3), "padding": (1, 0, 1, 1), "ceil_mode": True}
MEAN_WINDOWS = {"pool_size": (2, 3), "strides": (1, 2), "padding": (1, 2, 0, 1)}

CONV = {"channels": 6, "kernel_size": (3, 2)}
# Operator: shapes of the inputs and attributes.
CASES = {
    "conv2d": [
        ([(2, 4, 7, 6), (6, 4, 3, 2), (6,)], CONV),
        ([(1, 4, 7, 6), (6, 2, 3, 2)], {**CONV, "groups": 2, "strides": (2, 1), "padding": (1, 0), "use_bias": False}),
        ([(1, 3, 8, 9), (6, 1, 3, 2), (6,)], {**CONV, "groups": 3, "dilation": (2, 3), "padding": (0, 1, 2, 3)}),
        ([(1, 5, 5, 5), (5, 1, 1, 1)], {"channels": 5, "kernel_size": 1, "groups": 5, "strides": (2, 2), "use_bias": False}),
        ([(2, 7, 6, 4), (3, 2, 4, 6), (6,)], {**CONV, "layout": "NHWC", "kernel_layout": "HWIO", "strides": (2, 2), "padding": (1, 1)}),
        ([(7, 6, 2, 4), (6, 3, 2, 2)], {**CONV, "layout": "HWNC", "kernel_layout": "OHWI", "groups": 2, "use_bias": False}),
        ([(1, 1, 1, 1), (1, 1, 1, 1), (1,)], {"channels": 1, "kernel_size": (1, 1)}),
    ],
    "_conv2d_grad": [
        ([(2, 6, 5, 5), (2, 4, 7, 6), (6, 4, 3, 2)], CONV),
        ([(1, 6, 4, 5), (1, 4, 7, 6), (6, 2, 3, 2)], {**CONV, "groups": 2, "strides": (2, 1), "padding": (1, 0)}),
        ([(1, 7, 7, 6), (1, 7, 6, 4), (3, 2, 4, 6)], {**CONV, "layout": "NHWC", "kernel_layout": "HWIO", "padding": (1, 1)}),
    ],
    "_contrib_conv2d_NCHWc": [
        ([(2, 2, 7, 6, 4), (3, 2, 3, 2, 4, 2), (3, 2)], {**CONV, "layout": "NCHW4c", "kernel_layout": "OIHW4i2o", "out_layout": "NCHW2c"}),
        ([(1, 3, 7, 6), (2, 3, 3, 2, 3), (2, 3)], {**CONV, "layout": "NCHW", "kernel_layout": "OIHW3o", "out_layout": "NCHW3c", "strides": (2, 1)}),
        ([(1, 3, 8, 9, 2), (3, 1, 3, 2, 1, 2)],
         {**CONV, "groups": 6, "layout": "NCHW2c", "kernel_layout": "OIHW1i2o", "dilation": (2, 3), "padding": (0, 1, 2, 3), "use_bias": False}),
    ],
    "__layout_transform__": [
        ([(2, 8, 3, 5)], {"src_layout": "NCHW", "dst_layout": "NCHW4c"}),
        ([(2, 3, 5, 8)], {"src_layout": "NHWC", "dst_layout": "NCHW"}),
        ([(2, 2, 3, 5, 4)], {"src_layout": "NCHW4c", "dst_layout": "NCHW2c"}),
    ],
    "dense": [([(3, 5), (7, 5), (7,)], {"units": 7}), ([(1, 1), (1, 1)], {"units": 1, "use_bias": False})],
    "matmul": [
        ([(3, 5), (5, 2)], {}),
        ([(5, 3), (5, 2)], {"transpose_a": True}),
        ([(3, 5), (2, 5)], {"transpose_b": True}),
        ([(5, 3), (2, 5)], {"transpose_a": True, "transpose_b": True}),
    ],
    "elemwise_sum": [([(3, 5)], {}), ([(3, 5)] * 3, {"num_args": 3}), ([()] * 2, {})],
    "prelu": [([(2, 3, 5), (3,)], {}), ([(2, 3, 5), (5,)], {"axis": -1})],
    "__copy": [([(3, 5)], {})],
    "clip": [([(3, 5)], {"a_min": -0.5, "a_max": 1})],
    "cast": [([(3, 5)], {"dtype": "int32"}), ([()], {"dtype": "float64"}), ([(2,)], {"dtype": 5})],
    "full_like": [([(3, 5)], {"fill_value": -2.5})],
    "batch_norm": [([(2, 3, 5)] + [(3,)] * 4, {}), ([(2, 3)] + [(3,)] * 4, {"axis": -1, "epsilon": 0.5, "scale": False, "center": False})],
    "dropout": [([(2, 3)], {})],
    "max_pool2d": [([(2, 6, 6, 2)], {**MEAN_WINDOWS, "layout": "NHWC"}), ([(1, 2, 7, 6)], {"pool_size": (3, 2), "strides": (2, 3), "padding": (1, 0, 1, 1), "ceil_mode": True})],
    "avg_pool2d": [
        ([(1, 2, 7, 6)], {"pool_size": (3, 2), "strides": (2, 3), "padding": (1, 0, 1, 1), "ceil_mode": include, "count_include_pad": include})
        for include in (False, True)
    ],
    "global_max_pool2d": [([(2, 3, 5, 4)], {}), ([(2, 3, 5, 4)], {"layout": "NHWC"})],
    "global_avg_pool2d": [([(2, 3, 5, 4)], {}), ([(2, 3, 5, 4)], {"layout": "HWCN"})],
    **{name: [(shapes, {**attributes, "layout": layout}) for shapes, attributes, layout in (
            ([(1, 2, 4, 3), (1, 2, 7, 6)], MAX_WINDOWS if "max" in name else {**MAX_WINDOWS, "count_include_pad": True}, "NCHW"),
            ([(2, 6, 4, 2), (2, 6, 6, 2)], MEAN_WINDOWS, "NHWC"), ([(2, 3, 1, 1), (2, 3, 5, 4)], {}, "NCHW"))]
       for name in ("_max_pool2d_grad", "_avg_pool2d_grad")},
    "_max_pool2d_select": [([(1, 2, 7, 6)] * 2, MAX_WINDOWS), ([(2, 6, 6, 2)] * 2, {**MEAN_WINDOWS, "layout": "NHWC"}), ([(2, 3, 5, 4)] * 2, {})],
    "upsampling": [([(1, 2, 3, 5)], {"scale": 2}), ([(1, 2, 3, 5)], {"scale": 3, "layout": "NHWC"})],
    "softmax": [([(3, 5)], {}), ([(3, 5, 2)], {"axis": 1}), ([(1,)], {"axis": 0})],
    "log_softmax": [([(3, 5)], {}), ([(3, 5, 2)], {"axis": 0})],
    **{
        name: [([()], {}), ([(3, 5)], {}), ([(2, 3, 5)], {"axis": (0, -1)}), ([(2, 3, 5)], {"axis": 1, "exclude": True, "keepdims": True}),
               ([(1, 1)], {"axis": 0, "keepdims": True}), ([(2, 3)], {"exclude": True})]
        for name in ("sum", "max", "min", "mean", "prod", "argmax", "argmin")
    },
    "__copy": [([(2, 3)], {})],
    "_assign": [([(2, 3), (2, 3)], {})],
    "zeros": [([], {"shape": (2, 3)})],
    "ones": [([], {"shape": (), "dtype": "int32"})],
    "full": [([], {"shape": 4, "dtype": "int8", "fill_value": -7.9})],
    "flatten": [([(2, 3, 5)], {}), ([(3,)], {})],
    "transpose": [([(2, 3, 5)], {}), ([(2, 3, 5)], {"axes": (1, -1, 0)}), ([()], {})],
    "reshape": [([(2, 3, 4)], {"shape": shape}) for shape in ((4, 0, 2), (-1,), (-2, 1), (0, -3), (-4, 1, 2, -2), (2, -4, -1, 3, -2))],
    "reshape_like": [([(2, 6), (3, 4)], {})],
    "squeeze": [([(1, 3, 1)], {}), ([(1, 3, 1)], {"axis": (0, -1)})],
    "expand_dims": [([(3, 5)], {"axis": 1}), ([()], {"axis": 0, "num_newaxis": 2}), ([(3,)], {"axis": -1})],
    "expand_like": [([(3,), (2, 3, 4)], {"axis": (0, 2)}), ([(3,), (2, 3, 4)], {"axis": -2, "exclude": True}), ([(1, 3), (2, 3)], {"axis": 0})],
    "cast_like": [([(3, 5), (2,)], {})],
    "collapse_sum": [([(2, 3, 5), (3, 1)], {}), ([(3, 5), (3, 5)], {}), ([(3, 5), ()], {}), ([(2, 3), (1, 3)], {}), ([(2, 3), (3,)], {})],
    "broadcast_to_like": [([(3, 1), (2, 3, 5)], {}), ([(), (2,)], {})],
    "_mean_grad": [([(), (3, 5)], {}), ([(3,), (2, 3, 5)], {"axis": (0, -1)}), ([(2, 1, 5), (2, 3, 5)], {"axis": 1, "keepdims": True})],
    "_concatenate_grad": [([(2, 9), (2, 3), (2, 1), (2, 5)], {"num_args": 3}), ([(3,), (3,)], {"num_args": 1, "axis": -1})],
    "_strided_slice_grad": [([(5, 4), (5, 7)], {"begin": (4, 6), "end": (-6, -8), "stride": (-1, -2)}), ([(4, 7), (5, 7)], {"begin": (1,), "end": (99,)}),
                            ([(2, 2), (5, 7)], {"begin": (-4, 1), "end": (-1, 6), "stride": (2, 3)})],
    "broadcast_to": [([(3, 1)], {"shape": (2, 0, 4)}), ([()], {"shape": (2,)})],
    "concatenate": [([(2, 3), (2, 1), (2, 5)], {}), ([(3,), (1,)], {"axis": -1})],
    "split": [([(2, 6)], {"indices_or_sections": 3}), ([(7, 2)], {"indices_or_sections": (1, 4), "axis": 0})],
    "strided_slice": [([(5, 7)], {"begin": (4, 6), "end": (0, -8), "stride": (-1, -2)}), ([(5, 7)], {"begin": (1,), "end": (99,)})],
    "flip": [([(3, 5)], {"axis": -1})],
    "pad": [([(3, 5)], {"pad_width": ((0, 1), (2, 3)), "pad_value": 1.5})],
    **{name: [([shape] * len(OPERATORS[name]["inputs"]), {}) for shape in SHAPES] for name in ELEMENTS},
    **{name: [([shape], {"scalar": 1.75}) for shape in SHAPES] for name in SCALAR},
    **{name: [(list(pair), {}) for pair in PAIRS] for name in BROADCAST},
}

COMPUTED = sorted(OPERATORS.keys() - numpy_graph.NOT_COMPUTED.keys())


def sample(shape, seed, dtype="float32"):
    """Between 1/4 and 4, where all functions have values; not at the steps of floor and the like. Integers from 1 to 4."""
    values = np.random.default_rng(seed).uniform(0.25, 4, shape)
    return np.asarray(values if dtype.startswith("float") else np.ceil(values), dtype)
