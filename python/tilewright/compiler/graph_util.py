# SPDX-License-Identifier: Apache-2.0
"""Gradients and inference of graphs. NNVM's `nnvm.compiler.graph_util`."""

from .. import graph as _graph
from ..symbol import Group, Symbol
from .._core import raise_error as _raise_error
from . import arguments as _arguments, graph_attr as _graph_attr


def _symbol(value):
    """A symbol; several as a group."""
    if isinstance(value, Symbol):
        return value
    if hasattr(value, "symbol"):
        return value.symbol
    if not isinstance(value, (list, tuple)):
        _raise_error("type-mismatch", f"a {type(value).__name__}", legal="a Symbol, a Graph, or a list of them")
    return Group([_symbol(v) for v in value])


def _graph_with_inputs(value, named):
    """The graph of a symbol or graph, which has inputs of these names."""
    graph = value if isinstance(value, _graph.Graph) else _graph.create(_symbol(value))
    _arguments.require_inputs(graph, named)
    return graph


def get_gradient_graph(ys, xs, grad_ys=None):
    """Graph: its outputs are the gradients of the sum of `ys` with respect to each of `xs`.

    Parameters
    ----------
    ys, xs: Symbol, Graph, or a list of them
    grad_ys: Symbol or list of Symbol, optional
        The gradients of `ys`, by default ones.

    Raises
    ------
    UserError (no-gradient)
        Where a node between `xs` and `ys` calls an operator without a gradient; it is named.
    """
    graph = _graph.create(_symbol(ys))
    graph._set_symbol_list_attr("grad_ys", _symbol(ys))
    graph._set_symbol_list_attr("grad_xs", _symbol(xs))
    if grad_ys is not None:
        graph._set_symbol_list_attr("grad_ys_out_grad", _symbol(grad_ys))
    return graph.apply("Gradient")


def gradients(ys, xs, grad_ys=None):
    """list of Symbol: the gradients of the sum of `ys` with respect to each of `xs`; see get_gradient_graph."""
    return list(get_gradient_graph(ys, xs, grad_ys).symbol)


def _inferred(graph, attribute, infer, by_name):
    graph = graph.apply(infer)
    found = graph.json_attr(attribute)
    index = graph.index
    values = [found[index.entry_id(name)] for name in by_name], [found[index.entry_id(e)] for e in index.output_entries]
    return values


def infer_shape(graph, **shape):
    """Shapes of the inputs and of the outputs, from those of some inputs by name; None where one stays unknown."""
    graph = _graph_with_inputs(graph, shape)
    _graph_attr.set_shape_inputs(graph, shape)
    return _inferred(graph, "shape", "InferShape", graph.index.input_names)


def infer_dtype(graph, **dtype):
    """Element types of the inputs and of the outputs, by name, from those of some inputs by name."""
    graph = _graph_with_inputs(graph, dtype)
    _graph_attr.set_dtype_inputs(graph, dtype)
    names = _graph.dtypes()
    found = _inferred(graph, "dtype", "InferType", graph.index.input_names)
    return tuple([names.get(number) for number in numbers_found] for numbers_found in found)


def check_graph_equal(grapha, graphb, compare_variable_attrs=False):
    """Refuses graphs that are not the same: operators, names, inputs and attributes of all nodes, and the outputs.

    Parameters
    ----------
    grapha, graphb: Graph
    compare_variable_attrs: bool
        Whether attributes of variables, as shape and dtype, count.

    Raises
    ------
    ValueError
        With the first difference, as NNVM's.
    """

    def of(graph):
        nodes = [
            {**node, "attrs": node.get("attrs", {}) if compare_variable_attrs or node["op"] != "null" else {}}
            for node in graph.index.nodes]
        return nodes, graph.index.output_entries

    (nodes_a, outputs_a), (nodes_b, outputs_b) = of(grapha), of(graphb)
    for k, (a, b) in enumerate(zip(nodes_a, nodes_b)):
        if a != b:
            raise ValueError(f"node {k} is {a} in one graph and {b} in the other")
    if len(nodes_a) != len(nodes_b):
        raise ValueError(f"one graph has {len(nodes_a)} nodes, the other {len(nodes_b)}")
    if outputs_a != outputs_b:
        raise ValueError(f"the outputs are {outputs_a} in one graph and {outputs_b} in the other")
