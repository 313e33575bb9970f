"""Pictures of the results, as SVG text."""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass

import matplotlib

matplotlib.use("svg")

from matplotlib import pyplot  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

import goals  # noqa: E402
import model  # noqa: E402
import tables  # noqa: E402
from samples import quantile, summarize  # noqa: E402

WIDTH = 6.4  # inches; the page shows it at most 640 pixels wide
GREY = "#8a8f98"
# Okabe and Ito's colours, told apart by everyone.
COLOURS = {"tuned": "#0072B2", "untuned": "#56B4E9", "unscheduled": "#BBBBBB", "hand": "#CC79A7", "openblas": "#E69F00", "onednn": "#009E73", "pytorch": "#D55E00"}
MODEL_COLOURS = {"xgboost": "#0072B2", "prior": "#E69F00", "shuffled": "#CC79A7", "random": "#8a8f98"}
SERIES = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8a8f98", "#000000"]
SUBJECTS = {
    "gemm": "matrix products",
    "lowp": "products of narrow numbers",
    "conv": "convolutions with bias and relu",
    "blocked": "convolutions of channels in blocks",
    "depthwise": "depthwise convolutions",
    "backward": "gradients of convolutions",
    "memory": "kernels bound by memory",
}
STYLE = {
    "font.size": 9.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "xtick.color": "#444",
    "ytick.color": "#444",
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "svg.fonttype": "path",  # the same on a machine without the font
    "figure.constrained_layout.use": True,
}


@dataclass
class Picture:
    title: str
    svg: str
    caption: str


def draw(title: str, caption: str, height: float, paint: Callable[[Figure], None]) -> Picture:
    with matplotlib.rc_context(STYLE | {"svg.hashsalt": title}):  # the same results give the same page
        figure = pyplot.figure(figsize=(WIDTH, height))
        paint(figure)
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
        pyplot.close(figure)
    return Picture(title, embedded(buffer.getvalue(), title), caption)


def embedded(svg: str, title: str) -> str:
    """Without the XML prolog and fixed sizes, and with ids that no other picture on the page has."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1)
    prefix = re.sub(r"\W+", "-", title.lower())
    svg = re.sub(r'\bid="', f'id="{prefix}-', svg)
    svg = re.sub(r'(href="#|url\(#)', rf"\1{prefix}-", svg)
    return svg.replace("<svg", f'<svg role="img" aria-label="{title}"', 1)


def of_section(name: str, section: dict, results: dict) -> list[Picture]:
    painters = {
        "compile": [compile_times, compile_phases, resident_compiles],
        "tuner": [tuner_time, tuner_memory, tuner_curve],
        **dict.fromkeys(SUBJECTS, [roofline, peers, peer_curves]),
        "lowp": [peers, peer_curves],  # the machine's lines are those of float32
        "networks": [networks],
        "model": [model.curves],
        "live": [models],
    }
    drawn = (painter(name, section, results) for painter in painters.get(name, []))
    return [picture for picture in drawn if picture is not None]


def compile_times(name: str, section: dict, results: dict) -> Picture | None:
    groups = [m for m in section["measurements"] if m["name"] in ("compile/evolved", "compile/random") and m["samples"]]
    if not groups:
        return None

    def paint(figure: Figure) -> None:
        axes = figure.add_subplot()
        for m, colour in zip(groups, SERIES, strict=False):
            ordered = sorted(1e3 * s for s in m["samples"])
            share = [(i + 1) / len(ordered) for i in range(len(ordered))]
            label = {"evolved": "proposed by the search", "random": "drawn at random"}[m["labels"]["candidates"]]
            axes.step(ordered, share, where="post", color=colour, label=label)
        goal = 1e3 * goals.COMPILE_SECONDS
        axes.axvline(goal, color=GREY, linestyle=":")
        axes.text(goal, 1.0, " goal of the median", color="#666", fontsize=8, va="bottom")
        axes.axhline(0.5, color=GREY, linewidth=0.6)
        axes.set(xlabel="te text and trace to callable, ms", ylabel="share of candidates", xscale="log")
        plain_ticks(axes.xaxis)
        axes.legend(loc="lower right")

    return draw("Compile time of candidates", "Each curve tells how many candidates compile within a time.", 3.0, paint)


def plain_ticks(axis) -> None:
    """Ticks of a logarithmic axis at 1, 2, 5, 10, … as plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=20))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def compile_phases(name: str, section: dict, results: dict) -> Picture | None:
    phases = [m for m in section["measurements"] if m["name"].startswith("phase/")]
    if not phases:
        return None
    groups = {"te and schedule": [], "passes": [], **{f"LLVM {phase}": [] for phase in tables.BACK}}
    for m in phases:
        phase = m["labels"]["phase"]
        kind = "te and schedule" if phase in tables.FRONT else f"LLVM {phase}" if phase in tables.BACK else "passes"
        groups[kind].append(m["samples"])
    count = min(len(m["samples"]) for m in phases)
    totals = [sum(m["samples"][i] for m in phases) for i in range(count)]
    order = sorted(range(count), key=totals.__getitem__)

    def paint(figure: Figure) -> None:
        axes = figure.add_subplot()
        deciles = [order[round(q * (count - 1))] for q in (0.1, 0.25, 0.5, 0.75, 0.9)]
        left = [0.0] * len(deciles)
        for (kind, members), colour in zip(groups.items(), SERIES, strict=False):
            # A candidate stands for its neighbours in the order of total times.
            width = [1e3 * sum(samples[i] for samples in members) for i in deciles]
            axes.barh(["p10", "p25", "median", "p75", "p90"], width, left=left, color=colour, label=kind, height=0.62)
            left = [a + b for a, b in zip(left, width, strict=True)]
        axes.invert_yaxis()
        axes.set(xlabel="ms")
        axes.legend(ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.2))

    return draw("Compile time by phase", "Candidates at five places in the order of their whole time.", 3.0, paint)


