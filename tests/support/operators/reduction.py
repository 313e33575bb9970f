"""Reductions, and what divides by them."""

import math

import numpy as np

from operators.arrays import along, greatest, least, named
from operators.row import Operator


def _batch_norm(a, x, gamma, beta, mean, variance):
    scale, shift = (gamma if a.scale else np.ones_like(gamma)), (beta if a.center else np.zeros_like(beta))
    factor = scale / np.sqrt(variance + np.asarray(a.epsilon, x.dtype))
    shift = shift - mean * factor
    return x * along(factor, a.axis, x.ndim) + along(shift, a.axis, x.ndim), mean, variance


def _log_softmax(a, x):
    x = x - x.max(a.axis, keepdims=True)
    return x - np.log(np.exp(x).sum(a.axis, keepdims=True))


def _softmax(a, x):
    shares = np.exp(x - x.max(a.axis, keepdims=True, initial=-np.inf))
    return shares / shares.sum(a.axis, keepdims=True)


def _reduced(function):
    def compute(a, x):
        axes = named(a, x.ndim)
        with np.errstate(invalid="ignore"):
            return function(x, axis=axes, keepdims=a.keepdims).astype(x.dtype) if axes else x

    return compute


def _position(function):
    def compute(a, x):
        axes = named(a, x.ndim)
        if not axes:
            return np.zeros(x.shape, "int32")
        kept = [k for k in range(x.ndim) if k not in axes]
        lines = x.transpose(*kept, *axes).reshape(*(x.shape[k] for k in kept), math.prod(x.shape[k] for k in axes))
        last = lines.shape[-1] - 1
        found = (last - function(lines[..., ::-1], -1) if a.select_last_index else function(lines, -1)).astype("int32")
        return found.reshape([1 if k in axes else e for k, e in enumerate(x.shape)]) if a.keepdims else found

    return compute


def _mean_grad(a, grad, x):
    axes = named(a, x.ndim)
    kept = [1 if k in axes else e for k, e in enumerate(x.shape)]
    return np.broadcast_to(grad.reshape(kept) / np.asarray(max(math.prod(x.shape[k] for k in axes), 1), x.dtype), x.shape)


CASES = [([()], {}), ([(3, 5)], {}), ([(2, 3, 5)], {"axis": (0, -1)}), ([(2, 3, 5)], {"axis": 1, "exclude": True, "keepdims": True}),
         ([(1, 1)], {"axis": 0, "keepdims": True}), ([(2, 3)], {"exclude": True})]
POSITIONS = [*CASES, ([(4, 9)], {"axis": 1, "select_last_index": True})]
OPERATORS = {
    "sum": Operator(_reduced(np.sum), CASES),
    "mean": Operator(_reduced(np.mean), CASES, floating=True),
    "prod": Operator(_reduced(np.prod), CASES),
    "max": Operator(_reduced(lambda x, **a: np.max(x, initial=least(x.dtype), **a)), CASES),
    "min": Operator(_reduced(lambda x, **a: np.min(x, initial=greatest(x.dtype), **a)), CASES),
    "argmax": Operator(_position(np.argmax), POSITIONS, gradient="ends"),
    "argmin": Operator(_position(np.argmin), POSITIONS, gradient="ends"),
    "_mean_grad": Operator(_mean_grad, [([(), (3, 5)], {}), ([(3,), (2, 3, 5)], {"axis": (0, -1)}), ([(2, 1, 5), (2, 3, 5)], {"axis": 1, "keepdims": True})], floating=True),
    "softmax": Operator(_softmax, [([(3, 5)], {}), ([(3, 5, 2)], {"axis": 1}), ([(1,)], {"axis": 0})], floating=True),
    "log_softmax": Operator(_log_softmax, [([(3, 5)], {}), ([(3, 5, 2)], {"axis": 0})], floating=True),
    "batch_norm": Operator(_batch_norm, [([(2, 3, 5)] + [(3,)] * 4, {}), ([(2, 3)] + [(3,)] * 4, {"axis": -1, "epsilon": 0.5, "scale": False, "center": False})], floating=True),
    "dropout": Operator(lambda a, x: (x, np.ones_like(x)), [([(2, 3)], {})]),
}
