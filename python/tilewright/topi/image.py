# SPDX-License-Identifier: Apache-2.0
"""Operators on images, with TVM's names and signatures, made from the table of operators."""

from . import table

globals().update(table.functions("topi.image"))
