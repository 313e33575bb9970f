# SPDX-License-Identifier: Apache-2.0
"""Attributes that all symbols made inside a `with` get. NNVM's `nnvm.attribute`."""

import threading

from ._core import raise_error

_active = threading.local()


class AttrScope:
    """Texts by name; inner scopes win over outer ones.

    Raises
    ------
    UserError (type-mismatch)
        Where a value is no text.
    """

    def __init__(self, **texts):
        for name, text in texts.items():
            if not isinstance(text, str):
                raise_error("type-mismatch", f"attribute '{name}': {type(text).__name__}", legal="text")
        self._texts = texts

    def get(self, attributes):
        """The texts of this scope and, over them, those given."""
        return {**self._texts, **(attributes or {})}

    def __enter__(self):
        self._outer = current()
        self._own, self._texts = self._texts, self._outer.get(self._texts)
        _active.scope = self
        return self

    def __exit__(self, *error):
        _active.scope, self._texts = self._outer, self._own


def current():
    """The active scope of this thread."""
    if not hasattr(_active, "scope"):
        _active.scope = AttrScope()
    return _active.scope
