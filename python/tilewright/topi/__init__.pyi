# SPDX-License-Identifier: Apache-2.0
# Made by python/stubs/make_stubs.py.
import collections.abc

from tilewright._core import ExprLike, PrimExpr, Tensor
from . import image as image, nn as nn, table as table, utils as utils, vision as vision


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


def exp2(x: Tensor) -> Tensor:
    r"""2 to the x; NumPy exp2.

    x (Tensor): floats
    """


def expm1(x: Tensor) -> Tensor:
    r"""Exp(x) - 1, exact near 0; NumPy expm1.

    x (Tensor): floats
    """


def log1p(x: Tensor) -> Tensor:
    r"""Log(1 + x), exact near 0; NumPy log1p.

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


def asinh(x: Tensor) -> Tensor:
    r"""Inverse hyperbolic sine; ONNX Asinh.

    x (Tensor): floats
    """


def acosh(x: Tensor) -> Tensor:
    r"""Inverse hyperbolic cosine; ONNX Acosh.

    x (Tensor): floats
    """


def atanh(x: Tensor) -> Tensor:
    r"""Inverse hyperbolic tangent; ONNX Atanh.

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


def square(x: Tensor) -> Tensor:
    r"""X * x; NumPy square.

    x (Tensor): integers or floats
    """


def reciprocal(x: Tensor) -> Tensor:
    r"""1 / x; ONNX Reciprocal.

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
    r"""Nearest integral value, halves away from zero.

    x (Tensor): integers or floats
    """


def rint(x: Tensor) -> Tensor:
    r"""Nearest integral value, halves to even; NumPy rint, ONNX Round.

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


def isfinite(x: Tensor) -> Tensor:
    r"""Bool: x is a number and no infinity; NumPy isfinite.

    x (Tensor): floats
    """


def bitwise_not(x: Tensor) -> Tensor:
    r"""~x; NumPy bitwise_not.

    x (Tensor): integers
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
    r"""Max(a_min, min(x, a_max)), of NaN NaN; bounds beyond an integer type cut off nothing. ONNX Clip.

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
    r"""The greater, NaN where one is; NumPy maximum.

    lhs (Tensor | ExprLike)
    rhs (Tensor | ExprLike): of a shape that broadcasts with that of lhs, as NumPy's do; or one scalar for all elements
    """


def minimum(lhs: Tensor | ExprLike, rhs: Tensor | ExprLike) -> Tensor | PrimExpr:
    r"""The lesser, NaN where one is; NumPy minimum.

    lhs (Tensor | ExprLike)
    rhs (Tensor | ExprLike): of a shape that broadcasts with that of lhs, as NumPy's do; or one scalar for all elements
    """


def power(lhs: Tensor | ExprLike, rhs: Tensor | ExprLike) -> Tensor | PrimExpr:
    r"""A to the b, of integers 1 / a towards zero where b is below 0; ONNX Pow.

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
    r"""The sum, in the type of the elements; of 16 bits rounded once. ONNX ReduceSum.

    data (Tensor): numbers
    axis (int | collections.abc.Sequence[int] | None): dimensions, from the end where negative; None: all
    keepdims (bool): reduced dimensions stay, with extent 1
    """


def prod(data: Tensor, axis: int | collections.abc.Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
    r"""The product, in the type of the elements; of 16 bits rounded once. ONNX ReduceProd.

    data (Tensor): numbers
    axis (int | collections.abc.Sequence[int] | None): dimensions, from the end where negative; None: all
    keepdims (bool): reduced dimensions stay, with extent 1
    """


def max(data: Tensor, axis: int | collections.abc.Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
    r"""The greatest element; of none minus infinity, or the least integer; a NaN may be lost. ONNX ReduceMax.

    data (Tensor): numbers
    axis (int | collections.abc.Sequence[int] | None): dimensions, from the end where negative; None: all
    keepdims (bool): reduced dimensions stay, with extent 1
    """


def min(data: Tensor, axis: int | collections.abc.Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
    r"""The least element; of none infinity, or the greatest integer; a NaN may be lost. ONNX ReduceMin.

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


