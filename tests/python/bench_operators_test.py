"""The benchmark of operators: all contestants compute the same, and what is measured is there. Nothing is asserted of times."""

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import tilewright as tw
import tilewright.graph

pytest.importorskip("onnxruntime")
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import goals  # noqa: E402
import operator_sizes  # noqa: E402
import operator_tables  # noqa: E402
import operator_contest as benchmark  # noqa: E402
from operator_sizes import CASES, Case  # noqa: E402


pytestmark = pytest.mark.usefixtures("threads_as_before")


def options_of(tmp_path, **others):
    return SimpleNamespace(**{"only": "relu,argmax", "folder": str(tmp_path), "threads": [1, 2], "log": None, "repetitions": 2, "seconds": 0.001, "resume": 0, "trials": 2} | others)


def test_operators_untuned_and_tuned_against_the_peer(tmp_path, monkeypatch):
    small = [Case("relu", [(20, 30)]), Case("argmax", [(5, 7)], {"axis": 1})]
    monkeypatch.setattr(benchmark, "CASES", small)
    log = str(tmp_path / "log.db")
    tuned = benchmark.tune(options_of(tmp_path, threads=[1], log=log))
    assert [t["trials"] for t in tuned["facts"]["tunings"]] == [2, 2]
    result = benchmark.contest(options_of(tmp_path, log=log))
    assert result["facts"]["wrong"] == [] and result["facts"]["failed"] == []
    who = ("onnxruntime", "untuned", "tuned")
    assert {m["name"] for m in result["measurements"]} == {f"{case.name}/{w}/run/{t}" for case in small for w in who for t in (1, 2)}
    tables = operator_tables.of_operators(result)
    assert [t.title for t in tables] == ["Operators, 1 thread", "Operators, 2 threads"]
    assert [row[0] for row in tables[0].rows] == [case.name for case in small] + ["geometric mean", "least"]
    assert len(goals.of_operators(result)) == 8


def test_what_computes_something_else_is_not_timed(tmp_path, monkeypatch):
    monkeypatch.setattr(benchmark, "CASES", [Case("relu", [(2, 3)]), Case("exp", [(2, 3)], {"none": 1})])
    right = benchmark.networks.Ours.output
    monkeypatch.setattr(benchmark.networks.Ours, "output", lambda self: right(self) + 1)
    result = benchmark.contest(options_of(tmp_path, only=None, threads=[1]))
    assert {m["labels"]["contestant"] for m in result["measurements"]} == {"onnxruntime"}
    assert [w["name"] for w in result["facts"]["wrong"]] == ["relu 2×3/untuned/1"]
    assert [f["name"] for f in result["facts"]["failed"]] == ["exp 2×3"]


def test_unknown_operators_are_told(tmp_path):
    with pytest.raises(SystemExit, match="no case of 'relo': choose from"):
        benchmark.chosen("relu,relo")


def test_every_case_is_one_operator_at_two_sizes():
    known = {op["name"] for op in tw.graph.operators()}
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)
    for case in CASES:
        assert case.operator in known
        assert sum(other.operator == case.operator for other in CASES) >= 2
    workload = operator_sizes.workload_of(next(case for case in CASES if case.operator == "dense"))
    assert set(workload.inputs) == {"x0"} and set(workload.params) == {"x1", "x2"}
    assert all(a.dtype == np.float32 for a in workload.inputs.values())
