"""Convolutions and products of matrices."""

import numpy as np

from operators.arrays import relayout
from operators.row import Operator
from operators.windows import border_of, padded_by, taps_of


def _conv_positions(padded, kernel, stride, dilation):
    return [(e - (k - 1) * d - 1) // s + 1 for e, k, s, d in zip(padded.shape[2:], kernel, stride, dilation, strict=True)]


def _conv2d_operands(a, data, weight):
    data, weight = relayout(data, a.layout, "NCHW"), relayout(weight, a.kernel_layout, "OIHW")
    stride, dilation, border = a.pair("strides"), a.pair("dilation"), border_of(a.ints("padding"))
    return data, weight, stride, dilation, border


def _by_tap(weight, groups):
    """(rows, columns, groups, outputs, inputs) of a group, in the order that products are fast in."""
    channels, inputs, *kernel = weight.shape
    return np.ascontiguousarray(weight.reshape(groups, channels // groups, inputs, *kernel).transpose(3, 4, 0, 1, 2))


def _conv2d(a, data, weight, bias=None):
    data, weight, stride, dilation, border = _conv2d_operands(a, data, weight)
    type_ = data.dtype if a.out_dtype == "same" else a.element_type("out_dtype")
    groups, (n, c), (channels, _, *kernel) = a.groups, data.shape[:2], weight.shape
    padded = padded_by(data.astype(type_), border)
    rows, columns = _conv_positions(padded, kernel, stride, dilation)
    out = np.zeros((n, groups, channels // groups, rows * columns), type_)
    by_tap = _by_tap(weight.astype(type_), groups)
    for tap, at in taps_of(kernel, stride, dilation, (rows, columns)):
        out += by_tap[tap] @ padded[at].reshape(n, groups, c // groups, rows * columns)
    out = out.reshape(n, channels, rows, columns)
    if bias is not None:
        out = out + bias.reshape(1, -1, 1, 1)
    wanted = a.get("out_layout", a.layout)
    return relayout(out, "NCHW", a.layout if wanted in ("", "__undef__") else wanted)


def _conv2d_grad(a, grad, data, weight):
    data, weight, stride, dilation, border = _conv2d_operands(a, data, weight)
    grad = relayout(grad, a.layout, "NCHW")
    groups, (n, c), (channels, _, *kernel) = a.groups, data.shape[:2], weight.shape
    padded = padded_by(data, border)
    by_tap = _by_tap(weight, groups)
    of_padded, of_weight = np.zeros_like(padded), np.zeros_like(by_tap)
    positions = grad.shape[2:]
    grad = grad.reshape(n, groups, channels // groups, -1)
    for tap, at in taps_of(kernel, stride, dilation, positions):
        met = padded[at].reshape(n, groups, c // groups, -1)
        of_weight[tap] = (grad @ met.swapaxes(2, 3)).sum(0)
        of_padded[at] += (by_tap[tap].swapaxes(1, 2) @ grad).reshape(n, c, *positions)
    top, left, bottom, right = border
    inner = of_padded[:, :, top : of_padded.shape[2] - bottom, left : of_padded.shape[3] - right]
    return relayout(inner, "NCHW", a.layout), relayout(of_weight.transpose(2, 3, 4, 0, 1).reshape(weight.shape), "OIHW", a.kernel_layout)


CONV = {"channels": 6, "kernel_size": (3, 2)}
OPERATORS = {
    "conv2d": Operator(_conv2d, [
        ([(2, 4, 7, 6), (6, 4, 3, 2), (6,)], CONV),
        ([(1, 4, 7, 6), (6, 2, 3, 2)], {**CONV, "groups": 2, "strides": (2, 1), "padding": (1, 0), "use_bias": False}),
        ([(1, 3, 8, 9), (6, 1, 3, 2), (6,)], {**CONV, "groups": 3, "dilation": (2, 3), "padding": (0, 1, 2, 3)}),
        ([(1, 5, 5, 5), (5, 1, 1, 1)], {"channels": 5, "kernel_size": 1, "groups": 5, "strides": (2, 2), "use_bias": False}),
        ([(2, 7, 6, 4), (3, 2, 4, 6), (6,)], {**CONV, "layout": "NHWC", "kernel_layout": "HWIO", "strides": (2, 2), "padding": (1, 1)}),
        ([(7, 6, 2, 4), (6, 3, 2, 2)], {**CONV, "layout": "HWNC", "kernel_layout": "OHWI", "groups": 2, "use_bias": False}),
        ([(1, 1, 1, 1), (1, 1, 1, 1), (1,)], {"channels": 1, "kernel_size": (1, 1)}),
    ]),
    "_conv2d_grad": Operator(_conv2d_grad, [
        ([(2, 6, 5, 5), (2, 4, 7, 6), (6, 4, 3, 2)], CONV),
        ([(1, 6, 4, 5), (1, 4, 7, 6), (6, 2, 3, 2)], {**CONV, "groups": 2, "strides": (2, 1), "padding": (1, 0)}),
        ([(1, 7, 7, 6), (1, 7, 6, 4), (3, 2, 4, 6)], {**CONV, "layout": "NHWC", "kernel_layout": "HWIO", "padding": (1, 1)}),
    ]),
    "_contrib_conv2d_NCHWc": Operator(_conv2d, [
        ([(2, 2, 7, 6, 4), (3, 2, 3, 2, 4, 2), (3, 2)], {**CONV, "layout": "NCHW4c", "kernel_layout": "OIHW4i2o", "out_layout": "NCHW2c"}),
        ([(1, 3, 7, 6), (2, 3, 3, 2, 3), (2, 3)], {**CONV, "layout": "NCHW", "kernel_layout": "OIHW3o", "out_layout": "NCHW3c", "strides": (2, 1)}),
        ([(1, 3, 8, 9, 2), (3, 1, 3, 2, 1, 2)],
         {**CONV, "groups": 6, "layout": "NCHW2c", "kernel_layout": "OIHW1i2o", "dilation": (2, 3), "padding": (0, 1, 2, 3), "use_bias": False}),
    ]),
}
