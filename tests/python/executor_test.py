"""Measuring on executors: processes of this machine, Dask's workers, and made ones that die, hang and refuse."""

import collections
import concurrent.futures
import multiprocessing
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tilewright import autotune
from tilewright.autotune import remote
from tilewright.autotune.executor import ExecutorMeasurer
from tilewright.error import UserError

SIZE = "gemm:m=16,n=32,k=16"
PAGE = Path(__file__).resolve().parents[2] / "docs/distributed.md"


def tune(folder, trials, **parts):
    return autotune.tune(SIZE, folder / "log.db", trials, batch=8, threads=1, policy="random", model="prior", **parts)


def check(folder, trials):
    """Every trial is in the log, and once."""
    records = autotune.Log(folder / "log.db").records()
    assert len(records) == trials and len({r.trace for r in records}) == trials
    return records


def made(trial):
    """An answer that needs no machine."""
    return {"seconds": [len(trial["trace"]) * 1e-6], "error": "", "message": "", "compile_seconds": 0.0, "ir_hash": "",
            "host": f"made-{threading.get_ident() % 3}", "kind": "made; x"}


class Threads(concurrent.futures.ThreadPoolExecutor):
    """Workers that do to some trials what workers do."""

    def __init__(self, workers, trouble):
        super().__init__(workers)
        self.trouble, self.sent = trouble, 0

    def submit(self, function, argument):
        self.sent += 1
        return super().submit(self.work, self.sent, function, argument)

    def work(self, number, function, argument):
        self.trouble(number)
        return function(argument)


def test_workers_that_die_lose_no_trial(tmp_path):
    """A hundred workers, each at a random moment: before it has begun, or after all was done."""
    chance, deaths = random.Random(1), []

    class Dying(Threads):
        def work(self, number, function, argument):
            dies = len(deaths) < 100 and chance.random() < 0.6
            result = None if dies and chance.random() < 0.5 else function(argument)
            if dies:
                deaths.append(number)
                raise concurrent.futures.BrokenExecutor("the worker is gone")
            return result

    with Dying(8, None) as executor:
        report = tune(tmp_path, 100, measurer=ExecutorMeasurer(executor, function=made))
    assert report.tasks[0].trials == 100 and len(deaths) == 100
    assert all(r.ok and r.host.startswith("made-") for r in check(tmp_path, 100))


def test_a_trial_that_hangs_is_made_by_another_worker(tmp_path):
    release = threading.Event()

    def trouble(number):
        if number in (2, 5):
            release.wait(60)

    with Threads(4, trouble) as executor:
        report = tune(tmp_path, 20, measurer=ExecutorMeasurer(executor, function=made, patience=0.2))
        release.set()
    assert report.tasks[0].trials == 20
    check(tmp_path, 20)


def test_a_trial_that_ends_all_its_workers_counts_as_lost(tmp_path):
    def trouble(number):
        raise concurrent.futures.BrokenExecutor("the worker is gone")

    with Threads(2, trouble) as executor:
        tune(tmp_path, 3, measurer=ExecutorMeasurer(executor, function=made))
    assert {r.error for r in check(tmp_path, 3)} == {"worker-lost"}


def test_an_error_of_the_worker_ends_the_run_and_loses_no_trial(tmp_path):
    def trouble(number):
        if number == 5:
            raise ImportError("no module named tilewright")

    with Threads(2, trouble) as executor, pytest.raises(UserError) as caught:
        tune(tmp_path, 20, measurer=ExecutorMeasurer(executor, function=made))
    assert "no module named tilewright" in caught.value.what
    records = autotune.Log(tmp_path / "log.db").records()
    assert 1 <= len(records) < 20 and len({r.trace for r in records}) == len(records)


def test_candidates_are_proposed_while_others_are_measured(tmp_path):
    """One slow worker keeps no other waiting: all trials but one are made while it is busy with its first."""
    release, answered = threading.Event(), []

    def trouble(number):
        if number == 1:
            assert release.wait(60)

    def watch(event):
        if event.record is not None:
            answered.append(event.trial)
            if event.trial == 29:
                release.set()

    with Threads(2, trouble) as executor:
        report = tune(tmp_path, 30, measurer=ExecutorMeasurer(executor, function=made), callback=watch)
    assert report.tasks[0].trials == 30 and answered == list(range(1, 31))


def trial(**fields):
    task = autotune.make_task(SIZE, threads=1)
    return {"version": remote.VERSION, "te": task.te_text, "target": task.target, "threads": 1, "caches": "hot", "best": 0.0,
            "kind": "", "trace": str(autotune.prior_schedule(task.program, threads=1).trace), "options": {"run_budget": 0.002}, **fields}


