# SPDX-License-Identifier: Apache-2.0
"""Schedules. The methods of Stage and Schedule are made from the table of primitives."""

import difflib

from .. import _core
from ..generated import functions_of as _functions_of
from .._core import Fuse, IterVarAttr, Schedule, Singleton, Split, Stage  # noqa: F401
from .text import _program


def create_schedule(ops):
    """A schedule that computes these operations (or tensors) and all that they need, each at the outermost level."""
    return _core.create_schedule(list(ops) if isinstance(ops, (tuple, list)) else [ops])


def schedule_from_trace(tensors, trace):
    """The schedule that a trace (or its text) describes, on a program equal to the one it was recorded on."""
    program = _program(tensors)
    schedule = _core.create_schedule(program.outputs)
    schedule.apply(trace if isinstance(trace, _core.Trace) else _core.Trace(trace))
    return schedule


def InferBound(sch):
    """What each axis runs over once bounds are inferred, as TVM has it: a Range by axis."""
    return _core.infer_bound(sch)


def ScheduleOps(sch, bounds=None, debug_keep_trivial_loop=False):
    """The loops of a schedule as a statement, before any pass.

    bounds: what InferBound gives, as TVM takes it; they are inferred here. debug_keep_trivial_loop: loops of one iteration
    stay.
    """
    del bounds
    return _core.schedule_ops(sch, bool(debug_keep_trivial_loop))


def CreateReadGraph(ops):
    """What each operation reads that these need, them among them: {operation: [tensor]}."""
    graph, waiting = {}, list(ops)
    while waiting:
        op = waiting.pop()
        if op not in graph:
            graph[op] = list(op.input_tensors)
            waiting += [tensor.op for tensor in graph[op]]
    return graph


def PostDFSOrder(outputs, graph):
    """The operations of a read graph that these need, each behind those that it reads."""
    order, seen = [], set()
    waiting = [(op, False) for op in reversed(list(outputs))]
    while waiting:
        op, has_all = waiting.pop()
        if has_all:
            order.append(op)
        elif op not in seen:
            seen.add(op)
            waiting.append((op, True))
            waiting += [(tensor.op, False) for tensor in reversed(graph[op])]
    return order


def AutoInlineInjective(sch):
    """Inlines all stages that compute an element from elements, but for outputs, those that have a place or loops of
    their own already, and what externs, scans and calls of intrinsics read.
    """
    expressions = (_core.ComputeOp, _core.PlaceholderOp)
    stored = {t.op for stage in sch.stages if not isinstance(stage.op, expressions) for t in stage.op.input_tensors}
    for stage in sch.stages:
        plain = isinstance(stage.op, _core.ComputeOp) and not stage.op.reduce_axis and stage.op not in stored
        untouched = stage.attach_type == "root" and not stage.relations and not stage.iter_var_attrs
        if plain and untouched and not stage.is_output:
            stage.compute_inline()


def check(schedule, stored=()):
    """All that is wrong with a schedule, as `schedule.check(stored)` gives it."""
    return schedule.check(list(stored))


def _source(name, parameters, results, doc):
    """A method's text: of Schedule when the primitive makes a stage, otherwise of Stage."""
    makes_stage = "stage" in results
    signature, passed = ["self"], []
    if makes_stage:
        signature.append("tensor")
    for k, (parameter, kind, optional) in enumerate(parameters[1:], start=1):
        if kind in ("axes", "stages") and k == len(parameters) - 1 and not makes_stage:
            signature.append("*" + parameter)
        else:
            signature.append(parameter + ("=None" if optional else ""))
        # Which output of its operation a tensor is, the tensor knows.
        passed.append("_value_index(tensor, value_index)" if parameter == "value_index" else parameter)
    target = "self[_first(tensor)]" if makes_stage else "self"
    arguments = "".join(p + ", " for p in passed)
    call = f"{target}._apply({name!r}, ({arguments}))"
    if makes_stage:
        call = f"_like(tensor, {call})"
    return f'def {name}({", ".join(signature)}):\n    """{doc}"""\n    return {call}\n'


def create_group(self, outputs, inputs, include_inputs=False):
    """A group of the stages between the inputs and the outputs, and of the inputs' own if asked for.

    Its compute_at(parent, axis) computes there all that have no place of their own. Groups may be inside others; a
    stage of a group is computed inside stages of the same group only.
    """
    as_list = lambda t: list(t) if isinstance(t, (tuple, list)) else [t]  # noqa: E731
    outputs, inputs = as_list(outputs), as_list(inputs)
    return self[outputs[0]]._apply("create_group", (outputs, inputs, int(bool(include_inputs)) or None))


def normalize(self):
    """The schedule itself: InferBound, ScheduleOps and lowering normalise a copy."""
    return self


def _first(tensor):
    """The tensor, or the first of a list, which must be outputs of one operation."""
    if not isinstance(tensor, (tuple, list)):
        return tensor
    operations = {getattr(t, "op", None) for t in tensor}
    if len(operations) != 1 or None in operations:
        names = ", ".join(str(getattr(t, "name", t)) for t in tensor)
        _core.raise_error("bad-argument", f"tensors [{names}] are not of one operation", "the outputs of one operation")
    return tensor[0]


def _unknown(self, name):
    """What is said of an attribute that a stage or a schedule does not have."""
    kind = type(self).__name__
    if name.startswith("_"):
        raise AttributeError(f"'{kind}' object has no attribute {name!r}")
    names = sorted(n for n in dir(type(self)) if not n.startswith("_"))
    near = difflib.get_close_matches(name, names, 1)
    hint = f"; the nearest is '{near[0]}'" if near else ""
    raise AttributeError(f"{_core.caller()}: '{kind}' has no {name!r}{hint}; legal: {', '.join(names)}")


def _value_index(tensor, given):
    """The one given, else the tensor's; None for the first, as steps of a trace have it."""
    return (getattr(_first(tensor), "value_index", 0) or None) if given is None else given


def _like(tensor, result):
    """A list when a list of tensors was given, as TVM does."""
    if isinstance(tensor, (tuple, list)) and not isinstance(result, tuple):
        return [result]
    return list(result) if isinstance(result, tuple) else result


def _install():
    sources, owners = [], {}
    for name, _, parameters, results, doc in _core.primitives():
        if "group" in results:
            continue
        sources.append(_source(name, parameters, results, doc))
        owners[name] = _core.Schedule if "stage" in results else _core.Stage
    helpers = {"_first": _first, "_like": _like, "_value_index": _value_index}
    for name, function in _functions_of(sources, __name__, helpers).items():
        function.__qualname__ = f"{owners[name].__name__}.{name}"
        setattr(owners[name], name, function)
    _core.Schedule.create_group = create_group
    _core.Schedule.normalize = normalize
    _core.Stage.__getattr__ = _core.Schedule.__getattr__ = _unknown


_install()
