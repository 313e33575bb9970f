"""Exported networks from Python with the runtime library alone."""

import json
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import tilewright as tw
import tilewright.symbol as sym
import tilewright_runtime as runtime

X = np.linspace(-1, 1, 12, dtype="float32").reshape(3, 4)
W = np.linspace(0, 1, 20, dtype="float32").reshape(5, 4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """y = tanh(x Wᵀ), and how often each of the bytes stands before it."""
    x = sym.Variable("x", shape=X.shape, dtype="float32")
    y = sym.tanh(sym.dense(x, sym.Variable("w"), units=5, use_bias=False))
    bytes_of = sym.Variable("bytes", shape=(4,), dtype="uint8")
    half = sym.Variable("half", shape=(2, 2), dtype="float16")
    net = sym.Group([y, bytes_of + 1, half * 2])
    graph, lib, params = tw.compiler.build(net, "llvm", params={"w": W})
    folder = tmp_path_factory.mktemp("exported") / "net"
    tw.contrib.graph_runtime.create(graph, lib, params=params).export(str(folder))
    return folder


def test_it_computes_what_the_executor_does(folder):
    module = runtime.load(folder)
    assert {"x", "bytes", "half"} <= set(module.input_names) and len(module.output_names) == 3
    assert module.input_info("x") == ((3, 4), "float32")
    module.set_input("x", X[:, ::-1])  # not contiguous
    module.set_input("bytes", bytes([1, 2, 3, 255]))
    module.set_input("half", np.float16([[1, 2], [3, 4]]))
    module.run()
    np.testing.assert_allclose(np.asarray(module.get_output(0)), np.tanh(X[:, ::-1] @ W.T), rtol=1e-6)
    assert module.get_output(1).tolist() == [2, 3, 4, 0]
    assert (np.asarray(module.get_output(2)).view("float16") == [[2, 4], [6, 8]]).all()
    readonly = X.copy()
    readonly.flags.writeable = False
    for value in (readonly, X.tobytes()):
        module.set_input("x", value)
        module.run()
        np.testing.assert_allclose(np.asarray(module.get_output(0)), np.tanh(X @ W.T), rtol=1e-6)


def test_an_output_outlives_its_module(folder):
    output = runtime.load(folder).clone().get_output(0)
    assert output.shape == (3, 5) and output.format == "f"


def test_wrong_uses(folder, tmp_path):
    module = runtime.load(folder)
    with pytest.raises(runtime.RuntimeFailure, match="no input 'y'; legal: .*x"):
        module.set_input("y", X)
    for value in (X.astype("float64"), X[:2], X.T, b"123"):
        with pytest.raises(runtime.RuntimeFailure, match=r"input 'x' is given as .* legal: float32 of shape \(3, 4\)"):
            module.set_input("x", value)
    with pytest.raises(runtime.RuntimeFailure, match="no output 7; legal: 0 to 2"):
        module.get_output(7)
    with pytest.raises(runtime.RuntimeFailure):
        runtime.load(tmp_path / "nothing")
    with pytest.raises(runtime.RuntimeFailure, match="0"):
        runtime.set_num_threads(0)


def test_nothing_else_is_imported(folder):
    script = textwrap.dedent(f"""
        import json, sys
        import tilewright_runtime as runtime
        module = runtime.load({str(folder)!r})
        module.set_input("x", bytes(48))
        module.set_input("bytes", bytes(4))
        module.set_input("half", bytes(8))
        module.run()
        print(json.dumps([module.get_output(0).tolist(), [name for name in ("numpy", "tilewright", "ml_dtypes") if name in sys.modules]]))
        """)
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert json.loads(found.stdout) == [[[0.0] * 5] * 3, []]
