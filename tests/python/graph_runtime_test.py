"""Deployed networks: running, parameters, profiles, exported directories."""

import io
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time

import ml_dtypes
import numpy as np
import pytest

import tilewright as tw
from tilewright import te
from tilewright.contrib import graph_runtime

N, M = 4, 8


def build():
    """add: C = A + B by rows; twice: D = 2A."""
    A = te.placeholder((N, M), name="A")
    B = te.placeholder((M,), name="B")
    C = te.compute((N, M), lambda i, j: A[i, j] + B[j], name="C")
    D = te.compute((N, M), lambda i, j: A[i, j] * 2.0, name="D")
    kernels = [("add", [A, B, C]), ("twice", [A, D])]
    return tw.build([tw.lower(te.create_schedule(args[-1].op), args, name=name) for name, args in kernels])


def variable(name):
    return {"op": "null", "name": name, "inputs": []}


def call(name, function, inputs):
    attributes = {"func_name": function, "num_inputs": str(len(inputs)), "num_outputs": "1", "flatten_data": "0"}
    return {"op": "tvm_op", "name": name, "inputs": [[k, 0, 0] for k in inputs], "attrs": attributes}


def plan():
    """y = 2 (x + bias)"""
    return json.dumps({
        "nodes": [variable("x"), variable("bias"), call("sum", "add", [0, 1]), call("y", "twice", [2])],
        "arg_nodes": [0, 1], "node_row_ptr": [0, 1, 2, 3, 4], "heads": [[3, 0, 0]],
        "attrs": {"shape": ["list_shape", [[N, M], [M], [N, M], [N, M]]], "dltype": ["list_str", ["float32"] * 4],
                  "storage_id": ["list_int", [0, 1, 2, 2]]}})


@pytest.fixture(scope="module")
def lib():
    return build()


X = np.arange(N * M, dtype="float32").reshape(N, M)
BIAS = np.linspace(0, 1, M, dtype="float32")


@pytest.fixture
def module(lib):
    return graph_runtime.create(plan(), lib, tw.cpu(), {"bias": BIAS})


def output(module):
    return module.get_output(0).numpy()


def code_of(function, *arguments, **named):
    with pytest.raises(tw.UserError) as info:
        function(*arguments, **named)
    return info.value.code


def test_runs_as_numpy_does(module):
    module.run(x=X)
    np.testing.assert_allclose(output(module), 2 * (X + BIAS))
    module.set_input("x", -X)
    module["run"]()
    np.testing.assert_allclose(output(module), 2 * (BIAS - X))
    assert (module.get_num_inputs(), module.get_num_outputs()) == (2, 1)
    assert (module.input_names, module.output_names) == (["x", "bias"], ["y"])
    out = np.zeros((N, M), "float32")
    assert module.get_output(0, out) is out
    np.testing.assert_allclose(out, 2 * (BIAS - X))
    # TVM's way of setting an input.
    module.get_input("x").copyfrom(X)
    module.run()
    np.testing.assert_allclose(output(module), 2 * (X + BIAS))
    assert "2 inputs" in repr(module)


def test_a_graph_is_taken_too(lib):
    class Graph:
        def json(self):
            return plan()

    module = graph_runtime.create(Graph(), lib)
    module.run(x=X, bias=BIAS)
    np.testing.assert_allclose(output(module), 2 * (X + BIAS))


def test_values_of_every_kind(module):
    module.set_input(1, list(range(M)))
    module.set_input(0, X[::-1].T.copy().T)  # in another order
    module.run()
    np.testing.assert_allclose(output(module), 2 * (X[::-1] + np.arange(M)))
    assert code_of(module.set_input, "x", X.astype("float64")) == "argument-dtype"
    assert code_of(module.set_input, "x", X[:2]) == "argument-shape"
    assert code_of(module.set_input, 7, X) == "bad-argument"
    with pytest.raises(tw.UserError, match="no input 'bais'; the nearest is 'bias'"):
        module.run(bais=BIAS)
    assert code_of(module.get_output, 1) == "bad-argument"
    assert code_of(lambda: module["walk"]) == "unknown-function"


def test_a_graph_without_kernels():
    graph = json.dumps({"nodes": [variable("x")], "arg_nodes": [0], "node_row_ptr": [0, 1], "heads": [[0, 0, 0]],
                        "attrs": {"shape": ["list_shape", [[N, M]]], "dltype": ["list_str", ["float32"]],
                                  "storage_id": ["list_int", [0]]}})
    module = graph_runtime.create(graph, None)
    module.run(x=X)
    np.testing.assert_array_equal(output(module), X)
    assert code_of(graph_runtime.create, plan(), None) == "unknown-function"


def test_an_input_without_a_value(lib):
    module = graph_runtime.create(plan(), lib)
    with pytest.raises(tw.UserError, match="input 'x' has no value") as info:
        module.run(bias=BIAS)
    assert info.value.code == "argument-null"


