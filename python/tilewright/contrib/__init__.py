# SPDX-License-Identifier: Apache-2.0
"""What TVM has under `contrib`: running deployed networks, and networks for other runtimes."""

from . import graph_runtime

__all__ = ["graph_runtime", "onnx_export"]


def __getattr__(name):
    if name == "onnx_export":  # who runs networks needs none of what writes them
        from importlib import import_module

        return import_module(f".{name}", __name__)
    raise AttributeError(f"module '{__name__}' has no attribute {name!r}")
