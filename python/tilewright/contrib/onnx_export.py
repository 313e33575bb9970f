# SPDX-License-Identifier: Apache-2.0
"""Networks as ONNX models, for those who compare with another runtime or look at them with its tools.

    symbol, params = tw.testing.zoo.get("resnet18")
    model = tw.contrib.onnx_export.to_onnx(symbol, params, shape={"data": (1, 3, 224, 224)})
    onnx.save(model, "resnet18.onnx")

It needs the package `onnx`. Nodes keep their names, and what a node computes is the value of that name.
"""

import ast as _ast
import math as _math

from .. import graph as _graph
from .._core import raise_error as _raise_error
from ..compiler import graph_attr as _graph_attr

__all__ = ["OPSET", "operators", "to_onnx"]

OPSET = 18  # from which on reductions take their axes as an input
_IR_VERSION = 8


def to_onnx(graph, params=None, shape=None, dtype="float32"):
    """A network as an ONNX model.

    Parameters
    ----------
    graph: Graph or Symbol
        Of operators that `operators()` names.
    params: dict of str to array, optional
        Variables whose values become the model's initializers.
    shape: dict of str to tuple of int
        Shapes of the other variables, which become the model's inputs.
    dtype: str or dict of str to str
        Their element types.

    Returns
    -------
    onnx.ModelProto

    Raises
    ------
    UserError (bad-argument)
        Where a node calls an operator, or one with an attribute, that has no counterpart; it is named.
    """
    graph = graph if isinstance(graph, _graph.Graph) else _graph.create(graph)
    params = {name: _as_numpy(value) for name, value in (params or {}).items()}
    shapes, types = _inferred(graph, params, shape or {}, dtype)
    index = graph.index
    builder, values = _Builder(index.input_names), {}
    for number, node in enumerate(index.nodes):
        first, end = index.entry_ptr[number : number + 2]
        if node["op"] == "null":
            values[first] = node["name"]
            builder.variable(node["name"], shapes[first], types[first], params.get(node["name"]))
            continue
        inputs = [index.entry_id(entry) for entry in node["inputs"]]
        call = _Call(
            builder, node, [values[k] for k in inputs], [shapes[k] for k in inputs], [types[k] for k in inputs],
            shapes[first:end], types[first:end])
        values.update(zip(range(first, end), call.convert()))
    outputs = [index.entry_id(entry) for entry in index.output_entries]
    return builder.model([(values[k], shapes[k], types[k]) for k in outputs])


def operators():
    """list of str: the operators that can be exported."""
    return sorted(_CONVERTED)


def _as_numpy(value):
    return value.numpy() if hasattr(value, "numpy") else value


def _inferred(graph, params, shape, dtype):
    """Shapes, and names of types, of all entries."""
    shape = {**shape, **{name: value.shape for name, value in params.items()}}
    if not isinstance(dtype, str):
        dtype = {**dtype, **{name: str(value.dtype) for name, value in params.items()}}
    graph = _graph_attr.set_dtype_inputs(_graph_attr.set_shape_inputs(graph, shape), dtype)
    graph = graph.apply(["InferShape", "InferType"])
    shapes, names = graph.json_attr("shape"), _graph.dtypes()
    for node, first in zip(graph.index.nodes, graph.index.entry_ptr):
        if shapes[first] is None:
            _raise_error("bad-argument", f"the shape of '{node['name']}' is unknown", legal="shape={name: (…)} of all inputs")
    return [tuple(s) for s in shapes], [names[number] for number in graph.json_attr("dtype")]


