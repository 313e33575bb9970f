# SPDX-License-Identifier: Apache-2.0
"""Graphs of networks and passes over them. NNVM's `nnvm.graph`.

    graph = tw.graph.create(symbol)
    graph = graph.apply(["InferShape", "InferType"])
    print(graph.ir(), graph.json_attr("shape"))
"""

import json as _json
import logging as _logging
import time as _time
from typing import NamedTuple as _NamedTuple

from . import _core
from ._core import raise_error as _raise_error
from .graph_rewrite import Mutator, Node, Visitor
from .symbol import Symbol, _native

_log = _logging.getLogger(__name__)

__all__ = ["Graph", "GraphIndex", "Group", "Mutator", "Node", "Visitor", "compute", "create", "dtypes", "explain_fusion", "groups", "load_json", "operators", "passes", "register_pass"]


class GraphIndex:
    """Nodes and entries of a graph by number, inputs before those who read them.

    Attributes
    ----------
    nodes: list of dict
        Of each node `op` ("null": a variable), `name`, `inputs` as [node, output, version], and `attrs` if it has any.
    input_names: list of str
        The names of the variables, in order.
    output_entries: list of [node, output, version]
    entry_ptr: list of int
        The number of each node's first entry and, at the end, how many entries there are.
    """

    def __init__(self, graph):
        data = _json.loads(graph.apply("SaveJSON").json_attr("json"))
        self.nodes = data["nodes"]
        self.entry_ptr = data["node_row_ptr"]
        self.output_entries = data["heads"]
        self.input_names = [self.nodes[k]["name"] for k in data["arg_nodes"]]
        self._number = {node["name"]: k for k, node in enumerate(self.nodes)}
        # A call may have the name of an input, which is the one that is meant.
        self._number.update(zip(self.input_names, data["arg_nodes"], strict=True))

    @property
    def num_nodes(self):
        """How many nodes there are."""
        return len(self.nodes)

    @property
    def num_node_entries(self):
        """How many outputs all nodes have together."""
        return self.entry_ptr[-1]

    def node_id(self, key):
        """The number of a node, by name or as itself."""
        if isinstance(key, int):
            if not 0 <= key < self.num_nodes:
                _raise_error("bad-argument", f"the graph has no node {key}", legal=f"0 to {self.num_nodes - 1}")
            return key
        if key not in self._number:
            _raise_error("bad-argument", f"the graph has no node '{key}'", legal="a name of graph.index.nodes")
        return self._number[key]

    def entry_id(self, key, value_index=0):
        """The number of an entry, given by [node, output, …], by a node's number, or by a node's name."""
        if isinstance(key, (list, tuple)):
            key, value_index = key[0], key[1]
        node = self.node_id(key)
        first, behind = self.entry_ptr[node : node + 2]
        if not 0 <= value_index < behind - first:
            _raise_error("bad-argument", f"node {node} has no output {value_index}", legal=f"0 to {behind - first - 1}")
        return first + value_index


