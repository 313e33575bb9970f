"""Of what references and cases of operators are made."""

from __future__ import annotations

import math
import re

import numpy as np

# Shapes that a function of elements is tried on, and pairs of them that broadcast.
SHAPES = [(), (1,), (3, 5), (2, 1, 7, 3)]
PAIRS = [((), ()), ((3, 1), (1, 5)), ((7,), (2, 3, 7)), ((2, 3, 1, 5), (3, 1, 1)), ((1,), ())]
OF_ONE = [([shape], {}) for shape in SHAPES]
OF_TWO = [([shape] * 2, {}) for shape in SHAPES]
OF_PAIRS = [(list(pair), {}) for pair in PAIRS]


def _dimensions(layout: str) -> list[tuple[str, int]]:
    """NCHW16c: N, C, H, W with block 0, and c with block 16."""
    return [(letter, int(block or 0)) for block, letter in re.findall(r"(\d*)([A-Za-z])", layout)]


def relayout(x, source: str, target: str):
    """The elements of x, whose dimensions are those of a layout, in another; c of 16c counts within blocks of C."""
    if source == target:
        return x
    dimensions = _dimensions(source)
    whole = [letter for letter, block in dimensions if not block]
    order, extents = [], []
    for letter in whole:
        parts = [k for k, (name, _) in enumerate(dimensions) if name == letter]
        parts += [k for k, (name, _) in enumerate(dimensions) if name == letter.lower()]
        order += parts
        extents.append(math.prod(x.shape[k] for k in parts))
    x = x.transpose(order).reshape(extents)

    dimensions = _dimensions(target)
    blocks = {letter.upper(): block for letter, block in dimensions if block}
    names, extents = [], []
    for letter, extent in zip(whole, x.shape, strict=True):
        block = blocks.get(letter, 1)
        names += [letter] + [letter.lower()] * (letter in blocks)
        extents += [extent // block] + [block] * (letter in blocks)
    return x.reshape(extents).transpose([names.index(letter) for letter, _ in dimensions])


def along(values, axis, rank):
    """A vector that stands along a dimension of a tensor of that rank; of rank 2, with its blocks along the last."""
    aligned = [1] * rank
    aligned[axis] = values.shape[0]
    if values.ndim == 2:
        aligned[-1] = values.shape[1]
    return values.reshape(aligned)


def named(a, rank):
    named = {axis % rank for axis in a.ints("axis")} or set(range(rank))
    return tuple(k for k in range(rank) if (k in named) != a.exclude)


def least(dtype):
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def greatest(dtype):
    return np.inf if dtype.kind == "f" else np.iinfo(dtype).max


def number(value, type_):
    """A number of an attribute in an element type: integers take it towards zero, up to their limits."""
    if type_.kind in "iu":
        limits = np.iinfo(type_)
        value = min(max(int(value), limits.min), limits.max)
    return np.asarray(value, type_)


def of_elements(function):
    """Of arrays alone; the type of the result is that of the first."""
    return lambda a, *arrays: np.asarray(function(*arrays)).astype(arrays[0].dtype)


def total(*arrays):
    return sum(arrays[1:], arrays[0])
