# SPDX-License-Identifier: Apache-2.0
"""What TVM has under `contrib`: running deployed networks, and networks for other runtimes."""

from . import graph_runtime, onnx_export

__all__ = ["graph_runtime", "onnx_export"]
