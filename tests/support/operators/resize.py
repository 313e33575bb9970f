"""Images of another size. References are matrices: each spatial dimension is multiplied by one."""

import numpy as np

from operators.arrays import relayout
from operators.row import Operator
from operators.windows import grown_images, natural, steps


def _position(i, size, extent, scale, mode, begin, end):
    if mode == "half_pixel" or (mode == "pytorch_half_pixel" and size > 1):
        return (i + 0.5) / scale - 0.5
    if mode == "half_pixel_symmetric":
        return extent / 2 * (1 - size / (scale * extent)) + (i + 0.5) / scale - 0.5
    if mode == "align_corners":
        return i * (extent - 1) / (scale * extent - 1) if size > 1 else 0.0
    if mode == "asymmetric":
        return i / scale
    if mode == "tf_half_pixel_for_nn":
        return (i + 0.5) / scale
    if mode == "tf_crop_and_resize":
        return (begin + i * (end - begin) / (size - 1) if size > 1 else (begin + end) / 2) * (extent - 1)
    return 0.0


ROUNDED = {"round": lambda x: np.ceil(x - 0.5), "round_prefer_floor": lambda x: np.ceil(x - 0.5),
           "round_prefer_ceil": lambda x: np.floor(x + 0.5), "floor": np.floor, "ceil": np.ceil}


def _filter(x, method, alpha):
    x = abs(x)
    if method == "linear":
        return max(0.0, 1 - x)
    if x <= 1:
        return (alpha + 2) * x**3 - (alpha + 3) * x**2 + 1
    return alpha * (x**3 - 5 * x**2 + 8 * x - 4) if x < 2 else 0.0


def _matrix(extent, size, how, d, spatial):
    """(size, extent), and what is added to each element of the result."""
    scale = how["scales"][d] if how["scales"] else size / extent
    begin, end = (how["roi"][d], how["roi"][d + spatial]) if how["roi"] else (0, 0)
    matrix, added = np.zeros((size, extent)), np.zeros(size)
    for i in range(size):
        x = _position(i, size, extent, scale, how["mode"], begin, end)
        if how["mode"] == "tf_crop_and_resize" and not 0 <= x <= extent - 1:
            added[i] = how["value"]
            continue
        if how["method"] == "nearest_neighbor":
            matrix[i, int(np.clip(ROUNDED[how["rounding"]](x), 0, extent - 1))] = 1
            continue
        stretch = min(scale, 1.0) if how["antialias"] else 1.0
        weights = {j: _filter((j - x) * stretch, how["method"], how["alpha"])
                   for j in range(int(np.floor(x - 3 / stretch)), int(np.ceil(x + 3 / stretch)) + 1)}
        if how["exclude"]:
            weights = {j: w for j, w in weights.items() if 0 <= j < extent}
        total = sum(weights.values())
        for j, w in weights.items():
            matrix[i, min(max(j, 0), extent - 1)] += w / total
    return matrix, added


def _how(a):
    numbers = {name: tuple(map(float, a.ints(name))) for name in ("scales", "roi")}
    return {"method": a.method, "mode": a.coordinate_transformation_mode, "rounding": a.rounding_method, "alpha": a.cubic_alpha,
            "exclude": a.cubic_exclude, "antialias": a.antialias, "value": a.extrapolation_value, **numbers}


def _nnvm_how(a):
    return {"method": "nearest_neighbor" if a.method == "NEAREST_NEIGHBOR" else "linear", "mode": "align_corners" if a.align_corners else "asymmetric",
            "rounding": "round" if a.align_corners else "floor", "alpha": 0, "exclude": False, "antialias": False, "value": 0, "scales": (), "roi": ()}


def _nearest(x):
    """Halves away from zero."""
    return np.trunc(x + np.copysign(0.5, x))


def _sized(a, x, size, how):
    images = relayout(x, a.layout, natural(a.layout)).astype("float64")
    for d, extent in enumerate(size):
        matrix, added = _matrix(images.shape[d + 2], extent, how, d, len(size))
        images = np.moveaxis(np.moveaxis(images, d + 2, -1) @ matrix.T + added, -1, d + 2)
    return relayout(images if x.dtype.kind == "f" else _nearest(images), natural(a.layout), a.layout).astype(x.dtype)


def _extents(a, x):
    return relayout(x, a.layout, natural(a.layout)).shape[2:]


def _spread(a, grad, data):
    images, extents = relayout(grad, a.layout, natural(a.layout)).astype("float64"), _extents(a, data)
    for d, extent in enumerate(extents):
        matrix, _ = _matrix(extent, images.shape[d + 2], _how(a), d, len(extents))
        images = np.moveaxis(np.moveaxis(images, d + 2, -1) @ matrix, -1, d + 2)
    return relayout(images if grad.dtype.kind == "f" else _nearest(images), natural(a.layout), a.layout).astype(grad.dtype)


def _upsampling(a, x):
    size = [e * a.scale for e in _extents(a, x)]
    if a.method != "NEAREST_NEIGHBOR":
        return _sized(a, x, size, _nnvm_how(a))
    images = relayout(x, a.layout, natural(a.layout))
    for d in range(2, images.ndim):
        images = images.repeat(a.scale, d)
    return relayout(images, natural(a.layout), a.layout)


def _resize(a, x):
    return _sized(a, x, steps(a.ints("size"), len(_extents(a, x))), _how(a))


