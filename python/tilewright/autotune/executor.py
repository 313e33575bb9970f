# SPDX-License-Identifier: Apache-2.0
"""Measuring on an executor: processes of this machine, a cluster of Dask's, anything with `submit` and futures."""

import concurrent.futures
import queue
import time

from .. import _core
from . import remote
from .seams import Measurement

# Messages under way for each worker: one that it works on, and one that it finds when it is done.
_AHEAD = 2
# Trials travel several in one message where they are quick: as many as take a worker so long, and no more than that. A
# message costs Dask some milliseconds, on the machine where the search needs them.
_MESSAGE_SECONDS = 0.2
_MOST_TOGETHER = 8
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
        self._waiting = []  # tickets that travel with the next messages
        self._together = 1  # trials in one message
        self._answers = []  # that `wait` has found and not given: kept where an error ends it
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
            worker = self._submit(remote.probe, None).result(timeout=_PROBE_SECONDS)
        except Exception as error:
            _core.raise_error("worker-lost", f"no worker of the executor answered: {type(error).__name__}: {error}",
                              "an executor whose workers can import tilewright")
        if worker["version"] != remote.VERSION:
            _refuse_version(f"'{worker['host']}' knows trials of version {worker['version']}")
        return worker["kind"]

    def capacity(self):
        """As many candidates as keep all workers busy; workers may come and go."""
        return max(1, _AHEAD * self._together * (self._workers or self._count_workers()))

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
        self._waiting.append(ticket)

    def _send_waiting(self):
        # Nothing waits any more, even if an executor takes no work: what is known can still be asked for.
        waiting, self._waiting = self._waiting, []
        for k in range(0, len(waiting), self._together):
            self._send(waiting[k:k + self._together])

    def _send(self, tickets):
        trials = [self._trials[ticket] for ticket in tickets]
        future = self._submit(remote.each, {"function": self._function, "trials": [trial.fields for trial in trials]})
        for trial in trials:
            trial.given_up = time.monotonic() + self._patience * len(trials)
            trial.futures.append(future)
        future.add_done_callback(lambda f: self._known.put((tickets, f)))

    def close(self):
        """Ends the executor, for whom it belongs to."""
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)

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
        """[(ticket, Measurement)] of what has become known, after waiting for at most so many seconds.

        An error of the workers' ends it; what was found before is what the next call gives.
        """
        self._send_waiting()
        block = seconds > 0
        while True:
            try:
                tickets, future = self._known.get(block and not self._answers, seconds or None)
            except queue.Empty:
                break
            self._take(tickets, future)
        now = time.monotonic()
        for ticket, trial in list(self._trials.items()):
            if trial.futures and now > trial.given_up:
                self._send([ticket])
        answers, self._answers = self._answers, []
        return answers

    def _take(self, tickets, future):
        """What a message brought, of those trials that another worker was not faster with."""
        tickets = [t for t in tickets if t in self._trials and future in self._trials[t].futures]
        if not tickets:
            return
        for ticket, reply in self._replies(tickets, future):
            trial = self._trials[ticket]
            trial.futures.remove(future)
            measurement = self._result(trial, reply)
            if measurement is not None:
                self._forget(ticket)
                self._answers.append((ticket, measurement))
            elif not trial.futures:
                self._send([ticket])  # alone, in case that it is what ends workers

    def _forget(self, ticket):
        """Nobody need measure it any more, nor what travels with it alone."""
        for future in self._trials.pop(ticket).futures:
            if not any(future in trial.futures for trial in self._trials.values()):
                future.cancel()

    def _replies(self, tickets, future):
        """[(ticket, reply)], or with each the error that the future ended with."""
        error = concurrent.futures.CancelledError() if future.cancelled() else future.exception()
        if error is not None:
            return [(ticket, error) for ticket in tickets]
        replies, seconds = future.result()
        if not any("refused" in reply for reply in replies):
            self._together = max(1, min(_MOST_TOGETHER, int(_MESSAGE_SECONDS * len(replies) / max(seconds, 1e-9))))
        return list(zip(tickets, replies, strict=True))

    def _result(self, trial, reply):
        """None where the trial must be made again. `reply`: of the worker, or why there is none."""
        if not isinstance(reply, BaseException):
            if "refused" not in reply:
                self._refusals = 0
                return Measurement(reply["seconds"], reply["error"], reply["message"], reply["compile_seconds"],
                                   reply["ir_hash"], reply["host"], reply["kind"])
            self._refusals += 1
            if self._refusals > 5 * self.capacity():
                _core.raise_error("target-feature", f"every worker refuses, '{reply['host']}' since: {reply['refused']}",
                                  "a worker for the target and number of threads")
            return None
        if isinstance(reply, AttributeError) and remote.__name__ in str(reply):
            _refuse_version(f"a worker says: {reply}")  # an earlier one lacks what is to be called there
        if not _of_transport(reply):
            # The worker itself says what is wrong: it will be wrong everywhere.
            raise reply
        trial.losses += 1
        if trial.losses <= _MOST_LOSSES:
            return None
        return Measurement(error="worker-lost", message=f"its worker was lost {trial.losses} times: {reply!r}")

    def cancel(self):
        for trial in self._trials.values():
            for future in trial.futures:
                future.cancel()
        self._trials.clear()
        self._waiting.clear()


def _refuse_version(found):
    _core.raise_error("bad-argument", f"workers have another version of tilewright: {found}, this process version {remote.VERSION}",
                      "one version of tilewright on all workers and here")


class _Trial:
    __slots__ = ("fields", "futures", "given_up", "losses")

    def __init__(self, fields):
        self.fields, self.futures = fields, []
        self.losses, self.given_up = 0, 0.0  # when another worker gets it as well


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

    def shutdown(self, **_):
        self.client.close()


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
