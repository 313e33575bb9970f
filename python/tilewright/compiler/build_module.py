# SPDX-License-Identifier: Apache-2.0
"""From a network to what can be run: passes in their order, each through `Graph.apply`. NNVM's `nnvm.compiler.build_module`."""

import logging as _logging
import math
from typing import NamedTuple

from .. import _core, nd as _nd, symbol as _symbol
from .. import graph as _graph
from .._core import raise_error as _raise_error
from ..target import Target, _resolve
from . import arguments, graph_attr, graph_util
from .build_config import BuildConfig, build_config
from .steps import BUILD_STEPS, Build, active_log, apply_steps, steps

_log = _logging.getLogger(__name__)

*_PREPARATION, _COMPILATION = BUILD_STEPS


def _lower(name, loops):
    """Shows a kernel in the debug log, as NNVM does."""
    root = _logging.getLogger()
    if root.isEnabledFor(_logging.DEBUG):
        root.debug("lower function %s", name)
        root.debug("%s", loops())


_core.observe_graph_kernels(_lower)


def _require_dtype(params, dtype):
    """One type for all inputs is that of the parameters too."""
    for name, value in params.items():
        if isinstance(dtype, str) and str(value.dtype) != dtype:
            _raise_error(
                "bad-argument", f"parameter '{name}' is {value.dtype}, and dtype says {dtype} for all inputs",
                legal="a dict of names and types")


def _require_shapes(params, shape):
    for name, value in params.items():
        if shape.get(name) is not None and tuple(shape[name]) != tuple(value.shape):
            _raise_error(
                "shape-conflict", f"parameter '{name}' has shape {tuple(value.shape)}, and shape says {tuple(shape[name])}",
                legal="the same in both")


def _own_dtypes(graph, dtype):
    """Element types by name, where one is given for all inputs that do not say their own and some do."""
    if not isinstance(dtype, str) or not any(n["op"] == "null" and "dtype" in n.get("attrs", {}) for n in graph.index.nodes):
        return dtype
    types, _ = graph_util.infer_dtype(graph)
    return {name: own or dtype for name, own in zip(graph.index.input_names, types, strict=True)}


def optimize(graph, shape, dtype="float32", layout=None):
    """The graph after the passes that change what it computes it with, and not what it computes.

    Parameters
    ----------
    graph: Graph
    shape: dict of str to tuple of int
    dtype: str or dict of str to str
    layout: dict of str to str, optional

    Returns
    -------
    Graph
    """
    return apply_steps(graph, ["SimplifyInference", "FoldScaleAxis", "AlterOpLayout"], shape, dtype, layout)


def build(graph, target=None, shape=None, dtype="float32", params=None, target_host=None, layout=None):
    """Builds a network: a kernel for each group of nodes that are fused.

    A kernel's schedule is the best record of `autotune.apply_best` where that is active and has one, otherwise the
    analytical prior's.

    Parameters
    ----------
    graph: Graph or Symbol
    target: str or Target, optional
        By default the active one, or this machine.
    shape: dict of str to tuple of int
        Of inputs by name. What follows from other shapes may be left out.
    dtype: str or dict of str to str
        Element types of inputs, or one for all that do not say their own.
    params: dict of str to array, optional
        Inputs whose values do not change.
    layout: dict of str to str, optional
        Layouts of inputs, by default as operators want them.

    Returns
    -------
    graph: Graph
        Calls of kernels (`tvm_op`); what `contrib.graph_runtime` runs.
    lib: Module
        The kernels; None where there is none to run.
    params: dict of str to NDArray
        Inputs of that graph that have values.

    Raises
    ------
    UserError (shape-conflict, type-conflict, bad-graph, bad-argument, …)
        With the node, the input and both shapes.
    """
    if target_host is not None:
        _raise_error("bad-argument", "target_host is given", legal="target alone: code runs where it is called")
    with _resolve(target):
        *built, kernels = build_kernels(graph, shape, dtype, params, layout)
    _say_what_is_untuned(kernels)
    return tuple(built)


def _as_graph(graph):
    return graph if isinstance(graph, _graph.Graph) else _graph.create(graph)


class BuiltKernel(NamedTuple):
    """A kernel of a built network.

    Attributes
    ----------
    name: str
        Of the module's function.
    calls: int
        How many nodes call it.
    origin: str
        Where its schedule came from: "record", "prior" or "unscheduled".
    record: int
        The record's number in the log; 0 without one.
    program: te.Program
    """

    name: str
    calls: int
    origin: str
    record: int
    program: object


def build_kernels(graph, shape=None, dtype="float32", params=None, layout=None):
    """As `build`, for the active target, and besides what it gives a list of BuiltKernel."""
    known = _prepared(graph, shape, dtype, params, layout)
    params = known.inputs_with_values()
    known.run(_COMPILATION)
    graph = known.graph
    kernels = [BuiltKernel(*row) for row in _core.graph_kernels(graph._native)]
    params = _core.graph_pack(graph._native, params)
    module = graph_attr._move_out_module(graph, "module")
    names = graph.index.input_names
    params.update({name: value for name, value in known.initial.items() if name in names})
    return graph, module, params, kernels


