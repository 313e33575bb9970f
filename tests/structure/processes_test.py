"""Programs that tests/processes.py runs leave nothing behind, however they end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tree

sys.path.insert(0, str(tree.ROOT / "tests"))
import processes  # noqa: E402

# Starts a program that sleeps, says its number, and goes on as told.
PARENT = "import subprocess, sys, time; print(subprocess.Popen(['sleep', '600']).pid, flush=True); "


def runs(number: int) -> bool:
    """Whether there is such a process; one that ended and was not waited for is none."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def run(tmp_path: Path, then: str, timeout: float | None = None) -> tuple[int | None, int]:
    """What run_group returns, and the number of the program that the one it ran has started."""
    log = tmp_path / "log.txt"
    with log.open("w") as output:
        status = processes.run_group([sys.executable, "-c", PARENT + then], output, tmp_path, {}, timeout)
    return status, int(log.read_text())


def gone(number: int) -> bool:
    """Whether the process ends; being killed takes a moment."""
    for _ in range(1000):
        if not runs(number):
            return True
        time.sleep(0.01)
    return False


@pytest.mark.parametrize("status", [0, 3])
def test_what_a_program_leaves_behind_is_ended(tmp_path, status):
    assert (found := run(tmp_path, f"sys.exit({status})"))[0] == status
    assert gone(found[1])


def test_a_program_that_hangs_is_ended_with_what_it_started(tmp_path):
    status, child = run(tmp_path, "time.sleep(600)", timeout=2)
    assert status is None and gone(child)


# On several threads, as tests run, where only the main one is interrupted.
MAIN = f"""
import signal, sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
sys.path.insert(0, {str(tree.ROOT / "tests")!r})
import processes

def one(number):
    with open(f"{{number}}.txt", "w") as output:
        return processes.run_group([sys.executable, "-c", {PARENT + "time.sleep(600)"!r}], output, Path(), {{}})

def main():
    with ThreadPoolExecutor(2) as pool:
        try:
            return sum(pool.map(one, range(4)))
        except BaseException:
            processes.end_all()
            raise

signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell ignores for what it runs in the background
sys.exit(processes.exit_status(main))
"""


@pytest.mark.parametrize(("number", "status", "line"), [
    (signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "ended by SIGTERM"), (signal.SIGHUP, 129, "ended by SIGHUP")])
def test_an_interrupted_run_leaves_nothing_behind(tmp_path, number, status, line):
    child = subprocess.Popen([sys.executable, "-c", MAIN], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    logs = [tmp_path / "0.txt", tmp_path / "1.txt"]
    while not all(log.is_file() and log.read_text().endswith("\n") for log in logs):
        assert child.poll() is None
        time.sleep(0.01)
    os.kill(child.pid, number)
    _, errors = child.communicate(timeout=300)
    assert (child.returncode, errors) == (status, line + "\n")
    assert all(gone(int(log.read_text())) for log in logs)
    assert not (tmp_path / "2.txt").exists()
