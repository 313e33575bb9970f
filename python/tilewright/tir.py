# SPDX-License-Identifier: Apache-2.0
"""Expressions: classes of nodes, and functions that build them.

Operators of Python build expressions: `+ - * // % ** & | ^ << >> ~ < <= > >= == !=`. `//` and `%` round towards minus
infinity; `/` is for floats. An expression has no truth value while the program is written: use `if_then_else`,
`Select`, `all` and `any`.
"""

from functools import reduce as _reduce

from . import _core, ir_builder  # noqa: F401
from .arguments import expect as _expect
from ._core import (  # noqa: F401
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    Broadcast,
    Buffer,
    Call,
    Cast,
    Div,
    FloatImm,
    FloorDiv,
    FloorMod,
    IntImm,
    IterVar,
    Let,
    Load,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Op,
    Or,
    PrimExpr,
    ProducerLoad,
    Ramp,
    Range,
    Reduce,
    Select,
    Shuffle,
    Stmt,
    StringImm,
    Sub,
    Var,
    const,
    if_then_else,
    likely,
    max_value,
    min_value,
    structural_equal,
)


def _unary(name, doc):
    def function(x):
        if isinstance(x, _core.Tensor):
            return _core.topi.call(f"topi.{_ELEMENTWISE.get(name, name)}", (x,))
        return _core.intrinsic(name, [x])

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{doc}; of a tensor: of each element."
    return function


_ELEMENTWISE = {"fabs": "abs"}

exp = _unary("exp", "e to the x")
exp2 = _unary("exp2", "2 to the x")
log = _unary("log", "Natural logarithm")
log2 = _unary("log2", "Logarithm to base 2")
log10 = _unary("log10", "Logarithm to base 10")
sin = _unary("sin", "Sine of x radians")
cos = _unary("cos", "Cosine of x radians")
tan = _unary("tan", "Tangent of x radians")
sinh = _unary("sinh", "Hyperbolic sine")
cosh = _unary("cosh", "Hyperbolic cosine")
tanh = _unary("tanh", "Hyperbolic tangent")
asin = _unary("asin", "Arc sine")
acos = _unary("acos", "Arc cosine")
atan = _unary("atan", "Arc tangent")
sqrt = _unary("sqrt", "Square root")
rsqrt = _unary("rsqrt", "1 / sqrt(x)")
sigmoid = _unary("sigmoid", "1 / (1 + exp(-x))")
erf = _unary("erf", "Error function")
floor = _unary("floor", "Greatest integral value not above x")
ceil = _unary("ceil", "Least integral value not below x")
trunc = _unary("trunc", "Integral value towards zero")
round = _unary("round", "Nearest integral value, halves away from zero")
nearbyint = _unary("nearbyint", "Nearest integral value, halves to even")
isnan = _unary("isnan", "Whether x is not a number")
isinf = _unary("isinf", "Whether x is an infinity")
popcount = _unary("popcount", "Number of one bits")


