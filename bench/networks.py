"""The benchmark program of networks: ours against ONNX Runtime, which both are Python's.

networks.py STEP --network=resnet18 --folder=… --json=part.json, with a STEP of

  export    writes the network as an ONNX model
  tune      its kernels, into --log
  contest   all contestants in one process, on each of --threads
  fresh     one --contestant in a process of its own: seconds until it could run, and memory
  start     processes that load what was exported with the runtime alone: seconds from their start to the first answer
  command   `autotune NETWORK --trials=N`: seconds
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from tables import NETWORK_PEER as PEER

# How far results may lie apart, in parts of the largest element: sums are rounded in another order by everybody.
TOLERANCE = 1e-4
# Networks of bytes: where a sum lies between two of them, who rounds it otherwise is a unit off, and more behind it.
INT8, INT8_TOLERANCE = "-int8", 0.05
# Nobody's threads use a core when the process used less of it than this while it slept.
IDLE_SHARE, NAP_SECONDS, MOST_NAPS = 0.05, 0.01, 100
PROFILED_RUNS = 20


def network_of(options) -> SimpleNamespace:
    """Of bytes where the name ends in -int8: what ONNX Runtime's quantizer made of it when it was exported."""
    import tilewright as tw
    from tilewright.testing import zoo

    row = zoo.find(options.network.removesuffix(INT8))
    quantized = options.network.endswith(INT8)
    symbol, params = tw.frontend.from_onnx(str(model_path(options))) if quantized else row.get_workload()
    shape = (1, *row.image_shape)
    data = np.random.default_rng(0).standard_normal(shape).astype(row.dtype)
    return SimpleNamespace(
        name=options.network, symbol=symbol, params=params, shape={"data": shape}, dtype=row.dtype, inputs={"data": data},
        tolerance=INT8_TOLERANCE if quantized else TOLERANCE, caches="cold-constants")


def model_path(options) -> Path:
    return Path(options.folder) / f"{options.network}.onnx"


class Images:
    """What the quantizer looks at."""

    def __init__(self, shape):
        random = np.random.default_rng(0)
        self._left = [{"data": random.standard_normal(shape).astype("float32")} for _ in range(4)]

    def get_next(self):
        return self._left.pop() if self._left else None


def quantize(name: str, path: Path) -> None:
    """The network in bytes, weights with a scale for each channel. It ends before its softmax, of whose shares of a
    thousand classes steps of 1/255 would leave nothing."""
    import onnx
    from onnxruntime import quantization
    from tilewright.contrib import onnx_export
    from tilewright.testing import zoo

    row = zoo.find(name)
    symbol, params = row.get_workload()
    shape = (1, *row.image_shape)
    floats = path.with_suffix(".float.onnx")
    onnx.save(onnx_export.to_onnx(symbol.get_children()[0], params, {"data": shape}, row.dtype), str(floats))
    quantization.quantize_static(
        floats, path, Images(shape), per_channel=True, quant_format=quantization.QuantFormat.QDQ,
        activation_type=quantization.QuantType.QUInt8, weight_type=quantization.QuantType.QInt8)
    floats.unlink()


def records(log):
    """Where builds find the records of a log, if there is one."""
    import tilewright as tw

    return tw.autotune.apply_best(str(log)) if log and Path(log).exists() else contextlib.nullcontext()


def facts() -> dict:
    import tilewright as tw

    lines = Path("/proc/cpuinfo").read_text().splitlines()
    cpu = next((line.partition(": ")[2] for line in lines if line.startswith("model name")), "")
    return {"cpu": cpu, "cores": len(os.sched_getaffinity(0)), "version": tw.__version__, "llvm": tw._core.llvm_version()}


def measurement(network, contestant, what, threads, samples, unit="s") -> dict:
    labels = {"network": network, "contestant": contestant, "what": what, "threads": threads}
    return {"name": f"{network}/{contestant}/{what}/{threads}", "unit": unit, "better": "lower", "samples": samples, "labels": labels}


# Contestants --------------------------------------------------------------------------------------------------------


