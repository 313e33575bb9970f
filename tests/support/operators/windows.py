"""Windows that slide over images."""

import itertools

import numpy as np


def border_of(values: tuple) -> tuple:
    """(top, left, bottom, right) of one, two or four numbers."""
    return values if len(values) == 4 else values * (4 // len(values))


def taps_of(kernel, stride, dilation, positions):
    """For each element of a kernel: where it is, and the elements of [..., h, w] that it meets."""
    for tap in itertools.product(*map(range, kernel)):
        first = [t * d for t, d in zip(tap, dilation, strict=True)]
        yield tap, (..., *(slice(f, f + (p - 1) * s + 1, s) for f, p, s in zip(first, positions, stride, strict=True)))


def padded_by(x, border, value=0):
    top, left, bottom, right = border
    return np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=value)
