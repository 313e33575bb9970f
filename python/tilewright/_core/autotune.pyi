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
    def model(self) -> str:
        ...
    @model.setter
    def model(self, value: str) -> None: ...
    @property
    def resume(self) -> bool:
        ...
    @resume.setter
    def resume(self, value: bool) -> None: ...
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


def default_workloads() -> list[tilewright._core.autotune.Workload]:
    ...


def fma_peak(target: tilewright._core.TargetModel, threads: int, seconds: float = 0.05) -> float:
    ...


def ir_hash(arg0: tilewright._core.Program, arg1: tilewright._core.Schedule, arg2: tilewright._core.TargetModel, arg3: str) -> str:
    """What a record of candidates timed with such caches holds as its ir_hash."""


def make_task(arg0: tilewright._core.Program, arg1: tilewright._core.TargetModel, arg2: int, arg3: str, arg4: str) -> tilewright._core.autotune.Task:
    ...


def named_workloads() -> list:
    """Rows of (name, sizes, source, whether in the default set)."""


def parse_workload(arg0: str) -> tilewright._core.autotune.Workload:
    ...


def replay(arg0: tilewright._core.Program, arg1: str) -> tilewright._core.Schedule:
    ...


def tune(arg0: collections.abc.Sequence[tilewright._core.autotune.Task], arg1: tilewright._core.autotune.LogFile, arg2: tilewright._core.autotune.TunerOptions, arg3: typing.Any, arg4: tilewright._core.autotune.StopFlag) -> tilewright._core.autotune.TunerReport:
    ...


def untuned_schedule(arg0: tilewright._core.Program, arg1: tilewright._core.TargetModel, arg2: int) -> tilewright._core.Schedule:
    ...


def workload_kinds() -> list:
    """Rows of (kind, documentation, [(size, meaning, default or None)], values of dtype)."""