# Attributes, and shapes of data and result. Weights of integers are multiples of 1/64, so that sums and roundings are exact.
HOW = [
    ({"method": "nearest_neighbor"}, (2, 3, 8), (2, 3, 20)),
    ({"method": "nearest_neighbor", "rounding_method": "round_prefer_ceil", "coordinate_transformation_mode": "align_corners", "layout": "NWC"}, (2, 7, 3), (2, 4, 3)),
    ({"coordinate_transformation_mode": "pytorch_half_pixel"}, (1, 2, 5), (1, 2, 1)),
    ({"method": "cubic", "coordinate_transformation_mode": "asymmetric"}, (1, 2, 4), (1, 2, 8)),
    ({}, (1, 2, 4, 3), (1, 2, 8, 12)),
    ({"layout": "NHWC"}, (2, 8, 6, 3), (2, 4, 3, 3)),
    ({"method": "cubic", "cubic_exclude": True, "coordinate_transformation_mode": "align_corners"}, (1, 1, 5, 5), (1, 1, 9, 3)),
    ({"antialias": True}, (1, 2, 8, 4), (1, 2, 4, 8)),
    ({"method": "cubic", "antialias": True, "cubic_alpha": -0.75}, (1, 1, 8, 3), (1, 1, 4, 3)),
    ({"coordinate_transformation_mode": "tf_crop_and_resize", "roi": (0.25, -0.5, 0.75, 1.5), "extrapolation_value": 2}, (1, 2, 5, 5), (1, 2, 3, 5)),
    ({"coordinate_transformation_mode": "half_pixel_symmetric", "scales": (0.5, 0.5), "method": "nearest_neighbor"}, (1, 1, 5, 7), (1, 1, 2, 3)),
    ({"coordinate_transformation_mode": "align_corners", "scales": (0.625, 0.75)}, (1, 1, 4, 6), (1, 1, 2, 4)),
    ({"method": "nearest_neighbor", "rounding_method": "ceil", "coordinate_transformation_mode": "asymmetric"}, (1, 2, 2, 3), (1, 2, 7, 7)),
    ({"method": "nearest_neighbor", "rounding_method": "floor", "coordinate_transformation_mode": "tf_half_pixel_for_nn"}, (1, 2, 3, 3, 3), (1, 2, 4, 2, 6)),
    ({"coordinate_transformation_mode": "align_corners"}, (1, 1, 2, 3, 3), (1, 1, 3, 5, 2)),
]


def _of(spatial, sized):
    """What resizes; with `sized` the attribute size says to what, else the second input does."""
    cases = []
    for attributes, data, result in HOW:
        layout = attributes.get("layout", "")
        if len(data) == spatial + 2:
            size = tuple(e for e, letter in zip(result, layout or natural("DHW"[3 - spatial:]), strict=True) if letter not in "NC")
            cases.append(([data], {**attributes, "size": size}) if sized else ([data, result], attributes))
    return cases


def _turned(cases):
    return [([result, data], attributes) for (data, result), attributes in cases]


def _grow(op, spatial):
    def grow(network):
        x, layout, extents = grown_images(network, spatial)
        if op.startswith("upsampling"):
            attributes = {"scale": network.one_of((1, 2, 3)), "method": network.one_of(("NEAREST_NEIGHBOR", "TRILINEAR" if spatial == 3 else "BILINEAR"))}
        else:
            attributes = {"size": tuple(network.one_of((extents[letter], 2, 5)) for letter in natural(layout)[2:])}
        if op.endswith("d") and not op.startswith("upsampling"):
            attributes["method"] = network.one_of(("nearest_neighbor", "linear", "cubic"))
        network.keep(network.call(op, x, layout=layout, **attributes))

    return grow


OPERATORS = {
    "resize": Operator(lambda a, x: _sized(a, x, steps(a.ints("size"), 2), _nnvm_how(a)), [
        ([(1, 2, 4, 3)], {"size": (8, 12)}), ([(1, 5, 3, 2)], {"size": (3, 2), "align_corners": True, "layout": "NHWC"}),
        ([(1, 2, 4, 3)], {"size": (5, 6), "method": "NEAREST_NEIGHBOR"}),
        ([(1, 2, 4, 3)], {"size": (7, 5), "method": "NEAREST_NEIGHBOR", "align_corners": True})], grow=_grow("resize", 2)),
    "upsampling": Operator(_upsampling, [([(1, 2, 3, 5)], {"scale": 2}), ([(1, 2, 3, 5)], {"scale": 3, "layout": "NHWC"}),
                                         ([(1, 2, 3, 2)], {"scale": 2, "method": "BILINEAR"}),
                                         ([(1, 2, 2, 3)], {"scale": 2, "method": "BILINEAR", "align_corners": True, "layout": "NHWC"})], grow=_grow("upsampling", 2)),
    "upsampling3d": Operator(_upsampling, [([(1, 2, 3, 2, 1)], {"scale": 2}), ([(1, 2, 1, 3, 2)], {"scale": 2, "method": "TRILINEAR", "layout": "NDHWC"})],
                             grow=_grow("upsampling3d", 3)),
    **{f"resize{d}d": Operator(_resize, _of(d, True), grow=_grow(f"resize{d}d", d)) for d in (1, 2, 3)},
    **{f"_resize{d}d_like": Operator(lambda a, x, like: _sized(a, x, _extents(a, like), _how(a)), _of(d, False)) for d in (1, 2, 3)},
    **{f"_resize{d}d_grad": Operator(_spread, _turned(_of(d, False))) for d in (1, 2, 3)},
}
