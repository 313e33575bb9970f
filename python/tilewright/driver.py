# SPDX-License-Identifier: Apache-2.0
"""From programs to code: `lower` and `build`."""

from typing import NamedTuple

from . import _core
from .target import _resolve
from .transform import PassContext


def _lower(schedule, args, target, name, simple_mode=False, constants=None):
    context = PassContext.current()
    context.timings = []
    constants = _constants(constants)
    given = [tensor for tensor, _ in constants]
    return _core.lower(
        schedule, [a for a in args if not any(a is t or a == t for t in given)], target.model, name, simple_mode,
        context.config, context.disabled_pass, context.stop_after, context.observer, context.timings, constants)


def _constants(constants):
    if constants is None:
        return []
    if not isinstance(constants, dict):
        _core.raise_error("bad-argument", f"constants is a {type(constants).__name__}", "a dict {placeholder: array}")
    return list(constants.items())


def lower(sch, args, name="default_function", binds=None, simple_mode=False, constants=None):
    """The kernel of a schedule as IR; str() of it is the text.

    args: tensors and variables in call order; outputs that args leave out follow them. simple_mode: loops as a person
    reads them, every pass but loop_partition, and no unpacking of arguments. constants: as for build. Options come from
    transform.PassContext, the target from `with Target(...)`.
    """
    _no_binds(binds)
    return _lower(_schedule_of(sch), args, _resolve(None), name, simple_mode, constants)


def build(
        inputs, args=None, target=None, target_host=None, name="default_function", binds=None, constants=None, *, cross=False):
    """Compiles to a Module.

    inputs is a schedule (then args are its arguments in call order), what `lower` gave, a list of those, or a list of
    tensors without a schedule: all arguments, or the outputs alone. The schedule of tensors is the best record of
    autotune.apply_best where that is active, otherwise the analytical prior's; `schedule_origin` of the Module says which.
    Tensors that were built before, by the same names, for the same target, with the same schedule and without constants,
    share what was compiled then.

    A call checks its arguments. What a kernel writes must share no memory with another argument, but for those that
    `may_share` of the function lists: with them it works in place. `unchecked` of the function leaves out the checks.

    constants: {placeholder: array} for placeholders made with constant=True. They are arguments no more; stages that the
    schedule precomputes from them are computed now, once, and an exported library has copies of what it needs, large ones in a file beside it (.params).

    cross: builds for another machine. A target with features that this machine lacks is refused otherwise; what is built
    for it can be exported and read (get_source), and not called here.
    """
    _no_binds(binds)
    if target_host is not None:
        _core.raise_error("bad-argument", "target_host is given", "target alone: code runs where it is called")
    target = _resolve(target)
    if _is_program(inputs):
        return _build_program(inputs, target, name, _constants(constants), cross)
    return _core.compile(_kernels(inputs, args, target, name, constants), target.model, cross)


def _is_program(inputs):
    tensors = (_core.Tensor, _core.Program)
    return isinstance(inputs, tensors) or (
        isinstance(inputs, (list, tuple)) and bool(inputs) and all(isinstance(t, _core.Tensor) for t in inputs))


def _build_program(tensors, target, name, constants, cross):
    from .autotune import apply_best
    from .te.text import _program

    best = apply_best._innermost()
    log, threads = (best.log._file, best.threads) if best else (None, None)
    return _core.build_program(_program(tensors), target.model, name, constants, log, threads or 0, cross)


def _kernels(inputs, args, target, name, constants):
    lowered = isinstance(inputs, _core.LoweredFunc) or (
        isinstance(inputs, (list, tuple)) and any(isinstance(f, _core.LoweredFunc) for f in inputs))
    if constants and lowered:
        _core.raise_error("bad-argument", "constants for functions that are lowered already", "lower(..., constants=...)")
    if isinstance(inputs, _core.LoweredFunc):
        return [inputs]
    if isinstance(inputs, _core.Schedule):
        if args is None:
            _core.raise_error("bad-argument", "a schedule without args", "build(s, [A, B, C])")
        return [_lower(inputs, args, target, name, constants=constants)]
    if isinstance(inputs, (list, tuple)) and inputs and all(isinstance(f, _core.LoweredFunc) for f in inputs):
        return list(inputs)
    _core.raise_error(
        "bad-argument", f"cannot build {type(inputs).__name__}",
        "a schedule with args, a lowered function, a list of those, or a list of tensors")


def _schedule_of(sch):
    if not isinstance(sch, _core.Schedule):
        _core.raise_error("bad-argument", f"cannot lower {type(sch).__name__}", "a schedule of te.create_schedule")
    return sch


def _no_binds(binds):
    if binds:
        _core.raise_error("bad-argument", "binds are given", "none: buffers are those of the tensors")


class PassInfo(NamedTuple):
    """One row of the pass table: `requires` and `ensures` are names of properties of the IR, `optional` may be disabled."""

    name: str
    optional: bool
    requires: list
    ensures: list
    doc: str

    def __repr__(self):
        return f"{self.name}: {self.doc}"


def lower_passes():
    """The passes of lowering in the order in which they run."""
    return [PassInfo(*row) for row in _core.passes()]
