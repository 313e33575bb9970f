# SPDX-License-Identifier: Apache-2.0
"""From a network to what can be run: passes in their order, each through `Graph.apply`. NNVM's `nnvm.compiler.build_module`."""

import functools
import logging as _logging
import math
from typing import NamedTuple

from .. import _core, nd as _nd, symbol as _symbol
from .. import graph as _graph
from .._core import raise_error as _raise_error
from ..target import Target, _resolve
from . import arguments, graph_attr, graph_util
from .build_config import BuildConfig, build_config

_log = _logging.getLogger(__name__)


def _lower(name, loops):
    """Shows a kernel in the debug log, as NNVM does."""
    root = _logging.getLogger()
    if root.isEnabledFor(_logging.DEBUG):
        root.debug("lower function %s", name)
        root.debug("%s", loops())


_core.observe_graph_kernels(_lower)


def _update_shape_dtype(shape, dtype, params):
    """Shapes and types, with those of the parameters."""
    shape = dict(shape)
    if not params:
        return shape, dtype
    shape.update({name: tuple(value.shape) for name, value in params.items()})
    if isinstance(dtype, str):
        for name, value in params.items():
            if str(value.dtype) != dtype:
                _raise_error(
                    "bad-argument", f"parameter '{name}' is {value.dtype}, and dtype says {dtype} for all inputs",
                    legal="a dict of names and types")
    else:
        dtype = dict(dtype)
        dtype.update({name: str(value.dtype) for name, value in params.items()})
    return shape, dtype


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
    config = BuildConfig.current()
    for name in ("SimplifyInference", "FoldScaleAxis"):
        if config.pass_enabled(name):
            graph = graph_attr.set_shape_inputs(graph, shape)
            graph = graph.apply(["InferShape", name])
    if config.pass_enabled("AlterOpLayout"):
        graph = graph_attr.set_layout_inputs(graph, layout or {}).apply(["CorrectLayout"])
        graph = graph_attr.set_shape_inputs(graph, shape)
        graph = graph_attr.set_dtype_inputs(graph, dtype)
        _set_build_attributes(graph)
        graph = graph.apply(["InferShape", "InferType", "AlterOpLayout"])
        graph = graph_attr.set_layout_inputs(graph, layout or {}).apply(["CorrectLayout"])
    return graph


def _set_build_attributes(graph):
    """What kernels are built for, and the log that says how."""
    from ..autotune import apply_best

    graph._set_json_attr("target", str(_resolve(None)), "str")
    best = apply_best._innermost()
    if best is not None:
        graph._set_json_attr("log", best.log.path, "str")
    if best is not None and best.threads:
        graph._set_json_attr("threads", best.threads, "int")


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
    graph, params, initial = prepare(graph, shape, dtype, params, layout)
    graph = graph.apply("GraphFuseCompile")
    kernels = [BuiltKernel(*row) for row in _core.graph_kernels(graph._native)]
    params = _core.graph_pack(graph._native, params)
    module = graph_attr._move_out_module(graph, "module")
    names = graph.index.input_names
    params.update({name: value for name, value in initial.items() if name in names})
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
    graph = _as_graph(graph)
    config = BuildConfig.current()
    params = {name: _array(name, value) for name, value in arguments.by_name(params, "params").items()}
    dtype = _own_dtypes(graph, arguments.dtype_names(dtype))
    shape, dtype = _update_shape_dtype(arguments.by_name(shape, "shape"), dtype, params)
    layout = arguments.layouts(layout, shape)
    for named in (shape, dtype, layout):
        if not isinstance(named, str):
            arguments.require_inputs(graph, named)
    graph = build_functions(graph, shape, dtype, params)
    if graph.symbol.list_input_names("aux_state"):
        graph = graph.apply("OrderMutation")
    graph = graph_attr.set_layout_inputs(graph, layout)
    graph = graph.apply("CorrectLayout")
    index = graph.index
    layouts = graph.json_attr("layout")
    layout = {name: layouts[index.entry_id(name)] for name in index.input_names}

    shapes, _ = graph_util.infer_shape(graph, **shape)
    shape.update({name: s for name, s in zip(index.input_names, shapes, strict=True) if s is not None})
    if not isinstance(dtype, str):
        types, _ = graph_util.infer_dtype(graph, **dtype)
        dtype.update({name: t for name, t in zip(index.input_names, types, strict=True) if t is not None})
    initial = {}
    if _symbol._all_var_init:
        initial = initialize_variables(shape, dtype, index.input_names)

    if config.pass_enabled("FakeQuantizationToInteger"):
        graph = fake_quantization_to_integer(graph, shape, dtype, layout)
    graph = expand_operators(graph, shape, dtype, layout)
    graph = optimize(graph, shape, dtype, layout)
    params = {name: value for name, value in params.items() if name in graph.index.input_names}
    if params and config.pass_enabled("PrecomputePrune"):
        graph, params = precompute_prune(graph, params)
        shape, dtype = _update_shape_dtype(shape, dtype, params)

    graph = graph_attr.set_shape_inputs(graph, shape)
    graph = graph.apply("InferShape")
    graph = graph_attr.set_dtype_inputs(graph, dtype)
    _set_build_attributes(graph)
    graph._set_json_attr("opt_level", 1 if config.pass_enabled("OpFusion") else 0, "int")
    graph._set_json_attr("fusion", config.fusion, "str")
    if config.pass_enabled("PrecomputePrune"):
        graph._set_json_attr("param_name_list", list(params), "list_str")
    graph = graph.apply("InferShape").apply("InferType")
    return graph.apply("GraphFusePartition"), params, initial


