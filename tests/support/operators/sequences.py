"""What follows from elements before, reductions of several steps, and elements repeated or moved."""

import numpy as np

from operators.arrays import named
from operators.mathematics import grown_integers, grown_truths, whole
from operators.row import Operator


# Along a dimension ------------------------------------------------------------------------------------------------


def _along(a, x):
    """The elements in the order in which they are walked, the type of the result, and the axis."""
    type_ = x.dtype if a.get("dtype", "same") == "same" else a.element_type("dtype")
    axis = 0 if a.axis is None else a.axis
    x = x.ravel() if a.axis is None else x
    return (np.flip(x, axis) if a.reverse else x).astype(type_), axis


def _before(y, axis, first):
    """What stands before each element."""
    start = np.full_like(np.take(y, [0] if y.shape[axis] else [], axis), first)
    return np.concatenate([start, np.take(y, range(y.shape[axis] - 1), axis)], axis) if y.shape[axis] else y


def _cumulative(function, first):
    def compute(a, x):
        x, axis = _along(a, x)
        y = function(x, axis, dtype=x.dtype)
        y = _before(y, axis, first) if a.exclusive else y
        return np.flip(y, axis) if a.reverse else y

    return compute


def _recurrence(a, data, factor):
    axis = a.axis % data.ndim
    data, factor = (np.moveaxis(np.flip(x, axis) if a.reverse else x, axis, 0) for x in (data, factor))
    y, last = np.zeros_like(data), np.zeros(data.shape[1:], data.dtype)
    for k in range(len(data)):
        before = last if a.form != "before" else (factor[k - 1] * last if k else last)
        last = data[k] + (before if a.form == "before" else factor[k] * before)
        y[k] = before if a.form == "exclusive" else last
    y = np.moveaxis(y, 0, axis)
    return np.flip(y, axis) if a.reverse else y


WALKS = [([(3, 5)], {"axis": 0}), ([(3, 5)], {"axis": -1, "exclusive": True}), ([(2, 3, 17)], {"axis": 1, "reverse": True}), ([(2, 3)], {"exclusive": True, "reverse": True}),
         ([()], {}), ([(3, 0)], {"axis": 1}), ([(0, 3)], {"axis": 1}), ([(4,)], {"axis": 0, "dtype": "float64"})]
FORMS = [([(5, 3)] * 2, {"form": form, "reverse": reverse}) for form in ("current", "before", "exclusive") for reverse in (False, True)]


def _grow_walk(op, scale):
    def grown(network):
        x = network.call("__mul_scalar__", network.pick_of_rank(1, 2, 3), scalar=scale)
        if x:
            network.keep(network.call(op, x, axis=network.one_of([*range(-x.array.ndim, x.array.ndim), "None"]), exclusive=network.chance(0.3), reverse=network.chance(0.3)))

    return grown


# Reductions -------------------------------------------------------------------------------------------------------


def _reduced(function):
    def compute(a, x):
        return np.asarray(function(x, named(a, x.ndim), a.keepdims, a)).astype(x.dtype)

    return compute


def _variance(x, axes, keep, a):
    return x.var(axes, ddof=int(a.unbiased), keepdims=keep)


def _logsumexp(x, axes, keep, a):
    return np.log(np.exp(x.astype("float64")).sum(axes, keepdims=keep))


def _norm(x, axes, keep, a):
    return np.abs(x).sum(axes, keepdims=keep) if a.ord == 1 else np.sqrt(np.square(x).sum(axes, keepdims=keep))


def _some_zeros(shape, seed, dtype):
    return np.asarray(np.random.default_rng(seed).integers(0, 2, shape), dtype)


REDUCED = [([(3, 5)], {}), ([(2, 3, 5)], {"axis": (0, -1)}), ([(2, 3, 5)], {"axis": 1, "exclude": True, "keepdims": True})]
OF_NONE = [([()], {}), ([(2, 3)], {"exclude": True})]


def _grow_recurrence(network):
    x = network.pick_of_rank(1, 2, 3)
    form = network.one_of(("current", "before", "exclusive"))
    network.keep(network.call("linear_recurrence", x, network.variable(x.shape, -1, 1), axis=network.one_of(range(x.array.ndim)), form=form, reverse=network.chance(0.3)))


