# SPDX-License-Identifier: Apache-2.0
"""Parts of a network by another library or code generator ("bring your own codegen").

Parts are marked by `symbol.compiler_begin` on edges that enter them and `symbol.compiler_end` on those that leave them,
and become functions:

    print(byoc.partition_graph(annotated).astext())
"""

import logging as _logging
from typing import NamedTuple as _NamedTuple

from . import _core
from . import expr_functor as _expr
from . import graph as _graph
from . import dataflow_pattern as _pattern
from . import symbol as _symbol

_log = _logging.getLogger(__name__)

__all__ = ["Fault", "annotate", "check_annotations", "choices", "codegens", "compiler_begin", "compiler_end", "explain_partition", "inline_functions",
           "partition", "partition_graph", "pattern_tables", "register_codegen", "register_pattern_table"]


class Fault(_NamedTuple):
    """What is wrong with annotations.

    Attributes
    ----------
    kind: str
        missing-begin, missing-end, end-without-begin, two-compilers, not-convex or unused-region.
    source, target: str
        The nodes of the edge; `target` is empty for an output of the graph.
    what: str
        The edge and the regions, in words.
    repair: str
        What would be right, such as the `compiler_begin` to insert.
    line: str
        The line that built the node, "net.py:12"; empty where it is not known.
    path: list of str
        Of not-convex: nodes of which the first and the last are in the region and others are not.
    """

    kind: str
    source: str
    target: str
    what: str
    repair: str
    line: str
    path: list


def compiler_begin(expr, compiler):
    """An edge that enters what `compiler` computes.

    Parameters
    ----------
    expr: Symbol or expr_functor.Expr
    compiler: str

    Returns
    -------
    of the type of `expr`
    """
    return _mark("compiler_begin", expr, compiler)


def compiler_end(expr, compiler):
    """An edge that leaves what `compiler` computes; as `compiler_begin`."""
    return _mark("compiler_end", expr, compiler)


def _mark(op, expr, compiler):
    if isinstance(expr, _expr.Expr):
        return _expr.Call(op, [expr], {"compiler": compiler})
    return getattr(_symbol, op)(expr, compiler=compiler)


def _as_graph(graph):
    return graph if isinstance(graph, _graph.Graph) else _graph.create(graph)


def check_annotations(graph):
    """list of Fault: what `partition_graph` would refuse.

    Parameters
    ----------
    graph: Graph or Symbol
    """
    return [Fault(*row) for row in _core.check_graph_annotations(_as_graph(graph)._native)]


def partition_graph(graph, repair=False):
    """The graph with a function in the place of each region between `compiler_begin` and `compiler_end`.

    Parameters
    ----------
    graph: Graph or Symbol
    repair: bool
        Whether marks that are missing are inserted, with a line in the log for each; graph attribute
        `partition_repairs` has the lines. Other faults are refused all the same.

    Raises
    ------
    UserError (bad-graph)
        With the first fault of `check_annotations`, and what would be right.
    """
    graph = _as_graph(graph)
    graph._set_json_attr("repair", int(repair))
    graph = graph.apply("PartitionGraph")
    for line in graph.json_attr("partition_repairs"):
        _log.warning("%s", line)
    return graph


def inline_functions(graph):
    """The graph with the bodies of functions in the place of their calls."""
    return _as_graph(graph).apply("InlineFunctions")


def register_pattern_table(compiler, table=None):
    """Says what a compiler computes. TVM's `relay.op.contrib.register_pattern_table`.

        @register_pattern_table("blas")
        def blas_patterns():
            return [("blas.dense_relu", is_op("nn.relu")(is_op("nn.dense")), lambda match: True, 1), ("blas.dense", is_op("nn.dense"))]

    Parameters
    ----------
    compiler: str
    table: list of tuples, or a function that returns one; optional
        Of each pattern its name, the DFPattern and, where wanted, a predicate, a function from `dataflow_pattern.Match` to
        bool, and a priority: greater ones are tried first, those of the same in the order of the table. Without a table
        this decorates a function.
    """
    if table is None:
        return lambda function: register_pattern_table(compiler, function)
    rows = table() if callable(table) else table
    if not isinstance(compiler, str) or not isinstance(rows, (list, tuple)):
        _core.raise_error("type-mismatch", f"the pattern table {compiler!r}: {type(rows).__name__}", legal="a compiler's name, and a list of rows")
    rows = [_table_row(compiler, k, row) for k, row in enumerate(rows)]
    _core.register_pattern_table(compiler, rows)
    return table


def _table_row(compiler, k, row):
    """The row as the core takes it: name, pattern, predicate over a match's facts, priority."""
    where = f"row {k} of the pattern table of '{compiler}'"

    def require(holds, what, legal):
        if not holds:
            _core.raise_error("bad-argument", f"{where}: {what}", legal=legal)

    legal = "(name, pattern), with a predicate and a priority behind where wanted"
    require(isinstance(row, (tuple, list)) and 2 <= len(row) <= 4, repr(row), legal)
    name, pattern, predicate, priority = (*row, *(None, 0)[len(row) - 2 :])
    require(isinstance(name, str) and name, f"the name {name!r}", "text such as 'blas.dense'")
    require(isinstance(pattern, _pattern.DFPattern), f"the pattern {pattern!r}", "a DFPattern, such as is_op('nn.relu')")
    require(predicate is None or callable(predicate), f"the predicate {predicate!r}", "a function from Match to bool, or None")
    require(isinstance(priority, int), f"the priority {priority!r}", "an int")
    check = None if predicate is None else lambda *facts: bool(predicate(_pattern.Match(*facts)))
    return name, pattern._native, check, priority


