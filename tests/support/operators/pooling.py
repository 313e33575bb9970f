"""Pooling and what else makes images of images."""

import itertools
import math

import numpy as np

from operators.arrays import least, relayout
from operators.row import Operator
from operators.windows import border_of, grown_images, grown_windows, natural, steps


def _windows(a, extents):
    """Of each spatial dimension: for each window the elements that it covers, and how many a mean is over."""
    spatial, sliding = len(extents), a.get("pool_size", ()) != ()
    count = (1,) * spatial if a.get("output_size", ()) == () else steps(a.ints("output_size"), spatial)
    if not sliding:
        yield from ([(range(w * e // n, -(-(w + 1) * e // n)), None) for w in range(n)] for e, n in zip(extents, count, strict=True))
        return
    geometry = (steps(a.ints(name), spatial) for name in ("pool_size", "strides", "dilation"))
    for e, k, s, d, (before, after) in zip(extents, *geometry, border_of(a.ints("padding"), spatial), strict=True):
        room = e + before + after - (k - 1) * d - 1
        windows = []
        for w in range((room + (s - 1 if a.ceil_mode else 0)) // s + 1):
            taps = [w * s - before + t * d for t in range(k)]
            if w * s > room and a.ceil_rule == "pytorch" and taps[0] >= e:
                continue
            inside = [t for t in taps if 0 <= t < e]
            include = a.get("count_include_pad", False)
            windows.append((inside, len([t for t in taps if t < e + after]) if include else None))
        yield windows


def _cells(a, extents):
    """For each window: its place in the result, the elements of [:, :, ...] in it, and how many a mean is over."""
    windows = list(_windows(a, extents))
    for place in itertools.product(*(range(len(w)) for w in windows)):
        chosen = [w[p] for w, p in zip(windows, place, strict=True)]
        count = math.prod(len(inside) if counted is None else counted for inside, counted in chosen)
        yield (slice(None), slice(None), *place), (slice(None), slice(None), *np.ix_(*(list(inside) for inside, _ in chosen))), count


def _pooled(of_window):
    """of_window(elements [n, c, taps], count, a)"""

    def compute(a, x):
        images = relayout(x, a.layout, natural(a.layout))
        result = np.zeros((*images.shape[:2], *(len(w) for w in _windows(a, images.shape[2:]))), x.dtype)
        for place, elements, count in _cells(a, images.shape[2:]):
            taken = images[elements]
            result[place] = of_window(taken.reshape(*images.shape[:2], math.prod(taken.shape[2:])), count, a)
        return relayout(result, natural(a.layout), a.layout)

    return compute


def _greatest(x, count, a):
    return x.max(2, initial=least(x.dtype))


def _mean(x, count, a):
    return x.astype("float64").sum(2) / max(count, 1)


def _norm(x, count, a):
    return (np.abs(x.astype("float64")) ** a.p).sum(2) ** (1 / a.p)


def greatest_places(a, images):
    """For each image and window with elements: the window, and the first place of its greatest."""
    for place, elements, _ in _cells(a, images.shape[2:]):
        covered = list(itertools.product(*(index.ravel() for index in elements[2:])))
        for n, c in np.ndindex(*images.shape[:2]) if covered else ():
            yield (n, c, *place[2:]), (n, c, *max(covered, key=lambda at: images[(n, c, *at)]))


def _max_grad(a, grad, data):
    grad, data = (relayout(x, a.layout, natural(a.layout)) for x in (grad, data))
    result = np.zeros_like(data)
    for window, place in greatest_places(a, data):
        result[place] += grad[window]
    return relayout(result, natural(a.layout), a.layout)


def _max_select(a, values, data):
    values, data = (relayout(x, a.layout, natural(a.layout)) for x in (values, data))
    result = np.zeros((*data.shape[:2], *(len(w) for w in _windows(a, data.shape[2:]))), data.dtype)
    for window, place in greatest_places(a, data):
        result[window] = values[place]
    return relayout(result, natural(a.layout), a.layout)


def _spread(share):
    """Each window's gradient, divided by share(count), to the elements of the window."""

    def compute(a, grad, data):
        grad, data = (relayout(x, a.layout, natural(a.layout)) for x in (grad, data))
        result = np.zeros(data.shape)
        for place, elements, count in _cells(a, data.shape[2:]):
            result[elements] += grad[place].reshape(*grad.shape[:2], *(1,) * (grad.ndim - 2)) / share(count)
        return relayout(result.astype(data.dtype), natural(a.layout), a.layout)

    return compute


UP = {"pool_size": (3, 2), "strides": (2, 3), "padding": (1, 0, 1, 1), "ceil_mode": True}
LAST = {"pool_size": (2, 3), "strides": (1, 2), "padding": (1, 2, 0, 1), "layout": "NHWC"}
# Attributes of what slides, and the shapes of data and result. One has windows without elements: a maximum is minus infinity there.
WINDOWS = [
    ({"pool_size": 3, "strides": 2, "padding": (1, 0)}, (2, 3, 8), (2, 3, 4)),
    ({"pool_size": 2, "strides": 2, "dilation": 3, "layout": "NWC"}, (1, 9, 2), (1, 3, 2)),
    (UP, (1, 2, 7, 6), (1, 2, 4, 3)),
    (LAST, (2, 6, 6, 2), (2, 6, 4, 2)),
    ({"pool_size": (2, 3), "strides": (1, 2), "dilation": (3, 2), "padding": (0, 1)}, (1, 2, 6, 7), (1, 2, 3, 3)),
    ({"pool_size": 2, "strides": 3, "padding": (0, 1), "ceil_mode": True, "ceil_rule": "pytorch"}, (1, 1, 6, 6), (1, 1, 2, 3)),
    ({"pool_size": (2, 1, 3), "strides": (1, 2, 2), "padding": (1, 0, 1)}, (1, 2, 3, 5, 4), (1, 2, 4, 3, 2)),
]
# The same of those that cover images.
COVERED = [
    ({"output_size": 3}, (2, 2, 7), (2, 2, 3)),
    ({"output_size": (3, 2)}, (1, 2, 7, 6), (1, 2, 3, 2)),
    ({"output_size": 5, "layout": "NHWC"}, (1, 3, 4, 2), (1, 5, 5, 2)),
    ({"output_size": (1, 2, 3)}, (1, 2, 3, 4, 4), (1, 2, 1, 2, 3)),
]
IMAGES = {1: (2, 3, 5), 2: (2, 3, 5, 4), 3: (1, 2, 3, 1, 4)}
LAST_CHANNELS = {1: "NWC", 2: "HWCN", 3: "NDHWC"}


def _of(spatial, table, *inputs):
    return [([shapes[k] for k in inputs], attributes) for attributes, *shapes in table if len(shapes[0]) == spatial + 2]


def _including(cases):
    """With padding counted too."""
    return cases + [(shapes, {**attributes, "count_include_pad": True}) for shapes, attributes in cases if "padding" in attributes]


def _global(spatial):
    return [([IMAGES[spatial]], {}), ([IMAGES[spatial]], {"layout": LAST_CHANNELS[spatial]})]


def _all(spatial, *inputs):
    whole = [IMAGES[spatial], (*IMAGES[spatial][:2], *(1,) * spatial)]
    return _of(spatial, WINDOWS, *inputs) + _of(spatial, COVERED, *inputs) + [([whole[k] for k in inputs], {})]


def _grow(op, spatial):
    def grow(network):
        x, layout, extents = grown_images(network, spatial)
        attributes = {"layout": layout}
        if op.startswith("adaptive"):
            attributes["output_size"] = tuple(network.one_of([n for n in (1, 2, 3) if n <= extents[letter]]) for letter in natural(layout)[2:])
        elif not op.startswith("global"):
            attributes["pool_size"], windows = grown_windows(network, layout, extents)
            attributes |= windows | {"ceil_mode": network.chance(0.3)}
        if op.startswith("lp_pool"):
            attributes["p"] = network.one_of((1, 2, 3))
            x = network.positive(x)  # a norm has no slope at 0
        network.keep(network.call(op, x, **attributes))

    return grow


def _family(d):
    rows = _rows(d)
    for name, row in rows.items():
        if not name.startswith("_"):
            row.grow = _grow(name, d)
    return rows


def _rows(d):
    return {
        f"max_pool{d}d": Operator(_pooled(_greatest), _of(d, WINDOWS, 0), smooth=lambda attributes: attributes is not UP),
        f"avg_pool{d}d": Operator(_pooled(_mean), _including(_of(d, WINDOWS, 0)), floating=True),
        f"lp_pool{d}d": Operator(_pooled(_norm), [(shapes, {**attributes, "p": p}) for p, (shapes, attributes) in zip((2, 1, 3, 2), _of(d, WINDOWS, 0), strict=False)],
                                 floating=True),
        f"_sum_pool{d}d": Operator(_pooled(lambda x, count, a: x.sum(2)), _of(d, WINDOWS, 0)),
        f"global_max_pool{d}d": Operator(_pooled(_greatest), _global(d)),
        f"global_avg_pool{d}d": Operator(_pooled(_mean), _global(d), floating=True),
        f"adaptive_max_pool{d}d": Operator(_pooled(_greatest), _of(d, COVERED, 0)),
        f"adaptive_avg_pool{d}d": Operator(_pooled(_mean), _of(d, COVERED, 0), floating=True),
        f"_max_pool{d}d_grad": Operator(_max_grad, _all(d, 1, 0)),
        f"_avg_pool{d}d_grad": Operator(_spread(lambda count: max(count, 1)), _including(_all(d, 1, 0)), floating=True),
        f"_sum_pool{d}d_grad": Operator(_spread(lambda count: 1), _of(d, WINDOWS, 1, 0)),
        f"_max_pool{d}d_select": Operator(_max_select, _all(d, 0, 0)),
    }


OPERATORS = {
    **_family(1), **_family(2), **_family(3),
}
