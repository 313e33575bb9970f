"""Functions of mathematics, tests of elements, bits, and operators with a number."""

import math

import numpy as np

from operators.arrays import OF_ONE, OF_PAIRS, OF_TWO, SHAPES, number, of_elements
from operators.elements import MARGIN, power
from operators.row import Operator

erf = np.vectorize(math.erf, otypes=["float64"])


def whole(low, high):
    """Samples of integers, whatever the type of others is."""
    return lambda shape, seed, dtype: np.random.default_rng(seed).integers(low, high, shape).astype("int32")


def _within(limit):
    """Samples between -limit and limit."""
    return lambda shape, seed, dtype: np.asarray(np.random.default_rng(seed).uniform(-limit, limit, shape), dtype)


def _above(least):
    return lambda shape, seed, dtype: np.asarray(np.random.default_rng(seed).uniform(least, least + 3, shape), dtype)


def _with_zeros(shape, seed, dtype):
    return np.asarray(np.random.default_rng(seed).integers(0, 3, shape), dtype)


def grown_truths(network):
    """1 and 0, of which none is the other after some rounding."""
    return network.call("__greater_scalar__", network.pick_of_rank(1, 2, 3), scalar=0.25)


def grown_integers(network, shape, low, high):
    return network.call("cast", network.variable(shape, low, high), dtype="int32")


def _of_one(op, function, sample=None, needs=None, most=2.0, grow=None):
    def grown(network):
        network.keep(network.call(op, network.pick_of_rank(0, 1, 2, 3, 4)))

    return Operator(of_elements(function), OF_ONE, samples={0: sample} if sample else {}, floating=True,
                    needs=needs or (lambda x: (np.abs(x) < most).all()), grow=grow or grown)


def _test(op, function, **row):
    return Operator(of_elements(function), OF_ONE, grow=lambda network: network.keep(network.call(op, grown_truths(network))), **row)


def _grow_bits(op, *others, **attributes):
    """`others`: the range of a second operand."""

    def grown(network):
        shape = (2, 3)
        operands = [grown_integers(network, shape, low, high) for low, high in ((-3, 4), *others)]
        network.keep(network.call(op, *operands, **attributes))

    return grown


def _bits(op, function, *others):
    samples = {0: whole(-99, 99), 1: whole(0, 9)}
    return Operator(of_elements(function), OF_PAIRS if others else OF_ONE, samples=samples, gradient="ends", grow=_grow_bits(op, *others))


def _shift(op, function):
    return Operator(lambda a, x: function(x, a.scalar), [([(3, 5)], {"scalar": 3})], samples={0: whole(-99, 99)}, gradient="ends", grow=_grow_bits(op, scalar=1))


def _of_truths(op):
    def grown(network):
        x = grown_truths(network)
        network.keep(network.call(op, x, network.call("__less_scalar__", network.variable(x.shape), scalar=0)) if x else None)

    return Operator(of_elements(getattr(np, op)), OF_PAIRS, samples={0: _with_zeros, 1: _with_zeros}, gradient="decided", grow=grown)


def _grow_acosh(network):
    x = network.call("square", network.pick_of_rank(1, 2, 3))
    network.keep(network.call("acosh", network.call("__add_scalar__", x, scalar=1.5)))


def _remainder(x, y):
    return np.fmod(x, y)


def _floor_mod(x, y):
    return np.mod(x, y)


def _steps_apart(x, y):
    """Whether a quotient is far from whole numbers, where remainders step."""
    if not (np.abs(y) > 0.25).all():
        return False
    ratio = np.divide(x, y, dtype="float64")
    return (np.abs(ratio - np.round(ratio)) > MARGIN).all()


def _grow_pairs(op):
    def grown(network):
        x = network.positive(network.pick_of_rank(1, 2, 3))
        network.keep(network.call(op, x, network.variable(x.shape, 0.5, 1.5)) if x else None)

    return grown


def _of_pairs(op, function, needs=None, **row):
    return Operator(of_elements(function), OF_PAIRS, needs=needs, grow=_grow_pairs(op), **row)


def _of_scalar(function, scalar=1.75, **row):
    return Operator(lambda a, x: np.asarray(function(x, number(a.scalar, x.dtype))).astype(x.dtype), [([shape], {"scalar": scalar}) for shape in SHAPES], **row)


def _grow_scalar(op, scalar):
    return lambda network: network.keep(network.call(op, network.pick_of_rank(0, 1, 2, 3), scalar=scalar))


def _off(scalar):
    return lambda x: (np.abs(x - scalar) > MARGIN).all()


