"""Runs test programs, each with its output in a file, and reads which tests they ran and what came of them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

_living: set[int] = set()  # groups of processes
_ending = threading.Event()


def run_group(command: list[str], output: IO[str], cwd: Path, environment: dict[str, str],
              timeout: float | None = None) -> int | None:
    """Exit status, or None where it was stopped for time. The program leads a group of processes, of which none outlives
    this call: not what it started and left behind, and not itself where the call is interrupted."""
    if _ending.is_set():
        raise KeyboardInterrupt
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, cwd=cwd,
                             env=os.environ | environment, start_new_session=True)
    _living.add(child.pid)
    try:
        status: int | None = child.wait(timeout)
    except subprocess.TimeoutExpired:
        status = None
    finally:
        _end(child.pid)
        _living.discard(child.pid)
        child.wait()
    if _ending.is_set():
        raise KeyboardInterrupt
    return status


def _end(group: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def end_all() -> None:
    """Ends what other threads run: they are interrupted too, and start nothing more."""
    _ending.set()
    for group in tuple(_living):
        _end(group)


def exit_status(main: Callable[[], int]) -> int:
    """What `main` returns. Ctrl-C, SIGTERM and SIGHUP end it with a line and the usual status, after what is to be done
    at the end was done."""
    number = signal.SIGINT

    def interrupt(received: int, _: object) -> None:
        nonlocal number
        number = signal.Signals(received)
        raise KeyboardInterrupt

    for one in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(one, interrupt)
    try:
        return main()
    except KeyboardInterrupt:
        with suppress(OSError):
            print("interrupted" if number == signal.SIGINT else f"ended by {number.name}", file=sys.stderr)
        return 128 + number


@dataclass
class Tally:
    """What one process, or by addition several, ran."""

    passed: int = 0
    failed: list[str] = field(default_factory=list)
    skipped: int = 0
    stopped: bool = False

    def __iadd__(self, other: Tally) -> Tally:
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.stopped |= other.stopped
        return self

    @property
    def total(self) -> int:
        return self.passed + len(self.failed) + self.skipped


# Turns the output and exit status (None: stopped for time) of a process into a tally.
Reader = Callable[[str, int | None], Tally]


def gtest(executable: Path, pattern: str) -> list[str]:
    return [str(executable), f"--gtest_filter={pattern}", "--gtest_color=no"]


GTEST_LINE = re.compile(r"\[( RUN      |       OK |  FAILED  |  SKIPPED )\] ([\w/]+\.[\w/]+)(?= \(|,|$)", re.MULTILINE)


def read_gtest(output: str, status: int | None) -> Tally:
    """Counts tests from their progress lines, which a crash leaves behind where it leaves no XML report."""
    tally = Tally()
    running = None
    for kind, name in GTEST_LINE.findall(output.split("Global test environment tear-down")[0]):
        match kind.strip():
            case "RUN":
                running = name
                continue
            case "OK":
                tally.passed += 1
            case "SKIPPED":
                tally.skipped += 1
            case "FAILED":
                tally.failed.append(name)
        running = None
    if status is None:
        tally.failed.append(f"{running or 'tests'} (stopped)")
    elif status < 0:
        tally.failed.append(f"{running or 'at exit'} ({signal.Signals(-status).name})")
    elif status != 0 and not tally.failed:
        tally.failed.append(f"{running or 'at exit'} (exit status {status})")
    return tally


def pytest(file: Path, report: Path) -> list[str]:
    return [sys.executable, "-m", "pytest", "-q", "--no-header", "--color=no", f"--junit-xml={report}", str(file)]


def read_pytest(report: Path) -> Reader:
    def read(output: str, status: int | None) -> Tally:
        tally = Tally()
        no_tests_collected = 5
        if status == no_tests_collected:
            return tally
        try:
            cases = list(ElementTree.parse(report).getroot().iter("testcase"))
        except (OSError, ElementTree.ParseError):
            cases = []
        for case in cases:
            if case.find("failure") is not None or case.find("error") is not None:
                tally.failed.append(case.get("name", ""))
            elif case.find("skipped") is not None:
                tally.skipped += 1
            else:
                tally.passed += 1
        if status is None:
            tally.failed.append("stopped")
        elif status != 0 and not tally.failed:
            reason = signal.Signals(-status).name if status < 0 else f"exit status {status}"
            tally.failed.append(f"pytest ended with {reason}")
        return tally

    return read
