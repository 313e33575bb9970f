# SPDX-License-Identifier: Apache-2.0
"""Schedules by kind of operator. TVM has one for each kind and target; here all are the same, to begin with: what computes
elements from elements is inlined. Better ones are the tuner's to find."""

from .. import te as _te


def default_schedule(outs):
    """A schedule of the tensors: producers of single elements are inlined into what reads them."""
    tensors = list(outs) if isinstance(outs, (tuple, list)) else [outs]
    schedule = _te.create_schedule([t.op for t in tensors])
    _te.schedule.AutoInlineInjective(schedule)
    return schedule


def schedule_pool(outs, layout=None):
    """A schedule of a pooling; it is the same in each layout."""
    del layout
    return default_schedule(outs)


schedule_adaptive_pool = schedule_pool
schedule_batch_matmul = schedule_broadcast = schedule_conv2d_nchw = schedule_dense = default_schedule
schedule_extern = schedule_injective = schedule_lrn = schedule_matmul = schedule_reduce = default_schedule
schedule_softmax = default_schedule
