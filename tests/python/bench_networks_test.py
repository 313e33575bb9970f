"""The benchmark of networks: contestants compute the same, and what is measured is there. Nothing is asserted of times."""

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
import networks  # noqa: E402
import tables  # noqa: E402

pytestmark = pytest.mark.usefixtures("threads_as_before")


@pytest.fixture
def options(tmp_path):
    found = SimpleNamespace(
        network="mlp", folder=str(tmp_path), threads=[1], log=None, resume=0, trials=1, contestant=None, repetitions=2, seconds=0.001)
    networks.export(found)
    return found


def names(result):
    return {m["name"] for m in result["measurements"]}


def test_all_take_part_and_compute_the_same(options):
    options.threads = [1, 2]
    result = networks.contest(options)
    assert result["facts"]["wrong"] == []
    assert names(result) == {
        *(f"mlp/{who}/run/{threads}" for who in ("onnxruntime", "untuned") for threads in (1, 2)),
        *(f"mlp/untuned/overhead/{threads}" for threads in (1, 2)),
    }
    runs = tables.of_network(result, "run")
    assert all(len(m["samples"]) == options.repetitions for by_name in runs.values() for m in by_name.values())


def test_networks_of_bytes_take_part(options):
    pytest.importorskip("onnxruntime.quantization")
    options.network = "mlp-int8"
    networks.export(options)
    result = networks.contest(options)
    assert result["facts"]["wrong"] == []
    assert "mlp-int8/untuned/run/1" in names(result)
    network = networks.network_of(options)
    assert {str(array.dtype) for array in network.params.values()} >= {"int8", "int32"}


def test_kernels_are_told_from_nodes_of_the_same_names(options):
    kernels = networks.contest(options)["facts"]["kernels"]
    theirs = kernels["mlp/onnxruntime/1"]
    assert {"fc1", "fc3", "softmax"} <= theirs.keys() and min(theirs.values()) >= 0
    computed = [node for kernel in kernels["mlp/untuned/1"] for node in kernel["nodes"]]
    assert {"fc1", "relu1", "fc3", "softmax"} <= set(computed)


@pytest.mark.parametrize("wrong", [lambda output: output + 1e-3 * output.max(), lambda output: output * np.nan])
def test_what_computes_something_else_is_named_and_not_timed(options, monkeypatch, wrong):
    right = networks.Ours.output
    monkeypatch.setattr(networks.Ours, "output", lambda self: wrong(right(self)))
    result = networks.contest(options)
    assert names(result) == {"mlp/onnxruntime/run/1"}
    (named,) = result["facts"]["wrong"]
    assert named["name"] == "mlp/untuned/1"


def test_a_log_is_tuned_and_used(options, tmp_path):
    options.log = str(tmp_path / "log.db")
    (tuning,) = networks.tune(options)["facts"]["tunings"]
    assert tuning["trials"] >= tuning["tasks"] > 0
    result = networks.contest(options)
    assert "mlp/tuned/run/1" in names(result) and result["facts"]["not_in_log"] == {"mlp/1": []}
    options.threads = [2]
    assert networks.contest(options)["facts"]["not_in_log"]["mlp/2"], "the log is of one thread"


def test_each_in_a_process_of_its_own(options):
    for who in ("untuned", "loaded", "onnxruntime"):
        options.contestant = who
        result = networks.fresh(options)
        assert names(result) == {f"mlp/{who}/{what}/1" for what in ("build", "resident", "peak")}
        assert all(m["samples"][0] > 0 for m in result["measurements"])


def test_first_answers(options):
    options.repetitions = 2
    (found,) = networks.start(options)["measurements"]
    assert found["name"] == "mlp/loaded/first answer/1" and len(found["samples"]) == 2 and min(found["samples"]) > 0
