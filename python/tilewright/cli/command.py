# SPDX-License-Identifier: Apache-2.0
"""What each form of the command does."""

import contextlib
import os
import signal
import sys
import threading

from .. import __version__, _core, autotune
from ..autotune.log import log_file
from ..compiler.build_config import build_config
from ..target import Target
from . import report
from .items import items_of
from .networks import print_network, time_network
from .vendor import choose_parts, print_choices, require_vendor
from .arguments import parse, replay_command, typed
from .output import peak_of, rates, write_file, write_json
from .progress import make_progress
from .replay import replay


def run(argv):
    arguments = parse(argv)
    if arguments.list:
        return report.list_workloads(arguments.json)
    with build_config(opt_level=arguments.opt_level):
        return _run(arguments)


def _run(arguments):
    target = Target(arguments.target)
    threads = arguments.threads or _core.num_threads()
    items = items_of(arguments.workloads, target)
    if arguments.vendor is not None:
        require_vendor(arguments.vendor, items.networks, arguments.replay)
    if arguments.replay:
        return replay(items.items, target, threads, arguments)
    return _tune(items, target, threads, arguments)


def _tune(named, target, threads, arguments):
    workloads = named.items
    tasks = [autotune.make_task(w.program, target, threads, w.label, w.caches) for w in workloads]
    # What cannot be written is refused now, rather than after a minute.
    if arguments.json not in (None, "-"):
        write_file(arguments.json, "a", "")
    log_file(arguments.log, True)
    peak = autotune.fma_peak(target, threads)
    # Standard output is for JSON alone when that goes there.
    stream = sys.stderr if arguments.json == "-" else sys.stdout
    progress = make_progress(stream, workloads, tasks, peak, arguments)
    stop = autotune.StopFlag()
    outcome, signals = {}, []

    def work():
        try:
            outcome["report"] = autotune.tune(
                tasks, arguments.log, arguments.trials, time_limit=arguments.time_limit, seed=arguments.seed,
                resume=arguments.resume, model=arguments.model, policy=arguments.policy, transfer=arguments.transfer,
                executor=arguments.executor, workers=arguments.workers, timeout=arguments.timeout, callback=progress.event, stop=stop,
                command=typed(), task_weights=[w.calls for w in workloads])
        except BaseException as error:  # noqa: BLE001  raised again in the main thread
            outcome["error"] = error

    def on_signal(number, _):
        signals.append(number)
        stop.set()
        if len(signals) == 1:
            progress.note("stopping; once more to stop at once")
        else:
            with contextlib.suppress(Exception):
                progress.__exit__(None, None, None)  # gives the terminal its cursor back
            os._exit(128 + number)  # every finished trial is in the log already

    # The tuner has a thread of its own, so that this one is free to take signals.
    with _handlers(on_signal), progress:
        thread = threading.Thread(target=work, name="tuner", daemon=True)
        thread.start()
        while thread.is_alive():
            thread.join(0.1)
    if "error" in outcome:
        raise outcome["error"]

    # Something else may have had the processors when the run began.
    peak = max(peak, autotune.fma_peak(target, threads))
    result = _result(named, tasks, outcome["report"], peak, target, threads, arguments, bool(signals))
    if not signals:
        result["networks"] = [time_network(n, target, threads, arguments.log) for n in named.networks]
    report.print_result(result, stream)
    for network in result.get("networks", ()):
        print_network(network, stream)
    if arguments.vendor is not None and not signals:
        result["vendor"] = []
        for network in named.networks:
            result["vendor"].append(choose_parts(network, arguments.vendor, target, threads, arguments.log))
            print_choices(result["vendor"][-1], stream)
    if arguments.json:
        write_json(result, arguments.json)
    if signals:
        return 128 + signals[0]
    return 0 if all(task["best_seconds"] is not None for task in result["tasks"]) else 1


@contextlib.contextmanager
def _handlers(on_signal):
    numbers = (signal.SIGINT, signal.SIGTERM)
    if threading.current_thread() is not threading.main_thread():  # called from another program
        yield
        return
    before = [signal.signal(number, on_signal) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before):
            signal.signal(number, handler)


def _result(named, tasks, outcome, peak, target, threads, arguments, interrupted):
    rows = []
    for workload, task, summary in zip(named.items, tasks, outcome.tasks):
        gflops, percent = rates(task.operations, summary.best_seconds, peak_of(workload.program, peak))
        rows.append({
            "workload": workload.label, "text": workload.text, "shape": workload.shape, "id": task.workload,
            "operations": task.operations, "untuned_seconds": summary.untuned_seconds or None,
            "best_seconds": summary.best_seconds or None, "gflops": gflops, "percent_of_peak": percent,
            "trials": summary.trials, "transfer": summary.transfer, "failures": dict(summary.failures), "best_trace": summary.best_trace})
    return {
        "version": __version__, "target": str(target), "threads": threads, "seed": arguments.seed,
        "model": arguments.model, "peak_gflops": peak / 1e9, "log": arguments.log, "seconds": outcome.seconds,
        "compile_wall_seconds": outcome.compile_wall_seconds, "compile_cpu_seconds": outcome.compile_cpu_seconds,
        "run_seconds": outcome.run_seconds, "reference_seconds": outcome.reference_seconds,
        "search_seconds": outcome.search_seconds, "train_seconds": outcome.train_seconds,
        "stopped": outcome.stopped, "interrupted": interrupted, "tasks": rows,
        "replay": replay_command(named.words, target, threads, arguments)}