def resident_compiles(name: str, section: dict, results: dict) -> Picture | None:
    resident = section["facts"].get("resident")
    if not resident:
        return None

    def paint(figure: Figure) -> None:
        axes = figure.add_subplot()
        axes.plot([n for n, _ in resident], [size / 2**20 for _, size in resident], color=SERIES[0])
        axes.set(xlabel="compiles", ylabel="resident, MiB")
        axes.set_ylim(bottom=0)

    return draw("Resident memory while compiling", "One process, each kernel released before the next.", 2.6, paint)


def tuner_time(name: str, section: dict, results: dict) -> Picture | None:
    facts = section["facts"]

    def paint(figure: Figure) -> None:
        axes = figure.add_subplot()
        rates = tables.throughput(facts)
        left = 0.0
        for (part, seconds), colour in zip(tables.parts_of_run(facts), SERIES, strict=False):
            width = 1e3 * seconds / facts["trials"]
            axes.barh(["a trial"], [width], left=left, color=colour, label=part, height=0.5)
            left += width
        axes.axvline(1e3 / rates.possible, color="black", linestyle=":")
        axes.text(1e3 / rates.possible, 0.36, " budget + compile / cores", fontsize=8)
        axes.set(xlabel="ms")
        axes.set_ylim(-0.35, 0.5)
        axes.legend(ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.35))

    return draw("Where the time of a trial goes", tables.PAUSE, 2.3, paint)


def tuner_memory(name: str, section: dict, results: dict) -> Picture | None:
    memory = section["facts"]["memory"]
    if not memory:
        return None

    def paint(figure: Figure) -> None:
        axes = figure.add_subplot()
        trials = [m[0] for m in memory]
        axes.plot(trials, [m[1] / 2**20 for m in memory], color=SERIES[0], label="tuner")
        axes.plot(trials, [m[2] / 2**20 for m in memory], color=SERIES[1], label=f"its {section['facts']['workers']} workers")
        axes.set(xlabel="trials", ylabel="resident, MiB")
        axes.set_ylim(bottom=0)
        axes.legend()

    return draw("Resident memory of a tuning run", "Workers are replaced after a fixed number of candidates.", 2.6, paint)


def best_rates(curve: list[float | None], operations: float) -> list[float]:
    """The best GFLOP/s after each trial; 0 before the first that was right."""
    best, found = 0.0, []
    for seconds in curve:
        if seconds:
            best = max(best, operations / seconds / 1e9)
        found.append(best)
    return found


def tuner_curve(name: str, section: dict, results: dict) -> Picture | None:
    facts = section["facts"]

    def paint(figure: Figure) -> None:
        axes = figure.add_subplot()
        seconds = [point["seconds"] for point in facts["curve"]]
        operations = facts["tasks"][0]["operations"]
        points = [(i + 1, operations / s / 1e9) for i, s in enumerate(seconds) if s]
        axes.scatter(*zip(*points, strict=True), s=7, color=GREY, label="trial") if points else None
        best = best_rates(seconds, operations)
        axes.step(range(1, len(best) + 1), best, where="post", color=SERIES[0], label="best so far")
        axes.set(xlabel="trials", ylabel="GFLOP/s")
        axes.set_ylim(bottom=0)
        axes.legend(loc="lower right")

    return draw("Trials of the tuning run", "A 3×3 convolution with bias and relu, one thread.", 3.0, paint)


