# SPDX-License-Identifier: Apache-2.0
"""Walks over networks from their outputs to their inputs, by recursion, as TVM's `relay.expr_functor` has them.

    class Negated(ExprMutator):
        def visit_call(self, call):
            new = super().visit_call(call)
            return Call("negative", [new]) if call.op.name == "nn.relu" else new

A method decides itself when it visits what it reads, and may keep state meanwhile. Where the order does not matter,
`graph.Mutator` is faster.
"""

import sys as _sys
from typing import NamedTuple as _NamedTuple

from . import _core
from . import name as _name
from . import symbol as _symbol
from ._core import raise_error as _raise_error

__all__ = ["Call", "Expr", "ExprMutator", "ExprVisitor", "Op", "TupleGetItem", "Var"]


class Op(_NamedTuple):
    """An operator: `name`, as Relay calls it (nn.conv2d), and `symbol_name`, as `tilewright.symbol` does."""

    name: str
    symbol_name: str


class Expr:
    """A value of a network.

    Attributes
    ----------
    symbol: Symbol
    """

    def __init__(self, symbol):
        self.symbol = symbol

    @staticmethod
    def of(symbol):
        """Var, Call or TupleGetItem: what one output of a node is."""
        native = symbol._native
        if native.op() == "null":
            return Var(symbol)
        if native.num_outputs() > 1:
            return TupleGetItem(Call._of(symbol), native.output_index())
        return Call._of(symbol)


def _expression(value, what):
    if not isinstance(value, Expr):
        _raise_error("type-mismatch", f"{what}: {type(value).__name__}", legal="an Expr: Var, Call or TupleGetItem")
    return value


class Var(Expr):
    """A variable."""

    @property
    def name(self):
        """str"""
        return self.symbol.attr("name")


class Call(Expr):
    """A call of an operator.

    Parameters
    ----------
    op: Op or str
        By either name.
    args: list of Expr
    attrs: dict, optional
        Values are those of `tilewright.symbol`'s operators: 3, (1, 1), "NCHW"; None leaves one out.
    name: str, optional
        Of the node.
    """

    def __init__(self, op, args, attrs=None, type_args=None, name=None):
        called = op.symbol_name if isinstance(op, Op) else op
        if not isinstance(called, str):
            _raise_error("type-mismatch", f"an operator: {type(op).__name__}", legal="an Op or its name")
        natives = [_expression(arg, f"argument {k} of {called}").symbol._native for k, arg in enumerate(args)]
        texts = {key: _symbol._text(value) for key, value in (attrs or {}).items() if value is not None}
        symbol = _core.GraphSymbol.call(called, _name.current().get(name, called.lstrip("_")), natives, {}, texts)
        super().__init__(_symbol.Symbol(symbol))

    @classmethod
    def _of(cls, symbol):
        call = cls.__new__(cls)
        Expr.__init__(call, symbol)
        return call

    @property
    def op(self):
        """Op: what is called."""
        name = self.symbol._native.op()
        return Op(_core.graph_printed_name(name), name)

    @property
    def args(self):
        """list of Expr: what it reads."""
        return [Expr.of(arg) for arg in _symbol.Symbol(self.symbol._native.children())]

    @property
    def attrs(self):
        """dict of str to str"""
        return self.symbol.list_attr()

    @property
    def type_args(self):
        """None; Relay's, for calls of the constructor with all of a call's parts."""
        return None

    @property
    def name(self):
        """str: of the node."""
        return self.symbol.attr("name")


class TupleGetItem(Expr):
    """One of several outputs of a call."""

    def __init__(self, tuple_value, index):
        super().__init__(_symbol.Symbol(tuple_value.symbol._native.node_output(index)))
        self.tuple_value, self.index = tuple_value, index


class ExprVisitor:
    """Visits each expression once: `visit_var`, `visit_call`, `visit_tuple_getitem`, each of which may be overridden."""

    def __init__(self):
        self.memo_map = {}

    def visit(self, expr):
        """What the method for the expression returns, which is remembered."""
        native = _expression(expr, f"what {type(self).__name__} visits").symbol._native
        key = (native.node_key(), expr.index if isinstance(expr, TupleGetItem) else -1)
        if key not in self.memo_map:
            visit = next(visit for kind, visit in ((Var, self.visit_var), (Call, self.visit_call), (TupleGetItem, self.visit_tuple_getitem))
                         if isinstance(expr, kind))
            # The expression is kept, so that no other has its key.
            self.memo_map[key] = (self._checked(visit, expr), expr)
        return self.memo_map[key][0]

    def _checked(self, visit, expr):
        return visit(expr)

    def run(self, symbol):
        """Visits the outputs of a symbol; a list of what that returns. Networks may be thousands of nodes deep."""
        if not isinstance(symbol, _symbol.Symbol):
            _raise_error("type-mismatch", f"a walk over a {type(symbol).__name__}", legal="a Symbol")
        limit = _sys.getrecursionlimit()
        _sys.setrecursionlimit(limit + 10 * len(symbol.get_internals()))
        try:
            return [self.visit(Expr.of(output)) for output in symbol]
        finally:
            _sys.setrecursionlimit(limit)

    def visit_var(self, var):
        """Nothing to visit."""
        return var

    def visit_call(self, call):
        """Visits what the call reads."""
        for arg in call.args:
            self.visit(arg)
        return call

    def visit_tuple_getitem(self, item):
        """Visits the call."""
        self.visit(item.tuple_value)
        return item


class ExprMutator(ExprVisitor):
    """A visitor whose methods return what stands in the place of the expression. `run` returns a Symbol."""

    def run(self, symbol):
        """Symbol: the outputs made anew."""
        return _symbol.Group([expr.symbol for expr in super().run(symbol)])

    def _checked(self, visit, expr):
        new = visit(expr)
        node = expr.symbol.attr("name")
        return _expression(new, f"what {type(self).__name__}.{visit.__name__} returned for '{node}'")

    def visit_call(self, call):
        """The call on what its arguments become; itself where none changes."""
        args = call.args
        new = [self.visit(arg) for arg in args]
        same = all(a.symbol._native.node_key() == b.symbol._native.node_key() for a, b in zip(args, new, strict=True))
        return call if same else Call(call.op, new, call.attrs, call.type_args, name=call.name)

    def visit_tuple_getitem(self, item):
        """The same output of what the call becomes."""
        value = self.visit(item.tuple_value)
        return item if value is item.tuple_value else TupleGetItem(value, item.index)