def test_memory_is_shared(module):
    x = X.copy()
    module.set_input_zero_copy("x", x)
    x[0, 0] = 100
    module.run()
    assert output(module)[0, 0] == 200
    assert code_of(module.set_input_zero_copy, "x", X.T.copy().T) == "argument-strides"
    assert code_of(module.set_input_zero_copy, "x", module.get_output(0)) == "argument-overlap"
    view = np.from_dlpack(module.get_output(0))
    del module
    assert view[0, 0] == 200
    module = None  # the output outlives what wrote it


def test_parameters_are_held_once(lib):
    bias = BIAS.copy()
    one = graph_runtime.create(plan(), lib, params={"bias": bias})
    two = one.clone()
    assert one.get_input("bias").data_ptr == two.get_input("bias").data_ptr == bias.ctypes.data
    assert one.get_input("bias").read_only
    two.set_input("bias", 0 * BIAS)  # its own from now on
    one.run(x=X)
    two.run(x=X)
    np.testing.assert_allclose(output(one), 2 * (X + BIAS))
    np.testing.assert_allclose(output(two), 2 * X)


def test_parameters_as_bytes(lib):
    params = {"bias": BIAS, "odd": np.arange(12, dtype="int8").reshape(3, 4)[:, ::2], "half": np.ones(3, ml_dtypes.bfloat16),
              "ours": tw.nd.array(X), "none": np.zeros((0, 3), "float64"), "number": np.float32(3)}
    data = graph_runtime.save_param_dict(params)
    assert isinstance(data, bytes)
    back = graph_runtime.load_param_dict(data)
    assert list(back) == list(params)
    for name, value in params.items():
        value = value if isinstance(value, np.generic | np.ndarray) else value.numpy()
        assert back[name].dtype == str(value.dtype)
        np.testing.assert_array_equal(back[name].numpy(), value)
    for bad in (b"", data[:-1], data[:100], b"x" + data, data[:-70] + b"?" + data[-69:]):
        assert code_of(graph_runtime.load_param_dict, bad) == "bad-parameters"
    module = graph_runtime.create(plan(), lib)
    data = graph_runtime.save_param_dict({"bias": BIAS})
    module.load_params(data)
    module.run(x=X)
    np.testing.assert_allclose(output(module), 2 * (X + BIAS))
    other = graph_runtime.create(plan(), lib)
    other.share_params(module, data)
    assert other.get_input("bias").data_ptr == module.get_input("bias").data_ptr


def test_bad_plans_name_the_node(lib):
    for change, code, text in [
        (lambda g: g["nodes"][3]["attrs"].update(func_name="thrice"), "unknown-function", "node 'y'"),
        (lambda g: g["nodes"][2].update(inputs=[[0, 0, 0], [9, 0, 0]]), "bad-graph", "node 2 'sum'"),
        (lambda g: g["attrs"]["shape"][1].__setitem__(1, [M + 1]), "shape-conflict", "'sum'.*'B' of shape"),
        (lambda g: g["attrs"]["dltype"][1].__setitem__(1, "int32"), "type-conflict", "'sum'"),
        (lambda g: g.pop("heads"), "bad-graph", "heads"),
    ]:
        graph = json.loads(plan())
        change(graph)
        with pytest.raises(tw.UserError, match=text) as info:
            graph_runtime.create(json.dumps(graph), lib)
        assert info.value.code == code
    assert code_of(graph_runtime.create, plan(), lib, "gpu") == "argument-device"


def test_memory_is_given_back_at_once(lib):
    value = X.copy()
    module = graph_runtime.create(plan(), lib, params={"bias": BIAS})
    module.set_input_zero_copy("x", value)
    module["run"]()
    held = sys.getrefcount(value)
    del module  # no cycle waits for the collector
    assert sys.getrefcount(value) == held - 1


