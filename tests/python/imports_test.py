"""Other libraries in the same process: wheels that bring their own LLVM, protobuf or XGBoost, in either order."""

import importlib.util
import subprocess
import sys

import pytest

OURS = """
import numpy
import tilewright as tw
from tilewright import te
A = te.placeholder((8,), name="A")
B = te.compute((8,), lambda i: te.exp(A[i]), name="B")
s = te.create_schedule(B.op)
s[B].parallel(B.op.axis[0])
b = numpy.zeros(8, "float32")
tw.build(s, [A, B])(numpy.zeros(8, "float32"), b)
assert (b == 1).all()
space = tw.autotune.make_task("gemm:m=8,n=8,k=8")
"""

THEIRS = {
    "onnx": """
import onnx.helper, onnx.checker
node = onnx.helper.make_node("Relu", ["x"], ["y"])
x = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1])
y = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1])
model = onnx.helper.make_model(onnx.helper.make_graph([node], "g", [x], [y]))
onnx.checker.check_model(model)
""",
    "onnxruntime": """
import numpy, onnx.helper, onnxruntime
x, y = (onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [64]) for name in "xy")
graph = onnx.helper.make_graph([onnx.helper.make_node("Exp", ["x"], ["y"])], "g", [x], [y])
model = onnx.helper.make_model(graph, ir_version=8, opset_imports=[onnx.helper.make_opsetid("", 18)])
(y,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": numpy.zeros(64, "float32")})
assert (y == 1).all()
""",
    "xgboost": """
import numpy, xgboost
data = xgboost.DMatrix(numpy.random.rand(32, 4), label=numpy.random.rand(32))
xgboost.train({"max_depth": 2, "nthread": 1}, data, 3).predict(data)
""",
    "torch": """
import torch
assert float((torch.ones(4, 4) @ torch.ones(4, 4)).sum()) == 64
""",
}

# Our cost model uses the XGBoost of the system, theirs the one of the wheel.
TUNE = """
import os, tempfile
with tempfile.TemporaryDirectory() as folder:
    report = tw.autotune.tune("gemm:m=16,n=16,k=16", os.path.join(folder, "t.db"), trials=4, batch=2, threads=1, workers=1)
    assert report.tasks[0].trials == 4
"""


def run(script):
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("order", ["before", "after"])
@pytest.mark.parametrize("library", THEIRS)
def test_a_library_imported_beside_us(library, order):
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    theirs = THEIRS[library]
    script = theirs + OURS + theirs if order == "before" else OURS + theirs + OURS
    run(script + (TUNE if library == "xgboost" else ""))


def test_import_is_cheap():
    """Nothing that scripts may not need is loaded: neither NumPy nor what the command line draws with."""
    run(
        "import sys, tilewright\n"
        "heavy = {'numpy', 'rich', 'matplotlib', 'jinja2', 'ml_dtypes', 'argparse'} & set(sys.modules)\n"
        "assert not heavy, heavy\n")


def test_symbols_are_hidden():
    """Of the extension module nothing is visible but its entry point."""
    from tilewright import _core

    names = subprocess.run(["nm", "-D", "--defined-only", _core.__file__], capture_output=True, text=True)
    if names.returncode != 0:
        pytest.skip("nm is missing")
    visible = [line.split()[-1] for line in names.stdout.splitlines()]
    assert [name for name in visible if not name.startswith("PyInit_")] == []
