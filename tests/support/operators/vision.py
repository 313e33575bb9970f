"""Boxes and regions of images."""

import math

import numpy as np

from operators.row import Operator


def _wide(x):
    """Narrow floats are computed with as float32."""
    return x.astype("float32") if x.dtype.itemsize < 4 else x


def _rows(data, places):
    rows = np.full_like(data, -1)
    for b, j in zip(*np.nonzero(places >= 0)):
        rows[b, j] = data[b, places[b, j]]
    return rows


def _valid_counts(a, data):
    places = np.full(data.shape[:2], -1, "int32")
    counts = np.zeros(len(data), "int32")
    for b, image in enumerate(data):
        found = [j for j, box in enumerate(image)
                 if box[a.score_index] > np.asarray(a.score_threshold, data.dtype) and (a.id_index < 0 or box[a.id_index] >= 0)]
        counts[b] = len(found)
        places[b, : len(found)] = found
    return counts, _rows(data, places), places


def _overlap(a, b):
    (al, at, ar, ab), (bl, bt, br, bb) = ((*np.minimum(x[:2], x[2:]), *np.maximum(x[:2], x[2:])) for x in (a, b))
    both = max(0, min(ar, br) - max(al, bl)) * max(0, min(ab, bb) - max(at, bt))
    union = (ar - al) * (ab - at) + (br - bl) * (bb - bt) - both
    return both / union if union > 0 else 0


def _kept(a, image, valid):
    """The rows of an image: the box that stands there, or -1."""
    if a.iou_threshold <= 0:
        return list(range(valid))
    order = sorted(range(valid), key=lambda j: -image[j, a.score_index])
    order = order[: a.top_k] if a.top_k > 0 else order
    box = lambda j: image[j, a.coord_start : a.coord_start + 4].astype("float64")
    rows, winners = [], []
    for j in order:
        kind = None if a.id_index < 0 else image[j, a.id_index]
        if len(winners) == a.max_output_size:
            rows.append(-1)
        elif image[j, a.score_index] <= 0:
            rows.append(j)
        elif any((a.force_suppress or a.id_index < 0 or image[w, a.id_index] == kind) and (a.id_index < 0 or image[w, a.id_index] >= 0)
                 and _overlap(box(w), box(j)) >= a.iou_threshold for w in winners):
            rows.append(-1)
        else:
            rows.append(j)
            winners.append(j)
    return rows


def _nms_source(a, data, valid_count):
    places = np.full(data.shape[:2], -1, "int32")
    for b, image in enumerate(data):
        rows = _kept(a, image, min(max(valid_count[b], 0), len(image)))
        if a.invalid_to_bottom:
            rows = [j for j in rows if j >= 0]
        places[b, : len(rows)] = rows
    return places, (places >= 0).sum(1, keepdims=True).astype("int32")


class _Of:
    """Attributes of another operator."""

    def __init__(self, a, **others):
        self._a, self._others = a, others

    def __getattr__(self, name):
        return self._others[name] if name in self._others else getattr(self._a, name)


def _non_max_suppression(a, data, valid_count):
    if a.return_indices:
        return _nms_source(_Of(a, invalid_to_bottom=True), data, valid_count)
    return _rows(data, _nms_source(a, data, valid_count)[0])


def _nms(a, data, valid_count):
    same = dict(max_output_size=-1, coord_start=2, score_index=1, id_index=0, invalid_to_bottom=False, top_k=a.nms_topk, iou_threshold=a.nms_threshold)
    return _rows(data, _nms_source(_Of(a, **same), data, valid_count)[0])


def _boxes(shape, seed, dtype):
    """Class, score and a box each, some of which overlap; one score is not above 0, one class below 0."""
    random = np.random.default_rng(seed + 100)
    x = np.empty(shape)
    x[..., 0] = random.integers(1, 3, shape[:2])
    x[..., 1] = random.permuted(np.linspace(0.05, 0.95, shape[1])[None].repeat(shape[0], 0), axis=1)
    low = random.integers(0, 5, (*shape[:2], 2))
    x[..., 2:4], x[..., 4:6] = low / 8, (low + random.integers(1, 4, low.shape)) / 8
    x[..., 6:] = random.uniform(size=(*shape[:2], shape[2] - 6))
    if shape[1] > 3:
        x[0, 1, 1], x[0, 2, 0] = -0.5, -1
        x[0, 3, 2:6] = x[0, 0, 2:6]
    return x.astype(dtype)


