"""Operators of networks as tests know them: a file a family, whose OPERATORS has a row of each (row.Operator).

A new family is a new file; nothing names it elsewhere.
"""

import importlib
import pkgutil

from operators.row import Operator

OPERATORS: dict[str, Operator] = {}
for module in pkgutil.iter_modules(__path__):
    rows = getattr(importlib.import_module(f"{__name__}.{module.name}"), "OPERATORS", {})
    assert not OPERATORS.keys() & rows.keys(), module.name
    OPERATORS |= rows
