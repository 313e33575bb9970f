# SPDX-License-Identifier: Apache-2.0
"""Scripts in the old style that schedule threads, caches, partial reductions and double buffers.

They are written as for TVM 0.8 on an accelerator, with another target: blocks run on the thread pool.
"""

import numpy as np
import pytest

import tilewright as tvm
from tilewright import te, topi


def run(s, args, *inputs, shape, dtype="float32"):
    """What the compiled kernel computes of the inputs."""
    func = tvm.build(s, args, "llvm", name="kernel")
    out = tvm.nd.empty(shape, dtype)
    func(*[tvm.nd.array(i) for i in inputs], out)
    return out.numpy()


def random(*shape):
    return np.random.default_rng(0).random(shape, dtype="float32")


def test_gemm_with_shared_memory_and_virtual_threads():
    """tutorials of TVM: how to optimize GEMM (and convolution) on GPU."""
    n, block, step, threads, vthreads = 96, 32, 8, 4, 2
    A = te.placeholder((n, n), name="A")
    B = te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), name="k")
    C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    s = te.create_schedule(C.op)
    AA = s.cache_read(A, "shared", [C])
    BB = s.cache_read(B, "shared", [C])
    AL = s.cache_read(AA, "local", [C])
    BL = s.cache_read(BB, "local", [C])
    CL = s.cache_write(C, "local")
    block_x, block_y = te.thread_axis("blockIdx.x"), te.thread_axis("blockIdx.y")
    thread_x = te.thread_axis((0, threads), "threadIdx.x")
    thread_y = te.thread_axis((0, threads), "threadIdx.y")
    thread_xz = te.thread_axis((0, vthreads), "vthread", name="vx")
    thread_yz = te.thread_axis((0, vthreads), "vthread", name="vy")
    i, j = s[C].op.axis
    by, yi = s[C].split(i, factor=block)
    bx, xi = s[C].split(j, factor=block)
    tyz, yi = s[C].split(yi, nparts=vthreads)
    ty, yi = s[C].split(yi, nparts=threads)
    txz, xi = s[C].split(xi, nparts=vthreads)
    tx, xi = s[C].split(xi, nparts=threads)
    s[C].reorder(by, bx, tyz, txz, ty, tx, yi, xi)
    s[C].bind(by, block_y)
    s[C].bind(bx, block_x)
    s[C].bind(tyz, thread_yz)
    s[C].bind(txz, thread_xz)
    s[C].bind(ty, thread_y)
    s[C].bind(tx, thread_x)
    s[CL].compute_at(s[C], tx)
    yo, xo = s[CL].op.axis
    ko, ki = s[CL].split(s[CL].op.reduce_axis[0], factor=step)
    s[CL].reorder(ko, ki, yo, xo)
    s[AA].compute_at(s[CL], ko)
    s[BB].compute_at(s[CL], ko)
    s[AL].compute_at(s[CL], ki)
    s[BL].compute_at(s[CL], ki)
    for load in (AA, BB):
        y, x = s[load].op.axis
        fused = s[load].fuse(y, x)
        ty, fused = s[load].split(fused, nparts=threads)
        tx, fused = s[load].split(fused, nparts=threads)
        s[load].bind(ty, thread_y)
        s[load].bind(tx, thread_x)
        s[load].double_buffer()
    a, b = random(n, n), random(n, n)
    text = str(tvm.lower(s, [A, B, C], simple_mode=True))
    assert "thread_axis" not in text and "parallel" in text
    # Threads meet where they share: what a block fetches stands outside of the loops over its threads.
    assert text.count("A.shared[") >= 2 and "A.shared[float32 * 2 * " in text
    np.testing.assert_allclose(run(s, [A, B, C], a, b, shape=(n, n)), a @ b, rtol=1e-4)


@pytest.mark.parametrize("n, m", [(128, 64), (37, 21), (1, 1)])
def test_reduction_across_threads(n, m):
    """tutorials of TVM: reduction; rfactor, then a reduction axis bound to threads and a predicate on who stores."""
    A = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, m), "k")
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    ko, ki = s[B].split(B.op.reduce_axis[0], factor=16)
    BF = s.rfactor(B, ki)
    xo, xi = s[B].split(s[B].op.axis[0], factor=32)
    s[B].bind(xo, te.thread_axis("blockIdx.x"))
    s[B].bind(xi, te.thread_axis("threadIdx.y"))
    tx = te.thread_axis("threadIdx.x")
    s[B].bind(s[B].op.reduce_axis[0], tx)
    s[BF].compute_at(s[B], s[B].op.reduce_axis[0])
    s[B].set_store_predicate(tx.var.equal(0))
    a = random(n, m)
    np.testing.assert_allclose(run(s, [A, B], a, shape=(n,)), a.sum(axis=1), rtol=1e-4)