def _counts(shape, seed, dtype):
    return np.asarray([7, 3, 0, 99][: shape[0]], "int32")


def _prior(a, data):
    rows, columns = data.shape[2:]
    sizes, ratios, steps, offsets = (a.ints(name) for name in ("sizes", "ratios", "steps", "offsets"))
    pairs = [(size, 1) for size in sizes] + [(sizes[0], math.sqrt(ratio)) for ratio in ratios[1:]]
    step_y, step_x = (s if s > 0 else 1 / e for s, e in zip(steps, (rows, columns)))
    boxes = []
    for y in range(rows):
        for x in range(columns):
            for size, root in pairs:
                cy, cx, h, w = (y + offsets[0]) * step_y, (x + offsets[1]) * step_x, size / root / 2, size * root * rows / columns / 2
                boxes.append([cx - w, cy - h, cx + w, cy + h])
    result = np.asarray(boxes, "float64").reshape(1, -1, 4)
    return (result.clip(0, 1) if a.clip else result).astype(data.dtype)


def _multibox_source(a, prob):
    places, kinds = np.full((len(prob), prob.shape[2]), -1, "int32"), np.full((len(prob), prob.shape[2]), -1, prob.dtype)
    for b, image in enumerate(prob):
        best = image[1:].argmax(0)
        found = [j for j in range(prob.shape[2]) if image[best[j] + 1, j] >= np.asarray(a.threshold, prob.dtype)]
        places[b, : len(found)], kinds[b, : len(found)] = found, best[found]
    return places, kinds, (places >= 0).sum(1).astype("int32")


def _multibox_transform_loc(a, prob, moves, anchor):
    places, kinds, counts = _multibox_source(a, prob)
    rows = np.full((*places.shape, 6), -1, "float64")
    moves = moves.reshape(len(prob), -1, 4).astype("float64") * a.ints("variances")
    low, high = anchor[0, :, :2].astype("float64"), anchor[0, :, 2:].astype("float64")
    for b, j in zip(*np.nonzero(places >= 0)):
        k = places[b, j]
        center = moves[b, k, :2] * (high[k] - low[k]) + (low[k] + high[k]) / 2
        half = np.exp(moves[b, k, 2:]) * (high[k] - low[k]) / 2
        sides = np.concatenate([center - half, center + half])
        rows[b, j] = [kinds[b, j], prob[b, 1:, k].max(), *(sides.clip(0, 1) if a.clip else sides)]
    return rows.astype(prob.dtype), counts


def _anchors(shape, seed, dtype):
    low = np.random.default_rng(seed).uniform(0, 0.5, (*shape[:2], 2))
    return np.concatenate([low, low + np.random.default_rng(seed + 1).uniform(0.1, 0.4, low.shape)], -1).astype(dtype)


