# SPDX-License-Identifier: Apache-2.0
"""What TVM has under `contrib`: running deployed networks."""

from . import graph_runtime

__all__ = ["graph_runtime"]
