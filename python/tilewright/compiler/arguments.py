# SPDX-License-Identifier: Apache-2.0
"""What users say of a network's inputs, by name, checked where it comes in."""

import operator as _operator
import re as _re
from collections.abc import Mapping as _Mapping

from .. import graph as _graph
from .._core import raise_error as _raise_error

_DIMENSIONS = "NCDHWOIGT"
_DTYPES = set(_graph.dtypes().values())


def by_name(values, what):
    """dict: `values`, which may be None.

    Raises
    ------
    UserError (type-mismatch)
        Where it is no mapping.
    """
    if values is None:
        return {}
    if not isinstance(values, _Mapping):
        _raise_error("type-mismatch", f"{what} is a {type(values).__name__}", legal="a dict by the names of inputs")
    return dict(values)


def extents(shape, name):
    """list of int: a shape of the input `name`, -1 where an extent is unknown.

    Raises
    ------
    UserError (bad-shape)
        With the input, where it is no sequence of extents.
    """
    try:
        found = [_operator.index(extent) for extent in shape]
    except TypeError:
        found = None
    if found is None or min(found, default=0) < -1:
        _raise_error("bad-shape", f"the shape of '{name}' is {shape!r}", legal="whole numbers, such as (1, 3)")
    return found


def dtype_name(dtype, what):
    """str: an element type, which may be NumPy's.

    Raises
    ------
    UserError (bad-argument)
    """
    name = getattr(dtype, "__name__", None) or str(dtype)
    if name not in _DTYPES:
        _raise_error("bad-argument", f"the type of {what} is '{name}'", legal=", ".join(sorted(_DTYPES)))
    return name


def dtype_names(dtype):
    """str, of all inputs, or dict of str to str: the element types of inputs, which may be NumPy's."""
    if dtype is not None and not isinstance(dtype, _Mapping):
        return dtype_name(dtype, "inputs")
    return {name: dtype_name(given, f"'{name}'") for name, given in by_name(dtype, "dtype").items()}


def layouts(layout, shape):
    """str, of all inputs, or dict of str to str: layouts of inputs, which name dimensions that operators speak of.

    Raises
    ------
    UserError (bad-argument)
        For other letters, and where a layout has more or fewer dimensions than the input's shape in the dict `shape`.
    """
    of_all = isinstance(layout, str)
    found = {"all inputs": layout} if of_all else by_name(layout, "layout")
    for name, text in found.items():
        if text == "__undef__":
            continue
        where = f"the layout of '{name}' is {text!r}"
        letters = _re.sub(r"[0-9]+[a-z]", "", text) if isinstance(text, str) else "?"
        if not letters or set(letters) - set(_DIMENSIONS) or len(set(letters)) < len(letters):
            _raise_error("bad-argument", where, legal=f"each dimension once, of {', '.join(_DIMENSIONS)}, such as NCHW or NCHW16c")
        rank = len(_re.findall(r"[A-Z]|[0-9]+[a-z]", text))
        if name in shape and len(shape[name]) != rank:
            _raise_error("bad-argument", f"{where}, and its shape {tuple(shape[name])}", legal="a dimension for each extent")
    return layout if of_all else found


def require_inputs(graph, names):
    """
    Raises
    ------
    UserError (bad-argument, bad-graph)
        Where a name is none of an input of the graph, or of several.
    """
    known = graph.index.input_names
    twice = [name for k, name in enumerate(known) if name in known[:k]]
    if twice:
        _raise_error("bad-graph", f"several inputs are called '{twice[0]}'", legal="a name for each")
    unknown = [name for name in names if name not in known]
    if unknown:
        _raise_error("bad-argument", f"the graph has no input '{unknown[0]}'", legal=", ".join(known))
