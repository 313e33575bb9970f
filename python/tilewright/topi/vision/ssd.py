# SPDX-License-Identifier: Apache-2.0
"""Operators of the single shot detector, with TVM's names and signatures, made from the table of operators."""

from .. import table

globals().update(table.functions("topi.vision.ssd"))
