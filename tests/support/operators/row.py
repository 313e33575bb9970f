"""What tests know of an operator: a row of a family's table."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

import tilewright as tw
import tilewright.graph


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


class Attributes:
    """The attributes of a node as values: `a.axis`."""

    def __init__(self, texts: dict, defaults: dict):
        self._texts = {**defaults, **texts}

    def __getattr__(self, name):
        if name not in self._texts:
            raise AttributeError(name)
        text = str(self._texts[name])
        if text in ("true", "false"):
            return text == "true"
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError):
            return text

    def get(self, name, default=None):
        return getattr(self, name) if name in self._texts else default

    def ints(self, name) -> tuple:
        value = getattr(self, name)
        return tuple(value) if isinstance(value, (tuple, list)) else (value,)

    def pair(self, name) -> tuple:
        values = self.ints(name)
        return values if len(values) == 2 else values * 2

    def element_type(self, name):
        value = getattr(self, name)
        return np.dtype(tw.graph.dtypes()[value] if isinstance(value, int) else value)
