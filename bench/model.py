"""The study of the cost model: candidates recorded once, searches replayed over them, the prior fitted to them.

`--collect` makes the log, or goes on with it; all else reads it. Without one, the small sample of the tree is read.
"""

from __future__ import annotations

import gzip
import math
import shutil
import sqlite3
import textwrap
import time
from contextlib import closing
from pathlib import Path

from samples import geometric_mean, summarize
from tables import Table, with_unit

SHIPPED = Path(__file__).resolve().parents[1] / "autotune/learn/shipped_experience.bin"
SAMPLE = Path(__file__).with_name("study_sample.db.gz")
WORKLOADS = (
    "gemm:m=512,n=512,k=512,w=1", "gemm:m=128,n=768,k=768,w=1", "gemm:m=64,n=256,k=128,w=1",
    "batch_gemm:bert.scores", "batch_gemm:bert.context", "dense:resnet50.fc",
    "conv2d_bias_relu:resnet50.10", "conv2d_bias_relu:resnet50.9", "conv2d_bias_relu:resnet50.13", "conv2d_bias_relu:resnet50.16,b=16",
    "depthwise_conv2d:mobilenet.2", "depthwise_conv2d:mobilenet.3",
    "softmax:bert.attention", "layer_norm:bert.norm", "row_sum:m=1024,n=1024", "column_sum:m=1024,n=1024", "transpose:m=1024,n=1024",
    "separable_conv2d:n=1,ci=128,h=28,w=28,co=256", "attention:b=12,m=128,n=128,k=64",
)
# Drawn at random, proposed by the search, visits of those that are not far behind: all workloads reach one level before
# any goes on to the next, so that what a stopped collection leaves is even.
SAMPLED = (27, 20, 3)  # the same of the sample
LEVELS = ((300, 150, 3), (300, 150, 6), (600, 300, 3), (1000, 500, 3), (1000, 500, 6))
MODELS = ("xgboost", "prior", "alone", "shuffled", "random")
TRIALS = (8, 16, 32, 64, 128, 200)


def collect(context, slice_seconds: float, pause: float) -> None:
    """Until all levels are reached. Timing needs a machine that does nothing else: pauses of so many seconds are for others."""
    log = context.study_log
    for random, search, visits in LEVELS:
        unfinished = True
        while unfinished:
            found = context.bench(
                "collect", workload=";".join(WORKLOADS), log=log, random=random, search=search, visits=visits, time_limit=slice_seconds
            )["facts"]["counts"]
            unfinished = len(found) < len(WORKLOADS) or not all(w["finished"] for w in found)
            context.say(f"{random} + {search} candidates: {sum(w['visits'] for w in found)} visits in {len(found)} of {len(WORKLOADS)} workloads")
            if unfinished:
                time.sleep(pause)


def pretrain(context) -> dict:
    """The model of other tasks that the library is built with, from all that the log holds; the same log gives the same file."""
    return context.bench("pretrain", log=context.study_log, output=SHIPPED)


def study(context) -> dict:
    """Searches replayed over the recorded candidates."""
    log = log_of(context)
    result = context.bench("study", log=log, seeds=context.seeds or (4 if context.quick else 20), models=";".join(MODELS))
    result["facts"]["sample"] = log != context.study_log
    return result


def calibrate(context) -> dict:
    log = log_of(context)
    result = context.bench("calibrate", log=log, folds=2 if context.quick else 4)
    result["facts"]["sample"] = log != context.study_log
    return result


def sample(context) -> None:
    """Records a few candidates of each workload and makes them the sample of the tree. Records are points of the design
    spaces as they were: where a rule of autotune/space makes others, the sample is recorded again."""
    random, search, visits = SAMPLED
    log = context.folder / "sample.db"
    for file in (log, *log.parent.glob(log.name + "-*")):
        file.unlink(missing_ok=True)
    context.bench("collect", workload=";".join(WORKLOADS), log=log, random=random, search=search, visits=visits)
    with closing(sqlite3.connect(log)) as records:
        # One time a visit is all that is read; of the machine its kind.
        records.execute("UPDATE trials SET median = CAST(printf('%.4g', median) AS REAL), host = ''")
        records.execute("UPDATE trials SET seconds = '[' || median || ']'")
        records.execute("UPDATE runs SET host = ''")
        records.commit()
        records.execute("PRAGMA journal_mode = DELETE")
        records.execute("VACUUM")
    with log.open("rb") as file, gzip.GzipFile(SAMPLE, "wb", mtime=0) as packed:
        shutil.copyfileobj(file, packed)


def log_of(context) -> Path:
    """What was collected, or the sample."""
    if context.study_log.is_file():
        return context.study_log
    copy = context.folder / "study_sample.db"
    with gzip.open(SAMPLE) as sample, copy.open("wb") as file:
        shutil.copyfileobj(sample, file)
    return copy


