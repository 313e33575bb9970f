"""Elements under other shapes and in other places, and tensors of one number."""

import math

import numpy as np

from operators.arrays import named, number, relayout
from operators.row import Operator


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


def _aligned(shape, added, rank):
    rest = iter(shape)
    return [(k, 1 if k in added else next(rest)) for k in range(rank)]


def _expand_like(a, x, like):
    if x.ndim < like.ndim:
        x = x.reshape([1 if k in named(a, like.ndim) else e for k, e in _aligned(x.shape, named(a, like.ndim), like.ndim)])
    return np.broadcast_to(x, like.shape)


def _broadcast_to(a, x):
    shape = a.ints("shape")
    own = (0,) * (len(shape) - x.ndim) + x.shape
    return np.broadcast_to(x, [e or o for e, o in zip(shape, own, strict=True)])


def _collapse_sum(a, x, like):
    added = x.ndim - like.ndim
    repeated = tuple(k for k, e in enumerate(x.shape) if k < added or (like.shape[k - added] == 1 and e != 1))
    return x.sum(repeated, dtype=x.dtype).reshape(like.shape)


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


def _grow_layouts(network):
    """There and back: what is in blocks is images only to those who know."""
    n, c, h, w = 1, 8, 5, 4
    natural, blocks = network.layout, network.one_of(("NCHW4c", "NCHW8c"))
    shape = (n, c, h, w) if natural == "NCHW" else (n, h, w, c)
    x = network.pick(lambda v: v.shape == shape) or network.variable(shape)
    inside = network.call("relu", network.call("__layout_transform__", x, src_layout=natural, dst_layout=blocks))
    network.keep(network.call("__layout_transform__", inside, src_layout=blocks, dst_layout=natural))


OPERATORS = {
    "zeros": Operator(lambda a: np.zeros(a.ints("shape"), a.element_type("dtype")), [([], {"shape": (2, 3)})], gradient="source"),
    "ones": Operator(lambda a: np.ones(a.ints("shape"), a.element_type("dtype")), [([], {"shape": (), "dtype": "int32"})], gradient="source"),
    "full": Operator(lambda a: np.full(a.ints("shape"), number(a.fill_value, a.element_type("dtype"))), [([], {"shape": 4, "dtype": "int8", "fill_value": -7.9})], gradient="source"),
    "flatten": Operator(lambda a, x: x.reshape(x.shape[0], math.prod(x.shape[1:])), [([(2, 3, 5)], {}), ([(3,)], {})]),
    "transpose": Operator(lambda a, x: x.transpose(a.ints("axes") or None), [([(2, 3, 5)], {}), ([(2, 3, 5)], {"axes": (1, -1, 0)}), ([()], {})]),
    "reshape": Operator(_reshape, [([(2, 3, 4)], {"shape": shape}) for shape in ((4, 0, 2), (-1,), (-2, 1), (0, -3), (-4, 1, 2, -2), (2, -4, -1, 3, -2))]),
    "reshape_like": Operator(lambda a, x, like: x.reshape(like.shape), [([(2, 6), (3, 4)], {})]),
    "squeeze": Operator(lambda a, x: np.squeeze(x, a.ints("axis") or None), [([(1, 3, 1)], {}), ([(1, 3, 1)], {"axis": (0, -1)})]),
    "expand_dims": Operator(_expand_dims, [([(3, 5)], {"axis": 1}), ([()], {"axis": 0, "num_newaxis": 2}), ([(3,)], {"axis": -1})]),
    "expand_like": Operator(_expand_like, [([(3,), (2, 3, 4)], {"axis": (0, 2)}), ([(3,), (2, 3, 4)], {"axis": -2, "exclude": True}), ([(1, 3), (2, 3)], {"axis": 0})]),
    "collapse_sum": Operator(_collapse_sum, [([(2, 3, 5), (3, 1)], {}), ([(3, 5), (3, 5)], {}), ([(3, 5), ()], {}), ([(2, 3), (1, 3)], {}), ([(2, 3), (3,)], {})]),
    "broadcast_to_like": Operator(lambda a, x, like: np.broadcast_to(x, like.shape), [([(3, 1), (2, 3, 5)], {}), ([(), (2,)], {})]),
    "broadcast_to": Operator(_broadcast_to, [([(3, 1)], {"shape": (2, 0, 4)}), ([()], {"shape": (2,)})]),
    "concatenate": Operator(lambda a, *arrays: np.concatenate(arrays, a.axis), [([(2, 3), (2, 1), (2, 5)], {}), ([(3,), (1,)], {"axis": -1})]),
    "_concatenate_grad": Operator(_concatenate_grad, [([(2, 9), (2, 3), (2, 1), (2, 5)], {"num_args": 3}), ([(3,), (3,)], {"num_args": 1, "axis": -1})]),
    "split": Operator(_split, [([(2, 6)], {"indices_or_sections": 3}), ([(7, 2)], {"indices_or_sections": (1, 4), "axis": 0})]),
    "strided_slice": Operator(_strided_slice, [([(5, 7)], {"begin": (4, 6), "end": (0, -8), "stride": (-1, -2)}), ([(5, 7)], {"begin": (1,), "end": (99,)}),
        ([(6,)], {"begin": (3,), "end": (0,), "stride": (-2**63,)}), ([(6,)], {"begin": (3,), "end": (6,), "stride": (2**40,)})]),
    "_strided_slice_grad": Operator(_strided_slice_grad, [([(5, 4), (5, 7)], {"begin": (4, 6), "end": (-6, -8), "stride": (-1, -2)}), ([(4, 7), (5, 7)], {"begin": (1,), "end": (99,)}),
        ([(1,), (6,)], {"begin": (3,), "end": (0,), "stride": (-2**63,)}), ([(1,), (6,)], {"begin": (3,), "end": (6,), "stride": (2**40,)}),
                            ([(2, 2), (5, 7)], {"begin": (-4, 1), "end": (-1, 6), "stride": (2, 3)})]),
    "flip": Operator(lambda a, x: np.flip(x, a.axis), [([(3, 5)], {"axis": -1})]),
    "__layout_transform__": Operator(lambda a, x: relayout(x, a.src_layout, a.dst_layout), [
        ([(2, 8, 3, 5)], {"src_layout": "NCHW", "dst_layout": "NCHW4c"}),
        ([(2, 3, 5, 8)], {"src_layout": "NHWC", "dst_layout": "NCHW"}),
        ([(2, 2, 3, 5, 4)], {"src_layout": "NCHW4c", "dst_layout": "NCHW2c"}),
    ], grow=_grow_layouts),
}