def roofline(name: str, section: dict, results: dict) -> Picture | None:
    if "peak" not in results["sections"]:
        return None
    all_rates, names = tables.rates_of(section), tables.contestants(section)
    work = {m["labels"]["workload"]: m["labels"] for m in section["measurements"]}
    counts = sorted({threads for _, threads in all_rates})

    def paint(figure: Figure) -> None:
        panels = figure.subplots(1, len(counts), squeeze=False, sharey=True)[0]
        for axes, threads in zip(panels, counts, strict=True):
            fma = tables.peak_of(results, threads)
            if fma is None:
                continue
            spots = {key[0]: by for key, by in all_rates.items() if key[1] == threads}
            intensity = {w: work[w]["operations"] / work[w]["bytes"] for w in spots if work[w]["operations"]}
            span = [min([1.0, *intensity.values()]), max(intensity.values()) * 2]
            for level, style in (("L1", ":"), ("L2", "--"), ("memory", "-")):
                bandwidth = tables.copy_bandwidth(results, level, threads)
                if bandwidth is None:
                    continue
                ridge = fma / bandwidth
                xs = sorted({span[0], min(max(ridge, span[0]), span[1]), span[1]})
                axes.plot(xs, [min(fma, bandwidth * x) / 1e9 for x in xs], style, color="#555", linewidth=1, label=level)
            for contestant in names:
                points = [(intensity[w], summarize(by[contestant]).median / 1e9) for w, by in spots.items() if contestant in by and w in intensity]
                if points:
                    colour = COLOURS.get(contestant, SERIES[5])
                    axes.scatter(*zip(*points, strict=True), s=26, color=colour, label=contestant, zorder=3)
            axes.set(xscale="log", yscale="log", title=tables.threads_text(threads), xlabel="FLOP per byte of inputs and output")
            plain_ticks(axes.xaxis)
            plain_ticks(axes.yaxis)
            axes.xaxis.set_major_formatter("{x:g}")
        panels[0].set_ylabel("GFLOP/s")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, ncols=4, loc="outside lower center")

    title = f"Roofline of {SUBJECTS[name]}"
    return draw(title, "Lines: the measured FMA peak, and copies in L1, L2 and memory. Each input and the output count once.", 3.6, paint)


def peers(name: str, section: dict, results: dict) -> Picture | None:
    amount, unit = ("bytes", "GB/s") if name == "memory" else ("operations", "GFLOP/s")
    all_rates, names, shapes = tables.rates_of(section, amount), tables.contestants(section), tables.shapes_of(section)
    if not all_rates:
        return None
    counts = sorted({threads for _, threads in all_rates})
    layers = len({workload for workload, _ in all_rates})

    def paint(figure: Figure) -> None:
        panels = figure.subplots(len(counts), 1, squeeze=False)[:, 0]
        for axes, threads in zip(panels, counts, strict=True):
            groups = [(shapes[key[0]], by) for key, by in all_rates.items() if key[1] == threads]
            height = 0.8 / len(names)
            for j, contestant in enumerate(names):
                places, widths, errors = [], [], ([], [])
                for i, (_, by_name) in enumerate(groups):
                    if contestant not in by_name:
                        continue
                    s = summarize(by_name[contestant])
                    places.append(i + (j - (len(names) - 1) / 2) * height)
                    widths.append(s.median / 1e9)
                    errors[0].append((s.median - s.low) / 1e9)
                    errors[1].append((s.high - s.median) / 1e9)
                colour = COLOURS.get(contestant, SERIES[5])
                style = {"elinewidth": 0.8, "ecolor": "#333"}
                axes.barh(places, widths, height * 0.9, xerr=errors, color=colour, label=contestant, error_kw=style)
            bound = tables.peak_of(results, threads) if amount == "operations" else tables.copy_bandwidth(results, "memory", threads)
            if bound:
                title = "FMA peak of float32" if amount == "operations" else "copy in memory"
                axes.axvline(bound / 1e9, color="black", linestyle=":", linewidth=1, label=title)
            axes.set_yticks(range(len(groups)), [shape for shape, _ in groups])
            axes.invert_yaxis()
            axes.set(title=tables.threads_text(threads))
            axes.set_xlim(left=0)
        panels[-1].set_xlabel(unit)
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, ncols=5, loc="outside lower center")

    title = SUBJECTS[name].capitalize()
    return draw(title, "Medians with 95 % intervals.", 1.3 + len(counts) * (0.5 + 0.55 * layers), paint)


