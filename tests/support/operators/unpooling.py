"""Maxima of windows with their places, and values put to places."""

import math

import numpy as np

from operators import pooling
from operators.arrays import relayout
from operators.row import Operator
from operators.windows import natural, steps


def _with_indices(a, x):
    values = pooling.OPERATORS[f"max_pool{len(a.layout) - 2}d"].reference(a, x)
    images = relayout(x, a.layout, natural(a.layout))
    places = np.full(relayout(values, a.layout, natural(a.layout)).shape, -1, "int32")
    for window, place in pooling.greatest_places(a, images):
        places[window] = np.ravel_multi_index(place[2:], images.shape[2:])
    return values, relayout(places, natural(a.layout), a.layout)


def _unpool(a, data, indices):
    size = steps(a.ints("output_size"), data.ndim - 2)
    result = np.zeros((*data.shape[:2], math.prod(size)), data.dtype)
    for at in np.ndindex(*data.shape):
        if 0 <= indices[at] < result.shape[2]:
            result[(*at[:2], indices[at])] = data[at]
    return result.reshape(*data.shape[:2], *size)


def _places(shape, seed, dtype):
    """Different ones in each image, and some that are none."""
    random, each = np.random.default_rng(seed), math.prod(shape[2:])
    lines = [random.permutation(2 * each)[:each] for _ in range(math.prod(shape[:2]))]
    return np.asarray(lines, "int32").reshape(shape) - 1


def _grow(d):
    def grow(network):
        size = (2, 3, 2)[-d:]
        pooled = network.call_all(f"max_pool{d}d_with_indices", network.variable((1, 2, *size)), pool_size=2, strides=network.one_of((1, 2)))
        network.keep(network.call(f"max_unpool{d}d", *pooled, output_size=size) if pooled else None)

    return grow


UNPOOLED = {1: [([(2, 3, 4)], 7), ([(1, 0, 2)], 3)], 2: [([(2, 2, 2, 3)], (3, 5)), ([(1, 1, 1, 1)], 2)], 3: [([(1, 2, 2, 1, 3)], (3, 1, 4))]}
OPERATORS = {}
for _d in (1, 2, 3):
    OPERATORS[f"max_pool{_d}d_with_indices"] = Operator(_with_indices, pooling.OPERATORS[f"max_pool{_d}d"].cases, smooth=lambda attributes: attributes is not pooling.UP)
    OPERATORS[f"max_unpool{_d}d"] = Operator(_unpool, [(shapes * 2, {"output_size": size}) for shapes, size in UNPOOLED[_d]], samples={1: _places}, grow=_grow(_d))
