"""What tests know of an operator: a row of a family's table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

import tilewright as tw
import tilewright.graph

import attribute_values


@dataclass
class Operator:
    """`reference(attributes, *arrays)` is what it computes, an array or a tuple of them, written without a look at the operator.
    `cases` are shapes of inputs, and attributes, odd and small."""

    reference: Callable
    cases: list[tuple[list[tuple], dict]] = field(default_factory=list)
    # By number of the input: sample(shape, seed, dtype), where not any numbers between 1/4 and 4 do.
    samples: dict[int, Callable] = field(default_factory=dict)
    # Whether it is refused for integers.
    floating: bool = False
    # "slope"; "ends" where none flows back; "decided" where it is not the slope; "source" without inputs.
    gradient: str = "slope"
    # smooth(attributes): whether cases with these have slopes everywhere.
    smooth: Callable = lambda attributes: True
    # needs(*arrays): whether it is continuous and not steep there, so that rounding before it does no harm.
    needs: Callable | None = None
    # grow(network): adds it to a random network (random_graph.Network).
    grow: Callable | None = None


class Attributes(attribute_values.Attributes):
    """The attributes of a node, or what they are where it does not name them."""

    def __init__(self, texts: dict, defaults: dict):
        super().__init__({**defaults, **texts})

    def get(self, name, default=None):
        return getattr(self, name) if name in self._texts else default

    def element_type(self, name):
        value = getattr(self, name)
        return np.dtype(tw.graph.dtypes()[value] if isinstance(value, int) else value)
