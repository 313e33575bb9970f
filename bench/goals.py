"""What Tilewright must reach, and whether these results do."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median

import live_tables
import operator_tables
import tables
import vendor_tables
from samples import geometric_mean, mann_whitney, summarize
from sections import NO_AMX

COMPILE_SECONDS = 12e-3
# Until an untuned program has its schedule: the median of the named workloads.
PRIOR_SECONDS = 100e-3
# Of the time from te text to callable, what one pass of ours may take at most.
PASS_SHARE = 0.15
THROUGHPUT_RATIO = 0.75
UNTUNED_FACTOR = 10
# Ours in parts of oneDNN's speed: the geometric mean of tuned schedules, the least of them, and of untuned ones.
AGAINST_ONEDNN = {"gemm": (0.9, None, 0.5), "conv": (0.85, 0.6, 0.5), "blocked": (0.85, 0.6, 0.5), "depthwise": (1.0, None, 0.88),
                  "backward": (0.85, 0.5, None)}
# The tuned schedule in parts of the untuned one's speed: the geometric mean, which a tie does not reach, and the least.
TUNED_MEAN, TUNED_LEAST = 1.01, 0.98
# Products by hand: in parts of oneDNN's speed and of the multipliers' on one thread, and of the latter on all.
HAND_SHAPES = ("1024x1024x1024", "128x3072x768")
HAND_AGAINST_ONEDNN = 0.95
HAND_OF_LIMIT, HAND_OF_LIMIT_ON_ALL = 0.9, 0.85
# Parallel regions after a rest: speed of a burst in parts of the steady one, seconds of the first beyond the second.
BURST_OF_STEADY, FIRST_BEYOND_SECOND = 0.95, 20e-6
# The median sample of multiply-adds between registers on several threads, of their fastest.
LIMIT_OF_FASTEST = 0.95
# Kernels bound by memory: of oneDNN's speed or of a copy's, whichever is nearer, each of them.
MEMORY = 0.95
# Products of narrow numbers, by hand or tuned, with AMX; and by hand without.
LOWP_AGAINST_ONEDNN = 0.8
# Networks in parts of ONNX Runtime's speed, geometric mean over those of GOAL_NETWORKS that were measured.
GOAL_NETWORKS = ("resnet18", "mobilenet", "squeezenet")
AGAINST_ONNXRUNTIME = {"untuned": 0.7, "tuned": 1.0}
# Operators in parts of ONNX Runtime's speed: the geometric mean over all cases, and the least of them.
OPERATOR_SPEEDS = {"untuned": (1.0, 0.5), "tuned": (1.2, 0.9)}
BUILD_SECONDS = {"untuned": 15, "tuned": 5}
# Seconds, by what is measured of a network and how that is said.
WAITS = {
    ("first answer", "first answer 50 ms after the start of a process"): 0.05,
    ("command", "autotune --trials=200 in 3 minutes"): 180,
}
# Of the executor: the part of a run outside kernels, and seconds for each kernel.
OVERHEAD_SHARE, OVERHEAD_OF_KERNEL = 0.02, 1e-6
# Regions of one operator in parts of oneDNN's own time; networks with measured choices in parts of the better of all ours
# and all the vendor's; seconds to partition a graph of 2,000 nodes.
OF_DIRECT, OF_BETTER, PARTITION_SECONDS = 1.03, 1.03, 100e-3
# What tuning for real finds: the chance at most with which luck tells a model from its controls, and speeds in parts of the
# best of a long run: the prior's schedule, after few trials, after all, each by the median of the workloads, and the least.
LIVE_ALPHA = 0.01
UNTUNED_SHARE, EARLY_SHARE, LATE_SHARE, LEAST_SHARE = 0.80, 0.90, 0.95, 0.90
# Growth from a quarter of a run to its end that counts as flat.
FLAT = 1.10


@dataclass(frozen=True)
class Goal:
    text: str
    found: str
    met: bool


def goals(results: dict) -> list[Goal]:
    """Those that the sections at hand can decide."""
    sections = results["sections"]
    found: list[Goal] = []
    if section := sections.get("peak"):
        found += of_rests(section)
    if section := sections.get("compile"):
        found += of_compile(section)
    if section := sections.get("prior"):
        found += of_prior(section)
    if section := sections.get("tuner"):
        found += of_tuner(section)
    if section := sections.get("conv"):
        found += of_convolution(section)
    for name, limits in AGAINST_ONEDNN.items():
        if section := sections.get(name):
            found += of_onednn(name, section, *limits) + of_tuning(name, section)
    if section := sections.get("gemm"):
        found += of_limit(section) + of_hand(section)
    if section := sections.get("memory"):
        found += of_memory(section, results)
    if section := sections.get("lowp"):
        found += of_lowp(section)
    if section := sections.get("networks"):
        found += of_networks(section)
    if section := sections.get("operators"):
        found += of_operators(section)
    if section := sections.get("vendor"):
        found += of_vendor(section)
    if section := sections.get("tasks"):
        found += of_tasks(section)
    if section := sections.get("live"):
        found += of_live(section)
    return found


def of_lowp(section: dict) -> list[Goal]:
    """Products only; the better of a schedule by hand and the tuned one, for each kind of numbers."""
    found = []
    for threads in tables.thread_counts(section):
        ratios: dict[tuple[str, bool], dict[str, float]] = {}
        for ours in ("hand", "tuned"):
            for workload, ratio in tables.ratios_to(section, ours, "onednn", threads).items():
                if not workload.startswith("gemm"):
                    continue
                with_amx = not workload.endswith(NO_AMX)
                of_type = ratios.setdefault((workload.removesuffix(NO_AMX).rpartition("dtype=")[2], with_amx), {})
                of_type[workload] = max(ratio, of_type.get(workload, 0))
        for (dtype, with_amx), by_workload in sorted(ratios.items(), key=lambda item: (not item[0][1], item[0][0])):
            mean = geometric_mean(list(by_workload.values()))
            of = f"{dtype}{'' if with_amx else NO_AMX}, {tables.threads_text(threads)}"
            text = f"{of}: of oneDNN's speed, mean at least {LOWP_AGAINST_ONEDNN:g}"
            found.append(Goal(text, f"{mean:.2f}", mean >= LOWP_AGAINST_ONEDNN))
    return found


def of_rests(section: dict) -> list[Goal]:
    found = []
    for threads in sorted({m["labels"]["threads"] for m in section["measurements"]}):
        if threads == 1 or not (rests := tables.rests_of(section, threads)):
            continue
        of = f"after a rest, {tables.threads_text(threads)}"
        text = f"{of}: 30 regions at {BURST_OF_STEADY:g} of the steady speed at least"
        found.append(Goal(text, tables.figure(rests.burst), rests.burst >= BURST_OF_STEADY))
        text = f"{of}: the first takes at most {tables.with_unit(FIRST_BEYOND_SECOND, 's')} more than the second"
        found.append(Goal(text, tables.with_unit(rests.first, "s"), rests.first <= FIRST_BEYOND_SECOND))
    return found


def of_limit(section: dict) -> list[Goal]:
    """Whether threads keep out of each other's way: nothing else slows multiply-adds between registers down."""
    found = []
    for threads in tables.thread_counts(section):
        rates = [by_name[tables.LIMIT] for (_, n), by_name in tables.rates_of(section).items() if n == threads and tables.LIMIT in by_name]
        if threads > 1 and rates:
            mean = geometric_mean([median(samples) / max(samples) for samples in rates])
            text = f"{tables.threads_text(threads)}: the limit's median at least {LIMIT_OF_FASTEST:g} of its fastest sample"
            found.append(Goal(text, f"{mean:.2f}", mean >= LIMIT_OF_FASTEST))
    return found