def take(a: Tensor, indices: Tensor, axis: int | None = None, batch_dims: int = 0, mode: str = 'clip') -> Tensor:
    r"""Elements along axis: a.shape[:axis] + indices.shape[batch_dims:] + a.shape[axis + 1:]. ONNX Gather.

    a (Tensor)
    indices (Tensor): integers
    axis (int | None): a dimension of a; None: of all elements in row-major order
    batch_dims (int): so many first dimensions of both are the same, at most axis
    mode (str): clip: the nearest where outside, -1 is 0; wrap: the remainder; fast: from the end where negative, then the nearest where outside
    """


def gather(data: Tensor, axis: int, indices: Tensor) -> Tensor:
    r"""The element along axis that each index names, at its own position in all other dimensions. ONNX GatherElements.

    data (Tensor)
    axis (int): a dimension
    indices (Tensor): integers, from the end where negative; the nearest one where outside
    """


def gather_nd(a: Tensor, indices: Tensor, batch_dims: int = 0) -> Tensor:
    r"""What the m indices of a column name, of the dimensions behind batch_dims. ONNX GatherND.

    a (Tensor)
    indices (Tensor): [m, …], integers, from the end where negative; the nearest one where outside
    batch_dims (int): so many first dimensions of a are the first behind m
    """


def one_hot(indices: Tensor, on_value: ExprLike, off_value: ExprLike, depth: int, axis: int, dtype: str) -> Tensor:
    r"""On_value at the position that each index names along a new dimension, else off_value. ONNX OneHot.

    indices (Tensor): integers, from the end where negative
    on_value (ExprLike): at the index
    off_value (ExprLike): elsewhere
    depth (int): the extent of the new dimension
    axis (int): the new dimension
    dtype (str): of the result
    """


