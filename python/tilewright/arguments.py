# SPDX-License-Identifier: Apache-2.0
"""Checks of arguments that Python code looks into before the extension module sees them."""

import difflib
import inspect

from . import _core


def expect(value, kinds, name, legal):
    """The value, which must be of one of these classes, or "callable"."""
    if not (callable(value) if kinds == "callable" else isinstance(value, kinds)):
        _core.raise_error("type-mismatch", f"{name} is {_core.describe(value)}", legal)
    return value


def expect_function(value, parameters, name, legal):
    """The value, which must be a function that can be called with so many values."""
    expect(value, "callable", name, legal)
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):  # of what C is made of, some have none
        return value
    try:
        signature.bind(*[None] * parameters)
    except TypeError:
        _core.raise_error("type-mismatch", f"{name} is a function of {signature}, and is called with {parameters} values", legal)
    return value


def as_list(value, name, legal):
    """A list of what a tuple or list holds."""
    return list(expect(value, (tuple, list), name, legal))


def refuse_unknown(given, function, name):
    """Raises of the first of the given arguments by name that a function does not have, with the nearest."""
    known = [p.name for p in inspect.signature(function).parameters.values() if p.kind is not p.VAR_KEYWORD]
    for option in given:
        if option not in known:
            near = difflib.get_close_matches(option, known, 1)
            hint = f"; the nearest is '{near[0]}'" if near else ""
            _core.raise_error("bad-argument", f"{name} has no option '{option}'{hint}", ", ".join(known))
