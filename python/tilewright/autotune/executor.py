# SPDX-License-Identifier: Apache-2.0
"""Measuring on an executor: processes of this machine, a cluster of Dask's, anything with `submit` and futures."""

import concurrent.futures
import queue
import time

from .. import _core
from . import remote
from .seams import Measurement

# Candidates under way for each worker: one that it measures, and one that it finds when it is done.
_AHEAD = 2
# Losses of its worker, by no fault of a candidate's own, before it counts as lost. A kernel that crashes ends a process
# of its own, not the worker.
_MOST_LOSSES = 20
# A worker that refuses a trial holds it so long, so that others take the next ones.
_REFUSAL_SECONDS = 0.5
_PROBE_SECONDS = 60.0
# For what is known to a worker of Dask's to reach us, or else it is lost.
_FETCH_SECONDS = 10.0


class ExecutorMeasurer:
    """Measures candidates on an executor; see docs/distributed.md.

    executor: with `submit(function, argument)` that gives a future of concurrent.futures (`result`, `exception`,
    `add_done_callback`, `cancel`), a client of Dask's, or a function that makes one: it is called anew when an executor
    breaks. workers: how many it has, asked of the executor unless given. timeout, run_budget: as of the tuner. patience:
    seconds after which a trial that was not answered is given to another worker as well. function: what workers run.
    """

    def __init__(self, executor, *, workers=0, timeout=10.0, run_budget=0.05, patience=None, function=remote.measure):
        self._factory = executor if callable(executor) and not hasattr(executor, "submit") else None
        self._executor = None if self._factory else _adapted(executor)
        self._workers = workers
        self._options = {"timeout": timeout, "run_budget": run_budget}
        # Compiling, running and, once a worker, the reference result; one candidate waits for another.
        self._patience = patience or 60 + 4 * _AHEAD * timeout
        self._function = function
        self._known = queue.SimpleQueue()  # (ticket, future)
        self._trials = {}  # ticket -> _Trial
        self._kind = None
        self._refusals = 0  # since the last answer
        self._counted = (0.0, 0)

    @property
    def kind(self):
        """Of the machines that measure: that of the first worker to answer."""
        if self._kind is None:
            self._kind = self._ask_kind() if self._function is remote.measure else ""
        return self._kind

    def _ask_kind(self):
        try:
            return self._submit(remote.probe, None).result(timeout=_PROBE_SECONDS)["kind"]
        except Exception as error:
            _core.raise_error("worker-lost", f"no worker of the executor answered: {type(error).__name__}: {error}",
                              "an executor whose workers can import tilewright")

    def capacity(self):
        """As many candidates as keep all workers busy; workers may come and go."""
        return max(1, _AHEAD * (self._workers or self._count_workers()))

    def _count_workers(self):
        when, count = self._counted
        if time.monotonic() - when > 1:
            count = _worker_count(self._get())
            self._counted = (time.monotonic(), count)
        return count

    def submit(self, ticket, task, trace, best_seconds):
        trial = {"version": remote.VERSION, "te": task.te_text, "target": task.target, "threads": task.threads,
                 "caches": task.caches, "trace": str(trace), "best": best_seconds, "kind": self.kind, "options": self._options,
                 "refusal_seconds": _REFUSAL_SECONDS}
        self._trials[ticket] = _Trial(trial)
        self._send(ticket)

    def _send(self, ticket):
        trial = self._trials[ticket]
        trial.sent = time.monotonic()
        future = self._submit(self._function, trial.fields)
        trial.futures.append(future)
        future.add_done_callback(lambda f: self._known.put((ticket, f)))

    def _get(self):
        if self._executor is None:
            self._executor = _adapted(self._factory())
        return self._executor

    def _submit(self, function, argument):
        try:
            return self._get().submit(function, argument)
        except RuntimeError as error:  # broken, or shut down
            if self._factory is None:
                _core.raise_error("bad-argument", f"the executor takes no work any more: {error}",
                                  "a function that makes an executor, which is called anew when one breaks")
            self._executor = _adapted(self._factory())
            return self._executor.submit(function, argument)

    def wait(self, seconds):
        """[(ticket, Measurement)] of what has become known, after waiting for at most so many seconds."""
        answers, block = [], seconds > 0
        while True:
            try:
                ticket, future = self._known.get(block and not answers, seconds or None)
            except queue.Empty:
                break
            trial = self._trials.get(ticket)
            if trial is None or future not in trial.futures:
                continue  # another worker was faster
            trial.futures.remove(future)
            measurement = self._result(trial, future)
            if measurement is not None:
                del self._trials[ticket]
                for other in trial.futures:
                    other.cancel()
                answers.append((ticket, measurement))
            elif not trial.futures:
                self._send(ticket)
        now = time.monotonic()
        for ticket, trial in list(self._trials.items()):
            if now - trial.sent > self._patience:
                self._send(ticket)
        return answers

    def _result(self, trial, future):
        """None where the trial must be made again."""
        error = concurrent.futures.CancelledError() if future.cancelled() else future.exception()
        if error is None:
            reply = future.result()
            if "refused" not in reply:
                self._refusals = 0
                return Measurement(reply["seconds"], reply["error"], reply["message"], reply["compile_seconds"],
                                   reply["ir_hash"], reply["host"], reply["kind"])
            self._refusals += 1
            if self._refusals > 5 * self.capacity():
                _core.raise_error("target-feature", f"every worker refuses, '{reply['host']}' since: {reply['refused']}",
                                  "a worker for the target and number of threads")
            return None
        if not _of_transport(error):
            # The worker itself says what is wrong: it will be wrong everywhere.
            raise error
        trial.losses += 1
        if trial.losses <= _MOST_LOSSES:
            return None
        return Measurement(error="worker-lost", message=f"its worker was lost {trial.losses} times: {error!r}")

    def cancel(self):
        for trial in self._trials.values():
            for future in trial.futures:
                future.cancel()
        self._trials.clear()


