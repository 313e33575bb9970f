# SPDX-License-Identifier: Apache-2.0
"""Programs as text: what workers, the tuning log and a replay elsewhere rebuild a workload from."""

from .. import _core
from ..arguments import as_list


def _program(tensors):
    if isinstance(tensors, _core.Program):
        return tensors
    if isinstance(tensors, _core.Tensor):
        return _core.Program([tensors])
    return _core.Program(as_list(tensors, "tensors", "a tensor, a list of tensors, or a Program"))


def to_text(tensors):
    """The program that computes these tensors: its outputs, or all its arguments in call order."""
    return _program(tensors).text


def from_text(text):
    """The Program of a text: `.arguments` in call order, `.outputs` among them."""
    return _core.parse_program(text)


def workload_hash(tensors):
    """16 hexadecimal digits, the same on every machine and for all names: the key of the tuning log."""
    return _program(tensors).workload
