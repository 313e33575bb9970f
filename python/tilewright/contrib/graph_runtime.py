# SPDX-License-Identifier: Apache-2.0
"""Running deployed networks. TVM 0.8's `contrib.graph_runtime`.

    module = graph_runtime.create(graph, lib, tw.cpu(), params)
    module.run(data=image)
    print(module.get_output(0).numpy(), module.profile())
    module.export("resnet18")                 # loads without a compiler, from C and C++ too
    module = graph_runtime.load("resnet18")
"""

from .. import _core
from ..runtime import Device
from .graph_profile import Profile

__all__ = ["GraphModule", "Profile", "create", "export", "load", "load_param_dict", "save_param_dict"]

# Of a GraphModule, by name: module["run"].
_FUNCTIONS = ("set_input", "set_input_zero_copy", "run", "get_input", "get_output", "get_num_inputs", "get_num_outputs",
              "load_params", "share_params", "profile")


def create(graph_json_str, libmod, device=None, params=None):
    """GraphModule: a network of a graph (its JSON, or a Graph) and a module with its functions.

    Parameters
    ----------
    graph_json_str: str or Graph
    libmod: Module
        With a function for each `func_name` of the graph; None where it has none.
    device: Device or list of one, optional
    params: dict of str to array, optional
        Values of variables. The arrays themselves are used, and shared by the instances that `clone` makes.

    Raises
    ------
    UserError (bad-graph, unknown-function, shape-conflict, type-conflict, argument-shape, …)
        With the node or the input.
    """
    for one in device if isinstance(device, (list, tuple)) else [device]:
        if one is not None and not isinstance(one, Device):
            _core.raise_error("argument-device", f"{one!r} is not a device", "tw.cpu()")
    return GraphModule(_core.GraphExecutor(_json_of(graph_json_str), libmod, dict(params or {})))


def export(directory, graph_json_str, libmod, params, fallback=False):
    """Writes what `create` takes as a directory, which `load` and the C functions tw_graph_* read.

    It appears in one step, also in the place of one that an earlier export wrote: who reads meanwhile finds the old one or
    the new one. `GraphModule.export` is the same for a network that is there already.

    Parameters
    ----------
    fallback: bool
        Of what other code generators compute, the directory has our kernels too, built now, for the active target: they are
        taken where a code generator's library is missing or fails. Constants of such parts are in it twice.
    """
    fallbacks = _fallbacks(_core.module_regions(libmod)) if fallback else []
    _core.export_graph(directory, _json_of(graph_json_str), libmod, dict(params), fallbacks)


def load(directory, verify=False):
    """GraphModule: from a directory that `export` wrote. Parameters are mapped, and read when kernels read them.

    Parameters
    ----------
    verify: bool
        Reads all parameters and compares their checksum. Without it damage to their values stays unnoticed. Parts that other
        code generators compute are first tried in a process of their own.

    Raises
    ------
    UserError (bad-graph, bad-parameters, module-load)
        Where a file is missing, cut short, newer than this version, or of another export, and where a code generator's
        library is missing or fails (docs/byoc.md).
    """
    return GraphModule(_core.load_executor(directory, verify))


def save_param_dict(params):
    """bytes: named arrays of NumPy, tilewright or DLPack, in the format of parameter files."""
    return _core.save_param_dict(dict(params))


def load_param_dict(param_bytes):
    """dict of str to NDArray: what save_param_dict was given.

    Raises
    ------
    UserError (bad-parameters)
        Where the bytes are damaged, cut short, newer, or something else.
    """
    return _core.load_param_dict(bytes(param_bytes))


def _fallbacks(regions):
    from .. import graph as _graph
    from ..compiler import build

    built = []
    for name, body, inputs, constants in regions:
        shape = {n: s for n, (s, _) in inputs.items()}
        graph, module, params = build(_graph.load_json(body), None, shape, {n: d for n, (_, d) in inputs.items()}, constants)
        built.append((name, graph.json(), module, params))
    return built


def _json_of(graph):
    if isinstance(graph, str):
        return graph
    if not hasattr(graph, "json"):
        _core.raise_error("type-mismatch", f"the graph is a {type(graph).__name__}", "the Graph that compiler.build gives, or its JSON")
    return graph.json()


