"""Tables of operators against ONNX Runtime."""

from __future__ import annotations

from samples import geometric_mean
from tables import NETWORK_PEER as PEER
from tables import OF_NETWORKS, Table, interval, network_ratios, of_network, threads_text


def thread_counts(section: dict) -> list[int]:
    return sorted({count for _, count in of_network(section, "run")})


def of_operators(section: dict) -> list[Table]:
    facts, tables = section["facts"], []
    notes = [f"Times of a run, medians with 95 % intervals, and how many times as fast as {PEER} {facts.get('libraries', {}).get(PEER, '')}."]
    notes += [f"Wrong result, not timed: {wrong['name']} (off by {wrong['difference']})" for wrong in facts.get("wrong", ())]
    notes += [f"Not compared: {failed['name']}: {failed['error']}" for failed in facts.get("failed", ())]
    runs = of_network(section, "run")
    for threads in thread_counts(section):
        by_ours = {ours: found for ours in OF_NETWORKS if (found := network_ratios(section, ours, threads))}
        rows = []
        for (name, count), by_who in runs.items():
            if count == threads and PEER in by_who:
                times = [interval(by_who[who]["samples"], "s") if who in by_who else "" for who in (PEER, *by_ours)]
                rows.append([name, *times, *(f"{found[name]:.2f}" if name in found else "" for found in by_ours.values())])
        for title, value in (("geometric mean", geometric_mean), ("least", min)):
            rows.append([title, "", *("" for _ in by_ours), *(f"{value(list(found.values())):.2f}" for found in by_ours.values())])
        tables.append(Table(f"Operators, {threads_text(threads)}", ["", PEER, *by_ours, *(f"{ours} is" for ours in by_ours)], rows, notes))
    return tables