class Ours:
    """The network as compiler.build makes it, untuned or from a log."""

    def __init__(self, network, threads, log=None):
        import tilewright as tw
        from tilewright.compiler import build_module

        self._threads = threads
        self.prepare()
        with tw.compiler.build_config(opt_level=3), tw.Target("llvm"), records(log):
            graph, library, params, kernels = build_module.build_kernels(network.symbol, network.shape, network.dtype, network.params)
        self.untuned = [k.name for k in kernels if k.origin != "record"]
        self._start(tw.contrib.graph_runtime.create(graph, library, tw.cpu(), params), network)

    @classmethod
    def loaded(cls, directory, network, threads):
        """What an earlier process exported."""
        from tilewright.contrib import graph_runtime

        self = cls.__new__(cls)
        self._threads = threads
        self.prepare()
        self._start(graph_runtime.load(str(directory)), network)
        return self

    def _start(self, module, network):
        self.module, self.run = module, module.run
        module.set_input(**network.inputs)

    def prepare(self):
        import tilewright as tw

        tw.set_num_threads(self._threads)

    def output(self):
        return self.module.get_output(0).numpy()


class Peer:
    """ONNX Runtime as it comes, but for the number of threads; inputs and outputs stay where they are."""

    def __init__(self, path, inputs, threads, trace=None):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3  # no remarks on what it optimizes
        if trace is not None:
            options.enable_profiling, options.profile_file_prefix = True, str(trace)
        self.session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self._binding = self.session.io_binding()
        for name, array in inputs.items():
            self._binding.bind_cpu_input(name, array)
        self._binding.bind_output(self.session.get_outputs()[0].name, "cpu")

    def prepare(self):
        pass

    def run(self):
        self.session.run_with_iobinding(self._binding)

    def output(self):
        return self._binding.copy_outputs_to_cpu()[0]


# Timing -------------------------------------------------------------------------------------------------------------


def rest() -> None:
    """Returns when no thread of this process uses a core: ours sleep at once, those of the peer spin for some
    milliseconds after a run."""
    import tilewright as tw

    tw.runtime.park_threads()
    for _ in range(MOST_NAPS):
        before = time.process_time()
        time.sleep(NAP_SECONDS)
        if time.process_time() - before < IDLE_SHARE * NAP_SECONDS:
            return


def time_interleaved(contestants: dict, repetitions: int, seconds: float) -> dict[tuple, list[float]]:
    """Seconds of a run: of each contestant so many samples of so long, in random order."""
    order = [key for key in contestants for _ in range(repetitions)]
    random.Random(1).shuffle(order)
    samples = {key: [] for key in contestants}
    for key in order:
        contestant = contestants[key]
        rest()
        contestant.prepare()
        contestant.run()  # wakes its threads, warms the caches
        runs, start = 0, time.perf_counter()
        while (spent := time.perf_counter() - start) < seconds:
            contestant.run()
            runs += 1
        samples[key].append(spent / runs)
    return samples


def kernels_of(profile, kernels_nodes: dict) -> list[dict]:
    """What profile() says, with the nodes of the network that each kernel computes."""
    return [
        {"name": k.name, "seconds": statistics.median(k.seconds), "bytes": k.bytes_in + k.bytes_out, "nodes": kernels_nodes.get(k.name, [k.name])}
        for k in profile.kernels
    ]


def nodes_of_kernels(network) -> dict[str, list[str]]:
    """By the name of a kernel's call: the names of the nodes that it computes."""
    import tilewright as tw
    from tilewright.compiler.build_module import prepare

    with tw.compiler.build_config(opt_level=3), tw.Target("llvm"):
        graph, params, _ = prepare(network.symbol, network.shape, network.dtype, network.params)
    nodes = graph.index.nodes
    groups = tw.graph.groups(graph, params)
    # What is left of the batch_norm bn0 is bn0_out.
    return {nodes[group.nodes[-1]]["name"]: [nodes[k]["name"].removesuffix("_out") for k in group.nodes] for group in groups}


def node_of(name: str) -> str:
    """The node of the model that one of the peer's was made of: it names fused ones "fused fc1", and those that it computes
    on blocked layouts conv0_nchwc and, of a batch_norm, bn0_bn_nchwc."""
    return name.removeprefix("fused ").removesuffix("_nchwc" if not name.endswith("_bn_nchwc") else "_bn_nchwc")


