# SPDX-License-Identifier: Apache-2.0
"""The passes of a build in their order, as data: BUILD_STEPS.

    for step in tw.compiler.BUILD_STEPS:
        print(step.name, [(call.given, call.passes) for call in step.calls])
    graph = tw.compiler.apply_steps(graph, ["SimplifyInference", "FoldScaleAxis"], shape={"data": (1, 3, 224, 224)})

Each row has the calls of `Graph.apply` that it makes, and what is set of the graph's attributes before each.
"""

import functools
import logging as _logging
from typing import NamedTuple

from .. import _core, symbol as _symbol
from .. import graph as _graph
from .._core import raise_error as _raise_error
from ..target import _resolve
from . import arguments, graph_attr, graph_util
from .build_config import OPT_PASS_LEVEL, BuildConfig

_log = _logging.getLogger(__name__)


class Build:
    """A network on its way to kernels, and what is known of it.

    Attributes
    ----------
    graph: Graph
    shape: dict of str to tuple of int
    dtype: str or dict of str to str
    layout: str or dict of str to str
        Of inputs by name.
    params: dict of str to NDArray
        Inputs whose values do not change.
    initial: dict of str to NDArray
        Values of variables that were made with `init`.
    """

    def __init__(self, graph, shape, dtype, layout=None, params=None):
        self.graph = graph
        self.shape = dict(shape)
        self.dtype = dtype
        self.layout = layout if isinstance(layout, str) else dict(layout or {})
        self.params = dict(params or {})
        self.initial = {}

    def run(self, step):
        """Takes a step, where the build's options and the graph ask for it."""
        if step.name in OPT_PASS_LEVEL and not BuildConfig.current().pass_enabled(step.name):
            return
        if step.when is not None and not step.when(self):
            return
        for call in step.calls:
            for what in call.given:
                getattr(self, f"_give_{what}")()
            self.graph = self.graph.apply(call.passes[0] if len(call.passes) == 1 else list(call.passes))
        if step.then is not None:
            step.then(self)

    def inputs_with_values(self):
        """The parameters that the graph has, dict of str to NDArray."""
        names = set(self.graph.index.input_names)
        return {name: value for name, value in self.params.items() if name in names}

    def learn_from_parameters(self):
        """Shapes and types of inputs, with those of the parameters."""
        self.shape.update({name: tuple(value.shape) for name, value in self.params.items()})
        if not isinstance(self.dtype, str):
            self.dtype = {**self.dtype, **{name: str(value.dtype) for name, value in self.params.items()}}

    def _give_shape(self):
        graph_attr.set_shape_inputs(self.graph, self.shape)

    def _give_dtype(self):
        graph_attr.set_dtype_inputs(self.graph, self.dtype)

    def _give_layout(self):
        graph_attr.set_layout_inputs(self.graph, self.layout)

    def _give_target(self):
        """What kernels are built for, and the log that says how."""
        self.graph._set_json_attr("target", str(_resolve(None)), "str")
        best = active_log()
        if best is not None:
            self.graph._set_json_attr("log", best.log.path, "str")
        if best is not None and best.threads:
            self.graph._set_json_attr("threads", best.threads, "int")

    def _give_fusion(self):
        config = BuildConfig.current()
        self.graph._set_json_attr("opt_level", 1 if config.pass_enabled("OpFusion") else 0, "int")
        self.graph._set_json_attr("fusion", config.fusion, "str")

    def _give_params(self):
        if BuildConfig.current().pass_enabled("PrecomputePrune"):
            self.graph._set_json_attr("param_name_list", list(self.inputs_with_values()), "list_str")


def active_log():
    """The innermost `autotune.apply_best`; None outside of all."""
    from ..autotune import apply_best

    return apply_best._innermost()


class Call(NamedTuple):
    """A call of `Graph.apply`.

    Attributes
    ----------
    passes: list of str
    given: list of str
        What is set before: shape, dtype and layout of inputs; target, with the log and its threads; fusion, with its level;
        params, the names of inputs that have values.
    """

    passes: list
    given: list


def call(passes, given=""):
    """Call: of words."""
    return Call(passes.split(), given.split())


class Step(NamedTuple):
    """A step of the build.

    Attributes
    ----------
    name: str
        In OPT_PASS_LEVEL, where the level says whether it is taken; the others always are.
    calls: list of Call
    when: function of Build to bool, optional
        Whether the graph has anything for it.
    then: function of Build, optional
        What is done with what the passes found.
    """

    name: str
    calls: list
    when: object = None
    then: object = None


def _has_functions(build):
    return bool(build.graph.functions())


