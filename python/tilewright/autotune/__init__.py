# SPDX-License-Identifier: Apache-2.0
"""Searching schedules, and building from what was found.

    from tilewright import autotune
    task = autotune.make_task("gemm:m=128,n=3072,k=768")
    autotune.tune(task, log="tuning.db", trials=64)
    with autotune.apply_best("tuning.db"):
        f = tw.build(task.program)
"""

import warnings

from .. import _core
from .._core import Program, Trace
from .._core.autotune import (
    Point, Record, SketchContext, Space, StopFlag, Task, TaskSummary, TunerReport, feature_names, parse_workload)
from ..runtime import num_threads
from ..scopes import Scoped
from ..target import _resolve
from ..te.text import _program
from . import seams as _seams
from .executor import ExecutorMeasurer, measurer_on as _measurer_on
from .log import Log, log_file
from .seams import Measurement

_native = _core.autotune

MODELS = tuple(name for name, _ in _native.cost_models())
POLICIES = tuple(name for name, _ in _native.search_policies())

__all__ = [
    "MODELS",
    "POLICIES",
    "Event",
    "ExecutorMeasurer",
    "Log",
    "Measurement",
    "Point",
    "Program",
    "Record",
    "SketchContext",
    "Space",
    "StopFlag",
    "Task",
    "TaskSummary",
    "Trace",
    "TunerReport",
    "apply_best",
    "dataset",
    "default_workloads",
    "extract_tasks",
    "feature_names",
    "fma_peak",
    "load_best",
    "make_task",
    "named_workloads",
    "parse_workload",
    "prior_schedule",
    "tune",
    "workload_kinds",
]


def make_task(program, target=None, threads=None, name="", caches="hot"):
    """What is tuned: a program (tensors, a te.Program, or a workload's text) for a target and a number of threads.

    caches: "hot" times candidates with all data where the run before left it, "cold-constants" with constants (weights)
    that are not in the second-level cache, as the kernels of a network find theirs.
    """
    if isinstance(program, Task):
        return program
    if isinstance(program, str):
        workload = parse_workload(program)
        program, name = workload.program, name or workload.label
    return _native.make_task(_program(program), _resolve(target).model, _threads(threads), name, caches)


def _threads(threads):
    return num_threads() if threads is None else threads


class Event:
    """What a callback of `tune` gets: `record` is the trial just made, None at the start of a task.

    task: its index. trial, trials: how many are done, and of how many, over all tasks. summary: of the task so far.
    """

    __slots__ = ("record", "summary", "task", "trial", "trials")

    def __init__(self, task, record, trial, trials, summary):
        self.task = task
        self.record = record
        self.trial = trial
        self.trials = trials
        self.summary = summary