def peer_nodes(options, network, threads) -> dict[str, float]:
    """Seconds that each node takes, by its own profiler."""
    peer = Peer(model_path(options), network.inputs, threads, Path(options.folder) / f"{network.name}-trace")
    for _ in range(PROFILED_RUNS):
        peer.run()
    trace = Path(peer.session.end_profiling())
    found = collections.defaultdict(list)
    for event in json.loads(trace.read_text()):
        if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
            found[node_of(event["name"].removesuffix("_kernel_time"))].append(event["dur"] * 1e-6)
    trace.unlink()
    return {name: statistics.median(times) for name, times in found.items()}


# Steps --------------------------------------------------------------------------------------------------------------


def export(options) -> dict:
    import onnx
    from tilewright.contrib import onnx_export

    if options.network.endswith(INT8):
        quantize(options.network.removesuffix(INT8), model_path(options))
        return {"measurements": [], "facts": {}}
    network = network_of(options)
    onnx.save(onnx_export.to_onnx(network.symbol, network.params, network.shape, network.dtype), str(model_path(options)))
    return {"measurements": [], "facts": {}}


def tune(options) -> dict:
    return {"measurements": [], "facts": {"tunings": [tune_kernels(network_of(options), options)]}}


def tune_kernels(network, options) -> dict:
    """Into --log, with --trials for each; what the run was."""
    import tilewright as tw

    (threads,) = options.threads
    tw.set_num_threads(threads)
    tasks, weights = tw.autotune.extract_tasks(
        network.symbol, network.params, shape=network.shape, dtype=network.dtype, threads=threads, caches=network.caches)
    start = time.monotonic()
    report = tw.autotune.tune(
        tasks, options.log, options.trials * len(tasks), threads=threads, task_weights=weights, resume=options.resume, seed=1)
    return {
        "network": network.name, "threads": threads, "tasks": len(tasks), "trials": sum(task.trials for task in report.tasks),
        "seconds": time.monotonic() - start,
    }


def entered(network, path, threads: int, log=None) -> tuple[dict, list[dict]]:
    """The contestants on so many threads whose output is the peer's, by name, and those whose is not."""
    contestants = {PEER: Peer(path, network.inputs, threads), "untuned": Ours(network, threads)}
    if log:
        contestants["tuned"] = Ours(network, threads, log)
    right, wrong = {}, []
    for name, contestant in contestants.items():
        contestant.prepare()
        contestant.run()
        found, referred = (np.asarray(c.output(), "float64") for c in (contestant, contestants[PEER]))
        largest = abs(referred).max(initial=0)
        apart = float(abs(found - referred).max(initial=0) / (largest or 1)) if found.shape == referred.shape else np.inf
        if apart <= network.tolerance:  # false for NaN too
            right[name] = contestant
        else:
            wrong.append({"name": f"{network.name}/{name}/{threads}", "difference": f"{apart:g}"})
    return right, wrong


def contest(options) -> dict:
    import onnxruntime

    network = network_of(options)
    contestants, kernels, wrong, untuned, measurements = {}, {}, [], {}, []
    for threads in options.threads:
        right, refused = entered(network, model_path(options), threads, options.log)
        wrong += refused
        if "tuned" in right:
            untuned[f"{network.name}/{threads}"] = right["tuned"].untuned
        contestants |= {(name, threads): contestant for name, contestant in right.items()}
    for (name, threads), samples in time_interleaved(contestants, options.repetitions, options.seconds).items():
        measurements.append(measurement(network.name, name, "run", threads, samples))

    nodes = nodes_of_kernels(network)
    for (name, threads), contestant in contestants.items():
        rest()
        if name == PEER:
            kernels[f"{network.name}/{name}/{threads}"] = peer_nodes(options, network, threads)
            continue
        contestant.prepare()
        contestant.run()
        profile = contestant.module.profile(PROFILED_RUNS)
        inside = [sum(times) for times in zip(*(k.seconds for k in profile.kernels))]
        overheads = [run - kernel for run, kernel in zip(profile.seconds, inside)]
        measurements.append(measurement(network.name, name, "overhead", threads, overheads))
        kernels[f"{network.name}/{name}/{threads}"] = kernels_of(profile, nodes)
    found = {"libraries": {PEER: onnxruntime.__version__}, "wrong": wrong, "kernels": kernels, "not_in_log": untuned}
    return {"measurements": measurements, "facts": facts() | found}