def _reorg(a, x):
    """Darknet's reorg_cpu, loop by loop."""
    (n, c, h, w), s = x.shape, a.stride
    source, result = x.reshape(-1), np.empty(x.size, x.dtype)
    few = c // (s * s)
    for b, k, j, i in np.ndindex(n, c, h, w):
        down, right = divmod(k // few, s)
        from_ = i * s + right + w * s * (j * s + down + h * s * (k % few + few * b))
        result[i + w * (j + h * (k + c * b))] = source[from_]
    return result.reshape(n, c * s * s, h // s, w // s)


def _reorg_grad(a, g):
    """Where each element has come from."""
    (n, c, h, w), s = g.shape, a.stride
    x = np.arange(g.size).reshape(n, c // (s * s), h * s, w * s)
    result = np.empty(g.size, g.dtype)
    result[_reorg(a, x).reshape(-1)] = g.reshape(-1)
    return result.reshape(x.shape)


def _logistic(x):
    return 1 / (1 + np.exp(-x))


def _softmax(x):
    shares = np.exp(x - x.max(2, keepdims=True))
    return shares / shares.sum(2, keepdims=True)


def _region(a, x):
    y = x.reshape(len(x), a.num, -1, *x.shape[2:]).copy()
    y[:, :, :2] = _logistic(y[:, :, :2])
    classes = a.coords + (not a.background)
    if not a.background:
        y[:, :, a.coords] = _logistic(y[:, :, a.coords])
    if a.softmax and y.shape[2] > classes:
        y[:, :, classes:] = _softmax(y[:, :, classes:])
    return y.reshape(x.shape)


def _yolo(a, x):
    y = _logistic(x).reshape(len(x), a.num, -1, *x.shape[2:])
    y[:, :, 2:4] = x.reshape(y.shape)[:, :, 2:4]
    return y.reshape(x.shape)


def _regions(a, rois):
    return [(int(roi[0]), *(float(v) * a.spatial_scale for v in roi[1:])) for roi in rois]


def _parts(a, data, region):
    """Rows and columns of each part of a region, as ranges."""
    _, left, top, right, bottom = (region[0], *(math.floor(v + 0.5) for v in region[1:]))
    for (p, begin, end, parts, extent) in ((0, top, bottom, a.pair("pooled_size")[0], data.shape[2]), (1, left, right, a.pair("pooled_size")[1], data.shape[3])):
        size = max(end - begin + 1, 1) / parts
        yield [range(max(begin + math.floor(k * size + 1e-5), 0), min(begin + math.ceil((k + 1) * size - 1e-5), extent)) for k in range(parts)]


def _roi_pool_source(a, data, rois):
    result = np.full((len(rois), data.shape[1], *a.pair("pooled_size")), -1, "int32")
    places = np.arange(data.size).reshape(data.shape)
    for r, region in enumerate(_regions(a, rois)):
        if not 0 <= region[0] < len(data):
            continue
        rows, columns = _parts(a, data, region)
        for c, (p, ys), (q, xs) in ((c, y, x) for c in range(data.shape[1]) for y in enumerate(rows) for x in enumerate(columns)):
            within = [(y, x) for y in ys for x in xs]
            if within:
                result[r, c, p, q] = places[(region[0], c, *max(within, key=lambda at: data[(region[0], c, *at)]))]
    return result


def _roi_pool(a, data, rois):
    source = _roi_pool_source(a, data, rois)
    return np.where(source >= 0, data.reshape(-1)[np.maximum(source, 0)], 0).astype(data.dtype)


def _points(a, data_shape, rois, outside=False):
    """What each part of each region takes of the pixels: (region, row, column), (image, row, column), weight. With `outside`, points
    outside as well, of no pixel, and weights of a point are not shared with others."""
    height, width = data_shape[2:]
    shift = 0.5 if a.aligned else 0

    def corners(at, extent):
        at = max(at, 0)
        low = min(int(at), extent - 1)
        share = at - low if low < extent - 1 else 0
        return [(low, 1 - share), (min(low + 1, extent - 1), share)]

    for r, (image, *sides) in enumerate(_regions(a, rois)):
        if not 0 <= image < data_shape[0]:
            continue
        left, top, right, bottom = (side - shift for side in sides)
        least = -math.inf if a.aligned else 1
        h, w = (max(e, least) / p for e, p in zip((bottom - top, right - left), a.pair("pooled_size")))
        down, across = (a.sample_ratio if a.sample_ratio > 0 else max(math.ceil(e), 0) for e in (h, w))
        for p, q in np.ndindex(*a.pair("pooled_size")):
            for j, i in np.ndindex(down, across):
                y, x = top + p * h + (j + 0.5) * h / down, left + q * w + (i + 0.5) * w / across
                if -1 <= y <= height and -1 <= x <= width:
                    for (v, of_v) in corners(y, height):
                        for (u, of_u) in corners(x, width):
                            yield (r, p, q), (image, v, u), of_v * of_u / (1 if outside else down * across)
                elif outside:
                    yield (r, p, q), None, 0


def _roi_align_source(a, data, rois):
    """The pixel with the greatest product, the first of equals: its place and weight. Points outside count as zeros."""
    shape = (len(rois), data.shape[1], *a.pair("pooled_size"))
    places, weights, best = np.full(shape, -2, "int32"), np.zeros(shape, data.dtype), np.zeros(shape)

    def take(part, channel, value, place, weight):
        at = (part[0], channel, *part[1:])
        if places[at] == -2 or value > best[at]:
            places[at], weights[at], best[at] = place, weight, value

    for part, pixel, weight in _points(a, data.shape, rois, outside=True):
        for channel in range(data.shape[1]):
            if pixel is None:
                take(part, channel, 0, -1, 0)
            else:
                n, y, x = pixel
                place = np.ravel_multi_index((n, channel, y, x), data.shape)
                take(part, channel, weight * data[n, channel, y, x], place, weight)
    return np.maximum(places, -1), weights


def _roi_align(a, data, rois):
    if a.get("mode") == "max":
        places, weights = _roi_align_source(a, data, rois)
        return (data.ravel()[places] * weights).astype(data.dtype)  # at -1 the weight is 0
    result = np.zeros((len(rois), data.shape[1], *a.pair("pooled_size")))
    for (r, p, q), (n, y, x), weight in _points(a, data.shape, rois):
        result[r, :, p, q] += weight * data[n, :, y, x]
    return result.astype(data.dtype)


def _roi_align_grad(a, grad, rois, data):
    result = np.zeros(data.shape)
    for (r, p, q), (n, y, x), weight in _points(a, data.shape, rois):
        result[n, :, y, x] += weight * grad[r, :, p, q]
    return result.astype(data.dtype)


def _rois(shape, seed, dtype):
    """Of two images and of none; upside down, beyond the image, of one pixel. Integers where gradients are compared, since
    regions have none."""
    rois = np.asarray([[0, 0, 0, 8, 8], [1, 2, 1, 7, 12], [0, 5, 9, 3, 2], [7, 0, 0, 4, 4], [1, -6, -4, 30, 20], [0, 3, 3, 3, 3]])[: shape[0]]
    return rois.astype("int32") if dtype == "float64" else (rois + [0, 0.25, 0.75, 0, 0.5]).astype("float32")


def _grow_boxes(network):
    seed = int(network._random.integers(1000))
    data, counts = network.given(_boxes((2, 9, 6), seed, "float32")), network.given(_counts((2,), seed, "int32"))
    network.keep(*network.call_all("get_valid_counts", data, score_threshold=0.52)[1:2])
    network.keep(network.call("non_max_suppression", data, counts, iou_threshold=0.31), network.call("nms", data, counts, nms_threshold=0.31))


def _grow_anchors(network):
    prior = network.call("multibox_prior", network.pick_of_rank(4), **PRIOR)
    anchors = network.given(_anchors((1, 5, 4), int(network._random.integers(1000)), "float32"))
    found = network.call("multibox_transform_loc", network.variable((2, 4, 5)), network.variable((2, 20), -1, 1), anchors, threshold=0.5)
    network.keep(prior, found)


def _grow_regions(network):
    images = network.variable((2, 3, 9, 7))
    rois = network.given(_rois((5, 5), 0, "float32"))
    network.keep(network.call("roi_pool", images, rois, **REGIONS[0][1]), network.call("roi_align", images, rois, **ALIGNED[2][1]))


def _grow_darknet(network):
    x = network.variable((1, 16, 2, 2))
    network.keep(network.call("yolo_reorg", x, stride=2), *(network.call(op, x, num=2, classes=3) for op in ("yolo_region", "yolov3_yolo")))


def _of_any_class(attributes):
    """Boxes that move a little are of other classes."""
    return attributes.get("force_suppress") or attributes.get("id_index") == -1


REGIONS = [([(2, 3, 9, 7), (6, 5)], {"pooled_size": (2, 3), "spatial_scale": 1}), ([(2, 1, 9, 7), (5, 5)], {"pooled_size": 2, "spatial_scale": 0.5})]
ALIGNED = [*REGIONS, ([(2, 3, 9, 7), (6, 5)], {"pooled_size": (3, 2), "spatial_scale": 0.5, "sample_ratio": 2, "aligned": True})]
OF_BOXES = {0: _boxes, 1: _counts}
PRIOR = {"sizes": (0.5, 0.25), "ratios": (1, 2, 0.5)}
OPERATORS = {
    "get_valid_counts": Operator(_valid_counts, [([(2, 9, 6)], {"score_threshold": 0.52}), ([(1, 5, 7)], {"score_threshold": 0.1, "id_index": -1}), ([(2, 0, 6)], {})], samples={0: _boxes}, floating=True),
    "non_max_suppression": Operator(_non_max_suppression, [
        ([(3, 9, 6), (3,)], {"iou_threshold": 0.31}),
        ([(2, 40, 7), (2,)], {"iou_threshold": 0.46, "force_suppress": True, "invalid_to_bottom": True}),
        ([(2, 9, 6), (2,)], {"iou_threshold": 0.31, "max_output_size": 2, "id_index": -1}),
        ([(2, 9, 6), (2,)], {"iou_threshold": 0.31, "top_k": 4}),
        ([(4, 9, 6), (4,)], {"iou_threshold": 0}),
    ], samples=OF_BOXES, floating=True, smooth=_of_any_class, grow=_grow_boxes),
    "nms": Operator(_nms, [([(4, 9, 6), (4,)], {"nms_threshold": 0.31, "nms_topk": 6}), ([(2, 9, 6), (2,)], {"force_suppress": True})], samples=OF_BOXES, floating=True, smooth=_of_any_class),
    "_nms_source": Operator(_nms_source, [([(4, 20, 6), (4,)], {"iou_threshold": 0.31}), ([(2, 9, 6), (2,)], {"iou_threshold": 0.31, "invalid_to_bottom": True})], samples=OF_BOXES, floating=True, gradient="ends"),
    "multibox_prior": Operator(_prior, [([(1, 2, 3, 4)], {}), ([(2, 1, 4, 3)], {**PRIOR, "clip": True}), ([(1, 1, 1, 2)], {**PRIOR, "steps": (0.25, 0.5), "offsets": (0, 0.25)})], floating=True),
    "_multibox_source": Operator(_multibox_source, [([(2, 4, 7)], {"threshold": 2.5}), ([(1, 2, 3)], {})], floating=True, gradient="ends"),
    "multibox_transform_loc": Operator(_multibox_transform_loc, [
        ([(2, 4, 7), (2, 28), (1, 7, 4)], {"threshold": 2.5}),
        ([(1, 3, 5), (1, 20), (1, 5, 4)], {"clip": False, "variances": (0.5, 0.25, 0.125, 0.25)}),
    ], samples={2: _anchors}, floating=True, grow=_grow_anchors),
    "yolo_reorg": Operator(_reorg, [([(2, 8, 4, 6)], {"stride": 2}), ([(1, 9, 3, 3)], {"stride": 3}), ([(1, 3, 2, 2)], {})], grow=_grow_darknet),
    "_yolo_reorg_grad": Operator(_reorg_grad, [([(2, 32, 2, 3)], {"stride": 2}), ([(1, 81, 1, 1)], {"stride": 3})]),
    "yolo_region": Operator(_region, [
        ([(2, 16, 2, 3)], {"num": 2, "classes": 3}),
        ([(1, 14, 2, 2)], {"num": 2, "classes": 3, "coords": 3, "background": True}),
        ([(1, 7, 1, 1)], {"num": 1, "classes": 2, "softmax": False}),
        ([(1, 5, 1, 2)], {"num": 1, "classes": 0}),
    ], floating=True),
    "yolov3_yolo": Operator(_yolo, [([(2, 16, 2, 3)], {"num": 2, "classes": 3}), ([(1, 5, 1, 1)], {"num": 1, "classes": 0})], floating=True),
    "roi_pool": Operator(_roi_pool, REGIONS, samples={1: _rois}, floating=True),
    "_roi_pool_source": Operator(_roi_pool_source, REGIONS, samples={1: _rois}, floating=True, gradient="ends"),
    "roi_align": Operator(_roi_align, ALIGNED + [(shapes, {**attributes, "mode": "max"}) for shapes, attributes in ALIGNED], samples={1: _rois}, floating=True, grow=_grow_regions),
    "_roi_align_source": Operator(_roi_align_source, ALIGNED, samples={1: _rois}, floating=True, gradient="ends"),
    "_roi_align_grad": Operator(_roi_align_grad, [([(6, 3, 2, 3), (6, 5), (2, 3, 9, 7)], ALIGNED[0][1]), ([(6, 3, 3, 2), (6, 5), (2, 3, 9, 7)], ALIGNED[2][1])], samples={1: _rois}, floating=True),
}