def of_compile(section: dict) -> list[Goal]:
    found = []
    if (median := tables.median(section, "compile/all")) is not None:
        text = f"te to callable in {COMPILE_SECONDS * 1e3:.0f} ms, median"
        found.append(Goal(text, tables.with_unit(median, "s"), median <= COMPILE_SECONDS))
    shares = {name: share for name, share in tables.compile_shares(section).items() if name not in tables.BACK}
    if shares:
        name = max(shares, key=lambda name: shares[name])
        text = f"no pass of ours takes more than {PASS_SHARE:.0%} of it"
        found.append(Goal(text, f"{name}, {shares[name]:.1%}", shares[name] <= PASS_SHARE))
    if resident := section["facts"].get("resident"):
        growth = resident[-1][1] / resident[len(resident) // 4][1]
        found.append(Goal(f"memory flat over {resident[-1][0]:,} compiles", f"×{growth:.2f}", growth <= FLAT))
    return found


def of_prior(section: dict) -> list[Goal]:
    seconds = median(median(m["samples"]) for m in section["measurements"])
    text = f"an untuned schedule in {PRIOR_SECONDS * 1e3:.0f} ms, median of {len(section['measurements'])} workloads"
    return [Goal(text, tables.with_unit(seconds, "s"), seconds <= PRIOR_SECONDS)]


def of_tuner(section: dict) -> list[Goal]:
    facts = section["facts"]
    rates = tables.throughput(facts)
    found = [
        Goal(
            f"trials a second at least {THROUGHPUT_RATIO:.0%} of 1 / (budget + compile / cores)",
            f"{tables.figure(rates.trials)}, {rates.ratio:.0%}",
            rates.ratio >= THROUGHPUT_RATIO,
        )
    ]
    if memory := facts["memory"]:
        early, late = memory[len(memory) // 4], memory[-1]
        growth = max(late[1] / max(early[1], 1), late[2] / max(early[2], 1))
        found.append(Goal(f"memory flat over {facts['trials']} trials", f"×{growth:.2f}", growth <= FLAT))
    return found


def of_convolution(section: dict) -> list[Goal]:
    """Of the first 3x3 convolution, on one thread: what the schedule is worth that nobody tuned."""
    shapes = tables.shapes_of(section)
    first = next((workload for workload, threads in tables.rates_of(section) if threads == 1 and shapes[workload].endswith("3x3")), None)
    factor = tables.ratios_to(section, "untuned", "unscheduled", 1).get(first)
    if factor is None:
        return []
    text = f"the untuned prior is {UNTUNED_FACTOR} times as fast as the plain loop nest"
    return [Goal(text, f"{factor:.1f} times", factor >= UNTUNED_FACTOR)]


def of_onednn(name: str, section: dict, tuned: float, least: float | None, untuned: float | None) -> list[Goal]:
    found = []
    for threads in tables.thread_counts(section):
        of = f"{name}, {tables.threads_text(threads)}"
        for ours, limit in (("tuned", tuned), ("untuned", untuned)):
            ratios = list(tables.ratios_to(section, ours, "onednn", threads).values())
            if limit is None or not ratios:
                continue
            mean = geometric_mean(ratios)
            found.append(Goal(f"{of}: {ours}, of oneDNN's speed, mean at least {limit:g}", f"{mean:.2f}", mean >= limit))
            if ours == "tuned" and least is not None:
                found.append(Goal(f"{of}: {ours}, least at least {least:g}", f"{min(ratios):.2f}", min(ratios) >= least))
    return found


def of_tuning(name: str, section: dict) -> list[Goal]:
    """Tuning makes the layers faster together, and none of them slower."""
    found = []
    for threads in tables.thread_counts(section):
        if ratios := tables.ratios_to(section, "tuned", "untuned", threads):
            of = f"{name}, {tables.threads_text(threads)}: tuned, of its untuned speed"
            mean, worst = geometric_mean(ratios.values()), min(ratios, key=ratios.__getitem__)
            found.append(Goal(f"{of}, mean at least {TUNED_MEAN:g}", f"{mean:.3f}", mean >= TUNED_MEAN))
            least = f"{ratios[worst]:.3f}, {tables.shapes_of(section)[worst]}"
            found.append(Goal(f"{of}, least at least {TUNED_LEAST:g}", least, ratios[worst] >= TUNED_LEAST))
    return found


def of_hand(section: dict) -> list[Goal]:
    """The product's schedules by hand, each of the shapes."""
    found = []
    shapes = tables.shapes_of(section)
    for threads in tables.thread_counts(section):
        of_limit = HAND_OF_LIMIT if threads == 1 else HAND_OF_LIMIT_ON_ALL
        for peer, text, limit in (("onednn", "oneDNN's speed", HAND_AGAINST_ONEDNN), (tables.LIMIT, "the multipliers' speed", of_limit)):
            if peer == "onednn" and threads != 1:
                continue
            for workload, ratio in tables.ratios_to(section, "hand", peer, threads).items():
                if shapes[workload] in HAND_SHAPES:
                    what = f"gemm by hand, {tables.threads_text(threads)}: {shapes[workload]}, of {text}, at least {limit:g}"
                    found.append(Goal(what, f"{ratio:.2f}", ratio >= limit))
    return found


def of_memory(section: dict, results: dict) -> list[Goal]:
    found = []
    for threads in tables.thread_counts(section):
        for ours in ("tuned", "untuned"):
            by_peer = tables.ratios_to(section, ours, "onednn", threads)
            by_copy = tables.ratios_to_copies(section, results, ours, threads)
            ratios = [max(by_peer.get(w, 0), by_copy.get(w, 0)) for w in {**by_peer, **by_copy}]
            if ratios:
                least = min(ratios)
                text = f"memory, {tables.threads_text(threads)}: {ours}, of oneDNN's speed or a copy's, least at least {MEMORY:g}"
                found.append(Goal(text, f"{least:.2f}, mean {geometric_mean(ratios):.2f}", least >= MEMORY))
    return found


def of_networks(section: dict) -> list[Goal]:
    found = []
    for threads in sorted({threads for _, threads in tables.of_network(section, "run")}):
        for ours, limit in AGAINST_ONNXRUNTIME.items():
            by_network = tables.network_ratios(section, ours, threads)
            if ratios := [ratio for network, ratio in by_network.items() if network in GOAL_NETWORKS]:
                mean = geometric_mean(ratios)
                text = f"networks, {tables.threads_text(threads)}: {ours}, of ONNX Runtime's speed, mean at least {limit:g}"
                found.append(Goal(text, f"{mean:.2f}, least {min(ratios):.2f}", mean >= limit))
    for (network, threads, ours), overhead in tables.network_overheads(section).items():
        if network == GOAL_NETWORKS[0]:
            text = f"executor, {network}, {ours}, {tables.threads_text(threads)}: at most {OVERHEAD_SHARE:.0%} of a run, 1 µs a kernel"
            met = overhead.share <= OVERHEAD_SHARE and overhead.of_kernel <= OVERHEAD_OF_KERNEL
            found.append(Goal(text, f"{overhead.share:.2%}, {tables.with_unit(overhead.of_kernel, 's')}", met))
    for (network, threads), by_name in tables.of_network(section, "build").items():
        for ours, limit in BUILD_SECONDS.items():
            if ours in by_name:
                seconds = median(by_name[ours]["samples"])
                text = f"{network}, {ours}, built in {limit} s on {tables.threads_text(threads)}"
                found.append(Goal(text, tables.with_unit(seconds, "s"), seconds <= limit))
    for (what, text), limit in WAITS.items():
        for (network, threads), by_name in tables.of_network(section, what).items():
            for m in by_name.values():
                seconds = median(m["samples"])
                found.append(Goal(f"{network}, {tables.threads_text(threads)}: {text}", tables.with_unit(seconds, "s"), seconds <= limit))
    for what, ours, text in (
        ("resident", "untuned", "built in the process, resident"),
        ("peak", "untuned", "built in the process, memory at most"),
        ("peak", "loaded", "loaded, memory at most"),
    ):
        for (network, _), by_name in tables.of_network(section, what).items():
            if ours in by_name and tables.NETWORK_PEER in by_name:
                ratio = median(by_name[ours]["samples"]) / median(by_name[tables.NETWORK_PEER]["samples"])
                found.append(Goal(f"{network}, {text}: no more than ONNX Runtime's", f"{ratio:.2f} of it", ratio <= 1))
    return found


def of_operators(section: dict) -> list[Goal]:
    found = []
    for threads in operator_tables.thread_counts(section):
        for ours, (mean, least) in OPERATOR_SPEEDS.items():
            ratios = tables.network_ratios(section, ours, threads)
            if not ratios:
                continue
            text = f"operators, {ours}, {tables.threads_text(threads)}: of ONNX Runtime's speed"
            reached = geometric_mean(list(ratios.values()))
            found.append(Goal(f"{text}, geometric mean {mean:g}", f"{reached:.2f}", reached >= mean))
            worst = min(ratios, key=lambda name: ratios[name])
            found.append(Goal(f"{text}, none below {least:g}", f"{ratios[worst]:.2f}, {worst}", ratios[worst] >= least))
    return found


def of_vendor(section: dict) -> list[Goal]:
    found = []
    for threads, ratios in sorted(vendor_tables.operator_ratios(section).items()):
        worst = max(ratios, key=lambda name: ratios[name])
        text = f"vendor, {tables.threads_text(threads)}: each operator in {OF_DIRECT:g} of oneDNN's own time"
        found.append(Goal(text, f"{ratios[worst]:.3f}, {worst}", ratios[worst] <= OF_DIRECT))
    for (network, threads), ratio in sorted(vendor_tables.network_ratios(section).items()):
        text = f"vendor, {network}, {tables.threads_text(threads)}: measured in {OF_BETTER:g} of the better of ours and all vendor"
        found.append(Goal(text, f"{ratio:.3f}", ratio <= OF_BETTER))
    if m := tables.named(section, "partition"):
        seconds = median(m["samples"])
        text = f"a graph of {m['labels']['nodes']:,} nodes partitioned in {PARTITION_SECONDS * 1e3:.0f} ms"
        found.append(Goal(text, tables.with_unit(seconds, "s"), seconds <= PARTITION_SECONDS))
    return found


def of_tasks(section: dict) -> list[Goal]:
    """Of the weighted sum of the tasks' best times, list by list."""
    found = []
    for (parts, trials), by_rule in tables.task_rules(section).items():
        for rule in ("turns", "last gain"):
            s = summarize([b / a for a, b in zip(by_rule[tables.EXPECTED_GAIN], by_rule[rule])])
            text = f"ten tasks, {parts}, {trials} trials: expected gain beats {rule}"
            found.append(Goal(text, f"{s.median:.3f} times, {s.low:.3f} … {s.high:.3f}", s.low > 1))
    return found


def of_live(section: dict) -> list[Goal]:
    """XGBoost against each control, over all layers: an aligned rank test (Hodges and Lehmann 1962). What a layer's times
    have in common is taken out of their logarithms, then all are ranked together. And what is found, against a long run."""
    facts = section["facts"]
    trials, early, long = facts["trials"], facts["early"], facts["long"]
    samples = live_tables.samples_of(section)
    goals_found = []
    for model in live_tables.CONTROLS:
        ours: list[float] = []
        theirs: list[float] = []
        for found in samples.values():
            mine, others = found.get(("xgboost", trials)), found.get((model, trials))
            if not mine or not others:
                continue
            middle = median([math.log(s) for s in (*mine, *others)])
            ours += [math.log(s) - middle for s in mine]
            theirs += [math.log(s) - middle for s in others]
        if not ours:
            continue
        test = mann_whitney(ours, theirs)
        faster = math.exp(sum(theirs) / len(theirs) - sum(ours) / len(ours))
        goals_found.append(Goal(f"xgboost beats {model}", f"{faster:.3f} times, p = {test.p:.2g}", test.p < LIVE_ALPHA and test.superiority > 0.5))
    for name, model, after, middle, least in (
        ("untuned", "untuned", 0, UNTUNED_SHARE, None),
        (f"after {early} trials", "xgboost", early, EARLY_SHARE, None),
        (f"after {trials} trials", "xgboost", trials, LATE_SHARE, LEAST_SHARE),
    ):
        shares = live_tables.shares_of(section, model, after).values()
        if not shares:
            continue
        text = f"{name}: of the best of {long}, median at least {middle:g}" + (f", least {least:g}" if least else "")
        met = median(shares) >= middle and (least is None or min(shares) >= least)
        goals_found.append(Goal(text, f"{median(shares):.2f}, least {min(shares):.2f}", met))
    return goals_found


def table(results: dict) -> tables.Table:
    rows = [[goal.text, goal.found, "yes" if goal.met else "no"] for goal in goals(results)]
    return tables.Table("What it must reach", ["", "found", "reached"], rows)