def short(workload: str) -> str:
    """For a column: the kind, and the sizes that tell it from others."""
    kind, _, sizes = workload.partition(":")
    parts = sizes.split(",")
    return f"{kind.removesuffix('_bias_relu')} {'×'.join(part.split('=')[1] for part in parts if part != 'n=1')}"


def by_workload(section: dict) -> dict[str, dict[str, dict[str, list[float]]]]:
    """Samples, one a seed, by workload, model and what was asked."""
    found: dict = {}
    for m in section["measurements"]:
        labels = m["labels"]
        found.setdefault(labels["workload"], {}).setdefault(labels["model"], {})[labels["what"]] = m["samples"]
    return found


def over_workloads(section: dict, model: str, what: str) -> list[float]:
    """One figure a seed: the mean over workloads, of regret the geometric mean of the slowdown, less 1."""
    samples = [models[model][what] for models in by_workload(section).values() if what in models.get(model, {})]
    seeds = zip(*samples, strict=True)
    if what.startswith("regret"):
        return [geometric_mean(1 + r for r in of_seed) - 1 for of_seed in seeds]
    return [sum(of_seed) / len(of_seed) for of_seed in seeds]


def share(samples: list[float], places: int = 1) -> str:
    """Median, and half the width of its interval, in per cent."""
    s = summarize(samples)
    return f"{100 * s.median:.{places}f} ±{50 * (s.high - s.low):.{places}f}"


def figure_of(samples: list[float]) -> str:
    s = summarize(samples)
    return f"{s.median:.2f} ±{(s.high - s.low) / 2:.2f}"


def study_tables(section: dict, results: dict) -> list[Table]:
    """All at most 80 columns wide, so that they can be read in a file."""
    facts, found = section["facts"], by_workload(section)
    models = [m for m in MODELS if any(m in of for of in found.values())]
    notes = [
        f"{len(facts['workloads'])} workloads, {facts['seeds']} seeds: medians with half their 95 % intervals over the seeds.",
        "Regret, per cent: how much longer what looked fastest truly takes than the best recorded, geometric mean over workloads.",
        "A search is shown one visit to each candidate that it asks for. alone: xgboost without what the other workloads teach.",
    ]
    if facts.get("sample"):
        notes.append("From the sample of the tree; ./tw bench model --collect measures this machine.")
    rows = [
        [f"regret at {trials}", *(share(over_workloads(section, m, f"regret after {trials}")) for m in models)]
        for trials in TRIALS
        if all(over_workloads(section, m, f"regret after {trials}") for m in models)
    ]
    look = facts["look"]
    rows.append([f"rank at {look}", *(figure_of(over_workloads(section, m, "rank correlation")) for m in models)])
    rows.append([f"best found by {look}, %", *(share(over_workloads(section, m, "best found"), 0) for m in models)])
    rows.append([f"best 5 found by {look}, %", *(share(over_workloads(section, m, "best 5 found"), 0) for m in models)])
    tables = [Table("Searches replayed over recorded candidates", ["", *models], rows, notes)]

    rows, ranks = [], []
    for w in facts["workloads"]:
        of = found.get(w["workload"], {})
        regrets = [f"{100 * summarize(of[m]['regret after 64']).median:.1f}" if "regret after 64" in of.get(m, {}) else "" for m in models]
        ranks.append([short(w["workload"]), *(f"{summarize(of[m]['rank correlation']).median:.2f}" if m in of else "" for m in models)])
        rows.append([short(w["workload"]), f"{w['random']}+{w['search']}", with_unit(w["best"], "s"), f"{w['noise']:.0%}"])
        rows[-1] += regrets[:2]
    notes = ["Drawn + proposed candidates; noise: median spread of the visits to one candidate; median regret after 64 trials, per cent."]
    tables.append(Table("By workload", ["", "candidates", "best", "noise", *models[:2]], rows, notes))
    tables.append(Table("Rank correlation by workload", ["", *models], ranks, ["Over candidates that were not asked for."]))

    rows, reasons = [], []
    for w in facts["workloads"]:
        for model in models[:2]:
            wrong = w["mistakes"].get(model)
            if wrong:
                praised, missed = wrong["worst"]
                figures = (praised["slowdown"], praised["error"], missed["slowdown"], -missed["error"])
                rows.append([short(w["workload"]), model, *(f"{x:.2f}×" if k % 2 == 0 else f"{x:.0%}" for k, x in enumerate(figures))])
                name, sign = wrong["reasons"][0]
                reasons.append([short(w["workload"]), model, name, f"{sign:+.2f}"])
    notes = ["The candidate praised most wrongly and the one missed most: slowdown against the best, and by how many places of all they are wrong."]
    tables.append(Table("Where they are most wrong", ["", "model", "praised", "by", "missed", "by"], rows, notes))
    notes = ["The column of the features that goes most with the errors (rank correlation); +: candidates with more of it are praised too much."]
    tables.append(Table("What their errors go with", ["", "model", "column", "corr."], reasons, notes))
    return tables


