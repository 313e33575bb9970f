"""Breaks the sources on purpose, one mutation at a time, and runs the tests that should notice; `./tw mutate` calls it.

A mutation is a file NAME.toml here: `breaks` says what goes wrong, `file` has the text `find` once, which becomes
`replace`, and `tests` should notice: a GoogleTest filter for `program`, or a Python file where there is no program.
Everything happens in a copy of the tracked files below build/mutations, whose build is kept for the next time.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COPY = ROOT / "build/mutations"
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

    def command(self, tree: Path) -> list[str]:
        if self.program:
            return [str(tree / "build/release/tests" / self.program), f"--gtest_filter={self.tests}", "--gtest_brief=1"]
        return [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", str(tree / self.tests)]


def all_mutations() -> list[Mutation]:
    return [Mutation(path.stem, **tomllib.loads(path.read_text())) for path in sorted(Path(__file__).parent.glob("*.toml"))]


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
    build = COPY / "build/release"
    environment = os.environ | {"TILEWRIGHT_WORKER": str(build / "python/tilewright/tilewright-worker"),
                                "PYTHONPATH": str(build / "python"), "PYTHONDONTWRITEBYTECODE": "1"}
    child = subprocess.Popen(command, cwd=COPY, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True)
    try:
        output, _ = child.communicate(timeout=timeout)
        status: int | None = child.returncode
    except subprocess.TimeoutExpired:
        status, output = None, ""
    finally:
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        child.wait()
    with LOG.open("a") as log:
        log.write(f"$ {' '.join(command)}\n{output}\n")
    return status, output


def build(targets: set[str]) -> bool:
    if not (COPY / "build/release/build.ninja").is_file() and run(["cmake", "--preset", "release"])[0] != 0:
        return False
    return run(["ninja", "-C", str(COPY / "build/release"), "-j", os.environ.get("TW_JOBS") or str(len(os.sched_getaffinity(0))),
                *sorted(targets)])[0] == 0


def ran_some(output: str) -> bool:
    """Whether the tests of a passing run were more than none."""
    found = re.search(r"^\[==========\] (\d+) tests?|^(\d+) passed", output, re.MULTILINE)
    return found is not None and int(found[1] or found[2]) > 0


def judge(mutation: Mutation) -> str:
    """What became of a mutation: "killed", or why not. Its tests are known to pass without it."""
    path = COPY / mutation.file
    original = path.read_text()
    changed = mutation.applied(original)
    if changed is None:
        return "does not apply"
    path.write_text(changed)
    try:
        if not build({mutation.target}):
            return "does not compile"
        status, _ = run(mutation.command(COPY), TIMEOUT)
        return "SURVIVED" if status == 0 else "killed"
    finally:
        path.write_text(original)


def main() -> int:
    parser = argparse.ArgumentParser(prog="./tw mutate", description="Break the sources on purpose and see which tests notice.")
    parser.add_argument("name", nargs="*", help="mutations, or parts of their names; all unless given")
    parser.add_argument("--list", action="store_true", help="say what each breaks, and run nothing")
    options = parser.parse_args()
    mutations = [m for m in all_mutations() if not options.name or any(name in m.name for name in options.name)]
    if not mutations:
        parser.error(f"no mutation is called {' or '.join(options.name)}: see --list")
    if options.list:
        for m in mutations:
            print(f"{m.name:<36} {m.breaks}")
        return 0

    COPY.mkdir(parents=True, exist_ok=True)
    LOG.parent.mkdir(parents=True, exist_ok=True)
    # One at a time in a checkout; the lock ends with the process.
    lock = (ROOT / "build/.mutations.lock").open("w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    LOG.write_text("")
    copy_tree()
    if not build({m.target for m in mutations}):
        print(f"the copy in {COPY.relative_to(ROOT)} does not build: see {LOG.relative_to(ROOT)}")
        return 1
    sound: dict[tuple[str, ...], bool] = {}
    bad = 0
    for m in mutations:
        start = time.monotonic()
        command = tuple(m.command(COPY))
        if command not in sound:
            status, output = run(list(command), TIMEOUT)
            sound[command] = status == 0 and ran_some(output)
        result = judge(m) if sound[command] else "its tests fail without it, or are none"
        bad += result != "killed"
        print(f"{m.name:<36} {result:<16} {time.monotonic() - start:6.1f} s", flush=True)
    print(f"{len(mutations) - bad} of {len(mutations)} killed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
