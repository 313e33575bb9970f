"""Scripts as they were written for TVM 0.8, with other imports."""

import numpy
import pytest

import tilewright as tvm
import tilewright.testing
from tilewright import te, topi
from tilewright.topi.utils import get_const_int, get_const_tuple


def test_a_packed_matmul():
    M, K, N, bn, kfactor = 64, 48, 96, 32, 4
    target = "llvm"
    dev = tvm.device(target, 0)
    a = tvm.nd.array(numpy.random.rand(M, K).astype("float32"), dev)
    b = tvm.nd.array(numpy.random.rand(K, N).astype("float32"), dev)
    answer = numpy.dot(a.numpy(), b.numpy())

    k = te.reduce_axis((0, K), "k")
    A = te.placeholder((M, K), name="A")
    B = te.placeholder((K, N), name="B")
    packedB = te.compute(
        (N / bn, K, bn), lambda bigN, k, littleN: B[k, bigN * bn + littleN], name="packedB"
    )
    C = te.compute(
        (M, N),
        lambda m, n: te.sum(A[m, k] * packedB[n // bn, k, tvm.tir.indexmod(n, bn)], axis=k),
        name="C",
    )
    s = te.create_schedule(C.op)
    CC = s.cache_write(C, "global")
    mo, no, mi, ni = s[C].tile(C.op.axis[0], C.op.axis[1], bn, bn)
    s[CC].compute_at(s[C], no)
    mc, nc = s[CC].op.axis
    (kaxis,) = s[CC].op.reduce_axis
    ko, ki = s[CC].split(kaxis, factor=kfactor)
    s[CC].reorder(ko, mc, ki, nc)
    s[CC].vectorize(nc)
    s[CC].unroll(ki)
    s[C].parallel(mo)
    bigN, _, littleN = s[packedB].op.axis
    s[packedB].vectorize(littleN)
    s[packedB].parallel(bigN)
    func = tvm.build(s, [A, B, C], target=target, name="mmult")
    assert func
    c = tvm.nd.array(numpy.zeros((M, N), dtype="float32"), dev)
    func(a, b, c)
    tvm.testing.assert_allclose(c.numpy(), answer, rtol=1e-5)
    assert func.time_evaluator(func.entry_name, dev, number=1)(a, b, c).mean > 0
    assert "produce packedB" in str(tvm.lower(s, [A, B, C], simple_mode=True))


def test_a_prefetch():
    A = te.placeholder((64, 64), name="A")
    B = te.compute((64, 64), lambda i, j: A[i, j] + 1, name="B")
    s = te.create_schedule(B.op)
    s[B].prefetch(A, s[B].op.axis[0], 1)
    assert "prefetch(A[((i*64) + 64)]" in str(tvm.lower(s, [A, B], simple_mode=True))


def test_loops_are_shown_without_the_output_among_the_arguments():
    A = te.placeholder((te.var("n"), te.var("m")), name="A")
    C = topi.sum(A, axis=1)
    s = te.create_schedule(C.op)
    shown = str(tvm.lower(s, [A], simple_mode=True))
    assert shown == str(tvm.lower(s, [A, C], simple_mode=True))
    D = s.cache_write(C, "local")  # another operation now computes C
    assert "produce A_red.local" in str(tvm.lower(s, [A, C], simple_mode=True)), D
    with pytest.raises(tvm.UserError, match="output 'A_red' is not among the arguments"):
        tvm.build(s, [A])


def test_shapes_as_numbers():
    n = te.var("n")
    A = te.placeholder((4, 64 / 16, n), name="A")
    assert get_const_tuple(A.shape) == (4, 4, n)
    assert get_const_int(A.shape[0]) == 4 and get_const_int(7) == 7
    with pytest.raises(tvm.UserError, match="n is not a constant integer"):
        get_const_int(n)
    with pytest.raises(tvm.UserError) as info:
        te.placeholder((2.5,), name="A")
    assert info.value.code == "bad-shape"


def test_results_that_differ():
    tvm.testing.assert_allclose(numpy.ones(3), numpy.ones(3) + 1e-9)
    for wrong in (numpy.array([1, 1, 1.1]), numpy.ones(2), numpy.array([1, 1, numpy.nan])):
        with pytest.raises(AssertionError):
            tvm.testing.assert_allclose(numpy.ones(3), wrong, rtol=1e-3)


@pytest.mark.parametrize("name", ["cpu", "llvm", "llvm -mcpu=x86-64-v3"])
def test_devices(name):
    assert tvm.device(name, 0) == tvm.cpu()


@pytest.mark.parametrize("device", [("cuda", 0), ("cpu", 1), ("", 0), (1, 0)])
def test_devices_that_are_not_there(device):
    with pytest.raises(tvm.UserError) as info:
        tvm.device(*device)
    assert info.value.code == "argument-device"


def test_layouts():
    data, kernel = te.placeholder((1, 3, 8, 8)), te.placeholder((4, 3, 3, 3))
    assert get_const_tuple(topi.nn.conv2d(data, kernel, 1, 1, 1, layout="NCHW").shape) == (1, 4, 8, 8)
    with pytest.raises(tvm.UserError, match="unknown layout 'NHWC'"):
        topi.nn.conv2d(data, kernel, 1, 1, 1, layout="NHWC")


def test_the_outputs_of_one_operation_and_a_single_reader():
    A = te.placeholder((6, 4), name="A")
    P, Q = te.compute((6, 4), lambda i, j: (A[i, j] + 1.0, A[i, j] * 2.0), name="P")
    C = te.compute((6, 4), lambda i, j: P[i, j] + Q[i, j], name="C")
    s = te.create_schedule(C.op)
    copy = s.cache_read(A, "local", P)  # a tensor, where a list may stand
    assert copy.name == "A.local"
    assert s.cache_read(Q, "local", [C]).name == "P.v1.local"  # the second output, not the first
    s[C].prefetch(P, C.op.axis[0], 1)
    assert str(s.trace).count("value_index") == 1
    with pytest.raises(tvm.UserError, match="'C' does not read output 1; legal: P.v1.local"):
        s.cache_read(Q, "local", C)
    assert len(s.cache_write([P, Q], "local")) == 2
    for wrong in ([P, C], [], [A, None]):
        with pytest.raises(tvm.UserError, match="not of one operation"):
            s.cache_write(wrong, "local")


def test_a_stage_between_among_the_arguments():
    A = te.placeholder((4, 6), name="A")
    B = te.compute((4, 6), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute((4, 6), lambda i, j: B[i, j] * 2.0, name="C")
    s = te.create_schedule(C.op)
    s[B].compute_at(s[C], C.op.axis[0])
    a = numpy.random.rand(4, 6).astype("float32")
    b, c = tvm.nd.array(numpy.zeros_like(a)), tvm.nd.array(numpy.zeros_like(a))
    tvm.build(s, [A, B, C])(tvm.nd.array(a), b, c)
    tvm.testing.assert_allclose(b.numpy(), a + 1)
    tvm.testing.assert_allclose(c.numpy(), (a + 1) * 2, rtol=1e-6)
    for change, what in (
        (lambda stage: stage.compute_inline(), "'B' is computed inline and never stored"),
        (lambda stage: stage.transform_layout(B.op.axis[1], 4, [1, 0, 2]), "'B' is stored in another shape"),
    ):
        s = te.create_schedule(C.op)
        change(s[B])
        with pytest.raises(tvm.UserError, match=what):
            tvm.build(s, [A, B, C])
