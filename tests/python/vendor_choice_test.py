"""Parts of networks are given to another code generator where it is faster. Times are made up; nothing depends on real ones."""

import json
import logging
import os
import random
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tilewright as tw
import tilewright.compiler
import tilewright.symbol as sym
from tilewright import _core, byoc, vendor_choice

PACKAGE = Path(tw.__file__).parent
CHANNELS = 8


@pytest.fixture(autouse=True)
def library(monkeypatch):
    monkeypatch.setattr(vendor_choice, "_made", {})
    monkeypatch.setattr(vendor_choice, "RACE_SECONDS", 60.0)
    folder = PACKAGE if (PACKAGE / "tilewright-worker").is_file() else PACKAGE.parents[1] / "build/release/python/tilewright"
    if not (folder / "libtilewright_onednn.so").is_file():
        pytest.skip("onednn is not installed")
    return folder / "libtilewright_onednn.so"


def network(layers=5):
    """Convolutions one after the other, each a piece of its own, with another number of channels."""
    net = sym.Variable("x")
    for k in range(layers):
        net = sym.conv2d(net, channels=CHANNELS + k, kernel_size=(3, 3), padding=(1, 1), use_bias=False, name=f"conv{k}")
        net = sym.relu(net, name=f"relu{k}")
    return net


SHAPE = {"x": (1, CHANNELS, 8, 8)}


def params_of(net):
    rng = np.random.default_rng(0)
    names = net.list_input_names()
    shapes = tw.compiler.graph_util.infer_shape(tw.graph.create(net), **SHAPE)[0]
    return {n: tw.nd.array(rng.normal(size=s).astype("float32")) for n, s in zip(names, shapes) if n != "x"}


def regions(layers=2):
    """As `network`, twice, with a softmax between them that no pattern takes."""
    net = network(layers)
    net = sym.log_softmax(net, axis=1, name="between")
    for k in range(layers, 2 * layers):
        net = sym.conv2d(net, channels=CHANNELS + k, kernel_size=(3, 3), padding=(1, 1), use_bias=False, name=f"conv{k}")
        net = sym.relu(net, name=f"relu{k}")
    return net


class Made:
    """Made times of ways: of each composite `vendor` where the code generator computes it, else 1; a border costs `border`, and
    kernels of both beside each other `both`."""

    def __init__(self, monkeypatch, vendor, border=0.0, both=0.0):
        self.runs = 0
        noise = random.Random(3)
        plain = vendor_choice._Way.__init__

        def init(way, graph, params, compiler, keeps):
            calls = [n for n in graph.index.nodes if n["op"] != "null"]
            kept = [n["name"] for n in calls if n["name"] in graph.functions()]
            inlined = [n["name"] for n in calls if n["name"].startswith("relu") and n["name"] not in kept]
            plain(way, graph, params, compiler, keeps)
            way.seconds = sum(vendor[int(n[4:])] for n in kept if n.startswith("relu")) + len(inlined)
            way.seconds += (border if kept else 0) + (both if kept and inlined else 0)

        def run(way):
            self.runs += 1
            return way.seconds * 1e-3 * noise.uniform(1, 1.02)

        monkeypatch.setattr(vendor_choice._Way, "__init__", init)
        monkeypatch.setattr(vendor_choice._Way, "run", run)


def choices(net, **kwargs):
    return byoc.choices(net, "onednn", SHAPE, params=params_of(net), **kwargs)


def partition(net, **kwargs):
    return byoc.partition(net, "onednn", SHAPE, params=params_of(net), choose="measured", **kwargs)


def relus_inside(graph):
    """Of each region the numbers of the layers that it computes."""
    found = []
    for body in graph.functions().values():
        names = [node["name"] for inner in body.functions().values() for node in inner.index.nodes]
        found.append(sorted(int(n[4:]) for n in names if n.startswith("relu")))
    return sorted(found)


def test_all_ours_and_all_theirs(monkeypatch):
    net = network()
    Made(monkeypatch, [0.5] * 5)
    (choice,) = choices(net)
    assert choice.chosen == "vendor" and choice.depth == 0 and len(choice.composites) == 5
    assert choice.name == "relu0 … relu4"
    assert choice.ratio[0] == pytest.approx(0.5, rel=0.02) and choice.ratio[1] <= choice.ratio[0] <= choice.ratio[2]
    assert relus_inside(partition(net)) == [[0, 1, 2, 3, 4]]

    vendor_choice._made.clear()
    Made(monkeypatch, [2.0] * 5)
    assert [c.chosen for c in choices(net)] == ["ours"]
    assert not partition(net).functions()