def peer_curves(name: str, section: dict, results: dict) -> Picture | None:
    tunings = section["facts"].get("tunings")
    if not tunings:
        return None
    counts = sorted({t["threads"] for t in tunings})
    shapes = tables.shapes_of(section)

    def paint(figure: Figure) -> None:
        panels = figure.subplots(1, len(counts), squeeze=False)[0]
        for axes, threads in zip(panels, counts, strict=True):
            for tuning, colour in zip([t for t in tunings if t["threads"] == threads], itertools.cycle(SERIES), strict=False):
                task = tuning["tasks"][0]
                best = best_rates([point["seconds"] for point in tuning["curve"]], task["operations"])
                label = shapes.get(task["workload"], task["workload"]) if len(tunings) <= len(SERIES) * len(counts) else None
                axes.step(range(1, len(best) + 1), best, where="post", color=colour, label=label)
            axes.set(title=tables.threads_text(threads), xlabel="trials")
            axes.set_ylim(bottom=0)
        panels[0].set_ylabel("best so far, GFLOP/s")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, ncols=3, loc="outside lower center")

    title = f"Tuning of {SUBJECTS[name]}"
    return draw(title, "The first trial is the untuned prior's schedule.", 3.2, paint)


def networks(name: str, section: dict, results: dict) -> Picture | None:
    runs = tables.of_network(section, "run")
    counts = sorted({threads for _, threads in runs})
    if not counts:
        return None
    order = list(dict.fromkeys(network for network, _ in runs))

    def paint(figure: Figure) -> None:
        panels = figure.subplots(1, len(counts), squeeze=False, sharey=True)[0]
        for axes, threads in zip(panels, counts, strict=True):
            for j, ours in enumerate(tables.OF_NETWORKS):
                ratios = tables.network_ratios(section, ours, threads)
                places = [order.index(network) + (j - 0.5) * 0.4 for network in ratios]
                axes.barh(places, ratios.values(), 0.36, color=COLOURS[ours], label=ours)
            axes.axvline(1, color="black", linestyle=":")
            axes.set(title=tables.threads_text(threads), xlabel="speed, in parts of ONNX Runtime's")
        panels[0].set_yticks(range(len(order)), order)
        panels[0].invert_yaxis()
        figure.legend(*panels[0].get_legend_handles_labels(), ncols=2, loc="outside lower center")

    return draw("Networks against ONNX Runtime", "Medians of runs of one image; the dotted line is ONNX Runtime.", 1.4 + 0.5 * len(order), paint)


def models(name: str, section: dict, results: dict) -> Picture | None:
    runs = section["facts"]["runs"]
    operations = {m["labels"]["workload"]: m["labels"]["operations"] for m in section["measurements"]}
    columns = min(len(operations), 4)
    lines = -(-len(operations) // columns)

    def paint(figure: Figure) -> None:
        panels = figure.subplots(lines, columns, squeeze=False).flatten()
        for axes in panels[len(operations) :]:
            axes.remove()
        for axes, workload in zip(panels, operations, strict=False):
            for model, colour in MODEL_COLOURS.items():
                curves = [
                    best_rates(run["curve"], operations[workload])
                    for run in runs
                    if run["workload"] == workload and run["model"] == model
                ]
                length = min((len(c) for c in curves), default=0)
                if length == 0:
                    continue
                trials = range(1, length + 1)
                at = [[c[i] for c in curves] for i in range(length)]
                axes.fill_between(trials, [min(c) for c in at], [max(c) for c in at], color=colour, alpha=0.13, linewidth=0)
                axes.plot(trials, [quantile(c, 0.5) for c in at], color=colour, label=model)
            axes.set(title=workload.split(":")[0], xlabel="trials")
            axes.set_ylim(bottom=0)
        for axes in panels[: len(operations) : columns]:
            axes.set_ylabel("best so far, GFLOP/s")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, ncols=4, loc="outside lower center")

    return draw("What the cost model is worth", "Medians over the seeds, and their range.", 3.2 if lines == 1 else 2.4 * lines, paint)
