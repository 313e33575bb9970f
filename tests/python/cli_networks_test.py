"""The command `autotune` and networks, and tasks of networks from Python."""

import io
import json
import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import tilewright as tw
import tilewright.compiler
import tilewright.symbol as sym
from tilewright import autotune
from tilewright.autotune import network
from tilewright.cli import networks
from tilewright.contrib import graph_runtime
from tilewright.testing import zoo

ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "TILEWRIGHT_DEBUG"}


def run(*arguments, cwd):
    words = [sys.executable, "-m", "tilewright.cli", *arguments, "--threads=1"]
    return subprocess.run(words, cwd=cwd, capture_output=True, text=True, env=ENVIRONMENT)


def test_a_network_is_tuned_and_timed_before_and_after(tmp_path):
    result = run("mlp", "--trials=5", "--json=result.json", cwd=tmp_path)
    assert result.returncode == 0, result
    value = json.loads((tmp_path / "result.json").read_text())
    labels = [task["workload"] for task in value["tasks"]]
    assert labels == ["mlp/fuse_dense_relu", "mlp/fuse_dense_relu_1", "mlp/fuse_dense", "mlp/fuse_softmax"]
    (timed,) = value["networks"]
    assert timed["network"] == "mlp" and timed["seconds"] > 0 and timed["untuned_seconds"] > 0
    assert {row["workload"] for row in timed["kernels"]} == {task["id"] for task in value["tasks"]}
    assert all(row["seconds"] > 0 for row in timed["kernels"])
    assert timed["faster_interval"][0] <= timed["faster"] <= timed["faster_interval"][1]
    assert "the network" in result.stdout and "replay: " in result.stdout
    assert value["replay"].endswith("--replay mlp --threads 1 --log tuning.db")

    again = run("--replay", "mlp", cwd=tmp_path)
    assert again.returncode == 0 and again.stdout.count("same") == 4
    one = run("--replay", "mlp/fuse_dense", cwd=tmp_path)
    assert one.returncode == 0 and one.stdout.count("same") == 1
    # Another level has other kernels, which its own command tunes.
    other = run("mlp", "--opt-level=0", "--trials=9", "--json=other.json", cwd=tmp_path)
    found = json.loads((tmp_path / "other.json").read_text())
    assert other.returncode == 0 and len(found["tasks"]) > 4 and "--opt-level 0" in found["replay"]
    # The build finds the records.
    symbol, params = zoo.get("mlp")
    with autotune.apply_best(tmp_path / "tuning.db", threads=1), tw.compiler.build_config(opt_level=3), tw.Target("llvm"):
        *_, kernels = tw.compiler.build_module.build_kernels(symbol, {"data": (1, 1, 28, 28)}, "float32", params)
    assert [k.origin for k in kernels] == ["record"] * 4


def test_an_onnx_model(tmp_path):
    onnx = pytest.importorskip("onnx")
    from tilewright.contrib import onnx_export

    x = sym.Variable("x")
    net = sym.relu(sym.dense(x, units=16, name="first"))
    params = {"first_weight": np.ones((16, 32), "float32"), "first_bias": np.ones(16, "float32")}
    model = onnx_export.to_onnx(net, params, {"x": (4, 32)})
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    onnx.save(model, tmp_path / "model.onnx")

    result = run("model.onnx:batch=4", "--trials=2", "--json=result.json", cwd=tmp_path)
    assert result.returncode == 0, result
    assert "model.onnx:batch=4/fuse_dense_relu" in result.stdout
    (timed,) = json.loads((tmp_path / "result.json").read_text())["networks"]
    assert timed["seconds"] > 0
    open_extent = run("model.onnx", "--trials=2", cwd=tmp_path)
    assert open_extent.returncode == 2 and "leaves open batch" in open_extent.stderr and "model.onnx:batch=1" in open_extent.stderr
    assert run("missing.onnx", "--trials=2", cwd=tmp_path).returncode == 2
    loaded = network.load_network(f"{tmp_path}/model.onnx:batch=2")
    assert loaded.shape == {"x": (2, 32)} and set(loaded.params) == set(params)


def test_a_network_in_a_file(tmp_path):
    x = sym.Variable("x", shape=(4, 32))
    z = sym.relu(sym.dense(x, units=16, name="first"))
    tw.graph.create(sym.dense(z, units=16, name="second")).save_json(tmp_path / "network.json")
    loaded = network.load_network(str(tmp_path / "network.json"))
    assert loaded.shape == {"x": (4, 32)}
    assert {name: value.shape for name, value in loaded.params.items()} == {
        "first_weight": (16, 32), "first_bias": (16,), "second_weight": (16, 16), "second_bias": (16,)}
    result = run("network.json", "--trials=2", cwd=tmp_path)
    assert result.returncode == 0, result
    assert "network.json/fuse_dense_relu" in result.stdout


