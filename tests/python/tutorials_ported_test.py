"""Whole scripts in the style of TVM 0.8's tutorials, of which only the imports are other ones.

Together with ported_test, scan_extern_test and threads_ported_test they cover: optimizing GEMM, convolution, scans and
LSTMs, rfactor and reductions across threads, tuple reductions and argmax, tensorize, extern and the primitives.
"""

import numpy as np

import tilewright as tvm
import tilewright.testing
from tilewright import te, tir, topi

dev = tvm.device("llvm", 0)


def of(*shape, dtype="float32"):
    return tvm.nd.array(np.random.default_rng(len(shape)).random(shape).astype(dtype), dev)


def empty(*shape, dtype="float32"):
    return tvm.nd.array(np.zeros(shape, dtype), dev)


def test_vector_addition_of_any_length():
    n = te.var("n")
    A, B = te.placeholder((n,), name="A"), te.placeholder((n,), name="B")
    C = te.compute(A.shape, lambda i: A[i] + B[i], name="C")
    s = te.create_schedule(C.op)
    outer, inner = s[C].split(C.op.axis[0], factor=64)
    s[C].parallel(outer)
    s[C].vectorize(inner)
    fadd = tvm.build(s, [A, B, C], "llvm", name="myadd")
    for length in (1, 64, 1000):
        a, b, c = of(length), of(length), empty(length)
        fadd(a, b, c)
        tvm.testing.assert_allclose(c.numpy(), a.numpy() + b.numpy())


