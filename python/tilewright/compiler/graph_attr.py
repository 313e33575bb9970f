# SPDX-License-Identifier: Apache-2.0
"""What is known of a graph's inputs, as the graph attributes that passes read. NNVM's `nnvm.compiler.graph_attr`."""

from .. import _core
from .. import graph as _graph
from . import arguments as _arguments

TCODE_TO_DTYPE = {None: None, -1: None, **_graph.dtypes()}
DTYPE_TO_TCODE = {None: -1, **{name: number for number, name in _graph.dtypes().items()}}


def set_shape_inputs(g, shape):
    """Shapes of inputs by name; those that are not named stay unknown.

    Parameters
    ----------
    g: Graph
    shape: dict of str to tuple of int

    Returns
    -------
    Graph: `g`.
    """
    shape = _arguments.by_name(shape, "shape")
    given = [_arguments.extents(shape[name], name) if shape.get(name) is not None else None for name, _ in g._native.inputs()]
    g._set_json_attr("shape_inputs", given, "list_shape")
    return g


def set_dtype_inputs(g, dtype):
    """Element types of inputs by name, or one for all that do not say their own.

    Parameters
    ----------
    g: Graph
    dtype: str or dict of str to str

    Returns
    -------
    Graph: `g`.
    """
    dtype = _arguments.dtype_names(dtype)
    if isinstance(dtype, dict):
        numbers = [DTYPE_TO_TCODE[dtype.get(name)] for name, _ in g._native.inputs()]
    else:
        of_all = DTYPE_TO_TCODE[dtype]
        numbers = [-1 if "dtype" in attributes else of_all for _, attributes in g._native.inputs()]
    g._set_json_attr("dtype_inputs", numbers, "list_int")
    return g


def set_layout_inputs(g, layout):
    """Layouts of inputs, such as "NCHW", by name, or one for all.

    Parameters
    ----------
    g: Graph
    layout: str or dict of str to str

    Returns
    -------
    Graph: `g`.
    """
    of_all = layout if isinstance(layout, str) else None
    layout = {} if of_all else _arguments.by_name(layout, "layout")
    names = [of_all or layout.get(name, "__undef__") for name in g.index.input_names]
    g._set_json_attr("layout_inputs", names, "list_str")
    return g


def _move_out_module(g, name):
    """Takes the compiled functions out of a graph: a Module, None where there is none."""
    module = _core.graph_module(g._native)
    g._native.erase_attribute(name)
    return module


def _move_out_graph(g, name):
    """Takes a graph, which a pass left as a list of symbols, out of another; None where there is none."""
    symbols = g._native.symbols(name)
    g._native.erase_attribute(name)
    return None if symbols is None else _graph.Graph(_core.NativeGraph(symbols))