def test_rfactor_goes_on_with_the_axes_it_holds():
    n = 45
    A = te.placeholder((n, n, n), name="A")
    k1, k2 = te.reduce_axis((0, n), name="k1"), te.reduce_axis((0, n), name="k2")
    B = te.compute((n,), lambda i: te.sum(A[i, k1, k2], axis=[k1, k2]), name="B")
    s = te.create_schedule(B.op)
    ko, ki = s[B].split(k1, factor=4)
    xo, xi = s[B].split(B.op.axis[0], factor=8)
    BF = s.rfactor(B, ki)
    assert tuple(BF.shape) == (4, n)
    assert s[B].op.reduce_axis[0].dom.extent == 4
    s[BF].reorder(k2, ko)
    s[BF].unroll(ko)
    s[BF].parallel(ki)
    s[B].vectorize(xi)
    a = random(n, n, n)
    np.testing.assert_allclose(run(s, [A, B], a, shape=(n,)), a.sum(axis=(1, 2)), rtol=1e-4)


def test_argmax_by_parts():
    """A reduction over pairs, factored; its parts are reduced across threads."""
    m, n = 24, 39
    index = te.placeholder((m, n), name="index", dtype="int32")
    value = te.placeholder((m, n), name="value", dtype="int32")
    k = te.reduce_axis((0, n), "k")
    better = lambda x, y: (x[1] > y[1]) | ((x[1] == y[1]) & (x[0] < y[0]))  # noqa: E731
    argmax = te.comm_reducer(
        lambda x, y: (
            te.if_then_else(better(x, y), x[0], y[0]),
            te.if_then_else(better(x, y), x[1], y[1]),
        ),
        lambda t0, t1: (te.const(2**30, t0), te.min_value(t1)),
        name="argmax",
    )
    T0, T1 = te.compute((m,), lambda i: argmax((index[i, k], value[i, k]), axis=k), name="T")
    s = te.create_schedule(T0.op)
    ko, ki = s[T0].split(k, nparts=4)
    F0, F1 = s.rfactor([T0, T1], ko)
    tx = te.thread_axis("threadIdx.x")
    s[T0].bind(s[T0].op.reduce_axis[0], tx)
    s[F0].compute_at(s[T0], s[T0].op.reduce_axis[0])
    s[T0].set_store_predicate(tx.equal(0))
    func = tvm.build(s, [index, value, T0, T1], "llvm", name="argmax")
    i = np.tile(np.arange(n, dtype="int32"), (m, 1))
    v = np.random.default_rng(1).integers(0, 20, (m, n)).astype("int32")
    at, best = tvm.nd.empty((m,), "int32"), tvm.nd.empty((m,), "int32")
    func(tvm.nd.array(i), tvm.nd.array(v), at, best)
    np.testing.assert_array_equal(at.numpy(), v.argmax(axis=1))
    np.testing.assert_array_equal(best.numpy(), v.max(axis=1))


def test_double_buffer():
    """tests of TVM: a pipeline whose loads run an iteration ahead."""
    n, m = 128, 6
    A = te.placeholder((n * m,), name="A")
    C = te.compute((n * m,), lambda i: A[i] + 1, name="C")
    s = te.create_schedule(C.op)
    B = s.cache_read(A, "shared", [C])
    xo, xi = s[C].split(C.op.axis[0], factor=m)
    s[B].compute_at(s[C], xo)
    s[B].double_buffer()
    text = str(tvm.lower(s, [A, C], simple_mode=True))
    assert f"[float32 * 2 * {m}]" in text
    a = random(n * m)
    np.testing.assert_allclose(run(s, [A, C], a, shape=(n * m,)), a + 1)


def test_caches_after_splits():
    """cache_write takes the loops there are: the cache is packed as they walk it."""
    n, bn = 96, 32
    A = te.placeholder((n, n), name="A")
    B = te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), "k")
    C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    s = te.create_schedule(C.op)
    xo, yo, xi, yi = s[C].tile(C.op.axis[0], C.op.axis[1], bn, bn)
    ko, ki = s[C].split(k, factor=4)
    s[C].reorder(xo, yo, ko, xi, ki, yi)
    CC = s.cache_write(C, "global")
    assert tuple(CC.shape) == (3, 3, bn, bn)
    s[CC].unroll(ki)
    s[CC].vectorize(yi)
    s[CC].parallel(xo)
    BB = s.cache_read(B, "global", [CC])
    s[BB].compute_at(s[CC], ko)
    a, b = random(n, n), random(n, n)
    np.testing.assert_allclose(run(s, [A, B, C], a, b, shape=(n, n)), a @ b, rtol=1e-4)


def test_groups_move_together():
    n = 40
    x = te.placeholder((n, n), name="x")
    x1 = te.compute((n, n), lambda i, j: x[i, j] + 1, name="x1")
    x2 = te.compute((n, n), lambda i, j: x1[i, j] * 2, name="x2")
    x3 = te.compute((n, n), lambda i, j: x2[i, j] + x1[i, j], name="x3")
    y = te.compute((n, n), lambda i, j: x3[i, j] - 3, name="y")
    s = te.create_schedule(y.op)
    inner = s.create_group(outputs=x2, inputs=x, include_inputs=False)
    outer = s.create_group(outputs=x3, inputs=x, include_inputs=False)
    with pytest.raises(tvm.UserError, match="group"):
        s[x1].compute_at(s[y], y.op.axis[0])
    inner.compute_at(s[x3], x3.op.axis[0])
    outer.compute_at(s[y], y.op.axis[0])
    text = str(tvm.lower(s, [x, y], simple_mode=True))
    assert text.index("produce y") < text.index("produce x3") < text.index("produce x1")
    replayed = te.schedule_from_trace([x, y], s.trace.text)
    assert str(tvm.lower(replayed, [x, y], simple_mode=True)) == text
    a = random(n, n)
    np.testing.assert_allclose(run(s, [x, y], a, shape=(n, n)), (a + 1) * 3 - 3, rtol=1e-5)