class Graph:
    """Outputs of a network, and attributes that passes found out, by name."""

    def __init__(self, native):
        self._native = native
        self._index = None

    def __repr__(self):
        return f"<Graph of {self.index.num_nodes} nodes>"

    @property
    def symbol(self):
        """The outputs as a symbol."""
        return Symbol(self._native.symbol())

    @property
    def index(self):
        """GraphIndex: the nodes by number."""
        if self._index is None:
            self._index = GraphIndex(self)
        return self._index

    def apply(self, passes):
        """The graph that a pass, or a list of them one after the other, makes of this one.

        Raises
        ------
        UserError (unknown-pass, pass-requirement, shape-conflict, …)
        """
        native = self._native
        for name in [passes] if isinstance(passes, str) else passes:
            start = _time.perf_counter()
            native = native.apply(name)
            _log.debug("applied %s in %.3g ms", name, (_time.perf_counter() - start) * 1e3)
        return Graph(native)

    def ir(self, join_entry_attrs=None, join_node_attrs=None):
        """The graph as text, a line a node.

        The names of graph attributes that run over entries or nodes may be given; their values stand behind each line.
        """
        text = self.apply("PrintGraphIR").json_attr("graphir")
        if not join_entry_attrs and not join_node_attrs:
            return text
        return _with_attributes(self, text, join_entry_attrs or [], join_node_attrs or [])

    def astext(self, show_meta_data=False):
        """The graph and its functions as functional text with types, as Relay prints them.

        What is not known of types follows from the variables' `shape` and `dtype`; `?` where it does not.

        Parameters
        ----------
        show_meta_data: bool
            Whether what the text calls `meta[...]` stands behind it.
        """
        return _core.graph_functional_text(self._native, show_meta_data)

    def functions(self):
        """dict of str to Graph: the bodies of the functions that nodes of this graph call, by the names of these nodes."""
        return {name: Graph(native) for name, native in _core.graph_functions(self._native)}

    def json(self):
        """The graph as JSON, for `load_json`."""
        return self.apply("SaveJSON").json_attr("json")

    def save_json(self, path):
        """Writes the graph to a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.json())

    def attr_keys(self):
        """The names of the graph's attributes."""
        return self._native.attribute_names()

    def json_attr(self, key):
        """The value of a graph attribute; None when there is none. Unknown shapes are None in a list."""
        text = self._native.attribute_json(key)
        return None if text is None else _json.loads(text)

    def _set_json_attr(self, key, value, type_name=None):
        """Sets a graph attribute: an int, str, or as `type_name` says list_int, list_str, list_shape."""
        kind = type_name or {int: "int", str: "str"}.get(type(value))
        if kind is None:
            _raise_error("bad-argument", f"graph attribute '{key}' without a type_name", legal="list_int, list_str, list_shape")
        self._native.set_attribute(key, kind, _json.dumps(value))

    def _set_symbol_list_attr(self, key, value):
        """Sets a graph attribute to a list of symbols, given as one symbol of all."""
        self._native.set_symbols(key, _native(value, f"graph attribute '{key}'"))


def _with_attributes(graph, text, of_entries, of_nodes):
    lines = []
    for line in text.split("\n"):
        number = line.strip().partition(" = ")[0]
        if line.startswith("  %") and number[1:].isdigit():
            node = int(number[1:])
            found = [(k, graph.json_attr(k)[graph.index.entry_id(node)]) for k in of_entries]
            found += [(k, graph.json_attr(k)[node]) for k in of_nodes]
            line += "  # " + ", ".join(f"{key}={value}" for key, value in found)
        lines.append(line)
    return "\n".join(lines)


def create(symbol):
    """Graph: of a symbol's outputs."""
    return Graph(_core.NativeGraph(_native(symbol, "what a graph is created of")))


def compute(symbol, variables):
    """The outputs of a symbol as computations of tensors: its te program, before any schedule.

    Parameters
    ----------
    symbol: Symbol
    variables: dict of str to te.Tensor
        What each of `symbol.list_input_names()` is.

    Returns
    -------
    list of te.Tensor: one for each output.

    Raises
    ------
    UserError (bad-argument)
        Where a variable has no tensor. Shapes and types that do not go together are the errors of topi.
    """
    return _core.graph_compute(_native(symbol, "what is computed"), variables)


def load_json(text):
    """A graph from what `Graph.json` gave, or NNVM.

    Raises
    ------
    UserError (bad-graph, unknown-operator, bad-attribute)
        With the node and what would be legal.
    """
    return Graph(_core.load_graph_json(text))


def dtypes():
    """dict of int to str: what the numbers of element types in graphs mean."""
    return _core.graph_dtypes()


def operators():
    """list of dict: name, aliases, doc, inputs, attributes and fusion pattern of each operator."""
    return _core.graph_operators()


def passes():
    """list of dict: `name`, the graph attributes that the pass `needs` and `gives`, and its `doc`."""
    return [dict(zip(("name", "needs", "gives", "doc"), row, strict=True)) for row in _core.graph_passes()]


