# SPDX-License-Identifier: Apache-2.0
# Made by python/stubs/make_stubs.py.
import collections.abc
import typing

import tilewright._core


class Record:
    """One trial: what was tried and what came of it."""
    @property
    def caches(self) -> str:
        ...
    @property
    def compile_seconds(self) -> float:
        ...
    @property
    def created(self) -> str:
        ...
    @property
    def elapsed_seconds(self) -> float:
        ...
    @property
    def error(self) -> str:
        """Class of the failure, "" for none."""
    @property
    def host(self) -> str:
        """The machine that measured it."""
    @property
    def id(self) -> int:
        ...
    @property
    def ir_hash(self) -> str:
        ...
    @property
    def kind(self) -> str:
        """Of that machine: processor and instruction set."""
    @property
    def median(self) -> float:
        """Seconds; infinity for failures."""
    @property
    def message(self) -> str:
        ...
    @property
    def ok(self) -> bool:
        ...
    @property
    def origin(self) -> str:
        ...
    @property
    def predicted(self) -> float:
        ...
    @property
    def race_seconds(self) -> float:
        """Its median in the last race that it won; 0: it won none."""
    @property
    def run(self) -> str:
        ...
    @property
    def seconds(self) -> list[float]:
        """Every raw timing."""
    @property
    def seed(self) -> int:
        ...
    @property
    def target(self) -> str:
        ...
    @property
    def threads(self) -> int:
        ...
    @property
    def trace(self) -> str:
        ...
    @property
    def workload(self) -> str:
        ...


class LogFile:
    def __init__(self, path: str, write: bool) -> None:
        ...
    def best(self, workload: str, target: str, threads: int, caches: str) -> tilewright._core.autotune.Record | None:
        ...
    def records(self, workload: str, target: str, threads: int) -> list[tilewright._core.autotune.Record]:
        ...
    def workloads(self) -> list:
        ...


class Task:
    """A te program for a target and a number of threads: what is tuned."""
    @property
    def caches(self) -> str:
        ...
    @property
    def name(self) -> str:
        ...
    @property
    def operations(self) -> float:
        """Floating-point operations of one run."""
    @property
    def program(self) -> tilewright._core.Program:
        ...
    @property
    def target(self) -> str:
        ...
    @property
    def te_text(self) -> str:
        ...
    @property
    def threads(self) -> int:
        ...
    @property
    def workload(self) -> str:
        ...


class TaskSummary:
    """What a tuning run found out about one task."""
    @property
    def best_seconds(self) -> float:
        """0: no verified schedule."""
    @property
    def best_trace(self) -> str:
        ...
    @property
    def failures(self) -> dict[str, int]:
        """Number by class."""
    @property
    def name(self) -> str:
        ...
    @property
    def transfer(self) -> str:
        """What taught the model before the first trial; "": nothing."""
    @property
    def trials(self) -> int:
        ...
    @property
    def untuned_seconds(self) -> float:
        ...
    @property
    def workload(self) -> str:
        ...


class TunerReport:
    """The outcome of a tuning run; times in seconds."""
    @property
    def compile_cpu_seconds(self) -> float:
        ...
    @property
    def compile_wall_seconds(self) -> float:
        ...
    @property
    def notes(self) -> list[str]:
        """What was refused and done without, a line each."""
    @property
    def race_seconds(self) -> float:
        ...
    @property
    def reference_seconds(self) -> float:
        ...
    @property
    def run_seconds(self) -> float:
        ...
    @property
    def search_seconds(self) -> float:
        ...
    @property
    def seconds(self) -> float:
        ...
    @property
    def stopped(self) -> bool:
        """By the stop flag or the time limit."""
    @property
    def tasks(self) -> list[tilewright._core.autotune.TaskSummary]:
        ...
    @property
    def train_seconds(self) -> float:
        ...


class Workload:
    """A workload of the command line."""
    @property
    def label(self) -> str:
        ...
    @property
    def program(self) -> tilewright._core.Program:
        ...
    @property
    def shape(self) -> str:
        ...
    @property
    def text(self) -> str:
        ...


class Point:
    """A point of a Space: a sketch, and a choice for each of its knobs."""
    def __eq__(self, arg0: tilewright._core.autotune.Point) -> bool:
        ...
    @property
    def choice(self) -> tuple:
        ...
    @property
    def sketch(self) -> int:
        ...


class Knob:
    """A place in a trace and the values that it may take."""
    def __len__(self) -> int:
        ...
    @property
    def choices(self) -> list[list[int]]:
        ...
    @property
    def kind(self) -> str:
        ...
    @property
    def label(self) -> str:
        ...


