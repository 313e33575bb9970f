# SPDX-License-Identifier: Apache-2.0
# Made by python/stubs/make_stubs.py.
import collections.abc

from tilewright._core import ExprLike, PrimExpr, Tensor
from . import nn as nn, table as table, utils as utils, vision as vision


def identity(x: Tensor) -> Tensor:
    r"""X.

    x (Tensor): of any shape and type
    """


def exp(x: Tensor) -> Tensor:
    r"""E to the x; ONNX Exp.

    x (Tensor): floats
    """


def log(x: Tensor) -> Tensor:
    r"""Natural logarithm; ONNX Log.

    x (Tensor): floats
    """


def log2(x: Tensor) -> Tensor:
    r"""Logarithm to base 2; NumPy log2.

    x (Tensor): floats
    """


def log10(x: Tensor) -> Tensor:
    r"""Logarithm to base 10; NumPy log10.

    x (Tensor): floats
    """


def sin(x: Tensor) -> Tensor:
    r"""Sine of x radians; ONNX Sin.

    x (Tensor): floats
    """


def cos(x: Tensor) -> Tensor:
    r"""Cosine of x radians; ONNX Cos.

    x (Tensor): floats
    """


def tan(x: Tensor) -> Tensor:
    r"""Tangent of x radians; ONNX Tan.

    x (Tensor): floats
    """


def asin(x: Tensor) -> Tensor:
    r"""Arc sine, radians; ONNX Asin.

    x (Tensor): floats
    """


def acos(x: Tensor) -> Tensor:
    r"""Arc cosine, radians; ONNX Acos.

    x (Tensor): floats
    """


def atan(x: Tensor) -> Tensor:
    r"""Arc tangent, radians; ONNX Atan.

    x (Tensor): floats
    """


def sinh(x: Tensor) -> Tensor:
    r"""Hyperbolic sine; ONNX Sinh.

    x (Tensor): floats
    """


def cosh(x: Tensor) -> Tensor:
    r"""Hyperbolic cosine; ONNX Cosh.

    x (Tensor): floats
    """


def tanh(x: Tensor) -> Tensor:
    r"""Hyperbolic tangent; ONNX Tanh.

    x (Tensor): floats
    """


def sigmoid(x: Tensor) -> Tensor:
    r"""1 / (1 + exp(-x)); ONNX Sigmoid.

    x (Tensor): floats
    """


def sqrt(x: Tensor) -> Tensor:
    r"""Square root; ONNX Sqrt.

    x (Tensor): floats
    """


def rsqrt(x: Tensor) -> Tensor:
    r"""1 / sqrt(x).

    x (Tensor): floats
    """


def erf(x: Tensor) -> Tensor:
    r"""Error function; ONNX Erf.

    x (Tensor): floats
    """


def abs(x: Tensor) -> Tensor:
    r"""Absolute value; ONNX Abs.

    x (Tensor): integers or floats
    """


def floor(x: Tensor) -> Tensor:
    r"""Greatest integral value not above x; ONNX Floor.

    x (Tensor): integers or floats
    """


def ceil(x: Tensor) -> Tensor:
    r"""Least integral value not below x; ONNX Ceil.

    x (Tensor): integers or floats
    """


def trunc(x: Tensor) -> Tensor:
    r"""Integral value towards zero; NumPy trunc.

    x (Tensor): integers or floats
    """


def round(x: Tensor) -> Tensor:
    r"""Nearest integral value, halves away from zero (ONNX Round and NumPy go to even).

    x (Tensor): integers or floats
    """


def negative(x: Tensor) -> Tensor:
    r"""-x; ONNX Neg.

    x (Tensor): integers or floats
    """


def sign(x: Tensor) -> Tensor:
    r"""1, 0 or -1 by the sign of x; ONNX Sign.

    x (Tensor): integers or floats
    """


def isnan(x: Tensor) -> Tensor:
    r"""Bool: x is not a number; ONNX IsNaN.

    x (Tensor): floats
    """


def isinf(x: Tensor) -> Tensor:
    r"""Bool: x is an infinity; ONNX IsInf.

    x (Tensor): floats
    """


def logical_not(x: Tensor) -> Tensor:
    r"""Not x; ONNX Not.

    x (Tensor): bool
    """


def cast(x: Tensor | ExprLike, dtype: str, span: None = None) -> Tensor | PrimExpr:
    r"""X converted to a type: integers wrap, floats round to nearest even, floats to integers go towards zero. Of an expression: an expression. ONNX Cast.

    x (Tensor | ExprLike)
    dtype (str): the type of the result
    span (None): not used
    """


