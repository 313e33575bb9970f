# SPDX-License-Identifier: Apache-2.0
"""Tables of results and of workloads."""

import sys

from .. import autotune


def duration(seconds):
    """1:23, or 1:02:03."""
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def time_text(seconds):
    """Three digits and a unit; "-" for none."""
    if seconds is None:
        return "-"
    for unit, factor in (("s", 1), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1:
            return f"{_digits(seconds * factor)} {unit}"
    return f"{_digits(seconds * 1e9)} ns"


def _digits(value):
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def rate(gflops):
    return "-" if gflops is None else f"{gflops:.1f} GFLOP/s"


def _number(value, text="{:.1f}"):
    return "-" if value is None else text.format(value)


def _console(stream):
    from rich.console import Console

    # Rows stay whole where nobody looks at a screen.
    return Console(file=stream, width=None if stream.isatty() else 120, highlight=False, soft_wrap=False)


def _table(*columns):
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for k, name in enumerate(columns):
        table.add_column(name, justify="left" if k == 0 else "right", overflow="fold", no_wrap=k > 0)
    return table


def print_result(result, stream):
    """The final table, then the log and the command that replays it."""
    table = _table("workload", "untuned", "best", "GFLOP/s", "% peak", "trials", "failed")
    for row in result["tasks"]:
        table.add_row(
            row["workload"], time_text(row["untuned_seconds"]), time_text(row["best_seconds"]),
            _number(row["gflops"]), _number(row["percent_of_peak"], "{:.0f}"), str(row["trials"]),
            str(sum(row["failures"].values())))
    console = _console(stream)
    console.print(table)
    for row in result["tasks"]:
        if row["failures"]:
            failures = ", ".join(f"{name} {n}" for name, n in sorted(row["failures"].items()))
            stream.write(f"failures of {row['workload']}: {failures}\n")
        if row["best_seconds"] is None:
            stream.write(f"{row['workload']} has no verified schedule\n")
    stream.write(
        f"measured FMA peak: {result['peak_gflops']:.1f} GFLOP/s with {result['threads']} "
        f"thread{'' if result['threads'] == 1 else 's'}; {duration(result['seconds'])} spent"
        f"{', interrupted' if result['interrupted'] else ''}\n")
    stream.write(f"log: {result['log']}\n")
    stream.write(f"replay: {result['replay']}\n")
    stream.flush()


def list_workloads(json_path):
    """The named workloads with their sizes, and the kinds."""
    named, kinds = autotune.named_workloads(), autotune.workload_kinds()
    if json_path:
        from .command import write_json

        write_json({
            "workloads": [dict(zip(("name", "sizes", "source", "default"), row)) for row in named],
            "kinds": [{"kind": kind, "doc": doc, "sizes": [
                dict(zip(("name", "meaning", "default"), size)) for size in sizes]} for kind, doc, sizes in kinds],
        }, json_path)
        if json_path == "-":
            return 0
    width = max(len(name) for name, *_ in named)
    lines = [f"{'*' if default else ' '} {name:{width}}  {sizes}" for name, sizes, _, default in named]
    lines += ["", "* tuned when no workload is named", "", "kinds, for free sizes as in gemm:m=128,n=3072,k=768:"]
    for kind, doc, sizes in kinds:
        parts = [name if default is None else f"{name}={default}" for name, _, default in sizes]
        lines += [f"  {kind}:{','.join(parts)}", f"      {doc}"]
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()
    return 0
