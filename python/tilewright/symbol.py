# SPDX-License-Identifier: Apache-2.0
"""Networks as symbols: variables, and operators called on them. NNVM's `nnvm.symbol`.

    import tilewright.symbol as sym

    x = sym.Variable("x", shape=(1, 3, 224, 224))
    y = sym.relu(sym.conv2d(x, channels=64, kernel_size=(3, 3), padding=(1, 1)))

Inputs are given by position or by name; those left out become variables (`conv2d0_weight`). Other arguments are
attributes, kept as the text that was written. There is a function here for each operator of `graph.operators()`.
"""

import inspect as _inspect
import sys as _sys
from numbers import Number as _Number

from . import _core, attribute as _attribute, name as _name
from ._core import raise_error as _raise_error
from .error import UserError as _UserError

# What variables shall begin with, by name: `compiler.initialize_variables` reads it.
_all_var_init = {}


def _text(value):
    """An attribute as text, as Python writes it."""
    return value if isinstance(value, str) else getattr(value, "__name__", None) or str(value)


def _native(symbol, what):
    if isinstance(symbol, Symbol):
        return symbol._native
    _raise_error("type-mismatch", f"{what}: {type(symbol).__name__}", legal="a Symbol")


class Symbol:
    """One or several outputs of nodes of a network."""

    __slots__ = ("_native",)
    __array_priority__ = 1000.0  # of NumPy's numbers, ours are the operators
    __array_ufunc__ = None  # and NumPy's arrays leave them to us too, which say what is legal

    def __init__(self, native):
        self._native = native

    def __repr__(self):
        name = self.attr("name")
        return f"<Symbol {name}>" if name else "<Grouped Symbol>"

    def __len__(self):
        return len(self._native)

    def __iter__(self):
        return (self[k] for k in range(len(self)))

    def __getitem__(self, index):
        """One output, by number or by name."""
        if not isinstance(index, (int, str)):
            _raise_error("type-mismatch", f"output {index!r} of a symbol", legal="a number or a name")
        return Symbol(self._native.output(index))

    def __call__(self, *inputs, name=None, **named_inputs):
        """The symbol with its variables replaced, by position among `list_input_names()` or by name."""
        given = [_native(s, "input") for s in inputs]
        return Symbol(self._native.compose(given, {k: _native(s, k) for k, s in named_inputs.items()}))

    def __copy__(self):
        return Symbol(self._native)

    def __deepcopy__(self, memo):
        return load_json(_graph().create(self).json()).symbol

    def __reduce__(self):
        return (_from_json, (_graph().create(self).json(),))

    def attr(self, key):
        """The text of an attribute of the node, or None; "name" is the node's name, None of groups."""
        try:
            return self._native.name() if key == "name" else self._native.attributes().get(key)
        except _UserError:
            if key == "name":
                return None
            raise

    def list_attr(self, recursive=False):
        """The attributes of the node; those of all nodes below as `name$attribute` when `recursive`."""
        return self._native.all_attributes() if recursive else self._native.attributes()

    def _set_attr(self, **texts):
        """Sets attributes of the node, for all symbols that share it."""
        self._native.set_attributes({key: _text(value) for key, value in texts.items()})

    def get_internals(self):
        """All outputs of all nodes below, as one symbol."""
        return Symbol(self._native.internals())

    def get_children(self):
        """The inputs of the node, as one symbol; None of a variable."""
        children = self._native.children()
        return Symbol(children) if len(children) else None

    def list_input_names(self, option="all"):
        """The names of the variables below, inputs before those who read them.

        `option` is NNVM's: "all", "read_only", or "aux_state", variables that operators write to.
        """
        if option not in ("all", "read_only", "aux_state"):
            _raise_error("bad-argument", f"option '{option}'", legal="all, read_only, aux_state")
        written = self._native.list_written_names()
        if option == "aux_state":
            return written
        return [name for name in self._native.list_input_names() if option == "all" or name not in written]

    def list_output_names(self):
        """The names of the outputs: `conv2d0_output`."""
        return self._native.list_output_names()

    def debug_str(self):
        """The graph as text."""
        return _graph().create(self).ir()


def _graph():
    from . import graph

    return graph


def _from_json(text):
    return load_json(text).symbol


def load_json(text):
    """A graph from text; its `symbol` is the network."""
    return _graph().load_json(text)


def Variable(name, init=None, **attributes):
    """An input or a parameter of a network.

    Parameters
    ----------
    name: str
    init: Symbol or array, optional
        What `compiler.initialize_variables` gives it.
    shape: tuple of int, optional
        Extents; `InferShape` takes it from here.
    dtype: str or int, optional
        An element type, or its number in `graph.dtypes()`.
    """
    if not isinstance(name, str):
        _raise_error("type-mismatch", f"the name of a variable: {type(name).__name__}", legal="text")
    texts = _attribute.current().get({key: _text(value) for key, value in attributes.items() if value is not None})
    if init is not None:
        _all_var_init[name] = init
    return Symbol(_core.GraphSymbol.variable(name, texts))