class Group(_NamedTuple):
    """Nodes that become one kernel.

    Attributes
    ----------
    name: str
        Of its operators: `fuse_conv2d_relu`.
    nodes: list of int
        Numbers of its nodes, the root last.
    inputs: list of (node, output)
        What it reads of other groups and of variables.
    arguments: list of te.Tensor
        A placeholder for each input, then the outputs of the root: what `tw.build` and `autotune.make_task` take.
    is_view: bool
        Whether it only changes a shape, or joins or parts what lies so in memory: `compiler.build` has no kernel for it.
    """

    name: str
    nodes: list
    inputs: list
    arguments: list
    is_view: bool


def groups(graph, parameters=()):
    """list of Group: what GraphFusePartition found, as programs, in the order of their roots.

    Parameters
    ----------
    parameters: iterable of str
        Names of variables whose values do not change: their placeholders are constants, which schedules may have
        packed when the kernel is built.

    Raises
    ------
    UserError (pass-requirement, bad-graph)
        Where GraphFusePartition, InferShape or InferType was not applied; where a shape or type stays unknown.
    """
    return [Group(*row) for row in _core.graph_groups(graph._native, set(parameters))]


def explain_fusion(graph, first=None, second=None):
    """Why nodes were fused, or were not, as text. The graph is one that GraphFusePartition was applied to.

    Nodes that are one kernel are a group. Its *root* is the last of them, whose output is stored. Its *master* is the
    node whose loops the kernel has, a convolution or a reduction, and None where the root's own loops will do.

    Parameters
    ----------
    first, second: str, optional
        Names of two nodes: whether they are one kernel, and if not what stands between them. Without them: a line for
        each node.

    Raises
    ------
    UserError (pass-requirement)
        Where the graph is not partitioned.
    """
    roots, masters, reasons = (graph.json_attr(key) for key in ("group_root", "group_master", "fusion_reason"))
    if roots is None:
        _raise_error("pass-requirement", "the graph is not partitioned", legal="apply GraphFusePartition first")
    nodes = graph.index.nodes

    def why(node):
        end = roots[node]
        reason = reasons[end] or "nothing that follows takes it"
        return f"'{nodes[end]['name']}' is stored: {reason}"

    if first is None:
        lines = []
        for k, node in enumerate(nodes):
            if node["op"] == "null":
                continue
            master = "None" if masters[k] < 0 else nodes[masters[k]]["name"]
            lines.append(f"{node['name']}: root {nodes[roots[k]]['name']}, master {master}; {reasons[k] or 'it is the end'}")
        return "\n".join(lines)
    a, b = sorted((graph.index.node_id(first), graph.index.node_id(second)))
    names = f"'{nodes[a]['name']}' and '{nodes[b]['name']}'"
    if roots[a] == roots[b]:
        return f"{names} are one kernel, whose root is '{nodes[roots[a]]['name']}'"
    return f"{names} are two kernels, since {why(a)}"


def _names(names):
    return names.split() if isinstance(names, str) else list(names)


def register_pass(name, needs=(), gives=()):
    """Makes a function from Graph to Graph a pass that `Graph.apply` knows by name.

        @tw.graph.register_pass("DropDropout")
        def drop(graph): ...

    Its docstring is the pass's. What it returns is verified: that it is a graph, has the attributes that it `gives`, and
    that shapes it leaves in the attribute `shape` are those that follow from the inputs'.

    Parameters
    ----------
    name: str
    needs, gives: str or iterable of str
        Graph attributes.

    Raises
    ------
    UserError (type-mismatch, pass-requirement, bad-graph, shape-conflict)
        By `Graph.apply`, where that does not hold.
    """

    def register(function):
        def run(native):
            result = function(Graph(native))
            if not isinstance(result, Graph):
                _raise_error("type-mismatch", f"the pass {name} returned a {type(result).__name__}", legal="a Graph")
            return result._native

        _core.register_graph_pass(name, run, _names(needs), _names(gives), (function.__doc__ or "").strip())
        return function

    return register
