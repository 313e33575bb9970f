# SPDX-License-Identifier: Apache-2.0
"""Tables of results and of workloads."""

import sys
import textwrap

from .. import autotune
from .output import duration, number, print_table, time_text, write_json


def print_result(result, stream):
    """The final table, then the log and the command that replays it."""
    print_table(stream, ("workload", "untuned", "best", "GFLOP/s", "% peak", "trials", "failed"), [
        (row["workload"], time_text(row["untuned_seconds"]), time_text(row["best_seconds"]), number(row["gflops"]),
         number(row["percent_of_peak"], "{:.0f}"), str(row["trials"]), str(sum(row["failures"].values())))
        for row in result["tasks"]])
    for row in result["tasks"]:
        if row["failures"]:
            failures = ", ".join(f"{name} {n}" for name, n in sorted(row["failures"].items()))
            stream.write(f"failures of {row['workload']}: {failures}\n")
        if row["best_seconds"] is None and row["trials"]:
            stream.write(f"{row['workload']} has no verified schedule\n")
    untried = sum(not row["trials"] for row in result["tasks"])
    if untried:
        stream.write(f"{untried} of {len(result['tasks'])} were not tried, and have no verified schedule\n")
    stream.write(
        f"measured FMA peak: {result['peak_gflops']:.1f} GFLOP/s with {result['threads']} "
        f"thread{'' if result['threads'] == 1 else 's'}; {duration(result['seconds'])} spent"
        f"{', interrupted' if result['interrupted'] else ''}\n")
    stream.write(f"log: {result['log']}\n")
    stream.write(f"replay: {result['replay']}\n")
    stream.flush()


def list_workloads(json_path):
    """The named workloads with their sizes, the networks, and the kinds."""
    from ..testing import zoo
    from .items import DEFAULT_NETWORK

    named, kinds, networks = autotune.named_workloads(), autotune.workload_kinds(), zoo.NETWORKS.values()
    if json_path:
        write_json({
            "workloads": [dict(zip(("name", "sizes", "source", "default"), row)) for row in named],
            "kinds": [{"kind": kind, "doc": doc, "sizes": [
                dict(zip(("name", "meaning", "default"), size)) for size in sizes], "dtypes": dtypes.split(", ")}
                for kind, doc, sizes, dtypes in kinds],
            "networks": [{"name": row.name, "doc": row.doc, "default": row.name == DEFAULT_NETWORK} for row in networks],
        }, json_path)
        if json_path == "-":
            return 0
    width = max(len(name) for name, *_ in named)
    lines = [f"{'*' if default else ' '} {name:{width}}  {sizes}" for name, sizes, _, default in named]
    lines += ["", "networks, whose kernels are tuned:"]
    width = max(len(row.name) for row in networks)
    lines += [f"{'*' if row.name == DEFAULT_NETWORK else ' '} {row.name:{width}}  {row.doc}" for row in networks]
    lines += ["", "* tuned when nothing is named", "", "kinds, for free sizes as in gemm:m=128,n=3072,k=768:"]
    for kind, doc, sizes, dtypes in kinds:
        parts = [name if default is None else f"{name}={default}" for name, _, default in sizes]
        lines += [f"  {kind}:{','.join(parts)}", f"      {doc}"]
        lines += textwrap.wrap(f"dtype={dtypes}", 80, initial_indent=" " * 6, subsequent_indent=" " * 12)
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()
    return 0