def _build_functions(build):
    """Code of other code generators for the functions that `byoc.partition` made. Those that one refuses, fails or crashes on
    are inlined, with a line in the log for each: our kernels compute them."""
    best = active_log()
    native, refused = _core.build_graph_regions(
        build.graph._native, build.params, best.threads if best is not None and best.threads else 0)
    for line in refused:
        _log.warning("%s", line)
    build.graph = _graph.Graph(native)


def _has_states(build):
    return bool(build.graph.symbol.list_input_names("aux_state"))


def _learn_inputs(build):
    """What the operators want of inputs that nothing was said of, and what variables begin with."""
    graph, names = build.graph, build.graph.index.input_names
    layouts = graph.json_attr("layout")
    build.layout = {name: layouts[graph.index.entry_id(name)] for name in names}
    known = lambda of_inputs: {name: value for name, value in of_inputs.items() if name in set(names)}
    shapes, _ = graph_util.infer_shape(graph, **known(build.shape))
    build.shape.update({name: s for name, s in zip(names, shapes, strict=True) if s is not None})
    if not isinstance(build.dtype, str):
        types, _ = graph_util.infer_dtype(graph, **known(build.dtype))
        build.dtype = {**build.dtype, **{name: t for name, t in zip(names, types, strict=True) if t is not None}}
    if _symbol._all_var_init:
        from .build_module import initialize_variables

        build.initial = initialize_variables(build.shape, build.dtype, names)


def _is_quantized(build):
    return any(node["op"] in ("dequantize", "matmul_integer") or node["op"].endswith("d_integer") for node in build.graph.index.nodes)


@functools.cache
def _expressions():
    return {op["name"] for op in _graph.operators() if op["is_expression"]}


def _has_expressions(build):
    return any(node["op"] in _expressions() for node in build.graph.index.nodes)


def _has_parameters(build):
    return bool(build.inputs_with_values())


def _compute_parameters(build):
    """What depends on parameters alone is computed now, and is a parameter then."""
    from .build_module import run_graph

    names = build.graph.json_attr("output_names")
    before = graph_attr._move_out_graph(build.graph, "precompute_graph")
    if before is not None and names:
        build.params.update(zip(names, run_graph(before, build.params), strict=True))
    build.params = build.inputs_with_values()
    build.learn_from_parameters()


BUILD_STEPS = (
    Step("BuildFunctions", [call("InferShape InferType", "shape dtype")], _has_functions, _build_functions),
    Step("OrderMutation", [call("OrderMutation")], _has_states),
    Step("CorrectLayout", [call("CorrectLayout", "layout")], then=_learn_inputs),
    Step("FakeQuantizationToInteger",
         [call("InferShape InferType FakeQuantizationToInteger", "shape dtype"), call("CorrectLayout", "layout")], _is_quantized),
    Step("ExpandOperators", [
        call("ExpandOperators", "shape"),
        call("CommonSubexpression"),
        call("InferShape InferType DeadNodes", "shape dtype"),
        call("CorrectLayout", "layout")], _has_expressions),
    Step("SimplifyInference", [call("InferShape SimplifyInference", "shape")]),
    Step("FoldScaleAxis", [call("InferShape FoldScaleAxis", "shape")]),
    Step("AlterOpLayout", [
        call("CorrectLayout", "layout"),
        call("InferShape InferType AlterOpLayout", "shape dtype target"),
        call("CorrectLayout", "layout")]),
    Step("PrecomputePrune", [call("PrecomputePrune", "params")], _has_parameters, _compute_parameters),
    Step("GraphFusePartition", [
        call("InferShape", "shape"),
        call("InferShape", "dtype target fusion params"),
        call("InferType"),
        call("GraphFusePartition")]),
    Step("GraphFuseCompile", [call("GraphFuseCompile")]),
)


def steps(names):
    """The rows of BUILD_STEPS with these names, in the order of the table."""
    known = {step.name for step in BUILD_STEPS}
    for name in names:
        if name not in known:
            _raise_error("bad-argument", f"no step of the build is '{name}'", legal=", ".join(step.name for step in BUILD_STEPS))
    return [step for step in BUILD_STEPS if step.name in names]


def apply_steps(graph, names, shape, dtype="float32", layout=None, params=None):
    """The graph after some of BUILD_STEPS, those that the active `build_config` takes.

    Parameters
    ----------
    graph: Graph or Symbol
    names: list of str
    shape, dtype, layout, params
        Of inputs, as `build` takes them.

    Returns
    -------
    Graph
    """
    graph = graph if isinstance(graph, _graph.Graph) else _graph.create(graph)
    state = Build(graph, arguments.by_name(shape, "shape"), arguments.dtype_names(dtype), layout, params)
    for step in steps(names):
        state.run(step)
    return state.graph