def test_a_worker_measures_a_trial_from_its_text():
    reply = remote.measure(trial())
    assert reply["error"] == "" and min(reply["seconds"]) > 0 and len(reply["ir_hash"]) == 16
    assert reply["kind"] == remote.probe()["kind"] and reply["host"] == os.uname().nodename


def test_quick_trials_travel_together_and_slow_ones_alone(tmp_path):
    """The trials of each message: so many as take 0.2 s by the messages before."""
    seconds, messages = 0.0, []

    class Watched(concurrent.futures.ThreadPoolExecutor):
        def submit(self, function, argument):
            messages.append(len(argument["trials"]))
            return super().submit(function, argument)

    def measure(trial):
        time.sleep(seconds)
        return made(trial)

    for seconds in (0.0, 0.06, 0.25):
        messages.clear()
        with Watched(2) as executor:
            autotune.tune(SIZE, tmp_path / f"{seconds}.db", 24, threads=1, policy="random", model="prior",
                          measurer=ExecutorMeasurer(executor, function=measure))
        records = autotune.Log(tmp_path / f"{seconds}.db").records()
        assert len({r.trace for r in records}) == sum(messages) == 24
        assert messages[0] == 1 and max(messages) == {0.0: 8, 0.06: 3, 0.25: 1}[seconds]


def test_a_message_that_is_lost_is_sent_in_parts(tmp_path):
    """A trial that ends its worker takes those with it that travelled in its message, and no others."""
    deadly, lost = [], []

    class Watched(concurrent.futures.ThreadPoolExecutor):
        def submit(self, function, argument):
            traces = [t["trace"] for t in argument["trials"]]
            if len(traces) > 1 and not deadly:
                deadly.append(traces[1])
            if set(traces) & set(deadly):
                lost.append(traces)
                future = concurrent.futures.Future()
                future.set_exception(concurrent.futures.BrokenExecutor("the worker is gone"))
                return future
            return super().submit(function, argument)

    with Watched(2) as executor:
        tune(tmp_path, 30, measurer=ExecutorMeasurer(executor, function=made))
    records = check(tmp_path, 30)
    assert len(lost[0]) > 1 and all(traces == deadly for traces in lost[1:])
    assert [r.trace for r in records if r.error == "worker-lost"] == deadly


def test_what_came_with_an_error_is_kept(tmp_path):
    """Four messages are known at once, of which the second is an error of the worker."""
    class Known(concurrent.futures.Executor):
        def submit(self, function, argument):
            future = concurrent.futures.Future()
            answered.append(argument)
            if len(answered) == 2:
                future.set_exception(ImportError("no module named tilewright"))
            else:
                future.set_result(function(argument))
            return future

    answered = []
    with pytest.raises(UserError, match="no module named tilewright"):
        tune(tmp_path, 20, measurer=ExecutorMeasurer(Known(), workers=2, function=made))
    kept = [t["trace"] for k in (0, 2, 3) for t in answered[k]["trials"]]
    assert len(answered) == 4 and [r.trace for r in check(tmp_path, 3)] == kept


def test_refused_trials_are_refused_together():
    replies, _ = remote.each({"function": remote.measure, "trials": [trial(version=99, refusal_seconds=0.0)] * 3})
    assert len(replies) == 3 and all("version 99" in reply["refused"] for reply in replies)


@pytest.mark.parametrize("fields, why", [
    ({"target": "llvm -mcpu=x86-64 -mattr=+sse4a,+xop"}, "xop"), ({"threads": 10**6}, "CPUs"),
    ({"kind": "another; x"}, "another; x"), ({"version": 99}, "version 99")])
def test_a_worker_refuses_what_is_not_for_it(fields, why):
    assert why in remote.measure(trial(**fields))["refused"]


def test_where_all_workers_refuse_the_run_ends_and_says_why(tmp_path, monkeypatch):
    monkeypatch.setattr("tilewright.autotune.executor._REFUSAL_SECONDS", 0)
    with Threads(2, lambda number: None) as executor, pytest.raises(UserError) as caught:
        autotune.tune(SIZE, tmp_path / "log.db", 4, threads=4000, executor=executor)
    assert caught.value.code == "target-feature" and "4000 threads" in caught.value.what


@pytest.mark.parametrize("answers", [
    {"probe": remote.probe() | {"version": remote.VERSION - 1}},
    {"each": AttributeError("Can't get attribute 'each' on <module 'tilewright.autotune.remote' from 'remote.py'>")}])
def test_workers_of_an_earlier_version_are_named_as_such(tmp_path, answers):
    class Earlier(concurrent.futures.Executor):
        def submit(self, function, argument):
            future = concurrent.futures.Future()
            answer = answers.get(function.__name__)
            if isinstance(answer, Exception):
                future.set_exception(answer)
            else:
                future.set_result(answer or function(argument))
            return future

    with pytest.raises(UserError, match="another version of tilewright") as caught:
        autotune.tune(SIZE, tmp_path / "log.db", 4, threads=1, executor=Earlier())
    assert f"version {remote.VERSION}" in caught.value.what and "one version" in caught.value.legal


