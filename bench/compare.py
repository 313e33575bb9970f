"""Two result files against each other: the Mann–Whitney U test on every measurement that both have."""

from __future__ import annotations

from dataclasses import dataclass

from samples import geometric_mean, mann_whitney, summarize
from tables import Table, with_unit

# Many measurements are compared at once: with 1 % each, about one in a hundred is called different by chance.
ALPHA = 0.01
LEAST_SAMPLES = 5  # fewer cannot reach ALPHA


@dataclass(frozen=True)
class Change:
    section: str
    name: str
    unit: str
    before: float  # medians
    after: float
    speedup: float  # how many times as good `after` is; above 1 is better, whatever the unit
    p: float | None  # None: too few samples to tell

    @property
    def verdict(self) -> str:
        if self.p is None:
            return "too few"
        if self.p >= ALPHA:
            return "same"
        return "better" if self.speedup > 1 else "worse"


def changes(before: dict, after: dict) -> list[Change]:
    found = []
    for name, section in after["sections"].items():
        old = {m["name"]: m for m in before["sections"].get(name, {}).get("measurements", [])}
        for new in section["measurements"]:
            was = old.get(new["name"])
            if was is None or was["unit"] != new["unit"] or not was["samples"] or not new["samples"]:
                continue
            a, b = summarize(was["samples"]).median, summarize(new["samples"]).median
            ratio = b / a if new["better"] == "higher" else a / b
            enough = min(len(was["samples"]), len(new["samples"])) >= LEAST_SAMPLES
            p = mann_whitney(was["samples"], new["samples"]).p if enough else None
            found.append(Change(name, new["name"], new["unit"], a, b, ratio, p))
    return found


def tables(before: dict, after: dict, name_before: str, name_after: str) -> list[Table]:
    found = []
    for section in after["sections"]:
        here = [c for c in changes(before, after) if c.section == section]
        if not here:
            continue
        rows = [
            [
                c.name,
                with_unit(c.before, c.unit),
                with_unit(c.after, c.unit),
                f"{c.speedup:.3f}",
                "" if c.p is None else f"{c.p:.3f}",
                c.verdict,
            ]
            for c in here
        ]
        note = f"Geometric mean of the factors: {geometric_mean(c.speedup for c in here):.3f} (above 1 is better)."
        title = f"{section}: {name_before} → {name_after}"
        found.append(Table(title, ["", "before", "after", "factor", "p", "verdict"], rows, [note]))
    machines = [r["sections"][s]["facts"].get("cpu") for r in (before, after) for s in list(r["sections"])[:1]]
    if len(set(machines)) > 1 and found:
        found[0].notes.append(f"The machines differ: {' and '.join(map(str, machines))}.")
    return found or [Table(f"{name_before} → {name_after}", ["", "nothing in common"], [])]
