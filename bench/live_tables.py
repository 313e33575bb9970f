"""What tuning for real finds, by cost model."""

from __future__ import annotations

from samples import geometric_mean
from tables import Table, with_unit

CONTROLS = ("prior", "shuffled", "random")


def samples_of(section: dict) -> dict[str, dict[tuple[str, int], list[float]]]:
    """Of each workload, by model and trials: seconds of what was found, one a seed, or several of what has no seeds."""
    found: dict[str, dict[tuple[str, int], list[float]]] = {}
    for m in section["measurements"]:
        if m["samples"]:
            found.setdefault(m["labels"]["workload"], {})[m["labels"]["model"], m["labels"]["after"]] = m["samples"]
    return found


def shares_of(section: dict, model: str, after: int) -> dict[str, float]:
    """How fast the geometric mean of a model's finds is in parts of the long run's best, by workload."""
    long = section["facts"]["long"]
    return {
        workload: geometric_mean(found["xgboost", long]) / geometric_mean(found[model, after])
        for workload, found in samples_of(section).items()
        if ("xgboost", long) in found and (model, after) in found
    }


def of_live(section: dict) -> list[Table]:
    facts = section["facts"]
    trials, early, long = facts["trials"], facts["early"], facts["long"]
    shapes = {m["labels"]["workload"]: f"{m['labels']['workload'].split(':')[0]} {m['labels']['shape']}" for m in section["measurements"]}
    shares = [shares_of(section, model, after) for model, after in (("untuned", 0), ("xgboost", early), ("xgboost", trials))]
    rows = []
    for workload, found in samples_of(section).items():
        ours = found.get(("xgboost", trials))
        best = found.get(("xgboost", long))
        row = [shapes[workload], with_unit(geometric_mean(best), "s") if best else "", *(f"{of[workload]:.2f}" if workload in of else "" for of in shares)]
        for control in CONTROLS:
            theirs = found.get((control, trials))
            row.append(f"{geometric_mean(theirs) / geometric_mean(ours):.3f}" if ours and theirs else "")
        rows.append(row)
    columns = [f"best of {long}", "untuned", f"after {early}", f"after {trials}", *(f"{control}'s time" for control in CONTROLS)]
    notes = [
        f"{facts['seeds']} seeds, one thread; geometric means. The speed of the prior's schedule and of the best after {early} and {trials} trials "
        f"with XGBoost, in parts of the best of one run of {long}; the time after {trials} trials with other models, in parts of XGBoost's."
    ]
    return [Table("What tuning finds", ["", *columns], rows, notes)]
