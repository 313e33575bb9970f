"""How tuning on executors keeps workers busy, and what it loses when they die: `./tw python bench/executors.py`.

Prints a line for each: trials a second of one and of two workers of Dask's with a core each; what part of their time 64 slow
workers (threads that sleep) work; how many trials are in the log, each once, after 100 workers of Dask's were killed at random
moments.
"""

import concurrent.futures
import contextlib
import os
import random
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

from tilewright import autotune

LAYER = "conv2d_bias_relu:resnet50.3"


def answer(trial, seconds):
    time.sleep(seconds)
    return {"seconds": [len(trial["trace"]) * 1e-6], "error": "", "message": "", "compile_seconds": 0.0, "ir_hash": "",
            "host": "made", "kind": "made; x"}


def quick(trial):
    return answer(trial, 0.05)


def cluster(workers, folder):
    import distributed

    os.environ["DASK_TEMPORARY_DIRECTORY"] = folder
    return distributed.LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None)


def rate(workers, folder, policy="evolutionary", model="xgboost", trials=256, first=32):
    """Trials a second of so many workers, without the first ones, which wait for reference results. On one machine the
    search has the cores of the workers; a policy that draws points leaves them alone.
    """
    times = []

    def watch(event):
        if event.record is not None:
            times.append(time.monotonic())

    with cluster(workers, folder) as c:
        autotune.tune(LAYER, Path(folder) / f"{workers}-{policy}.db", trials, threads=1, executor=f"dask:{c.scheduler_address}",
                      callback=watch, seed=1, policy=policy, model=model)
    return (len(times) - first) / (times[-1] - times[first - 1])


def busy_share(folder, workers=64, trials=1024):
    """Of workers that take 1 to 3 s for a trial; from the first submission to the moment when fewer are left than workers."""
    chance, lock, spans = random.Random(1), threading.Lock(), []

    def slow(trial):
        with lock:
            seconds = chance.uniform(1, 3)
        start = time.monotonic()
        result = answer(trial, seconds)
        with lock:
            spans.append((start, time.monotonic()))
        return result

    with concurrent.futures.ThreadPoolExecutor(workers) as executor:
        report = autotune.tune(LAYER, Path(folder) / "slow.db", trials, threads=1,
                               measurer=autotune.ExecutorMeasurer(executor, function=slow))
    begin = min(start for start, _ in spans)
    end = sorted(start for start, _ in spans)[-1]  # then there is nothing left to begin
    work = sum(min(e, end) - s for s, e in spans)
    return work / (workers * (end - begin)), report


def kill_workers(folder, kills=100, workers=4):
    killed, done = [], threading.Event()

    def kill(cluster):
        chance = random.Random(1)
        while not done.is_set() and len(killed) < kills:
            cluster.scale(workers)  # nannies whose workers die too often give up
            pids = [n.pid for n in list(cluster.workers.values()) if n.pid]
            if pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(chance.choice(pids), signal.SIGKILL)
                killed.append(time.monotonic())
            done.wait(chance.uniform(0, 0.6))

    from distributed import Client

    with cluster(workers, folder) as c, Client(c.scheduler_address, set_as_default=False) as client:
        thread = threading.Thread(target=kill, args=(c,), daemon=True)

        def watch(event):
            if event.trial == 1 and event.record is not None:
                thread.start()

        trials = 0
        while len(killed) < kills:
            trials += 200
            autotune.tune(LAYER, Path(folder) / "killed.db", trials, threads=1, resume=True, policy="random", model="prior",
                          measurer=autotune.ExecutorMeasurer(client, function=quick), callback=watch if not killed else None)
        done.set()
        thread.join()
    records = autotune.Log(Path(folder) / "killed.db").records()
    return len(killed), trials, len(records), len({r.trace for r in records}), sum(not r.ok for r in records)


def main(words):
    words = words or ["rate", "busy", "kill"]
    with tempfile.TemporaryDirectory() as folder:
        if "rate" in words:
            for parts in (("random", "prior"), ("evolutionary", "xgboost")):
                one, two = (rate(count, folder, *parts) for count in (1, 2))
                print(f"trials a second, {parts[0]}: one worker {one:.1f}, two {two:.1f}, ratio {two / one:.2f}", flush=True)
        if "busy" in words:
            share, report = busy_share(folder)
            print(f"64 slow workers: busy {share:.1%}; search {report.search_seconds:.1f} s and training "
                  f"{report.train_seconds:.1f} s of {report.seconds:.1f} s", flush=True)
        if "kill" in words:
            killed, asked, kept, distinct, failed = kill_workers(folder)
            print(f"{killed} workers killed: {kept} of {asked} trials in the log, {distinct} distinct, {failed} failed")


if __name__ == "__main__":
    main(sys.argv[1:])