def test_parts_are_chosen_one_by_one_and_neighbours_are_one_region(monkeypatch):
    net = network()
    Made(monkeypatch, [0.5, 0.5, 2, 2, 0.5])
    found = choices(net)
    assert [(c.depth, c.chosen) for c in found] == [
        (0, "parts"), (1, "parts"), (2, "vendor"), (2, "vendor"), (2, "ours"), (2, "ours"), (1, "vendor")]
    assert relus_inside(partition(net)) == [[0, 1], [4]]


def test_borders_that_cost_more_than_they_bring_are_left_out(monkeypatch):
    net = network()
    # One by one the vendor loses, as each pays for its borders; all together it wins.
    Made(monkeypatch, [0.8] * 5, border=0.5)
    assert [c.chosen for c in choices(net)] == ["vendor"]
    vendor_choice._made.clear()
    Made(monkeypatch, [0.9, 2, 2, 2, 2], border=0.5)
    assert [c.chosen for c in choices(net)] == ["ours"]


def test_the_network_is_raced_as_its_regions_chose(monkeypatch):
    net = regions()
    Made(monkeypatch, [0.8, 0.8, 2, 2], both=0.1)
    found = choices(net)
    assert [(c.depth, c.chosen) for c in found] == [(0, "parts"), (1, "vendor"), (1, "ours")]
    assert relus_inside(partition(net)) == [[0, 1]]
    # What each region gains by its own choice is less than what it costs that they differ.
    for vendor, chosen, inside in (([0.8, 0.8, 1.1, 1.1], "vendor", [[0, 1], [2, 3]]), ([0.9, 0.9, 2, 2], "ours", [])):
        vendor_choice._made.clear()
        Made(monkeypatch, vendor, both=0.5)
        (choice,) = choices(net)
        assert choice.chosen == chosen and choice.depth == 0 and len(choice.composites) == 4
        assert relus_inside(partition(net)) == inside


def test_equally_fast_is_ours(monkeypatch):
    Made(monkeypatch, [1.0] * 5)
    assert [c.chosen for c in choices(network())] == ["ours"]


def test_what_is_chosen_computes_the_same(monkeypatch):
    net = network()
    params = params_of(net)
    x = np.random.default_rng(1).normal(size=SHAPE["x"]).astype("float32")
    Made(monkeypatch, [0.5, 2, 2, 0.5, 0.5])
    outputs = []
    for graph in (tw.graph.create(net), partition(net)):
        built, module, left = tw.compiler.build(graph, shape=SHAPE, params=params)
        executor = tw.contrib.graph_runtime.create(built, module, tw.cpu(), left)
        executor.run(x=x)
        outputs.append(executor.get_output(0).numpy())
    assert np.abs(outputs[0] - outputs[1]).max() <= 1e-4 * np.abs(outputs[0]).max()


def test_choices_are_kept_in_the_log_and_used_without_timing(monkeypatch, tmp_path):
    net, log = network(), tmp_path / "log.db"
    made = Made(monkeypatch, [0.5, 0.5, 2, 2, 0.5])
    first = choices(net, log=log)
    assert made.runs > 0
    made.runs = 0
    assert choices(net, log=log) == first
    assert relus_inside(partition(net, log=log)) == [[0, 1], [4]]
    with tw.autotune.apply_best(log):
        assert relus_inside(partition(net)) == [[0, 1], [4]]
    # Names do not matter.
    renamed = sym.relu(sym.conv2d(sym.Variable("y"), channels=8, kernel_size=(3, 3), padding=(1, 1), use_bias=False, name="c"), name="r")
    params = {"c_weight": tw.nd.array(np.zeros((8, 8, 3, 3), "float32"))}
    (same,) = byoc.choices(renamed, "onednn", {"y": SHAPE["x"]}, params=params, log=log)
    assert same.chosen == "vendor" and made.runs == 0
    # Another number of threads is another choice.
    threads = tw._core.num_threads()
    tw.set_num_threads(threads + 1)
    try:
        assert choices(net, log=log, measure=False) == []
    finally:
        tw.set_num_threads(threads)


def test_other_kernels_of_ours_are_measured_anew(monkeypatch, tmp_path):
    net, log = network(1), tmp_path / "log.db"
    made = Made(monkeypatch, [0.5])
    with tw.compiler.build_config(opt_level=3):
        choices(net, log=log)
        tasks, _ = tw.autotune.extract_tasks(tw.graph.create(net), params_of(net), shape=SHAPE)
        tw.autotune.tune(tasks, log=str(log), trials=len(tasks))
        made.runs = 0
        assert [c.chosen for c in choices(net, log=log)] == ["vendor"] and made.runs > 0
        made.runs = 0
        assert len(choices(net, log=log)) == 1 and made.runs == 0


