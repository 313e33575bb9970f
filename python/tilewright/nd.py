# SPDX-License-Identifier: Apache-2.0
"""Arrays: memory on the CPU, shared with NumPy, PyTorch and others through DLPack without a copy."""

from . import _core
from ._core import NDArray
from .runtime import Device, cpu

__all__ = ["Device", "NDArray", "array", "cpu", "device", "empty", "from_dlpack", "zeros"]


def _check(device):
    if device is not None and not isinstance(device, Device):
        _core.raise_error("argument-device", f"{device!r} is not a device", "tw.cpu()")


def array(arr, device=None):
    """A new array with the elements of an array, list or number, aligned for any vector."""
    _check(device)
    return _core.copy_array(arr)


def empty(shape, dtype="float32", device=None):
    """A new array whose elements are not set. Of a vector type, such as float32x4, the lanes are one dimension more."""
    _check(device)
    return _core.empty_array(shape, dtype)


def zeros(shape, dtype="float32", device=None):
    """A new array of zeros. Of a vector type, such as float32x4, the lanes are one dimension more."""
    _check(device)
    return _core.zeros_array(shape, dtype)


def from_dlpack(dltensor):
    """An array that shares the memory of an object with __dlpack__ (or its capsule), or of a NumPy array."""
    return _core.borrow_array(dltensor)


def device(dev_type="cpu", dev_id=0):
    """A device by name; there is "cpu"."""
    return Device(dev_type, dev_id)
