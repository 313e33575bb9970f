# SPDX-License-Identifier: Apache-2.0
"""Scheduling and auto-tuning of tensor programs on CPUs.

    import tilewright as tw
    from tilewright import te

    n = 1024
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] + 1, name="B")
    s = te.create_schedule(B.op)
    s[B].vectorize(s[B].split(B.op.axis[0], factor=16)[1])
    f = tw.build(s, [A, B])

Names and signatures are those of TVM 0.8's `te`, `tir` and `topi`.
"""

import os as _os

# XGBoost brings libgomp, which reads only here how long its threads spin, ten milliseconds by default: where one waits for
# a CPU, each primitive of oneDNN takes as long. 1000 pauses are some 50 µs, as in our pool.
_openmp_is_told = "GOMP_SPINCOUNT" in _os.environ or "OMP_WAIT_POLICY" in _os.environ
if not _openmp_is_told:
    _os.environ["GOMP_SPINCOUNT"] = "1000"
try:
    from . import _core
finally:
    if not _openmp_is_told:
        del _os.environ["GOMP_SPINCOUNT"]

_core.set_package_directory(_os.path.dirname(__file__))
__version__ = _core.__version__

from . import error, nd, runtime, target, te, testing, tir, topi, transform  # noqa: E402
from .driver import build, lower, lower_passes  # noqa: E402
from .error import InternalError, MeasureError, TilewrightError, UserError  # noqa: E402
from .nd import device  # noqa: E402
from .runtime import cpu, num_threads, set_num_threads  # noqa: E402
from .target import Target  # noqa: E402

__all__ = [
    "InternalError",
    "MeasureError",
    "Target",
    "TilewrightError",
    "UserError",
    "autotune",
    "build",
    "compiler",
    "contrib",
    "cpu",
    "device",
    "error",
    "frontend",
    "graph",
    "lower",
    "lower_passes",
    "nd",
    "num_threads",
    "runtime",
    "set_num_threads",
    "symbol",
    "target",
    "te",
    "testing",
    "tir",
    "topi",
    "transform",
]


def __getattr__(name):
    name = {"sym": "symbol"}.get(name, name)  # NNVM has it under both names
    if name in ("attribute", "autotune", "byoc", "compiler", "contrib", "dataflow_pattern", "expr_functor", "frontend", "graph", "name", "symbol"):  # loaded when they are first used
        from importlib import import_module

        return import_module(f".{name}", __name__)
    raise AttributeError(f"module 'tilewright' has no attribute {name!r}")
