"""Networks of small integers from ONNX against ONNX Runtime: single operators, and what its quantizer makes of networks."""

import numpy as np
import pytest

import tilewright as tw
from tilewright.contrib import graph_runtime, onnx_export
from tilewright.testing import zoo

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

LEVELS = [0, 1, 2, 3]
# Of single operators: nothing is rewritten, and all is.
OF_OPERATORS = [0, 3]
TYPES = {np.dtype("uint8"): TensorProto.UINT8, np.dtype("int8"): TensorProto.INT8, np.dtype("float32"): TensorProto.FLOAT,
         np.dtype("int32"): TensorProto.INT32}


def model_of(nodes, inputs, outputs, constants):
    """`inputs` are arrays, `outputs` element types, by name."""
    infos = [helper.make_tensor_value_info(name, TYPES[array.dtype], array.shape) for name, array in inputs.items()]
    results = [helper.make_tensor_value_info(name, TYPES[np.dtype(dtype)], None) for name, dtype in outputs.items()]
    tensors = [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()]
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(helper.make_graph(nodes, "g", infos, results, tensors), opset_imports=imports, ir_version=8)


def referred(model, inputs, optimized=False):
    """By default as the nodes say it: fused operators may round elsewhere, and saturate sums of pairs where there is no VNNI."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    if not optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, inputs)


def computed(model, inputs, level):
    net, params = tw.frontend.from_onnx(model.SerializeToString())
    with tw.compiler.build_config(opt_level=level):
        graph, lib, params = tw.compiler.build(net, params=params)
    module = graph_runtime.create(graph, lib, tw.cpu(0), params)
    module.run(**inputs)
    return [module.get_output(k).numpy() for k in range(module.get_num_outputs())]


def check(model, inputs, levels=OF_OPERATORS, units=1, share=0.05):
    """Within `units` of the last place, and equal but for a share of the elements; int32 is exact."""
    wanted = referred(model, inputs)
    for level in levels:
        for found, expected in zip(computed(model, inputs, level), wanted, strict=True):
            assert found.dtype == expected.dtype and found.shape == expected.shape
            if expected.dtype == np.float32:
                np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
                continue
            difference = np.abs(found.astype("int64") - expected.astype("int64"))
            limit = 0 if expected.dtype == np.int32 else units
            assert difference.max(initial=0) <= limit, f"opt_level {level}: {difference.max()} units"
            assert (difference != 0).mean() <= share, f"opt_level {level}: {(difference != 0).mean():.0%} differ"


def integers(dtype, shape, seed=0):
    limits = np.iinfo(dtype)
    return np.random.default_rng(seed).integers(limits.min, limits.max + 1, shape).astype(dtype)


def scales(count, seed=0):
    return np.random.default_rng(seed).uniform(0.01, 0.03, count).astype("float32")


# Channels, filters, kernel, groups, and attributes.
WINDOWS = [
    (8, 16, (3, 3), 1, {"pads": [1, 1, 1, 1]}),
    (5, 7, (3, 2), 1, {"pads": [2, 0, 1, 1], "strides": [2, 1]}),
    (6, 4, (3, 3), 2, {"pads": [1, 1, 1, 1], "dilations": [2, 2]}),
    (6, 6, (3, 3), 6, {"auto_pad": "SAME_UPPER", "strides": [2, 2]}),
    (4, 8, (3, 3), 4, {"pads": [1, 1, 1, 1]}),
    (16, 20, (1, 1), 1, {}),
    (3, 5, (4,), 1, {"pads": [1, 2]}),
]


@pytest.mark.parametrize("types", ["uint8 int8", "uint8 uint8", "int8 int8"])
@pytest.mark.parametrize("windows", WINDOWS, ids=str)
def test_integer_convolutions(windows, types):
    """Zero points that differ from 0 stand around images; sums are exact."""
    channels, filters, kernel, groups, attributes = windows
    of_data, of_weight = types.split()
    x = integers(of_data, (2, channels, 9, 8)[: 2 + len(kernel)], 1)
    w = integers(of_weight, (filters, channels // groups, *kernel), 2)
    points = {"xz": np.array(integers(of_data, ()), of_data), "wz": np.array(0 if of_weight == "int8" else 119, of_weight)}
    node = helper.make_node("ConvInteger", ["x", "w", "xz", "wz"], ["y"], group=groups, **attributes)
    # Of int8 data ONNX Runtime has none: NumPy's integers, by way of float64, are what is right.
    if of_data == "int8":
        floats = helper.make_node("Conv", ["x", "w"], ["y"], group=groups, **attributes)
        double = {"x": x.astype("float32") - points["xz"], "w": w.astype("float32") - points["wz"]}
        (wanted,) = referred(model_of([floats], {"x": double["x"]}, {"y": "float32"}, {"w": double["w"]}), {"x": double["x"]})
        model = model_of([node], {"x": x}, {"y": "int32"}, {"w": w, **points})
        for level in OF_OPERATORS:
            np.testing.assert_array_equal(computed(model, {"x": x}, level)[0], wanted.astype("int32"))
        return
    check(model_of([node], {"x": x}, {"y": "int32"}, {"w": w, **points}), {"x": x})


@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("windows", WINDOWS, ids=str)
def test_qlinear_convolutions(windows, per_channel):
    channels, filters, kernel, groups, attributes = windows
    x = integers("uint8", (2, channels, 9, 8)[: 2 + len(kernel)], 1)
    w = integers("int8", (filters, channels // groups, *kernel), 2)
    terms = w[0].size
    constants = {"xs": np.float32(0.02), "xz": np.uint8(131), "w": w, "ws": scales(filters if per_channel else ()),
                 "wz": np.zeros(filters if per_channel else (), "int8"), "ys": np.float32(0.02 * terms**0.5), "yz": np.uint8(117),
                 "b": np.random.default_rng(3).integers(-9000, 9000, filters).astype("int32")}
    names = ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b"]
    node = helper.make_node("QLinearConv", names, ["y"], group=groups, **attributes)
    check(model_of([node], {"x": x}, {"y": "uint8"}, constants), {"x": x})


@pytest.mark.parametrize("types", ["uint8 int8", "uint8 uint8", "int8 int8"])
def test_products(types):
    of_a, of_b = types.split()
    a, b = integers(of_a, (5, 67), 1), integers(of_b, (67, 19), 2)
    points = {"az": np.array(integers(of_a, (), 3), of_a), "bz": integers(of_b, (19,), 4)}
    node = helper.make_node("MatMulInteger", ["a", "b", "az", "bz"], ["y"])
    model = model_of([node], {"a": a}, {"y": "int32"}, {"b": b, **points})
    wanted = (a.astype("int32") - points["az"]) @ (b.astype("int32") - points["bz"])
    for level in OF_OPERATORS:
        np.testing.assert_array_equal(computed(model, {"a": a}, level)[0], wanted)
    constants = {"as": np.float32(0.02), "b": b, "bs": scales(()), "ys": np.float32(0.3), "yz": np.array(7, of_a),
                 "az": points["az"], "bz": points["bz"][0]}
    node = helper.make_node("QLinearMatMul", ["a", "as", "az", "b", "bs", "bz", "ys", "yz"], ["y"])
    check(model_of([node], {"a": a}, {"y": of_a}, constants), {"a": a})


def sandwich(types, b_shape, axis, per_channel, op, **attributes):
    """x and w quantized, an operator of floats between, and what it gives quantized."""
    of_x, of_w = types.split()
    count = b_shape[axis]
    constants = {"xs": np.float32(0.02), "xz": np.array(5, of_x), "w": integers(of_w, b_shape, 2),
                 "ws": scales(count if per_channel else ()), "wz": np.full(count if per_channel else (), 3, of_w),
                 "ys": np.float32(0.25), "yz": np.uint8(100)}
    nodes = [helper.make_node("DequantizeLinear", ["x", "xs", "xz"], ["xf"]),
             helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["wf"], axis=axis),
             helper.make_node(op, ["xf", "wf"], ["yf"], **attributes),
             helper.make_node("Relu", ["yf"], ["r"]),
             helper.make_node("QuantizeLinear", ["r", "ys", "yz"], ["y"])]
    return nodes, constants


def operators(graph):
    return [node["op"] for node in graph.index.nodes if node["op"] != "null"]


@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("types", ["uint8 int8", "uint8 uint8", "int8 int8", "int8 uint8"])
@pytest.mark.parametrize("case", ["Conv", "MatMul", "Gemm"])
def test_dequantize_operator_quantize(case, types, per_channel):
    of_x = types.split()[0]
    x = integers(of_x, (1, 8, 7, 6) if case == "Conv" else (6, 40), 1)
    shape, axis, attributes = {
        "Conv": ((12, 8, 3, 3), 0, {"pads": [1, 1, 1, 1]}), "MatMul": ((40, 12), 1, {}), "Gemm": ((12, 40), 0, {"transB": 1})}[case]
    nodes, constants = sandwich(types, shape, axis, per_channel, case, **attributes)
    model = model_of(nodes, {"x": x}, {"y": "uint8"}, constants)
    check(model, {"x": x})
    net, params = tw.frontend.from_onnx(model.SerializeToString())
    shapes = {name: tuple(value.shape) for name, value in params.items()}
    types = {name: str(value.dtype) for name, value in params.items()}
    rewritten = operators(tw.compiler.apply_steps(net, ["FakeQuantizationToInteger"], shapes, types))
    assert ("conv2d_integer" if case == "Conv" else "matmul_integer") in rewritten and "requantize" in rewritten
    assert not {"conv2d", "matmul", "dense", "quantize", "dequantize"} & set(rewritten)


def test_a_number_and_a_vector_of_one():
    """Quantizers write scales of biases as vectors and their zero points as numbers."""
    x = integers("int8", (3, 4))
    nodes = [helper.make_node("DequantizeLinear", ["x", "s", "z"], ["y"])]
    check(model_of(nodes, {"x": x}, {"y": "float32"}, {"s": np.array([0.5], "float32"), "z": np.int8(3)}), {"x": x})


def test_what_moves_elements_moves_integers():
    x = integers("uint8", (1, 4, 8, 8))
    constants = {"s": np.float32(0.1), "z": np.uint8(3), "shape": np.array([1, -1], "int64")}
    nodes = [helper.make_node("DequantizeLinear", ["x", "s", "z"], ["a"]),
             helper.make_node("MaxPool", ["a"], ["b"], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
             helper.make_node("Transpose", ["b"], ["c"], perm=[0, 2, 3, 1]),
             helper.make_node("Reshape", ["c", "shape"], ["d"]),
             helper.make_node("Concat", ["d", "d"], ["e"], axis=1),
             helper.make_node("QuantizeLinear", ["e", "s", "z"], ["y"])]
    model = model_of(nodes, {"x": x}, {"y": "uint8"}, constants)
    check(model, {"x": x}, share=0)
    net, params = tw.frontend.from_onnx(model.SerializeToString())
    shapes = {name: tuple(value.shape) for name, value in params.items()}
    types = {name: str(value.dtype) for name, value in params.items()}
    rewritten = operators(tw.compiler.apply_steps(net, ["FakeQuantizationToInteger"], shapes, types))
    assert rewritten == ["max_pool2d", "transpose", "reshape", "concatenate"]


def test_parts_of_several_scales_are_joined_as_integers():
    x, y = integers("uint8", (1, 4, 8, 8), 1), integers("uint8", (1, 3, 8, 8), 2)
    constants = {"s": np.float32(0.1), "z": np.uint8(3), "t": np.float32(0.25), "u": np.uint8(90), "r": np.float32(0.2), "q": np.uint8(7)}
    nodes = [helper.make_node("DequantizeLinear", ["x", "s", "z"], ["a"]),
             helper.make_node("DequantizeLinear", ["y", "t", "u"], ["b"]),
             helper.make_node("DequantizeLinear", ["x", "r", "q"], ["c"]),
             helper.make_node("Concat", ["a", "b", "c"], ["d"], axis=1),
             helper.make_node("QuantizeLinear", ["d", "r", "q"], ["e"])]
    model = model_of(nodes, {"x": x, "y": y}, {"e": "uint8"}, constants)
    check(model, {"x": x, "y": y}, share=0)
    net, params = tw.frontend.from_onnx(model.SerializeToString())
    shapes = {name: tuple(value.shape) for name, value in params.items()}
    types = {name: str(value.dtype) for name, value in params.items()}
    rewritten = tw.compiler.apply_steps(net, ["FakeQuantizationToInteger"], shapes, types)
    assert operators(rewritten) == ["dequantize", "quantize", "dequantize", "quantize", "concatenate"]


def test_constant_zero_points_of_zero_take_part_in_nothing():
    """What sums would be multiplied by need not be added up."""
    x, w = integers("uint8", (1, 8, 7, 6), 1), integers("int8", (12, 8, 3, 3), 2)
    points = {"xz": np.uint8(0), "wz": np.zeros(12, "int8")}
    node = helper.make_node("ConvInteger", ["x", "w", "xz", "wz"], ["y"], pads=[1, 1, 1, 1])
    net, params = tw.frontend.from_onnx(model_of([node], {"x": x}, {"y": "int32"}, {"w": w, **points}).SerializeToString())
    assert set(params) == {"w"}
    shapes = {name: tuple(value.shape) for name, value in params.items()}
    types = {name: str(value.dtype) for name, value in params.items()}
    assert operators(tw.compiler.apply_steps(net, ["FakeQuantizationToInteger", "ExpandOperators"], shapes, types)) == ["_conv2d_integer_products"]


class Samples:
    """What the quantizer looks at: some inputs."""

    def __init__(self, shape):
        rng = np.random.default_rng(0)
        self._left = [{"data": rng.standard_normal(shape).astype("float32")} for _ in range(4)]

    def get_next(self):
        return self._left.pop() if self._left else None


# Shares of a thousand classes would all be 0 in steps of 1/255, so networks end before their softmax.
@pytest.mark.parametrize("name, form, per_channel", [
    ("mlp", "QDQ", False), ("mlp", "QOperator", True), ("squeezenet", "QDQ", True), ("squeezenet", "QOperator", False)])
def test_quantized_networks(name, form, per_channel, tmp_path):
    quantization = pytest.importorskip("onnxruntime.quantization")
    row = zoo.NETWORKS[name]
    shape = (1, *((3, 32, 32) if row.image_shape[1] > 32 else row.image_shape))
    symbol, params = zoo.get(name, batch_size=1, image_shape=shape[1:], dtype="float32")
    symbol = symbol.get_children()[0]
    onnx.save(onnx_export.to_onnx(symbol, params, {"data": shape}), tmp_path / "float.onnx")
    quantization.quantize_static(
        tmp_path / "float.onnx", tmp_path / "quantized.onnx", Samples(shape), per_channel=per_channel,
        quant_format=quantization.QuantFormat[form], activation_type=quantization.QuantType.QUInt8,
        # Weights of seven bits: ONNX Runtime's kernels saturate sums of pairs of more where there is no VNNI.
        weight_type=quantization.QuantType.QInt8, reduce_range=True)
    model = onnx.load(tmp_path / "quantized.onnx")
    data = {"data": np.random.default_rng(1).standard_normal(shape).astype("float32")}
    # Floats between flip what is near a half, and so more behind it: ONNX Runtime's own two results lie up to four units apart.
    # With integers, exact as its are, ours is its result; with floats it is no farther off than those two are.
    (wanted,), (of_integers,) = referred(model, data), referred(model, data, optimized=True)
    step = np.diff(np.unique(wanted)).min()
    assert len(np.unique(wanted)) > 5
    own = np.abs(wanted - of_integers).max() / step
    for level in LEVELS:
        (found,) = computed(model, data, level)
        assert found.shape == wanted.shape
        units = np.abs(found - of_integers).max() / step
        limit = 1 if level >= 2 else max(1, own)
        assert units < limit + 0.01, f"opt_level {level}: {units:.2f} units of the last place"
