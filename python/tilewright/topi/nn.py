# SPDX-License-Identifier: Apache-2.0
"""Operators of neural networks, with TVM's names and signatures."""

from .. import _core
from .._core import topi as _topi


def _ints(value):
    return list(value) if isinstance(value, (tuple, list)) else [value]


def _nchw(layout):
    if layout != "NCHW":
        _core.raise_error("bad-argument", f"unknown layout {layout!r}", "NCHW")


def _blocked(layout, shape, dimension):
    """Refuses a layout that does not name the blocks of this dimension."""
    legal = f"NCHW{shape[dimension]}c" if dimension < len(shape) else "NCHW[x]c"
    if layout != legal:
        _core.raise_error("bad-argument", f"layout {layout!r} for shape [{', '.join(map(str, shape))}]", legal)


def relu(x):
    """max(x, 0)."""
    return _topi.relu(x)


def leaky_relu(x, alpha):
    """x where positive, else alpha * x."""
    return _topi.leaky_relu(x, alpha)


def prelu(x, slope, axis=1):
    """x where positive, else slope * x, with slope [C] for dimension axis."""
    return _topi.prelu(x, slope, axis)


def gelu(x):
    """x / 2 * (1 + erf(x / sqrt(2)))."""
    return _topi.gelu(x)


def conv2d_nchw(Input, Filter, stride, padding, dilation, out_dtype=None):
    """Input [N, C, H, W] with Filter [F, C, KH, KW] gives [N, F, OH, OW]."""
    return _topi.conv2d(Input, Filter, _ints(stride), _ints(padding), _ints(dilation), 1, out_dtype)


def group_conv2d_nchw(Input, Filter, stride, padding, dilation, groups, out_dtype=None):
    """Input [N, C, H, W] with Filter [F, C / groups, KH, KW] gives [N, F, OH, OW]."""
    return _topi.conv2d(Input, Filter, _ints(stride), _ints(padding), _ints(dilation), groups, out_dtype)


def conv2d_NCHWc(data, kernel, stride, padding, dilation, layout, out_layout, out_dtype=None):
    """data [N, C / c, H, W, c] with kernel [F / f, C / c, KH, KW, c, f] gives [N, F / f, OH, OW, f].

    layout, out_layout: "NCHW16c" where c, or f, is 16.
    """
    _blocked(layout, data.shape, 4)
    _blocked(out_layout, kernel.shape, 5)
    return _topi.conv2d_nchwc(data, kernel, _ints(stride), _ints(padding), _ints(dilation), out_dtype)


def conv2d(input, filter, strides, padding, dilation, layout="NCHW", out_dtype=None, data_layout="NCHW"):
    """conv2d_nchw. data_layout is what later TVM calls layout."""
    _nchw(layout)
    _nchw(data_layout)
    return conv2d_nchw(input, filter, strides, padding, dilation, out_dtype)


def dense(data, weight, bias=None, out_dtype=None):
    """data [M, K] times the transpose of weight [N, K], plus bias [N]."""
    return _topi.dense(data, weight, bias, out_dtype)


def matmul(tensor_a, tensor_b, bias=None, out_dtype=None, transpose_a=False, transpose_b=False):
    """tensor_a [M, K] times tensor_b [K, N], transposed as said, plus bias [N]."""
    return _topi.matmul(tensor_a, tensor_b, bias, out_dtype, transpose_a, transpose_b)


def batch_matmul(tensor_a, tensor_b, oshape=None, out_dtype=None, transpose_a=False, transpose_b=True):
    """A product of matrices for each b: [B, M, K] and [B, N, K] give [B, M, N]."""
    if oshape is not None:
        _core.raise_error("bad-argument", "oshape is given", "none: the shape follows from the operands")
    return _topi.batch_matmul(tensor_a, tensor_b, out_dtype, transpose_a, transpose_b)


def bias_add(data, bias, axis=1):
    """data plus bias [C] along dimension axis."""
    return _topi.bias_add(data, bias, axis)


def pad(data, pad_before, pad_after=None, pad_value=0.0, name="PadInput"):
    """data with elements of pad_value around each dimension."""
    return _topi.pad(data, list(pad_before), list(pad_after or []), pad_value, name)


def pool2d(data, kernel, stride, dilation, padding, pool_type, ceil_mode=False, layout="NCHW", count_include_pad=True):
    """The greatest element ("max") or the mean ("avg") of each window of data [N, C, H, W]."""
    _nchw(layout)
    return _topi.pool2d(
        data, _ints(kernel), _ints(stride), _ints(dilation), _ints(padding), pool_type, ceil_mode, count_include_pad)


def global_pool(data, pool_type, layout="NCHW"):
    """One window over all of H and W."""
    _nchw(layout)
    return _topi.global_pool(data, pool_type)


def softmax(x, axis=-1):
    """exp(x - max) / sum(exp(x - max)) along axis."""
    return _topi.softmax(x, axis)


def log_softmax(x, axis=-1):
    """The logarithm of softmax."""
    return _topi.log_softmax(x, axis)


def layer_norm(data, gamma, beta, axis, epsilon=1e-5):
    """(x - mean) / sqrt(variance + epsilon) * gamma + beta over axis."""
    return _topi.layer_norm(data, gamma, beta, _ints(axis), epsilon)


def batch_norm(data, gamma, beta, moving_mean, moving_var, axis=1, epsilon=1e-5):
    """(x - moving_mean) / sqrt(moving_var + epsilon) * gamma + beta for dimension axis (inference)."""
    return _topi.batch_norm(data, gamma, beta, moving_mean, moving_var, axis, epsilon)


def flatten(data):
    """[N, C, ...] as [N, C * ...]."""
    return _topi.flatten(data)
