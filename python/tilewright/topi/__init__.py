# SPDX-License-Identifier: Apache-2.0
"""Operators on tensors, with TVM's names and signatures. Elementwise and broadcasting ones come from topi's tables."""

from .. import _core
from .._core import topi as _topi
from . import nn, utils  # noqa: F401


def _axes(axis):
    if axis is None:
        return []
    return list(axis) if isinstance(axis, (tuple, list)) else [axis]


def _unary(name, doc):
    def function(x):
        return _topi.unary(name, x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def _binary(name, doc):
    def function(lhs, rhs):
        return _topi.binary(name, lhs, rhs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc + ". Shapes broadcast as NumPy's do; one operand may be a scalar."
    return function


globals().update({name: _unary(name, doc) for name, doc in _topi.unary_operators()})
globals().update({name: _binary(name, doc) for name, doc in _topi.binary_operators()})


def _reduction(name, doc):
    def function(data, axis=None, keepdims=False):
        return _topi.reduction(name, data, _axes(axis), keepdims)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc + " over axis (None: all)."
    return function


sum = _reduction("sum", "The sum")
prod = _reduction("prod", "The product")
max = _reduction("max", "The greatest element")
min = _reduction("min", "The least element")
mean = _reduction("mean", "The mean")
all = _reduction("all", "Whether all bool elements are true")
any = _reduction("any", "Whether one bool element is true")


def argmax(data, axis=None, keepdims=False, select_last_index=False):
    """int32 position of the greatest element over axis (None: all); of equal ones the first, and NaN before all."""
    return _topi.argmax(data, _axes(axis), keepdims, select_last_index)


def argmin(data, axis=None, keepdims=False, select_last_index=False):
    """int32 position of the least element over axis (None: all); of equal ones the first, and NaN before all."""
    return _topi.argmin(data, _axes(axis), keepdims, select_last_index)


def cast(x, dtype, span=None):
    """Elements converted to a type."""
    return _topi.cast(x, dtype)


def saturating_cast(x, dtype):
    """Elements converted to a type: what lies beyond an integer type becomes its nearest limit, NaN becomes 0."""
    return _topi.saturating_cast(x, dtype)


def clip(x, a_min, a_max):
    """max(a_min, min(x, a_max))."""
    return _topi.clip(x, a_min, a_max)


def full(shape, dtype, fill_value):
    """A tensor of one value."""
    return _topi.full(list(shape), dtype, fill_value)


def full_like(x, fill_value):
    """A tensor of one value, with x's shape and type."""
    return _topi.full_like(x, fill_value)


def broadcast_to(data, shape):
    """data repeated to a shape."""
    return _topi.broadcast_to(data, list(shape))


def transpose(a, axes=None):
    """Dimension d of the result is dimension axes[d] of a; all reversed without axes."""
    return _topi.transpose(a, _axes(axes))


def reshape(a, newshape):
    """The elements in row-major order under another shape; one extent may be -1."""
    return _topi.reshape(a, _axes(newshape))


def concatenate(a_tuple, axis=0):
    """Tensors one after the other along axis."""
    return _topi.concatenate(list(a_tuple), axis)


def squeeze(a, axis=None):
    """Without dimensions of extent 1."""
    return _topi.squeeze(a, _axes(axis))


def expand_dims(a, axis, num_newaxis=1):
    """With num_newaxis dimensions of extent 1 at axis."""
    return _topi.expand_dims(a, axis, num_newaxis)


def matmul(a, b, transp_a=False, transp_b=False):
    """The product of a [M, K] and b [K, N], transposed as said."""
    return _topi.matmul(a, b, None, None, transp_a, transp_b)
