"""Elements in order, and elements by their positions along a dimension."""

import numpy as np

from operators.elements import MARGIN
from operators.row import Operator


def _places(a, x):
    """Of equal elements the first goes first, whichever way; NaN is beyond all numbers."""
    # Numbers of the values, which may be negated whatever the type.
    ranks = np.unique(x, return_inverse=True)[1].reshape(x.shape)
    return np.argsort(ranks if a.is_ascend else -ranks, a.axis, kind="stable")


def _sort(a, x):
    return np.take_along_axis(x, _places(a, x), a.axis)


def _topk(a, x):
    first = slice(None, a.k if a.k >= 1 else None)
    places = np.moveaxis(np.moveaxis(_places(a, x), a.axis, 0)[first], 0, a.axis)
    results = {"values": np.take_along_axis(x, places, a.axis), "indices": places.astype(a.element_type("dtype"))}
    return tuple(results.values()) if a.ret_type == "both" else results[a.ret_type]


def _apart(x):
    return x.size < 2 or (np.diff(np.sort(x, axis=None)) > MARGIN).all()


def _grow_places(network):
    x = network.variable((3, 7))
    network.keep(network.call("argsort", x, axis=network.one_of((-2, -1, 0, 1)), is_ascend=network.chance(0.5), dtype="float32"))


def _grow(network):
    x = network.pick_of_rank(1, 2, 3)
    axis, up = int(network._random.integers(-x.array.ndim, x.array.ndim)), network.chance(0.5)
    if network.chance(0.5):
        network.keep(network.call("sort", x, axis=axis, is_ascend=up))
        return
    k = int(network._random.integers(x.shape[axis] + 1))
    network.keep(network.call("topk", x, axis=axis, is_ascend=up, k=k, ret_type="values"))


SHAPES = [([(5,)], {}), ([(3, 41)], {"is_ascend": False}), ([(2, 7, 3)], {"axis": 1}), ([(1, 130)], {"axis": -1}), ([(0, 4)], {}), ([(4, 0)], {"axis": -1})]
OPERATORS = {
    "sort": Operator(_sort, SHAPES, grow=_grow),
    "argsort": Operator(lambda a, x: _places(a, x).astype(a.element_type("dtype")), [*SHAPES, ([(2, 3)], {"dtype": "int64"}), ([(9,)], {"dtype": "float32"})], gradient="ends", needs=_apart, grow=_grow_places),
    "topk": Operator(_topk, [([(5,)], {}), ([(3, 70)], {"k": 40}), ([(3, 70)], {"k": 3, "is_ascend": True, "dtype": "int64"}), ([(2, 7, 3)], {"axis": 1, "k": 4, "ret_type": "values"}),
                             ([(6,)], {"k": 0, "dtype": "int16"}), ([(2, 300)], {"k": 100, "ret_type": "values"})]),
}