def pattern_tables():
    """list of str: the compilers that have a pattern table."""
    return _core.pattern_table_names()


def codegens():
    """list of str: the code generators that build functions. Whether one's library is there shows when it is asked."""
    return _core.graph_codegens()


def register_codegen(compiler, library):
    """Says which library builds the functions of a compiler, whose patterns are `register_pattern_table`'s.

    Parameters
    ----------
    compiler: str
    library: str
        The path of a shared library that `runtime/codegen.h` describes; docs/byoc.md writes one.
    """
    _core.register_graph_codegen(compiler, str(library))


def _for_compiler(graph, pattern_table):
    graph = _as_graph(graph)
    graph._set_json_attr("compiler", pattern_table)
    return graph


def annotate(graph, pattern_table):
    """The graph with instances of a table's patterns as functions, and marks around the largest regions of them.

    MergeComposite, AnnotateTarget and MergeCompilerRegions, one after the other; `partition_graph` makes functions of the
    regions.

    Parameters
    ----------
    graph: Graph or Symbol
        Its attributes `shape`, `dtype` and `param_name_list` are what patterns and predicates look at. Shapes and types that
        it does not have are inferred, from `shape_inputs` and `dtype_inputs` and what variables say.
    pattern_table: str
        The compiler's name.

    Raises
    ------
    UserError (pass-requirement)
        Where nothing is marked and a shape or type that would have been needed is unknown.
    """
    return _for_compiler(graph, pattern_table).apply(["MergeComposite", "AnnotateTarget", "MergeCompilerRegions"])


def partition(graph, pattern_table, shape=None, dtype="float32", params=None, choose="all", log=None):
    """The graph with what a compiler can compute as functions: `annotate`, then `partition_graph`.

    Parameters
    ----------
    graph: Graph or Symbol
    pattern_table: str
        The compiler's name.
    shape, dtype, params
        As `compiler.build` takes them, for patterns and predicates that ask.
    choose: str
        How much of that: "all"; "none"; or "measured", what is faster than our kernels here, for the active target and
        number of threads. That takes some seconds for what no log says yet: see `choices`.
    log: str, optional
        Of "measured": the tuning log with choices, which keeps new ones; by default that of `autotune.apply_best`.
    """
    _require_way(choose)
    graph = _described(graph, shape, dtype, params)
    if choose == "none":
        return graph
    if choose == "all":
        return partition_graph(annotate(graph, pattern_table))
    chooser = _chooser(graph, pattern_table, params, log)
    chooser.measure()
    return partition_graph(chooser.partitioned())


def choices(graph, pattern_table, shape=None, dtype="float32", params=None, log=None, measure=True):
    """list of vendor_choice.Choice: what `partition(..., choose="measured")` goes by, the network in front of its parts.

    Parameters
    ----------
    graph, pattern_table, shape, dtype, params, log
        As `partition` takes them.
    measure: bool
        Whether choices that are in no log are made now; else they are left out.

    Raises
    ------
    UserError (module-load)
        Where the code generator's library is missing.
    UserError (log-busy)
        Where something must be timed and another process writes into the log.
    """
    chooser = _chooser(_described(graph, shape, dtype, params), pattern_table, params, log)
    if measure:
        chooser.measure()
    else:
        chooser.look_up()
    return chooser.choices()


def explain_partition(graph, pattern_table, shape=None, dtype="float32", params=None, choose="all", log=None):
    """str: a line for each node, with the pattern that took it, its region and where that ends, or why no pattern did.

    With `choose="measured"` the line says what was measured of the smallest part whose choice decided; nothing is timed.
    """
    _require_way(choose)
    graph = _described(graph, shape, dtype, params)
    rows = _core.explain_graph_partition(graph._native, pattern_table)
    said = {}
    if choose == "measured":
        chooser = _chooser(graph, pattern_table, params, log)
        chooser.look_up()
        said = chooser.explanations()
    return "\n".join(f"{node}: {text}{said.get(node, '')}" for node, text in rows)


def _require_way(choose):
    if choose not in ("all", "none", "measured"):
        _core.raise_error("bad-argument", f"choose={choose!r}", "all, none, measured")


def _chooser(graph, compiler, params, log):
    from .vendor_choice import Chooser

    return Chooser(_for_compiler(graph, compiler), compiler, params, log)


def _described(graph, shape, dtype, params):
    from .compiler import arguments, graph_attr

    graph = _graph.create(_as_graph(graph).symbol)
    params = params or {}
    shape = {**(shape or {}), **{name: tuple(value.shape) for name, value in params.items()}}
    graph = graph_attr.set_shape_inputs(graph, arguments.by_name(shape, "shape"))
    graph = graph_attr.set_dtype_inputs(graph, arguments.dtype_names(dtype))
    graph._set_json_attr("param_name_list", list(params), "list_str")
    return graph.apply(["InferShape", "InferType"])
