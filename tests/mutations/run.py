"""Breaks the sources on purpose, one mutation at a time, and runs the tests that should notice; `./tw mutate` calls it.

A mutation is a file NAME.toml here: `breaks` says what goes wrong, `file` has the text `find` once, which becomes
`replace`, and `tests` should notice: a GoogleTest filter for `program`, or a Python file where there is no program.
Everything happens in a copy of the tracked files below build/mutations, whose build is kept for the next time.
"""

from __future__ import annotations

import argparse
import difflib
import fcntl
import os
import shlex
import shutil
import subprocess
import sys
import textwrap
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from processes import Tally, exit_status, gtest, pytest, read_gtest, read_pytest, run_group  # noqa: E402

COPY = ROOT / "build/mutations"
BUILD = COPY / "build/release"
REPORT = BUILD / "test-logs/mutation.xml"
LOG = ROOT / "build/log/mutations.txt"
TIMEOUT = 300  # seconds after which tests are taken to hang


@dataclass(frozen=True)
class Mutation:
    name: str
    breaks: str
    file: str
    find: str
    replace: str
    tests: str
    program: str = ""

    @property
    def target(self) -> str:
        """What is built before the tests."""
        return self.program or "all"

    def applied(self, text: str) -> str | None:
        """The text of the file with the fault in it; None where it does not apply."""
        return text.replace(self.find, self.replace) if text.count(self.find) == 1 else None


def all_mutations() -> list[Mutation]:
    return [Mutation(path.stem, **tomllib.loads(path.read_text())) for path in sorted(Path(__file__).parent.glob("*.toml"))]


def chosen(words: list[str], mutations: list[Mutation]) -> list[Mutation]:
    """Those with one of the words in their name, all where there are no words; SystemExit with a line for words in none."""
    unknown = [word for word in words if not any(word in m.name for m in mutations)]
    if not unknown:
        return [m for m in mutations if not words or any(word in m.name for word in words)]
    for word in unknown:
        close = difflib.get_close_matches(word, [m.name for m in mutations], n=1)
        print(f"./tw mutate: no mutation has '{word}' in its name" + (f" (did you mean {close[0]}?)" if close else ""), file=sys.stderr)
    print("./tw mutate --list says what there is", file=sys.stderr)
    raise SystemExit(2)


def list_all(mutations: list[Mutation]) -> None:
    """A line each; on a terminal two or more that fit into it."""
    columns, indent = shutil.get_terminal_size().columns, "    "
    for m in mutations:
        if sys.stdout.isatty():
            print(m.name, *textwrap.wrap(m.breaks, columns, initial_indent=indent, subsequent_indent=indent), sep="\n")
        else:
            print(f"{m.name:<40}{m.breaks}")


def copy_tree() -> None:
    """Makes the copy equal to the checkout, with what is not committed; files that are the same keep their times."""
    names = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                           capture_output=True, check=True).stdout.decode().split("\0")
    wanted = {name for name in names if name and (ROOT / name).is_file()}
    for old in [path for path in COPY.rglob("*") if path.is_file() and path.relative_to(COPY).parts[0] not in ("build", ".venv")]:
        if old.relative_to(COPY).as_posix() not in wanted and "__pycache__" not in old.parts:
            old.unlink()
    for name in wanted:
        source, target = ROOT / name, COPY / name
        if target.is_file() and target.read_bytes() == source.read_bytes():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)
    if not (COPY / ".venv").is_symlink():
        (COPY / ".venv").symlink_to(ROOT / ".venv")


def run(command: list[str], timeout: float | None = None) -> tuple[int | None, str]:
    """Exit status (None: stopped for time) and output, which is appended to the log."""
    environment = {"TILEWRIGHT_WORKER": str(BUILD / "python/tilewright/tilewright-worker"), "PYTHONPATH": str(BUILD / "python"),
                   "PYTHONDONTWRITEBYTECODE": "1"}
    with LOG.open("a+", errors="replace") as log:
        print("$", shlex.join(command), file=log, flush=True)
        start = log.tell()
        status = run_group(command, log, COPY, environment, timeout)
        log.seek(start)
        return status, log.read()


def build(targets: set[str]) -> bool:
    if not (BUILD / "build.ninja").is_file() and run(["cmake", "--preset", "release"])[0] != 0:
        return False
    jobs = os.environ.get("TW_JOBS") or str(len(os.sched_getaffinity(0)))
    return run(["ninja", "-C", str(BUILD), "-j", jobs, *sorted(targets)])[0] == 0


def test(program: str, tests: str) -> Tally:
    """What the tests give, until the first of them fails."""
    if program:
        command, read = gtest(BUILD / "tests" / program, tests) + ["--gtest_fail_fast"], read_gtest
    else:
        REPORT.unlink(missing_ok=True)
        command, read = pytest(COPY / tests, REPORT) + ["-x", "-p", "no:cacheprovider"], read_pytest(REPORT)
    status, output = run(command, TIMEOUT)
    return read(output, status)


def judge(mutation: Mutation) -> tuple[bool, str]:
    """Whether a mutation was noticed, and by which test or why not. Its tests pass without it."""
    path = COPY / mutation.file
    original = path.read_text()
    changed = mutation.applied(original)
    if changed is None:
        return False, "does not apply"
    path.write_text(changed)
    try:
        if not build({mutation.target}):
            return False, "does not compile"
        failed = test(mutation.program, mutation.tests).failed
        return bool(failed), f"killed by {failed[0]}" if failed else "SURVIVED"
    finally:
        path.write_text(original)


def only_one() -> IO[str]:
    """Waits until no other process mutates in this checkout. What it returns has to be kept; the lock ends with us."""
    lock = (ROOT / "build/.mutations.lock").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("waiting for another ./tw mutate in this checkout", file=sys.stderr)
        fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


def main() -> int:
    parser = argparse.ArgumentParser(prog="./tw mutate", description="Break the sources on purpose and see which tests notice.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="mutations, or parts of their names; all unless given")
    parser.add_argument("--list", action="store_true", help="say what each breaks, and run nothing")
    options = parser.parse_args()
    mutations = chosen(options.names, all_mutations())
    if options.list:
        list_all(mutations)
        return 0

    COPY.mkdir(parents=True, exist_ok=True)
    LOG.parent.mkdir(parents=True, exist_ok=True)
    lock = only_one()  # noqa: F841
    LOG.write_text("")
    copy_tree()
    print(f"building the copy in {COPY.relative_to(ROOT)}, which takes minutes the first time", file=sys.stderr)
    if not build({m.target for m in mutations}):
        print(f"the copy in {COPY.relative_to(ROOT)} does not build: see {LOG.relative_to(ROOT)}", file=sys.stderr)
        return 1
    # All before the first mutation: programs are not built again after the last one.
    print("running the tests without mutations", file=sys.stderr)
    without = {suite: test(*suite) for suite in dict.fromkeys((m.program, m.tests) for m in mutations)}
    killed = 0
    for m in mutations:
        print(f"{m.name:<40}", end="", flush=True)
        start = time.monotonic()
        sound = without[m.program, m.tests]
        if sound.failed:
            result = False, f"cannot tell: {sound.failed[0]} fails without it"
        elif not sound.passed:
            result = False, f"cannot tell: no test is called {m.tests}"
        else:
            result = judge(m)
        killed += result[0]
        print(f"{time.monotonic() - start:6.1f} s\n    {result[1]}", flush=True)
    print(f"{killed} of {len(mutations)} killed")
    return 0 if killed == len(mutations) else 1


if __name__ == "__main__":
    sys.exit(exit_status(main))
