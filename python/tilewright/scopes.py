# SPDX-License-Identifier: Apache-2.0
"""What is active inside a `with` of this thread."""

import threading


class Scoped:
    """An object that is active inside `with`. Each class that derives from it directly has a stack of its own."""

    _active = None

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        if cls._active is None:
            cls._active = threading.local()

    @classmethod
    def _stack(cls):
        if not hasattr(cls._active, "stack"):
            cls._active.stack = []
        return cls._active.stack

    @classmethod
    def _innermost(cls):
        """The innermost of this thread, or None."""
        stack = cls._stack()
        return stack[-1] if stack else None

    def __enter__(self):
        self._stack().append(self)
        return self

    def __exit__(self, *_):
        self._stack().pop()
