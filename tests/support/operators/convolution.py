"""Convolutions and products of matrices."""

import math

import numpy as np

from operators.arrays import relayout
from operators.row import Operator
from operators.windows import border_of, grown_images, grown_windows, natural, natural_kernel, padded_by, steps, taps_of


def _geometry(a):
    spatial = len(natural(a.layout)) - 2
    return (*(steps(a.ints(name), spatial) for name in ("kernel_size", "strides", "dilation")), border_of(a.ints("padding"), spatial))


def _images(a, x):
    return relayout(x, a.layout, natural(a.layout))


def _kernels(a, weight):
    return relayout(weight, a.kernel_layout, natural_kernel(a.kernel_layout))


def _by_tap(weight, groups):
    """(*kernel, groups, outputs, inputs) of a group, in the order that products are fast in."""
    channels, inputs, *kernel = weight.shape
    spatial = len(kernel)
    split = weight.reshape(groups, channels // groups, inputs, *kernel)
    return np.ascontiguousarray(split.transpose(*range(3, 3 + spatial), 0, 1, 2))


def _conv(a, data, weight, bias=None):
    data, weight = _images(a, data), _kernels(a, weight)
    kernel, stride, dilation, border = _geometry(a)
    type_ = data.dtype if a.out_dtype == "same" else a.element_type("out_dtype")
    groups, (n, c), channels = a.groups, data.shape[:2], weight.shape[0]
    padded = padded_by(data.astype(type_), border)
    positions = [(e - (k - 1) * d - 1) // s + 1 for e, k, s, d in zip(padded.shape[2:], kernel, stride, dilation, strict=True)]
    out = np.zeros((n, groups, channels // groups, math.prod(positions)), type_)
    by_tap = _by_tap(weight.astype(type_), groups)
    for tap, at in taps_of(kernel, stride, dilation, positions):
        out += by_tap[tap] @ padded[at].reshape(n, groups, c // groups, math.prod(positions))
    out = out.reshape(n, channels, *positions)
    if bias is not None:
        out = out + bias.reshape(1, -1, *(1,) * len(positions))
    wanted = a.get("out_layout", a.layout)
    return relayout(out, natural(a.layout), a.layout if wanted in ("", "__undef__") else wanted)


def _spread(a, grad, weight, shape):
    """What each element of grad adds to images of that shape: the transpose of the convolution."""
    kernel, stride, dilation, border = _geometry(a)
    groups, (n, channels), positions = a.groups, grad.shape[:2], grad.shape[2:]
    whole = [max(e + before + after, (p - 1) * s + (k - 1) * d + 1)
             for e, (before, after), p, s, k, d in zip(shape[2:], border, positions, stride, kernel, dilation, strict=True)]
    result, by_tap = np.zeros((*shape[:2], *whole), grad.dtype), _by_tap(weight, groups)
    grad = grad.reshape(n, groups, channels // groups, -1)
    for tap, at in taps_of(kernel, stride, dilation, positions):
        result[at] += (by_tap[tap].swapaxes(1, 2) @ grad).reshape(*shape[:2], *positions)
    return result[(..., *(slice(before, before + e) for (before, _), e in zip(border, shape[2:], strict=True)))]


def _conv_transpose(a, data, weight, bias=None):
    data, weight = _images(a, data), _kernels(a, weight)
    kernel, stride, dilation, border = _geometry(a)
    more = steps(a.ints("output_padding"), len(kernel))
    extents = [(e - 1) * s + (k - 1) * d + 1 + m - before - after
               for e, k, s, d, m, (before, after) in zip(data.shape[2:], kernel, stride, dilation, more, border, strict=True)]
    out = _spread(a, data, weight, (data.shape[0], weight.shape[1] * a.groups, *extents))
    if bias is not None:
        out = out + bias.reshape(1, -1, *(1,) * len(extents))
    return relayout(out, natural(a.layout), a.layout)


def _conv_data_grad(a, grad, weight, data):
    return relayout(_spread(a, _images(a, grad), _kernels(a, weight), _images(a, data).shape), natural(a.layout), a.layout)


def _conv_weight_grad(a, grad, data):
    grad, data = _images(a, grad), _images(a, data)
    kernel, stride, dilation, border = _geometry(a)
    groups, (n, c), channels, positions = a.groups, data.shape[:2], grad.shape[1], grad.shape[2:]
    padded = padded_by(data, border)
    result = np.zeros((*kernel, groups, channels // groups, c // groups), data.dtype)
    grad = grad.reshape(n, groups, channels // groups, -1)
    for tap, at in taps_of(kernel, stride, dilation, positions):
        met = padded[at].reshape(n, groups, c // groups, -1)
        result[tap] = (grad @ met.swapaxes(2, 3)).sum(0)
    spatial = len(kernel)
    result = result.transpose(*range(spatial, spatial + 3), *range(spatial)).reshape(channels, c // groups, *kernel)
    return relayout(result, natural_kernel(a.kernel_layout), a.kernel_layout)


CONV = {"channels": 6, "kernel_size": (3, 2)}
STRIDED = {"kernel_size": (3, 2), "strides": (2, 3), "padding": (1, 0, 0, 1)}
DILATED = {"kernel_size": (2, 3), "strides": (3, 2), "dilation": (2, 3), "groups": 2, "padding": (1, 2)}
EVEN = {"kernel_size": (4, 3), "strides": (2, 3), "padding": (1, 1)}  # each element meets as many taps
SPARSE = {"kernel_size": (3, 2), "strides": (6, 5)}  # elements that no tap meets
# Attributes of conv1d, conv2d and conv3d, and the shapes of data, weight and output.
WINDOWS = [
    ({"kernel_size": 3, "strides": 2, "padding": (1, 0)}, (2, 3, 8), (5, 3, 3), (2, 5, 4)),
    ({"kernel_size": (3,), "dilation": 2, "groups": 2, "layout": "NWC", "kernel_layout": "WIO"}, (1, 9, 4), (3, 2, 6), (1, 5, 6)),
    ({**STRIDED}, (2, 4, 7, 8), (3, 4, 3, 2), (2, 3, 3, 3)),
    ({**STRIDED, "layout": "NHWC", "kernel_layout": "HWIO"}, (2, 7, 8, 4), (3, 2, 4, 3), (2, 3, 3, 3)),
    ({**DILATED}, (1, 4, 9, 8), (6, 2, 2, 3), (1, 6, 3, 3)),
    ({**EVEN}, (1, 2, 7, 9), (3, 2, 4, 3), (1, 3, 3, 3)),
    ({**SPARSE}, (1, 2, 10, 9), (3, 2, 3, 2), (1, 3, 2, 2)),
    ({"kernel_size": 1, "strides": 2}, (1, 17, 5, 6), (2, 17, 1, 1), (1, 2, 3, 3)),
    ({"kernel_size": (3, 3), "padding": 1, "groups": 16}, (1, 16, 4, 3), (16, 1, 3, 3), (1, 16, 4, 3)),
    ({"kernel_size": (2, 1, 3), "strides": (1, 2, 2), "padding": (1, 0, 1)}, (1, 2, 3, 5, 6), (3, 2, 2, 1, 3), (1, 3, 4, 3, 3)),
    ({"kernel_size": (2, 2, 2), "groups": 2, "layout": "NDHWC", "kernel_layout": "DHWIO"}, (1, 3, 3, 4, 4), (2, 2, 2, 2, 4), (1, 2, 2, 3, 4)),
]


def _conv_grad(a, grad, data, weight):
    return _conv_data_grad(a, grad, weight, data), _conv_weight_grad(a, grad, data)


def _of(spatial, inputs):
    """Cases with shapes of data, weight and output in another order."""
    return [([shapes[k] for k in inputs], attributes) for attributes, *shapes in WINDOWS if len(shapes[0]) == spatial + 2]


def _grow(op, spatial, transposed):
    def grow(network):
        x, layout, extents = grown_images(network, spatial)
        kernel, attributes = grown_windows(network, layout, extents, transposed)
        groups = network.one_of([g for g in (1, 1, 2) if extents["C"] % g == 0])
        channels = groups * network.one_of((1, 2, 4))
        biased = network.chance(0.4)
        outer, inner = (extents["C"], channels // groups) if transposed else (channels, extents["C"] // groups)
        weight = network.weight((outer, inner, *kernel), inner * math.prod(kernel))
        bias = [network.variable((channels,), param=True)] if biased else []
        network.keep(network.call(op, x, weight, *bias, channels=channels, kernel_size=kernel, groups=groups, layout=layout, use_bias=biased, **attributes))

    return grow


CONV1D = {"channels": 6, "kernel_size": 3}
CONV3D = {"channels": 4, "kernel_size": (2, 1, 3)}
TRANSPOSED = {"channels": 4, "kernel_size": (3, 2), "kernel_layout": "OIHW"}
OPERATORS = {
    "conv2d": Operator(_conv, [
        ([(2, 4, 7, 6), (6, 4, 3, 2), (6,)], CONV),
        ([(1, 4, 7, 6), (6, 2, 3, 2)], {**CONV, "groups": 2, "strides": (2, 1), "padding": (1, 0), "use_bias": False}),
        ([(1, 3, 8, 9), (6, 1, 3, 2), (6,)], {**CONV, "groups": 3, "dilation": (2, 3), "padding": (0, 1, 2, 3)}),
        ([(1, 5, 5, 5), (5, 1, 1, 1)], {"channels": 5, "kernel_size": 1, "groups": 5, "strides": (2, 2), "use_bias": False}),
        ([(2, 7, 6, 4), (3, 2, 4, 6), (6,)], {**CONV, "layout": "NHWC", "kernel_layout": "HWIO", "strides": (2, 2), "padding": (1, 1)}),
        ([(7, 6, 2, 4), (6, 3, 2, 2)], {**CONV, "layout": "HWNC", "kernel_layout": "OHWI", "groups": 2, "use_bias": False}),
        ([(1, 1, 1, 1), (1, 1, 1, 1), (1,)], {"channels": 1, "kernel_size": (1, 1)}),
    ]),
    "conv1d": Operator(_conv, [
        ([(2, 4, 9), (6, 4, 3), (6,)], CONV1D),
        ([(1, 9, 4), (3, 2, 6)], {**CONV1D, "groups": 2, "strides": 2, "padding": (1, 0), "layout": "NWC", "kernel_layout": "WIO", "use_bias": False}),
        ([(1, 6, 9), (6, 1, 3), (6,)], {**CONV1D, "groups": 6, "dilation": 2, "padding": 2}),
    ], grow=_grow("conv1d", 1, False)),
    "conv3d": Operator(_conv, [
        ([(1, 3, 4, 5, 6), (4, 3, 2, 1, 3), (4,)], {**CONV3D, "strides": (1, 2, 2), "padding": (1, 0, 1)}),
        ([(1, 3, 4, 5, 4), (2, 1, 3, 2, 4)], {**CONV3D, "groups": 2, "dilation": (2, 1, 1), "padding": (0, 0, 0, 1, 1, 1), "layout": "NDHWC",
                                                 "kernel_layout": "DHWIO", "use_bias": False}),
    ], grow=_grow("conv3d", 3, False)),
    "conv1d_transpose": Operator(_conv_transpose, [
        ([(2, 3, 5), (3, 4, 3), (4,)], {"channels": 4, "kernel_size": 3, "strides": 2, "padding": 1, "output_padding": 1}),
        ([(1, 5, 4), (4, 4, 3)], {"channels": 6, "kernel_size": 4, "groups": 2, "dilation": 2, "layout": "NWC", "kernel_layout": "WOI", "use_bias": False}),
    ], grow=_grow("conv1d_transpose", 1, True)),
    "conv2d_transpose": Operator(_conv_transpose, [
        ([(2, 3, 4, 5), (3, 4, 3, 2), (4,)], TRANSPOSED),
        ([(1, 3, 4, 5), (3, 4, 3, 2), (4,)], {**TRANSPOSED, "strides": (2, 3), "padding": (1, 0, 0, 1), "output_padding": (1, 2)}),
        ([(1, 4, 5, 4), (3, 2, 2, 4)], {**TRANSPOSED, "groups": 2, "strides": (2, 1), "layout": "NHWC", "kernel_layout": "HWIO", "use_bias": False}),
        ([(1, 2, 3, 3), (2, 4, 4, 4)], {"channels": 4, "kernel_size": 4, "strides": 2, "padding": 1, "use_bias": False}),
        ([(1, 2, 2, 3), (2, 4, 3, 2)], {**TRANSPOSED, "strides": (5, 4), "dilation": (2, 1), "use_bias": False}),
    ], grow=_grow("conv2d_transpose", 2, True)),
    "conv3d_transpose": Operator(_conv_transpose, [
        ([(1, 3, 2, 3, 4), (3, 4, 2, 1, 3), (4,)], {**CONV3D, "strides": (1, 2, 2), "padding": (1, 0, 1), "output_padding": (0, 1, 0)}),
    ], grow=_grow("conv3d_transpose", 3, True)),
    **{f"_conv{d}d": Operator(_conv, _of(d, (0, 1))) for d in (1, 2, 3)},
    **{f"_conv{d}d_grad": Operator(_conv_grad, [(shapes, {**attributes, "channels": 1}) for shapes, attributes in _of(d, (2, 0, 1))[:3]]) for d in (1, 2, 3)},
    **{f"_conv{d}d_data_grad": Operator(_conv_data_grad, _of(d, (2, 1, 0))) for d in (1, 2, 3)},
    **{f"_conv{d}d_weight_grad": Operator(_conv_weight_grad, _of(d, (2, 0))) for d in (1, 2, 3)},
    "_contrib_conv2d_NCHWc": Operator(_conv, [
        ([(2, 2, 7, 6, 4), (3, 2, 3, 2, 4, 2), (3, 2)], {**CONV, "layout": "NCHW4c", "kernel_layout": "OIHW4i2o", "out_layout": "NCHW2c"}),
        ([(1, 3, 7, 6), (2, 3, 3, 2, 3), (2, 3)], {**CONV, "layout": "NCHW", "kernel_layout": "OIHW3o", "out_layout": "NCHW3c", "strides": (2, 1)}),
        ([(1, 3, 8, 9, 2), (3, 1, 3, 2, 1, 2)],
         {**CONV, "groups": 6, "layout": "NCHW2c", "kernel_layout": "OIHW1i2o", "dilation": (2, 3), "padding": (0, 1, 2, 3), "use_bias": False}),
    ]),
}
