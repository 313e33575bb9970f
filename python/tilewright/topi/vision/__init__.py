# SPDX-License-Identifier: Apache-2.0
"""Operators on boxes and regions of images, with TVM's names and signatures, made from the table of operators."""

from .. import table
from . import ssd  # noqa: F401

globals().update(table.functions("topi.vision"))
