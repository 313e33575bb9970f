"""Runs the fuzz tests on and on, each time with another seed; `./tw fuzz` calls it.

A schedule that fails is shrunk and kept in tests/fuzz/reproducers/, where `./tw test` tries it from then on.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from processes import end_all, exit_status, gtest, read_gtest, run_group
from run import ROOT, build

KEPT = ROOT / "tests" / "fuzz" / "reproducers"
LOGS = ROOT / "build" / "release" / "fuzz-logs"
CASES = re.compile(r"^\[  cases   \] (\d+) ran, (\d+) refused$", re.MULTILINE)
LONGEST = 600.0  # seconds a round may take before it is taken to hang


@dataclass
class Count:
    """What some rounds ran. A failure is the name of a test and the seed it failed with."""

    rounds: int = 0
    ran: int = 0
    refused: int = 0
    failures: list[tuple[str, int]] = field(default_factory=list)


def run_round(executable: Path, pattern: str, seed: int) -> Count:
    """Every test once, with this seed."""
    log = LOGS / f"{seed}.txt"
    log.parent.mkdir(parents=True, exist_ok=True)
    environment = {"TW_FUZZ_SEED": str(seed), "TW_FUZZ_KEEP": str(KEPT)}
    with log.open("w", errors="replace") as output:
        status = run_group(gtest(executable, pattern), output, ROOT, environment, LONGEST)
    text = log.read_text(errors="replace")
    count = Count(1, failures=[(name, seed) for name in read_gtest(text, status).failed])
    for ran, refused in CASES.findall(text):
        count.ran += int(ran)
        count.refused += int(refused)
    if not count.failures:
        log.unlink()
    return count


def main() -> int:
    parser = argparse.ArgumentParser(prog="./tw fuzz", description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=1, help="how long rounds are begun (default: 1)")
    parser.add_argument("--seed", type=int, default=None, help="of the first round; each has the next (default: the time)")
    parser.add_argument("word", nargs="*", help="parts of the names of tests; without one, all that count cases")
    options = parser.parse_args()
    jobs = int(os.environ.get("TW_JOBS") or len(os.sched_getaffinity(0)))
    if not build("release", ["fuzz"]).ok:
        return 1

    executable = ROOT / "build" / "release" / "tests" / "fuzz"
    pattern = ":".join(f"*{word}*" for word in options.word) or "*Fuzz*:*RoundTrip*"
    first = options.seed if options.seed is not None else time.time_ns() // 1_000_000_000
    before = set(KEPT.glob("*.txt"))
    start = time.monotonic()
    total = Count()

    def rounds(job: int) -> None:
        seed = first + job
        while time.monotonic() < start + 60 * options.minutes:
            count = run_round(executable, pattern, seed)
            total.rounds += count.rounds
            total.ran += count.ran
            total.refused += count.refused
            total.failures += count.failures
            for name, failed in count.failures:
                print(f"{name} fails with seed {failed}: {(LOGS / f'{failed}.txt').relative_to(ROOT)}", flush=True)
            seed += jobs

    with ThreadPoolExecutor(jobs) as pool:
        try:
            list(pool.map(rounds, range(jobs)))
        except BaseException:
            end_all()
            raise
    seconds = time.monotonic() - start
    print(f"{total.ran} cases ran and {total.refused} were refused in {total.rounds} rounds from seed {first}, "
          f"{seconds:.0f} s: {total.ran / seconds:.0f} a second")
    for file in sorted(set(KEPT.glob("*.txt")) - before):
        print(f"kept {file.relative_to(ROOT)}")
    print(f"{len(total.failures)} failures")
    return 1 if total.failures or total.ran == 0 else 0


if __name__ == "__main__":
    sys.exit(exit_status(main))
