"""Elements around tensors, and sums of those about an element."""

import numpy as np

from operators.arrays import number
from operators.row import Operator


def _pad(a, x):
    if a.pad_mode == "constant":
        return np.pad(x, a.pad_width, constant_values=number(a.pad_value, x.dtype))
    return np.pad(x, a.pad_width, mode=a.pad_mode)


def _pad_grad(a, grad, x):
    """Each element of grad is added to where np.pad takes it from."""
    places = np.pad(np.arange(x.size).reshape(x.shape), a.pad_width, mode=a.pad_mode)
    result = np.zeros(x.size, x.dtype)
    np.add.at(result, places.ravel(), grad.ravel())
    return result.reshape(x.shape)


def _window_sum(x, size, axis, reverse=False):
    before, n = size // 2 if reverse else (size - 1) // 2, x.shape[axis]
    about = [range(max(0, c - before), min(n, c - before + size)) for c in range(n)]
    return np.stack([x.take(list(others), axis).sum(axis, dtype=x.dtype) for others in about], axis) if n else x


def _lrn(a, x):
    return x / (a.bias + a.alpha / a.size * _window_sum(x * x, a.size, a.axis)) ** a.beta


# One dimension is padded by more than its extent, one has a single element.
WIDTHS = [((2, 3), (4, 5), ((1, 1), (0, 2))), ((3, 1), (13, 4), ((7, 3), (1, 2)))]
MODES = ("edge", "reflect", "symmetric", "wrap")


def _grow(network):
    x = network.pick_of_rank(1, 2, 3, 4)
    widths = tuple((network.one_of((0, 0, 1, 2)), network.one_of((0, 0, 1))) for _ in x.shape)
    network.keep(network.call("pad", x, pad_width=widths, pad_mode=network.one_of(("constant", *MODES)), pad_value=0.5))


def _grow_lrn(network):
    network.keep(network.call("lrn", network.pick_of_rank(2, 3, 4), size=network.one_of((1, 3, 4)), alpha=0.25))


OPERATORS = {
    "pad": Operator(_pad, [([(3, 5)], {"pad_width": ((0, 1), (2, 3)), "pad_value": 1.5}),
                           *(([shape], {"pad_width": widths, "pad_mode": mode}) for mode in MODES for shape, _, widths in WIDTHS)], grow=_grow),
    "lrn": Operator(lambda a, x: _lrn(a, x).astype(x.dtype), [([(2, 5, 3, 1)], {"size": 3, "alpha": 0.5}), ([(2, 3, 4)], {"size": 4, "axis": -1, "bias": 1.5, "beta": 0.5, "alpha": 1}),
                             ([(3, 0)], {"size": 1})], floating=True, grow=_grow_lrn),
    "_window_sum": Operator(lambda a, x: _window_sum(x, a.size, a.axis, a.reverse), [
        ([(2, 5, 3)], {"size": 4}), ([(2, 5, 3)], {"size": 4, "reverse": True}), ([(2, 3)], {"size": 9, "axis": 0})]),
    "_pad_grad": Operator(_pad_grad, [([result, shape], {"pad_width": widths, "pad_mode": mode}) for mode in MODES for shape, result, widths in WIDTHS]),
}
