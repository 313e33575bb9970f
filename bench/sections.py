"""The sections of the benchmark: what each asks of the benchmark program, in the quick and in the full form.

A section's result is {"measurements": [{name, unit, better, samples, labels}, ...], "facts": {...}}.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import model

Result = dict

CONVOLUTION = "conv2d_bias_relu:n=1,ci=64,h=56,w=56,co=64,k=3,s=1,p=1"
# B is weights (w=1): who can, packs it beforehand.
GEMM_SIZES = (
    (512, 512, 512), (1024, 1024, 1024), (2048, 2048, 2048), (128, 768, 768), (128, 3072, 768), (1, 1024, 1024),
    (64, 1000, 2048), (1023, 1025, 1021),
)
GEMM_LAYERS = [f"gemm:m={m},n={n},k={k},w=1" for m, n, k in GEMM_SIZES]
QUICK_GEMM_LAYERS = [GEMM_LAYERS[0], GEMM_LAYERS[3], GEMM_LAYERS[5]]
# Products of narrow numbers, by oneDNN's names of their types.
LOWP_TYPES = ("u8s8s32", "s8s8s32", "bf16bf16f32")
LOWP_LAYERS = [
    f"gemm:m={m},n={n},k={k},w=1,dtype={dtype}"
    for dtype in LOWP_TYPES
    for m, n, k in ((512, 512, 512), (1024, 1024, 1024), (128, 3072, 768), (64, 1000, 2048), (127, 255, 509))
]
LOWP_LAYERS += [
    # Odd sizes; B that is no weights, packed in each run; layers of ResNet-50, the first with three channels to add up.
    "gemm:m=1023,n=1025,k=1021,w=1,dtype=s8s8s32",
    "gemm:m=512,n=512,k=512,dtype=u8s8s32",
    *(
        f"conv2d_bias_relu:n=1,ci={ci},h={h},w={h},co={co},k={k},s={s},p={p},dtype=u8s8s32"
        for ci, h, co, k, s, p in ((64, 56, 64, 3, 1, 1), (256, 14, 1024, 1, 1, 0), (3, 224, 64, 7, 2, 3))
    ),
    "conv2d_bias_relu:n=1,ci=128,h=56,w=56,co=128,k=3,s=2,p=1,dtype=s8s8s32",
    "conv2d_bias_relu:n=1,ci=64,h=56,w=56,co=64,k=3,s=1,p=1,dtype=u8s8u8",
    "conv2d_bias_relu:n=1,ci=256,h=14,w=14,co=256,k=3,s=1,p=1,dtype=s8s8s8",
]
QUICK_LOWP_LAYERS = [LOWP_LAYERS[i] for i in (2, 12, 17)]
# What oneDNN may use at most, and what ours are built for, where vectors are compared and not tiles.
VECTOR_ISA = "avx512_core_bf16"
VECTOR_TARGET = "llvm -mattr=-amx-tile"
NO_AMX = " without AMX"
# Every distinct convolution of ResNet-50 and the pointwise ones of MobileNet, by their names (`autotune --list`).
CONV_LAYERS = [*(f"conv2d_bias_relu:resnet50.{i}" for i in range(23)), *(f"conv2d_bias_relu:mobilenet.{i}" for i in range(9))]
QUICK_CONV_LAYERS = [CONV_LAYERS[i] for i in (3, 0, 5, 15)]
# The same with channels in blocks, the layout in which oneDNN keeps images: both sides read and write the same one.
BLOCKED_LAYERS = [f"{layer},b=16" for layer in CONV_LAYERS]
QUICK_BLOCKED_LAYERS = [BLOCKED_LAYERS[3]]
DEPTHWISE_LAYERS = [f"depthwise_conv2d:mobilenet.{i}" for i in range(9)]
QUICK_DEPTHWISE_LAYERS = [DEPTHWISE_LAYERS[i] for i in (2, 3)]
# The gradients of ResNet-50's convolutions; nobody asks for that of the image, the first one's data.
BACKWARD_LAYERS = [
    *(f"conv2d_data_gradient:resnet50.{i}" for i in range(1, 23)), *(f"conv2d_weight_gradient:resnet50.{i}" for i in range(23))]
QUICK_BACKWARD_LAYERS = [f"conv2d_{of}_gradient:resnet50.{i}" for of in ("data", "weight") for i in (3, 7, 15)]
# What reads and writes more than it computes.
MEMORY_LAYERS = [
    "elementwise:resnet50.residual", "softmax:bert.attention", "softmax:m=1024,n=4096", "layer_norm:bert.norm", "layer_norm:m=1024,n=4096",
    "transpose:m=2048,n=2048", "row_sum:m=2048,n=2048", "column_sum:m=2048,n=2048",
]
QUICK_MEMORY_LAYERS = [MEMORY_LAYERS[i] for i in (0, 1, 3, 5, 7)]
# One of each class of workloads, and none of those that the shipped model has seen (model.WORKLOADS): convolutions 3x3,
# 1x1, strided and blocked, products with weights, of a vector and batched, depthwise of both strides, rows, and a fused
# program of several reductions. The first four stand where the prior does not rank the best schedules first.
LIVE_LAYERS = (
    CONVOLUTION, "conv2d_bias_relu:resnet50.6", "conv2d_bias_relu:resnet50.7", "gemm:m=64,n=1000,k=2048,w=1",
    f"{CONVOLUTION},b=16", "gemm:m=1,n=1024,k=1024,w=1", "batch_gemm:b=16,m=64,n=96,k=64", "depthwise_conv2d:mobilenet.4",
    "depthwise_conv2d:mobilenet.5", "softmax:m=512,n=1000", "layer_norm:m=384,n=1024", "attention:b=8,m=96,n=96,k=64",
)
# A short run, and the trials of the one that tells how good a schedule can be: (full, quick).
LIVE_EARLY, LIVE_LONG = 16, (1200, 200)
# A mixed dozen, from 50 microseconds to 10 milliseconds, of which lists of ten are drawn.
MIXED_LAYERS = (
    *(f"conv2d_bias_relu:resnet50.{i}" for i in (0, 3, 7, 15, 22)),
    "gemm:bert.ffn", "gemm:m=64,n=1000,k=2048,w=1", "depthwise_conv2d:mobilenet.2", "depthwise_conv2d:mobilenet.7",
    "softmax:bert.attention", "batch_gemm:bert.scores", "dense:resnet50.fc",
)
MODELS = ("xgboost", "prior", "shuffled", "random")
NETWORKS = ("resnet18", "mobilenet", "squeezenet", "resnet50", "vgg16", "mobilenet_v2", "mlp", "resnet18-int8", "squeezenet-int8")
QUICK_NETWORKS = NETWORKS[:2]
# Those in which parts go to another code generator, and the nodes of the graph whose partition is timed.
VENDOR_NETWORKS, VENDOR_NODES = NETWORKS[:3], 2000
# Where a process has its stack and its scratch memory makes one side of a short call up to 30 % slower, now this, now that;
# where it has weights makes a network 4 % slower than the same network beside it.
VENDOR_PROCESSES = 15
# Likewise of two schedules of a kernel of 10 microseconds, of which one leads by 5 % in one process and the other in the next.
PEER_PROCESSES, PEER_REPETITIONS = 5, 3
# Whose memory is looked at, and whose builds: of these the largest that is measured.
LARGE_NETWORKS = ("resnet50", "resnet18")


class BenchmarkFailed(Exception):
    """The benchmark program failed; the message is what it said last."""


@dataclass
class Context:
    """How a section runs. `folder` holds what is kept between runs: logs, and results of parts."""

    program: Path
    worker: Path
    folder: Path
    quick: bool
    threads: list[int]
    trials: int | None = None
    log: Path | None = None
    compiles: int | None = None
    seeds: int | None = None
    study_log: Path = Path("study.db")  # candidates of the study of the cost model
    resume: bool = False
    only: str | None = None  # operators
    say: Callable[[str], None] = field(default=lambda text: None)

    def bench(self, section: str, **options) -> Result:
        """One call of the benchmark program; underscores in names of options are hyphens."""
        if self.quick:
            options.setdefault("quick", 1)
        words = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
        return self._result(section, [self.program, section, *words])

    def networks(self, step: str, network: str, **options) -> Result:
        """One call of the benchmark program of networks, with the Python that runs this one."""
        program = Path(__file__).with_name("networks.py")
        given = {"network": network, "folder": self.folder, **options}
        words = [f"--{name}={value}" for name, value in given.items() if value is not None]
        return self._result(f"networks {step} {network}", [sys.executable, program, step, *words])

    def vendor(self, step: str, **options) -> Result:
        """One call of the benchmark program of choices, with the Python that runs this one."""
        given = {"folder": self.folder, **options}
        words = [f"--{name}={value}" for name, value in given.items() if value is not None]
        return self._result(f"vendor {step} {options.get('network', '')}".strip(), [sys.executable, Path(__file__).with_name("vendor.py"), step, *words])

    def operators(self, step: str, **options) -> Result:
        """One call of the benchmark program of operators, with the Python that runs this one."""
        given = {"folder": self.folder, "only": self.only, **options}
        words = [f"--{name}={value}" for name, value in given.items() if value is not None]
        return self._result(f"operators {step}", [sys.executable, Path(__file__).with_name("operator_contest.py"), step, *words])

    def _result(self, name: str, command: list) -> Result:
        """What a program writes to the file that --json names."""
        output = self.folder / f"{name.replace(' ', '-')}.part.json"
        environment = os.environ | {"TILEWRIGHT_WORKER": str(self.worker)}
        done = subprocess.run([*command, f"--json={output}"], env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            said = done.stderr.strip().splitlines() or [f"ended with status {done.returncode}"]
            raise BenchmarkFailed(f"{name}: {said[-1]}")
        result = json.loads(output.read_text())
        output.unlink()
        return result

    def threads_option(self) -> str:
        return ";".join(map(str, self.threads))


def join(*results: Result) -> Result:
    """One result of several: measurements one after the other, facts together, the later ones over the earlier."""
    joined: Result = {"measurements": [], "facts": {}}
    for result in results:
        joined["measurements"] += result["measurements"]
        joined["facts"] |= result["facts"]
    return joined


def peak(context: Context) -> Result:
    threads = context.threads_option()
    return join(*(context.bench(name, threads=threads) for name in ("peak", "fork-join", "rest")))


def compile_latency(context: Context) -> Result:
    warm = context.bench("compile", workload=CONVOLUTION)
    cold = [context.bench("cold", workload=CONVOLUTION) for _ in range(5 if context.quick else 15)]
    for measurement in cold[0]["measurements"]:
        for other in cold[1:]:
            measurement["samples"] += next(m["samples"] for m in other["measurements"] if m["name"] == measurement["name"])
    compiles = context.compiles or (300 if context.quick else 1000)
    soak = context.bench("soak", workload=CONVOLUTION, compiles=compiles)
    return join(warm, cold[0], soak)


def math(context: Context) -> Result:
    return context.bench("math")


def search(context: Context) -> Result:
    return context.bench("search", workload=CONVOLUTION)


def prior(context: Context) -> Result:
    return context.bench("prior", threads=max(context.threads))


def tuner(context: Context) -> Result:
    trials = context.trials or (64 if context.quick else 500)
    log = fresh_log(context, "tuner")
    return context.bench("tune", workload=CONVOLUTION, threads=1, trials=trials, log=log, seed=1)


def gemm(context: Context) -> Result:
    return against_peers(context, "gemm", QUICK_GEMM_LAYERS if context.quick else GEMM_LAYERS)


def conv(context: Context) -> Result:
    return against_peers(context, "conv", QUICK_CONV_LAYERS if context.quick else CONV_LAYERS)


def lowp(context: Context) -> Result:
    """Twice: everybody as they come, and all without AMX, nothing tuned. oneDNN decides once in a process, so these are
    two processes."""
    layers = QUICK_LOWP_LAYERS if context.quick else LOWP_LAYERS
    log, tunings = tuned(context, "lowp", layers)
    context.say(f"comparing {len(layers)} layers, then again without AMX")
    result = compared(context, layers, log, tunings)
    version = result["facts"]["libraries"].get("onednn", "")
    if "amx" not in version:
        return result
    vectors = compared(context, layers, log, [], onednn_isa=VECTOR_ISA, target=VECTOR_TARGET)
    for measurement in vectors["measurements"]:
        measurement["name"] += NO_AMX
        measurement["labels"]["workload"] += NO_AMX
        measurement["labels"]["shape"] += NO_AMX
    result["facts"]["libraries"]["onednn"] = f"{version}; where it says so{NO_AMX}: {vectors['facts']['libraries']['onednn']}"
    result["facts"]["wrong"] += vectors["facts"]["wrong"]
    result["measurements"] += vectors["measurements"]
    return result


def blocked(context: Context) -> Result:
    return against_peers(context, "blocked", QUICK_BLOCKED_LAYERS if context.quick else BLOCKED_LAYERS)


def depthwise(context: Context) -> Result:
    return against_peers(context, "depthwise", QUICK_DEPTHWISE_LAYERS if context.quick else DEPTHWISE_LAYERS)


def backward(context: Context) -> Result:
    return against_peers(context, "backward", QUICK_BACKWARD_LAYERS if context.quick else BACKWARD_LAYERS)


def memory(context: Context) -> Result:
    return against_peers(context, "memory", QUICK_MEMORY_LAYERS if context.quick else MEMORY_LAYERS)


def against_peers(context: Context, name: str, layers: list[str]) -> Result:
    """Tunes each layer on each number of threads unless a log was given, then compares."""
    log, tunings = tuned(context, name, layers)
    context.say(f"comparing {len(layers)} layers")
    return compared(context, layers, log, tunings)


def tuned(context: Context, name: str, layers: list[str]) -> tuple[Path, list[dict]]:
    """The log with the best schedules, and what the runs were that made it."""
    if context.log is not None:
        return context.log, []
    log = fresh_log(context, name)
    tunings = []
    trials = context.trials or (32 if context.quick else 200)
    for threads in context.threads:
        for layer in layers:
            context.say(f"tuning {layer} on {threads} thread{'s' * (threads > 1)}, {trials} trials")
            limits = {"time_limit": 15} if context.quick else {}
            found = context.bench(
                "tune", workload=layer, threads=threads, trials=trials, log=log, seed=1, resume=int(context.resume), **limits
            )
            tunings.append({key: found["facts"][key] for key in ("tasks", "curve", "threads", "trials", "seconds")})
    return log, tunings


def compared(context: Context, layers: list[str], log: Path, tunings: list[dict], **options) -> Result:
    """All contestants in one process; in several such ones after each other where there is time for that."""
    if not context.quick:
        options["repetitions"] = PEER_REPETITIONS
    result = as_one([
        context.bench("peers", workload=";".join(layers), threads=context.threads_option(), log=log, **options)
        for _ in range(1 if context.quick else PEER_PROCESSES)
    ])
    result["facts"]["tunings"] = tunings
    return result


def as_one(processes: list[Result]) -> Result:
    """What processes measured of the same contestants, as if it were one: each has its data elsewhere in memory."""
    wrong = wrong_in_any(processes)
    result, *others = processes
    by_name = {m["name"]: m for m in result["measurements"]}
    for other in others:
        for m in other["measurements"]:
            if m["name"] in by_name:
                by_name[m["name"]]["samples"] += m["samples"]
            else:
                by_name[m["name"]] = m
    result["measurements"] = list(by_name.values())
    result["facts"]["wrong"] = wrong
    return result


def wrong_in_any(processes: list[Result]) -> list:
    wrong = []
    for found in processes:
        wrong += [w for w in found["facts"]["wrong"] if w not in wrong]
    return wrong


def networks(context: Context) -> Result:
    """Each network tuned on each number of threads unless a log was given, then all contestants in one process; builds and
    memory each in a process of its own, on the most threads."""
    names = QUICK_NETWORKS if context.quick else NETWORKS
    log = context.log or fresh_log(context, "networks")
    result: Result = {"measurements": [], "facts": {"tunings": [], "kernels": {}, "wrong": [], "not_in_log": {}}}
    for name in names:
        context.networks("export", name)
        for threads in [] if context.log else context.threads:
            context.say(f"tuning {name} on {threads} thread{'s' * (threads > 1)}")
            tuning = context.networks("tune", name, threads=threads, log=log, trials=context.trials or 20, resume=int(context.resume))
            result["facts"]["tunings"] += tuning["facts"]["tunings"]
        context.say(f"comparing {name}")
        found = context.networks("contest", name, threads=context.threads_option(), log=log, repetitions=15 if context.quick else 25)
        for key in ("kernels", "not_in_log"):
            found["facts"][key] |= result["facts"][key]
        found["facts"]["wrong"] += result["facts"]["wrong"]
        result = join(result, found)
    large = next(name for name in LARGE_NETWORKS if name in names)
    for contestant in ("untuned", "tuned", "loaded", "onnxruntime"):
        context.say(f"{large} in a process of its own: {contestant}")
        found = context.networks("fresh", large, contestant=contestant, threads=max(context.threads), log=log)
        result = join(result, found)
    context.say("resnet18: its first answer")
    result = join(result, context.networks("start", "resnet18", threads=max(context.threads)))
    if not context.quick:
        context.say("autotune resnet18 --trials=200")
        result = join(result, context.networks("command", "resnet18", threads=max(context.threads), trials=200))
    return result


def operators(context: Context) -> Result:
    """Each operator untuned; with --trials or a --log tuned too."""
    log = context.log or (fresh_log(context, "operators") if context.trials else None)
    tunings = []
    for threads in context.threads if context.trials and not context.log else []:
        context.say(f"tuning operators on {threads} thread{'s' * (threads > 1)}")
        found = context.operators("tune", threads=threads, log=log, trials=context.trials, resume=int(context.resume))
        tunings += found["facts"]["tunings"]
    context.say("comparing operators")
    result = context.operators("contest", threads=context.threads_option(), log=log, repetitions=7 if context.quick else 15)
    result["facts"]["tunings"] = tunings
    return result


def one_by_one(processes: int, run: Callable[[], Result]) -> tuple[Result, list]:
    """What so many processes measured one after the other, each with its number, and what was wrong in any of them."""
    results = [run() for _ in range(processes)]
    result, wrong = join(), wrong_in_any(results)
    for process, found in enumerate(results):
        del found["facts"]["wrong"]
        for m in found["measurements"]:
            m["labels"]["process"] = process
            m["name"] += f"/{process}"
        result["measurements"] += found["measurements"]
        result["facts"] = found["facts"] | result["facts"]  # of the first, which made what later ones look up
    return result, wrong


def vendor(context: Context) -> Result:
    """Operators against oneDNN called directly; networks all ours, all oneDNN's and as measured; the time of a partition.
    Our kernels are the best of --log, else the prior's; choices are made in the run."""
    result, wrong = one_by_one(VENDOR_PROCESSES, lambda: context.bench("vendor", threads=context.threads_option(), repetitions=7))
    choices: dict = {}
    for name in VENDOR_NETWORKS:
        context.say(f"choosing and comparing {name}")
        log = fresh_log(context, f"vendor-{name}")
        if context.log:
            shutil.copy(context.log, log)
        options = {"network": name, "threads": context.threads_option(), "log": log, "repetitions": 5}
        found, mistakes = one_by_one(3 if context.quick else 9, lambda options=options: context.vendor("networks", **options))
        wrong += mistakes
        choices |= found["facts"].pop("choices")
        result = join(result, found)
    result = join(result, context.vendor("partition", nodes=VENDOR_NODES))
    result["facts"] |= {"wrong": wrong, "choices": choices}
    return result


