# SPDX-License-Identifier: Apache-2.0
"""Names of symbols that were given none: `conv2d0`, `conv2d1`, … NNVM's `nnvm.name`."""

import threading

_active = threading.local()


class NameManager:
    """Counts the names it makes, from its hint on; active inside `with`."""

    def __init__(self):
        self._counter = {}

    def get(self, name, hint):
        """`name`, or the next name of that hint where it is None."""
        if name is not None:
            return name
        number = self._counter.get(hint, 0)
        self._counter[hint] = number + 1
        return f"{hint}{number}"

    def __enter__(self):
        self._outer = current()
        _active.manager = self
        return self

    def __exit__(self, *error):
        _active.manager = self._outer


class Prefix(NameManager):
    """Puts a prefix before all names, given ones too."""

    def __init__(self, prefix):
        super().__init__()
        self._prefix = prefix

    def get(self, name, hint):
        return self._prefix + super().get(name, hint)


def current():
    """The active manager of this thread."""
    if not hasattr(_active, "manager"):
        _active.manager = NameManager()
    return _active.manager
