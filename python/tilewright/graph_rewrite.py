# SPDX-License-Identifier: Apache-2.0
"""What passes in Python are written with: walks over a graph's nodes, and graphs in which some are replaced.

    class FuseSquares(tw.graph.Mutator):
        def visit_elemwise_mul(self, node):
            if node.input_entries[0] == node.input_entries[1]:
                return sym.__pow_scalar__(node.inputs[0], scalar=2, name=node.name)

    @tw.graph.register_pass("FuseSquares")
    def fuse_squares(graph):
        return FuseSquares().run(graph)
"""

from . import _core
from ._core import raise_error as _raise_error
from .symbol import Symbol, _native

__all__ = ["Mutator", "Node", "Visitor"]


class Node:
    """A node as a visitor sees it.

    Attributes
    ----------
    number: int
        Its place in `Graph.index.nodes`.
    op: str
        The operator's name; "null": a variable.
    name: str
    attrs: dict of str to str
    inputs: list of Symbol
        One for each input; where a Mutator has replaced what is read, what stands in its place.
    outputs: list of Symbol
        The node itself on these inputs, one for each output.
    input_entries: list of [node, output, version]
        What it reads of the graph that is walked over: what graph attributes are looked up with.
    """

    __slots__ = ("number", "op", "name", "attrs", "inputs", "outputs", "input_entries")

    def __init__(self, number, op, name, attrs, inputs, outputs, input_entries):
        self.number, self.op, self.name, self.attrs = number, op, name, attrs
        self.inputs = [Symbol(s) for s in inputs]
        self.outputs = [Symbol(s) for s in outputs]
        self.input_entries = input_entries

    def __repr__(self):
        return f"<Node {self.name}: {self.op}>"


class Visitor:
    """Sees each node of a graph once, inputs before those who read them.

    Of a node of operator `conv2d` the method `visit_conv2d(node)` is called; without one, and for operators whose names
    are not Python's, `generic_visit(node)`. Variables are those of the operator "null": `visit_null`.

    Attributes
    ----------
    graph: Graph
        The one that is walked over, while `run` is.
    """

    def run(self, graph):
        """Visits the nodes of a graph. Returns the visitor, which may have learned something."""
        self._start(graph)

        def see(*facts):
            self._see(*facts)  # replaces nothing, whatever it returns

        _core.rewrite_graph(graph._native, see)
        return self

    def generic_visit(self, node):
        """What is done with nodes whose operator has no method: nothing."""

    def value(self, key, entry):
        """The value that a graph attribute over entries, such as "shape", has for an entry.

        Parameters
        ----------
        key: str
        entry: Node or [node, output, …]
            A node: its first output.

        Raises
        ------
        UserError (pass-requirement)
            Where the graph has no such attribute.
        """
        if key not in self._values:
            self._values[key] = self.graph.json_attr(key)
        if self._values[key] is None:
            _raise_error("pass-requirement", f"the visitor asks for the graph attribute '{key}'", legal="a pass that gives it, applied first")
        return self._values[key][self.graph.index.entry_id(entry.number if isinstance(entry, Node) else entry)]

    def _start(self, graph):
        self.graph, self._values = graph, {}

    def _see(self, *facts):
        node = Node(*facts)
        return getattr(self, f"visit_{node.op}", self.generic_visit)(node)


class Mutator(Visitor):
    """A visitor whose methods return what shall stand in a node's place: a Symbol, or None, which leaves the node.

    Outputs that a symbol does not give stay the node's own.
    """

    def run(self, graph):
        """Graph: with nodes replaced. Attributes over its nodes and entries are gone, since they would not hold; what is
        known of the variables' shapes and types is kept as `shape_inputs` and `dtype_inputs`, for InferShape and InferType.
        """
        from .graph import Graph

        self._start(graph)

        def replace(*facts):
            by = self._see(*facts)
            return None if by is None else _native(by, f"what stands in the place of '{facts[2]}'")

        return Graph(_core.rewrite_graph(graph._native, replace))