def Group(symbols):
    """Several symbols as one, with the outputs of all."""
    natives = [_native(s, "a symbol of a group") for s in symbols]
    if not natives:
        _raise_error("bad-argument", "a group of nothing", legal="at least one symbol")
    return Symbol(_core.GraphSymbol.group(natives))


def _call(op, hint, inputs, arguments, name=None, attr=None):
    """A node; of `arguments`, symbols are inputs and others attributes."""
    if not isinstance(name, (str, type(None))):
        _raise_error("type-mismatch", f"the name of a {hint}: {type(name).__name__}", legal="text")
    given = []
    for symbol in inputs:  # a list of inputs is those
        given += list(symbol) if isinstance(symbol, (list, tuple)) else [symbol]
    named = {key: value._native for key, value in arguments.items() if isinstance(value, Symbol)}
    texts = {k: _text(v) for k, v in arguments.items() if not isinstance(v, Symbol) and v is not None}
    result = Symbol(
        _core.GraphSymbol.call(
            op, _name.current().get(name, hint), [_native(s, f"an input of {op}") for s in given], named, texts
        )
    )
    extra = _attribute.current().get(attr)
    if extra:
        result._set_attr(**extra)
    return result


def _function(op, called):
    """The function of an operator, under one of its names."""

    def function(*inputs, name=None, attr=None, **arguments):
        return _call(op["name"], called, inputs, arguments, name, attr)

    def parameter(name, kind, default):
        return _inspect.Parameter(name, kind, default=default)

    keyword, either = _inspect.Parameter.KEYWORD_ONLY, _inspect.Parameter.POSITIONAL_OR_KEYWORD
    if op["variadic"]:
        parameters = [_inspect.Parameter(op["inputs"][0][0], _inspect.Parameter.VAR_POSITIONAL)]
    else:
        parameters = [parameter(name, either, None) for name, _, _ in op["inputs"]]
    lines = [op["doc"], "", "Parameters", "----------"]
    for name, doc, flag in op["inputs"]:
        lines += [f"{name}: Symbol", f"    {doc}{f'; where {flag} is True' if flag else ''}"]
    for name, legal, initial, doc in op["attributes"]:
        default = _inspect.Parameter.empty if initial is None else initial
        parameters.append(parameter(name, keyword, default))
        lines += [f"{name}: {legal}{'' if initial is None else f', by default {initial}'}", f"    {doc}"]
    parameters += [parameter("name", keyword, None), parameter("attr", keyword, None)]
    lines += ["name: str, optional", "attr: dict of str, optional", "    Further attributes.", "", "Returns", "-------", "Symbol"]
    function.__name__ = function.__qualname__ = called
    function.__doc__ = "\n".join(lines)
    function.__signature__ = _inspect.Signature(parameters)
    function.__module__ = __name__
    return function


for _op in _core.graph_operators():
    for _called in (_op["name"], *_op["aliases"]):
        setattr(_sys.modules[__name__], _called, _function(_op, _called))


def _no_operand(other):
    """Arrays would be asked for their elements one by one; other objects may know what to do with a symbol."""
    if hasattr(other, "__array__"):
        _raise_error(
            "type-mismatch", f"an array of shape {tuple(other.shape)} beside a Symbol",
            legal="a number, or a Variable whose value is among the params of compiler.build")
    return NotImplemented


def _binary(of_symbols, with_scalar, scalar_first=None):
    """The two methods of an operator of Python: a symbol or a number on the right; a number on the left."""

    def right(self, other):
        if isinstance(other, Symbol):
            return _call(of_symbols, of_symbols, [self, other], {})
        if isinstance(other, _Number):
            return _call(with_scalar, with_scalar, [self], {"scalar": other})
        return _no_operand(other)

    def left(self, other):
        if isinstance(other, _Number):
            return _call(scalar_first or with_scalar, scalar_first or with_scalar, [self], {"scalar": other})
        return _no_operand(other)

    return right, left


Symbol.__add__, Symbol.__radd__ = _binary("__add_symbol__", "__add_scalar__")
Symbol.__sub__, Symbol.__rsub__ = _binary("__sub_symbol__", "__sub_scalar__", "__rsub_scalar__")
Symbol.__mul__, Symbol.__rmul__ = _binary("__mul_symbol__", "__mul_scalar__")
Symbol.__truediv__, Symbol.__rtruediv__ = _binary("__div_symbol__", "__div_scalar__", "__rdiv_scalar__")
Symbol.__pow__, Symbol.__rpow__ = _binary("__pow_symbol__", "__pow_scalar__", "__rpow_scalar__")
Symbol.__neg__ = lambda self: _call("negative", "negative", [self], {})
