"""Networks computed with NumPy, independently of the graph layer: what every way to build a network is compared with.

`run(symbol_or_graph, inputs)` gives the outputs. OPERATORS says of each operator what it computes; what cannot be part of
an inference is in NOT_COMPUTED, with the reason.
"""

from __future__ import annotations

import ast
import itertools
import math
import re

import numpy as np

import tilewright as tw
import tilewright.graph

NOT_COMPUTED = {"tvm_op": "a call of a kernel that GraphFuseCompile has built", "_assign": "writes to a variable",
                "_call_function": "a call of a function that a pass has made", "compiler_begin": "a mark, of code generators",
                "compiler_end": "a mark, of code generators"}


class Attributes:
    """The attributes of a node as values: `a.axis`."""

    def __init__(self, texts: dict, defaults: dict):
        self._texts = {**defaults, **texts}

    def __getattr__(self, name):
        if name not in self._texts:
            raise AttributeError(name)
        text = str(self._texts[name])
        if text in ("true", "false"):
            return text == "true"
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError):
            return text

    def get(self, name, default=None):
        return getattr(self, name) if name in self._texts else default

    def ints(self, name) -> tuple:
        value = getattr(self, name)
        return tuple(value) if isinstance(value, (tuple, list)) else (value,)

    def pair(self, name) -> tuple:
        values = self.ints(name)
        return values if len(values) == 2 else values * 2

    def element_type(self, name):
        value = getattr(self, name)
        return np.dtype(tw.graph.dtypes()[value] if isinstance(value, int) else value)


# Layouts ------------------------------------------------------------------------------------------------------------


def _dimensions(layout: str) -> list[tuple[str, int]]:
    """NCHW16c: N, C, H, W with block 0, and c with block 16."""
    return [(letter, int(block or 0)) for block, letter in re.findall(r"(\d*)([A-Za-z])", layout)]