def _composed(name, doc):
    """What is an expression of several intrinsics."""
    def function(x):
        return _core.unary(name, x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{doc}; of a tensor: of each element."
    return function


asinh = _composed("asinh", "Inverse hyperbolic sine")
acosh = _composed("acosh", "Inverse hyperbolic cosine")
atanh = _composed("atanh", "Inverse hyperbolic tangent")
log1p = _composed("log1p", "log(1 + x), exact near 0")


def exp10(x):
    """10 to the x; of a tensor: of each element."""
    return power(const(10.0, _operand(x).dtype), x)


def ldexp(x1, x2):
    """x1 times 2 to the x2 with one rounding; x2 is an integer."""
    return _core.intrinsic("ldexp", [const(x1), _core.cast(const(x1).dtype, const(x2))])


def hypot(x1, x2):
    """The square root of x1 * x1 + x2 * x2, which is finite where only the squares are not."""
    a, b = abs(x1), abs(x2)
    large, small = _core.max(a, b), _core.min(a, b)
    ratio = small / large
    finite = if_then_else(large == 0, large, large * sqrt(1 + ratio * ratio))
    with_nan = if_then_else(isnan(a + b), a + b, finite)  # which of the two max and min would lose
    return if_then_else(isinf(a), a, if_then_else(isinf(b), b, with_nan))


def copysign(x1, x2):
    """x1 with the sign of x2, a zero's too."""
    x2 = const(x2)
    negative = x2 < 0
    if "float" in x2.dtype:  # of a zero only the reciprocal shows its sign
        negative = _core.logical_or(negative, 1 / x2 < 0)
    return Select(negative, -abs(x1), abs(x1))


def abs(x):
    """Absolute value; of a tensor: of each element."""
    return x.__abs__() if isinstance(x, (_core.PrimExpr, _core.Tensor, _core.IterVar)) else const(x).__abs__()


def isfinite(x):
    """Whether x is neither an infinity nor NaN."""
    return _core.logical_not(_core.logical_or(isnan(x), isinf(x)))


def power(x, y):
    """x to the y; elementwise of tensors."""
    if isinstance(x, _core.Tensor) or isinstance(y, _core.Tensor):
        return _core.topi.call("topi.power", (x, y))
    return _core.intrinsic("pow", [x, y])


pow = power


def atan2(y, x):
    """Angle of the point (x, y)."""
    return _core.intrinsic("atan2", [y, x])


def fmod(x, y):
    """Remainder of x / y with the sign of x, exactly, as C and NumPy have it; elementwise of tensors."""
    if isinstance(x, _core.Tensor) or isinstance(y, _core.Tensor):
        return _core.topi.call("topi.fmod", (x, y))
    return _core.fmod(x, y)


def _operand(x):
    return x if isinstance(x, (_core.PrimExpr, _core.Tensor, _core.TensorSlice, _core.IterVar)) else const(x)


def add(lhs, rhs):
    """lhs + rhs."""
    return _operand(lhs) + _operand(rhs)


def subtract(lhs, rhs):
    """lhs - rhs."""
    return _operand(lhs) - _operand(rhs)


def multiply(lhs, rhs):
    """lhs * rhs."""
    return _operand(lhs) * _operand(rhs)


def shift_left(x, y):
    """x << y of integers."""
    return _operand(x) << _operand(y)


def shift_right(x, y):
    """x >> y of integers; the sign stays."""
    return _operand(x) >> _operand(y)


def div(a, b):
    """a / b; integers round towards zero, and x / 0 is 0 of them."""
    return _core.div(a, b)


def truncdiv(a, b):
    """a / b of integers, rounded towards zero; 0 where b is 0. The least number by -1 wraps."""
    return _core.trunc_div(a, b)


def truncmod(a, b):
    """Remainder of truncdiv, with the sign of a; 0 where b is 0."""
    return _core.trunc_mod(a, b)


def floordiv(a, b):
    """a / b of integers, rounded towards minus infinity; 0 where b is 0. The least number by -1 wraps."""
    return _core.floor_div(a, b)


def floormod(a, b):
    """Remainder of floordiv, with the sign of b; 0 where b is 0."""
    return _core.floor_mod(a, b)


# Operands of these are known not to be negative.
indexdiv = floordiv
indexmod = floormod


def all(*conditions):
    """Whether every condition holds; builds an expression."""
    return _reduce(_core.logical_and, _conditions(conditions))


def any(*conditions):
    """Whether one of the conditions holds; builds an expression."""
    return _reduce(_core.logical_or, _conditions(conditions))


def _conditions(conditions):
    if not conditions:
        _core.raise_error("bad-argument", "no condition", "at least one")
    return [const(c) for c in conditions]


def cast(dtype, value):
    """The value converted to a type."""
    return _core.cast(dtype, value)


def saturating_cast(value, dtype):
    """The value converted to a type; what lies beyond an integer type becomes its nearest limit, NaN becomes 0.

    Floats are rounded towards zero, as by a cast: write `saturating_cast(nearbyint(x), "int8")` to round. Of a tensor:
    of each element.
    """
    if isinstance(value, _core.Tensor):
        return _core.topi.call("topi.saturating_cast", (value, dtype))
    return _core.saturating_cast(dtype, value)


def _of_te(name):
    def function(*args, **kwargs):
        from . import te  # which needs this module

        return getattr(te, name)(*args, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"te.{name}."
    return function


max = _of_te("max")
min = _of_te("min")
sum = _of_te("sum")
comm_reducer = _of_te("comm_reducer")
decl_buffer = _of_te("decl_buffer")


def reinterpret(dtype, value):
    """The same bits as another type."""
    return call_intrin(dtype, "reinterpret", value)


def call_intrin(dtype, func_name, *args):
    """A call of an intrinsic of the IR, such as "reinterpret"; "tir." before its name may stand or not."""
    name = _expect(func_name, str, "func_name", "the name of an intrinsic")
    return _core.call_intrin(dtype, name.removeprefix("tir."), _arguments(args))


def call_extern(dtype, func_name, *args):
    """A call of a C function, which may read and write memory: one of the process's libraries."""
    return _core.call_extern(dtype, func_name, _arguments(args), False)


def call_pure_extern(dtype, func_name, *args):
    """A call of a C function whose result depends on its arguments alone."""
    return _core.call_extern(dtype, func_name, _arguments(args), True)


def call_llvm_intrin(dtype, name, *args):
    """A call of an intrinsic of LLVM, which may read and write memory.

    Its overloaded types are those of the arguments. A constant of type uint32 before the arguments, which says in TVM
    how many of them decide, may stand or not.
    """
    return _llvm(dtype, name, args, False)


def call_llvm_pure_intrin(dtype, name, *args):
    """The same of an intrinsic without effects."""
    return _llvm(dtype, name, args, True)


def _llvm(dtype, name, args, pure):
    if not _expect(name, str, "name", "the name of an intrinsic of LLVM").startswith("llvm."):
        _core.raise_error("unknown-intrinsic", f"{name!r} is no intrinsic of LLVM", "a name that begins with llvm.")
    args = _arguments(args)
    if args and isinstance(args[0], IntImm) and args[0].dtype == "uint32":
        args = args[1:]
    return _core.call_extern(dtype, name, args, pure)


def _arguments(args):
    return [StringImm(a) if isinstance(a, str) else const(a) for a in args]