def test_instances_on_threads(module):
    def work(value):
        mine = module.clone()
        for _ in range(50):
            mine.run(x=np.full((N, M), value, "float32"))
            np.testing.assert_allclose(output(mine), np.broadcast_to(2 * (value + BIAS), (N, M)), rtol=1e-6)
        done.append(value)

    done = []
    threads = [threading.Thread(target=work, args=(v,)) for v in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(done) == [1, 2]


def test_timing(module):
    module.set_input("x", X)
    assert len(module.benchmark(repeat=3, number=2).results) == 3
    assert len(module.module.time_evaluator("run", tw.cpu(), number=2, repeat=4)().results) == 4
    assert code_of(module.time_evaluator, "walk") == "bad-argument"


def test_profile(module, tmp_path, monkeypatch):
    profile = module.profile(5, x=X)
    assert [(k.name, k.function, len(k.seconds)) for k in profile.kernels] == [("sum", "add", 5), ("y", "twice", 5)]
    assert profile.kernels[1].bytes_in == profile.kernels[1].bytes_out == 4 * N * M
    assert 0 <= profile.overhead <= profile.mean
    assert min(k.mean for k in profile.kernels) >= 0
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr(sys, "stdout", io.StringIO())  # a pipe, not a terminal
    text = str(profile)
    monkeypatch.undo()
    assert all(len(line) <= 80 for line in text.splitlines()), text
    for word in ("sum", "twice", "share", "shortest", "GB/s", "between kernels", "run (5 times)", "100 %"):
        assert word in text, text
    profile.kernels[0] = profile.kernels[0]._replace(name="fuse_" * 30)
    assert all(len(line) <= 60 for line in profile.table(60).splitlines())
    assert "…" not in profile.table(60)  # folded, not cut off
    profile.kernels[0] = profile.kernels[0]._replace(name="a[b] :cat:")  # which means something to rich
    assert "a[b] :cat:" in profile.table(80)

    profile.save_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    runs = [e for e in events if e.get("cat") == "run"]
    kernels = [e for e in events if e.get("cat") == "kernel"]
    assert (len(runs), len(kernels)) == (5, 10)
    for e in kernels:  # each inside its run
        assert any(r["ts"] <= e["ts"] and e["ts"] + e["dur"] <= r["ts"] + r["dur"] + 1e-3 for r in runs)
    profile.save_svg(tmp_path / "profile.svg")
    profile.save_png(tmp_path / "profile.png")
    assert "<svg" in (tmp_path / "profile.svg").read_text()
    assert (tmp_path / "profile.png").read_bytes().startswith(b"\x89PNG")


def test_importing_is_cheap():
    code = "import sys, tilewright.contrib.graph_runtime; print(*{'numpy', 'rich', 'matplotlib'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == ""


def test_an_exported_directory(module, lib, tmp_path):
    module.export(tmp_path / "net")
    loaded = graph_runtime.load(tmp_path / "net", verify=True)
    assert loaded.get_input("bias").read_only
    loaded.run(x=X)
    np.testing.assert_allclose(output(loaded), 2 * (X + BIAS))
    # In the place of the first, with other parameters; who has the first keeps it.
    module.export(tmp_path / "net", params={"bias": 0 * BIAS})
    fresh = graph_runtime.load(tmp_path / "net")
    fresh.run(x=X)
    np.testing.assert_allclose(output(fresh), 2 * X)
    loaded.run(x=X)
    np.testing.assert_allclose(output(loaded), 2 * (X + BIAS))
    graph_runtime.export(tmp_path / "other", plan(), lib, {})
    assert not graph_runtime.load(tmp_path / "other")._executor.is_set(1)
    assert sorted(os.listdir(tmp_path)) == ["net", "other"]


def test_damaged_directories(module, tmp_path):
    codes = {"graph.json": "bad-graph", "graph.params": "bad-parameters", "model.so": "module-load"}
    module.export(tmp_path / "net")
    module.export(tmp_path / "other", params={"bias": 0 * BIAS})
    assert set(os.listdir(tmp_path / "net")) == set(codes)
    for name, code in codes.items():
        path = tmp_path / "net" / name
        good = path.read_bytes()
        for bad in (None, good[: len(good) // 2], b"", (tmp_path / "other" / name).read_bytes()):
            path.unlink(missing_ok=True)
            if bad is not None:
                path.write_bytes(bad)
            if bad == good:
                continue
            with pytest.raises(tw.UserError) as info:
                graph_runtime.load(tmp_path / "net")
            assert "\n" not in str(info.value)
            # Another plan says that the parameters are not its own.
            assert info.value.code == code or name == "graph.json" and info.value.code == "bad-parameters"
        path.unlink(missing_ok=True)
        path.write_bytes(good)
    graph_runtime.load(tmp_path / "net").run(x=X)


EXPORTER = """
import sys
sys.path.insert(0, {tests!r})
import numpy as np
from graph_runtime_test import M, build, graph_runtime, plan
lib = build()
bias = [np.full(M, value, "float32") for value in (1, 2)]
for k in range(10**9):
    graph_runtime.export(sys.argv[1], plan(), lib, {{"bias": bias[k % 2]}})
    print(k, flush=True)
"""


def test_the_end_of_the_exporter_leaves_a_whole_directory(tmp_path):
    code = EXPORTER.format(tests=os.path.dirname(__file__))
    chance = random.Random(1)
    for _ in range(3):
        process = subprocess.Popen([sys.executable, "-c", code, tmp_path / "net"], stdout=subprocess.PIPE)
        process.stdout.readline()  # one is there
        for _ in range(50):  # who loads meanwhile finds one or the other
            check_whole(tmp_path / "net")
        time.sleep(chance.random() / 20)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        check_whole(tmp_path / "net")


def check_whole(directory):
    module = graph_runtime.load(directory, verify=True)
    module.run(x=X)
    (value,) = set(module.get_input("bias").numpy())
    assert value in (1, 2)
    np.testing.assert_allclose(output(module), 2 * (X + value))
