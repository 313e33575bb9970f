# SPDX-License-Identifier: Apache-2.0
"""What a worker of an executor does: trials, in a process of their own, each alone on its cores.

Nothing but this package is needed where it runs. A trial and its answer are dicts of plain values, so that processes of
different versions understand each other or say that they do not.
"""

import contextlib
import fcntl
import functools
import os
import tempfile
import threading
import time

from .. import _core

_native = _core.autotune

# Raised when the meaning of a trial, or of a message of several, changes.
VERSION = 2

_measurers, _tasks, _lock = {}, {}, threading.Lock()


def probe(_=None):
    """What machine this is."""
    return {"version": VERSION, "host": _native.host_name(), "kind": _native.machine_kind(), "cpus": len(_cpus())}


def each(message):
    """([function(trial) of each], the seconds that it took) for {"function", "trials"}.

    What is refused is refused once: the trials behind it are as it is.
    """
    start, replies, trials = time.monotonic(), [], message["trials"]
    for trial in trials:
        replies.append(message["function"](trial))
        if "refused" in replies[-1]:
            replies += [replies[-1]] * (len(trials) - len(replies))
            break
    return replies, time.monotonic() - start


def measure(trial):
    """Measures a trial; {"refused": why} where it is not for this machine, as nothing is measured then."""
    refused = _refusal(trial)
    if refused:
        time.sleep(trial.get("refusal_seconds", 0))  # others may take it meanwhile
        return {"refused": refused, **probe()}
    with claim_cpus(trial["threads"]) as cpus:
        measurer = _measurer(cpus, trial["options"])
        task = _task(trial["te"], trial["target"], trial["threads"], trial["caches"])
        (record,) = measurer.measure(task, [trial["trace"]], trial["best"])
    return {"version": VERSION, "seconds": list(record.seconds), "error": record.error, "message": record.message,
            "compile_seconds": record.compile_seconds, "ir_hash": record.ir_hash, "host": record.host, "kind": record.kind}


def _refusal(trial):
    if trial["version"] != VERSION:
        return f"trials of version {trial['version']}, and this worker knows {VERSION}"
    missing = _native.features_missing_here(trial["target"])
    if missing:
        return f"the target '{trial['target']}' needs {', '.join(missing)}"
    if trial["threads"] > len(_cpus()):
        return f"{trial['threads']} threads, and this worker may use {len(_cpus())} CPUs"
    if trial["kind"] and not _native.same_kind(trial["kind"], _native.machine_kind()):
        return f"trials of this run are compared on machines of the kind '{trial['kind']}'"
    return ""


@functools.cache
def _cpus():
    """What the process may use, before any thread of it claims less."""
    return sorted(os.sched_getaffinity(0))


@contextlib.contextmanager
def claim_cpus(count, folder=None):
    """So many CPUs of this process that nobody else on this host has claimed; this thread runs on no others meanwhile.

    A lock file for each CPU is held by whoever measures on it, and let go of by the kernel if that process dies. One
    file more is held while CPUs are being collected, so that two who want several never wait for each other.
    """
    folder = folder or os.path.join(tempfile.gettempdir(), f"tilewright-cpus-{os.getuid()}")
    os.makedirs(folder, exist_ok=True)
    held = {}
    try:
        with open(os.path.join(folder, "collecting"), "w") as collecting:
            fcntl.flock(collecting, fcntl.LOCK_EX)
            while len(held) < count:
                for cpu in _cpus():
                    if cpu not in held and len(held) < count:
                        file = open(os.path.join(folder, str(cpu)), "w")  # noqa: SIM115  closed below
                        try:
                            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                            held[cpu] = file
                        except OSError:
                            file.close()
                if len(held) < count:
                    time.sleep(0.002)
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, held)
        try:
            yield tuple(sorted(held))
        finally:
            os.sched_setaffinity(0, before)
    finally:
        for file in held.values():
            file.close()


def _measurer(cpus, options):
    """One for each set of CPUs: its process inherits where it may run from the thread that starts it."""
    key = (cpus, tuple(sorted(options.items())))
    with _lock:
        if key not in _measurers:
            _measurers[key] = _native.LocalMeasurer(workers=1, **options)
        return _measurers[key]


def _task(*key):
    """Of its te text, target, number of threads and caches."""
    with _lock:
        if key not in _tasks:
            _tasks[key] = _native.make_task_of_text(*key)
        return _tasks[key]