def memory_of_process() -> tuple[int, int]:
    """Resident now, and at most so far: bytes."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return tuple(int(status[key].split()[0]) * 1024 for key in ("VmRSS", "VmHWM"))


def fresh(options) -> dict:
    """Contestants: onnxruntime, untuned, tuned, and loaded, which is what the untuned one exported."""
    (threads,), who = options.threads, options.contestant
    directory = Path(options.folder) / f"{options.network}-exported"
    if who in ("untuned", "tuned"):
        import tilewright.autotune  # noqa: F401  what is imported is not built

        network = network_of(options)
    else:
        from tilewright.testing import zoo

        row = zoo.find(options.network)
        network = SimpleNamespace(inputs={"data": np.zeros((1, *row.image_shape), row.dtype)})
    start = time.monotonic()
    if who == PEER:
        contestant = Peer(model_path(options), network.inputs, threads)
    elif who == "loaded":
        contestant = Ours.loaded(directory, network, threads)
    else:
        contestant = Ours(network, threads, options.log if who == "tuned" else None)
    seconds = time.monotonic() - start
    network.symbol = network.params = None
    for _ in range(10):
        contestant.run()
    resident, peak = memory_of_process()
    if who == "untuned":
        contestant.module.export(str(directory))
    found = [
        measurement(options.network, who, "build", threads, [seconds]),
        measurement(options.network, who, "resident", threads, [resident], "B"),
        measurement(options.network, who, "peak", threads, [peak], "B"),
    ]
    return {"measurements": found, "facts": {}}


# A process that answers as soon as it can, and says when.
FIRST_ANSWER = """
import sys, time
import tilewright_runtime
module = tilewright_runtime.load(sys.argv[1])
tilewright_runtime.set_num_threads(int(sys.argv[2]))
module.set_input("data", bytes(int(sys.argv[3])))
module.run()
module.get_output(0)
print(time.monotonic())
"""


def start(options) -> dict:
    (threads,), network = options.threads, network_of(options)
    directory = Path(options.folder) / f"{options.network}-exported"
    if not directory.exists():
        Ours(network, threads).module.export(str(directory))
    command = [sys.executable, "-c", FIRST_ANSWER, str(directory), str(threads), str(network.inputs["data"].nbytes)]
    samples = []
    for _ in range(options.repetitions):
        began = time.monotonic()
        samples.append(float(subprocess.run(command, check=True, capture_output=True, text=True).stdout) - began)
    return {"measurements": [measurement(options.network, "loaded", "first answer", threads, samples)], "facts": {}}


def command(options) -> dict:
    (threads,) = options.threads
    with tempfile.TemporaryDirectory() as folder:
        words = ["-m", "tilewright.cli", options.network, f"--trials={options.trials}", f"--threads={threads}", f"--log={folder}/tuning.db"]
        began = time.monotonic()
        subprocess.run([sys.executable, *words], check=True, capture_output=True)
        seconds = time.monotonic() - began
    return {"measurements": [measurement(options.network, "autotune", "command", threads, [seconds])], "facts": {}}


STEPS = {"export": export, "tune": tune, "contest": contest, "fresh": fresh, "start": start, "command": command}


def run_step(steps, more, **defaults) -> None:
    """Writes what the step that the command names gives; `more` are its arguments beside those of all such programs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("step", choices=steps)
    parser.add_argument("--threads", type=lambda text: [int(part) for part in text.split(";")], default=[1])
    parser.add_argument("--log")
    parser.add_argument("--resume", type=int, default=0)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--repetitions", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=0.1)
    parser.add_argument("--json", type=Path)
    for name, how in more.items():
        parser.add_argument(name, **how)
    parser.set_defaults(**defaults)
    options = parser.parse_args()
    options.json.write_text(json.dumps(steps[options.step](options)))


def main() -> None:
    run_step(STEPS, {"--network": {"required": True}, "--folder": {"required": True}, "--contestant": {}})


if __name__ == "__main__":
    main()