def pretrain_tables(section: dict, results: dict) -> list[Table]:
    """What a model of the other workloads chooses first, against the prior."""
    found = by_workload(section)
    whats = ("first 1", "first 8", "rank correlation")

    def mean(samples: list[float]) -> float:
        return sum(samples) / len(samples)

    rows = [[short(name), *(f"{mean(of[model][what]):.2f}" for what in whats for model in ("prior", "pretrained"))] for name, of in found.items()]
    for title, over in (("mean", mean), ("geometric mean", lambda x: geometric_mean(max(v, 0.01) for v in x)), ("median", lambda x: sorted(x)[len(x) // 2])):
        rows.append([title, *(f"{over([mean(of[model][what]) for of in found.values()]):.3f}" for what in whats for model in ("prior", "pretrained"))])
    facts = section["facts"]
    notes = [
        "Best of the first 1 and 8 in parts of the best there is, over halves of the recorded candidates, and rank correlation; p.: by the prior, t.: by the"
        f" model of all other workloads. The model of all is {facts['bytes']:,} bytes, from {facts['samples']:,} candidates of {facts['workloads']} workloads."
    ]
    return [Table("First choices, taught by other workloads", ["", "1 p.", "1 t.", "8 p.", "8 t.", "rank", "t."], rows, notes)]


def calibrate_tables(section: dict, results: dict) -> list[Table]:
    facts = section["facts"]
    rows = []
    steps = [step for step in ("before", "after", "unseen") if step in facts["workloads"][0]]
    for w in facts["workloads"]:
        rows.append([short(w["workload"]), *(f"{w[step]['rank']:.2f}" for step in steps), *(f"{w[step]['chosen']:.2f}" for step in steps)])
    means = [[sum(w[step][what] for w in facts["workloads"]) / len(facts["workloads"]) for step in steps] for what in ("rank", "chosen")]
    rows.append(["mean", *(f"{x:.2f}" for of in means for x in of)])
    titles = {"before": "rank before", "after": "after", "unseen": "not fitted to it"}
    columns = ["", *(titles[s] for s in steps), *(titles[s].replace("rank ", "choice ") for s in steps)]
    notes = [
        "Rank correlation of the prior with measured times; best recorded time in parts of the time of what the prior holds for fastest. Not fitted"
        f" to it: by numbers fitted to the workloads of the other {facts['folds'] - 1} of {facts['folds']} groups."
    ]
    tables = [Table("The prior, before and after its numbers are fitted", columns, rows, notes)]
    rows = [[c["name"], c["unit"], f"{c['before']:.3g}", f"{c['after']:.3g}", "\n".join(textwrap.wrap(c["source"], 24))] for c in facts["constants"]]
    tables.append(Table("Numbers of the prior", ["", "unit", "now", "fitted", "source"], rows, ["They stand in autotune/cost/machine_model.h."]))
    return tables


def curves(name: str, section: dict, results: dict):
    """Regret by trials, over all workloads and for each, with intervals."""
    from pictures import GREY, MODEL_COLOURS, draw

    found = by_workload(section)
    panels = ["all workloads", *found]

    def paint(figure) -> None:
        columns = 4
        grid = figure.subplots(math.ceil(len(panels) / columns), columns, sharex=True, squeeze=False)
        for axes in grid.flat[len(panels) :]:
            axes.remove()
        for axes, panel in zip(grid.flat, panels, strict=False):
            for model, colour in MODEL_COLOURS.items():
                points = []
                for trials in TRIALS:
                    what = f"regret after {trials}"
                    samples = over_workloads(section, model, what) if panel == panels[0] else found[panel].get(model, {}).get(what, [])
                    if samples:
                        points.append((trials, summarize(samples)))
                if not points:
                    continue
                trials = [t for t, _ in points]
                axes.fill_between(trials, [100 * s.low for _, s in points], [100 * s.high for _, s in points], color=colour, alpha=0.15, linewidth=0)
                axes.plot(trials, [100 * s.median for _, s in points], color=colour, label=model)
            axes.set_xscale("log", base=2)
            axes.set_xticks(TRIALS, [str(t) for t in TRIALS], fontsize=7)
            axes.minorticks_off()
            axes.set_ylim(bottom=0)
            axes.grid(axis="y", color=GREY, alpha=0.2)
            axes.set_title("\n".join(textwrap.wrap(panel if panel == panels[0] else short(panel), 24)), fontsize=7)
            axes.tick_params(labelsize=7)
        grid[0][0].set_ylabel("regret, %", fontsize=8)
        handles, labels = grid[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, ncols=4, loc="outside lower center")

    caption = "How much longer what looked fastest truly takes than the best recorded, by trials; medians over the seeds with 95 % intervals."
    return draw("Regret of searches replayed", caption, 0.4 + 1.7 * math.ceil(len(panels) / 4), paint)