@pytest.mark.parametrize(("arguments", "said"), [
    (["mpl"], "there is no network 'mpl'; the nearest is 'mlp'"),
    (["resnt18/fuse_dense"], "there is no network 'resnt18'; the nearest is 'resnet18'"),
    (["resnet50.3"], "the nearest is 'conv2d_bias_relu:resnet50.3'"),
    (["mlp/fuse_dens"], "'mlp' has no kernel 'fuse_dens'; the nearest is 'mlp/fuse_dense'"),
    (["nowhere.json"], "cannot read 'nowhere.json'"),
    (["broken.json"], "in 'broken.json': this is no JSON; legal"),
    (["shapeless.json"], "in 'shapeless.json': the shape of 'x' is unknown"),
])
def test_bad_networks(tmp_path, arguments, said):
    (tmp_path / "broken.json").write_text('{"nodes": [')
    tw.graph.create(sym.relu(sym.Variable("x"))).save_json(tmp_path / "shapeless.json")
    result = run(*arguments, "--trials=1", cwd=tmp_path)
    assert result.returncode == 2 and said in result.stderr, result
    assert "Traceback" not in result.stderr and result.stderr.count("\n") == 1


def test_kernels_that_were_not_tried(tmp_path):
    result = run("mlp", "--trials=1", cwd=tmp_path)
    assert result.returncode == 1 and "3 of 4 were not tried, and have no verified schedule\n" in result.stdout
    assert "the network" in result.stdout


def test_equal_kernels_are_one_task_that_counts_more():
    x = sym.Variable("x")
    z = x
    for k in range(3):
        z = sym.relu(sym.dense(z, units=32, name=f"layer{k}"))
    shapes, _ = tw.compiler.graph_util.infer_shape(tw.graph.create(z), x=(8, 32))
    names = tw.graph.create(z).index.input_names
    params = {n: np.ones(s, "float32") for n, s in zip(names, shapes, strict=True) if n != "x"}
    tasks, weights = autotune.extract_tasks(z, params, shape={"x": (8, 32)}, threads=1)
    assert [task.name for task in tasks] == ["fuse_dense_relu"] and weights == [3]
    # Without values, weights are packed in each run: another kernel.
    others, _ = autotune.extract_tasks(z, shape={"x": (8, 32)}, threads=1)
    assert others[0].workload != tasks[0].workload
    assert (tasks[0].caches, others[0].caches) == ("cold-constants", "hot")  # of no constants none is cold
    (alone,), _ = autotune.extract_tasks(z, params, shape={"x": (8, 32)}, threads=1, caches="hot")
    assert (alone.caches, alone.workload) == ("hot", tasks[0].workload)


def test_one_line_says_what_is_untuned(tmp_path, caplog):
    symbol, params = zoo.get("mlp")
    autotune.tune(["gemm:m=8,n=8,k=8"], tmp_path / "other.db", trials=1, threads=1)
    with autotune.apply_best(tmp_path / "other.db", threads=1):
        graph, lib, params = tw.compiler.build(symbol, shape={"data": (1, 1, 28, 28)}, params=params)
    (line,) = caplog.messages
    assert line.startswith("4 of 4 kernels are not in") and "autotune NETWORK --trials=N --opt-level=2 --log=" in line
    caplog.clear()
    with tw.compiler.build_config(opt_level=1):
        tw.compiler.build(symbol, shape={"data": (1, 1, 28, 28)}, params=zoo.get("mlp")[1])
    assert caplog.messages[0].endswith("kernels have the prior's schedules: autotune NETWORK --trials=N --opt-level=1, then build in autotune.apply_best('tuning.db')")
    module = graph_runtime.create(graph, lib, params=params)
    module.run(data=np.zeros((1, 1, 28, 28), "float32"))
    np.testing.assert_allclose(module.get_output(0).numpy().sum(), 1, rtol=1e-5)


class Scripted:
    """Stands for a build of a network whose runs take what a list says."""

    def __init__(self, seconds):
        self.kernels, self.runs, self._left = {}, [], list(seconds)

    def run(self):
        self.runs.append(self._left.pop(0))
        return self.runs[-1]

    @property
    def seconds(self):
        return sorted(self.runs)[len(self.runs) // 2]


@pytest.mark.parametrize("speed, scatters", [(lambda k: 1.0, False), (lambda k: 1.0 if k % 2 else 3.0, True)])
def test_who_is_faster_is_told_by_pairs_of_runs(speed, scatters):
    # Whatever disturbs the machine disturbs both runs of a round.
    disturbed = [10.0 if k % 3 == 0 else 1.0 for k in range(1000)]
    before = Scripted([2 * d for d in disturbed])
    after = Scripted([d / speed(k) for k, d in enumerate(disturbed)])
    networks.take_turns(before, after)
    result = networks._result(SimpleNamespace(name="net"), before, after)
    assert len(before.runs) == len(after.runs) >= networks.LEAST_ROUNDS
    low, high = result["faster_interval"]
    assert (low, result["faster"], high) == (2, 2, 2) or (scatters and low == 2 and high == 6)
    stream = io.StringIO()
    networks.print_network(result, stream)
    assert ("Its timings scatter: with 95 % the network is 2.00 to 6.00 times as fast." in stream.getvalue()) == scatters
