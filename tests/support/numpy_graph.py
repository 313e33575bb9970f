"""Networks computed with NumPy, independently of the graph layer: what every way to build a network is compared with.

`run(symbol_or_graph, inputs)` gives the outputs. The table in operators/ says of each operator what it computes; what cannot be part of
an inference is in NOT_COMPUTED, with the reason.
"""

from __future__ import annotations

import functools

import numpy as np

import tilewright as tw
import tilewright.graph

from operators import OPERATORS
from operators.row import Attributes

NOT_COMPUTED = {"tvm_op": "a call of a kernel that GraphFuseCompile has built", "_assign": "writes to a variable",
                "_call_function": "a call of a function that a pass has made", "compiler_begin": "a mark, of code generators",
                "compiler_end": "a mark, of code generators"}


@functools.cache
def defaults() -> dict[str, dict]:
    """The attributes of each operator that a call may leave out, as texts."""
    return {op["name"]: {name: default for name, _, default, _ in op["attributes"] if default is not None}
            for op in tw.graph.operators()}


def compute(op: str, attributes: dict, arrays: list) -> list:
    """The outputs of one operator, whose attributes are texts."""
    found = OPERATORS[op].reference(Attributes(attributes, defaults().get(op, {})), *arrays)
    return list(found) if isinstance(found, (tuple, list)) else [np.asarray(found)]


def run_all(graph, inputs: dict) -> list[list]:
    """The outputs of each node of a graph; `inputs` are the values of all variables by name."""
    graph = graph if isinstance(graph, tw.graph.Graph) else tw.graph.create(graph)
    values: list[list] = []
    for node in graph.index.nodes:
        if node["op"] == "null":
            values.append([np.asarray(inputs[node["name"]])])
        else:
            values.append(compute(node["op"], node.get("attrs", {}), [values[k][output] for k, output, *_ in node["inputs"]]))
    return values


def run(graph, inputs: dict) -> list:
    """The outputs of a symbol or graph, from the values of its variables by name."""
    graph = graph if isinstance(graph, tw.graph.Graph) else tw.graph.create(graph)
    values = run_all(graph, inputs)
    return [values[node][output] for node, output, *_ in graph.index.output_entries]
