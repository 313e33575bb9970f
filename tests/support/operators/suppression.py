"""Non-maximum suppression of each class by itself."""

import numpy as np

from operators.row import Operator


def _share(a, b):
    """Of two boxes what both cover, in parts of what any of them covers."""
    (a_low, a_high), (b_low, b_high) = ((np.minimum(x[:2], x[2:]), np.maximum(x[:2], x[2:])) for x in (a.astype("float64"), b.astype("float64")))
    both = np.prod(np.maximum(np.minimum(a_high, b_high) - np.maximum(a_low, b_low), 0))
    return both / (np.prod(a_high - a_low) + np.prod(b_high - b_low) - both) if both > 0 else 0


def _suppressed(a, boxes, scores):
    rows = []
    for image, kind in np.ndindex(scores.shape[:2]):
        kept = []
        for box in sorted(range(scores.shape[2]), key=lambda k: -scores[image, kind, k]):
            full = 0 <= a.max_output_boxes_per_class <= len(kept)
            if full or not scores[image, kind, box] > np.asarray(a.score_threshold, scores.dtype):
                continue
            if all(not 0 < _share(boxes[image, box], boxes[image, other]) or _share(boxes[image, box], boxes[image, other]) <= a.iou_threshold for other in kept):
                kept.append(box)
        rows += [(image, kind, box) for box in kept]
    selected = np.full((scores.size, 3), -1, "int64")
    selected[: len(rows)] = np.reshape(rows, (-1, 3))
    return selected, np.asarray([len(rows)], "int64")


def _boxes(shape, seed, dtype):
    """Squares of 8 at whole places, whose shares are far from the thresholds; some by their other corners, some of no size."""
    random = np.random.default_rng(seed)
    low = random.integers(0, 24, (*shape[:2], 2))
    boxes = np.concatenate([low, low + np.where(random.random((*shape[:2], 1)) < 0.1, 0, 8)], 2)
    return np.asarray(np.where(random.random((*shape[:2], 1)) < 0.3, boxes[..., [2, 3, 0, 1]], boxes), dtype)


def _scores(shape, seed, dtype):
    """Different in each row, some equal."""
    return np.asarray(np.random.default_rng(seed).integers(0, 24, shape) / 32, dtype)


def _grow(network):
    boxes, scores = (network.given(sample((1, 5, 4) if sample is _boxes else (1, 2, 5), int(network._random.integers(1000)), "float32")) for sample in (_boxes, _scores))
    network.keep(*network.call_all("all_class_non_max_suppression", boxes, scores, iou_threshold=0.31, score_threshold=0.2))


OPERATORS = {
    "all_class_non_max_suppression": Operator(_suppressed, [
        ([(2, 17, 4), (2, 3, 17)], {"iou_threshold": 0.31, "score_threshold": 0.26}),
        ([(1, 40, 4), (1, 2, 40)], {"iou_threshold": 0.0, "score_threshold": 0.0, "max_output_boxes_per_class": 3}),
        ([(3, 5, 4), (3, 1, 5)], {}), ([(1, 6, 4), (1, 2, 6)], {"max_output_boxes_per_class": 0}),
        ([(1, 0, 4), (1, 2, 0)], {"iou_threshold": 0.5}), ([(2, 5, 4), (2, 0, 5)], {}),
    ], samples={0: _boxes, 1: _scores}, floating=True, gradient="ends", grow=_grow),
}