class Sketch:
    """A trace with knobs."""
    @property
    def description(self) -> str:
        ...
    @property
    def knobs(self) -> list[tilewright._core.autotune.Knob]:
        ...
    @property
    def log_size(self) -> float:
        """log2 of the number of points."""


class Space:
    """The design space of a task."""
    def __init__(self, task: tilewright._core.autotune.Task, seed: int = 0, rules: collections.abc.Sequence = ()) -> None:
        ...
    def crossover(self, a: tilewright._core.autotune.Point, b: tilewright._core.autotune.Point) -> tilewright._core.autotune.Point:
        """Knob by knob from either; `a` where sketches differ."""
    def find(self, trace: tilewright._core.Trace) -> tilewright._core.autotune.Point | None:
        """The point that gives this trace, or None."""
    def mutate(self, point: tilewright._core.autotune.Point) -> tilewright._core.autotune.Point:
        """One knob changed, more often to a near value than to a far one."""
    def point(self, sketch: int, choice: collections.abc.Sequence[int]) -> tilewright._core.autotune.Point:
        ...
    def random(self) -> tilewright._core.autotune.Point:
        """A point within the limits of register tiles and places."""
    @property
    def sketches(self) -> list[tilewright._core.autotune.Sketch]:
        ...
    def trace(self, point: tilewright._core.autotune.Point) -> tilewright._core.Trace:
        ...
    def within_limits(self, point: tilewright._core.autotune.Point) -> bool:
        ...


class Scores:
    """What a policy asks of the model, inside propose."""
    def scores(self, points: collections.abc.Sequence[tilewright._core.autotune.Point]) -> numpy.typing.NDArray[numpy.float64]:
        """An array of numbers, larger is better: the model's, or the prior's until the model is trained; -inf for a point that the schedule refuses."""
    def uncertainty(self, points: collections.abc.Sequence[tilewright._core.autotune.Point]) -> typing.Any:
        """An array of standard deviations of these scores, or None where the model cannot tell."""


class Budget:
    """What is left of a run, over all its tasks."""
    @property
    def spent(self) -> float:
        """Share of the trials or of the time, whichever is nearer to its end: 0 to 1."""
    @property
    def trials_left(self) -> int:
        ...


class OperationFacts:
    """What sketch rules ask of an operation."""
    @property
    def extents(self) -> list[int]:
        ...
    @property
    def has_condition(self) -> bool:
        ...
    @property
    def has_reuse(self) -> bool:
        ...
    @property
    def is_compute(self) -> bool:
        ...
    @property
    def is_output(self) -> bool:
        ...
    @property
    def is_reduction(self) -> bool:
        ...
    @property
    def name(self) -> str:
        ...
    @property
    def op(self) -> typing.Any:
        ...
    @property
    def reduce_extents(self) -> list[int]:
        ...


class SketchContext:
    """A sketch in the making, for a sketch rule."""
    def done(self, op: int) -> bool:
        ...
    @property
    def facts(self) -> list[tilewright._core.autotune.OperationFacts]:
        ...
    def offer(self, op: int, stage: tilewright._core.Stage, axis: tilewright._core.IterVar) -> None:
        """A loop that producers may be computed in; the outer ones first."""
    def place(self, op: int, stage: tilewright._core.Stage) -> None:
        """Computes the stage inside a loop that its readers offer, or at the root, by a knob."""
    def split(self, stage: tilewright._core.Stage, axis: tilewright._core.IterVar, choices: collections.abc.Sequence[int], label: str = '') -> tuple:
        """(outer, inner): a knob says which of the choices the inner extent is."""
    def stage(self, op: int) -> tilewright._core.Stage:
        """The stage of an operation, by its number."""
    @property
    def target(self) -> str:
        ...
    def unroll(self, stage: tilewright._core.Stage, axes: collections.abc.Sequence[tilewright._core.IterVar]) -> None:
        """A knob for how far loops below the axes are unrolled."""


class LocalMeasurer:
    """Times candidates in processes of this machine."""
    def __init__(self, workers: int = 0, timeout: float = 10.0, run_budget: float = 0.05, worker_path: str = '') -> None:
        ...
    def measure(self, task: tilewright._core.autotune.Task, traces: collections.abc.Sequence[str], best_seconds: float = 0.0) -> list:
        """A Record for each trace."""


class StopFlag:
    """set() ends a tuning run; every trial made so far is kept."""
    def __init__(self) -> None:
        ...
    def is_set(self) -> bool:
        ...
    def set(self) -> None:
        ...