def _grow_reduction(op, **attributes):
    def grown(network):
        x = network.pick_of_rank(1, 2, 3)
        network.keep(network.call(op, x, axis=network.one_of(range(x.array.ndim)), keepdims=network.chance(0.5), **attributes))

    return grown


def _grow_decision(op):
    def grown(network):
        x = grown_truths(network)
        network.keep(network.call(op, x, axis=network.one_of(range(x.array.ndim)), keepdims=network.chance(0.5)) if x else None)

    return grown


def _spreads(x):
    return x.size > 1 and (x.std(0) > 0.1).all() and (x.std(-1) > 0.1).all() and x.ndim < 3


# Repeated and moved -----------------------------------------------------------------------------------------------


def _transposed(forward):
    """The gradient of a function that only moves and repeats elements, by sending numbers through it; where it puts zeros, -1."""

    def compute(a, grad, x):
        went = forward(a, np.arange(1, x.size + 1).reshape(x.shape)).ravel().astype(int)
        result = np.zeros(x.size + 1, x.dtype)
        np.add.at(result, went, grad.ravel())
        return result[1:].reshape(x.shape)

    return compute


def _reverse_sequence(a, x, lengths):
    result = x.copy()
    for b, length in enumerate(np.clip(lengths, 0, x.shape[a.seq_axis])):
        at = [slice(None)] * x.ndim
        at[a.batch_axis], at[a.seq_axis] = b, slice(0, int(length))
        line = x[tuple(at)]
        axis = a.seq_axis % x.ndim - (a.batch_axis % x.ndim < a.seq_axis % x.ndim)
        result[tuple(at)] = np.flip(line, axis)
    return result


def _slice_like(a, x, like):
    cut = list(x.shape)
    for axis in a.ints("axis") or range(x.ndim):
        cut[axis] = like.shape[axis]
    return x[tuple(map(slice, cut))]


def _slice_like_grad(a, grad, x):
    result = np.zeros_like(x)
    result[tuple(map(slice, grad.shape))] = grad
    return result


def _compress(a, x):
    holds = np.array(a.ints("condition")) != 0
    return np.compress(holds, x, None if a.axis is None else a.axis)


def _images(function, size="block_size", mode=None):
    def compute(a, x):
        last = a.layout == "NHWC"
        y = function(x.transpose(0, 3, 1, 2) if last else x, getattr(a, size), mode or a.mode)
        return y.transpose(0, 2, 3, 1) if last else y

    return compute


def _depth_to_space(x, b, mode):
    n, c, h, w = x.shape
    c //= b * b
    if mode == "DCR":
        return x.reshape(n, b, b, c, h, w).transpose(0, 3, 4, 1, 5, 2).reshape(n, c, h * b, w * b)
    return x.reshape(n, c, b, b, h, w).transpose(0, 1, 4, 2, 5, 3).reshape(n, c, h * b, w * b)


