# SPDX-License-Identifier: Apache-2.0
"""Tensor expressions: what is computed, and schedules of how."""

from .._core import (  # noqa: F401
    Buffer,
    ComputeOp,
    ExternOp,
    Operation,
    PlaceholderOp,
    Program,
    ScanOp,
    Schedule,
    Stage,
    Tensor,
    TensorComputeOp,
    TensorIntrin,
    TensorIntrinCall,
    TensorSlice,
    Trace,
)
from ..tir import (  # noqa: F401
    abs,
    acos,
    add,
    all,
    any,
    asin,
    atan,
    atan2,
    ceil,
    const,
    cos,
    cosh,
    div,
    erf,
    exp,
    exp2,
    floor,
    floordiv,
    floormod,
    fmod,
    if_then_else,
    indexdiv,
    indexmod,
    isfinite,
    isinf,
    isnan,
    likely,
    log,
    log2,
    log10,
    max_value,
    min_value,
    multiply,
    nearbyint,
    popcount,
    power,
    round,
    rsqrt,
    saturating_cast,
    sigmoid,
    sin,
    sinh,
    sqrt,
    subtract,
    tan,
    tanh,
    trunc,
    truncdiv,
    truncmod,
)
from .intrin import decl_buffer, decl_tensor_intrin, tensor_intrin, tensor_intrin_names  # noqa: F401
from . import hybrid  # noqa: F401
from .extern import extern, scan  # noqa: F401
from .operation import comm_reducer, compute, max, min, placeholder, prod, reduce_axis, size_var, sum, var  # noqa: F401
from .tag import tag_scope  # noqa: F401
from .schedule import create_schedule, schedule_from_trace  # noqa: F401
from .thread import thread_axis  # noqa: F401
from .text import from_text, to_text, workload_hash  # noqa: F401