def saturating_cast(x: Tensor | ExprLike, dtype: str) -> Tensor | PrimExpr:
    r"""X converted to a type: what lies beyond an integer type becomes its nearest limit, NaN becomes 0. Of an expression: an expression.

    x (Tensor | ExprLike): numbers
    dtype (str): the type of the result, of numbers
    """


def clip(x: Tensor, a_min: float, a_max: float) -> Tensor:
    r"""Max(a_min, min(x, a_max)); bounds beyond an integer type cut off nothing. ONNX Clip.

    x (Tensor): integers or floats
    a_min (float)
    a_max (float)
    """


def full(shape: ExprLike | collections.abc.Sequence[ExprLike], dtype: str, fill_value: ExprLike) -> Tensor:
    r"""A tensor of one value. NumPy full.

    shape (ExprLike | collections.abc.Sequence[ExprLike])
    dtype (str)
    fill_value (ExprLike): is converted to dtype
    """


def full_like(x: Tensor, fill_value: ExprLike) -> Tensor:
    r"""A tensor of one value, with the shape and type of x. NumPy full_like.

    x (Tensor)
    fill_value (ExprLike): is converted to the type of x
    """


def add(lhs: Tensor | ExprLike, rhs: Tensor | ExprLike) -> Tensor | PrimExpr:
    r"""A + b; ONNX Add.

    lhs (Tensor | ExprLike)
    rhs (Tensor | ExprLike): of a shape that broadcasts with that of lhs, as NumPy's do; or one scalar for all elements
    """


def subtract(lhs: Tensor | ExprLike, rhs: Tensor | ExprLike) -> Tensor | PrimExpr:
    r"""A - b; ONNX Sub.

    lhs (Tensor | ExprLike)
    rhs (Tensor | ExprLike): of a shape that broadcasts with that of lhs, as NumPy's do; or one scalar for all elements
    """


def multiply(lhs: Tensor | ExprLike, rhs: Tensor | ExprLike) -> Tensor | PrimExpr:
    r"""A * b; ONNX Mul.

    lhs (Tensor | ExprLike)
    rhs (Tensor | ExprLike): of a shape that broadcasts with that of lhs, as NumPy's do; or one scalar for all elements
    """


def divide(lhs: Tensor | ExprLike, rhs: Tensor | ExprLike) -> Tensor | PrimExpr:
    r"""A / b, integers towards zero; ONNX Div.

    lhs (Tensor | ExprLike)
    rhs (Tensor | ExprLike): of a shape that broadcasts with that of lhs, as NumPy's do; or one scalar for all elements
    """


def floor_divide(lhs: Tensor | ExprLike, rhs: Tensor | ExprLike) -> Tensor | PrimExpr:
    r"""Greatest integral value not above a / b; NumPy floor_divide.

    lhs (Tensor | ExprLike)
    rhs (Tensor | ExprLike): of a shape that broadcasts with that of lhs, as NumPy's do; or one scalar for all elements
    """


def mod(lhs: Tensor | ExprLike, rhs: Tensor | ExprLike) -> Tensor | PrimExpr:
    r"""Remainder with the sign of a; integers; C %.

    lhs (Tensor | ExprLike)
    rhs (Tensor | ExprLike): of a shape that broadcasts with that of lhs, as NumPy's do; or one scalar for all elements
    """


def fmod(lhs: Tensor | ExprLike, rhs: Tensor | ExprLike) -> Tensor | PrimExpr:
    r"""Remainder with the sign of a, exact; NumPy fmod.

    lhs (Tensor | ExprLike)
    rhs (Tensor | ExprLike): of a shape that broadcasts with that of lhs, as NumPy's do; or one scalar for all elements
    """


def floor_mod(lhs: Tensor | ExprLike, rhs: Tensor | ExprLike) -> Tensor | PrimExpr:
    r"""Remainder with the sign of b; NumPy mod.

    lhs (Tensor | ExprLike)
    rhs (Tensor | ExprLike): of a shape that broadcasts with that of lhs, as NumPy's do; or one scalar for all elements
    """


def maximum(lhs: Tensor | ExprLike, rhs: Tensor | ExprLike) -> Tensor | PrimExpr:
    r"""The greater; NumPy maximum.

    lhs (Tensor | ExprLike)
    rhs (Tensor | ExprLike): of a shape that broadcasts with that of lhs, as NumPy's do; or one scalar for all elements
    """