class _Builder:
    """The parts of a model."""

    def __init__(self, variables):
        self.nodes, self.initializers, self.inputs = [], [], []
        self._taken = set(variables)

    def unique(self, name):
        """The name, or where it is taken the first of name_1, name_2, … that is not."""
        found, count = name, 0
        while found in self._taken:
            count += 1
            found = f"{name}_{count}"
        self._taken.add(found)
        return found

    def variable(self, name, shape, dtype, value):
        from onnx import helper

        if value is None:
            self.inputs.append(helper.make_tensor_value_info(name, _element_type(dtype), shape))
        else:
            self.constant(name, value)

    def constant(self, name, value):
        from onnx import numpy_helper

        self.initializers.append(numpy_helper.from_array(value, name))
        return name

    def node(self, op, name, inputs, outputs, attributes):
        from onnx import helper

        self.nodes.append(helper.make_node(op, inputs, outputs, name, **attributes))

    def name_last(self, name):
        """Gives the last node, and the first value that it computes, a name."""
        last = self.nodes[-1]
        last.name = name
        last.output[0] = self.unique(name)
        return last.output[0]

    def model(self, outputs):
        from onnx import helper

        given = {value.name for value in (*self.inputs, *self.initializers)}
        found = []
        for name, shape, dtype in outputs:
            if name in given:  # an output is what a node computes, and once
                name, source = self.unique(f"{name}_output"), name
                self.node("Identity", name, [source], [name], {})
            given.add(name)
            found.append(helper.make_tensor_value_info(name, _element_type(dtype), shape))
        self._drop_unread([value.name for value in found])
        graph = helper.make_graph(self.nodes, "network", self.inputs, found, self.initializers)
        opset = helper.make_opsetid("", OPSET)
        return helper.make_model(graph, opset_imports=[opset], ir_version=_IR_VERSION, producer_name="tilewright")

    def _drop_unread(self, outputs):
        """Such as the mask of a dropout."""
        read, kept = set(outputs), []
        for node in reversed(self.nodes):
            if read.intersection(node.output):
                read.update(node.input)
                kept.append(node)
        self.nodes = kept[::-1]
        self.initializers = [value for value in self.initializers if value.name in read]


def _element_type(dtype):
    from onnx import TensorProto

    return getattr(TensorProto, {"float32": "FLOAT", "float64": "DOUBLE"}.get(dtype, dtype.upper()))