def tasks(context: Context) -> Result:
    """Records a run of each layer for each seed, in batches as small as those of a long list; then rules of spending
    trials over tasks replay them. The lists and the runs in them are drawn anew for each of the samples."""
    trials, batch, seeds = context.trials or 192, 8, context.seeds or 3
    folder = context.folder / "tasks"
    folder.mkdir(exist_ok=True)
    logs = []
    for seed in range(1, seeds + 1):
        logs.append(log := fresh_log(context, f"tasks/seed-{seed}"))
        for layer in MIXED_LAYERS:
            context.say(f"recording {layer}, seed {seed}")
            context.bench(
                "tune", workload=layer, threads=1, trials=trials, batch=batch, seed=seed, log=log, run_budget=0.01, resume=int(context.resume)
            )
    result = context.bench("tasks", workload=";".join(MIXED_LAYERS), threads=1, batch=batch, logs=";".join(map(str, logs)))
    result["facts"] |= {"recorded_trials": trials, "seeds": seeds}
    return result


def live(context: Context) -> Result:
    """The best after 16 and 64 trials by cost model and seed, the prior's schedule, and the best of one long run, timed again
    side by side at the end. Each tuning run is kept, so that a stopped study goes on; models take turns, so that a machine
    whose speed drifts is equally unfair to all."""
    trials = context.trials or 64
    seeds = context.seeds or (2 if context.quick else 5)
    long = LIVE_LONG[context.quick]
    facts = {"trials": trials, "seeds": seeds, "early": LIVE_EARLY, "long": long, "runs": []}
    result: Result = {"measurements": [], "facts": facts}
    for workload in LIVE_LAYERS[: 4 if context.quick else None]:
        logs: dict[str, list[str]] = {name: [] for name in MODELS}
        for seed in range(1, seeds + 1):
            for name in MODELS:
                context.say(f"{workload}: {name}, seed {seed}")
                log, run = study_run(context, workload, name, seed, trials)
                logs[name].append(str(log))
                curve = [point["seconds"] for point in run["facts"]["curve"]]
                facts["runs"].append({"workload": workload, "model": name, "seed": seed, "curve": curve})
        context.say(f"{workload}: {long} trials")
        longest = str(study_run(context, workload, "xgboost", seeds + 1, long)[0])
        context.say(f"{workload}: timing the winners")
        every = [log for of in logs.values() for log in of]
        winners = context.bench("winners", workload=workload, logs=";".join([*every, longest]), after=f"1;{LIVE_EARLY}")
        result["facts"] = winners["facts"] | result["facts"]
        times = {(log, first): m["samples"] for m in winners["measurements"] for log, first in m["labels"]["runs"]}
        contenders = {("untuned", 0): [(every[0], 1)], ("xgboost", long): [(longest, None)]}
        for name in MODELS:
            contenders[name, LIVE_EARLY] = [(log, LIVE_EARLY) for log in logs[name]]
            contenders[name, trials] = [(log, None) for log in logs[name]]
        for (name, count), found in contenders.items():
            labels = {"workload": workload, "model": name, "after": count, **{k: winners["facts"][k] for k in ("operations", "shape")}}
            of_each = [times[run] for run in found if run in times]
            # One a seed; of what has no seeds, all that were taken.
            samples = of_each[0] if len(found) == 1 and of_each else [statistics.median(each) for each in of_each]
            result["measurements"].append({"name": f"{workload}/{name}/{count}", "unit": "s", "better": "lower", "samples": samples, "labels": labels})
    return result


