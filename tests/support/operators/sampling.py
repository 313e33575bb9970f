"""Images at positions that a tensor gives."""

import itertools
import math

import numpy as np

from operators.row import Operator


def _pixels(x, extent, corners):
    return (x + 1) / 2 * (extent - 1) if corners else ((x + 1) * extent - 1) / 2


def _mirrored(x, extent, corners):
    low, high = (0, extent - 1) if corners else (-0.5, extent - 0.5)
    if low == high:
        return 0.0
    while not low <= x <= high:
        x = 2 * low - x if x < low else 2 * high - x
    return x


def _brought_inside(x, extent, a):
    """A position, by the rule of what lies outside of the image."""
    if a.padding_mode == "reflection":
        x = _mirrored(x, extent, a.align_corners)
    return x if a.padding_mode == "zeros" else min(max(x, 0), extent - 1)


def _cubic(d, a=-0.75):
    d = abs(d)
    if d <= 1:
        return (a + 2) * d**3 - (a + 3) * d**2 + 1
    return a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a if d < 2 else 0.0


def _taps(x, extent, a):
    """Pixels along one dimension that a position reads, and their weights."""
    x = _pixels(x, extent, a.align_corners)
    if a.method == "nearest":
        taps = [(int(np.rint(_brought_inside(x, extent, a))), 1.0)]
    elif a.method == "bilinear":
        x = _brought_inside(x, extent, a)
        taps = [(math.floor(x) + k, 1 - abs(x - math.floor(x) - k)) for k in (0, 1)]
    else:
        taps = [(round(_brought_inside(math.floor(x) + k, extent, a)), _cubic(x - math.floor(x) - k)) for k in (-1, 0, 1, 2)]
    return [(pixel, weight) for pixel, weight in taps if 0 <= pixel < extent]


def _grid_sample(a, data, grid):
    result = np.zeros((*data.shape[:2], *grid.shape[2:]))
    for n, *place in np.ndindex(data.shape[0], *grid.shape[2:]):
        position = grid[(n, slice(None), *place)].astype("float64")[::-1]
        lines = [_taps(x, extent, a) for x, extent in zip(position, data.shape[2:], strict=True)]
        for taps in itertools.product(*lines):
            pixel, weight = tuple(p for p, _ in taps), math.prod(w for _, w in taps)
            result[(n, slice(None), *place)] += weight * data[(n, slice(None), *pixel)]
    return result.astype(data.dtype)


def _base(extents, corners):
    """For each pixel of an image of these extents its coordinates, those of the last dimension first, and 1."""
    lines = [np.linspace(-1, 1, e) if corners and e > 1 else (np.arange(e) * 2 + 1) / max(e, 1) - 1 for e in extents]
    coordinates = np.meshgrid(*lines, indexing="ij")[::-1]
    return np.stack([*coordinates, np.ones(extents)])


def _affine_grid(a, data):
    base = _base(a.ints("target_shape"), a.align_corners)
    return np.tensordot(data.astype("float64"), base, 1).astype(data.dtype)


def _affine_grid_grad(a, grad):
    base = _base(grad.shape[2:], a.align_corners)
    return np.stack([np.tensordot(g.astype("float64"), base, (range(1, g.ndim), range(1, g.ndim))) for g in grad] or
                    [np.zeros((grad.shape[1], grad.shape[1] + 1))])[: len(grad)].astype(grad.dtype)


def _positions(shape, seed, dtype):
    """Inside and outside of the image, in steps that no kernel rounds to the other side of a pixel's edge."""
    random = np.random.default_rng(seed)
    steps = random.integers(-12, 12, shape)
    return np.asarray((steps + 0.25 + 0.5 * random.uniform(size=shape)) / 8.0 if dtype == "float64" else (steps + 0.375) / 8, dtype)


def _matrices(shape, seed, dtype):
    return np.asarray(np.random.default_rng(seed).integers(-8, 9, shape) / 8, dtype)


SHAPES = {4: [(2, 3, 5, 4), (2, 2, 3, 7)], 5: [(1, 2, 3, 4, 5), (1, 3, 2, 3, 1)]}
CASES = [
    *(([SHAPES[4][0], SHAPES[4][1]], {"method": method, "padding_mode": padding, "align_corners": corners})
      for method in ("bilinear", "nearest", "bicubic") for padding in ("zeros", "border", "reflection") for corners in (True, False)),
    *((SHAPES[5], {"method": method, "padding_mode": padding, "align_corners": corners, "layout": "NCDHW"})
      for method, padding, corners in (("bilinear", "zeros", True), ("bilinear", "reflection", False), ("nearest", "border", False))),
    ([(1, 1, 1, 1), (1, 2, 2, 2)], {"padding_mode": "reflection"}),
    ([(1, 2, 1, 3), (1, 2, 1, 1)], {"method": "bicubic", "padding_mode": "reflection", "align_corners": False}),
]


def _grow(network):
    images, matrices = network.variable((2, 3, 5, 4)), network.variable((2, 2, 3), -1, 1)
    grid = network.call("affine_grid", matrices, target_shape=(3, 2), align_corners=network.chance(0.5))
    network.keep(network.call("grid_sample", images, grid, padding_mode=network.one_of(("zeros", "border", "reflection"))))


OPERATORS = {
    "grid_sample": Operator(_grid_sample, CASES, samples={1: _positions}, floating=True, grow=_grow),
    "affine_grid": Operator(_affine_grid, [
        ([(2, 2, 3)], {"target_shape": (3, 5)}), ([(1, 2, 3)], {"target_shape": (1, 2), "align_corners": False}),
        ([(2, 3, 4)], {"target_shape": (2, 1, 3)}), ([(1, 3, 4)], {"target_shape": (3, 2, 2), "align_corners": False}),
    ], samples={0: _matrices}, floating=True),
    "_affine_grid_grad": Operator(_affine_grid_grad, [
        ([(2, 2, 3, 5)], {"target_shape": (3, 5)}), ([(1, 3, 2, 1, 3)], {"target_shape": (2, 1, 3), "align_corners": False}),
    ], samples={0: _matrices}, floating=True),
}