def tune(tasks, log="tuning.db", trials=64, *, target=None, threads=None, time_limit=0.0, seed=0, resume=False,
         model="xgboost", batch=0, workers=0, timeout=10.0, callback=None, stop=None, command="", task_weights=None,
         task_policy="expected_gain", policy="evolutionary", features=None, rules=(), measurer=None, executor=None,
         transfer="auto"):
    """Spends `trials` over tasks (or programs) and keeps every trial in the log; returns a TunerReport.

    time_limit: seconds, 0 for none. resume: trials of the log count and teach the model. model: one of MODELS, or
    an object (or class) with fit(X, y) and predict(X); see docs/own_tuner.md for this and what follows. policy: one of
    POLICIES, or a class made of (task, space, seed) with propose(count, model) and observe(point, seconds). features:
    an object with names and extract(task, trace), for such a model. rules: sketch rules, asked before ours. measurer:
    an object with measure(task, traces, best_seconds). executor: what measures instead of this machine's processes, as
    text ("dask:tcp://scheduler:8786", "processes:4") or an object with submit; see docs/distributed.md. batch: trials between two trainings of the model, 0 by the budget. workers: processes that compile, 0 one per core.
    timeout: seconds to compile, and to run, one candidate. callback(Event) is called after each trial. stop: a StopFlag
    that another thread may set; nothing is lost then. Ctrl-C in the main thread takes effect between trials.
    task_weights: how often the kernel of each task runs, 1 for all unless given. task_policy: "expected_gain" spends
    trials where they should shorten the weighted sum of the best times most, "turns" equally. transfer: what the
    "xgboost" model knows before the first trial: "log" what the log holds of other tasks on this kind of machine,
    "shipped" the model that comes with the package, "auto" the log where it holds eight tasks or more, else the shipped
    one, "none" nothing, or the path of a model's file (./tw bench model --pretrain). One that was made for other features
    is ignored with a warning.
    """
    if isinstance(tasks, (Task, str, Program, _core.Tensor)):
        tasks = [tasks]
    elif tasks and all(isinstance(t, _core.Tensor) for t in tasks):
        tasks = [_program(tasks)]
    tasks = [make_task(t, target, threads) for t in tasks]
    if not tasks:
        _core.raise_error("bad-argument", "nothing to tune", "at least one task")
    options = _native.TunerOptions()
    options.trials = trials
    options.time_limit = time_limit
    options.batch = batch
    options.seed = seed
    options.resume = resume
    options.model = _seams.model_of(model)
    options.policy = _seams.policy_of(policy)
    options.features = _seams.features_of(features)
    options.rules = _seams.rules_of(rules)
    if executor is not None:
        if measurer is not None:
            _core.raise_error("bad-argument", "a measurer and an executor", "one of them")
        measurer = _measurer_on(executor, timeout=timeout)
    options.measurer = _seams.measurer_of(measurer)
    options.workers = workers
    options.timeout = timeout
    options.command = command
    options.task_weights = [1.0] * len(tasks) if task_weights is None else list(task_weights)
    options.task_policy = task_policy
    options.transfer = str(transfer)

    def on_event(*fields):
        if callback is not None:
            callback(Event(*fields))

    file = log_file(log.path if isinstance(log, Log) else log, True)
    # An empty callback still runs Python, so that Ctrl-C is noticed.
    try:
        report = _native.tune(tasks, file, options, on_event, stop or StopFlag())
    finally:
        if isinstance(executor, str):  # nobody else has what a text named
            measurer.close()
    for note in report.notes:
        warnings.warn(note, stacklevel=2)
    return report


class apply_best(Scoped):
    """Inside `with apply_best(log_file)`, `tw.build` of tensors takes the best schedule of the log, without searching.

    A program without a record for (workload, target, threads) is an error (code "no-record") that names all three and
    the command that would tune it. threads: those the kernels were tuned for, by default those of the thread pool.
    """

    def __init__(self, log_file, threads=None):
        self.log = log_file if isinstance(log_file, Log) else Log(log_file)
        self.threads = threads


def load_best(log, program, target=None, threads=None):
    """The schedule of the best record of a program."""
    log = log if isinstance(log, Log) else Log(log)
    return _native.best_schedule(_program(program), log._file, _resolve(target).model, _threads(threads))


def prior_schedule(program, target=None, threads=None):
    """The schedule that the analytical prior ranks first: what an untuned build uses."""
    return _native.untuned_schedule(_program(program), _resolve(target).model, _threads(threads))


def extract_tasks(graph, params=None, target=None, **options):
    """See autotune.network.extract_tasks, loaded when it is first used."""
    from .network import extract_tasks as extract

    return extract(graph, params, target, **options)


def dataset(log, **options):
    """See autotune.arrays.dataset, loaded when it is first used: what the tuner saw, as arrays."""
    from .arrays import dataset as arrays

    return arrays(log, **options)


def default_workloads():
    """The workloads that are tuned when none is named."""
    return _native.default_workloads()


def named_workloads():
    """(name, sizes, source, whether in the default set) of every workload that has a name."""
    return _native.named_workloads()


def workload_kinds():
    """(kind, documentation, [(size, meaning, default or None)], values of dtype) of every kind of workload."""
    return _native.workload_kinds()


def fma_peak(target=None, threads=None, seconds=0.05):
    """Measured FLOP/s of float32 multiply-adds between registers on this machine."""
    return _native.fma_peak(_resolve(target).model, _threads(threads), seconds)
