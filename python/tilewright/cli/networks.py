# SPDX-License-Identifier: Apache-2.0
"""The time of a network before and after tuning, kernel by kernel."""

import contextlib

from .. import _core, autotune
from ..compiler.build_config import build_config
from ..compiler.build_module import build_kernels
from ..contrib import graph_runtime
from .output import print_table, time_text


class Timed:
    """One build of a network, timed.

    Attributes
    ----------
    seconds: float
        Of a run, the median.
    kernels: dict of str to (str, int, float)
        By the programs' workloads: a function, how often it is called in a run, and the seconds of all its calls.
    """

    def __init__(self, graph, module, params, programs, repeat=10):
        executor = graph_runtime.create(graph, module, params=params)
        _set_inputs(executor, params)
        executor.run()
        profile = executor.profile(repeat)
        self.seconds = executor.benchmark(repeat=repeat, number=1).median
        self.kernels = {}
        for node in profile.kernels:
            workload = programs[node.function]
            _, calls, seconds = self.kernels.get(workload, (node.function, 0, 0.0))
            self.kernels[workload] = (node.function, calls + 1, seconds + node.median)


def _set_inputs(executor, params):
    """Random values, as those of zeros may be faster than others."""
    import numpy

    random = numpy.random.default_rng(0)
    for name in executor.input_names:
        if name not in params:
            values = executor.get_input(name)
            values.copyfrom(random.uniform(-1, 1, values.shape).astype(values.numpy().dtype))


def time_network(network, target, threads, log=None):
    """Timed: a network built by the prior, or from the log of a path."""
    best = autotune.apply_best(log, threads) if log else contextlib.nullcontext()
    before = _core.num_threads()
    _core.set_num_threads(threads)
    try:
        with target, build_config(opt_level=3), best:
            graph, module, params, kernels = build_kernels(network.graph, network.shape, network.dtype, network.params)
            return Timed(graph, module, params, {k.name: k.program.workload for k in kernels})
    finally:
        _core.set_num_threads(before)


def result_of(network, before, after):
    """What is reported of a network, as JSON."""
    rows = []
    for workload in dict.fromkeys([*before.kernels, *after.kernels]):
        name, calls, untuned = before.kernels.get(workload, (None, 0, None))
        tuned_name, tuned_calls, tuned = after.kernels.get(workload, (None, 0, None))
        rows.append({
            "kernel": name or tuned_name, "workload": workload, "calls": calls or tuned_calls,
            "untuned_seconds": untuned, "seconds": tuned})
    rows.sort(key=lambda row: -(row["seconds"] or 0))
    return {"network": network.name, "untuned_seconds": before.seconds, "seconds": after.seconds, "kernels": rows}


def print_network(result, stream):
    """A table of kernels, and the time of the network before and after."""
    print_table(stream, (result["network"], "calls", "untuned", "tuned", "faster"), [
        (row["kernel"], str(row["calls"]), time_text(row["untuned_seconds"]), time_text(row["seconds"]),
         _ratio(row["untuned_seconds"], row["seconds"])) for row in result["kernels"]]
        + [("the network", "", time_text(result["untuned_seconds"]), time_text(result["seconds"]),
            _ratio(result["untuned_seconds"], result["seconds"]))])


def _ratio(before, after):
    return f"{before / after:.2f}" if before and after else ""