class GraphModule:
    """One instance of a network. It runs on one thread at a time; `clone` makes one for another thread.

    Inputs are the variables of the graph, parameters included, in its order.
    """

    def __init__(self, executor):
        self._executor = executor

    def clone(self):
        """GraphModule: another instance, which shares code and parameters and has inputs and outputs of its own."""
        return GraphModule(self._executor.clone())

    def _index(self, key):
        return key if isinstance(key, int) else self._executor.input_index(key)

    def set_input(self, key=None, value=None, **params):
        """Copies values into inputs: one by name or index, others by keyword. Arrays must have the input's type."""
        values = dict(params)
        if key is not None:
            values[key] = value
        for name, array in values.items():
            index = self._index(name)
            self._executor.set_input(index, self._typed(index, array))

    def _typed(self, index, value):
        if isinstance(value, (int, float, list, tuple)):
            import numpy

            return numpy.asarray(value, _core.empty_array((), self._executor.input_dtype(index)).numpy().dtype)
        return value

    def set_input_zero_copy(self, key, value):
        """Uses the memory of an array (NumPy, DLPack) as the input from now on, and keeps it alive.

        Raises
        ------
        UserError (argument-strides, argument-alignment, argument-overlap, argument-shape, argument-dtype)
        """
        self._executor.set_input_zero_copy(self._index(key), value)

    def run(self, **input_dict):
        """Runs the network, after set_input of what is given."""
        if input_dict:
            self.set_input(**input_dict)
        self._executor.run()

    def get_num_inputs(self):
        """How many inputs there are, parameters included."""
        return self._executor.num_inputs

    def get_num_outputs(self):
        """How many outputs there are."""
        return self._executor.num_outputs

    @property
    def input_names(self):
        """list of str: the names of the inputs by index."""
        return [self._executor.input_name(k) for k in range(self._executor.num_inputs)]

    @property
    def output_names(self):
        """list of str: the nodes whose outputs are those of the network, by index."""
        return [self._executor.output_name(k) for k in range(self._executor.num_outputs)]

    def get_input(self, index, out=None):
        """NDArray: the input of that name or index, its memory itself, or `out` after a copy into it.

        Parameters are read-only. What was never set is zeros that may be written.
        """
        return _given(self._executor.input(self._index(index)), out)

    def get_output(self, index, out=None):
        """NDArray: where each run leaves the output of that index, or `out` after a copy into it."""
        return _given(self._executor.output(index), out)

    def load_params(self, params_bytes):
        """Sets the inputs that are in bytes of save_param_dict."""
        for name, array in load_param_dict(params_bytes).items():
            self.set_input_zero_copy(name, array)

    def share_params(self, other, params_bytes):
        """Uses the memory of another instance for the inputs that are in bytes of save_param_dict."""
        for name in load_param_dict(params_bytes):
            self.set_input_zero_copy(name, other.get_input(name))

    def __getitem__(self, name):
        """The function of that name: module["run"]()."""
        if name not in _FUNCTIONS:
            _core.raise_error("unknown-function", f"a network has no function '{name}'", ", ".join(_FUNCTIONS))
        return getattr(self, name)

    get_function = __getitem__

    @property
    def module(self):
        """This module, as TVM's GraphModule has one: module.module.time_evaluator("run", tw.cpu())."""
        return self

    def time_evaluator(self, func_name="run", dev=None, number=10, repeat=1, min_repeat_ms=0):
        """A function that gives a BenchmarkResult of the run: `repeat` samples of `number` runs in a row, in seconds."""
        if func_name != "run":
            _core.raise_error("bad-argument", f"timing '{func_name}' of a network", "run")
        return lambda: self._executor._time(number, repeat, min_repeat_ms)

    def benchmark(self, device=None, func_name="run", repeat=5, number=5, min_repeat_ms=0, **kwargs):
        """BenchmarkResult: the time of a run with these inputs."""
        if kwargs:
            self.set_input(**kwargs)
        return self.time_evaluator(func_name, device, number, repeat, min_repeat_ms or 0)()

    def profile(self, repeat=10, **input_dict):
        """Profile: the time of each kernel in `repeat` runs."""
        if input_dict:
            self.set_input(**input_dict)
        return Profile(self._executor.profile(repeat))

    def export(self, directory, params=None, fallback=False):
        """Writes a directory for `load`, with the parameters that the network was created with and those given here.

        `fallback` as for the function `export`.
        """
        self._executor.export(directory, dict(params or {}), _fallbacks(self._executor.regions) if fallback else [])

    def __repr__(self):
        e = self._executor
        return f"<GraphModule of {e.num_inputs} inputs and {e.num_outputs} outputs>"


def _given(array, out):
    return array if out is None else array.copyto(out)
