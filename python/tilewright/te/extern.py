# SPDX-License-Identifier: Apache-2.0
"""Recurrences, and tensors that statements compute."""

from .. import _core
from ..arguments import as_list, expect
from .intrin import decl_buffer
from .operation import _shape
from .tag import tag_or_current


def scan(init, update, state_placeholder, inputs=None, name="scan", tag="", attrs=None):
    """A recurrence along the first dimension: the rows of `init` first, then those of `update`, one step after the other.

    state_placeholder are placeholders of the whole shape that stand, in what leads to `update`, for the rows so far.
    Each may be a tensor or a list of them, one for each state. What is computed from `inputs` on the way to the updates
    is computed in each step unless it is scheduled elsewhere. Gives a tensor, or a list when there are several states.

        state = te.placeholder((m, n))
        init = te.compute((1, n), lambda _, i: X[0, i])
        update = te.compute((m, n), lambda t, i: state[t - 1, i] + X[t, i])
        sums = te.scan(init, update, state, inputs=[X])
    """
    lists = [given if isinstance(given, (tuple, list)) else [given]
             for given in (init, update, state_placeholder, [] if inputs is None else inputs)]
    for given, what in zip(lists, ("init", "update", "state_placeholder", "inputs")):
        for tensor in given:
            expect(tensor, _core.Tensor, what, "tensors")
    attrs = {} if attrs is None else expect(attrs, dict, "attrs", "a dict, or None")
    outputs = _core.scan(*map(list, lists), name, tag_or_current(tag), attrs)
    return outputs[0] if len(outputs) == 1 else outputs


def extern(shape, inputs, fcompute, name="extern", dtype=None, in_buffers=None, out_buffers=None, tag="", attrs=None):
    """Tensors that statements compute, as `tir.ir_builder` writes them.

    shape is that of the output, or a list of shapes for several. fcompute(ins, outs) gets a buffer for each tensor and
    returns a statement, or a call such as `tir.call_extern(...)` that is evaluated. The inputs are read whole; memory is
    row-major without gaps. dtype is that of the outputs, or a list; without it that of the inputs, which must agree.
    in_buffers and out_buffers replace the buffers that are declared for the tensors; an output buffer whose data is an
    input buffer's is computed in place: its elements are the input's at the start.
    Extents, strides and offsets that they leave to variables are bound to the tensor's; others must be those.
    Gives a tensor, or a list.

    A body that calls external functions cannot become text, hence is neither tuned nor interpreted.
    """
    several = isinstance(shape, (tuple, list)) and len(shape) > 0 and isinstance(shape[0], (tuple, list))
    shapes = [_shape(s) for s in (shape if several else [shape])]
    inputs = list(inputs) if isinstance(inputs, (tuple, list)) else [inputs]
    for tensor in inputs:
        expect(tensor, _core.Tensor, "inputs", "tensors")
    expect(fcompute, "callable", "fcompute", "a function of buffers of the inputs and the outputs")
    dtypes = _dtypes(dtype, inputs, len(shapes))
    ins = _buffers(in_buffers, [(t.shape, t.dtype, t.op.name) for t in inputs], "in_buffers")
    outs = _buffers(out_buffers, [(s, d, name) for s, d in zip(shapes, dtypes)], "out_buffers")
    body = fcompute(ins, outs)
    if isinstance(body, _core.PrimExpr):
        body = _core.evaluate(body)
    expect(body, _core.Stmt, "fcompute", "a statement, such as ir_builder's get() gives, or a call")
    attrs = {} if attrs is None else expect(attrs, dict, "attrs", "a dict, or None")
    lines = getattr(body, "lines", [])  # of a statement that ir_builder gave
    outputs = _core.extern(name, inputs, shapes, dtypes, ins + outs, body, lines, tag_or_current(tag), attrs)
    return outputs if several else outputs[0]


def _dtypes(dtype, inputs, count):
    if dtype is None:
        types = {str(t.dtype) for t in inputs}
        if len(types) != 1:
            found = ", ".join(sorted(types)) or "no inputs"
            _core.raise_error("bad-argument", f"no dtype is given, and the inputs are of {found}", "dtype=…")
        dtype = inputs[0].dtype
    types = list(dtype) if isinstance(dtype, (tuple, list)) else [dtype] * count
    if len(types) != count:
        _core.raise_error("bad-argument", f"{len(types)} dtypes for {count} outputs", "one for each output, or one for all")
    return types


def _buffers(given, tensors, what):
    if given is None:
        return [decl_buffer(shape, dtype, name) for shape, dtype, name in tensors]
    given = [given] if isinstance(given, _core.Buffer) else as_list(given, what, "buffers, or None")
    if len(given) != len(tensors):
        _core.raise_error("bad-argument", f"{len(given)} {what} for {len(tensors)} tensors", "one for each tensor")
    for buffer in given:
        expect(buffer, _core.Buffer, what, "buffers of te.decl_buffer")
    return given