def _space_to_depth(x, b, mode):
    n, c, h, w = x.shape
    x = x.reshape(n, c, h // b, b, w // b, b)
    order = (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4)
    return x.transpose(order).reshape(n, c * b * b, h // b, w // b)


TILE = [([(3, 5)], {"reps": (2, 3)}), ([(3,)], {"reps": (2, 1, 2)}), ([(2, 3, 2)], {"reps": 2}), ([()], {"reps": (3,)}), ([(3, 0)], {"reps": (2, 2)}), ([(2, 3)], {"reps": (0, 1)})]
REPEAT = [([(3, 5)], {"repeats": 2, "axis": 1}), ([(3, 5)], {"repeats": 3, "axis": -2}), ([(1, 4)], {"repeats": 1}), ([(2, 0)], {"repeats": 2})]
COMPRESS = [([(3, 5)], {"condition": (1, 0, 1, 1), "axis": 1}), ([(3, 5)], {"condition": (0, 1, 1), "axis": 0}), ([(2, 3)], {"condition": (1, 0, 0, 1, 1, 1)}), ([(4,)], {"condition": (0, 0)})]
BLOCKS = [{"block_size": 2}, {"block_size": 2, "mode": "CRD"}, {"block_size": 3, "layout": "NHWC"}]


def _tile(a, x):
    return np.tile(x, a.ints("reps"))


def _repeat(a, x):
    return np.repeat(x, a.repeats, a.axis)


def _grow_moved(op):
    def grown(network):
        x = network.pick_of_rank(1, 2, 3)
        rank = x.array.ndim
        axis = int(network.one_of(range(-rank, rank)))
        attributes = {
            "tile": {"reps": network.one_of([2, (1, 2), (2, 1, 1)])}, "repeat": {"repeats": 2, "axis": axis}, "roll": {"shift": (1, -2), "axis": (axis, 0)},
            "compress": {"condition": (1, 0, 1)[: x.shape[axis]], "axis": axis},
        }
        network.keep(network.call(op, x, **attributes[op]))

    return grown


def _grow_reverse(network):
    x = network.pick_of_rank(2, 3)
    network.keep(network.call("reverse_sequence", x, grown_integers(network, x.shape[:1], -1, 7)))


def _grow_slice_like(network):
    x = network.pick_of_rank(1, 2, 3)
    network.keep(network.call("slice_like", x, network.variable([network.one_of(range(1, e + 1)) for e in x.shape])))


def _grow_blocks(op, channels, extents, size="block_size", modes=({"mode": "DCR"}, {"mode": "CRD"})):
    """Images that are made of blocks, in the layout of the network's."""

    def grown(network):
        shape = (1, channels, *extents) if network.layout == "NCHW" else (1, *extents, channels)
        x = network.pick(lambda v: v.shape == shape) or network.variable(shape)
        network.keep(network.call(op, network.call("tanh", x), **{size: 2}, layout=network.layout, **network.one_of(modes)))

    return grown


def _grow_stack(network):
    x = network.pick_of_rank(0, 1, 2, 3)
    other = network.pick(lambda v: v.shape == x.shape) or x
    network.keep(network.call("stack", x, other, axis=int(network.one_of(range(-x.array.ndim - 1, x.array.ndim + 1)))))


# By where elements stand ------------------------------------------------------------------------------------------


def _diag(a, x):
    return np.diag(x, a.k) if x.ndim == 1 else np.diagonal(x, a.k, -2, -1)


def _set_diag(a, x, diagonal):
    result = x.copy()
    for place in range(diagonal.shape[-1]):
        result[..., place - min(a.k, 0), place + max(a.k, 0)] = diagonal[..., place]
    return result


def _meshgrid(a, *vectors):
    return tuple(np.meshgrid(*vectors, indexing=a.indexing))


def _unravel(a, indices):
    total = int(np.prod(a.ints("shape")))
    flat = np.clip(np.where(indices < 0, indices + total, indices), 0, total - 1)
    return np.stack(np.unravel_index(flat, a.ints("shape"))).astype(indices.dtype)


def _arange(a):
    ends = (0, a.start) if a.stop is None else (a.start, a.stop)
    return np.arange(*ends, a.step).astype(a.element_type("dtype"))


DIAGONALS = [([(3,)], {}), ([(3,)], {"k": -2}), ([(4, 5)], {"k": 1}), ([(2, 5, 3)], {"k": -1}), ([(2, 2)], {"k": 5})]


def _regular(shape, seed, dtype):
    """Matrices with an inverse, whose greatest elements stand elsewhere than on the diagonal."""
    rng = np.random.default_rng(seed)
    return (rng.uniform(-0.5, 0.5, shape) + 2 * np.roll(np.eye(shape[-1]), 1, 0)).astype(dtype)


def _grow_det(network):
    network.keep(network.call("det", network.given(_regular((2, 3, 3), int(network._random.integers(1000)), "float32"))))


def _grow_set_diag(network):
    x = network.pick_of_rank(2, 3)
    network.keep(network.call("matrix_set_diag", x, network.variable((*x.shape[:-2], min(x.shape[-2:])))))


def _grow_meshgrid(network):
    x, y = (network.pick_of_rank(1) for _ in range(2))
    network.keep(*network.call_all("meshgrid", x, y, num_args=2, indexing=network.one_of(("ij", "xy"))))


def _grow_source(op, **choices):
    return lambda network: network.keep(network.call(op, **{name: network.one_of(values) for name, values in choices.items()}))


def _grow_unravelled(network):
    network.keep(network.call("unravel_index", grown_integers(network, (3,), -4, 7), shape=(2, 3)))


def _grow_extents(op):
    def grown(network):
        x = network.pick(lambda v: 0 < v.array.ndim and v.array.size <= 12) or network.variable((2, 3))
        network.keep(network.call(op, x, dtype="float32"))

    return grown


def _grow_matrix(network):
    x = network.pick_of_rank(2, 3)
    k = network.one_of((-1, 0, 1))
    network.keep(network.call(*network.one_of([("trilu", x), ("diag", x)]), k=k))


OPERATORS = {
    "cumsum": Operator(_cumulative(np.cumsum, 0), WALKS, grow=_grow_walk("cumsum", 0.5)),
    "cumprod": Operator(_cumulative(np.cumprod, 1), WALKS, grow=_grow_walk("cumprod", 0.75)),
    "linear_recurrence": Operator(_recurrence, [*FORMS, ([(2, 3, 4)] * 2, {"axis": -1})], grow=_grow_recurrence),
    "logsumexp": Operator(_reduced(_logsumexp), REDUCED + OF_NONE, floating=True, grow=_grow_reduction("logsumexp")),
    "norm": Operator(_reduced(_norm), [*REDUCED, *OF_NONE, ([(3, 5)], {"ord": 1, "axis": 0})], floating=True, grow=_grow_reduction("norm", ord=1)),
    "all": Operator(_reduced(lambda x, axes, keep, a: np.all(x != 0, axes, keepdims=keep)), REDUCED + OF_NONE, samples={0: _some_zeros}, gradient="decided", grow=_grow_decision("all")),
    "any": Operator(_reduced(lambda x, axes, keep, a: np.any(x != 0, axes, keepdims=keep)), REDUCED + OF_NONE, samples={0: _some_zeros}, gradient="decided", grow=_grow_decision("any")),
    "variance": Operator(_reduced(_variance), [*REDUCED, *OF_NONE, ([(3, 5)], {"axis": 1, "unbiased": True})], floating=True, grow=_grow_reduction("variance")),
    "std": Operator(_reduced(lambda *given: np.sqrt(_variance(*given))), [*REDUCED, ([(3, 5)], {"axis": 1, "unbiased": True})], floating=True, needs=_spreads, grow=_grow_reduction("std")),
    "tile": Operator(_tile, TILE, grow=_grow_moved("tile")),
    "_tile_grad": Operator(_transposed(_tile), [([_tile_shape, x], a) for (x,), a in TILE for _tile_shape in [np.tile(np.zeros(x), a["reps"]).shape]]),
    "repeat": Operator(_repeat, REPEAT, grow=_grow_moved("repeat")),
    "_repeat_grad": Operator(_transposed(_repeat), [([np.repeat(np.zeros(x), a["repeats"], a.get("axis", 0)).shape, x], a) for (x,), a in REPEAT]),
    "stack": Operator(lambda a, *arrays: np.stack(arrays, a.axis), [([(3, 5)] * 3, {"axis": 1}), ([()] * 2, {}), ([(2,)], {"axis": -1})], grow=_grow_stack),
    "roll": Operator(lambda a, x: np.roll(x, a.ints("shift"), a.ints("axis")), [([(3, 5)], {"shift": (1, -7), "axis": (0, 1)}), ([(7,)], {"shift": 9, "axis": -1}), ([(0, 2)], {"shift": 1, "axis": 0})], grow=_grow_moved("roll")),
    "reverse_sequence": Operator(_reverse_sequence, [([(3, 5), (3,)], {}), ([(4, 2, 3), (3,)], {"seq_axis": 0, "batch_axis": -1})], samples={1: whole(-1, 7)}, grow=_grow_reverse),
    "slice_like": Operator(_slice_like, [([(4, 5), (2, 3)], {}), ([(4, 5, 6), (2, 3)], {"axis": (1, 0)}), ([(3, 5), (7, 2)], {"axis": -1})], grow=_grow_slice_like),
    "_slice_like_grad": Operator(_slice_like_grad, [([(2, 3), (4, 5)], {}), ([(4, 3), (4, 5)], {"axis": 1})]),
    "compress": Operator(_compress, COMPRESS, grow=_grow_moved("compress")),
    "_compress_grad": Operator(_transposed(_compress), [([np.compress(np.array(a["condition"]) != 0, np.zeros(x), a.get("axis")).shape, x], a) for (x,), a in COMPRESS]),
    "depth_to_space": Operator(_images(_depth_to_space), [*zip([[(2, 8, 2, 3)], [(1, 12, 1, 3)], [(1, 2, 3, 18)]], BLOCKS), ([(0, 4, 2, 3)], {"block_size": 2})], grow=_grow_blocks("depth_to_space", 8, (2, 3))),
    "space_to_depth": Operator(_images(_space_to_depth), [*zip([[(2, 2, 4, 6)], [(1, 3, 2, 6)], [(1, 6, 9, 2)]], BLOCKS), ([(1, 2, 0, 4)], {"block_size": 2})], grow=_grow_blocks("space_to_depth", 2, (4, 6))),
    "pixel_shuffle": Operator(_images(_depth_to_space, "upscale_factor", "CRD"),
                              [([(2, 8, 2, 3)], {"upscale_factor": 2}), ([(1, 2, 3, 18)], {"upscale_factor": 3, "layout": "NHWC"}), ([(1, 3, 2, 2)], {"upscale_factor": 1})],
                              grow=_grow_blocks("pixel_shuffle", 8, (2, 3), "upscale_factor", [{}])),
    "pixel_unshuffle": Operator(_images(_space_to_depth, "downscale_factor", "CRD"),
                                [([(2, 2, 4, 6)], {"downscale_factor": 2}), ([(1, 6, 9, 2)], {"downscale_factor": 3, "layout": "NHWC"})],
                                grow=_grow_blocks("pixel_unshuffle", 2, (4, 6), "downscale_factor", [{}])),
    "arange": Operator(_arange, [([], {"stop": 5}), ([], {"start": 1, "stop": 4, "step": 0.75}), ([], {"start": 5, "stop": -3, "step": -2, "dtype": "int32"}), ([], {"start": 3, "stop": 1}), ([], {"start": 4, "step": 0.75})], gradient="source", grow=_grow_source("arange", start=(0, 1), stop=(3, 5), step=(1, 0.75))),
    "eye": Operator(lambda a: np.eye(a.N, a.M, a.k, dtype=a.element_type("dtype")), [([], {"N": 3}), ([], {"N": 2, "M": 5, "k": -1, "dtype": "int8"}), ([], {"N": 3, "M": 4, "k": 2})], gradient="source", grow=_grow_source("eye", N=(2, 3), M=(3, 4), k=(-1, 0, 1))),
    "diag": Operator(_diag, DIAGONALS, grow=_grow_matrix),
    "_diag_grad": Operator(_transposed(_diag), [([_diag(type("A", (), {"k": a.get("k", 0)}), np.zeros(x)).shape, x], a) for (x,), a in DIAGONALS]),
    "det": Operator(lambda a, x: np.linalg.det(x.astype("float64")).astype(x.dtype), [([(3, 3)], {}), ([(2, 3, 4, 4)], {}), ([(2, 1, 1)], {}), ([(3, 0, 0)], {}), ([(0, 2, 2)], {})], samples={0: _regular},
                    floating=True, grow=_grow_det),
    "matrix_set_diag": Operator(_set_diag, [([(3, 3), (3,)], {}), ([(2, 4, 5), (2, 4)], {"k": 1}), ([(4, 2), (2,)], {"k": -1})], grow=_grow_set_diag),
    "trilu": Operator(lambda a, x: (np.triu if a.upper else np.tril)(x, a.k), [([(3, 5)], {}), ([(2, 4, 3)], {"k": -1, "upper": False}), ([(3, 3)], {"k": 1})]),
    "meshgrid": Operator(_meshgrid, [([(2,), (3,), (5,)], {"num_args": 3}), ([(2,), (3,)], {"num_args": 2, "indexing": "xy"}), ([(4,)], {"num_args": 1})], grow=_grow_meshgrid),
    "unravel_index": Operator(_unravel, [([(3, 2)], {"shape": (2, 3, 4)}), ([()], {"shape": 7})], samples={0: whole(-30, 30)}, gradient="ends", grow=_grow_unravelled),
    "shape_of": Operator(lambda a, x: np.array(x.shape, a.element_type("dtype")), [([(2, 3, 5)], {}), ([()], {}), ([(0, 2)], {"dtype": "int64"})], gradient="ends", grow=_grow_extents("shape_of")),
    "ndarray_size": Operator(lambda a, x: np.asarray(x.size, a.element_type("dtype")), [([(2, 3, 5)], {}), ([()], {"dtype": "float32"})], gradient="ends", grow=_grow_extents("ndarray_size")),
}
