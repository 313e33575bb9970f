"""./tw bench: measures, prints tables, and writes or compares results. See bench/README.md."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import compare
import goals
import model
import tables
from sections import SECTIONS, BenchmarkFailed, Context

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build/release"
FORMAT = 1  # of result files


def parse_arguments(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tw bench",
        description="Measures this machine and this build. Sections: "
        + "; ".join(f"{name}: {section.doc}" for name, section in SECTIONS.items()),
    )
    parser.add_argument("section", nargs="*", help="sections to run, the others of this build being kept; all that the form has unless given")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--quick", action="store_true", help="at most 8 minutes on two cores; the form unless --full")
    form.add_argument("--full", action="store_true", help="all layers, 200 trials each, the study of the model")
    parser.add_argument("--collect", action="store_true", help="with model: record candidates first, or go on with that")
    parser.add_argument("--pretrain", action="store_true", help="make the shipped model of other tasks from what was recorded, and nothing else")
    parser.add_argument("--sample", action="store_true", help="record the small sample of the tree anew, and nothing else")
    parser.add_argument("--slice", type=float, default=1e9, metavar="SECONDS", help="of --collect: time for so long, then pause")
    parser.add_argument("--pause", type=float, default=0, metavar="SECONDS", help="of --collect: between slices")
    parser.add_argument("--resume", action="store_true", help="keep the sections of the last run of this form that this build finished")
    parser.add_argument("--threads", type=several, help="numbers of threads, such as 1,4; one and all unless given")
    parser.add_argument("--trials", type=positive, help="trials of each tuning; of networks, for each kernel")
    parser.add_argument("--seeds", type=positive, help="seeds of the study of the model")
    parser.add_argument("--compiles", type=positive, help="compiles while memory is watched")
    parser.add_argument("--only", metavar="NAME,NAME", help="of operators: these")
    parser.add_argument("--log", type=Path, help="a tuning log: layers and networks take its best records and tune nothing")
    parser.add_argument("--json", type=Path, help="write the results there")
    parser.add_argument("--report", type=Path, help="write a page with tables and pictures there")
    parser.add_argument("--from", dest="source", type=Path, help="measure nothing; take these results")
    parser.add_argument("--compare", nargs=2, type=Path, metavar=("A.json", "B.json"), help="measure nothing; how B differs from A")
    arguments = parser.parse_args(words)
    for name in arguments.section:
        if name not in SECTIONS:
            parser.error(f"no section '{name}': choose from {', '.join(SECTIONS)}")
    for path in filter(None, (arguments.json, arguments.report)):
        folder = path.absolute().parent
        if path.is_dir():
            parser.error(f"'{path}' is a folder")
        if not folder.is_dir() or not os.access(folder, os.W_OK):
            parser.error(f"no folder '{folder}' to write {path.name} to")
    if arguments.log and not arguments.log.is_file():
        parser.error(f"no log '{arguments.log}'")
    return arguments


def positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is not positive")
    return value


def several(text: str) -> list[int]:
    try:
        return [positive(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}': numbers such as 1,4") from None


def commit() -> str:
    """Of the checkout, with a mark when files differ from it; empty outside of git."""
    try:
        words = ["git", "-C", ROOT, "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def load(path: Path) -> dict:
    """A result file. Exits with one line for what is none."""
    try:
        results = json.loads(path.read_text())
    except OSError as error:
        sys.exit(f"tw bench: cannot read {path}: {error.strerror}")
    except ValueError:
        sys.exit(f"tw bench: {path} is not a result file")
    known = isinstance(results, dict) and results.get("format") == FORMAT
    if not known or not results.get("sections", {"": 0}).keys() <= SECTIONS.keys():
        sys.exit(f"tw bench: {path} is not a result file of this version (format {FORMAT})")
    return results


def save(results: dict, path: Path) -> None:
    """In one step: a reader sees the old file or the new one."""
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps(results, indent=1) + "\n")
    part.replace(path)


def context_of(arguments: argparse.Namespace) -> Context:
    quick = not arguments.full
    folder = ROOT / "build/bench" / ("quick" if quick else "full")
    folder.mkdir(parents=True, exist_ok=True)
    program, worker = BUILD / "bench/tilewright-bench", BUILD / "python/tilewright/tilewright-worker"
    if not program.is_file():
        sys.exit("tw bench: the benchmark program is missing; it needs libbenchmark-dev")
    study = set(arguments.section) <= {"model", "calibrate"}
    return Context(
        program=program,
        worker=worker,
        folder=folder,
        quick=quick,
        threads=arguments.threads or sorted({1, len(os.sched_getaffinity(0))}),
        trials=arguments.trials,
        log=arguments.log and arguments.log.absolute(),
        compiles=arguments.compiles,
        seeds=arguments.seeds,
        study_log=arguments.log.absolute() if arguments.log and study else ROOT / "build/bench/study.db",
        resume=arguments.resume,
        only=arguments.only,
        say=lambda text: print(f"    {text}", file=sys.stderr, flush=True),
    )


def make(arguments: argparse.Namespace) -> None:
    """Files of the tree that are made by measuring."""
    context = context_of(arguments)
    if arguments.sample:
        model.sample(context)
    if arguments.pretrain:
        if not context.study_log.is_file():
            sys.exit("tw bench: nothing was collected, and the sample teaches too little; ./tw bench model --collect does")
        for table in model.pretrain_tables(model.pretrain(context), {}):
            tables.show(table)


def measure(arguments: argparse.Namespace) -> dict:
    context = context_of(arguments)
    form = context.folder.name
    kept = context.folder / "results.json"
    build = [file.stat().st_mtime for file in (context.program, context.worker)]
    results = {"format": FORMAT, "form": form, "sections": {}}
    if (arguments.resume or arguments.section) and kept.is_file():
        old = load(kept)
        if old.get("build") == build:
            results["sections"] = old["sections"]
        elif arguments.resume:
            print("tw bench: the build is another one than that of the kept results: starting over", file=sys.stderr)
            context.resume = False
    results |= {"build": build, "commit": commit(), "created": datetime.now(UTC).isoformat(timespec="seconds")}
    if arguments.collect:
        model.collect(context, arguments.slice, arguments.pause)
    options = {name: str(getattr(context, name)) for name in ("threads", "trials", "log", "compiles", "seeds", "only")}

    names = arguments.section or [name for name, section in SECTIONS.items() if section.in_quick or not context.quick]
    failed = False
    for name in names:
        if context.resume and results["sections"].get(name, {}).get("options") == options:
            print(f"tw bench: {name}: kept", file=sys.stderr)
            continue
        print(f"tw bench: {name}: {SECTIONS[name].doc}", file=sys.stderr, flush=True)
        start = time.monotonic()
        try:
            found = SECTIONS[name].run(context)
        except BenchmarkFailed as error:
            print(f"tw bench: {error}", file=sys.stderr)
            failed = True
            continue
        results["sections"][name] = found | {"seconds": time.monotonic() - start, "options": options}
        save(results, kept)
        for table in tables.of_section(name, found, results):
            tables.show(table)
    results["failed"] = failed
    print(f"tw bench: results in {kept.relative_to(ROOT)}", file=sys.stderr)
    return results


def main(words: list[str]) -> int:
    arguments = parse_arguments(words)
    shown = []
    if arguments.sample or arguments.pretrain:
        try:
            make(arguments)
        except BenchmarkFailed as error:
            sys.exit(f"tw bench: {error}")
        return 0
    if arguments.compare:
        before, after = (load(path) for path in arguments.compare)
        shown = compare.tables(before, after, *(path.name for path in arguments.compare))
        for table in shown:
            tables.show(table)
        results = after
    elif arguments.source:
        results = load(arguments.source)
        for name, section in results["sections"].items():
            for table in tables.of_section(name, section, results):
                tables.show(table)
    else:
        results = measure(arguments)
    if not arguments.compare and goals.goals(results):
        tables.show(goals.table(results))
    if arguments.json:
        save(results, arguments.json)
    if arguments.report:
        import report  # matplotlib takes a second to load

        arguments.report.write_text(report.render(results, shown))
    return 1 if results.get("failed") else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit("tw bench: stopped; --resume goes on after the sections that were finished")