OPERATORS = {
    "rsqrt": _of_one("rsqrt", lambda x: 1 / np.sqrt(x), needs=lambda x: (x > 0.25).all()),
    "square": Operator(of_elements(np.square), OF_ONE, grow=lambda network: network.keep(network.call("square", network.pick_of_rank(0, 1, 2, 3)))),
    "reciprocal": _of_one("reciprocal", lambda x: 1 / x, needs=lambda x: (np.abs(x) > 0.25).all()),
    "sin": _of_one("sin", np.sin, most=9),
    "cos": _of_one("cos", np.cos, most=9),
    "tan": _of_one("tan", np.tan, _within(1.2), most=1.2),
    "asin": _of_one("asin", np.arcsin, _within(0.9), most=0.9),
    "acos": _of_one("acos", np.arccos, _within(0.9), most=0.9),
    "atan": _of_one("atan", np.arctan, most=9),
    "sinh": _of_one("sinh", np.sinh),
    "cosh": _of_one("cosh", np.cosh),
    "asinh": _of_one("asinh", np.arcsinh, _within(3), most=9),
    "acosh": _of_one("acosh", np.arccosh, _above(1.25), needs=lambda x: (x > 1.25).all(), grow=_grow_acosh),
    "atanh": _of_one("atanh", np.arctanh, _within(0.9), most=0.9),
    "exp2": _of_one("exp2", np.exp2),
    "expm1": _of_one("expm1", np.expm1, _within(2)),
    "log1p": _of_one("log1p", np.log1p, _above(-0.7), needs=lambda x: (x > -0.7).all()),
    "log2": _of_one("log2", np.log2, needs=lambda x: (x > 0.25).all()),
    "log10": _of_one("log10", np.log10, needs=lambda x: (x > 0.25).all()),
    "erf": _of_one("erf", erf),
    "isnan": _test("isnan", np.isnan, floating=True),
    "isinf": _test("isinf", np.isinf, floating=True),
    "isfinite": _test("isfinite", np.isfinite, floating=True),
    "logical_not": _test("logical_not", np.logical_not, samples={0: _with_zeros}, gradient="decided"),
    "bitwise_not": _bits("bitwise_not", np.invert),
    "bitwise_and": _bits("bitwise_and", np.bitwise_and, (0, 6)),
    "bitwise_or": _bits("bitwise_or", np.bitwise_or, (0, 6)),
    "bitwise_xor": _bits("bitwise_xor", np.bitwise_xor, (0, 6)),
    "broadcast_left_shift": _bits("broadcast_left_shift", np.left_shift, (0, 2)),
    "broadcast_right_shift": _bits("broadcast_right_shift", np.right_shift, (0, 2)),
    "__lshift_scalar__": _shift("__lshift_scalar__", np.left_shift),
    "__rshift_scalar__": _shift("__rshift_scalar__", np.right_shift),
    "elemwise_mod": Operator(of_elements(_remainder), OF_TWO, needs=_steps_apart, grow=_grow_pairs("elemwise_mod")),
    "elemwise_pow": Operator(of_elements(power), OF_TWO, needs=lambda x, y: (x > 0.25).all() and (np.abs(x) < 2.5).all() and (np.abs(y) < 2.5).all(),
                             grow=_grow_pairs("elemwise_pow")),
    "broadcast_mod": _of_pairs("broadcast_mod", _remainder, _steps_apart),
    "broadcast_floor_mod": _of_pairs("broadcast_floor_mod", _floor_mod, _steps_apart),
    "broadcast_floor_div": _of_pairs("broadcast_floor_div", np.floor_divide, _steps_apart),
    **{op: _of_truths(op) for op in ("logical_and", "logical_or", "logical_xor")},
    "__mod_scalar__": _of_scalar(_remainder, needs=lambda x: _steps_apart(x, 1.75), grow=_grow_scalar("__mod_scalar__", 1.75)),
    "__rmod_scalar__": _of_scalar(lambda x, c: np.fmod(c, x), needs=lambda x: _steps_apart(1.75, x), grow=_grow_scalar("__rmod_scalar__", 1.75)),
    "__max_scalar__": _of_scalar(np.maximum, grow=_grow_scalar("__max_scalar__", 0.25)),
    "__min_scalar__": _of_scalar(np.minimum, grow=_grow_scalar("__min_scalar__", 0.25)),
    **{f"__{name}_scalar__": _of_scalar(getattr(np, name), needs=_off(1.75), grow=_grow_scalar(f"__{name}_scalar__", 1.75))
       for name in ("equal", "not_equal", "greater", "greater_equal", "less", "less_equal")},
}