def prepare(graph, shape=None, dtype="float32", params=None, layout=None):
    """The passes in front of GraphFuseCompile, for the active target: what is tuned and what is built.

    Parameters
    ----------
    graph, shape, dtype, params, layout
        As `build` takes them.

    Returns
    -------
    graph: Graph
        Partitioned.
    params: dict of str to NDArray
        Those that it has, computed as far as they depend on others alone.
    initial: dict of str to NDArray
        Values of variables that were made with `init`.
    """
    known = _prepared(graph, shape, dtype, params, layout)
    return known.graph, known.inputs_with_values(), known.initial


def _prepared(graph, shape, dtype, params, layout):
    """Build: after all steps but the last."""
    graph = _as_graph(graph)
    params = {name: _array(name, value) for name, value in arguments.by_name(params, "params").items()}
    dtype = _own_dtypes(graph, arguments.dtype_names(dtype))
    _require_dtype(params, dtype)
    shape = arguments.by_name(shape, "shape")
    _require_shapes(params, shape)
    known = Build(graph, shape, dtype, params=params)
    known.learn_from_parameters()
    known.layout = arguments.layouts(layout, known.shape)
    for named in (known.shape, known.dtype, known.layout):
        if not isinstance(named, str):
            arguments.require_inputs(graph, named)
    for step in _PREPARATION:
        known.run(step)
    return known


def _array(name, value):
    if isinstance(value, _nd.NDArray):
        # Parameters of a file may lie anywhere in it; kernels read whole elements.
        aligned = value.size == 0 or value.data_ptr % (value.nbytes // value.size) == 0
        return value if aligned else value.copy()
    if not hasattr(value, "dtype"):
        _raise_error("type-mismatch", f"parameter '{name}' is a {type(value).__name__}", legal="an array")
    return _nd.array(value)


def _say_what_is_untuned(kernels):
    """One line, with the command that tunes these kernels: those of another level may be others."""
    best = active_log()
    untuned = [k for k in kernels if k.origin != "record"]
    if not untuned:
        return
    level, count = BuildConfig.current().opt_level, f"{len(untuned)} of {len(kernels)} kernels"
    if best is not None:
        _log.warning(
            "%s are not in %s and have the prior's schedules: autotune NETWORK --trials=N --opt-level=%d --log=%s",
            count, best.log.path, level, best.log.path)
    else:
        _log.warning(
            "%s have the prior's schedules: autotune NETWORK --trials=N --opt-level=%d, then build in autotune.apply_best('tuning.db')",
            count, level)


def precompute_prune(graph, params):
    """What depends on parameters alone is computed now.

    Parameters
    ----------
    graph: Graph
    params: dict of str to NDArray

    Returns
    -------
    graph: Graph
        Without those nodes.
    params: dict of str to NDArray
        The parameters that it has.
    """
    known = Build(_as_graph(graph), {}, {}, params=params)
    with build_config(add_pass="PrecomputePrune"):
        known.run(steps(["PrecomputePrune"])[0])
    return known.graph, known.params


# Of the outputs that are computed at once: the executor's memory is there beside the copies of them.
_MOST_BYTES_AT_ONCE = 24 << 20


def run_graph(graph, params):
    """The outputs of a graph, list of NDArray, where its inputs have these values."""
    names = graph.index.input_names
    _, shapes = graph_util.infer_shape(graph, **{n: v.shape for n, v in params.items() if n in names})
    parts = [[]]
    room = _MOST_BYTES_AT_ONCE
    for output, shape in zip(graph.symbol, shapes, strict=True):
        size = 4 * math.prod(shape or ())
        if size > room and parts[-1]:
            parts.append([])
            room = _MOST_BYTES_AT_ONCE
        parts[-1].append(output)
        room -= size
    if len(parts) == 1:
        return _run_part(graph, params)
    return [value for part in parts for value in _run_part(_graph.create(_symbol.Group(part)), params)]


def _run_part(graph, params):
    from ..contrib import graph_runtime

    needed = {name: value for name, value in params.items() if name in graph.index.input_names}
    shape = {name: value.shape for name, value in needed.items()}
    dtype = {name: str(value.dtype) for name, value in needed.items()}
    with build_config(opt_level=1):
        graph, module, _, _ = build_kernels(graph, shape, dtype)
    executor = graph_runtime.create(graph, module, params=needed)
    executor.run()
    # The executor's memory goes with it, so that nothing is held twice.
    return [executor.get_output(k).copy() for k in range(executor.get_num_outputs())]


def initialize_variables(ishape, idtype, names=None):
    """The values of variables that were made with `init`, which are then forgotten, as NNVM has it.

    Parameters
    ----------
    ishape: dict of str to tuple of int
        Shapes of inputs; those of the variables are added.
    idtype: str or dict of str to str
    names: list of str, optional
        The variables that are meant, those of a network; the others keep theirs. All unless given.

    Returns
    -------
    dict of str to NDArray
    """
    wanted = list(_symbol._all_var_init) if names is None else [n for n in names if n in _symbol._all_var_init]
    given = {name: _symbol._all_var_init.pop(name) for name in wanted}
    symbols = {name: value for name, value in given.items() if isinstance(value, _symbol.Symbol)}
    values = {name: _array(name, value) for name, value in given.items() if name not in symbols}
    if symbols:
        graph = _graph.create(_symbol.Group(list(symbols.values())))
        types = {name: idtype if isinstance(idtype, str) else idtype[name] for name in graph.index.input_names}
        inputs = {name: _nd.empty(ishape[name], types[name]) for name in graph.index.input_names}
        values.update(zip(symbols, run_graph(graph, inputs), strict=True))
    ishape.update({name: tuple(value.shape) for name, value in values.items()})
    return values