def minimum(lhs: Tensor | ExprLike, rhs: Tensor | ExprLike) -> Tensor | PrimExpr:
    r"""The lesser; NumPy minimum.

    lhs (Tensor | ExprLike)
    rhs (Tensor | ExprLike): of a shape that broadcasts with that of lhs, as NumPy's do; or one scalar for all elements
    """


def power(lhs: Tensor | ExprLike, rhs: Tensor | ExprLike) -> Tensor | PrimExpr:
    r"""A to the b; ONNX Pow.

    lhs (Tensor | ExprLike)
    rhs (Tensor | ExprLike): of a shape that broadcasts with that of lhs, as NumPy's do; or one scalar for all elements
    """


def equal(lhs: Tensor | ExprLike, rhs: Tensor | ExprLike) -> Tensor | PrimExpr:
    r"""Bool: a == b; ONNX Equal.

    lhs (Tensor | ExprLike)
    rhs (Tensor | ExprLike): of a shape that broadcasts with that of lhs, as NumPy's do; or one scalar for all elements
    """


def not_equal(lhs: Tensor | ExprLike, rhs: Tensor | ExprLike) -> Tensor | PrimExpr:
    r"""Bool: a != b; NumPy not_equal.

    lhs (Tensor | ExprLike)
    rhs (Tensor | ExprLike): of a shape that broadcasts with that of lhs, as NumPy's do; or one scalar for all elements
    """


def less(lhs: Tensor | ExprLike, rhs: Tensor | ExprLike) -> Tensor | PrimExpr:
    r"""Bool: a < b; ONNX Less.

    lhs (Tensor | ExprLike)
    rhs (Tensor | ExprLike): of a shape that broadcasts with that of lhs, as NumPy's do; or one scalar for all elements
    """


def less_equal(lhs: Tensor | ExprLike, rhs: Tensor | ExprLike) -> Tensor | PrimExpr:
    r"""Bool: a <= b; ONNX LessOrEqual.

    lhs (Tensor | ExprLike)
    rhs (Tensor | ExprLike): of a shape that broadcasts with that of lhs, as NumPy's do; or one scalar for all elements
    """


def greater(lhs: Tensor | ExprLike, rhs: Tensor | ExprLike) -> Tensor | PrimExpr:
    r"""Bool: a > b; ONNX Greater.

    lhs (Tensor | ExprLike)
    rhs (Tensor | ExprLike): of a shape that broadcasts with that of lhs, as NumPy's do; or one scalar for all elements
    """


def greater_equal(lhs: Tensor | ExprLike, rhs: Tensor | ExprLike) -> Tensor | PrimExpr:
    r"""Bool: a >= b; ONNX GreaterOrEqual.

    lhs (Tensor | ExprLike)
    rhs (Tensor | ExprLike): of a shape that broadcasts with that of lhs, as NumPy's do; or one scalar for all elements
    """


def logical_and(lhs: Tensor | ExprLike, rhs: Tensor | ExprLike) -> Tensor | PrimExpr:
    r"""Bool: a and b; ONNX And.

    lhs (Tensor | ExprLike)
    rhs (Tensor | ExprLike): of a shape that broadcasts with that of lhs, as NumPy's do; or one scalar for all elements
    """


def logical_or(lhs: Tensor | ExprLike, rhs: Tensor | ExprLike) -> Tensor | PrimExpr:
    r"""Bool: a or b; ONNX Or.

    lhs (Tensor | ExprLike)
    rhs (Tensor | ExprLike): of a shape that broadcasts with that of lhs, as NumPy's do; or one scalar for all elements
    """


def logical_xor(lhs: Tensor | ExprLike, rhs: Tensor | ExprLike) -> Tensor | PrimExpr:
    r"""Bool: one of a, b; ONNX Xor.

    lhs (Tensor | ExprLike)
    rhs (Tensor | ExprLike): of a shape that broadcasts with that of lhs, as NumPy's do; or one scalar for all elements
    """


def bitwise_and(lhs: Tensor | ExprLike, rhs: Tensor | ExprLike) -> Tensor | PrimExpr:
    r"""A & b; integers; NumPy bitwise_and.

    lhs (Tensor | ExprLike)
    rhs (Tensor | ExprLike): of a shape that broadcasts with that of lhs, as NumPy's do; or one scalar for all elements
    """


def bitwise_or(lhs: Tensor | ExprLike, rhs: Tensor | ExprLike) -> Tensor | PrimExpr:
    r"""A | b; integers; NumPy bitwise_or.

    lhs (Tensor | ExprLike)
    rhs (Tensor | ExprLike): of a shape that broadcasts with that of lhs, as NumPy's do; or one scalar for all elements
    """


