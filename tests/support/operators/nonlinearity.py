"""Nonlinearities of networks."""

import math

import numpy as np

from operators.arrays import SHAPES
from operators.row import Operator

_erf = np.vectorize(math.erf, otypes=[float])


def signed(shape, seed, dtype="float32"):
    """Between -4 and 4, 1/100 and more from the points at which the functions below bend."""
    values = np.random.default_rng(seed + 100).uniform(-4, 4, shape)
    for kink in (-3, -2.5, -1, -0.5, 0, 0.5, 1, 2.5, 3):
        values = np.where(np.abs(values - kink) < 0.01, kink + 0.02, values)
    return np.asarray(values if dtype.startswith("float") else np.round(values), dtype)


def _of(function, *attributes, **row):
    """A function of a number in float64."""
    def reference(a, x):
        return np.asarray(function(a, x.astype("float64"))).astype(x.dtype)

    cases = [([shape], {}) for shape in SHAPES] + [([(7,)], given) for given in attributes]
    return Operator(reference, cases, samples={0: signed}, floating=True, **row)


def _grown(op, **attributes):
    return lambda network: network.keep(network.call(op, network.pick_of_rank(0, 1, 2, 3, 4), **attributes))


def _exponential(x, alpha, bend=1.0):
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0) / bend))


def _gelu(a, x):
    if a.approximate == "tanh":
        return x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return x / 2 * (1 + _erf(x / math.sqrt(2)))


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _hardmax(a, x):
    first = np.expand_dims(x.argmax(a.axis), a.axis)
    return (np.moveaxis(np.arange(x.shape[a.axis]).reshape([-1] + [1] * (x.ndim - 1)), 0, a.axis) == first).astype(x.dtype)


def _apart(x):
    ordered = np.sort(x.ravel())
    return (np.diff(ordered) > 1e-3).all()


def _far_from(*kinks):
    return lambda x: all((np.abs(x - kink) > 1e-3).all() for kink in kinks)


OPERATORS = {
    "elu": _of(lambda a, x: _exponential(x, a.alpha), {"alpha": 0.5}, grow=_grown("elu", alpha=0.7)),
    "selu": _of(lambda a, x: a.gamma * _exponential(x, a.alpha), {"alpha": 1.5, "gamma": 2}, grow=_grown("selu")),
    "celu": _of(lambda a, x: _exponential(x, a.alpha, a.alpha), {"alpha": 2.0}, grow=_grown("celu", alpha=0.5)),
    "gelu": _of(_gelu, {"approximate": "tanh"}, grow=lambda network: network.keep(
        network.call("gelu", network.pick_of_rank(1, 2, 3), approximate=network.one_of(("none", "tanh"))))),
    "_normal_share": _of(lambda a, x: (1 + _erf(x / math.sqrt(2))) / 2, grow=_grown("_normal_share")),
    "silu": _of(lambda a, x: x * _sigmoid(x), grow=_grown("silu")),
    "mish": _of(lambda a, x: x * np.tanh(np.log1p(np.exp(x))), grow=_grown("mish")),
    "softplus": _of(lambda a, x: np.log1p(np.exp(a.beta * x)) / a.beta, {"beta": 2.5}, grow=_grown("softplus")),
    "softsign": _of(lambda a, x: x / (1 + np.abs(x)), grow=_grown("softsign")),
    "relu6": _of(lambda a, x: np.clip(x, 0, 6), grow=_grown("relu6")),
    "hard_sigmoid": _of(lambda a, x: np.clip(a.alpha * x + a.beta, 0, 1), {"alpha": 0.5, "beta": 0.5}, grow=_grown("hard_sigmoid")),
    "hard_swish": _of(lambda a, x: x * np.clip(x + 3, 0, 6) / 6, grow=_grown("hard_swish")),
    "thresholded_relu": _of(lambda a, x: np.where(x > a.alpha, x, 0), {"alpha": -0.5}, needs=_far_from(1, 0.5), grow=_grown("thresholded_relu", alpha=0.5)),
    "shrink": _of(lambda a, x: np.where(x < -a.lambd, x + a.bias, np.where(x > a.lambd, x - a.bias, 0)), {"bias": 0.25, "lambd": 1},
                  needs=_far_from(0.5, -0.5), grow=_grown("shrink")),
    "hardmax": Operator(_hardmax, [([(3, 5)], {}), ([(2, 5, 3)], {"axis": 1}), ([(4,)], {"axis": -1})], needs=_apart,
                        grow=lambda network: network.keep(network.call("hardmax", network.pick_of_rank(1, 2)))),
}