def test_a_damaged_row_is_one_line_and_measured_anew(monkeypatch, tmp_path, caplog):
    net, log = network(1), tmp_path / "log.db"
    made = Made(monkeypatch, [0.5])
    choices(net, log=log)
    with sqlite3.connect(log) as db:
        db.execute("UPDATE choices SET seconds = '{'")
    made.runs = 0
    with caplog.at_level(logging.WARNING):
        assert [c.chosen for c in choices(net, log=log)] == ["vendor"]
    assert made.runs > 0
    assert len({r.getMessage() for r in caplog.records if "damaged" in r.getMessage()}) == 1


WRITER = """
import sys
from tilewright.autotune.log import log_file
log = log_file(sys.argv[1], True)
print("writes", flush=True)
sys.stdin.read()
"""


def test_another_writer_is_refused_before_anything_is_timed(monkeypatch, tmp_path):
    log = tmp_path / "log.db"
    made = Made(monkeypatch, [0.5])
    with subprocess.Popen([sys.executable, "-c", WRITER, str(log)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"writes\n"
        with pytest.raises(tw.error.UserError) as raised:
            choices(network(1), log=log)
        assert raised.value.code == "log-busy" and str(other.pid) in str(raised.value)
        assert made.runs == 0
        other.stdin.close()
    assert len(choices(network(1), log=log)) == 1


KILLED = """
import os, signal, sys
sys.path.insert(0, sys.argv[2])
import pytest
import vendor_choice_test as test
from tilewright import _core, vendor_choice
append, left = _core.append_vendor_choice, [3]
def append_then_die(*arguments):
    append(*arguments)
    left[0] -= 1
    if left[0] == 0:
        os.kill(os.getpid(), signal.SIGKILL)
_core.append_vendor_choice = append_then_die
with pytest.MonkeyPatch.context() as monkeypatch:
    test.Made(monkeypatch, [0.5, 0.5, 2, 2, 0.5])
    test.choices(test.network(), log=sys.argv[1])
"""


def test_killed_between_choices_those_that_were_made_are_there(monkeypatch, tmp_path):
    log = tmp_path / "log.db"
    words = [sys.executable, "-c", KILLED, str(log), str(Path(__file__).parent)]
    assert subprocess.run(words, env=os.environ, capture_output=True).returncode == -signal.SIGKILL
    with sqlite3.connect(log) as db:
        assert db.execute("SELECT count(*) FROM choices").fetchone() == (3,)
    kept = []
    monkeypatch.setattr(_core, "append_vendor_choice", lambda log, choice, append=_core.append_vendor_choice: (kept.append(choice), append(log, choice)))
    Made(monkeypatch, [0.5, 0.5, 2, 2, 0.5])
    assert relus_inside(partition(network(), log=log)) == [[0, 1], [4]]
    assert len(kept) == 7 - 3  # five pieces, four of them as one, and the region


def test_a_refused_build_is_ours_and_a_missing_library_an_error(library, monkeypatch, caplog):
    byoc.register_pattern_table("refusing", [("refusing.negative", tw.dataflow_pattern.is_op("negative"))])
    net = sym.negative(sym.Variable("x"), name="n")
    byoc.register_codegen("refusing", str(library))  # which knows no negative
    with caplog.at_level(logging.WARNING):
        (choice,) = byoc.choices(net, "refusing", SHAPE)
    assert choice.chosen == "ours" and choice.message == "its build was refused" and choice.ratio is None
    assert "no negative" in caplog.text
    assert "took no part in 'n': its build was refused" in byoc.explain_partition(net, "refusing", SHAPE, choose="measured")
    assert not byoc.partition(net, "refusing", SHAPE, choose="measured").functions()

    byoc.register_codegen("refusing", "/nowhere/missing.so")
    with pytest.raises(tw.error.UserError) as raised:
        byoc.partition(net, "refusing", SHAPE, choose="measured")
    assert raised.value.code == "module-load" and "missing.so" in str(raised.value)


def test_explain_partition_says_what_was_measured(monkeypatch, tmp_path):
    net, log = network(), tmp_path / "log.db"
    def explain():
        return byoc.explain_partition(net, "onednn", SHAPE, params=params_of(net), choose="measured", log=log).splitlines()

    assert all(line.endswith("; not measured") for line in explain())
    made = Made(monkeypatch, [0.5, 0.5, 2, 2, 0.5])
    choices(net, log=log)
    made.runs = 0
    lines = {line.partition(":")[0]: line for line in explain()}
    assert made.runs == 0
    assert "measured: onednn takes 0.5" in lines["conv0"] and "of our time for 'relu0', chosen: onednn" in lines["conv0"]
    assert "(" in lines["relu2"] and "chosen: our kernels" in lines["relu2"] and "'relu2'" in lines["relu2"]


def test_wrong_choose():
    with pytest.raises(tw.error.UserError) as raised:
        byoc.partition(network(1), "onednn", SHAPE, choose="measure")
    assert raised.value.code == "bad-argument" and "all, none, measured" in str(raised.value)
    assert not byoc.partition(network(1), "onednn", SHAPE, choose="none").functions()


class Scripted:
    """A way whose times are given."""

    def __init__(self, times):
        self._times, self.runs = iter(times), 0

    def run(self):
        self.runs += 1
        return next(self._times, 1.0)


def test_races_pair_the_times_of_one_round():
    # Times of a round share what the round was like; shuffled, each stays with its way.
    rounds = [1 + k for k in range(80)]
    ways = {"ours": Scripted([0, *rounds]), "vendor": Scripted([0, *(1.02 * r for r in rounds)]), "parts": Scripted([0, *(3 * r for r in rounds)])}
    race = vendor_choice.PartRace("p", ways)
    told = []
    vendor_choice.run_races([race], told.append)
    assert told == [race]
    seconds = race.seconds
    assert len(seconds["parts"]) >= vendor_choice.LEAST_ROUNDS
    for name, factor in (("vendor", 1.02), ("parts", 3)):
        assert seconds[name] == [pytest.approx(factor * r) for r in rounds[:len(seconds[name])]]
    assert seconds["ours"] == rounds[:len(seconds["ours"])]


def test_races_end_when_the_time_is_spent_and_others_run_on():
    slow = vendor_choice.PartRace("slow", {"ours": Scripted([1.0] * 99), "vendor": Scripted([1.001, 0.999] * 50)})
    fast_ways = {"ours": Scripted([1.0] * 99), "vendor": Scripted([9.0] * 99)}
    fast = vendor_choice.PartRace("fast", fast_ways)
    alone = vendor_choice.PartRace("alone", {"ours": Scripted([])}, "refused")
    ticks = iter(range(1000))
    told = []
    vendor_choice.run_races([slow, fast, alone], lambda race: told.append(race.part), seconds=12, clock=lambda: next(ticks))
    assert told == ["alone", "fast", "slow"]
    assert len(fast.seconds["vendor"]) == vendor_choice.LEAST_ROUNDS
    # For what it does to caches, ours of the one that is over runs in every round all the same.
    assert fast_ways["ours"].runs == 1 + len(slow.seconds["ours"])
    assert alone.seconds == {"ours": []}


def test_the_command_reports_choices_and_keeps_them(tmp_path):
    def command(*words):
        words = [sys.executable, "-m", "tilewright.cli", *words, "--threads=1"]
        return subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "COLUMNS": "80"})

    result = command("mlp", "--trials=4", "--vendor=onednn", "--json=result.json")
    assert result.returncode == 0, result
    (report,) = json.loads((tmp_path / "result.json").read_text())["vendor"]
    assert report["network"] == "mlp" and report["vendor"] == "onednn" and report["seconds"] > 0
    row = report["regions"][0]
    assert row["depth"] == 0 and row["chosen"] in ("ours", "vendor", "parts") and len(row["ratio"]) == 3
    assert "mlp, onednn" in result.stdout and all(len(line) <= 80 for line in result.stdout.split("mlp, onednn")[1].splitlines())
    with sqlite3.connect(tmp_path / "tuning.db") as db:
        count = db.execute("SELECT count(*) FROM choices").fetchone()
    again = command("mlp", "--trials=4", "--resume", "--vendor=onednn")
    assert again.returncode == 0, again
    with sqlite3.connect(tmp_path / "tuning.db") as db:
        assert db.execute("SELECT count(*) FROM choices").fetchone() == count

    for words, said in ((["mlp", "--vendor=foo"], "no code generator 'foo'; legal: onednn, openblas, csource"),
                        (["gemm:bert.ffn", "--vendor=onednn"], "--vendor without a network"),
                        (["mlp", "--replay", "--vendor=onednn"], "--vendor with --replay")):
        refused = command(*words)
        assert refused.returncode == 2 and said in refused.stderr, refused
