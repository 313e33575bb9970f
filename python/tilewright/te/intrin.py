# SPDX-License-Identifier: Apache-2.0
"""Tensor intrinsics: what `Stage.tensorize` puts in place of loops."""

from .. import _core
from ..arguments import as_list, expect
from .._core import tensor_intrin, tensor_intrin_names  # noqa: F401


def decl_buffer(shape, dtype="float32", name="buffer", data=None, strides=None, elem_offset=None, scope="",
                data_alignment=-1, offset_factor=0, buffer_type=""):
    """The memory of a tensor. Strides, and the offset of the first element, may be variables: they take what the loop
    nest has. Without strides the rows lie side by side; without an offset or offset_factor the tensor must begin where
    its memory does. data_alignment, a power of two, says of how many bytes the memory's address is a multiple:
    statements of te.extern and of intrinsics run after a test of it, and their vectors are loaded and stored as aligned
    ones.
    """
    if expect(buffer_type, str, "buffer_type", '"" or "auto_broadcast"') not in ("", "auto_broadcast"):
        _core.raise_error("bad-argument", f"buffer_type is {buffer_type!r}", '"" or "auto_broadcast"')
    dtype = "float32" if dtype is None else dtype
    return _core.decl_buffer(shape, dtype, name, data, strides, elem_offset, scope, data_alignment, offset_factor)


UNNAMED = "tensor_intrin"


def decl_tensor_intrin(op, fcompute, name=UNNAMED, binds=None, scalar_params=None, default_buffer_params=None):
    """An intrinsic that computes what `op` does, for Stage.tensorize.

    fcompute(inputs, outputs) gets a buffer for each tensor and returns the statement that computes the outputs. For a
    reduction whose outer loops stay outside it returns three: (body, reset, update). binds gives buffers for some of
    the tensors, default_buffer_params the arguments of decl_buffer for the others. scalar_params are variables of the
    expression: they stand for scalars that are the same at all points that the intrinsic computes, and fcompute gets
    them as a third argument. Extents that are variables take those of the loops.

    Called on slices, vadd(A[i, 0:16], B[i, 0:16]), it is what a function of te.compute may return.

    Traces know an intrinsic by its name: declare it before one is replayed. A name that is declared again stands for
    the newer intrinsic; without a name each has one of its own.
    """
    scalars = [] if scalar_params is None else as_list(scalar_params, "scalar_params", "variables, or None")
    for scalar in scalars:
        expect(scalar, _core.Var, "a scalar parameter", "a variable of the expression")
    if expect(name, str, "name", "a name, for traces") == UNNAMED and UNNAMED in _core.tensor_intrin_names():
        name = f"{UNNAMED}.{sum(n.startswith(UNNAMED) for n in _core.tensor_intrin_names())}"
    expect(fcompute, "callable", "fcompute", "a function of buffers of the inputs and the outputs")
    binds, parameters = (
        {} if given is None else expect(given, dict, name, "a dict, or None")
        for name, given in (("binds", binds), ("default_buffer_params", default_buffer_params)))
    operation = op.op if isinstance(op, _core.Tensor) else expect(op, _core.Operation, "op", "an operation or its tensor")
    inputs = list(operation.input_tensors)
    outputs = [operation.output(k) for k in range(operation.num_outputs)]
    buffers = [binds.get(t) or decl_buffer(t.shape, t.dtype, t.op.name, **parameters) for t in inputs + outputs]
    result = fcompute(buffers[:len(inputs)], buffers[len(inputs):], *([scalars] if scalars else []))
    parts = tuple(result) if isinstance(result, (tuple, list)) else (result, None, None)
    if len(parts) != 3:
        _core.raise_error("bad-argument", f"fcompute returned {len(parts)} statements", "one, or body, reset and update")
    return _core.decl_tensor_intrin(name, operation, buffers, *(_statement(p) for p in parts), scalars)


def _statement(part):
    return _core.evaluate(part) if isinstance(part, _core.PrimExpr) else part