def test_gemm_step_by_step():
    M = K = N = 64
    bn = 16
    k = te.reduce_axis((0, K), "k")
    A, B = te.placeholder((M, K), name="A"), te.placeholder((K, N), name="B")
    C = te.compute((M, N), lambda x, y: te.sum(A[x, k] * B[k, y], axis=k), name="C")
    packed = te.compute((N // bn, K, bn), lambda x, y, z: B[y, x * bn + z], name="packed")
    D = te.compute((M, N), lambda x, y: te.sum(A[x, k] * packed[y // bn, k, tir.indexmod(y, bn)], axis=k), name="D")
    a, b = of(M, K), of(K, N)
    answer = np.dot(a.numpy(), b.numpy())

    def works(s, result):
        func = tvm.build(s, [A, B, result], target="llvm", name="mmult")
        c = empty(M, N)
        func(a, b, c)
        tvm.testing.assert_allclose(c.numpy(), answer, rtol=1e-5)
        assert func.time_evaluator(func.entry_name, dev, number=1)(a, b, c).mean > 0

    def blocked(result):
        s = te.create_schedule(result.op)
        xo, yo, xi, yi = s[result].tile(result.op.axis[0], result.op.axis[1], bn, bn)
        ko, ki = s[result].split(s[result].op.reduce_axis[0], factor=4)
        return s, xo, yo, ko, ki, xi, yi

    works(te.create_schedule(C.op), C)
    s, xo, yo, ko, ki, xi, yi = blocked(C)
    s[C].reorder(xo, yo, ko, ki, xi, yi)
    works(s, C)
    s[C].vectorize(yi)
    works(s, C)
    s[C].reorder(xo, yo, ko, xi, ki, yi)
    works(s, C)
    s, xo, yo, ko, ki, xi, yi = blocked(D)
    s[D].reorder(xo, yo, ko, xi, ki, yi)
    s[D].vectorize(yi)
    bigN, _, littleN = s[packed].op.axis
    s[packed].vectorize(littleN)
    s[packed].parallel(bigN)
    works(s, D)
    s = te.create_schedule(D.op)
    CC = s.cache_write(D, "global")
    xo, yo, _, _ = s[D].tile(D.op.axis[0], D.op.axis[1], bn, bn)
    s[CC].compute_at(s[D], yo)
    xc, yc = s[CC].op.axis
    ko, ki = s[CC].split(s[CC].op.reduce_axis[0], factor=4)
    s[CC].reorder(ko, xc, ki, yc)
    s[CC].unroll(ki)
    s[CC].vectorize(yc)
    s[D].parallel(xo)
    works(s, D)


def test_convolution_with_padding_and_caches():
    batch, in_channel, out_channel, in_size, kernel, pad, stride = 2, 6, 8, 9, 3, 1, 1
    A = te.placeholder((in_size, in_size, in_channel, batch), name="A")
    W = te.placeholder((kernel, kernel, in_channel, out_channel), name="W")
    out_size = (in_size - kernel + 2 * pad) // stride + 1
    Apad = te.compute(
        (in_size + 2 * pad, in_size + 2 * pad, in_channel, batch),
        lambda yy, xx, cc, nn: tir.if_then_else(
            tir.all(yy >= pad, yy - pad < in_size, xx >= pad, xx - pad < in_size),
            A[yy - pad, xx - pad, cc, nn], tir.const(0.0, "float32")),
        name="Apad")
    rc = te.reduce_axis((0, in_channel), name="rc")
    ry, rx = te.reduce_axis((0, kernel), name="ry"), te.reduce_axis((0, kernel), name="rx")
    B = te.compute(
        (out_size, out_size, out_channel, batch),
        lambda yy, xx, ff, nn: te.sum(
            Apad[yy * stride + ry, xx * stride + rx, rc, nn] * W[ry, rx, rc, ff], axis=[ry, rx, rc]),
        name="B")
    s = te.create_schedule(B.op)
    s[Apad].compute_inline()
    AA = s.cache_read(Apad, "local", [B])
    BL = s.cache_write(B, "local")
    hi, wi, fi, ni = s[B].op.axis
    fo, fi = s[B].split(fi, factor=4)
    s[B].reorder(hi, wi, fo, fi, ni)
    s[B].parallel(s[B].fuse(hi, wi))
    s[BL].compute_at(s[B], fo)
    yi, xi, fi, ni = s[BL].op.axis
    ry, rx, rc = s[BL].op.reduce_axis
    rco, rci = s[BL].split(rc, factor=2)
    s[BL].reorder(rco, ry, rx, rci, fi, ni)
    s[AA].compute_at(s[BL], rx)
    func = tvm.build(s, [A, W, B], "llvm")
    a, w, b = of(in_size, in_size, in_channel, batch), of(kernel, kernel, in_channel, out_channel), empty(
        out_size, out_size, out_channel, batch)
    func(a, w, b)
    padded = np.pad(a.numpy(), ((1, 1), (1, 1), (0, 0), (0, 0)))
    expected = sum(
        np.einsum("yxcn,cf->yxfn", padded[y:y + out_size, x:x + out_size], w.numpy()[y, x])
        for y in range(kernel) for x in range(kernel))
    tvm.testing.assert_allclose(b.numpy(), expected, rtol=1e-4)


def test_tensorized_matrix_times_vector():
    N, M, L, factor = 32, 16, 24, 8
    A, B = te.placeholder((N, L), name="A"), te.placeholder((M, L), name="B")
    k = te.reduce_axis((0, L), name="k")
    C = te.compute((N, M), lambda i, j: te.sum(A[i, k] * B[j, k], axis=k), name="C")

    def intrin_gemv(m, l):
        a, b = te.placeholder((l,), name="a"), te.placeholder((m, l), name="b")
        r = te.reduce_axis((0, l), name="k")
        c = te.compute((m,), lambda i: te.sum(a[r] * b[i, r], axis=r), name="c")
        Ab = tir.decl_buffer(a.shape, a.dtype, name="A", offset_factor=1, strides=[1])
        Bb = tir.decl_buffer(b.shape, b.dtype, name="B", offset_factor=1, strides=[te.var("s1"), 1])
        Cb = tir.decl_buffer(c.shape, c.dtype, name="C", offset_factor=1, strides=[1])

        def intrin_func(ins, outs):
            aa, bb = ins
            cc = outs[0]

            def reset():
                ib = tir.ir_builder.create()
                with ib.for_range(0, m, "i") as i:
                    ib.emit(cc.vstore(i, tir.const(0.0, "float32")))
                return ib.get()

            def update():
                ib = tir.ir_builder.create()
                with ib.for_range(0, m, "i") as i:
                    with ib.for_range(0, l, "j") as j:
                        ib.emit(cc.vstore(i, cc.vload(i) + aa.vload(j) * bb.vload((i, j))))
                return ib.get()

            def body():
                ib = tir.ir_builder.create()
                ib.emit(reset())
                ib.emit(update())
                return ib.get()

            return body(), reset(), update()

        return te.decl_tensor_intrin(c.op, intrin_func, name=f"gemv_{m}_{l}", binds={a: Ab, b: Bb, c: Cb})

    s = te.create_schedule(C.op)
    x, y = C.op.axis
    (z,) = C.op.reduce_axis
    yo, yi = s[C].split(y, factor=factor)
    zo, zi = s[C].split(z, factor=factor)
    s[C].reorder(x, yo, zo, yi, zi)
    s[C].tensorize(yi, intrin_gemv(factor, factor))
    func = tvm.build(s, [A, B, C], target="llvm", name="gemv")
    a, b, c = of(N, L), of(M, L), empty(N, M)
    func(a, b, c)
    tvm.testing.assert_allclose(c.numpy(), np.dot(a.numpy(), b.numpy().T), rtol=1e-3)


def test_a_reduction_of_rows_that_is_factored():
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, m), "k")
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    ko, ki = s[B].split(B.op.reduce_axis[0], factor=16)
    BF = s.rfactor(B, ki)
    s[BF].compute_at(s[B], s[B].op.axis[0])
    fsum = tvm.build(s, [A, B], "llvm", name="mysum")
    for rows, columns in ((128, 48), (3, 21)):
        a, b = of(rows, columns), empty(rows)
        fsum(a, b)
        tvm.testing.assert_allclose(b.numpy(), np.sum(a.numpy(), axis=1), rtol=1e-4)


def test_sums_of_two_tensors_at_once():
    m, n = 7, 30
    A0, A1 = te.placeholder((m, n), name="A0"), te.placeholder((m, n), name="A1")
    reducer = te.comm_reducer(
        lambda x, y: (x[0] + y[0], x[1] * y[1]), lambda t0, t1: (tir.const(0, t0), tir.const(1, t1)), name="sum_and_product")
    k = te.reduce_axis((0, n), name="k")
    S, P = te.compute((m,), lambda i: reducer((A0[i, k], A1[i, k] + 0.5), axis=k), name="T")
    s = te.create_schedule(S.op)
    ko, ki = s[S].split(k, factor=5)
    s[S].unroll(ki)
    s[S].parallel(S.op.axis[0])
    func = tvm.build(s, [A0, A1, S, P])
    a0, a1, total, product = of(m, n), of(m, n), empty(m), empty(m)
    func(a0, a1, total, product)
    tvm.testing.assert_allclose(total.numpy(), a0.numpy().sum(1), rtol=1e-4)
    tvm.testing.assert_allclose(product.numpy(), (a1.numpy() + 0.5).prod(1), rtol=1e-3)


def test_a_recurrent_network_with_its_weights_beside():
    steps, batch, hidden = 6, 4, 16
    X = te.placeholder((steps, batch, hidden), name="X")
    Whh = te.placeholder((hidden, hidden), name="Whh")
    state = te.placeholder((steps, batch, hidden), name="state")
    init = te.compute((1, batch, hidden), lambda _, i, j: tir.const(0.0), name="init")
    kh = te.reduce_axis((0, hidden), name="kh")
    product = te.compute(
        (steps, batch, hidden), lambda t, i, j: te.sum(state[t - 1, i, kh] * Whh[j, kh], axis=kh), name="product")
    update = te.compute((steps, batch, hidden), lambda t, i, j: te.tanh(product[t, i, j] + X[t, i, j]), name="update")
    rnn = te.scan(init, update, state, inputs=[X], name="rnn")
    s = te.create_schedule(rnn.op)
    jo, ji = s[product].split(product.op.axis[2], factor=8)
    s[product].reorder(jo, kh, ji)
    s[product].vectorize(ji)
    s[update].vectorize(s[update].split(update.op.axis[2], factor=8)[1])
    func = tvm.build(s, [X, Whh, rnn])
    x, w, out = of(steps, batch, hidden), of(hidden, hidden), empty(steps, batch, hidden)
    func(x, w, out)
    h = np.zeros((batch, hidden), "float32")
    for t in range(1, steps):
        h = np.tanh(h @ w.numpy().T + x.numpy()[t])
        tvm.testing.assert_allclose(out.numpy()[t], h, rtol=1e-4)


def test_an_external_product_between_computes():
    n, m, l = 8, 6, 5
    A, B = te.placeholder((n, l), name="A"), te.placeholder((l, m), name="B")
    bias = te.var("bias", dtype="float32")

    def product(ins, outs):
        ib = tir.ir_builder.create()
        a, b, c = ib.buffer_ptr(ins[0]), ib.buffer_ptr(ins[1]), ib.buffer_ptr(outs[0])
        with ib.for_range(0, n, "i", kind="parallel") as i:
            with ib.for_range(0, m, "j") as j:
                c[i, j] = 0.0
                with ib.for_range(0, l, "k") as k:
                    c[i, j] += a[i, k] * b[k, j]
        return ib.get()

    C = te.extern((n, m), [A, B], product, name="C")
    D = te.compute(C.shape, lambda i, j: C[i, j] + bias, name="D")
    s = te.create_schedule(D.op)
    assert s.check() == []
    func = tvm.build(s, [A, B, D, bias], "llvm")
    a, b, d = of(n, l), of(l, m), empty(n, m)
    func(a, b, d, 10.0)
    tvm.testing.assert_allclose(d.numpy(), a.numpy() @ b.numpy() + 10, rtol=1e-5)


def test_the_primitives_one_after_the_other():
    m, n = 12, 20
    A = te.placeholder((m, n), name="A")
    B = te.compute((m, n), lambda i, j: A[i, j] * 2, name="B")
    C = te.compute((m, n), lambda i, j: B[i, j] + 1, name="C")
    a = of(m, n)

    def works(s):
        c = empty(m, n)
        tvm.build(s, [A, C])(a, c)
        tvm.testing.assert_allclose(c.numpy(), a.numpy() * 2 + 1)

    s = te.create_schedule(C.op)
    s[C].split(C.op.axis[0], nparts=5)
    works(s)
    s = te.create_schedule(C.op)
    xo, yo, xi, yi = s[C].tile(C.op.axis[0], C.op.axis[1], x_factor=8, y_factor=3)
    s[C].reorder(xi, yo, xo, yi)
    s[C].fuse(xi, yo)
    works(s)
    for place in (lambda s: s[B].compute_at(s[C], C.op.axis[0]), lambda s: s[B].compute_inline(),
                  lambda s: (s[B].compute_at(s[C], C.op.axis[1]), s[B].compute_root())):
        s = te.create_schedule(C.op)
        place(s)
        works(s)


def test_mathematics_and_topi_in_one_program():
    n = 33
    A = te.placeholder((n, n), name="A")
    B = topi.nn.softmax(topi.exp(A) * 0.1 + topi.sigmoid(A))
    s = te.create_schedule(B.op)
    func = tvm.build(s, [A, B])
    a, b = of(n, n), empty(n, n)
    func(a, b)
    x = np.exp(a.numpy()) * 0.1 + 1 / (1 + np.exp(-a.numpy()))
    e = np.exp(x - x.max(1, keepdims=True))
    tvm.testing.assert_allclose(b.numpy(), e / e.sum(1, keepdims=True), rtol=1e-4)


def test_the_greatest_of_windows_across_threads():
    n, window = 64, 5
    A = te.placeholder((n + window - 1,), name="A")
    k = te.reduce_axis((0, window), name="k")
    B = te.compute((n,), lambda i: te.max(A[i + k], axis=k), name="B")
    s = te.create_schedule(B.op)
    bx, tx = s[B].split(B.op.axis[0], factor=16)
    s[B].bind(bx, te.thread_axis("blockIdx.x"))
    s[B].bind(tx, te.thread_axis("threadIdx.y"))
    s[B].bind(k, te.thread_axis((0, window), "threadIdx.x"))
    func = tvm.build(s, [A, B])
    a, b = of(n + window - 1), empty(n)
    func(a, b)
    tvm.testing.assert_allclose(b.numpy(), np.lib.stride_tricks.sliding_window_view(a.numpy(), window).max(1))
