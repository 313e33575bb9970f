"""The benchmark of choices: all contestants compute the same, and what is measured is there. Nothing is asserted of times."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import tilewright as tw

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import vendor  # noqa: E402
import vendor_tables  # noqa: E402


pytestmark = pytest.mark.usefixtures("threads_as_before")


def require_onednn():
    try:
        tw._core.codegen_version("onednn")
    except tw.error.UserError:
        pytest.skip("onednn is not installed")


def test_networks_all_ours_all_the_vendors_and_as_measured(tmp_path):
    require_onednn()
    options = SimpleNamespace(network="mlp", threads=[1, 2], log=str(tmp_path / "log.db"), repetitions=2, seconds=0.001)
    result = vendor.contest(options)
    assert result["facts"]["wrong"] == []
    assert {m["name"] for m in result["measurements"]} == {f"mlp/{way}/run/{t}" for way in vendor_tables.WAYS for t in (1, 2)}
    assert {key: len(made["regions"]) for key, made in result["facts"]["choices"].items()} == {"mlp/1": 1, "mlp/2": 1}
    assert all(0 < ratio for ratio in vendor_tables.network_ratios(result).values())
    assert [t.title for t in vendor_tables.of_vendor(result)] == [
        "Choices in networks, 1 thread", "Choices in networks, 2 threads", "Choices of mlp, 1 thread", "Choices of mlp, 2 threads"]


def test_a_partition_of_as_many_nodes_as_asked_for():
    (measured,) = vendor.partition(SimpleNamespace(nodes=100, repetitions=2))["measurements"]
    assert 100 <= measured["labels"]["nodes"] < 120 and len(measured["samples"]) == 2


def test_regions_compute_what_onednn_itself_does(tmp_path):
    program = ROOT / "build/release/bench/tilewright-bench"
    if not program.is_file():
        pytest.skip("the benchmark program is not built")
    require_onednn()
    worker = ROOT / "build/release/python/tilewright/tilewright-worker"
    path = tmp_path / "operators.json"
    command = [program, "vendor", "--repetitions=0", "--threads=1;2", f"--json={path}"]
    done = subprocess.run(command, env=os.environ | {"TILEWRIGHT_WORKER": str(worker)}, capture_output=True, text=True)
    if "without oneDNN" in done.stderr:
        pytest.skip("the benchmark program is without oneDNN")
    assert done.returncode == 0, done.stderr
    result = json.loads(path.read_text())
    assert result["facts"]["wrong"] == [] and len(result["measurements"]) >= 2 * 2 * 13