class TunerOptions:
    def __init__(self) -> None:
        ...
    @property
    def batch(self) -> int:
        ...
    @batch.setter
    def batch(self, value: int) -> None: ...
    @property
    def command(self) -> str:
        ...
    @command.setter
    def command(self, value: str) -> None: ...
    @property
    def features(self) -> str:
        ...
    @features.setter
    def features(self, value: str) -> None: ...
    @property
    def measurer(self) -> str:
        ...
    @measurer.setter
    def measurer(self, value: str) -> None: ...
    @property
    def model(self) -> str:
        ...
    @model.setter
    def model(self, value: str) -> None: ...
    @property
    def policy(self) -> str:
        ...
    @policy.setter
    def policy(self, value: str) -> None: ...
    @property
    def resume(self) -> bool:
        ...
    @resume.setter
    def resume(self, value: bool) -> None: ...
    @property
    def rules(self) -> str:
        ...
    @rules.setter
    def rules(self, value: str) -> None: ...
    @property
    def run_budget(self) -> float:
        ...
    @run_budget.setter
    def run_budget(self, value: float) -> None: ...
    @property
    def seed(self) -> int:
        ...
    @seed.setter
    def seed(self, value: int) -> None: ...
    @property
    def task_policy(self) -> str:
        ...
    @task_policy.setter
    def task_policy(self, value: str) -> None: ...
    @property
    def task_weights(self) -> list[float]:
        ...
    @task_weights.setter
    def task_weights(self, value: list[float]) -> None: ...
    @property
    def time_limit(self) -> float:
        ...
    @time_limit.setter
    def time_limit(self, value: float) -> None: ...
    @property
    def timeout(self) -> float:
        ...
    @timeout.setter
    def timeout(self, value: float) -> None: ...
    @property
    def transfer(self) -> str:
        ...
    @transfer.setter
    def transfer(self, value: str) -> None: ...
    @property
    def trials(self) -> int:
        ...
    @trials.setter
    def trials(self, value: int) -> None: ...
    @property
    def worker_path(self) -> str:
        ...
    @worker_path.setter
    def worker_path(self, value: str) -> None: ...
    @property
    def workers(self) -> int:
        ...
    @workers.setter
    def workers(self, value: int) -> None: ...


def best_schedule(arg0: tilewright._core.Program, arg1: tilewright._core.autotune.LogFile, arg2: tilewright._core.TargetModel, arg3: int) -> tilewright._core.Schedule:
    ...


def cost_models() -> list:
    """Rows of (name, documentation)."""


def default_workloads() -> list[tilewright._core.autotune.Workload]:
    ...


def feature_names() -> list[str]:
    """Names of the columns that a model gets unless it has features of its own."""


def features_missing_here(arg0: str) -> list[str]:
    ...


def features_of(task: tilewright._core.autotune.Task, traces: collections.abc.Sequence[str], own: typing.Any = None) -> numpy.typing.NDArray[numpy.float32]:
    ...


def fma_peak(target: tilewright._core.TargetModel, threads: int, seconds: float = 0.05) -> float:
    ...


def host_name() -> str:
    ...


def ir_hash(arg0: tilewright._core.Program, arg1: tilewright._core.Schedule, arg2: tilewright._core.TargetModel, arg3: str) -> str:
    """What a record of candidates timed with such caches holds as its ir_hash."""


def machine_kind() -> str:
    """Processor and instruction set of this machine."""


def make_task(arg0: tilewright._core.Program, arg1: tilewright._core.TargetModel, arg2: int, arg3: str, arg4: str) -> tilewright._core.autotune.Task:
    ...


def make_task_of_text(te_text: str, target: str, threads: int, caches: str = 'hot') -> tilewright._core.autotune.Task:
    ...


def named_workloads() -> list:
    """Rows of (name, sizes, source, whether in the default set)."""


def parse_workload(arg0: str) -> tilewright._core.autotune.Workload:
    ...


def replay(arg0: tilewright._core.Program, arg1: str) -> tilewright._core.Schedule:
    ...


def same_kind(arg0: str, arg1: str) -> bool:
    ...


def search_policies() -> list:
    """Rows of (name, documentation)."""


def tune(arg0: collections.abc.Sequence[tilewright._core.autotune.Task], arg1: tilewright._core.autotune.LogFile, arg2: tilewright._core.autotune.TunerOptions, arg3: typing.Any, arg4: tilewright._core.autotune.StopFlag) -> tilewright._core.autotune.TunerReport:
    ...


def untuned_schedule(arg0: tilewright._core.Program, arg1: tilewright._core.TargetModel, arg2: int) -> tilewright._core.Schedule:
    ...


def workload_kinds() -> list:
    """Rows of (kind, documentation, [(size, meaning, default or None)], values of dtype)."""
