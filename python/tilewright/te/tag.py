# SPDX-License-Identifier: Apache-2.0
"""Tags for all operations that a block of a script makes."""

from .. import _core

_current = []


class TagScope:
    """`with te.tag_scope(tag="broadcast"):`, or a decorator of a function that makes operations."""

    def __init__(self, tag):
        self.tag = tag

    def __enter__(self):
        if _current:
            _core.raise_error("bad-argument", f"a tag scope inside that of {_current[-1]!r}", "one tag scope at a time")
        _current.append(self.tag)
        return self

    def __exit__(self, *error):
        _current.pop()

    def __call__(self, function):
        def tagged(*args, **kwargs):
            with self:
                return function(*args, **kwargs)

        tagged.__name__, tagged.__doc__ = function.__name__, function.__doc__
        return tagged


def tag_scope(tag):
    """A tag for the operations that are made inside and have none of their own."""
    return TagScope(tag)


def tag_or_current(tag):
    """The tag that an operation was given; where that is empty, the tag of the scope around the caller, if any."""
    return _current[-1] if _current and isinstance(tag, str) and not tag else tag
