# SPDX-License-Identifier: Apache-2.0
"""Compiled modules, devices and threads."""

from . import _core
from ._core import (
    BenchmarkResult,
    Function,
    Module,
    configure_threads,
    load_module,
    num_threads,
    park_threads,
    set_num_threads,
)

__all__ = [
    "BenchmarkResult",
    "Device",
    "Function",
    "Module",
    "configure_threads",
    "cpu",
    "load_module",
    "num_threads",
    "park_threads",
    "set_num_threads",
]


class Device:
    """Where arrays are and kernels run: the CPU."""

    def __init__(self, device_type="cpu", device_id=0):
        # A target names its device too: "llvm -mcpu=znver4".
        if not isinstance(device_type, str) or device_type.split()[:1] not in (["cpu"], ["llvm"]) or device_id != 0:
            _core.raise_error("argument-device", f"unknown device {device_type}({device_id})", "cpu(0)")
        self.device_type = 1
        self.device_id = device_id

    exist = True

    def sync(self):
        """Returns at once: kernels have run when their call returns."""

    def __eq__(self, other):
        return isinstance(other, Device)

    def __hash__(self):
        return hash(Device)

    def __repr__(self):
        return "cpu(0)"


def cpu(dev_id=0):
    """The CPU."""
    return Device("cpu", dev_id)


def _time_evaluator(self, func_name=None, dev=None, number=10, repeat=1, min_repeat_ms=0, f_preproc=""):
    """A function that times a kernel: called with its arguments it gives a BenchmarkResult.

    A sample is the time of `number` runs in a row divided by `number`, seconds; there are `repeat` samples. A sample
    shorter than min_repeat_ms is taken again with a greater number. f_preproc "cache_flush_cpu_non_first_arg" takes all
    arrays but the first out of the caches before each sample; with number=1 that is each run.
    """
    cold = f_preproc == "cache_flush_cpu_non_first_arg"
    if f_preproc and not cold:
        _core.raise_error("bad-argument", f"unknown f_preproc {f_preproc!r}", "cache_flush_cpu_non_first_arg")
    function = self.entry_func if func_name is None else self.get_function(func_name)

    def evaluator(*args):
        return function._time(number, repeat, min_repeat_ms, cold, *args)

    return evaluator


Module.time_evaluator = _time_evaluator
