# SPDX-License-Identifier: Apache-2.0
"""Patterns of networks. TVM's `relay.dataflow_pattern`.

    x = wildcard()
    conv = is_op("nn.conv2d")(x, is_constant())
    block = is_op("nn.relu")(conv.optional(lambda c: is_op("add")(c, is_constant())))
    block.match(symbol)

Operators have the names of functional text (`Graph.astext`) or those of `tilewright.symbol`; operands of additions,
multiplications, maxima and minima match in either order. A pattern that occurs twice inside another matches one value
both times.
"""

from . import _core
from . import graph as _graph
from ._core import raise_error as _raise_error
from .symbol import Symbol, _native, _text

__all__ = ["DFPattern", "DFPatternCallback", "Match", "dominates", "explain", "has_attr", "has_dtype", "has_shape", "is_constant",
           "is_op", "is_tuple_get_item", "is_var", "rewrite", "wildcard"]


class DFPattern:
    """What values of networks may be."""

    def __init__(self, native):
        self._native = native

    def __repr__(self):
        return f"<DFPattern {self._native}>"

    def __call__(self, *args):
        """Of `is_op`: with inputs that match these patterns. Without a call any inputs will do."""
        return DFPattern(self._native.call([_pattern(a) for a in args]))

    def __or__(self, other):
        """This, else the other."""
        return DFPattern(_core.pattern_either(self._native, _pattern(other)))

    def __add__(self, other):
        return is_op("add")(self, other)

    def __sub__(self, other):
        return is_op("subtract")(self, other)

    def __mul__(self, other):
        return is_op("multiply")(self, other)

    def __truediv__(self, other):
        return is_op("divide")(self, other)

    def optional(self, option_constructor):
        """What `option_constructor` makes of this pattern, else this pattern alone."""
        return option_constructor(self) | self

    def has_attr(self, attrs):
        """With these attributes (dict)."""
        return DFPattern(_core.pattern_has_attr(self._native, {key: _text(value) for key, value in attrs.items()}))

    def has_dtype(self, dtype):
        """Of this element type."""
        return DFPattern(_core.pattern_has_dtype(self._native, dtype))

    def has_shape(self, shape):
        """Of this shape; None is any extent."""
        return DFPattern(_core.pattern_has_shape(self._native, [-1 if extent is None else extent for extent in shape]))

    def dominates(self, child, path=None):
        """What matches `child` and depends on nothing but one value that matches this pattern, through `path`."""
        return dominates(self, child, path)

    def named(self, name):
        """A copy whose match is `Match.captures[name]`."""
        return DFPattern(_core.pattern_named(self._native, name))

    def match(self, graph):
        """Match or None: of the first output of a graph or symbol.

        The graph's `shape`, `dtype` and `param_name_list`, the names of constants, are what `has_shape`, `has_dtype` and
        `is_constant` look at.
        """
        found = _core.match_pattern(self._native, _as_graph(graph)._native)
        return None if found is None else Match(*found)

    def rewrite(self, callback, graph):
        """As `rewrite`."""
        return rewrite(self, callback, graph)


class Match:
    """What a pattern matched.

    Attributes
    ----------
    root: Symbol
    captures: dict of str to Symbol
        Of the parts that have names.
    """

    def __init__(self, root, captures, shapes=None, dtypes=None):
        self.root = Symbol(root)
        self.captures = {name: Symbol(s) for name, s in captures.items()}
        self._shapes, self._dtypes = shapes or {}, dtypes or {}

    def __getitem__(self, name):
        """Symbol: a capture."""
        if name not in self.captures:
            _raise_error("bad-argument", f"the match has no capture '{name}'", legal=", ".join(self.captures) or "none: give parts names")
        return self.captures[name]

    def attrs(self, name):
        """dict of str to str: the attributes of a captured call."""
        return self[name].list_attr()

    def shape(self, name=None):
        """tuple of int: of a capture, or the root; None where it is not known."""
        return self._shapes.get(name or "")

    def dtype(self, name=None):
        """str: of a capture, or the root; None where it is not known."""
        return self._dtypes.get(name or "")


class DFPatternCallback:
    """A rewriting as a class: `self.pattern`, and `callback(match)`, which returns a Symbol or None."""

    pattern = None

    def rewrite(self, graph):
        """As the function `rewrite`."""
        return rewrite(self.pattern, self.callback, graph)

    def callback(self, match):
        """What stands in the place of a match."""
        raise NotImplementedError


def _pattern(pattern):
    if isinstance(pattern, DFPattern):
        return pattern._native
    _raise_error("type-mismatch", f"a pattern: {type(pattern).__name__}", legal="a DFPattern")


def _as_graph(graph):
    return graph if isinstance(graph, _graph.Graph) else _graph.create(graph)


def wildcard():
    """Anything."""
    return DFPattern(_core.pattern_wildcard())


def is_var(name=""):
    """A variable, of that name if one is given."""
    return DFPattern(_core.pattern_is_var(name))


def is_constant():
    """A variable whose value is known: one of the graph's `param_name_list`."""
    return DFPattern(_core.pattern_is_constant())


def is_op(op):
    """A call of an operator.

    Raises
    ------
    UserError (unknown-operator)
    """
    return DFPattern(_core.pattern_is_op(op))


def is_tuple_get_item(tuple_value, index):
    """Output `index` of a call that matches."""
    return DFPattern(_core.pattern_output(_pattern(tuple_value), index))


def has_attr(attrs):
    """Anything with these attributes."""
    return wildcard().has_attr(attrs)


def has_dtype(dtype):
    """Anything of this element type."""
    return wildcard().has_dtype(dtype)


def has_shape(shape):
    """Anything of this shape."""
    return wildcard().has_shape(shape)


def dominates(parent, child, path=None):
    """What matches `child` where every way from it to variables leads through one value that matches `parent`, and until
    there through values that match `path` (anything)."""
    return DFPattern(_core.pattern_dominates(_pattern(parent), _pattern(child), _pattern(path or wildcard())))


def explain(pattern, graph):
    """str: where a pattern came nearest to a match in a graph, and the first difference there; "it matches" where it does."""
    found = _core.nearest_pattern_match(_pattern(pattern), _as_graph(graph)._native)
    if found is None:
        return "it matches"
    at, matched, difference = found
    return f"nearest at '{at}', where {matched} parts match; {difference}"


def rewrite(pattern, callback, graph):
    """A graph with its matches replaced.

    Parameters
    ----------
    pattern: DFPattern
    callback: function from Match to Symbol or None
        What stands in the place of the match; None leaves it.
    graph: Graph or Symbol
        Matches of one node are not tried twice, and values inside of a match must not be read by others.

    Returns
    -------
    Graph
    """

    def replace(*facts):
        by = callback(Match(*facts))
        return None if by is None else _native(by, "what stands in the place of a match")

    return _graph.Graph(_core.rewrite_pattern(_pattern(pattern), replace, _as_graph(graph)._native))