class _Trial:
    __slots__ = ("fields", "futures", "losses", "sent")

    def __init__(self, fields):
        self.fields, self.futures = fields, []
        self.losses, self.sent = 0, 0.0


# What executors call the loss of a worker, or of the way to it.
_LOST = {"KilledWorker", "CommClosedError", "FutureCancelledError", "RayActorError", "WorkerCrashedError", "RaySystemError"}


def _of_transport(error):
    """Whether a worker, or the way to it, was lost."""
    if isinstance(error, (concurrent.futures.BrokenExecutor, concurrent.futures.CancelledError, OSError, EOFError)):
        return True
    return bool(_LOST & {c.__name__ for c in type(error).__mro__}) or getattr(error, "code", "") == "worker-lost"


def _adapted(executor):
    """With `submit(function, argument)` and futures of concurrent.futures."""
    if type(executor).__module__.startswith("distributed.") and hasattr(executor, "scheduler_info"):
        return _Dask(executor)
    return executor


class _Dask:
    """A client of Dask's, whose workers come and go. Its own executor leaves a future without any answer where a result is
    lost between the worker and the client.
    """

    def __init__(self, client):
        self.client = client

    def submit(self, function, argument):
        answer = concurrent.futures.Future()
        future = self.client.submit(function, argument, pure=False)  # equal trials are several trials

        def known(future):
            if not answer.set_running_or_notify_cancel():
                return
            try:
                answer.set_result(future.result(timeout=_FETCH_SECONDS))
            except BaseException as error:  # noqa: BLE001  whatever it is, whoever waits must know
                answer.set_exception(error)

        future.add_done_callback(known)
        answer.add_done_callback(lambda a: future.cancel() if a.cancelled() else None)
        return answer

    def count(self):
        return sum(self.client.nthreads().values())


def _worker_count(executor):
    if hasattr(executor, "count"):
        return executor.count()
    return getattr(executor, "_max_workers", None) or 1


def _dask(address):
    try:
        from distributed import Client
    except ImportError:
        _core.raise_error("bad-argument", "Dask is not installed", "pip install 'tilewright[dask]'")
    return Client(address or None, set_as_default=False)


def _processes(count):
    import multiprocessing

    workers = int(count) if count else None
    return lambda: concurrent.futures.ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"))


# What --executor and tune(executor=…) take as text: kind:address.
EXECUTORS = {"dask": _dask, "processes": _processes}


def measurer_on(executor, **options):
    """The measurer of an executor, or of a text such as "dask:tcp://scheduler:8786" or "processes:4"."""
    if isinstance(executor, str):
        kind, _, address = executor.partition(":")
        if kind not in EXECUTORS:
            _core.raise_error("bad-argument", f"unknown executor '{executor}'", ", ".join(f"{k}:…" for k in EXECUTORS))
        executor = EXECUTORS[kind](address)
    elif not callable(executor) and not hasattr(executor, "submit"):
        _core.raise_error("bad-argument", f"{_core.describe(executor)} is no executor", "an object with 'submit', or a text")
    return ExecutorMeasurer(executor, **options)
