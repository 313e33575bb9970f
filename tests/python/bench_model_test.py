# SPDX-License-Identifier: Apache-2.0
"""The study of the cost model on the sample of the tree: what a replay and a calibration find there, and how it is shown.
`./tw bench` builds the program; nothing is timed."""

import json
import shutil
import sqlite3
import statistics
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import model  # noqa: E402
import pictures  # noqa: E402
import tables  # noqa: E402
from tilewright.autotune.log import log_file  # noqa: E402
from tilewright.cli.output import table_lines  # noqa: E402

PROGRAM = ROOT / "build/release/bench/tilewright-bench"
WORKLOADS = 19


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    return model.log_of(SimpleNamespace(study_log=folder / "none.db", folder=folder))


def run(section, log, *words):
    if not PROGRAM.is_file():
        pytest.skip("the benchmark program is not built")
    done = subprocess.run([PROGRAM, section, f"--log={log}", *words], capture_output=True, text=True)
    if "unknown option" in done.stderr or "usage" in done.stderr:
        pytest.skip("the benchmark program is not of this build")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def study(log):
    return run("study", log, "--seeds=6", "--trials=32", "--batch=8", "--models=prior;random")


def test_the_sample_is_small():
    assert model.SAMPLE.stat().st_size < 300_000


# What a candidate takes is the median of its visits.
def least_seconds(log, workload):
    visits = {}
    with closing(sqlite3.connect(log)) as records:
        query = "SELECT trace, median FROM trials JOIN tasks ON trials.task = tasks.id WHERE name = ? AND median IS NOT NULL"
        for trace, median in records.execute(query, (workload,)):
            visits.setdefault(trace, []).append(median)
    return min(statistics.median(times) for times in visits.values())


def test_the_sample_holds_what_was_recorded(study, log):
    facts = {w["workload"]: w for w in study["facts"]["workloads"]}
    assert len(facts) == WORKLOADS
    softmax = facts["softmax:m=1536,n=128"]
    assert 50 <= softmax["candidates"] <= 60
    assert softmax["visits"] <= 3 * softmax["candidates"]
    assert softmax["best"] == pytest.approx(least_seconds(log, "softmax:m=1536,n=128"), rel=0.01)


def test_the_prior_ranks_and_chance_does_not(study):
    prior = model.over_workloads(study, "prior", "rank correlation")
    chance = model.over_workloads(study, "random", "rank correlation")
    assert min(prior) > 0.5
    assert max(map(abs, chance)) < 0.2


def test_more_trials_leave_less_regret(study):
    regrets = [model.over_workloads(study, "prior", f"regret after {trials}") for trials in (8, 16, 32)]
    middle = [sorted(of_seed)[3] for of_seed in regrets]
    assert middle[0] > middle[2] >= 0
    assert middle[2] < 0.2


def test_the_tables_fit_a_terminal(study):
    shown = tables.of_section("model", study | {"facts": study["facts"] | {"sample": True}}, {})
    assert [t.title for t in shown] == ["Searches replayed over recorded candidates", "By workload", "Rank correlation by workload",
                                        "Where they are most wrong", "What their errors go with"]
    lines = [line for t in shown for line in table_lines(t.columns, t.rows, None)]
    assert max(map(len, lines)) <= 80, max(lines, key=len)
    assert all(len(row) == len(t.columns) for t in shown for row in t.rows)
    assert len(shown[1].rows) == WORKLOADS
    picture = pictures.of_section("model", study, {})[0]
    assert picture.svg.startswith("<svg")


def test_hot_and_cold_records_are_studied_apart(log, tmp_path):
    mixed = tmp_path / "mixed.db"
    shutil.copy(log, mixed)
    log_file(str(mixed), True)  # brings the tables up to date
    with closing(sqlite3.connect(mixed)) as copy:
        # Every other trial of one workload was timed with cold constants.
        (key,) = copy.execute("SELECT id FROM tasks WHERE name LIKE 'softmax%'").fetchone()
        copy.execute("UPDATE trials SET caches = 'cold-constants' WHERE task = ? AND id % 2 = 0", (key,))
        copy.commit()
    whole = run("study", log, "--seeds=1", "--trials=8", "--models=prior", "--workload=softmax")["facts"]["workloads"]
    parts = run("study", mixed, "--seeds=1", "--trials=8", "--models=prior", "--workload=softmax")["facts"]["workloads"]
    assert len(whole) == 1 and sorted(w["workload"] for w in parts) == ["softmax:m=1536,n=128", "softmax:m=1536,n=128, cold-constants"]
    assert sum(w["visits"] for w in parts) == whole[0]["visits"]


def test_a_model_of_the_other_workloads_is_made(log, tmp_path):
    made = []
    for name in ("a.bin", "b.bin"):
        section = run("pretrain", log, f"--output={tmp_path / name}")
        made.append((tmp_path / name).read_bytes())
    assert made[0] == made[1] and made[0].startswith(b"tilewright experience 1 features ")
    assert section["facts"]["bytes"] == len(made[0]) < 150_000 and section["facts"]["workloads"] == WORKLOADS
    (table,) = model.pretrain_tables(section, {})
    assert len(table.rows) == WORKLOADS + 3
    assert max(map(len, table_lines(table.columns, table.rows, None))) <= 80


def test_the_prior_is_calibrated(log):
    facts = run("calibrate", log, "--candidates=12", "--folds=2")["facts"]
    assert len(facts["workloads"]) == WORKLOADS

    def loss(step):
        return sum(w[step]["spread"] for w in facts["workloads"])

    assert loss("after") < loss("before")
    shown = tables.of_section("calibrate", {"facts": facts, "measurements": []}, {})
    assert len(shown[0].rows) == WORKLOADS + 1
    assert all(c["unit"] and c["source"] for c in facts["constants"])