@functools.cache
def _expressions():
    """The names of operators that stand for expressions of others and have no kernels of their own."""
    return {op["name"] for op in _graph.operators() if op["is_expression"]}


def expand_operators(graph, shape, dtype="float32", layout=None):
    """The graph with expressions in the place of the operators that stand for them, without what is then twice there or does
    nothing. One without such operators stays as it is.

    Parameters
    ----------
    graph: Graph
    shape, dtype, layout
        Of inputs, as `build` takes them.
    """
    if not any(node["op"] in _expressions() for node in graph.index.nodes):
        return graph
    graph = graph_attr.set_shape_inputs(graph, shape).apply("ExpandOperators")
    graph = graph_attr.set_shape_inputs(graph.apply("CommonSubexpression"), shape)
    graph = graph_attr.set_dtype_inputs(graph, dtype).apply(["InferShape", "InferType", "DeadNodes"])
    return graph_attr.set_layout_inputs(graph, layout or {}).apply("CorrectLayout")


def fake_quantization_to_integer(graph, shape, dtype="float32", layout=None):
    """The graph with operators of integers in the place of those between dequantize and quantize. One without such operators
    stays as it is.

    Parameters
    ----------
    graph: Graph
    shape, dtype, layout
        Of inputs, as `build` takes them.
    """
    if not any(node["op"] in ("dequantize", "matmul_integer") or node["op"].endswith("d_integer") for node in graph.index.nodes):
        return graph
    graph = graph_attr.set_dtype_inputs(graph_attr.set_shape_inputs(graph, shape), dtype)
    graph = graph.apply(["InferShape", "InferType", "FakeQuantizationToInteger"])
    return graph_attr.set_layout_inputs(graph, layout or {}).apply("CorrectLayout")


def build_functions(graph, shape, dtype, params):
    """The graph with code of other code generators for the functions that `byoc.partition` made.

    Those that a code generator refuses, fails or crashes on are inlined, with a line in the log for each: our kernels compute
    them.

    Parameters
    ----------
    graph: Graph
    shape, dtype, params
        As `build` takes them. Values of parameters go into the code.
    """
    if not graph.functions():
        return graph
    from ..autotune import apply_best

    graph = graph_attr.set_dtype_inputs(graph_attr.set_shape_inputs(graph, shape), dtype).apply(["InferShape", "InferType"])
    best = apply_best._innermost()
    native, refused = _core.build_graph_regions(graph._native, params, best.threads if best is not None and best.threads else 0)
    for line in refused:
        _log.warning("%s", line)
    return _graph.Graph(native)


def _array(name, value):
    if isinstance(value, _nd.NDArray):
        # Parameters of a file may lie anywhere in it; kernels read whole elements.
        aligned = value.size == 0 or value.data_ptr % (value.nbytes // value.size) == 0
        return value if aligned else value.copy()
    if not hasattr(value, "dtype"):
        _raise_error("type-mismatch", f"parameter '{name}' is a {type(value).__name__}", legal="an array")
    return _nd.array(value)


def _say_what_is_untuned(kernels):
    """One line, where a log was given and lacks some kernels."""
    from ..autotune import apply_best

    best = apply_best._innermost()
    untuned = [k for k in kernels if k.origin != "record"]
    if best is not None and untuned:
        _log.warning(
            "%d of %d kernels are not in %s and have the prior's schedules: autotune NETWORK --trials=N --log=%s",
            len(untuned), len(kernels), best.log.path, best.log.path)


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
    graph = _as_graph(graph)
    graph._set_json_attr("param_name_list", list(params), "list_str")
    graph = graph.apply("PrecomputePrune")
    names = graph.json_attr("output_names")
    before = graph_attr._move_out_graph(graph, "precompute_graph")
    if before is None or not names:
        return graph, params
    computed = dict(zip(names, _run_graph(before, params), strict=True))
    known = {**params, **computed}
    return graph, {name: known[name] for name in graph.index.input_names if name in known}


# Of the outputs that are computed at once: the executor's memory is there beside the copies of them.
_MOST_BYTES_AT_ONCE = 24 << 20


def _run_graph(graph, params):
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
        values.update(zip(symbols, _run_graph(graph, inputs), strict=True))
    ishape.update({name: tuple(value.shape) for name, value in values.items()})
    return values
