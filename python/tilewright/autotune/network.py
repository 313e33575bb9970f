# SPDX-License-Identifier: Apache-2.0
"""Networks as tuning tasks."""

import os
from typing import NamedTuple

from .. import _core
from ..compiler.build_config import BuildConfig, build_config
from ..error import UserError
from ..target import _resolve


# Those that kernels of a network find: see make_task.
CACHES = "cold-constants"


class Network(NamedTuple):
    """What `compiler.build` takes of a network.

    Attributes
    ----------
    name: str
        As the command line has it.
    graph: Graph or Symbol
    params: dict of str to NDArray
    shape: dict of str to tuple of int
        Of the inputs that are no parameters.
    dtype: str or dict of str to str
    """

    name: str
    graph: object
    params: dict
    shape: dict
    dtype: object = "float32"


def is_network(text):
    """Whether a text names a network: a row of testing.zoo, a file of JSON, or an ONNX model."""
    from ..testing import zoo

    return text in zoo.NETWORKS or text.endswith(".json") or _onnx_parts(text) is not None


def load_network(text):
    """Network: of testing.zoo by name, of an ONNX model, or of a file that Graph.save_json wrote.

    Extents that an ONNX model leaves open stand behind its path: `bert.onnx:batch=1,length=128`. In a file of JSON the variables that say their shape are inputs, and those whose shape follows are parameters; their values
    are random. Its attribute `param_name_list`, where it has one, names the parameters.

    Raises
    ------
    UserError (bad-argument, bad-graph, shape-conflict, …)
    """
    from ..testing import zoo

    if _onnx_parts(text) is not None:
        return _of_onnx(text)
    if not text.endswith(".json"):
        symbol, params = zoo.get(text)
        row = zoo.find(text)
        return Network(text, symbol, params, {"data": (1, *row.image_shape)}, row.dtype)
    try:
        with open(text, encoding="utf-8") as file:
            content = file.read()
    except (OSError, UnicodeDecodeError) as error:
        _core.raise_error("bad-argument", f"cannot read '{text}': {error}", "a file that Graph.save_json wrote")
    try:
        return _with_random_params(text, content)
    except UserError as error:
        where = f", {error.where}" if error.where else ""
        _core.raise_error(error.code, f"in '{text}'{where}: {error.what}", error.legal)


def _onnx_parts(text):
    """(path, extents by name) of `model.onnx:batch=1`, or None."""
    path, colon, extents = text.partition(".onnx:")
    if not colon:
        return (text, {}) if text.endswith(".onnx") else None
    named = dict(item.partition("=")[::2] for item in extents.split(","))
    if "/" in extents or not all(number.isdecimal() for number in named.values()):
        return None
    return path + ".onnx", {name: int(number) for name, number in named.items()}


def _of_onnx(text):
    from .. import frontend, graph as _graph
    from ..compiler import graph_util

    path, extents = _onnx_parts(text)
    open_inputs = {name: shape for name, _, shape in _core.onnx_inputs(path) if shape and any(isinstance(e, str) for e in shape)}
    names = dict.fromkeys(e for shape in open_inputs.values() for e in shape if isinstance(e, str))
    if set(extents) != set(names):
        given = ",".join(f"{name}={extents.get(name, 1)}" for name in names)
        _core.raise_error(
            "bad-argument", f"'{text}' gives {', '.join(extents) or 'no extents'}, and the model leaves open {', '.join(names) or 'none'}",
            f"{path}:{given}" if names else path)
    shapes = {name: tuple(extents.get(e, e) for e in shape) for name, shape in open_inputs.items()}
    net, params = frontend.from_onnx(path, shapes)
    graph = _graph.create(net)
    found = {
        name: (shape, dtype)
        for name, shape, dtype in zip(graph.index.input_names, graph_util.infer_shape(graph)[0], graph_util.infer_dtype(graph)[0], strict=True)
        if name not in params}
    return Network(text, net, params, {n: tuple(s) for n, (s, _) in found.items()}, {n: t for n, (_, t) in found.items()})


def _with_random_params(name, json):
    import numpy

    from .. import graph as _graph, nd
    from ..compiler import graph_util

    graph = _graph.load_json(json)
    named = graph.json_attr("param_name_list")
    names = graph.index.input_names
    said = {node["name"] for node in graph.index.nodes if node["op"] == "null" and "shape" in node.get("attrs", {})}
    shapes = dict(zip(names, graph_util.infer_shape(graph)[0], strict=True))
    types = dict(zip(names, graph_util.infer_dtype(graph)[0], strict=True))
    unknown = [n for n in names if shapes[n] is None]
    if unknown:
        _core.raise_error("bad-graph", f"the shape of '{unknown[0]}' is unknown", f"a shape for each input in {name}")
    types = {n: t or "float32" for n, t in types.items()}
    params = [n for n in names if (n in named if named is not None else n not in said)]
    random = numpy.random.default_rng(0)
    values = {n: nd.array(random.uniform(-0.1, 0.1, shapes[n]).astype(types[n])) for n in params}
    return Network(name, graph, values, {n: tuple(shapes[n]) for n in names if n not in values}, types)


class Kernel(NamedTuple):
    """One of the different kernels of a network, and how often it is called."""

    name: str
    program: object
    calls: int


def kernels(graph, params=None, target=None, shape=None, dtype="float32", opt_level=3):
    """list of Kernel: those of a network, as `compiler.build` makes them at this level. Arguments: see extract_tasks."""
    from ..compiler.build_module import prepare

    config = BuildConfig.current()
    with _resolve(target), build_config(opt_level=opt_level, add_pass=config.add_pass, fusion=config.fusion):
        partitioned, _, _ = prepare(graph, shape, dtype, params)
    # Weights that are no constants of the build are not packed.
    constants = set(partitioned.json_attr("param_name_list") or ())
    found = {}
    for name, calls, program in _core.graph_kernels_to_be(partitioned._native, constants):
        known = found.get(program.workload)
        found[program.workload] = Kernel(known.name if known else name, program, calls + (known.calls if known else 0))
    return list(found.values())


def extract_tasks(graph, params=None, target=None, *, shape=None, dtype="float32", threads=None, opt_level=3, caches=CACHES):
    """The different kernels of a network as tasks, and how often each is called.

    Parameters
    ----------
    graph: Graph or Symbol
    params: dict of str to array, optional
        Inputs whose values do not change.
    target: str or Target, optional
    shape: dict of str to tuple of int, optional
        Of inputs by name.
    dtype: str or dict of str to str
    threads: int, optional
        That the kernels may use, by default those of the thread pool.
    opt_level: int
        That of the builds to come: see compiler.build_config, whose other options are those that are active.
    caches: str
        See make_task. By default constants are cold, as those of networks are; "hot" suits what runs again and again by itself.

    Returns
    -------
    (list of Task, list of int)
        For `tune(tasks, task_weights=weights)`; `compiler.build` inside `apply_best` then finds the records, and those that
        were timed with cold constants first.
    """
    from . import make_task

    found = kernels(graph, params, target, shape, dtype, opt_level)
    return [make_task(k.program, target, threads, k.name, caches) for k in found], [k.calls for k in found]
