# SPDX-License-Identifier: Apache-2.0
"""What machine code is made for."""

from . import _core
from .scopes import Scoped


class Target(Scoped):
    """A target such as "llvm" (this machine) or "llvm -mcpu=znver4 -mattr=+avx512f".

    Inside `with Target(...)`, it is what `build` and `lower` compile for. str() of it is canonical text: the same
    machine model gives the same text.
    """

    def __init__(self, target="llvm"):
        if not isinstance(target, (Target, str)):
            _core.raise_error("unknown-target", f"{target!r} is no target", 'a Target or text such as "llvm -mcpu=x86-64-v3"')
        self.model = target.model if isinstance(target, Target) else _core.TargetModel(target)

    def __str__(self):
        return str(self.model)

    def __repr__(self):
        return f"Target({str(self)!r})"

    def __eq__(self, other):
        return isinstance(other, Target) and str(self) == str(other)

    def __hash__(self):
        return hash(str(self))

    def __getattr__(self, name):
        if name.startswith("_") or name == "model":
            raise AttributeError(name)
        return getattr(self.model, name)

    @property
    def kind(self):
        """"llvm", the only kind there is."""
        return "llvm"

    @staticmethod
    def current(allow_none=True):
        """The innermost target of this thread."""
        target = Target._innermost()
        if target is None and not allow_none:
            _core.raise_error("unknown-target", "no target is active", 'with tw.target.Target("llvm"):')
        return target


def create(target):
    """The same as Target(target)."""
    return Target(target)


def _resolve(target):
    """What was asked for, else the active target, else this machine."""
    if target is None:
        target = Target.current() or "llvm"
    return target if isinstance(target, Target) else Target(target)
