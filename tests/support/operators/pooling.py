"""Pooling and what else makes images of images."""

import itertools

import numpy as np

from operators.arrays import least, relayout
from operators.row import Operator
from operators.windows import border_of, padded_by, taps_of


def _pooled(of_windows):
    """An operator that slides windows: of_windows(images, border, rest, taps, a), where `rest` is added below and at the
    right so that all windows lie inside."""

    def compute(a, x):
        x = relayout(x, a.layout, "NCHW")
        kernel, stride, border = a.pair("pool_size"), a.pair("strides"), border_of(a.ints("padding"))
        whole = [e + border[k] + border[k + 2] for k, e in enumerate(x.shape[2:])]
        up = [s - 1 if a.ceil_mode else 0 for s in stride]
        positions = [(e - k + u) // s + 1 for e, k, s, u in zip(whole, kernel, stride, up, strict=True)]
        rest = (0, 0, *(max(0, (p - 1) * s + k - e) for p, s, k, e in zip(positions, stride, kernel, whole, strict=True)))
        taps = [at for _, at in taps_of(kernel, stride, (1, 1), positions)]
        return relayout(of_windows(a, x, border, rest, taps).astype(x.dtype), "NCHW", a.layout)

    return compute


def _max_of_windows(a, x, border, rest, taps):
    nothing = least(x.dtype)
    x = padded_by(padded_by(x, border, nothing), rest, nothing)
    return np.max([x[at] for at in taps], 0)


def _mean_of_windows(a, x, border, rest, taps):
    inside = np.ones((1, 1, *x.shape[2:]))
    counted = padded_by(padded_by(inside, border, 1.0 if a.count_include_pad else 0.0), rest)
    x = padded_by(padded_by(x, border), rest)
    return sum(x[at].astype("float64") for at in taps) / np.maximum(sum(counted[at] for at in taps), 1)


def _windows(a, images):
    """Of a pooling: for each window (row, column) the rows and columns of the images that it covers. A pool_size of () is one
    window over all."""
    h, w = images.shape[2:]
    kernel = a.pair("pool_size") if a.ints("pool_size") else (h, w)
    stride = a.pair("strides") if a.ints("pool_size") else (1, 1)
    border = border_of(a.ints("padding"))
    for extent, k, s, before, after in zip((h, w), kernel, stride, border[:2], border[2:], strict=True):
        room = extent + before + after - k + (s - 1 if a.ceil_mode else 0)
        yield [(p * s - before, p * s - before + k, before, after, extent) for p in range(room // s + 1)]


def _inside(window):
    first, end, _, _, extent = window
    return range(max(first, 0), min(end, extent))


def _greatest_places(a, images):
    """For each image and window with elements, the first place of its greatest."""
    rows, columns = _windows(a, images)
    for (i, row), (j, column) in itertools.product(enumerate(rows), enumerate(columns)):
        covered = [(y, x) for y in _inside(row) for x in _inside(column)]
        for n, c in np.ndindex(*images.shape[:2]) if covered else ():
            y, x = max(covered, key=lambda at: images[n, c, at[0], at[1]])
            yield (n, c, i, j), (n, c, y, x)


def _max_pool2d_grad(a, grad, data):
    grad, data = relayout(grad, a.layout, "NCHW"), relayout(data, a.layout, "NCHW")
    result = np.zeros_like(data)
    for window, place in _greatest_places(a, data):
        result[place] += grad[window]
    return relayout(result, "NCHW", a.layout)


def _max_pool2d_select(a, values, data):
    values, data = relayout(values, a.layout, "NCHW"), relayout(data, a.layout, "NCHW")
    result = np.zeros((*data.shape[:2], *map(len, _windows(a, data))), data.dtype)
    for window, place in _greatest_places(a, data):
        result[window] = values[place]
    return relayout(result, "NCHW", a.layout)


def _avg_pool2d_grad(a, grad, data):
    grad, data = relayout(grad, a.layout, "NCHW"), relayout(data, a.layout, "NCHW")
    result = np.zeros(data.shape)
    rows, columns = _windows(a, data)
    for (i, row), (j, column) in itertools.product(enumerate(rows), enumerate(columns)):
        count = 1
        for window in (row, column):
            first, end, before, after, extent = window
            count *= min(end, extent + after) - max(first, -before) if a.count_include_pad else len(_inside(window))
        for y, x in itertools.product(_inside(row), _inside(column)):
            result[:, :, y, x] += grad[:, :, i, j] / max(count, 1)
    return relayout(result.astype(data.dtype), "NCHW", a.layout)


def _over_images(function):
    def compute(a, x):
        return relayout(function(relayout(x, a.layout, "NCHW"), axis=(2, 3), keepdims=True), "NCHW", a.layout)

    return compute


def _upsampling(a, x):
    return relayout(relayout(x, a.layout, "NCHW").repeat(a.scale, 2).repeat(a.scale, 3), "NCHW", a.layout)


MAX_WINDOWS = {"pool_size": (3, 2), "strides": (2, 3), "padding": (1, 0, 1, 1), "ceil_mode": True}
MEAN_WINDOWS = {"pool_size": (2, 3), "strides": (1, 2), "padding": (1, 2, 0, 1)}


def _gradient_cases(windows):
    return [([(1, 2, 4, 3), (1, 2, 7, 6)], windows), ([(2, 6, 4, 2), (2, 6, 6, 2)], {**MEAN_WINDOWS, "layout": "NHWC"}),
            ([(2, 3, 1, 1), (2, 3, 5, 4)], {})]


OPERATORS = {
    "max_pool2d": Operator(_pooled(_max_of_windows), [([(2, 6, 6, 2)], {**MEAN_WINDOWS, "layout": "NHWC"}), ([(1, 2, 7, 6)], {"pool_size": (3, 2), "strides": (2, 3), "padding": (1, 0, 1, 1), "ceil_mode": True})],
                           smooth=lambda attributes: not attributes.get("ceil_mode")),  # windows without elements are minus infinity
    "avg_pool2d": Operator(_pooled(_mean_of_windows), [
        ([(1, 2, 7, 6)], {"pool_size": (3, 2), "strides": (2, 3), "padding": (1, 0, 1, 1), "ceil_mode": include, "count_include_pad": include})
        for include in (False, True)
    ], floating=True),
    "global_max_pool2d": Operator(_over_images(np.max), [([(2, 3, 5, 4)], {}), ([(2, 3, 5, 4)], {"layout": "NHWC"})]),
    "global_avg_pool2d": Operator(_over_images(np.mean), [([(2, 3, 5, 4)], {}), ([(2, 3, 5, 4)], {"layout": "HWCN"})], floating=True),
    "_max_pool2d_grad": Operator(_max_pool2d_grad, _gradient_cases(MAX_WINDOWS)),
    "_avg_pool2d_grad": Operator(_avg_pool2d_grad, _gradient_cases({**MAX_WINDOWS, "count_include_pad": True}), floating=True),
    "_max_pool2d_select": Operator(_max_pool2d_select, [([(1, 2, 7, 6)] * 2, MAX_WINDOWS), ([(2, 6, 6, 2)] * 2, {**MEAN_WINDOWS, "layout": "NHWC"}), ([(2, 3, 5, 4)] * 2, {})]),
    "upsampling": Operator(_upsampling, [([(1, 2, 3, 5)], {"scale": 2}), ([(1, 2, 3, 5)], {"scale": 3, "layout": "NHWC"})]),
}