@pytest.mark.parametrize("n", [1, 3, 4, 8, 17, 40, 1000])
def test_symbolic_extents(n):
    """One kernel for any extent: parts of a symbolic size, tails included, and blocks of threads."""
    size = te.var("n")
    A = te.placeholder((size,), name="A")
    B = te.compute((size,), lambda i: A[i] * 2, name="B")
    C = te.compute((size,), lambda i: B[i] + 1, name="C")
    s = te.create_schedule(C.op)
    outer, inner = s[C].split(C.op.axis[0], factor=size // 4)
    block, thread = s[C].split(inner, factor=8)
    s[C].bind(outer, te.thread_axis("blockIdx.x"))
    s[C].bind(thread, te.thread_axis("threadIdx.x"))
    s[B].compute_at(s[C], block)
    s[B].set_scope("shared")
    text = s.trace.text
    assert 'factor="floordiv(v0, 4)"' in text
    assert te.schedule_from_trace([A, C], text).trace == s.trace
    a = random(n)
    np.testing.assert_allclose(run(s, [A, C], a, shape=(n,)), a * 2 + 1, rtol=1e-6)


def test_softmax_of_topi_with_threads():
    n, m = 16, 50
    A = te.placeholder((n, m), name="A")
    B = topi.nn.softmax(A)
    s = te.create_schedule(B.op)
    row = te.thread_axis("blockIdx.x")
    outer, inner = s[B].split(B.op.axis[1], factor=16)
    s[B].bind(B.op.axis[0], row)
    s[B].bind(inner, te.thread_axis((0, 16), "threadIdx.x"))
    for stage in s.stages:
        if stage.op.name not in ("A", B.op.name) and len(stage.op.axis) >= 1:
            stage.compute_at(s[B], B.op.axis[0])
            stage.set_scope("shared")
    a = random(n, m)
    e = np.exp(a - a.max(axis=1, keepdims=True))
    np.testing.assert_allclose(run(s, [A, B], a, shape=(n, m)), e / e.sum(axis=1, keepdims=True), rtol=1e-4)


def test_what_threads_cannot_do():
    A = te.placeholder((64,), name="A")
    B = te.compute((64,), lambda i: A[i] + 1, name="B")
    s = te.create_schedule(B.op)
    with pytest.raises(tvm.UserError, match="no tag of a thread axis"):
        s[B].bind(B.op.axis[0], te.thread_axis("threadIdx.w"))
    tx = te.thread_axis((0, 32), "threadIdx.x")
    s[B].bind(B.op.axis[0], tx)
    with pytest.raises(tvm.UserError, match="more iterations than the 32 threads"):
        tvm.lower(s, [A, B])
    s = te.create_schedule(B.op)
    s[B].bind(B.op.axis[0], te.thread_axis("threadIdx.x"))
    s[B].set_store_predicate(tx.equal(0))
    with pytest.raises(tvm.UserError, match="would not be stored"):
        tvm.lower(s, [A, B])
    k = te.reduce_axis((0, 64), "k")
    C = te.compute((), lambda: te.sum(A[k], axis=k), name="C")
    s = te.create_schedule(C.op)
    with pytest.raises(tvm.UserError, match="cannot reduce together"):
        s[C].bind(k, te.thread_axis("blockIdx.x"))
    one = s[C].fuse(*C.op.axis)
    s[C].bind(one, te.thread_axis("blockIdx.x"))
    a = random(64)
    np.testing.assert_allclose(run(s, [A, C], a, shape=()), a.sum(), rtol=1e-5)


def test_double_buffer_of_a_loop_of_one_iteration_around_several_statements():
    A = te.placeholder((4, 1), name="A", dtype="int32")
    P = te.compute((4, 1), lambda i, j: A[i, j] * 3, name="P")
    k = te.reduce_axis((0, 1), "k")
    both = te.comm_reducer(lambda x, y: (x[0] + y[0], x[1] * y[1]), lambda a, b: (tvm.tir.const(0, a), tvm.tir.const(1, b)))
    total, product = te.compute((4,), lambda i: both((P[i, k], P[i, k]), axis=k))
    s = te.create_schedule(total.op)
    s[P].compute_at(s[total], k)
    s[P].double_buffer()
    a = np.array([[2], [3], [5], [7]], dtype="int32")
    out = [tvm.nd.array(np.zeros(4, "int32")) for _ in range(2)]
    tvm.build(s, [A, total, product])(tvm.nd.array(a), *out)
    for result in out:
        np.testing.assert_array_equal(result.numpy(), 3 * a[:, 0])