class _Call:
    """A node that is converted: its attributes as values, and what its inputs and outputs are."""

    def __init__(self, builder, node, inputs, input_shapes, input_types, shapes, types):
        self.op, self.name = node["op"], node["name"]
        self.inputs, self.input_shapes, self.input_types = inputs, input_shapes, input_types
        self.shapes, self.types = shapes, types  # of the outputs
        self._builder = builder
        self._texts = {**_defaults(self.op), **node.get("attrs", {})}

    def __getitem__(self, attribute):
        text = self._texts[attribute]
        if text in ("true", "false"):
            return text == "true"
        try:
            return _ast.literal_eval(text)
        except (ValueError, SyntaxError):
            return text

    def ints(self, attribute):
        value = self[attribute]
        return list(value) if isinstance(value, tuple) else [value]

    def pair(self, attribute):
        values = self.ints(attribute)
        return values * (2 // len(values))

    def border(self):
        """The padding: top, left, bottom, right."""
        values = self.ints("padding")
        return values * (4 // len(values))

    def convert(self):
        if self.op not in _CONVERTED:
            _raise_error("bad-argument", f"node '{self.name}' calls '{self.op}', which cannot be exported", legal=", ".join(operators()))
        before = len(self._builder.nodes)
        found = _CONVERTED[self.op](self)
        found = list(found) if isinstance(found, (tuple, list)) else [found]
        nodes = self._builder.nodes
        if len(nodes) > before and found[0] == nodes[-1].output[0]:
            found[0] = self._builder.name_last(self.name)
        return found

    def refuse(self, attribute, legal):
        _raise_error("bad-argument", f"node '{self.name}': {attribute}={self[attribute]!r} cannot be exported", legal=legal)

    def emit(self, op, *inputs, outputs=1, **attributes):
        """A node; the name of its output, or the names of several."""
        made = [self._builder.unique(f"{self.name}/{op}") for _ in range(outputs)]
        self._builder.node(op, made[0], list(inputs), made, attributes)
        return made[0] if outputs == 1 else made

    def constant(self, value, dtype="int64"):
        import numpy as np

        return self._builder.constant(self._builder.unique(f"{self.name}/constant"), np.asarray(value, np.dtype(dtype)))

    def number(self, value, dtype=None):
        """A number in the element type of the first input: integers take it towards zero, up to their limits."""
        import numpy as np

        dtype = np.dtype(_numpy_type(dtype or self.input_types[0]))
        if dtype.kind in "iu":
            limits = np.iinfo(dtype)
            value = int(min(max(value, limits.min), limits.max))
        return self.constant(value, dtype)

    def reshaped(self, value, shape):
        return self.emit("Reshape", value, self.constant(shape), allowzero=int(0 in shape))

    def cast(self, value, dtype):
        return self.emit("Cast", value, to=_element_type(dtype))

    def relayout(self, value, source, target):
        """A value whose dimensions are in the order of a layout such as NHWC, in another."""
        if source == target:
            return value
        if sorted(source) != sorted(target):
            _raise_error("bad-argument", f"node '{self.name}': layout '{source}' cannot be exported", legal=f"orders of {target}")
        return self.emit("Transpose", value, perm=[source.index(dimension) for dimension in target])


def _numpy_type(dtype):
    if dtype == "bfloat16":
        import ml_dtypes

        return ml_dtypes.bfloat16
    return dtype


_DEFAULTS = {}


def _defaults(op):
    if not _DEFAULTS:
        for row in _graph.operators():
            _DEFAULTS[row["name"]] = {name: default for name, _, default, _ in row["attributes"] if default is not None}
    return _DEFAULTS.get(op, {})


# Windows over images ------------------------------------------------------------------------------------------------


def _conv2d(c):
    data, weight = c.relayout(c.inputs[0], c["layout"], "NCHW"), c.relayout(c.inputs[1], c["kernel_layout"], "OIHW")
    inputs = [data, weight, *c.inputs[2:]]
    if c.types[0] != c.input_types[0]:
        inputs = [c.cast(value, c.types[0]) for value in inputs]
    found = c.emit(
        "Conv", *inputs, kernel_shape=c.pair("kernel_size"), strides=c.pair("strides"), dilations=c.pair("dilation"),
        pads=c.border(), group=c["groups"])
    return c.relayout(found, "NCHW", c["layout"])


def _windows(c):
    """Attributes of a pooling, and how far its last windows reach beyond the padding: rows below, columns at the right."""
    height, width = (c["layout"].index(dimension) for dimension in "HW")
    kernel, stride, dilation, border = c.pair("pool_size"), c.pair("strides"), c.pair("dilation"), c.border()
    beyond = [
        max(0, (c.shapes[0][k] - 1) * s + (size - 1) * d + 1 - c.input_shapes[0][k] - sum(border[i::2]))
        for i, (k, s, size, d) in enumerate(zip((height, width), stride, kernel, dilation))
    ]
    return {"kernel_shape": kernel, "strides": stride, "dilations": dilation}, border, beyond


def _max_pool2d(c):
    attributes, border, beyond = _windows(c)
    data = c.relayout(c.inputs[0], c["layout"], "NCHW")
    pads = [*border[:2], *(b + further for b, further in zip(border[2:], beyond))]
    if any(pad >= k for pad, k in zip(pads, attributes["kernel_shape"] * 2)):  # which poolings of ONNX must not have
        data = c.emit("Pad", data, c.constant([0, 0, *pads[:2], 0, 0, *pads[2:]]), c.number(-_math.inf))
        pads = [0, 0, 0, 0]
    return c.relayout(c.emit("MaxPool", data, pads=pads, **attributes), "NCHW", c["layout"])


def _avg_pool2d(c):
    """What windows reach beyond the padding is never counted."""
    attributes, border, beyond = _windows(c)
    if any(d != 1 for d in attributes.pop("dilations")):
        c.refuse("dilation", "1")
    data = c.relayout(c.inputs[0], c["layout"], "NCHW")
    if c["count_include_pad"] and any(beyond):
        top, left, bottom, right = border
        data = c.emit("Pad", data, c.constant([0, 0, top, left, 0, 0, bottom, right]))
        border = [0, 0, 0, 0]
    pads = [*border[:2], *(b + further for b, further in zip(border[2:], beyond))]
    if any(pad >= k for pad, k in zip(pads, attributes["kernel_shape"] * 2)):  # which poolings of ONNX must not have
        c.refuse("padding", "less, with what the last windows reach beyond it, than windows are large")
    counted = int(c["count_include_pad"] and not any(beyond))
    return c.relayout(c.emit("AveragePool", data, pads=pads, count_include_pad=counted, **attributes), "NCHW", c["layout"])


def _over_images(op):
    return lambda c: c.relayout(c.emit(op, c.relayout(c.inputs[0], c["layout"], "NCHW")), "NCHW", c["layout"])


def _upsampling(c):
    scales = [c["scale"] if dimension in "HW" else 1 for dimension in c["layout"]]
    # The second input is a region that this mode does not look at.
    between = c["method"] != "NEAREST_NEIGHBOR"
    return c.emit(
        "Resize", c.inputs[0], "", c.constant(scales, "float32"), mode="linear" if between else "nearest", nearest_mode="floor",
        coordinate_transformation_mode="align_corners" if between and c["align_corners"] else "asymmetric")


# Along dimensions ---------------------------------------------------------------------------------------------------


def _batch_norm(c):
    data, gamma, beta, mean, variance = c.inputs
    rank, channels = len(c.shapes[0]), c.input_shapes[1]
    axis = c["axis"] % rank
    if rank < 2:
        c.refuse("axis", "data of two dimensions or more")
    if not c["scale"]:
        gamma = c.constant([1] * channels[0], _numpy_type(c.input_types[1]))
    if not c["center"]:
        beta = c.constant([0] * channels[0], _numpy_type(c.input_types[2]))
    order = list(range(rank))
    order[1], order[axis] = axis, 1
    if axis != 1:
        data = c.emit("Transpose", data, perm=order)
    found = c.emit("BatchNormalization", data, gamma, beta, mean, variance, epsilon=float(c["epsilon"]))
    if axis != 1:
        found = c.emit("Transpose", found, perm=order)
    return found, mean, variance


def _prelu(c):
    axis = c["axis"] % len(c.shapes[0])
    return c.emit("PRelu", c.inputs[0], c.reshaped(c.inputs[1], [-1, *[1] * (len(c.shapes[0]) - axis - 1)]))


def _named_axes(c, rank):
    """Those that an operator is about, in order."""
    named = {axis % rank for axis in c.ints("axis")} if rank else set()
    named = named or set(range(rank))
    return [k for k in range(rank) if (k in named) != c["exclude"]]


def _reduced(op):
    def convert(c):
        axes = _named_axes(c, len(c.input_shapes[0]))
        if not axes:
            return c.inputs[0]
        return c.emit(op, c.inputs[0], c.constant(axes), keepdims=int(c["keepdims"]))

    return convert


def _position(op):
    """Several dimensions count as one, which is the last."""

    def convert(c):
        shape = c.input_shapes[0]
        axes = _named_axes(c, len(shape))
        kept = [k for k in range(len(shape)) if k not in axes]
        data = c.emit("Transpose", c.inputs[0], perm=[*kept, *axes]) if shape else c.inputs[0]
        data = c.reshaped(data, [*(shape[k] for k in kept), _math.prod(shape[k] for k in axes)])
        found = c.emit(op, data, axis=-1, keepdims=0)
        return c.reshaped(c.cast(found, c.types[0]), c.shapes[0])

    return convert


# Shapes -------------------------------------------------------------------------------------------------------------


def _reshape(c):
    return c.reshaped(c.inputs[0], c.shapes[0])


def _transpose(c):
    rank = len(c.shapes[0])
    if rank == 0:
        return c.inputs[0]
    axes = [axis % rank for axis in c.ints("axes")]
    return c.emit("Transpose", c.inputs[0], perm=axes or list(range(rank))[::-1])


def _broadcast(c):
    return c.emit("Expand", c.inputs[0], c.constant(c.shapes[0]))


def _expand_like(c):
    own, like = c.input_shapes
    data = c.inputs[0]
    if len(own) < len(like):
        added, rest = _named_axes(c, len(like)), iter(own)
        data = c.reshaped(data, [1 if k in added else next(rest) for k in range(len(like))])
    return c.emit("Expand", data, c.constant(like))


def _split(c):
    axis = c["axis"] % len(c.input_shapes[0])
    extents = c.constant([shape[axis] for shape in c.shapes])
    return c.emit("Split", c.inputs[0], extents, outputs=len(c.shapes), axis=axis)


def _strided_slice(c):
    begin = c.ints("begin")
    stride = c.ints("stride")
    stride += [1] * (len(begin) - len(stride))
    axes = range(len(begin))
    return c.emit("Slice", c.inputs[0], *(c.constant(list(values)) for values in (begin, c.ints("end"), axes, stride)))


def _flip(c):
    backwards = ([-1], [-(2**63)], [c["axis"]], [-1])
    return c.emit("Slice", c.inputs[0], *map(c.constant, backwards))


def _pad(c):
    width, mode = c["pad_width"], c["pad_mode"]
    if mode in ("symmetric", "wrap"):  # Pad of this opset has neither
        c.refuse("pad_mode", "constant, edge, reflect")
    if mode == "reflect" and any(max(w) >= extent for w, extent in zip(width, c.input_shapes[0])):
        c.refuse("pad_width", "less than the extent of each dimension")
    return c.emit("Pad", c.inputs[0], c.constant([w[0] for w in width] + [w[1] for w in width]), c.number(c["pad_value"]), mode=mode)


# Order --------------------------------------------------------------------------------------------------------------


def _first_of(c, k, outputs):
    """Equal elements go in the order of their positions, as ours do; what is wanted of the values and their positions."""
    axis = c["axis"] % len(c.input_shapes[0])
    found = c.emit("TopK", c.inputs[0], c.constant([k]), axis=axis, largest=int(not c["is_ascend"]), sorted=1, outputs=2)
    return [value if kind == "values" or dtype == "int64" else c.cast(value, dtype)
            for kind, value, dtype in zip(("values", "indices"), found, outputs) if dtype is not None]


def _topk(c):
    wanted = {"values": (c.types[0], None), "indices": (None, c.types[0]), "both": (c.types[0], c.types[-1])}[c["ret_type"]]
    return _first_of(c, c.shapes[0][c["axis"]], wanted)


def _sort(c):
    return _first_of(c, c.shapes[0][c["axis"]], (c.types[0], None))


def _argsort(c):
    return _first_of(c, c.shapes[0][c["axis"]], (None, c.types[0]))


# Elements -----------------------------------------------------------------------------------------------------------


def _emits(op):
    return lambda c: c.emit(op, *c.inputs)


def _with_scalar(op, swapped=False):
    def convert(c):
        operands = [c.inputs[0], c.number(c["scalar"])]
        return c.emit(op, *(operands[::-1] if swapped else operands))

    return convert


def _truncated(c):
    return c.emit("Mul", c.emit("Sign", c.inputs[0]), c.emit("Floor", c.emit("Abs", c.inputs[0])))


def _round(c):
    """Halves away from zero; ONNX's Round takes them to the even neighbour."""
    whole = _truncated(c)
    half = c.emit("GreaterOrEqual", c.emit("Abs", c.emit("Sub", c.inputs[0], whole)), c.number(0.5))
    return c.emit("Add", whole, c.emit("Mul", c.emit("Sign", c.inputs[0]), c.cast(half, c.types[0])))


def _compared(op):
    return lambda c: c.cast(c.emit(op, *c.inputs), c.types[0])


def _filled(value):
    """A constant of the output's shape; `value` is a number or gives that of a call."""

    def convert(c):
        number = c.number(value(c) if callable(value) else value, c.types[0])
        return c.emit("Expand", number, c.constant(c.shapes[0]))

    return convert


def _dropout(c):
    return c.inputs[0], _filled(1)(c)


def _gemm(c):
    return c.emit("Gemm", *c.inputs, transB=1)


_CONVERTED = {
    "relu": _emits("Relu"),
    "sigmoid": _emits("Sigmoid"),
    "tanh": _emits("Tanh"),
    "exp": _emits("Exp"),
    "log": _emits("Log"),
    "sqrt": _emits("Sqrt"),
    "negative": _emits("Neg"),
    "abs": _emits("Abs"),
    "floor": _emits("Floor"),
    "ceil": _emits("Ceil"),
    "trunc": _truncated,
    "round": _round,
    "copy": _emits("Identity"),
    "block_grad": _emits("Identity"),
    "elemwise_add": _emits("Add"),
    "elemwise_sub": _emits("Sub"),
    "elemwise_mul": _emits("Mul"),
    "elemwise_div": _emits("Div"),
    "elemwise_sum": _emits("Sum"),
    "broadcast_add": _emits("Add"),
    "broadcast_sub": _emits("Sub"),
    "broadcast_mul": _emits("Mul"),
    "broadcast_div": _emits("Div"),
    "broadcast_max": _emits("Max"),
    "broadcast_min": _emits("Min"),
    "broadcast_pow": _emits("Pow"),
    "greater": _compared("Greater"),
    "less": _compared("Less"),
    "__add_scalar__": _with_scalar("Add"),
    "__sub_scalar__": _with_scalar("Sub"),
    "__rsub_scalar__": _with_scalar("Sub", swapped=True),
    "__mul_scalar__": _with_scalar("Mul"),
    "__div_scalar__": _with_scalar("Div"),
    "__rdiv_scalar__": _with_scalar("Div", swapped=True),
    "__pow_scalar__": _with_scalar("Pow"),
    "__rpow_scalar__": _with_scalar("Pow", swapped=True),
    "clip": lambda c: c.emit("Clip", c.inputs[0], c.number(c["a_min"]), c.number(c["a_max"])),
    "leaky_relu": lambda c: c.emit("LeakyRelu", c.inputs[0], alpha=float(c["alpha"])),
    "prelu": _prelu,
    "cast": lambda c: c.cast(c.inputs[0], c.types[0]),
    "zeros": _filled(0),
    "zeros_like": _filled(0),
    "ones": _filled(1),
    "ones_like": _filled(1),
    "full": _filled(lambda c: c["fill_value"]),
    "full_like": _filled(lambda c: c["fill_value"]),
    "conv2d": _conv2d,
    "max_pool2d": _max_pool2d,
    "avg_pool2d": _avg_pool2d,
    "global_max_pool2d": _over_images("GlobalMaxPool"),
    "global_avg_pool2d": _over_images("GlobalAveragePool"),
    "upsampling": _upsampling,
    "dense": _gemm,
    "matmul": lambda c: c.emit("Gemm", *c.inputs, transA=int(c["transpose_a"]), transB=int(c["transpose_b"])),
    "softmax": lambda c: c.emit("Softmax", c.inputs[0], axis=c["axis"]),
    "log_softmax": lambda c: c.emit("LogSoftmax", c.inputs[0], axis=c["axis"]),
    "batch_norm": _batch_norm,
    "dropout": _dropout,
    "sum": _reduced("ReduceSum"),
    "max": _reduced("ReduceMax"),
    "min": _reduced("ReduceMin"),
    "mean": _reduced("ReduceMean"),
    "prod": _reduced("ReduceProd"),
    "argmax": _position("ArgMax"),
    "argmin": _position("ArgMin"),
    "flatten": _reshape,
    "reshape": _reshape,
    "reshape_like": _reshape,
    "squeeze": _reshape,
    "expand_dims": _reshape,
    "expand_like": _expand_like,
    "broadcast_to": _broadcast,
    "transpose": _transpose,
    "concatenate": lambda c: c.emit("Concat", *c.inputs, axis=c["axis"]),
    "split": _split,
    "strided_slice": _strided_slice,
    "flip": _flip,
    "pad": _pad,
    "sort": _sort,
    "argsort": _argsort,
    "topk": _topk,
}