def where(condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    r"""X where the condition holds, else y. ONNX Where.

    condition (Tensor): of any type; what is not 0 holds
    x (Tensor): of a shape that broadcasts with the others
    y (Tensor): of the type of x
    """


def scatter_elements(data: Tensor, indices: Tensor, updates: Tensor, axis: int = 0, reduction: str = 'update') -> Tensor:
    r"""Data with each update at its own position but along axis, where the index says. ONNX ScatterElements.

    data (Tensor): of constant shape
    indices (Tensor): integers, from the end where negative; the nearest one where outside
    updates (Tensor): of the shape of the indices
    axis (int): a dimension
    reduction (str): update: the last update of an element stays; add, mul, min, max: with what was there
    """


def scatter(data: Tensor, indices: Tensor, updates: Tensor, axis: int = 0) -> Tensor:
    r"""Data with each update at its own position but along axis, where the index says; the last one of an element stays. ONNX Scatter.

    data (Tensor): of constant shape
    indices (Tensor): integers, from the end where negative; the nearest one where outside
    updates (Tensor): of the shape of the indices
    axis (int): a dimension
    """


def scatter_add(data: Tensor, indices: Tensor, updates: Tensor, axis: int = 0) -> Tensor:
    r"""Data to which each update is added at its own position but along axis, where the index says, in row-major order. PyTorch scatter_add.

    data (Tensor): of constant shape
    indices (Tensor): integers, from the end where negative; the nearest one where outside
    updates (Tensor): of the shape of the indices
    axis (int): a dimension
    """


def scatter_nd(data: Tensor, indices: Tensor, updates: Tensor, mode: str = 'update') -> Tensor:
    r"""Data with updates where the columns of indices say. ONNX ScatterND.

    data (Tensor): of constant shape
    indices (Tensor): [m, y…], integers, from the end where negative; the nearest one where outside
    updates (Tensor): y… + data.shape[m:]
    mode (str): update: the last update of an element stays; add, mul, min, max: with what was there
    """


def cumsum(data: Tensor, axis: int | None = None, dtype: str | None = None, exclusive: bool | None = None, reverse: bool = False) -> Tensor:
    r"""The sum of the elements up to each. ONNX CumSum.

    data (Tensor): numbers, of constant shape
    axis (int | None): a dimension; None: all elements in row-major order, as a vector
    dtype (str | None): of the result; None: that of data
    exclusive (bool | None): without the element itself; None: with it
    reverse (bool): from the last element on
    """


def cumprod(data: Tensor, axis: int | None = None, dtype: str | None = None, exclusive: bool | None = None, reverse: bool = False) -> Tensor:
    r"""The product of the elements up to each. NumPy cumprod.

    data (Tensor): numbers, of constant shape
    axis (int | None): a dimension; None: all elements in row-major order, as a vector
    dtype (str | None): of the result; None: that of data
    exclusive (bool | None): without the element itself; None: with it
    reverse (bool): from the last element on
    """


def linear_recurrence(data: Tensor, factor: Tensor, axis: int, form: str = 'current', reverse: bool = False) -> Tensor:
    r"""A linear recurrence along axis, which begins with 0.

    data (Tensor): numbers, of constant shape
    factor (Tensor): of the shape and type of data
    axis (int): a dimension
    form (str): current: y[k] = data[k] + factor[k] * y[k - 1]; before: with factor[k - 1]; exclusive: y[k - 1] of the first
    reverse (bool): from the last element on
    """


def tile(a: Tensor, reps: int | collections.abc.Sequence[int]) -> Tensor:
    r"""A repeated as a whole. NumPy tile.

    a (Tensor)
    reps (int | collections.abc.Sequence[int]): how often along each dimension, aligned at the last
    """


def repeat(a: Tensor, repeats: int, axis: int) -> Tensor:
    r"""Each element along axis several times, one beside the other. NumPy repeat.

    a (Tensor)
    repeats (int): how often
    axis (int): a dimension
    """


def stack(a: collections.abc.Sequence[Tensor], axis: int = 0) -> Tensor:
    r"""Tensors along a new dimension. NumPy stack.

    a (collections.abc.Sequence[Tensor]): of one shape and type
    axis (int): the new dimension
    """


def roll(a: Tensor, shift: int | collections.abc.Sequence[int], axis: int | collections.abc.Sequence[int] | None) -> Tensor:
    r"""Elements moved along dimensions, from the end to the beginning. NumPy roll.

    a (Tensor): of constant shape
    shift (int | collections.abc.Sequence[int]): by how many places along each axis
    axis (int | collections.abc.Sequence[int] | None): dimensions
    """


def reverse_sequence(a: Tensor, seq_lengths: Tensor, seq_axis: int = 1, batch_axis: int = 0) -> Tensor:
    r"""The first seq_lengths[b] elements along seq_axis in reverse. ONNX ReverseSequence.

    a (Tensor)
    seq_lengths (Tensor): [b], integers; the nearest legal ones where outside of the extent
    seq_axis (int): along which elements change places
    batch_axis (int): along which lengths differ
    """


def compress(a: Tensor, condition: int | collections.abc.Sequence[int], axis: int | None = None) -> Tensor:
    r"""The elements where the condition holds. NumPy compress.

    a (Tensor): of constant shape
    condition (int | collections.abc.Sequence[int]): what is not 0 holds; missing ones do not
    axis (int | None): a dimension; None: all elements in row-major order
    """


def arange(start: float, stop: float | None = None, step: float = 1.0, dtype: str = 'float32') -> Tensor:
    r"""Numbers from start on before stop. NumPy arange.

    start (float): the first number; the end, if stop is None
    stop (float | None): what is not reached; None: start, beginning with 0
    step (float): from one to the next, not 0
    dtype (str): of the result
    """


def eye(N: int, M: int | None = None, k: int = 0, dtype: str = 'float32') -> Tensor:
    r"""Ones on a diagonal of zeros. NumPy eye.

    N (int): rows
    M (int | None): columns; None: N
    k (int): the diagonal: column - row
    dtype (str): of the result
    """


def diag(a: Tensor, k: int = 0) -> Tensor:
    r"""The matrix with a vector on a diagonal; of matrices their diagonal. NumPy diag.

    a (Tensor): a vector, or matrices in the last two dimensions, of constant shape
    k (int): the diagonal: column - row
    """


def matrix_set_diag(data: Tensor, diagonal: Tensor, k: int = 0) -> Tensor:
    r"""Data with other elements on a diagonal.

    data (Tensor): matrices in the last two dimensions, of constant shape
    diagonal (Tensor): of the shape of diag(data, k)
    k (int): the diagonal: column - row
    """


def trilu(data: Tensor, k: int = 0, upper: bool = True) -> Tensor:
    r"""Matrices with zeros on one side of a diagonal. ONNX Trilu.

    data (Tensor): matrices in the last two dimensions
    k (int): the diagonal: column - row
    upper (bool): whether what is below becomes 0, or what is above
    """


def meshgrid(a_tuple: collections.abc.Sequence[Tensor], indexing: str) -> Tensor:
    r"""Vectors along the dimensions of a grid, repeated along all others. NumPy meshgrid.

    a_tuple (collections.abc.Sequence[Tensor]): vectors
    indexing (str): ij, or xy with the first two dimensions exchanged
    """


def unravel_index(indices: Tensor, shape: int | collections.abc.Sequence[int]) -> Tensor:
    r"""Positions along a new first dimension. NumPy unravel_index.

    indices (Tensor): row-major positions, from the end where negative; the nearest where outside
    shape (int | collections.abc.Sequence[int]): extents of 1 or more
    """


def shape(array: Tensor, dtype: str = 'int32') -> Tensor:
    r"""The extents as a vector. ONNX Shape.

    array (Tensor)
    dtype (str): of the result
    """


def ndarray_size(array: Tensor, dtype: str = 'int32') -> Tensor:
    r"""How many elements there are. ONNX Size.

    array (Tensor)
    dtype (str): of the result
    """


def det(data: Tensor) -> Tensor:
    r"""The determinants of matrices in the last two dimensions. ONNX Det.

    data (Tensor): [..., n, n], floats, n constant
    """


def logsumexp(x: Tensor, axis: int | collections.abc.Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
    r"""Log(sum(exp(x))), in which nothing overflows. ONNX ReduceLogSumExp.

    x (Tensor): floats
    axis (int | collections.abc.Sequence[int] | None): dimensions, from the end where negative; None: all
    keepdims (bool): reduced dimensions stay, with extent 1
    """


def norm(x: Tensor, ord: int = 2, axis: int | collections.abc.Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
    r"""A norm over dimensions. ONNX ReduceL1, ReduceL2.

    x (Tensor): numbers; floats for 2
    ord (int): 1: of absolute values; 2: the root of the sum of squares
    axis (int | collections.abc.Sequence[int] | None): dimensions, from the end where negative; None: all
    keepdims (bool): reduced dimensions stay, with extent 1
    """


def variance(x: Tensor, axis: int | collections.abc.Sequence[int] | None = None, keepdims: bool = False, unbiased: bool = False) -> Tensor:
    r"""The mean square distance from the mean. NumPy var.

    x (Tensor): floats
    axis (int | collections.abc.Sequence[int] | None): dimensions, from the end where negative; None: all
    keepdims (bool): reduced dimensions stay, with extent 1
    unbiased (bool): divided by one less than the elements
    """


def einsum(subscripts: str, operands: collections.abc.Sequence[Tensor]) -> Tensor:
    r"""The sum over all labels that the result lacks of the product of the operands. ONNX Einsum.

    subscripts (str): such as "ij,jk->ik"
    operands (collections.abc.Sequence[Tensor]): of one type
    """