def test_a_trial_has_its_cpus_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(remote, "_cpus", lambda: sorted(os.sched_getaffinity(os.getpid()))[:2])
    busy, most, wrong = collections.Counter(), [0], []

    def claim(count):
        for _ in range(20):
            with remote.claim_cpus(count, str(tmp_path)) as cpus:
                busy.update(cpus)
                wrong.extend(c for c in cpus if busy[c] != 1)
                if os.sched_getaffinity(0) != set(cpus) or len(cpus) != count:
                    wrong.append(cpus)
                most[0] = max(most[0], sum(busy.values()))
                time.sleep(0.001)
                busy.subtract(cpus)

    cpus = len(remote._cpus())
    threads = [threading.Thread(target=claim, args=(min(count, cpus),)) for count in (1, 2, 1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong and most[0] == cpus


@pytest.mark.skipif(not PAGE.exists(), reason="not in a checkout")
def test_the_example_of_the_page(tmp_path):
    (script,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    (tmp_path / "script.py").write_text(script)
    result = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True)
    assert result.stdout.strip() == "8", result.stderr
    assert {r.host for r in autotune.Log(tmp_path / "tuning.db").records()} == {os.uname().nodename}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    distributed = pytest.importorskip("distributed")
    os.environ["DASK_TEMPORARY_DIRECTORY"] = str(tmp_path_factory.mktemp("dask"))
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        yield cluster


def test_workers_of_dask(cluster, tmp_path):
    before = set(cluster.scheduler.clients)
    report = tune(tmp_path, 12, executor=f"dask:{cluster.scheduler_address}")
    assert report.tasks[0].trials == 12 and report.tasks[0].best_seconds > 0
    deadline = time.monotonic() + 20
    while set(cluster.scheduler.clients) - before:  # the one that the text asked for is gone
        assert time.monotonic() < deadline
        time.sleep(0.02)
    records = check(tmp_path, 12)
    assert {r.host for r in records} == {os.uname().nodename} and sum(r.ok for r in records) > 6


def test_the_command_tunes_on_workers_of_dask(cluster, tmp_path):
    words = ["-m", "tilewright.cli", SIZE, "--trials=6", "--threads=1", f"--log={tmp_path / 'log.db'}", "--policy=random",
             f"--executor=dask:{cluster.scheduler_address}"]
    subprocess.run([sys.executable, *words], check=True, capture_output=True, cwd=tmp_path)
    check(tmp_path, 6)


def slow(trial):
    time.sleep(0.02)
    return made(trial)


def test_workers_of_dask_that_are_killed_lose_no_trial(cluster, tmp_path):
    """Each is killed in the middle of a trial, or between two, and replaced."""
    from distributed import Client

    killed, done = [], threading.Event()

    def kill(client):
        chance = random.Random(2)
        while not done.is_set() and len(killed) < 4:
            pids = list(client.run(os.getpid, on_error="ignore").values())
            if pids:
                pid = chance.choice(pids)
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
            done.wait(chance.uniform(0.1, 0.8))

    with Client(cluster.scheduler_address, set_as_default=False) as client:
        thread = threading.Thread(target=kill, args=(client,))
        thread.start()
        report = tune(tmp_path, 60, measurer=ExecutorMeasurer(client, function=slow))
        done.set()
        thread.join()
    assert killed and report.tasks[0].trials == 60
    assert all(r.ok for r in check(tmp_path, 60))


def end_then_measure(trial):
    """Ends the process of the first trial that finds the file."""
    flag = os.environ["EXECUTOR_TEST_FLAG"]
    try:
        os.unlink(flag)
    except FileNotFoundError:
        return made(trial)
    os._exit(1)


def test_a_pool_of_processes_that_breaks_is_made_anew(tmp_path, monkeypatch):
    monkeypatch.setenv("EXECUTOR_TEST_FLAG", str(tmp_path / "flag"))
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    pools = []

    def pool():
        pools.append(concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("fork")))
        return pools[-1]

    (tmp_path / "flag").touch()
    tune(tmp_path, 6, measurer=ExecutorMeasurer(pool, function=end_then_measure))
    assert len(pools) == 2 and all(r.ok for r in check(tmp_path, 6))
    for p in pools:
        p.shutdown()
    (tmp_path / "flag").touch()
    with pool() as broken, pytest.raises(UserError) as caught:
        tune(tmp_path, 12, measurer=ExecutorMeasurer(broken, function=end_then_measure))
    assert caught.value.code == "bad-argument" and "takes no work" in caught.value.what
