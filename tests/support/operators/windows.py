"""Windows that slide over images of one, two or three spatial dimensions."""

import itertools

import numpy as np


def natural(layout: str) -> str:
    """NCHW of NHWC or NCHW16c."""
    return "NC" + "".join(letter for letter in "DHW" if letter in layout)


def natural_kernel(layout: str) -> str:
    return "OI" + natural(layout)[2:]


def steps(values: tuple, spatial: int) -> tuple:
    """One number for all spatial dimensions, or one each."""
    return values if len(values) == spatial else values * spatial


def border_of(values: tuple, spatial: int) -> list[tuple]:
    """(before, after) of each dimension, of one number, one each, or those before and then those after."""
    values = values if len(values) == 2 * spatial else steps(values, spatial) * 2
    return list(zip(values[:spatial], values[spatial:], strict=True))


def taps_of(kernel, stride, dilation, positions):
    """For each element of a kernel: where it is, and the elements of [..., h, w] that it meets."""
    for tap in itertools.product(*map(range, kernel)):
        first = [t * d for t, d in zip(tap, dilation, strict=True)]
        yield tap, (..., *(slice(f, f + (p - 1) * s + 1, s) for f, p, s in zip(first, positions, stride, strict=True)))


def padded_by(x, border, value=0):
    return np.pad(x, [(0, 0), (0, 0), *border], constant_values=value)


def grown_images(network, spatial: int):
    """A value of a random network with so many spatial dimensions, its layout, and its extents by letter."""
    layout = network.layout if spatial == 2 else natural("DHW"[3 - spatial:])
    x = network.pick_images() if spatial == 2 else network.pick_of_rank(spatial + 2)
    return x, layout, dict(zip(layout, x.shape, strict=True))


def grown_windows(network, layout: str, extents: dict, transposed: bool = False) -> tuple[tuple, dict]:
    """Extents of a kernel, and strides, padding and dilation that fit."""
    letters = natural(layout)[2:]
    kernel = tuple(network.one_of([k for k in (1, 2, 3) if transposed or k <= extents[letter]]) for letter in letters)
    strides = tuple(network.one_of((1, 1, 2, 3)) for _ in letters)
    if transposed:
        return kernel, {"strides": strides, "padding": tuple(int(k == 3) for k in kernel)}
    spread = all(2 * k - 1 <= extents[letter] for k, letter in zip(kernel, letters, strict=True)) and network.chance(0.2)
    padding = tuple(k // 2 for k in kernel) if network.chance(0.5) else (0,) * len(letters)
    return kernel, {"strides": strides, "padding": padding, "dilation": (2 if spread else 1,) * len(letters)}
