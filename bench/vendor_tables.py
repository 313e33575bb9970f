"""Tables of choices between our kernels and another code generator's."""

from __future__ import annotations

import statistics

from samples import summarize
from tables import Table, figure, interval, named, threads_text, with_unit

# Contestants, and what partition() is told.
WAYS = {"ours": "none", "vendor": "all", "measured": "measured"}


def _by(section: dict, kind: str) -> dict[tuple[str, int], dict[str, list[float]]]:
    """Samples, of all processes: by (operator or network, threads), then by contestant."""
    found: dict[tuple[str, int], dict[str, list[float]]] = {}
    for m in section["measurements"]:
        if kind in m["labels"] and m["samples"]:
            by_way = found.setdefault((m["labels"][kind], m["labels"]["threads"]), {})
            by_way.setdefault(m["labels"]["contestant"], []).extend(m["samples"])
    return found


def _medians(section: dict, kind: str, ways: int) -> dict[tuple[str, int], list[dict[str, float]]]:
    """By (operator or network, threads): of each process in which all ways were timed, their medians."""
    found: dict[tuple[str, int], dict[int, dict[str, float]]] = {}
    for m in section["measurements"]:
        if kind in (of := m["labels"]) and m["samples"]:
            processes = found.setdefault((of[kind], of["threads"]), {})
            processes.setdefault(of.get("process", 0), {})[of["contestant"]] = statistics.median(m["samples"])
    complete = {key: [one for one in processes.values() if len(one) == ways] for key, processes in found.items()}
    return {key: processes for key, processes in complete.items() if processes}


def operator_ratios(section: dict) -> dict[int, dict[str, float]]:
    """The time of a region in parts of oneDNN's own, the median over processes: by threads, then by operator."""
    found: dict[int, dict[str, float]] = {}
    for (name, threads), processes in _medians(section, "operator", ways=2).items():
        found.setdefault(threads, {})[name] = statistics.median(m["region"] / m["direct"] for m in processes)
    return found


def network_ratios(section: dict) -> dict[tuple[str, int], float]:
    """The time with measured choices in parts of the better of the other two, the median over processes."""
    found = {}
    for key, processes in _medians(section, "network", ways=len(WAYS)).items():
        # One of the two for all processes: the faster one in each would be the one that noise made faster.
        better = min(("ours", "vendor"), key=lambda way, processes=processes: statistics.median(m[way] for m in processes))
        found[key] = statistics.median(m["measured"] / m[better] for m in processes)
    return found


def of_vendor(section: dict) -> list[Table]:
    facts = section["facts"]
    notes = [f"The same primitives of oneDNN {facts.get('onednn', '')}, row-major tensors on both sides. Medians with 95 % intervals;"
             " the ratio is the median over processes."]
    notes += [f"Wrong result, not timed: {wrong['name']} (off by {wrong['difference']})" for wrong in facts.get("wrong", ())]
    operators, networks = _by(section, "operator"), _by(section, "network")
    tables = []
    for threads, ratios in sorted(operator_ratios(section).items()):
        rows = [
            [name, *(interval(operators[name, threads][who], "s") for who in ("direct", "region")), f"{ratio:.3f}"]
            for name, ratio in ratios.items()
        ]
        tables.append(Table(f"A region of one operator, {threads_text(threads)}", ["", "oneDNN itself", "region", "ratio"], rows, notes))
    for threads in sorted({threads for _, threads in networks}):
        rows = []
        for (network, count), by_way in networks.items():
            if count != threads:
                continue
            ratio = network_ratios(section).get((network, threads))
            rows.append([network, *(interval(by_way[way], "s") if way in by_way else "" for way in WAYS), f"{ratio:.3f}" if ratio else ""])
        note = "All ours, all the vendor's, and choices by measurement, in parts of the better of the other two; the median over processes."
        tables.append(Table(f"Choices in networks, {threads_text(threads)}", ["", *WAYS, "ratio"], rows, [note]))
    for key, made in facts.get("choices", {}).items():
        network, _, threads = key.rpartition("/")
        rows = [
            ["  " * r["depth"] + r["name"], *(with_unit(r["seconds"][way], "s") if way in r["seconds"] else "" for way in ("ours", "vendor")),
             "{:.2f} ({:.2f} … {:.2f})".format(*r["ratio"]) if r["ratio"] else "", r["chosen"]]
            for r in made["regions"]
        ]
        note = f"Made in {figure(made['seconds'])} s. The network, and the parts of what was chosen part by part."
        tables.append(Table(f"Choices of {network}, {threads_text(int(threads))}", ["", "ours", "vendor", "ratio", "chosen"], rows, [note]))
    if m := named(section, "partition"):
        s = summarize(m["samples"])
        rows = [[f"{m['labels']['nodes']:,} nodes", with_unit(s.median, "s"), with_unit(max(m["samples"]), "s")]]
        tables.append(Table("Time of a partition", ["", "median", "slowest"], rows))
    return tables
