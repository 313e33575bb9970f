# SPDX-License-Identifier: Apache-2.0
"""Checks of arguments that Python code looks into before the extension module sees them."""

from . import _core


def expect(value, kinds, name, legal):
    """The value, which must be of one of these classes, or "callable"."""
    if not (callable(value) if kinds == "callable" else isinstance(value, kinds)):
        _core.raise_error("type-mismatch", f"{name} is {_core.describe(value)}", legal)
    return value


def as_list(value, name, legal):
    """A list of what a tuple or list holds."""
    return list(expect(value, (tuple, list), name, legal))
