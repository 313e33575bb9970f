# SPDX-License-Identifier: Apache-2.0
# Made by python/stubs/make_stubs.py.
import collections.abc
import typing

import tilewright._core



def call(name: str, arguments: collections.abc.Sequence) -> typing.Any:
    """The operator of a full name, such as "topi.nn.relu"."""


def operators() -> list:
    """Rows of (module, name, parameters, documentation); a parameter is (name, annotation, documentation, default or nothing)."""
