# SPDX-License-Identifier: Apache-2.0
"""Numbers out of shapes, as in TVM's `topi.utils`."""

from .. import _core
from ..arguments import as_list as _as_list


def get_const_int(expr):
    """The value of a constant integer expression."""
    if isinstance(expr, int):
        return expr
    if isinstance(expr, _core.IntImm):
        return expr.value
    _core.raise_error("bad-argument", f"{expr} is not a constant integer", "an integer, or a constant expression")


def get_const_tuple(in_tuple):
    """A shape as a tuple of integers; a symbolic extent stays an expression."""
    extents = _as_list(in_tuple, "in_tuple", "a tuple, such as the shape of a tensor")
    return tuple(get_const_int(e) if isinstance(e, (int, _core.IntImm)) else e for e in extents)
