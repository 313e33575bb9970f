# SPDX-License-Identifier: Apache-2.0
"""What is known of a graph's inputs, as the graph attributes that passes read. NNVM's `nnvm.compiler.graph_attr`."""

from .. import _core
from .. import graph as _graph
from .._core import raise_error as _raise_error

TCODE_TO_DTYPE = {None: None, -1: None, **_graph.dtypes()}
DTYPE_TO_TCODE = {None: -1, **{name: number for number, name in _graph.dtypes().items()}}


def _dtype_number(dtype, what):
    name = str(dtype)
    if name not in DTYPE_TO_TCODE:
        legal = ", ".join(sorted(str(known) for known in DTYPE_TO_TCODE if known))
        _raise_error("bad-argument", f"the type of {what} is '{name}'", legal=legal)
    return DTYPE_TO_TCODE[name]


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
    g._set_json_attr("shape_inputs", [_list(shape.get(name)) for name in g.index.input_names], "list_shape")
    return g


def _list(shape):
    return None if shape is None else [int(extent) for extent in shape]


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
    if isinstance(dtype, dict):
        numbers = [_dtype_number(dtype[name], f"'{name}'") if name in dtype else -1 for name in g.index.input_names]
    else:
        of_all = _dtype_number(dtype, "inputs")
        own = {node["name"] for node in g.index.nodes if node["op"] == "null" and "dtype" in node.get("attrs", {})}
        numbers = [-1 if name in own else of_all for name in g.index.input_names]
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
