# SPDX-License-Identifier: Apache-2.0
"""The time of a network before and after tuning, kernel by kernel."""

import contextlib
import statistics
import time

from .. import _core, autotune
from ..compiler.build_module import build_kernels
from ..contrib import graph_runtime
from .output import print_table, time_text


LEAST_ROUNDS = 10
MOST_SECONDS = 5
# An interval that reaches further, in parts of its lower end, is worth a line.
MOST_DOUBT = 0.1


class Timed:
    """One build of a network, and the times of its runs.

    Attributes
    ----------
    kernels: dict of str to (str, int, list of float)
        By the programs' workloads: a function, how often it is called in a run, and the seconds of all its calls in each
        run.
    runs: list of float
        Seconds of each run as a whole.
    """

    def __init__(self, network, target, threads, log=None):
        with target, best_of(log, threads):
            graph, module, params, kernels = build_kernels(network.graph, network.shape, network.dtype, network.params)
        self._programs = {k.name: k.program.workload for k in kernels}
        self._executor = graph_runtime.create(graph, module, params=params)
        _set_inputs(self._executor, params)
        self._executor.run()
        self.runs = []
        self.kernels = {}

    def run(self):
        """Times one run as a whole, which is returned, and, apart, one kernel by kernel."""
        self.runs.append(self._executor.benchmark(repeat=1, number=1).median)
        called = {}
        for node in self._executor.profile(1).kernels:
            if node.function in self._programs:  # changes of shapes have no kernel
                called.setdefault(node.function, []).append(node.mean)
        for function, times in called.items():
            _, _, runs = self.kernels.setdefault(self._programs[function], (function, len(times), []))
            runs.append(sum(times))
        return self.runs[-1]

    @property
    def seconds(self):
        """Of a run, the median."""
        return statistics.median(self.runs)


def best_of(log, threads):
    """Where builds find the records of a log, if there is one."""
    return autotune.apply_best(log, threads) if log else contextlib.nullcontext()


def _set_inputs(executor, params):
    """Random values, as those of zeros may be faster than others."""
    import numpy

    random = numpy.random.default_rng(0)
    for name in executor.input_names:
        if name not in params:
            values = executor.get_input(name)
            values.copyfrom(random.uniform(-1, 1, values.shape).astype(values.numpy().dtype))


def time_network(network, target, threads, log):
    """What is reported of a network, built by the prior and from a log, as JSON. Their runs take turns."""
    before = _core.num_threads()
    _core.set_num_threads(threads)
    try:
        untuned, tuned = Timed(network, target, threads), Timed(network, target, threads, log)
        take_turns(untuned, tuned)
    finally:
        _core.set_num_threads(before)
    return _result(network, untuned, tuned)


def take_turns(before, after):
    """Runs of both in turns, the first one changing, until it is known who is faster or the time is over."""
    race, started, rounds = _core.Race(2), time.monotonic(), 0
    while rounds < LEAST_ROUNDS or (race.running and time.monotonic() - started < MOST_SECONDS):
        turns = (before, after) if rounds % 2 == 0 else (after, before)
        seconds = {turn: turn.run() for turn in turns}
        if len(race.running) == 2:
            race.add([seconds[before], seconds[after]])
        rounds += 1


def _result(network, before, after):
    rows = []
    for workload in dict.fromkeys([*before.kernels, *after.kernels]):
        name, calls, untuned = before.kernels.get(workload, (None, 0, None))
        tuned_name, tuned_calls, tuned = after.kernels.get(workload, (None, 0, None))
        rows.append({
            "kernel": name or tuned_name, "workload": workload, "calls": calls or tuned_calls,
            "untuned_seconds": untuned and statistics.median(untuned), "seconds": tuned and statistics.median(tuned)})
    rows.sort(key=lambda row: -(row["seconds"] or 0))
    faster = _core.summarize([a / b for a, b in zip(before.runs, after.runs)])
    return {"network": network.name, "untuned_seconds": before.seconds, "seconds": after.seconds,
            "faster": faster.median, "faster_interval": faster.interval, "kernels": rows}


def print_network(result, stream):
    """A table of kernels, and the time of the network before and after."""
    print_table(stream, (result["network"], "calls", "untuned", "tuned", "faster"), [
        (row["kernel"], str(row["calls"]), time_text(row["untuned_seconds"]), time_text(row["seconds"]),
         _ratio(row["untuned_seconds"], row["seconds"])) for row in result["kernels"]]
        + [("the network", "", time_text(result["untuned_seconds"]), time_text(result["seconds"]),
            f"{result['faster']:.2f}")])
    low, high = result["faster_interval"]
    if high > (1 + MOST_DOUBT) * low:
        stream.write(f"Its timings scatter: with 95 % the network is {low:.2f} to {high:.2f} times as fast.\n")


def _ratio(before, after):
    return f"{before / after:.2f}" if before and after else ""