def relayout(x, source: str, target: str):
    """The elements of x, whose dimensions are those of a layout, in another; c of 16c counts within blocks of C."""
    if source == target:
        return x
    dimensions = _dimensions(source)
    whole = [letter for letter, block in dimensions if not block]
    order, extents = [], []
    for letter in whole:
        parts = [k for k, (name, _) in enumerate(dimensions) if name == letter]
        parts += [k for k, (name, _) in enumerate(dimensions) if name == letter.lower()]
        order += parts
        extents.append(math.prod(x.shape[k] for k in parts))
    x = x.transpose(order).reshape(extents)

    dimensions = _dimensions(target)
    blocks = {letter.upper(): block for letter, block in dimensions if block}
    names, extents = [], []
    for letter, extent in zip(whole, x.shape, strict=True):
        block = blocks.get(letter, 1)
        names += [letter] + [letter.lower()] * (letter in blocks)
        extents += [extent // block] + [block] * (letter in blocks)
    return x.reshape(extents).transpose([names.index(letter) for letter, _ in dimensions])


# Windows over images ------------------------------------------------------------------------------------------------


def _border(values: tuple) -> tuple:
    """(top, left, bottom, right) of one, two or four numbers."""
    return values if len(values) == 4 else values * (4 // len(values))


def _taps(kernel, stride, dilation, positions):
    """For each element of a kernel: where it is, and the elements of [..., h, w] that it meets."""
    for tap in itertools.product(*map(range, kernel)):
        first = [t * d for t, d in zip(tap, dilation, strict=True)]
        yield tap, (..., *(slice(f, f + (p - 1) * s + 1, s) for f, p, s in zip(first, positions, stride, strict=True)))


def _padded(x, border, value=0):
    top, left, bottom, right = border
    return np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=value)


def _conv_positions(padded, kernel, stride, dilation):
    return [(e - (k - 1) * d - 1) // s + 1 for e, k, s, d in zip(padded.shape[2:], kernel, stride, dilation, strict=True)]


def _conv2d_operands(a, data, weight):
    data, weight = relayout(data, a.layout, "NCHW"), relayout(weight, a.kernel_layout, "OIHW")
    stride, dilation, border = a.pair("strides"), a.pair("dilation"), _border(a.ints("padding"))
    return data, weight, stride, dilation, border


def _by_tap(weight, groups):
    """(rows, columns, groups, outputs, inputs) of a group, in the order that products are fast in."""
    channels, inputs, *kernel = weight.shape
    return np.ascontiguousarray(weight.reshape(groups, channels // groups, inputs, *kernel).transpose(3, 4, 0, 1, 2))


def _conv2d(a, data, weight, bias=None):
    data, weight, stride, dilation, border = _conv2d_operands(a, data, weight)
    type_ = data.dtype if a.out_dtype == "same" else a.element_type("out_dtype")
    groups, (n, c), (channels, _, *kernel) = a.groups, data.shape[:2], weight.shape
    padded = _padded(data.astype(type_), border)
    rows, columns = _conv_positions(padded, kernel, stride, dilation)
    out = np.zeros((n, groups, channels // groups, rows * columns), type_)
    by_tap = _by_tap(weight.astype(type_), groups)
    for tap, at in _taps(kernel, stride, dilation, (rows, columns)):
        out += by_tap[tap] @ padded[at].reshape(n, groups, c // groups, rows * columns)
    out = out.reshape(n, channels, rows, columns)
    if bias is not None:
        out = out + bias.reshape(1, -1, 1, 1)
    wanted = a.get("out_layout", a.layout)
    return relayout(out, "NCHW", a.layout if wanted in ("", "__undef__") else wanted)


def _conv2d_grad(a, grad, data, weight):
    data, weight, stride, dilation, border = _conv2d_operands(a, data, weight)
    grad = relayout(grad, a.layout, "NCHW")
    groups, (n, c), (channels, _, *kernel) = a.groups, data.shape[:2], weight.shape
    padded = _padded(data, border)
    by_tap = _by_tap(weight, groups)
    of_padded, of_weight = np.zeros_like(padded), np.zeros_like(by_tap)
    positions = grad.shape[2:]
    grad = grad.reshape(n, groups, channels // groups, -1)
    for tap, at in _taps(kernel, stride, dilation, positions):
        met = padded[at].reshape(n, groups, c // groups, -1)
        of_weight[tap] = (grad @ met.swapaxes(2, 3)).sum(0)
        of_padded[at] += (by_tap[tap].swapaxes(1, 2) @ grad).reshape(n, c, *positions)
    top, left, bottom, right = border
    inner = of_padded[:, :, top : of_padded.shape[2] - bottom, left : of_padded.shape[3] - right]
    return relayout(inner, "NCHW", a.layout), relayout(of_weight.transpose(2, 3, 4, 0, 1).reshape(weight.shape), "OIHW", a.kernel_layout)


def _pooled(of_windows):
    """An operator that slides windows: of_windows(images, border, rest, taps, a), where `rest` is added below and at the
    right so that all windows lie inside."""

    def compute(a, x):
        x = relayout(x, a.layout, "NCHW")
        kernel, stride, border = a.pair("pool_size"), a.pair("strides"), _border(a.ints("padding"))
        whole = [e + border[k] + border[k + 2] for k, e in enumerate(x.shape[2:])]
        up = [s - 1 if a.ceil_mode else 0 for s in stride]
        positions = [(e - k + u) // s + 1 for e, k, s, u in zip(whole, kernel, stride, up, strict=True)]
        rest = (0, 0, *(max(0, (p - 1) * s + k - e) for p, s, k, e in zip(positions, stride, kernel, whole, strict=True)))
        taps = [at for _, at in _taps(kernel, stride, (1, 1), positions)]
        return relayout(of_windows(a, x, border, rest, taps).astype(x.dtype), "NCHW", a.layout)

    return compute


def _max_of_windows(a, x, border, rest, taps):
    least = _least(x.dtype)
    x = _padded(_padded(x, border, least), rest, least)
    return np.max([x[at] for at in taps], 0)


def _mean_of_windows(a, x, border, rest, taps):
    inside = np.ones((1, 1, *x.shape[2:]))
    counted = _padded(_padded(inside, border, 1.0 if a.count_include_pad else 0.0), rest)
    x = _padded(_padded(x, border), rest)
    return sum(x[at].astype("float64") for at in taps) / np.maximum(sum(counted[at] for at in taps), 1)


def _windows(a, images):
    """Of a pooling: for each window (row, column) the rows and columns of the images that it covers. A pool_size of () is one
    window over all."""
    h, w = images.shape[2:]
    kernel = a.pair("pool_size") if a.ints("pool_size") else (h, w)
    stride = a.pair("strides") if a.ints("pool_size") else (1, 1)
    border = _border(a.ints("padding"))
    for extent, k, s, before, after in zip((h, w), kernel, stride, border[:2], border[2:], strict=True):
        room = extent + before + after - k + (s - 1 if a.ceil_mode else 0)
        yield [(p * s - before, p * s - before + k, before, after, extent) for p in range(room // s + 1)]


def _inside(window):
    first, end, _, _, extent = window
    return range(max(first, 0), min(end, extent))


def _greatest_places(a, images):
    """For each image and window with elements, the first place of its greatest."""
    rows, columns = _windows(a, images)
    for (i, row), (j, column) in itertools.product(enumerate(rows), enumerate(columns)):
        covered = [(y, x) for y in _inside(row) for x in _inside(column)]
        for n, c in np.ndindex(*images.shape[:2]) if covered else ():
            y, x = max(covered, key=lambda at: images[n, c, at[0], at[1]])
            yield (n, c, i, j), (n, c, y, x)


def _max_pool2d_grad(a, grad, data):
    grad, data = relayout(grad, a.layout, "NCHW"), relayout(data, a.layout, "NCHW")
    result = np.zeros_like(data)
    for window, place in _greatest_places(a, data):
        result[place] += grad[window]
    return relayout(result, "NCHW", a.layout)


def _max_pool2d_select(a, values, data):
    values, data = relayout(values, a.layout, "NCHW"), relayout(data, a.layout, "NCHW")
    result = np.zeros((*data.shape[:2], *map(len, _windows(a, data))), data.dtype)
    for window, place in _greatest_places(a, data):
        result[window] = values[place]
    return relayout(result, "NCHW", a.layout)


def _avg_pool2d_grad(a, grad, data):
    grad, data = relayout(grad, a.layout, "NCHW"), relayout(data, a.layout, "NCHW")
    result = np.zeros(data.shape)
    rows, columns = _windows(a, data)
    for (i, row), (j, column) in itertools.product(enumerate(rows), enumerate(columns)):
        count = 1
        for window in (row, column):
            first, end, before, after, extent = window
            count *= min(end, extent + after) - max(first, -before) if a.count_include_pad else len(_inside(window))
        for y, x in itertools.product(_inside(row), _inside(column)):
            result[:, :, y, x] += grad[:, :, i, j] / max(count, 1)
    return relayout(result.astype(data.dtype), "NCHW", a.layout)


def _over_images(function):
    def compute(a, x):
        return relayout(function(relayout(x, a.layout, "NCHW"), axis=(2, 3), keepdims=True), "NCHW", a.layout)

    return compute


def _upsampling(a, x):
    return relayout(relayout(x, a.layout, "NCHW").repeat(a.scale, 2).repeat(a.scale, 3), "NCHW", a.layout)


# Along dimensions ---------------------------------------------------------------------------------------------------


def _along(values, axis, rank):
    """A vector that stands along a dimension of a tensor of that rank; of rank 2, with its blocks along the last."""
    aligned = [1] * rank
    aligned[axis] = values.shape[0]
    if values.ndim == 2:
        aligned[-1] = values.shape[1]
    return values.reshape(aligned)


def _batch_norm(a, x, gamma, beta, mean, variance):
    scale, shift = (gamma if a.scale else np.ones_like(gamma)), (beta if a.center else np.zeros_like(beta))
    factor = scale / np.sqrt(variance + np.asarray(a.epsilon, x.dtype))
    shift = shift - mean * factor
    return x * _along(factor, a.axis, x.ndim) + _along(shift, a.axis, x.ndim), mean, variance


def _log_softmax(a, x):
    x = x - x.max(a.axis, keepdims=True)
    return x - np.log(np.exp(x).sum(a.axis, keepdims=True))


def _softmax(a, x):
    shares = np.exp(x - x.max(a.axis, keepdims=True, initial=-np.inf))
    return shares / shares.sum(a.axis, keepdims=True)


def _named(a, rank):
    named = {axis % rank for axis in a.ints("axis")} or set(range(rank))
    return tuple(k for k in range(rank) if (k in named) != a.exclude)


def _least(dtype):
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def _greatest(dtype):
    return np.inf if dtype.kind == "f" else np.iinfo(dtype).max


def _reduced(function):
    def compute(a, x):
        axes = _named(a, x.ndim)
        with np.errstate(invalid="ignore"):
            return function(x, axis=axes, keepdims=a.keepdims).astype(x.dtype) if axes else x

    return compute


def _position(function):
    def compute(a, x):
        axes = _named(a, x.ndim)
        if not axes:
            return np.zeros(x.shape, "int32")
        kept = [k for k in range(x.ndim) if k not in axes]
        found = function(x.transpose(*kept, *axes).reshape(*(x.shape[k] for k in kept), math.prod(x.shape[k] for k in axes)), -1).astype("int32")
        return found.reshape([1 if k in axes else e for k, e in enumerate(x.shape)]) if a.keepdims else found

    return compute


# Shapes -------------------------------------------------------------------------------------------------------------


def _reshape(a, x):
    """Extents of NNVM's reshape: 0 one of x, -1 what is left over, -2 all others of x, -3 two of x multiplied, and
    -4, p, q one of x taken apart."""
    codes, given, result = list(a.ints("shape")), list(x.shape), []
    while codes:
        code = codes.pop(0)
        if code == -2:
            result += given
            given = []
        elif code == -3:
            result.append(given.pop(0) * given.pop(0))
        elif code == -4:
            extent, parts = given.pop(0), [codes.pop(0), codes.pop(0)]
            result += [extent // -math.prod(parts) if part == -1 else part for part in parts]
        else:
            extent = given.pop(0) if given else None
            result.append(extent if code == 0 else code)
    return x.reshape(result)


def _expand_dims(a, x):
    at = a.axis if a.axis >= 0 else a.axis + x.ndim + 1
    return x.reshape(*x.shape[:at], *[1] * a.num_newaxis, *x.shape[at:])


def _expand_like(a, x, like):
    if x.ndim < like.ndim:
        x = x.reshape([1 if k in _named(a, like.ndim) else e for k, e in _aligned(x.shape, _named(a, like.ndim), like.ndim)])
    return np.broadcast_to(x, like.shape)


def _aligned(shape, added, rank):
    rest = iter(shape)
    return [(k, 1 if k in added else next(rest)) for k in range(rank)]


def _broadcast_to(a, x):
    shape = a.ints("shape")
    own = (0,) * (len(shape) - x.ndim) + x.shape
    return np.broadcast_to(x, [e or o for e, o in zip(shape, own, strict=True)])


def _collapse_sum(a, x, like):
    added = x.ndim - like.ndim
    repeated = tuple(k for k, e in enumerate(x.shape) if k < added or (like.shape[k - added] == 1 and e != 1))
    return x.sum(repeated, dtype=x.dtype).reshape(like.shape)


def _mean_grad(a, grad, x):
    axes = _named(a, x.ndim)
    kept = [1 if k in axes else e for k, e in enumerate(x.shape)]
    return np.broadcast_to(grad.reshape(kept) / np.asarray(max(math.prod(x.shape[k] for k in axes), 1), x.dtype), x.shape)


def _concatenate_grad(a, grad, *parts):
    return np.split(grad, np.cumsum([p.shape[a.axis] for p in parts])[:-1], a.axis)


def _strided_slice_grad(a, grad, x):
    result = np.zeros_like(x)
    begin, end, stride = a.ints("begin"), a.ints("end"), a.ints("stride")
    stride += (1,) * (len(begin) - len(stride))
    result[tuple(map(slice, begin, end, stride))] = grad
    return result


def _split(a, x):
    return np.split(x, a.indices_or_sections, a.axis)


def _strided_slice(a, x):
    begin, end, stride = a.ints("begin"), a.ints("end"), a.ints("stride")
    stride += (1,) * (len(begin) - len(stride))
    return x[tuple(map(slice, begin, end, stride))]


# Elements -----------------------------------------------------------------------------------------------------------


def _number(value, type_):
    """A number of an attribute in an element type: integers take it towards zero, up to their limits."""
    if type_.kind in "iu":
        limits = np.iinfo(type_)
        value = min(max(int(value), limits.min), limits.max)
    return np.asarray(value, type_)


def _with_scalar(function):
    return lambda a, x: function(x, _number(a.scalar, x.dtype))


def _elements(function):
    """Of arrays alone; the type of the result is that of the first."""
    return lambda a, *arrays: np.asarray(function(*arrays)).astype(arrays[0].dtype)


def _round(x):
    whole = np.trunc(x)
    return whole + np.where(np.abs(x - whole) >= 0.5, np.sign(x), 0)


def _quotient(x, y):
    """Of integers towards zero."""
    return np.divide(x, y) if x.dtype.kind == "f" else (np.sign(x) * np.sign(y) * (np.abs(x) // np.abs(y))).astype(x.dtype)


def _total(*arrays):
    return sum(arrays[1:], arrays[0])


_BINARY = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": _quotient, "max": np.maximum, "min": np.minimum,
           "pow": np.power}

OPERATORS = {
    "__add_scalar__": _with_scalar(np.add),
    "__sub_scalar__": _with_scalar(np.subtract),
    "__rsub_scalar__": _with_scalar(lambda x, c: c - x),
    "__mul_scalar__": _with_scalar(np.multiply),
    "__div_scalar__": _with_scalar(_quotient),
    "__rdiv_scalar__": _with_scalar(lambda x, c: _quotient(c, x)),
    "__pow_scalar__": _with_scalar(np.power),
    "__rpow_scalar__": _with_scalar(lambda x, c: np.power(c, x)),
    "relu": _elements(lambda x: np.maximum(x, 0)),
    "sigmoid": _elements(lambda x: 1 / (1 + np.exp(-x))),
    "tanh": _elements(np.tanh),
    "exp": _elements(np.exp),
    "log": _elements(np.log),
    "sqrt": _elements(np.sqrt),
    "negative": _elements(np.negative),
    "abs": _elements(np.abs),
    "floor": _elements(np.floor),
    "ceil": _elements(np.ceil),
    "trunc": _elements(np.trunc),
    "round": _elements(_round),
    "copy": _elements(np.copy),
    "__copy": _elements(np.copy),
    "block_grad": _elements(np.copy),
    "__copy": _elements(np.copy),
    "_assign": lambda a, variable, value: value.copy(),
    "ones_like": _elements(np.ones_like),
    "zeros_like": _elements(np.zeros_like),
    **{f"elemwise_{name}": _elements(_BINARY[name]) for name in ("add", "sub", "mul", "div")},
    **{f"broadcast_{name}": _elements(function) for name, function in _BINARY.items()},
    **{f"broadcast_{name}": _elements(getattr(np, name)) for name in ("equal", "not_equal", "greater", "greater_equal", "less", "less_equal")},
    "sign": _elements(np.sign),
    "cast_like": lambda a, x, like: x.astype(like.dtype),
    "collapse_sum": _collapse_sum,
    "broadcast_to_like": lambda a, x, like: np.broadcast_to(x, like.shape),
    "_mean_grad": _mean_grad,
    "_concatenate_grad": _concatenate_grad,
    "_strided_slice_grad": _strided_slice_grad,
    "_max_pool2d_grad": _max_pool2d_grad,
    "_max_pool2d_select": _max_pool2d_select,
    "_avg_pool2d_grad": _avg_pool2d_grad,
    "greater": _elements(np.greater),
    "less": _elements(np.less),
    "elemwise_sum": _elements(_total),
    "leaky_relu": lambda a, x: np.where(x > 0, x, x * np.asarray(a.alpha, x.dtype)),
    "prelu": lambda a, x, alpha: np.where(x > 0, x, x * _along(alpha, a.axis, x.ndim)),
    "clip": lambda a, x: np.clip(x, _number(a.a_min, x.dtype), _number(a.a_max, x.dtype)),
    "cast": lambda a, x: x.astype(a.element_type("dtype")),
    "full_like": lambda a, x: np.full_like(x, _number(a.fill_value, x.dtype)),
    "conv2d": _conv2d,
    "_conv2d_grad": _conv2d_grad,
    "_contrib_conv2d_NCHWc": _conv2d,
    "max_pool2d": _pooled(_max_of_windows),
    "avg_pool2d": _pooled(_mean_of_windows),
    "global_max_pool2d": _over_images(np.max),
    "global_avg_pool2d": _over_images(np.mean),
    "upsampling": _upsampling,
    "dense": lambda a, x, weight, *bias: _total(x @ weight.T, *bias),
    "matmul": lambda a, x, y: (x.T if a.transpose_a else x) @ (y.T if a.transpose_b else y),
    "softmax": _softmax,
    "log_softmax": _log_softmax,
    "batch_norm": _batch_norm,
    "dropout": lambda a, x: (x, np.ones_like(x)),
    **{name: _reduced(getattr(np, name)) for name in ("sum", "mean", "prod")},
    "max": _reduced(lambda x, **a: np.max(x, initial=_least(x.dtype), **a)),
    "min": _reduced(lambda x, **a: np.min(x, initial=_greatest(x.dtype), **a)),
    "argmax": _position(np.argmax),
    "argmin": _position(np.argmin),
    "zeros": lambda a: np.zeros(a.ints("shape"), a.element_type("dtype")),
    "ones": lambda a: np.ones(a.ints("shape"), a.element_type("dtype")),
    "full": lambda a: np.full(a.ints("shape"), _number(a.fill_value, a.element_type("dtype"))),
    "flatten": lambda a, x: x.reshape(x.shape[0], math.prod(x.shape[1:])),
    "transpose": lambda a, x: x.transpose(a.ints("axes") or None),
    "reshape": _reshape,
    "reshape_like": lambda a, x, like: x.reshape(like.shape),
    "squeeze": lambda a, x: np.squeeze(x, a.ints("axis") or None),
    "expand_dims": _expand_dims,
    "expand_like": _expand_like,
    "broadcast_to": _broadcast_to,
    "concatenate": lambda a, *arrays: np.concatenate(arrays, a.axis),
    "split": _split,
    "strided_slice": _strided_slice,
    "flip": lambda a, x: np.flip(x, a.axis),
    "pad": lambda a, x: np.pad(x, a.pad_width, constant_values=_number(a.pad_value, x.dtype)),
    "__layout_transform__": lambda a, x: relayout(x, a.src_layout, a.dst_layout),
}


def defaults() -> dict[str, dict]:
    """The attributes of each operator that a call may leave out, as texts."""
    return {op["name"]: {name: default for name, _, default, _ in op["attributes"] if default is not None}
            for op in tw.graph.operators()}


def compute(op: str, attributes: dict, arrays: list) -> list:
    """The outputs of one operator, whose attributes are texts."""
    found = OPERATORS[op](Attributes(attributes, defaults().get(op, {})), *arrays)
    return list(found) if isinstance(found, (tuple, list)) else [np.asarray(found)]


def run_all(graph, inputs: dict) -> list[list]:
    """The outputs of each node of a graph; `inputs` are the values of all variables by name."""
    graph = graph if isinstance(graph, tw.graph.Graph) else tw.graph.create(graph)
    values: list[list] = []
    for node in graph.index.nodes:
        if node["op"] == "null":
            values.append([np.asarray(inputs[node["name"]])])
        else:
            values.append(compute(node["op"], node.get("attrs", {}), [values[k][output] for k, output, *_ in node["inputs"]]))
    return values


def run(graph, inputs: dict) -> list:
    """The outputs of a symbol or graph, from the values of its variables by name."""
    graph = graph if isinstance(graph, tw.graph.Graph) else tw.graph.create(graph)
    values = run_all(graph, inputs)
    return [values[node][output] for node, output, *_ in graph.index.output_entries]