def study_run(context: Context, workload: str, name: str, seed: int, trials: int) -> tuple[Path, Result]:
    folder = context.folder / "live"
    folder.mkdir(exist_ok=True)
    log = folder / f"{re.sub(r'[^a-z0-9]+', '-', workload)}-{name}-{seed}-{trials}.db"
    kept = log.with_suffix(".json")
    if not (context.resume and kept.is_file()):
        kept.unlink(missing_ok=True)
        remove_log(log)
        run = context.bench("tune", workload=workload, threads=1, trials=trials, log=log, seed=seed, model=name)
        kept.write_text(json.dumps(run))
    return log, json.loads(kept.read_text())


def fresh_log(context: Context, name: str) -> Path:
    """A tuning log of our own; an old one goes unless the run is resumed."""
    path = context.folder / f"{name}.db"
    if not context.resume:
        remove_log(path)
    return path


def remove_log(path: Path) -> None:
    for file in (path, *path.parent.glob(path.name + "-*")):
        file.unlink(missing_ok=True)


@dataclass(frozen=True)
class Section:
    run: Callable[[Context], Result]
    doc: str
    in_quick: bool = True


SECTIONS = {
    "peak": Section(peak, "FMA peak, copy bandwidth, fork-join latency"),
    "compile": Section(compile_latency, "te to callable: cold, warm, by phase; memory over many compiles"),
    "math": Section(math, "errors and rates of mathematical functions of vectors"),
    "search": Section(search, "features and proposals a second"),
    "prior": Section(prior, "how long the named workloads wait for their untuned schedules"),
    "tuner": Section(tuner, "trials a second of a tuning run, and its memory"),
    "gemm": Section(gemm, "matrix products against OpenBLAS and oneDNN"),
    "lowp": Section(lowp, "products of bytes and of bfloat16 against oneDNN, with AMX and without"),
    "conv": Section(conv, "convolutions of ResNet-50 and MobileNet against OpenBLAS and oneDNN"),
    "blocked": Section(blocked, "the same with channels in blocks, NCHW16c, against oneDNN"),
    "depthwise": Section(depthwise, "depthwise convolutions of MobileNet against oneDNN"),
    "backward": Section(backward, "gradients of ResNet-50's convolutions against oneDNN", in_quick=False),
    "memory": Section(memory, "elementwise chains, softmax, layer norm, transposition and sums against oneDNN"),
    "networks": Section(networks, "networks of the zoo against ONNX Runtime", in_quick=False),
    "operators": Section(operators, "operators, each alone, against ONNX Runtime", in_quick=False),
    "vendor": Section(vendor, "regions by oneDNN against calling it directly, and choices by measurement in networks", in_quick=False),
    "tasks": Section(tasks, "rules of spending trials over several tasks, on recorded runs", in_quick=False),
    "model": Section(model.study, "cost models compared by replaying searches over recorded candidates", in_quick=False),
    "calibrate": Section(model.calibrate, "the prior's numbers, fitted to recorded candidates", in_quick=False),
    "live": Section(live, "the cost model against the prior, shuffled labels and chance, tuning for real", in_quick=False),
}
