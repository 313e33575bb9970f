"""Convolutions of small integers with zero points."""

import numpy as np

from operators.quantization import integers
from operators.row import Operator
from operators.windows import border_of, steps


def _sums(a, data, weight, around):
    """Of products, in int64; `around` stands around images."""
    spatial = weight.ndim - 2
    kernel, stride, dilation = (steps(a.ints(name), spatial) for name in ("kernel_size", "strides", "dilation"))
    data = np.pad(data.astype("int64"), [(0, 0), (0, 0), *border_of(a.ints("padding"), spatial)], constant_values=around)
    each = weight.shape[0] // a.groups
    result = []
    for channel, of_channel in enumerate(weight.astype("int64")):
        first = channel // each * weight.shape[1]
        images = data[:, first : first + weight.shape[1]]
        windows = np.lib.stride_tricks.sliding_window_view(images, [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)],
                                                           axis=tuple(range(2, 2 + spatial)))
        windows = windows[(..., *(slice(None, None, s) for s in stride), *(slice(None, None, d) for d in dilation))]
        axes = (1, *range(2 + spatial, 2 + 2 * spatial))
        result.append(np.tensordot(windows, of_channel, (axes, range(1 + spatial))))
    return np.stack(result, 1)


def _products(a, data, weight, around=None):
    return _sums(a, data, weight, 0 if around is None else around.reshape(())).astype("int32")


def _conv(a, data, weight, *points):
    points = list(points)
    z = points.pop(0).astype("int64").reshape(()) if a.use_data_zero_point else 0
    w = points.pop(0).astype("int64") if a.use_weight_zero_point else np.zeros(1, "int64")
    return _sums(a, data.astype("int64") - z, weight.astype("int64") - w.reshape(-1, *[1] * (weight.ndim - 1)), 0).astype("int32")


def _cases(spatial):
    image, kernel, wide = ((9, 8, 7)[:spatial], (3, 2, 2)[:spatial], (2, 1, 1)[:spatial])
    none = {"use_data_zero_point": False, "use_weight_zero_point": False}
    return [
        ([(2, 4, *image), (6, 4, *kernel), (), (6,)], {"channels": 6, "kernel_size": kernel, "padding": 1}),
        ([(2, 4, *image), (6, 2, *kernel), (1,), ()], {"channels": 6, "kernel_size": kernel, "padding": wide, "groups": 2, "strides": wide}),
        ([(1, 3, *image), (3, 1, *kernel), (3,)], {"channels": 3, "kernel_size": kernel, "groups": 3, "use_data_zero_point": False}),
        ([(1, 5, *image), (7, 5, *kernel)], {"channels": 7, "kernel_size": kernel, "dilation": wide, **none}),
    ]


def _cases_of_products(spatial):
    cases = [(shapes[:3] if attributes.get("use_data_zero_point", True) else shapes[:2], dict(attributes)) for shapes, attributes in _cases(spatial)]
    for _, attributes in cases:
        attributes.pop("use_weight_zero_point", None)
    return cases


def _point(shape, seed, _="float32"):
    """Of the type of the data where it is one number, else of the weight."""
    return integers("uint8" if len(shape) == 0 or shape == (1,) else "int8")(shape, seed)


_SAMPLES = {0: integers("uint8"), 1: integers("int8"), 2: _point, 3: integers("int8")}


def _grow(spatial):
    def grow(network):
        x = network.pick_of_rank(spatial + 2)
        scale = network.call("full", shape=(1,), fill_value=1.5)
        kernel = network.variable((3, x.shape[1], *(1,) * spatial), param=True)
        p, q = (network.call("quantize", v, scale, use_zero_point=False) for v in (x, kernel))
        sums = network.call(f"conv{spatial}d_integer", p, q, channels=3, kernel_size=(1,) * spatial, use_data_zero_point=False, use_weight_zero_point=False)
        network.keep(network.call("dequantize", sums, scale, use_zero_point=False))

    return grow


OPERATORS = {
    **{f"conv{n}d_integer": Operator(_conv, _cases(n), samples=_SAMPLES, gradient="ends", grow=_grow(n)) for n in (1, 2, 3)},
    **{f"_conv{n}d_integer_products": Operator(_products, _cases_of_products(n), samples=_SAMPLES, gradient="ends") for n in (1, 2, 3)},
}
