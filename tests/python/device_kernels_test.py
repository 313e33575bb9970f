# SPDX-License-Identifier: Apache-2.0
"""What blocks and threads run, as kernels that the lowered function launches."""

import numpy as np

import tilewright as tw
from tilewright import te


def blocks(n, constant=False):
    A = te.placeholder((n, 8), name="A")
    W = te.placeholder((8,), name="W", constant=constant)
    B = te.compute((n, 8), lambda i, j: A[i, 7 - j] * W[j], name="B")
    C = te.compute((n, 8), lambda i, j: B[i, j] + A[i, j], name="C")
    s = te.create_schedule(C.op)
    for tensor in (B, C):
        s[tensor].bind(tensor.op.axis[0], te.thread_axis("blockIdx.x"))
        s[tensor].bind(tensor.op.axis[1], te.thread_axis("threadIdx.x"))
    return s, A, W, C


def expected(a, w):
    return a[:, ::-1] * w + a


def test_lowered_functions_hold_them():
    s, A, W, C = blocks(6)
    f = tw.lower(s, [A, W, C], name="f")
    assert [d.name for d in f.devices] == ["f_kernel0", "f_kernel1"]
    assert [(name, written) for name, _, _, written in f.devices[0].args] == [("B", True), ("A", False), ("W", False)]
    assert 'launch("f_kernel0", B, A, W, thread_extent("blockIdx.x", 6), thread_extent("threadIdx.x", 8))' in str(f)
    assert "// device kernel f_kernel1(" in str(f)
    simple = tw.lower(s, [A, W, C], simple_mode=True)
    assert simple.devices == [] and "launch" not in str(simple)
    with tw.transform.PassContext(disabled_pass=["split_host_device"]):
        whole = tw.lower(s, [A, W, C], name="f")
    assert whole.devices == [] and whole.ir_hash() != f.ir_hash()


def test_they_run_for_any_extent_and_from_a_library(tmp_path):
    n = te.var("n")
    s, A, W, C = blocks(n)
    built = tw.build(s, [A, W, C], name="f")
    built.export_library(str(tmp_path / "f.so"))
    w = np.arange(8, dtype="float32")
    for f in (built, tw.runtime.load_module(str(tmp_path / "f.so"))):
        for rows in (1, 5, 64):
            a, c = np.random.rand(rows, 8).astype("float32"), np.zeros((rows, 8), "float32")
            f["f"](a, w, c)
            np.testing.assert_allclose(c, expected(a, w), rtol=1e-6)


def test_constants_reach_them():
    s, A, W, C = blocks(5, constant=True)
    w, a, c = np.arange(8, dtype="float32"), np.random.rand(5, 8).astype("float32"), np.zeros((5, 8), "float32")
    tw.build(s, [A, C], constants={W: w})(a, c)
    np.testing.assert_allclose(c, expected(a, w), rtol=1e-6)


def test_functions_of_one_module():
    def function(name):
        s, A, W, C = blocks(4)
        return tw.lower(s, [A, W, C], name=name)

    module = tw.build([function("f"), function("g")])
    w, a = np.ones(8, "float32"), np.random.rand(4, 8).astype("float32")
    for name in ("f", "g"):
        c = np.zeros((4, 8), "float32")
        module[name](a, w, c)
        np.testing.assert_allclose(c, expected(a, w), rtol=1e-6)