def bitwise_xor(lhs: Tensor | ExprLike, rhs: Tensor | ExprLike) -> Tensor | PrimExpr:
    r"""A ^ b; integers; NumPy bitwise_xor.

    lhs (Tensor | ExprLike)
    rhs (Tensor | ExprLike): of a shape that broadcasts with that of lhs, as NumPy's do; or one scalar for all elements
    """


def left_shift(lhs: Tensor | ExprLike, rhs: Tensor | ExprLike) -> Tensor | PrimExpr:
    r"""A << b; integers; NumPy left_shift.

    lhs (Tensor | ExprLike)
    rhs (Tensor | ExprLike): of a shape that broadcasts with that of lhs, as NumPy's do; or one scalar for all elements
    """


def right_shift(lhs: Tensor | ExprLike, rhs: Tensor | ExprLike) -> Tensor | PrimExpr:
    r"""A >> b, arithmetic for signed; integers; NumPy right_shift.

    lhs (Tensor | ExprLike)
    rhs (Tensor | ExprLike): of a shape that broadcasts with that of lhs, as NumPy's do; or one scalar for all elements
    """


def broadcast_to(data: Tensor, shape: ExprLike | collections.abc.Sequence[ExprLike]) -> Tensor:
    r"""Data repeated to a shape. NumPy broadcast_to.

    data (Tensor)
    shape (ExprLike | collections.abc.Sequence[ExprLike]): one that the shape of data broadcasts to
    """


