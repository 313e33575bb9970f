# SPDX-License-Identifier: Apache-2.0
"""Operators on tensors, with TVM's names and signatures, made from the table of operators."""

from . import generic, image, nn, table, utils, vision  # noqa: F401

globals().update(table.functions("topi"))
