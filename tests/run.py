"""Builds and runs the tests, C++ and Python, against the time budgets of budgets.toml; `./tw test` calls it.

A C++ folder is one GoogleTest program, run in as many shards as there are jobs; a Python folder is one pytest process
a file, as many at a time. So a crash ends a shard or a file and nothing else.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from processes import (Reader, Tally, end_all, exit_status, gtest, pytest, read_gtest, read_pytest,
                       run_group)
from selection import Selection, select

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"
BUDGETS = tomllib.loads((TESTS / "budgets.toml").read_text())
PYTHON_FOLDERS = ("structure", "python")
HEADERS = "headers"
CPP_FOLDERS = tuple(f for f in BUDGETS["folders"] if f not in PYTHON_FOLDERS and f != HEADERS)
SANITIZERS = tuple(BUDGETS["sanitizers"])
ASAN_PYTHON = "asan-python"  # the Python tests on an instrumented extension module, where the words name it
# Schedules of what nobody tuned are chosen from fewer points, but in the tests of how they are chosen.
QUICK_PRIOR = {"TILEWRIGHT_PRIOR_POINTS": "128"}
OF_THE_PRIOR = ("unit/autotune", "release")
SYMBOLIZER = "external_symbolizer_path=/usr/bin/llvm-symbolizer-19"
LAST_LINES = 60  # of the output of a process that failed
PATIENCE = 4  # budgets after which a process is taken to hang; a busy machine makes slow ones, and fails none


@dataclass
class Row:
    """One line of the final table; `tally` is None for a build."""

    name: str
    seconds: float
    budget: float
    tally: Tally | None = None
    note: str = ""

    @property
    def ok(self) -> bool:
        return not self.note and (self.tally is None or not (self.tally.failed or self.tally.stopped))

    @property
    def result(self) -> str:
        if self.note:
            return self.note
        if self.tally and self.tally.stopped:
            return "STOPPED"
        if self.tally and self.tally.failed:
            return f"{len(self.tally.failed)} FAILED"
        return "ok" if self.seconds <= self.budget else "ok, but slower than its budget"


@dataclass
class Process:
    """A test process."""

    name: str
    command: list[str]
    environment: dict[str, str]
    log: Path
    read: Reader


def program(folder: str) -> str:
    """CMake target and executable of a C++ test folder."""
    return folder.replace("/", "_")


def has_sources(folder: str) -> bool:
    return any((TESTS / folder).rglob("*_test.cc"))


# Running ------------------------------------------------------------------------------------------------------------


def run_process(process: Process, deadline: float) -> Tally:
    process.log.parent.mkdir(parents=True, exist_ok=True)
    with process.log.open("w", errors="replace") as output:
        status = run_group(process.command, output, ROOT, process.environment, max(0.0, deadline - time.monotonic()))
    text = process.log.read_text(errors="replace")
    tally = process.read(text, status)
    tally.stopped |= status is None
    if tally.failed or tally.stopped:
        lines = text.splitlines()
        print(f"\n--- {process.name}: {', '.join(tally.failed) or 'stopped'}", flush=True)
        if len(lines) > LAST_LINES:
            print(f"[{len(lines) - LAST_LINES} lines before these are in {process.log.relative_to(ROOT)}]")
        print("\n".join(lines[-LAST_LINES:]), flush=True)
    return tally


def run_row(name: str, minutes: float, processes: Iterable[Process], jobs: int) -> Row:
    start = time.monotonic()
    deadline = start + PATIENCE * 60 * minutes
    tally = Tally()
    with ThreadPoolExecutor(jobs) as pool:
        try:
            for part in pool.map(lambda process: run_process(process, deadline), processes):
                tally += part
        except BaseException:
            end_all()
            raise
    row = Row(name, time.monotonic() - start, 60 * minutes, tally)
    if tally.stopped:
        print(f"{name}: stopped after {PATIENCE} times its budget of {minutes:g} minutes (tests/budgets.toml)", flush=True)
    if tally.total or not row.ok:
        print(f"{name}: {tally.total} tests in {row.seconds:.1f} s, {row.result}", flush=True)
    return row


def gtest_processes(folder: str, preset: str, pattern: str, environment: dict[str, str], jobs: int) -> list[Process]:
    build = ROOT / "build" / preset
    executable = build / "tests" / program(folder)
    environment = ({} if (folder, preset) == OF_THE_PRIOR else QUICK_PRIOR) | environment | {
        "GTEST_TOTAL_SHARDS": str(jobs),
        "TILEWRIGHT_WORKER": str(build / "python" / "tilewright" / "tilewright-worker"),
    }
    return [
        Process(f"{folder} ({preset})", gtest(executable, pattern), environment | {"GTEST_SHARD_INDEX": str(shard)},
                build / "test-logs" / f"{program(folder)}.{shard}.txt", read_gtest)
        for shard in range(jobs)
    ]


def pytest_processes(folder: str, preset: str, selection: Selection, environment: dict[str, str]) -> list[Process]:
    logs = ROOT / "build" / preset / "test-logs"
    processes = []
    for file in selection.files_of(folder):
        report = logs / f"{folder}.{file.stem}.xml"
        report.unlink(missing_ok=True)
        command = pytest(file, report)
        if names := selection.names_in(folder):
            command += ["-k", " or ".join(names)]
        processes.append(Process(str(file.relative_to(ROOT)), command, QUICK_PRIOR | environment, report.with_suffix(".txt"),
                                 read_pytest(report)))
    return processes


# Building -----------------------------------------------------------------------------------------------------------


def build(preset: str, targets: list[str], minutes: float) -> Row:
    start = time.monotonic()
    status = subprocess.run([str(ROOT / "tw"), "build", preset, *targets], stdin=subprocess.DEVNULL).returncode
    row = Row(f"build {preset}", time.monotonic() - start, 60 * minutes)
    if status != 0:
        row.note = "FAILED"
    print(f"{row.name}: {row.seconds:.1f} s, {row.result}", flush=True)
    return row


def check_headers(jobs: int) -> Row:
    """Compiles each header alone: cmake/Folders.cmake writes one source a header."""

    def read(output: str, status: int | None) -> Tally:
        failed = re.findall(r"^FAILED: \S*?\.dir/headers/(\S+)\.cc\.o", output, re.MULTILINE)
        if status and not failed:
            failed = [HEADERS]
        return Tally(count - len(failed), failed)

    folder = ROOT / "build" / "release"
    listing = subprocess.run(["ninja", "-C", str(folder), "-t", "inputs", HEADERS],
                             capture_output=True, text=True).stdout
    count = len(re.findall(r"/headers/.+\.h\.cc'?$", listing, re.MULTILINE))
    command = [str(ROOT / "tw"), "build", "release", "-k", "0", HEADERS]
    process = Process(HEADERS, command, {}, folder / "test-logs" / "headers.txt", read)
    return run_row(HEADERS, BUDGETS["folders"][HEADERS], [process] if count else [], jobs)


# Command line -------------------------------------------------------------------------------------------------------


def sanitizer_environment(scale: float) -> dict[str, str]:
    return {
        "TW_FUZZ_SCALE": str(scale * BUDGETS["fuzz_scale"]["sanitizer"]),
        "ASAN_OPTIONS": SYMBOLIZER,
        "LSAN_OPTIONS": "suppressions=tests/support/lsan.supp:print_suppressions=0",
        "UBSAN_OPTIONS": f"print_stacktrace=1:halt_on_error=1:{SYMBOLIZER}",
        "TSAN_OPTIONS": f"suppressions=tests/support/tsan.supp:halt_on_error=1:{SYMBOLIZER}",
    }


def without_studies(pattern: str) -> str:
    """Suites that only run often what others run too are left out, unless they are asked for."""
    return pattern if "Study" in pattern else f"{pattern}-*Study.*"


def asan_python_environment() -> dict[str, str]:
    """The interpreter is not instrumented: the sanitizer's library goes in front of it, and the C++ library with it, whose
    exceptions it looks for. What it finds stands in files, since pytest keeps what goes to the terminal."""
    libraries = [
        subprocess.run([compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip()
        for compiler, name in (("clang++-19", f"libclang_rt.asan-{platform.machine()}.so"), ("g++", "libstdc++.so.6"))]
    build = ROOT / "build" / ASAN_PYTHON
    common = f"log_path={build / 'test-logs' / 'found'}:{SYMBOLIZER}"
    return {
        "PYTHONPATH": str(build / "python"),
        "LD_PRELOAD": " ".join(libraries),
        # Python keeps what it allocates; containers of libraries that are not instrumented do not say what they hold.
        "ASAN_OPTIONS": f"{common}:detect_leaks=0:allocator_may_return_null=1:detect_container_overflow=0",
        "UBSAN_OPTIONS": f"{common}:print_stacktrace=1",
        "TW_SANITIZED": "1",
    }


def run_asan_python(selection: Selection, environment: dict[str, str], jobs: int) -> list[Row]:
    budgets = BUDGETS[ASAN_PYTHON]
    rows = [build(ASAN_PYTHON, ["package"], budgets["build"])]
    if rows[0].ok:
        for old in (ROOT / "build" / ASAN_PYTHON / "test-logs").glob("found.*"):
            old.unlink()
        processes = pytest_processes("python", ASAN_PYTHON, selection, environment | asan_python_environment())
        rows.append(run_row(ASAN_PYTHON, budgets["tests"], processes, jobs))
    return rows


def run(options: argparse.Namespace, jobs: int) -> list[Row]:
    selection = select(options.filter, (*CPP_FOLDERS, *PYTHON_FOLDERS), (HEADERS,), (*SANITIZERS, ASAN_PYTHON))
    # Where it is named, Python's tests run there and not on the release build.
    left_out = "python" if ASAN_PYTHON in options.filter else ASAN_PYTHON
    selection = replace(selection, rows=selection.rows - {left_out})
    scale = BUDGETS["fuzz_scale"]["long" if options.long else "default"]
    environment = {"TW_FUZZ_SCALE": str(scale), "TW_FUZZ_SEED": str(options.seed)}
    cpp = [folder for folder in CPP_FOLDERS if has_sources(folder)]
    chosen = [folder for folder in cpp if folder in selection.rows]
    # Python tests need all of the package; a C++ program what it is linked from.
    targets = [*(["all"] if "python" in selection.rows else []), *map(program, chosen)]
    if HEADERS in selection.rows and not targets:
        targets = ["build.ninja"]
    rows = [build("release", targets, BUDGETS["builds"]["release"])] if targets else []
    if not all(row.ok for row in rows):
        return rows

    for folder, minutes in BUDGETS["folders"].items():
        if folder not in selection.rows:
            continue
        if folder == HEADERS:
            rows.append(check_headers(jobs))
        elif folder in PYTHON_FOLDERS:
            rows.append(run_row(folder, minutes, pytest_processes(folder, "release", selection, environment), jobs))
        elif folder in chosen:
            minutes *= scale if folder == "fuzz" else 1
            rows.append(run_row(folder, minutes, gtest_processes(folder, "release", selection.pattern(folder), environment, jobs), jobs))

    def concurrent(folder: str) -> bool:
        return any("ThreadSanitizer" in file.read_text() for file in (TESTS / folder).rglob("*_test.cc"))

    for preset in SANITIZERS:
        if preset not in selection.rows:
            continue
        tested = selection.narrowed([folder for folder in cpp if preset != "tsan" or concurrent(folder)])
        if not tested:
            continue
        rows.append(build(preset, [program(folder) for folder in tested], BUDGETS["builds"][preset]))
        if not rows[-1].ok:
            continue
        processes: list[Process] = []
        for folder in tested:
            pattern = without_studies(selection.pattern(folder)) if preset != "tsan" else "*ThreadSanitizer*"
            processes += gtest_processes(folder, preset, pattern, sanitizer_environment(scale), jobs)
        minutes = BUDGETS["sanitizers"][preset] * (scale if options.long else 1)
        rows.append(run_row(preset, minutes, processes, jobs))
    if ASAN_PYTHON in selection.rows:
        rows += run_asan_python(selection, environment, jobs)
    return rows


def print_table(rows: list[Row]) -> None:
    print(f"\n{'folder':<18}{'tests':>7}{'seconds':>10}{'budget':>9}  result")
    for row in rows:
        tests = "" if row.tally is None else row.tally.total
        print(f"{row.name:<18}{tests:>7}{row.seconds:>10.1f}{row.budget:>9.0f}  {row.result}")
    seconds = sum(row.seconds for row in rows)
    print(f"{'all':<18}{sum(row.tally.total for row in rows if row.tally):>7}{seconds:>10.1f}{60 * BUDGETS['total']:>9.0f}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="./tw test", description="Run the tests.")
    parser.add_argument("--long", action="store_true", help="larger fuzz budgets")
    parser.add_argument("--seed", type=int, default=1, help="seed of the fuzz tests (TW_FUZZ_SEED)")
    parser.add_argument("filter", nargs="*", help="test folders (unit, unit/ir, python, asan ...), files, and parts of test names; only what they need is built")
    options = parser.parse_args()
    jobs = int(os.environ.get("TW_JOBS") or len(os.sched_getaffinity(0)))

    rows = run(options, jobs)
    tallies = [row.tally for row in rows if row.tally]
    passed = sum(tally.passed for tally in tallies)
    failed = [f"{row.name}: {name}" for row in rows if row.tally for name in row.tally.failed]
    failed += [f"{row.name}" for row in rows if row.tally is None and not row.ok]
    print_table(rows)
    if failed:
        print("\nfailed:")
        for name in failed:
            print(f"  {name}")
    nothing = options.filter and not failed and not any(tally.total for tally in tallies)
    if nothing:
        print(f"\nno test matches {' '.join(options.filter)}; folders: {' '.join((*BUDGETS['folders'], *SANITIZERS))}")
    print(f"{passed} passed, {len(failed)} failed, {sum(tally.skipped for tally in tallies)} skipped")
    return 1 if failed or nothing else 0


if __name__ == "__main__":
    sys.exit(exit_status(main))
