# SPDX-License-Identifier: Apache-2.0
"""Networks of other formats, under the names that TVM gives them."""

from .onnx import from_onnx

__all__ = ["from_onnx"]
