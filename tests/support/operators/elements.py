"""Functions of elements, with numbers, and of operands that broadcast."""

import numpy as np

from operators.arrays import OF_ONE, OF_PAIRS, OF_TWO, SHAPES, along, of_elements, number, total
from operators.row import Operator

MARGIN = 1e-3  # from where a function steps; rounding differs by less


def _far_from_steps(x, offset=0.0):
    return (np.abs(x - offset - np.round(x - offset)) > MARGIN).all()


def _far_from_zero(x):
    return (np.abs(x) > 0.25).all()


def _positive(x):
    return (x > 0.25).all()


def _not_steep(x):
    return (np.abs(x) < 2.5).all()


def _apart(x, y):
    return (np.abs(x - y) > MARGIN).all()


def _with_scalar(function):
    return lambda a, x: function(x, number(a.scalar, x.dtype))


def _round(x):
    whole = np.trunc(x)
    return whole + np.where(np.abs(x - whole) >= 0.5, np.sign(x), 0)


def _quotient(x, y):
    """Of integers towards zero."""
    return np.divide(x, y) if x.dtype.kind == "f" else (np.sign(x) * np.sign(y) * (np.abs(x) // np.abs(y))).astype(x.dtype)


def power(x, y):
    """Of integers to one below 0 the reciprocal towards zero, 0 of 0."""
    if x.dtype.kind == "f":
        return np.power(x, y)
    return np.where((y >= 0) | (np.abs(x) == 1), np.power(x, np.abs(y)), 0).astype(x.dtype)


def _of_one(function, **row):
    return Operator(of_elements(function), OF_ONE, **row)


def _of_two(function, **row):
    return Operator(of_elements(function), OF_TWO, **row)


def _of_scalar(function, **row):
    return Operator(_with_scalar(function), [([shape], {"scalar": 1.75}) for shape in SHAPES], **row)


def _of_pairs(function, **row):
    return Operator(of_elements(function), OF_PAIRS, **row)


OPERATORS = {
    "__add_scalar__": _of_scalar(np.add),
    "__sub_scalar__": _of_scalar(np.subtract),
    "__rsub_scalar__": _of_scalar(lambda x, c: c - x),
    "__mul_scalar__": _of_scalar(np.multiply),
    "__div_scalar__": _of_scalar(_quotient),
    "__rdiv_scalar__": _of_scalar(lambda x, c: _quotient(c, x), needs=_far_from_zero),
    "__pow_scalar__": _of_scalar(np.power, floating=True, needs=_not_steep),
    "__rpow_scalar__": _of_scalar(lambda x, c: np.power(c, x), floating=True, needs=_not_steep),
    "relu": _of_one(lambda x: np.maximum(x, 0)),
    "sigmoid": _of_one(lambda x: 1 / (1 + np.exp(-x)), floating=True),
    "tanh": _of_one(np.tanh, floating=True),
    "exp": _of_one(np.exp, floating=True, needs=_not_steep),
    "log": _of_one(np.log, floating=True, needs=_positive),
    "sqrt": _of_one(np.sqrt, floating=True, needs=_positive),
    "negative": _of_one(np.negative),
    "abs": _of_one(np.abs),
    "sign": _of_one(np.sign, needs=lambda x: (np.abs(x) > MARGIN).all()),
    "floor": _of_one(np.floor, needs=_far_from_steps),
    "ceil": _of_one(np.ceil, needs=_far_from_steps),
    "trunc": _of_one(np.trunc, needs=_far_from_steps),
    "round": _of_one(_round, needs=lambda x: _far_from_steps(x, 0.5)),
    "rint": _of_one(np.rint, needs=lambda x: _far_from_steps(x, 0.5)),
    "copy": _of_one(np.copy),
    "__copy": _of_one(np.copy, grow=lambda network: network.keep(network.call("__copy", network.pick_of_rank(0, 1, 2, 3, 4)))),
    "block_grad": _of_one(np.copy, gradient="decided"),
    "ones_like": _of_one(np.ones_like),
    "zeros_like": _of_one(np.zeros_like),
    "elemwise_add": _of_two(np.add),
    "elemwise_sub": _of_two(np.subtract),
    "elemwise_mul": _of_two(np.multiply),
    "elemwise_div": _of_two(_quotient, needs=lambda x, y: _far_from_zero(y)),
    "elemwise_sum": Operator(of_elements(total), [([(3, 5)], {}), ([(3, 5)] * 3, {"num_args": 3}), ([()] * 2, {})]),
    "greater": _of_two(np.greater, needs=_apart),
    "less": _of_two(np.less, needs=_apart),
    "broadcast_add": _of_pairs(np.add),
    "broadcast_sub": _of_pairs(np.subtract),
    "broadcast_mul": _of_pairs(np.multiply),
    "broadcast_div": _of_pairs(_quotient, needs=lambda x, y: _far_from_zero(y)),
    "broadcast_max": _of_pairs(np.maximum),
    "broadcast_min": _of_pairs(np.minimum),
    "broadcast_pow": _of_pairs(power, needs=lambda x, y: _positive(x) and _not_steep(x) and _not_steep(y)),
    **{f"broadcast_{name}": _of_pairs(getattr(np, name), needs=_apart)
       for name in ("equal", "not_equal", "greater", "greater_equal", "less", "less_equal")},
    "leaky_relu": Operator(lambda a, x: np.where(x > 0, x, x * np.asarray(a.alpha, x.dtype)), OF_ONE, floating=True),
    "prelu": Operator(lambda a, x, alpha: np.where(x > 0, x, x * along(alpha, a.axis, x.ndim)), [([(2, 3, 5), (3,)], {}), ([(2, 3, 5), (5,)], {"axis": -1})]),
    "clip": Operator(lambda a, x: np.clip(x, number(a.a_min, x.dtype), number(a.a_max, x.dtype)), [([(3, 5)], {"a_min": -0.5, "a_max": 1})]),
    "cast": Operator(lambda a, x: x.astype(a.element_type("dtype")), [([(3, 5)], {"dtype": "int32"}), ([()], {"dtype": "float64"}), ([(2,)], {"dtype": 5})], needs=_far_from_steps,
                     smooth=lambda attributes: attributes["dtype"] == "float64"),
    "cast_like": Operator(lambda a, x, like: x.astype(like.dtype), [([(3, 5), (2,)], {})]),
    "full_like": Operator(lambda a, x: np.full_like(x, number(a.fill_value, x.dtype)), [([(3, 5)], {"fill_value": -2.5})]),
    "_assign": Operator(lambda a, variable, value: value.copy(), [([(2, 3), (2, 3)], {})]),
}
