"""Tables of the results: the same rows for the terminal and for the page."""

from __future__ import annotations

import math
import statistics
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field

from samples import geometric_mean, quantile, summarize


@dataclass
class Table:
    title: str
    columns: list[str]  # the first names the row and is aligned left; the others are figures
    rows: list[list[str]]
    notes: list[str] = field(default_factory=list)


def show(table: Table) -> None:
    """On the terminal, in as many columns as it or COLUMNS has; into a file, each row on a line."""
    from tilewright.cli.output import line_width, table_lines

    width = line_width(sys.stdout)
    lines = [table.title, "", *table_lines(table.columns, table.rows, width), ""]
    for note in table.notes:
        lines += textwrap.wrap(note, width or 80)
    if table.notes:
        lines.append("")
    sys.stdout.writelines(f"{line}\n" for line in lines)


PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1, ""))
TIMES = ((1, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def figure(value: float) -> str:
    """Three significant digits, never in powers of ten where people read seconds or bytes."""
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def with_unit(value: float, unit: str) -> str:
    """A measured value for people: 0.0031 s as 3.1 ms, 2.35e11 flop/s as 235 GFLOP/s."""
    if unit == "s":
        scale, name = next((pair for pair in TIMES if abs(value) >= pair[0]), TIMES[-1])
        return f"{figure(value / scale)} {name}"
    if unit == "B":
        return f"{figure(value / 2**20)} MiB"
    scale, prefix = next((pair for pair in PREFIXES if abs(value) >= pair[0]), PREFIXES[-1])
    return f"{figure(value / scale)} {prefix}{unit.replace('flop', 'FLOP').removeprefix('1')}"


def interval(samples: list[float], unit: str) -> str:
    """The median and half of the width of its interval, relative to it."""
    found = summarize(samples)
    return f"{with_unit(found.median, unit)} ±{found.spread:.0%}"


def named(section: dict, name: str) -> dict | None:
    """The measurement of that name, if it was made."""
    return next((m for m in section["measurements"] if m["name"] == name and m["samples"]), None)


def median(section: dict, name: str) -> float | None:
    found = named(section, name)
    return summarize(found["samples"]).median if found else None


def threads_text(count: int) -> str:
    return f"{count} thread{'s' * (count != 1)}"


def of_section(name: str, section: dict, results: dict) -> list[Table]:
    """The tables of one section; `results` are all results, for rates relative to the machine's peak."""
    return TABLES[name](section, results)


def peak_of(results: dict, threads: int) -> float | None:
    """The measured FMA rate on so many threads, FLOP/s."""
    section = results["sections"].get("peak")
    return median(section, f"fma/{threads}") if section else None


def copy_bandwidth(results: dict, level: str, threads: int) -> float | None:
    """Of a copy in L1, L2, L3 or memory, B/s; the better of plain and streaming stores."""
    section = results["sections"].get("peak")
    found = [named(section, f"copy/{stores}/{level}/{threads}") for stores in ("plain", "streaming")] if section else []
    return max((m["labels"]["traffic"] / quantile(m["samples"], 0.5) for m in found if m), default=None)


def copy_bandwidth_for(results: dict, moved: float, threads: int) -> float | None:
    """Of a copy in the smallest cache that holds so many bytes, or in memory, B/s. Copies fill half of their cache."""
    section = results["sections"].get("peak")
    for level in ("L2", "L3"):
        copy = named(section, f"copy/plain/{level}/{threads}") if section else None
        if copy and moved <= 4 * copy["labels"]["bytes"]:
            return copy_bandwidth(results, level, threads)
    return copy_bandwidth(results, "memory", threads)


def of_peak(section: dict, results: dict) -> list[Table]:
    threads = sorted({m["labels"]["threads"] for m in section["measurements"]})

    def row(title: str, pattern: str, value: Callable[[dict], str]) -> list[str]:
        found = [named(section, pattern.format(t)) for t in threads]
        return [title, *(value(m) if m else "" for m in found)]

    def rate(m: dict) -> str:
        return interval([m["labels"]["traffic"] / s for s in m["samples"]], "B/s")

    rows = [row("f32 fma between registers", "fma/{}", lambda m: interval(m["samples"], "flop/s"))]
    for level in ("L1", "L2", "L3", "memory"):
        for stores in ("plain", "streaming"):
            rows.append(row(f"copy in {level}, {stores} stores", f"copy/{stores}/{level}/{{}}", rate))
    for state in ("spinning", "spinning-pinned", "parked", "parked-pinned"):
        label = "fork and join, " + state.replace("-", ", ")
        rows.append(row(label, f"fork-join/{state}/{{}}", lambda m: interval(m["samples"], "s")))
    rows.append(row("a sleeping thread woken after a rest", "rest/woken/{}", lambda m: interval(m["samples"], "s")))
    for title, of_rests in (
        ("first region after a rest, beyond the second", lambda rests: with_unit(rests.first, "s")),
        ("30 regions after a rest, of steady speed", lambda rests: figure(rests.burst)),
        ("regions with two threads on one CPU", lambda rests: f"{rests.shared:.1%}"),
    ):
        found = [rests_of(section, t) for t in threads]
        rows.append([title, *(of_rests(rests) if rests else "" for rests in found)])
    rows = [r for r in rows if any(r[1:])]
    notes = ["Copies count what is read and what is written. Medians with 95 % intervals."]
    return [Table("Machine", ["", *map(threads_text, threads)], rows, notes)]


@dataclass(frozen=True)
class Rests:
    """Parallel regions after 10 ms without any: what the first takes beyond the second, seconds, the speed of 30 in parts
    of that of 30 more at once, and the part of all in which two threads stood on one CPU at the end."""

    first: float
    burst: float
    shared: float


def rests_of(section: dict, threads: int) -> Rests | None:
    first, second, burst, steady = (median(section, f"rest/{name}/{threads}") for name in ("first", "second", "burst", "steady"))
    regions = section["facts"].get(f"regions/{threads}")
    if not (first and second and burst and steady and regions):
        return None
    return Rests(first - second, steady / burst, regions["shared"])


FRONT = ("parse", "schedule", "infer_bound and schedule_ops")
BACK = ("emit", "optimize", "generate", "link")


def compile_shares(section: dict) -> dict[str, float]:
    """Of the time of all compiles, the part that each phase took."""
    spent = {m["labels"]["phase"]: sum(m["samples"]) for m in section["measurements"] if m["name"].startswith("phase/")}
    whole = sum(spent.values())
    return {phase: seconds / whole for phase, seconds in spent.items()}


def of_compile(section: dict, results: dict) -> list[Table]:
    rows = []
    for name, title in (
        ("compile/all", "warm, all candidates"),
        ("compile/evolved", "warm, proposed by the search"),
        ("compile/random", "warm, drawn at random"),
        ("cold/first", "first of a process"),
        ("cold/second", "the same again"),
    ):
        if m := named(section, name):
            s = m["samples"]
            rows.append([title, *(with_unit(quantile(s, q), "s") for q in (0.5, 0.9, 1)), str(len(s))])
    tables = [Table("te text and trace to callable", ["", "median", "p90", "slowest", "compiles"], rows)]
    phases = [m for m in section["measurements"] if m["name"].startswith("phase/")]
    shares = compile_shares(section)
    rows = []
    for m in phases:
        s = m["samples"]
        kind = "LLVM: " if m["labels"]["phase"] in BACK else "" if m["labels"]["phase"] in FRONT else "pass: "
        share = f"{shares[m['labels']['phase']]:.1%}"
        rows.append([kind + m["labels"]["phase"], with_unit(quantile(s, 0.5), "s"), with_unit(quantile(s, 0.9), "s"), share])
    for title, names in (("LLVM, together", BACK), ("ours, together", [name for name in shares if name not in BACK])):
        if shares:
            rows.append([title, "", "", f"{sum(shares.get(name, 0) for name in names):.1%}"])
    tables.append(Table("The same by phase", ["", "median", "p90", "share of all time"], rows))
    if resident := section["facts"].get("resident"):
        quarter = resident[len(resident) // 4]
        first, last = resident[0], resident[-1]
        rows = [[f"after {count:,} compiles", with_unit(size, "B")] for count, size in (first, quarter, last)]
        tables.append(Table("Resident memory while compiling", ["", "resident"], rows))
    return tables


def of_math(section: dict, results: dict) -> list[Table]:
    def rate(function: str, form: str) -> str:
        m = named(section, f"{function}/{form}")
        return with_unit(m["labels"]["elements"] / quantile(m["samples"], 0.5), "1/s") if m else ""

    rows = []
    for error in section["facts"]["errors"]:
        name = error["function"]
        rows.append([name, f"{error['ulp']:.2f}", f"{error['at']:.6g}", f"{error['inputs']:,}", rate(name, "vector"), rate(name, "scalar")])
    notes = ["Greatest distance from the exact result in units of the last place, at which input, of how many inputs; elements a second."]
    return [Table("Mathematics of vectors, float32", ["", "ulp", "at", "inputs", "vectors", "one by one"], rows, notes)]


def of_search(section: dict, results: dict) -> list[Table]:
    titles = {
        "features": "candidates whose features are extracted",
        "proposals/prior": "proposals, ranked by the prior",
        "proposals/xgboost": "proposals, ranked by the trained model",
        "training/xgboost": "training on 128 candidates",
    }
    rows = [[titles[m["name"]], interval(m["samples"], m["unit"])] for m in section["measurements"]]
    facts = section["facts"]
    notes = [f"One thread. The space: sketches: {facts['sketches']}, points of the largest: 2^{facts['log2_points']:.0f}."]
    return [Table("Search", ["", "rate"], rows, notes)]


def of_prior(section: dict, results: dict) -> list[Table]:
    """A row a kind of workload."""
    kinds: dict[str, list[dict]] = {}
    for m in section["measurements"]:
        kinds.setdefault(m["labels"]["workload"].split(":")[0], []).append(m)
    kinds["all"] = section["measurements"]
    rows = []
    for kind, measurements in kinds.items():
        seconds = [summarize(m["samples"]).median for m in measurements]
        points = statistics.median(m["labels"]["points"] for m in measurements)
        rows.append([kind, str(len(seconds)), with_unit(statistics.median(seconds), "s"), with_unit(max(seconds), "s"), f"{points:.0f}"])
    notes = [f"Seconds until the prior has chosen a schedule, on {section['facts']['threads']} threads, and the points it looked at."]
    return [Table("Untuned schedules", ["", "workloads", "median", "slowest", "points"], rows, notes)]


@dataclass
class Throughput:
    """Of a tuning run: trials a second, and what they could be if only timing and compiling took time."""

    trials: float
    possible: float
    compile_seconds: float  # of one candidate
    timing_seconds: float

    @property
    def ratio(self) -> float:
        return self.trials / self.possible


def throughput(facts: dict) -> Throughput:
    seconds, trials = facts["seconds"], facts["trials"]
    compiling = seconds["compile_cpu"] / trials
    return Throughput(
        trials / seconds["total"], 1 / (facts["run_budget"] + compiling / facts["workers"]), compiling, seconds["run"] / trials
    )


def parts_of_run(facts: dict) -> list[tuple[str, float]]:
    """Where the seconds of a tuning run went."""
    seconds = facts["seconds"]
    parts = [
        ("search", seconds["search"]),
        ("training", seconds["train"]),
        ("compiling, in parallel", seconds["compile_wall"]),
        ("timing, alone", seconds["run"]),
        ("races", seconds.get("race", 0)),
        ("reference result", seconds["reference"]),
    ]
    return [*parts, ("the rest", max(seconds["total"] - sum(s for _, s in parts), 0))]


PAUSE = (
    "Compilation pauses while candidates are timed: all workers compile a batch, then all are idle "
    "while its candidates are timed one by one."
)


ANSOR = "For comparison: Ansor (TVM 0.18) made 0.3 to 0.5 trials a second of such a layer on a 4-core AVX-512 machine."


def of_tuner(section: dict, results: dict) -> list[Table]:
    facts = section["facts"]
    rates = throughput(facts)
    task = facts["tasks"][0]
    failures = ", ".join(f"{n} {kind}" for kind, n in sorted(task["failures"].items())) or "none"
    rows = [
        ["trials", str(facts["trials"])],
        ["trials a second", figure(rates.trials)],
        [f"1 / ({facts['run_budget'] * 1e3:.0f} ms + compile time / {facts['workers']} cores)", figure(rates.possible)],
        ["the former in parts of the latter", f"{rates.ratio:.0%}"],
        ["compile time of a candidate", with_unit(rates.compile_seconds, "s")],
        ["timing of a candidate", with_unit(rates.timing_seconds, "s")],
        ["failures", failures],
    ]
    for title, size in memory_of_run(facts):
        rows.append([title, with_unit(size, "B")])
    tables = [Table("Tuning run", [task["workload"].split(":")[0], ""], rows, [PAUSE, ANSOR])]
    total = facts["seconds"]["total"]
    rows = [[part, with_unit(s, "s"), f"{s / total:.0%}"] for part, s in parts_of_run(facts)]
    tables.append(Table("Where its seconds went", ["", "seconds", "share"], rows))
    return tables


def memory_of_run(facts: dict) -> list[tuple[str, float]]:
    """Resident memory a quarter into the run, when every worker has started, and at its end."""
    memory = facts["memory"]
    if not memory:
        return []
    early, late = memory[len(memory) // 4], memory[-1]
    return [
        (f"{who} resident, trial {at[0]}", at[column])
        for who, column in (("tuner", 1), ("workers", 2))
        for at in (early, late)
    ]


CONTESTANTS = ("unscheduled", "untuned", "hand", "tuned")  # ours; peers follow by name
EXPECTED_GAIN = "expected gain"  # the tuner's rule of spending trials over tasks
LIMIT = "limit"  # multiply-adds between registers, in turn with them


def contestants(section: dict) -> list[str]:
    names = {m["labels"]["contestant"] for m in section["measurements"]} - {LIMIT}
    return [n for n in CONTESTANTS if n in names] + sorted(names - set(CONTESTANTS))


def rates_of(section: dict, amount: str = "operations") -> dict[tuple[str, int], dict[str, list[float]]]:
    """FLOP/s of each sample (or B/s, of what must move at least): by (workload, threads), then by contestant."""
    rates: dict[tuple[str, int], dict[str, list[float]]] = {}
    for m in section["measurements"]:
        labels = m["labels"]
        key = (labels["workload"], labels["threads"])
        if m["samples"]:
            rates.setdefault(key, {})[labels["contestant"]] = [labels[amount] / s for s in m["samples"]]
    return rates


def ratios_to(section: dict, ours: str, peer: str, threads: int) -> dict[str, float]:
    """How many times as fast as the peer one of ours is, by workload."""
    ratios = {}
    for (workload, count), by_name in rates_of(section, "bytes").items():
        if count == threads and ours in by_name and peer in by_name:
            ratios[workload] = summarize(by_name[ours]).median / summarize(by_name[peer]).median
    return ratios


def ratios_to_copies(section: dict, results: dict, ours: str, threads: int) -> dict[str, float]:
    """What one of ours moves, in parts of what a copy of as many bytes does, by workload."""
    moved = {m["labels"]["workload"]: m["labels"]["bytes"] for m in section["measurements"]}
    ratios = {}
    for (workload, count), by_name in rates_of(section, "bytes").items():
        bandwidth = copy_bandwidth_for(results, moved[workload], threads)
        if count == threads and ours in by_name and bandwidth:
            ratios[workload] = summarize(by_name[ours]).median / bandwidth
    return ratios


def thread_counts(section: dict) -> list[int]:
    return sorted({threads for _, threads in rates_of(section)})


def shapes_of(section: dict) -> dict[str, str]:
    return {m["labels"]["workload"]: m["labels"]["shape"] for m in section["measurements"]}


def of_peers(title: str, section: dict, results: dict, amount: str = "operations", unit: str = "GFLOP/s") -> list[Table]:
    shapes, names = shapes_of(section), contestants(section)
    peers = [name for name in names if name not in CONTESTANTS]
    tables = []
    for threads in thread_counts(section):
        bandwidth = copy_bandwidth(results, "memory", threads) if amount == "bytes" else None
        rows, ratios = [], []
        for (workload, count), by_name in rates_of(section, amount).items():
            if count != threads:
                continue
            medians = {name: summarize(s).median for name, s in by_name.items()}
            best = max((medians[n] for n in ("tuned", "untuned", "hand") if n in medians), default=None)
            cells = [figure(medians[name] / 1e9) if name in medians else "" for name in names]
            rival = max((medians[p] for p in peers if p in medians), default=None)
            if best and rival:
                ratios.append(best / rival)
            cells.append(f"{best / rival:.2f}" if best and rival else "")
            limit = medians.get(LIMIT, bandwidth)
            cells.append(f"{best / limit:.0%}" if best and limit else "")
            rows.append([shapes[workload], *cells])
        notes = []
        if ratios:
            notes.append(f"Ours against the fastest peer, geometric mean: {geometric_mean(ratios):.2f}")
        for peer, name in (("onednn", "oneDNN"), ("pytorch", "PyTorch")):
            for ours in ("untuned", "tuned"):
                if against := ratios_to(section, ours, peer, threads).values():
                    notes.append(f"{ours} against {name}: {geometric_mean(list(against)):.2f}, least {min(against):.2f}")
        if amount == "bytes":
            notes.append("Bytes are each input once and the output once; the limit is that of copying in memory.")
        if any(LIMIT in by_name for (_, count), by_name in rates_of(section).items() if count == threads):
            notes.append("The limit is that of multiply-adds between registers, in turn with the contestants.")
        tables.append(
            Table(f"{title}, {threads_text(threads)}, {unit}", ["", *names, "ratio", "of limit"], rows, notes)
        )
    for library, version in section["facts"].get("libraries", {}).items():
        tables[-1].notes.append(f"{library}: {version}")
    for wrong in section["facts"].get("wrong", []):
        tables[-1].notes.append(f"Wrong result, not timed: {wrong['name']} (off by {wrong['difference']})")
    return tables


def task_rules(section: dict) -> dict[tuple[str, int], dict[str, list[float]]]:
    """Weighted sums of best times, a sample a list: by (how weights are chosen, trials), then by rule."""
    found: dict[tuple[str, int], dict[str, list[float]]] = {}
    for m in section["measurements"]:
        labels = m["labels"]
        found.setdefault((labels["parts"], labels["trials"]), {})[labels["rule"]] = m["samples"]
    return found


def of_tasks(section: dict, results: dict) -> list[Table]:
    facts = section["facts"]
    rows = []
    for (parts, trials), by_rule in task_rules(section).items():
        ours = by_rule[EXPECTED_GAIN]
        for rule, theirs in by_rule.items():
            if rule == EXPECTED_GAIN:
                continue
            ratios = [b / a for a, b in zip(ours, theirs)]
            s = summarize(ratios)
            better = sum(r > 1 for r in ratios)
            rows.append([f"{trials} trials, {parts}: {rule}", f"{s.median:.3f}", f"{s.low:.3f} … {s.high:.3f}", f"{better} of {len(ratios)}"])
    powers = facts["powers"]
    mean, variance = statistics.mean(powers), statistics.pvariance(powers)
    notes = [
        "Weighted sum of the ten best times, in parts of that by expected gain: median over lists with its 95 % interval.",
        f"Ten of {facts['tasks']} layers with weights from 1 to 6, or such that all take equal parts;"
        f" {facts['seeds']} runs of {facts['recorded_trials']} trials recorded of each.",
        f"Log of the room above the machine's limit fell by {mean:.2f} ± {math.sqrt(variance):.2f} for each unit of log(trials):"
        f" a Gamma distribution of shape {mean * mean / variance:.1f} and rate {mean / variance:.0f}.",
    ]
    columns = ["", "time", "interval", "expected gain better"]
    return [Table("Spending trials over ten tasks", columns, rows, notes)]


def of_live(section: dict, results: dict) -> list[Table]:
    import live_tables  # which needs Table

    return live_tables.of_live(section)


def of_model(section: dict, results: dict) -> list[Table]:
    import model  # which needs Table

    return model.study_tables(section, results)


def of_calibrate(section: dict, results: dict) -> list[Table]:
    import model

    return model.calibrate_tables(section, results)


NETWORK_PEER = "onnxruntime"
OF_NETWORKS = ("untuned", "tuned")  # ours
MOST_KERNELS = 8  # of a network in a table


def of_network(section: dict, what: str) -> dict[tuple[str, int], dict[str, dict]]:
    """Measurements of one kind (run, overhead, build, resident, peak): by (network, threads), then by contestant."""
    found: dict[tuple[str, int], dict[str, dict]] = {}
    for m in section["measurements"]:
        labels = m["labels"]
        if labels["what"] == what and m["samples"]:
            found.setdefault((labels["network"], labels["threads"]), {})[labels["contestant"]] = m
    return found


def network_ratios(section: dict, ours: str, threads: int) -> dict[str, float]:
    """How many times as fast as the peer one of ours is, by network."""
    return {
        network: summarize(by_name[NETWORK_PEER]["samples"]).median / summarize(by_name[ours]["samples"]).median
        for (network, count), by_name in of_network(section, "run").items()
        if count == threads and ours in by_name and NETWORK_PEER in by_name
    }


@dataclass(frozen=True)
class Overhead:
    """Of the executor: the part of a run outside kernels, and seconds of it for each kernel."""

    share: float
    of_kernel: float


def network_overheads(section: dict) -> dict[tuple[str, int, str], Overhead]:
    """By network, threads and contestant."""
    runs, found = of_network(section, "run"), {}
    for (network, threads), by_name in of_network(section, "overhead").items():
        for contestant, m in by_name.items():
            seconds = summarize(m["samples"]).median
            run = summarize(runs[network, threads][contestant]["samples"]).median
            count = len(section["facts"]["kernels"][f"{network}/{contestant}/{threads}"])
            found[network, threads, contestant] = Overhead(seconds / run, seconds / count)
    return found


def of_networks(section: dict, results: dict) -> list[Table]:
    runs = of_network(section, "run")
    overheads = network_overheads(section)
    tables = []
    for threads in sorted({threads for _, threads in runs}):
        rows = []
        for (network, count), by_name in runs.items():
            if count != threads:
                continue
            cells = [interval(by_name[name]["samples"], "s") if name in by_name else "" for name in (*OF_NETWORKS, NETWORK_PEER)]
            for ours in OF_NETWORKS:
                ratio = network_ratios(section, ours, threads).get(network)
                cells.append(f"{ratio:.2f}" if ratio else "")
            rows.append([network, *cells])
        notes = []
        for ours in OF_NETWORKS:
            if against := list(network_ratios(section, ours, threads).values()):
                notes.append(f"{ours} against ONNX Runtime: {geometric_mean(against):.2f}, least {min(against):.2f}")
        shares = [o.share for (_, count, _), o in overheads.items() if count == threads]
        if shares:
            notes.append(f"Executor outside of kernels: at most {max(shares):.2%} of a run.")
        for network, kernels in section["facts"]["not_in_log"].items():
            if network.endswith(f"/{threads}") and kernels:
                notes.append(f"tuned {network.partition('/')[0]}: {len(kernels)} of its kernels are not in the log and have the prior's schedules")
        columns = ["", *OF_NETWORKS, "ONNX Runtime", *(f"ratio, {ours}" for ours in OF_NETWORKS)]
        tables.append(Table(f"Networks, {threads_text(threads)}, a run", columns, rows, notes))
    facts = section["facts"]
    tables[-1].notes.append("Medians with 95 % intervals. onnxruntime: " + facts["libraries"][NETWORK_PEER])
    tables[-1].notes += [f"Wrong result, not timed: {wrong['name']} (off by {wrong['difference']})" for wrong in facts["wrong"]]
    return [*tables, *lost_time(section), *processes_of_networks(section)]


def processes_of_networks(section: dict) -> list[Table]:
    """What each contestant needs in a process of its own."""
    resident, peak = of_network(section, "resident"), of_network(section, "peak")
    tables = []
    for (network, threads), by_name in of_network(section, "build").items():
        rows = [
            [
                contestant,
                with_unit(summarize(m["samples"]).median, "s"),
                *(with_unit(summarize(of[network, threads][contestant]["samples"]).median, "B") for of in (resident, peak)),
            ]
            for contestant, m in by_name.items()
        ]
        notes = ["Seconds until it can run: built, built from the log, loaded as exported, or loaded from a model. Memory after ten runs, and at most."]
        for what, text in (("first answer", "From the start of a process of Python with the runtime alone to its first answer"), ("command", "autotune --trials=200")):
            for m in of_network(section, what).get((network, threads), {}).values():
                notes.append(f"{text}: {with_unit(summarize(m['samples']).median, 's')}.")
        title = f"{network} in a process of its own, {threads_text(threads)}"
        tables.append(Table(title, ["", "until it can run", "resident", "at most"], rows, notes))
    return tables


def lost_time(section: dict) -> list[Table]:
    """Kernels that the peer computes faster, those first that lose most. Nodes of both have the same names."""
    kernels, tables = section["facts"]["kernels"], []
    for (network, threads), by_name in of_network(section, "run").items():
        ours = next((name for name in reversed(OF_NETWORKS) if name in by_name), None)
        if ours is None or NETWORK_PEER not in by_name:
            continue
        theirs = kernels[f"{network}/{NETWORK_PEER}/{threads}"]
        compared = [(k, sum(theirs.get(node, 0) for node in k["nodes"])) for k in kernels[f"{network}/{ours}/{threads}"]]
        compared.sort(key=lambda pair: pair[1] - pair[0]["seconds"])
        rows = [
            [k["name"], *(with_unit(s, "s") for s in (k["seconds"], peer, k["seconds"] - peer))]
            for k, peer in compared[:MOST_KERNELS]
            if k["seconds"] > peer
        ]
        if rows:
            tables.append(Table(f"Where {network} loses time, {ours}, {threads_text(threads)}", ["", "ours", "ONNX Runtime", "lost"], rows))
    return tables


def of_vendor(section: dict, results: dict) -> list[Table]:
    import vendor_tables  # which needs Table

    return vendor_tables.of_vendor(section)


def of_operators(section: dict, results: dict) -> list[Table]:
    import operator_tables  # which needs Table

    return operator_tables.of_operators(section)


TABLES: dict[str, Callable[[dict, dict], list[Table]]] = {
    "peak": of_peak,
    "compile": of_compile,
    "math": of_math,
    "search": of_search,
    "prior": of_prior,
    "tuner": of_tuner,
    "gemm": lambda section, results: of_peers("Matrix products", section, results),
    "lowp": lambda section, results: of_peers("Products of narrow numbers", section, results, unit="Gop/s"),
    "conv": lambda section, results: of_peers("Convolutions", section, results),
    "blocked": lambda section, results: of_peers("Convolutions of channels in blocks", section, results),
    "depthwise": lambda section, results: of_peers("Depthwise convolutions", section, results),
    "backward": lambda section, results: of_peers("Gradients of convolutions", section, results),
    "memory": lambda section, results: of_peers("Bound by memory", section, results, "bytes", "GB/s"),
    "networks": of_networks,
    "operators": of_operators,
    "vendor": of_vendor,
    "tasks": of_tasks,
    "model": of_model,
    "calibrate": of_calibrate,
    "live": of_live,
}
