"""The operators that are compared with ONNX Runtime, each at two sizes or more that networks have.

A case is one operator as a network of its own. Where onnx_export has no counterpart of an operator, the case says which
nodes of ONNX compute the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np


# Attributes that names of cases show, where they are not these.
SHOWN = {"axis": None, "strides": (1, 1), "groups": 1, "k": None, "shape": None, "axes": None, "method": None}
NO_ZERO_POINTS = {
    "conv2d_integer": {"use_data_zero_point": False, "use_weight_zero_point": False},
    "matmul_integer": {"use_lhs_zero_point": False, "use_rhs_zero_point": False}}


@dataclass(frozen=True)
class Case:
    operator: str
    shapes: list[tuple]  # of the inputs
    attributes: dict = field(default_factory=dict)
    weights: int = 0  # how many of the inputs, the last, are constant
    positive: bool = False  # elements, else of both signs
    dtypes: dict[int, str] = field(default_factory=dict)  # of inputs that are not float32
    values: dict[int, Callable] = field(default_factory=dict)  # of inputs: of their shapes
    # Nodes of ONNX: (operator, inputs, outputs, attributes), of x0, x1, … and initializers, giving y0 first.
    nodes: list[tuple] = field(default_factory=list)
    initializers: dict[str, object] = field(default_factory=dict)
    opset: int = 18  # in which these nodes are

    @property
    def name(self) -> str:
        sizes = ["×".join(map(str, shape)) for shape in self.shapes if len(shape) > 1]
        shown = [f"{key}={value}" for key, value in self.attributes.items() if SHOWN.get(key, value) != value]
        return " ".join([self.operator, *sizes, *shown])


IMAGE, SMALL, TOKENS, ROWS = (1, 64, 56, 56), (1, 256, 14, 14), (128, 768), (1024, 4096)


def _both(operator, *shapes, **options):
    """A function of elements: on an image of ResNet-50, and on the inner layer of BERT."""
    return [Case(operator, [shape] * options.get("inputs", 1), **{k: v for k, v in options.items() if k != "inputs"})
            for shape in (shapes or (IMAGE, (128, 3072)))]


def _windows(operator, **attributes):
    return [Case(operator, [shape], attributes) for shape in ((1, 64, 112, 112), (1, 192, 28, 28))]


def _conv(n, c, size, channels, kernel, stride=1, groups=1):
    attributes = {"channels": channels, "kernel_size": (kernel, kernel), "strides": (stride, stride), "padding": (kernel // 2, kernel // 2), "groups": groups}
    return Case("conv2d", [(n, c, size, size), (channels, c // groups, kernel, kernel), (channels,)], attributes, weights=2)


def _bytes(operator, shape, weight, nodes, **attributes):
    """Products of bytes, in int32: those of a network that was quantized, whose weights have no zero points."""
    return Case(operator, [shape, weight], NO_ZERO_POINTS[operator] | attributes, weights=1, dtypes={0: "uint8", 1: "int8"}, nodes=nodes)


def _conv_of_bytes(c, size, channels, kernel):
    attributes = {"channels": channels, "kernel_size": (kernel, kernel), "padding": (kernel // 2, kernel // 2)}
    node = _node("ConvInteger", 2, pads=(kernel // 2,) * 4)
    return _bytes("conv2d_integer", (1, c, size, size), (channels, c, kernel, kernel), node, **attributes)


def _node(op, inputs=1, **attributes):
    return [(op, [f"x{k}" for k in range(inputs)], ["y0"], attributes)]


def _affine(operator, op, *shapes, axis=1, opset=18, beta=True, attributes=None, **of_node):
    """Normalisations, with a factor and a term for each element along an axis."""
    return [Case(operator, [shape, *[(shape[axis],)] * (1 + beta)], attributes or {}, weights=1 + beta, positive=True, nodes=_node(op, 2 + beta, epsilon=1e-5, **of_node), opset=opset)
            for shape in shapes]


def _convolution(operator, op, data, weight, channels, stride=1, padding=0):
    spatial = len(data) - 2
    attributes = {"channels": channels, "kernel_size": weight[2:], "strides": (stride,) * spatial, "padding": (padding,) * spatial}
    node = _node(op, 3, strides=(stride,) * spatial, pads=(padding,) * 2 * spatial)
    return Case(operator, [data, weight, (channels,)], attributes, weights=2, nodes=node)


def _recurrent(operator, op, gates, steps, batch, width, hidden):
    shapes = [(steps, batch, width), (1, gates * hidden, width), (1, gates * hidden, hidden), (1, 2 * gates * hidden)]
    node = [(op, [f"x{k}" for k in range(4)], ["y0"], {"hidden_size": hidden})]
    return Case(operator, shapes, {"hidden_size": hidden}, weights=3, nodes=node, values={k: _small for k in (1, 2, 3)})


def _small(shape):
    return np.random.default_rng(len(shape)).uniform(-0.1, 0.1, shape).astype("float32")


def _regions(shape):
    """Boxes on an image of 800 × 1088 pixels, of which `_ROIS` splits off the number of the image."""
    random = np.random.default_rng(0)
    corner, size = random.uniform(0, 600, (shape[0], 2)), random.uniform(20, 200, (shape[0], 2))
    return np.concatenate([np.zeros((shape[0], 1)), corner, corner + size], 1).astype("float32")


_ROIS = [
    ("Split", ["x1", "parts"], ["number", "boxes"], {"axis": 1}), ("Squeeze", ["number", "one"], ["flat"], {}), ("Cast", ["flat"], ["numbers"], {"to": 7}),
    ("RoiAlign", ["x0", "boxes", "numbers"], ["y0"], {"output_height": 7, "output_width": 7, "sampling_ratio": 2, "spatial_scale": 0.0625, "coordinate_transformation_mode": "output_half_pixel"})]


def _scale(_):
    return np.float32(0.05)


def _positions(shape):
    """Of a grid, a little moved from the pixels of the image."""
    own = np.stack(np.meshgrid(*(np.linspace(-1, 1, extent) for extent in shape[2:]), indexing="ij")[::-1])
    return (own + np.random.default_rng(0).uniform(-0.05, 0.05, shape)).astype("float32")


CASES = [
    *(case for name in ("relu", "sigmoid", "tanh", "exp", "negative", "abs", "floor", "ceil") for case in _both(name)),
    *(case for name in ("log", "sqrt") for case in _both(name, positive=True)),
    *(case for name in ("elemwise_add", "elemwise_sub", "elemwise_mul", "elemwise_div") for case in _both(name, inputs=2, positive=True)),
    *(Case(f"broadcast_{name}", shapes, positive=True) for name in ("add", "mul", "max", "div")
      for shapes in ([IMAGE, (64, 1, 1)], [TOKENS, (768,)])),
    *(case for scalar in ("__mul_scalar__", "__add_scalar__") for case in _both(scalar, attributes={"scalar": 1.75})),
    *_both("clip", attributes={"a_min": 0, "a_max": 6}), *_both("leaky_relu", attributes={"alpha": 0.1}),
    *(Case("prelu", [shape, (shape[1],)], weights=1) for shape in (IMAGE, SMALL)),
    *_both("cast", attributes={"dtype": "int32"}),
    _conv(1, 64, 56, 64, 3), _conv(1, 256, 14, 1024, 1), _conv(1, 3, 224, 64, 7, 2), _conv(1, 256, 14, 256, 3, 1, 256),
    *_windows("max_pool2d", pool_size=(3, 3), strides=(2, 2), padding=(1, 1)), *_windows("avg_pool2d", pool_size=(2, 2), strides=(2, 2)),
    *(Case(name, [shape]) for name in ("global_avg_pool2d", "global_max_pool2d") for shape in (SMALL, (1, 2048, 7, 7))),
    *(Case("upsampling", [shape], {"scale": 2}) for shape in (SMALL, (1, 64, 52, 52))),
    Case("dense", [TOKENS, (3072, 768), (3072,)], {"units": 3072}, weights=2), Case("dense", [(1, 2048), (1000, 2048), (1000,)], {"units": 1000}, weights=2),
    Case("matmul", [TOKENS, (768, 768)]), Case("matmul", [(512, 512), (512, 512)]),
    _conv_of_bytes(64, 56, 64, 3), _conv_of_bytes(256, 14, 1024, 1),
    *(_bytes("matmul_integer", TOKENS, (768, columns), _node("MatMulInteger", 2)) for columns in (768, 3072)),
    *(Case(name, [shape], {"axis": -1}) for name in ("softmax", "log_softmax") for shape in ((12 * 128, 128), (1, 1000))),
    *(Case("batch_norm", [shape, *[(shape[1],)] * 4], weights=4, positive=True) for shape in (IMAGE, SMALL)),
    *(Case(name, [shape], {"axis": axis}) for name in ("sum", "mean", "max", "min", "prod") for shape, axis in ((ROWS, -1), (IMAGE, (2, 3)))),
    *(Case(name, [shape], {"axis": axis}) for name in ("argmax", "argmin") for shape, axis in ((TOKENS, -1), ((1, 21, 128, 128), 1))),
    Case("transpose", [(1, 128, 12, 64)], {"axes": (0, 2, 1, 3)}), Case("transpose", [IMAGE], {"axes": (0, 2, 3, 1)}),
    Case("concatenate", [IMAGE, IMAGE], {"axis": 1}), Case("concatenate", [TOKENS, TOKENS], {"axis": -1}),
    Case("split", [(1, 128, 28, 28)], {"indices_or_sections": 2, "axis": 1}), Case("split", [(128, 2304)], {"indices_or_sections": 3, "axis": 1}),
    Case("strided_slice", [IMAGE], {"begin": (0, 0, 0, 0), "end": (1, 64, 56, 56), "stride": (1, 1, 2, 2)}), Case("strided_slice", [(128, 2304)], {"begin": (0, 768), "end": (128, 1536)}),
    *(Case("flip", [shape], {"axis": -1}) for shape in (TOKENS, IMAGE)),
    *(Case("pad", [shape], {"pad_width": ((0, 0), (0, 0), (1, 1), (1, 1))}) for shape in (IMAGE, (1, 3, 224, 224))),
    Case("broadcast_to", [(64, 1, 1)], {"shape": IMAGE}), Case("broadcast_to", [(768,)], {"shape": TOKENS}),
    # What is chosen of a vocabulary, of the scores of a detector, and of classes.
    Case("topk", [(1, 50257)], {"k": 50, "dtype": "int64"}), Case("topk", [(1, 8732)], {"k": 400, "dtype": "int64"}), Case("topk", [(64, 1000)], {"k": 5, "dtype": "int64"}),
    Case("sort", [(64, 1000)]), Case("sort", [(1, 8732)], {"is_ascend": False}),
    # Functions of transformers and of mobile networks, by ONNX's nodes where the exporter has none.
    *(case for name, op in (("erf", "Erf"), ("sin", "Sin"), ("cos", "Cos")) for case in _both(name, nodes=_node(op))),
    *_both("hard_swish", nodes=_node("HardSwish")), *_both("softsign", nodes=_node("Softsign")), *_both("reciprocal", positive=True, nodes=_node("Reciprocal")),
    *(Case("where", [shape] * 3, dtypes={0: "bool"}, nodes=_node("Where", 3)) for shape in (IMAGE, (128, 3072))),
    *(Case("cumsum", [shape], {"axis": -1}, nodes=_node("CumSum", 2), initializers={"x1": np.int64(-1)}) for shape in (ROWS, (1, 12, 128, 128))),
    *(Case("take", [shape, places], {"axis": 0}, dtypes={1: "int64"}, nodes=_node("Gather", 2, axis=0)) for shape, places in (((30522, 768), (128,)), ((1000, 64), (64, 26)))),
    *(Case("gather", [shape, places], {"axis": 1}, dtypes={1: "int64"}, nodes=_node("GatherElements", 2, axis=1)) for shape, places in ((ROWS, (1024, 100)), ((8, 8732), (8, 400)))),
    *(Case("tile", [shape], {"reps": reps}, nodes=_node("Tile", 2), initializers={"x1": np.asarray(reps)}) for shape, reps in ((TOKENS, (4, 1)), ((1, 64, 28, 28), (1, 1, 2, 2)))),
    *(Case("lrn", [shape], {"size": 5, "alpha": 1e-4, "beta": 0.75, "bias": 1}, nodes=_node("LRN", size=5, alpha=1e-4, beta=0.75, bias=1.0)) for shape in ((1, 96, 55, 55), (1, 256, 27, 27))),
    *(Case("resize2d", [shape], {"size": size}, nodes=_node("Resize", 4, mode="linear"), initializers={"x1": np.zeros(0, "float32"), "x2": np.zeros(0, "float32"), "x3": np.asarray((*shape[:2], *size))})
      for shape, size in (((1, 256, 14, 14), (28, 28)), ((1, 21, 65, 65), (513, 513)))),
    *(Case("max_pool2d_with_indices", [shape], {"pool_size": (2, 2), "strides": (2, 2)}, nodes=[("MaxPool", ["x0"], ["y0", "y1"], {"kernel_shape": (2, 2), "strides": (2, 2)})])
      for shape in ((1, 64, 112, 112), (1, 256, 28, 28))),
    *(Case("grid_sample", [shape, (1, 2, *shape[2:])], {"method": method}, values={1: _positions},
           nodes=[("Transpose", ["x1"], ["grid"], {"perm": (0, 2, 3, 1)}), ("GridSample", ["x0", "grid"], ["y0"], {"mode": method, "align_corners": 1})])
      for method in ("bilinear", "nearest") for shape in (IMAGE, (1, 3, 224, 224))),
    *(case for name, op in (("tan", "Tan"), ("atan", "Atan"), ("sinh", "Sinh"), ("cosh", "Cosh"), ("asinh", "Asinh"), ("rint", "Round"), ("sign", "Sign"), ("softplus", "Softplus"),
                            ("elu", "Elu"), ("selu", "Selu"), ("celu", "Celu"), ("mish", "Mish"), ("thresholded_relu", "ThresholdedRelu")) for case in _both(name, nodes=_node(op))),
    *_both("gelu", nodes=_node("Gelu"), opset=23), *_both("hard_sigmoid", nodes=_node("HardSigmoid")),
    *_both("silu", nodes=[("Sigmoid", ["x0"], ["s"], {}), ("Mul", ["x0", "s"], ["y0"], {})]),
    *(Case("broadcast_pow", shapes, positive=True) for shapes in ([IMAGE, (64, 1, 1)], [TOKENS, (768,)])),
    *(case for name, op in (("broadcast_greater", "Greater"), ("broadcast_less_equal", "LessOrEqual"), ("broadcast_equal", "Equal")) for case in _both(name, inputs=2, nodes=_node(op, 2))),
    *(case for name, op in (("logical_and", "And"), ("logical_or", "Or")) for case in _both(name, inputs=2, dtypes={0: "bool", 1: "bool"}, nodes=_node(op, 2))),
    *_affine("layer_norm", "LayerNormalization", TOKENS, (384, 1024), axis=-1), *_affine("instance_norm", "InstanceNormalization", IMAGE, (1, 128, 128, 128)),
    *_affine("group_norm", "GroupNormalization", IMAGE, (1, 320, 32, 32), opset=23, attributes={"num_groups": 32}, num_groups=32),
    *_affine("rms_norm", "RMSNormalization", TOKENS, (384, 1024), axis=-1, opset=23, beta=False),
    *(Case("lp_normalize", [shape], {"axis": axis}, nodes=_node("LpNormalization", axis=axis)) for shape, axis in ((TOKENS, -1), (IMAGE, 1))),
    *(Case("logsumexp", [shape], {"axis": axis, "keepdims": True}, nodes=_node("ReduceLogSumExp", 2), initializers={"x1": np.asarray([axis])}) for shape, axis in (((1536, 128), -1), ((64, 1000), -1))),
    *(Case("norm", [shape], {"axis": axis, "keepdims": True}, nodes=_node("ReduceL2", 2), initializers={"x1": np.asarray([axis])}) for shape, axis in ((TOKENS, -1), (ROWS, -1))),
    Case("batch_matmul", [(12, 128, 64), (12, 128, 64)]), Case("batch_matmul", [(12, 128, 128), (12, 64, 128)]),
    *(Case("einsum", [shape] * 2, {"equation": "bhid,bhjd->bhij"}, nodes=_node("Einsum", 2, equation="bhid,bhjd->bhij")) for shape in ((1, 12, 128, 64), (1, 16, 384, 64))),
    *(Case("scaled_dot_product_attention", [shape] * 3, nodes=_node("Attention", 3), opset=23) for shape in ((1, 12, 128, 64), (1, 16, 384, 64))),
    _convolution("conv1d", "Conv", (1, 80, 3000), (384, 80, 3), 384, padding=1), _convolution("conv1d", "Conv", (1, 512, 500), (512, 512, 3), 512, stride=2),
    _convolution("conv3d", "Conv", (1, 3, 8, 112, 112), (64, 3, 3, 7, 7), 64, padding=1), _convolution("conv3d", "Conv", (1, 64, 8, 28, 28), (64, 64, 3, 3, 3), 64, padding=1),
    _convolution("conv2d_transpose", "ConvTranspose", (1, 256, 16, 16), (256, 128, 4, 4), 128, stride=2, padding=1),
    _convolution("conv2d_transpose", "ConvTranspose", (1, 64, 64, 64), (64, 32, 2, 2), 32, stride=2),
    *(Case("depth_to_space", [shape], {"block_size": block}, nodes=_node("DepthToSpace", blocksize=block)) for shape, block in (((1, 27, 128, 128), 3), ((1, 256, 32, 32), 2))),
    *(Case("space_to_depth", [shape], {"block_size": 2}, nodes=_node("SpaceToDepth", blocksize=2)) for shape in ((1, 64, 52, 52), (1, 3, 416, 416))),
    _recurrent("lstm", "LSTM", 4, 128, 1, 128, 128), _recurrent("lstm", "LSTM", 4, 35, 20, 200, 200),
    _recurrent("gru", "GRU", 3, 128, 1, 128, 128), _recurrent("gru", "GRU", 3, 35, 20, 200, 200),
    *(Case("roi_align", [(1, 256, 50, 68), (count, 5)], {"pooled_size": (7, 7), "spatial_scale": 0.0625, "sample_ratio": 2}, values={1: _regions}, nodes=_ROIS,
           initializers={"parts": np.asarray([1, 4]), "one": np.asarray([1])}) for count in (16, 256)),
    *(Case("one_hot", [(8, count)], {"depth": depth}, dtypes={0: "int64"}, nodes=[("OneHot", ["x0", "depth", "values"], ["y0"], {})], initializers={"depth": np.int64(depth), "values": np.float32([0, 1])})
      for count, depth in ((16, 1000), (128, 128))),
    *(Case("scatter_elements", [shape, places, places], {"axis": 1}, dtypes={1: "int64"}, nodes=_node("ScatterElements", 3, axis=1)) for shape, places in ((ROWS, (1024, 100)), ((8, 8732), (8, 400)))),
    *(Case("quantize", [shape, (), ()], weights=2, dtypes={2: "int8"}, values={1: _scale, 2: lambda _: np.int8(3)}, nodes=_node("QuantizeLinear", 3)) for shape in (IMAGE, TOKENS)),
    *(Case("dequantize", [shape, (), ()], weights=2, dtypes={0: "int8", 2: "int8"}, values={1: _scale, 2: lambda _: np.int8(3)}, nodes=_node("DequantizeLinear", 3)) for shape in (IMAGE, TOKENS)),
    *(Case("trilu", [shape], {"upper": False}, nodes=_node("Trilu", upper=0)) for shape in ((12, 128, 128), (16, 384, 384))),
]


def _elements(case: Case, k: int) -> np.ndarray:
    shape, random = case.shapes[k], np.random.default_rng(k)
    if k in case.values:
        return case.values[k](shape)
    if k in case.dtypes:
        return random.integers(0, 100, shape).astype(case.dtypes[k])
    return (random.uniform(0.25, 2, shape) if case.positive else random.standard_normal(shape)).astype("float32")


def workload_of(case: Case) -> SimpleNamespace:
    """The operator as a network, as networks.py has them."""
    import tilewright.symbol as sym

    arrays = {f"x{k}": _elements(case, k) for k in range(len(case.shapes))}
    names = list(arrays)
    given = names[: len(names) - case.weights]
    symbol = getattr(sym, case.operator)(*map(sym.Variable, names), name="y", **case.attributes)
    return SimpleNamespace(
        name=case.name, symbol=symbol[0] if len(symbol) > 1 else symbol, params={name: arrays[name] for name in names if name not in given},
        shape={name: arrays[name].shape for name in given}, dtype={name: str(arrays[name].dtype) for name in given},
        inputs={name: arrays[name] for name in given}, tolerance=1e-4, caches="hot")


def model_of(case: Case, workload: SimpleNamespace):
    """The model of ONNX that computes the same."""
    import onnx
    from tilewright.contrib import onnx_export

    if not case.nodes:
        return onnx_export.to_onnx(workload.symbol, workload.params, workload.shape, workload.dtype)
    from onnx import helper, numpy_helper

    kind = lambda array: helper.np_dtype_to_tensor_dtype(array.dtype)
    inputs = [helper.make_tensor_value_info(name, kind(array), array.shape) for name, array in workload.inputs.items()]
    constants = {**workload.params, **case.initializers}
    graph = helper.make_graph(
        [helper.make_node(op, ins, outs, **attributes) for op, ins, outs, attributes in case.nodes], case.operator, inputs,
        [onnx.ValueInfoProto(name="y0")], [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", case.opset)], ir_version=8 if case.opset == 18 else 11)