def sum(data: Tensor, axis: int | collections.abc.Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
    r"""The sum, in the type of the elements. ONNX ReduceSum.

    data (Tensor): numbers
    axis (int | collections.abc.Sequence[int] | None): dimensions, from the end where negative; None: all
    keepdims (bool): reduced dimensions stay, with extent 1
    """


def prod(data: Tensor, axis: int | collections.abc.Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
    r"""The product, in the type of the elements. ONNX ReduceProd.

    data (Tensor): numbers
    axis (int | collections.abc.Sequence[int] | None): dimensions, from the end where negative; None: all
    keepdims (bool): reduced dimensions stay, with extent 1
    """


def max(data: Tensor, axis: int | collections.abc.Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
    r"""The greatest element; of none minus infinity, or the least integer. ONNX ReduceMax.

    data (Tensor): numbers
    axis (int | collections.abc.Sequence[int] | None): dimensions, from the end where negative; None: all
    keepdims (bool): reduced dimensions stay, with extent 1
    """


def min(data: Tensor, axis: int | collections.abc.Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
    r"""The least element; of none infinity, or the greatest integer. ONNX ReduceMin.

    data (Tensor): numbers
    axis (int | collections.abc.Sequence[int] | None): dimensions, from the end where negative; None: all
    keepdims (bool): reduced dimensions stay, with extent 1
    """


def mean(data: Tensor, axis: int | collections.abc.Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
    r"""The sum divided by the number of elements. ONNX ReduceMean.

    data (Tensor): floats
    axis (int | collections.abc.Sequence[int] | None): dimensions, from the end where negative; None: all
    keepdims (bool): reduced dimensions stay, with extent 1
    """


def all(data: Tensor, axis: int | collections.abc.Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
    r"""Whether all elements are true. NumPy all.

    data (Tensor): bool
    axis (int | collections.abc.Sequence[int] | None): dimensions, from the end where negative; None: all
    keepdims (bool): reduced dimensions stay, with extent 1
    """


def any(data: Tensor, axis: int | collections.abc.Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
    r"""Whether one element is true. NumPy any.

    data (Tensor): bool
    axis (int | collections.abc.Sequence[int] | None): dimensions, from the end where negative; None: all
    keepdims (bool): reduced dimensions stay, with extent 1
    """


def argmax(data: Tensor, axis: int | collections.abc.Sequence[int] | None = None, keepdims: bool = False, select_last_index: bool = False) -> Tensor:
    r"""Row-major position of the greatest element, int32; NaN is beyond all. ONNX ArgMax.

    data (Tensor): numbers
    axis (int | collections.abc.Sequence[int] | None): dimensions, from the end where negative; None: all
    keepdims (bool): reduced dimensions stay, with extent 1
    select_last_index (bool): of equal elements the last
    """


def argmin(data: Tensor, axis: int | collections.abc.Sequence[int] | None = None, keepdims: bool = False, select_last_index: bool = False) -> Tensor:
    r"""Row-major position of the least element, int32; NaN is before all. ONNX ArgMin.

    data (Tensor): numbers
    axis (int | collections.abc.Sequence[int] | None): dimensions, from the end where negative; None: all
    keepdims (bool): reduced dimensions stay, with extent 1
    select_last_index (bool): of equal elements the last
    """


def transpose(a: Tensor, axes: int | collections.abc.Sequence[int] | None = None) -> Tensor:
    r"""Dimension d of the result is dimension axes[d] of a. ONNX Transpose.

    a (Tensor)
    axes (int | collections.abc.Sequence[int] | None): a permutation of the dimensions; None: from the last to the first
    """


def reshape(a: Tensor, newshape: ExprLike | collections.abc.Sequence[ExprLike]) -> Tensor:
    r"""The elements in row-major order under another shape. NumPy reshape.

    a (Tensor)
    newshape (ExprLike | collections.abc.Sequence[ExprLike]): of as many elements; one extent may be -1, and follows from the others
    """


def concatenate(a_tuple: collections.abc.Sequence[Tensor], axis: int = 0) -> Tensor:
    r"""Tensors one after the other along axis. ONNX Concat.

    a_tuple (collections.abc.Sequence[Tensor]): of one type and, but for axis, one shape
    axis (int): a dimension
    """


def squeeze(a: Tensor, axis: int | collections.abc.Sequence[int] | None = None) -> Tensor:
    r"""A without dimensions of extent 1. NumPy squeeze.

    a (Tensor)
    axis (int | collections.abc.Sequence[int] | None): dimensions of extent 1; None: all of them
    """


def expand_dims(a: Tensor, axis: int, num_newaxis: int = 1) -> Tensor:
    r"""A with dimensions of extent 1 before axis. NumPy expand_dims.

    a (Tensor)
    axis (int): a dimension of the result
    num_newaxis (int): how many
    """


def strided_slice(a: Tensor, begin: int | collections.abc.Sequence[int], end: int | collections.abc.Sequence[int], strides: int | collections.abc.Sequence[int] | None = None) -> Tensor:
    r"""The elements begin:end:strides of each dimension, as NumPy has it; dimensions behind the lists are taken whole.

    a (Tensor): of constant extents where they are cut
    begin (int | collections.abc.Sequence[int]): the first element of each dimension; from the end where negative
    end (int | collections.abc.Sequence[int]): the element that is no longer taken; from the end where negative
    strides (int | collections.abc.Sequence[int] | None): from one element to the next, backward where negative; None: 1
    """


def split(ary: Tensor, indices_or_sections: int | collections.abc.Sequence[int], axis: int = 0) -> Tensor:
    r"""The parts of a tensor along axis. NumPy split.

    ary (Tensor): of a constant extent along axis
    indices_or_sections (int | collections.abc.Sequence[int]): so many equal parts, or where parts begin but for the first
    axis (int): a dimension
    """


def flip(a: Tensor, axis: int = 0) -> Tensor:
    r"""The elements along axis from the last to the first. NumPy flip.

    a (Tensor)
    axis (int): a dimension
    """


def sort(data: Tensor, axis: int = -1, is_ascend: bool = True) -> Tensor:
    r"""The elements in order; equal ones keep theirs, and NaN is beyond all numbers. NumPy sort.

    data (Tensor): numbers; the extent along `axis` is constant
    axis (int): a dimension, from the end where negative
    is_ascend (bool): from the least to the greatest
    """


def argsort(data: Tensor, valid_count: Tensor | None = None, axis: int = -1, is_ascend: bool = True, dtype: str = 'float32') -> Tensor:
    r"""The positions of the elements in order; equal ones keep theirs, and NaN is beyond all numbers. NumPy argsort.

    data (Tensor): numbers; the extent along `axis` is constant
    valid_count (Tensor | None): int32, how many of each row are sorted; None: all
    axis (int): a dimension, from the end where negative
    is_ascend (bool): from the least to the greatest
    dtype (str): of the positions
    """


def topk(data: Tensor, k: int = 1, axis: int = -1, ret_type: str = 'both', is_ascend: bool = False, dtype: str = 'int64') -> Tensor:
    r"""The first k elements in order and their positions, a list. ONNX TopK.

    data (Tensor): numbers; the extent along `axis` is constant
    k (int): how many; all where below 1
    axis (int): a dimension, from the end where negative
    ret_type (str): "both", "values" or "indices"
    is_ascend (bool): from the least to the greatest
    dtype (str): of the positions
    """


def matmul(a: Tensor, b: Tensor, transp_a: bool = False, transp_b: bool = False) -> Tensor:
    r"""The product of two matrices: [M, N].

    a (Tensor): [M, K]; transposed [K, M]
    b (Tensor): [K, N]; transposed [N, K]
    transp_a (bool)
    transp_b (bool)
    """
