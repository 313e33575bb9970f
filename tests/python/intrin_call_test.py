"""Tensor intrinsics called on slices inside te.compute, scalar parameters, and extents that are variables."""

import numpy as np
import pytest

import tilewright as tw
from tilewright import te, tir


def loop(extents, body):
    """Nested loops of an intrinsic's statements, body(ib, *indices) in the innermost."""
    ib = tir.ir_builder.create()

    def nest(indices):
        if len(indices) == len(extents):
            return body(ib, *indices)
        with ib.for_range(0, extents[len(indices)], f"q{len(indices)}") as q:
            nest([*indices, q])

    nest([])
    return ib.get()


def vadd(width=16, name="tensor_intrin", **buffers):
    """z = x + y."""
    x = te.placeholder((width,), name="x")
    y = te.placeholder((width,), name="y")
    z = te.compute((width,), lambda i: x[i] + y[i], name="z")

    def statements(ins, outs):
        return loop([width], lambda ib, q: ib.emit(outs[0].vstore(q, ins[0].vload(q) + ins[1].vload(q))))

    return te.decl_tensor_intrin(z.op, statements, name=name, default_buffer_params={"offset_factor": 1, **buffers})


def gemm(m, n, l):
    """z += x * y^T, in parts."""
    k = te.reduce_axis((0, l), name="k")
    x = te.placeholder((m, l), name="x")
    y = te.placeholder((n, l), name="y")
    z = te.compute((m, n), lambda i, j: te.sum(x[i, k] * y[j, k], axis=k), name="z")

    def statements(ins, outs):
        def zero():
            return loop([m, n], lambda ib, i, j: ib.emit(outs[0].vstore([i, j], tir.const(0, "float32"))))

        def add():
            return loop([m, n, l], lambda ib, i, j, q: ib.emit(outs[0].vstore(
                [i, j], outs[0].vload([i, j]) + ins[0].vload([i, q]) * ins[1].vload([j, q]))))

        body = tir.ir_builder.create()
        body.emit(zero())
        body.emit(add())
        return body.get(), zero(), add()

    return te.decl_tensor_intrin(z.op, statements, default_buffer_params={"offset_factor": 1})


def scale_and_shift(dtype="float32", name="tensor_intrin"):
    """z = x * v + w of as many elements as there are; v and w are scalars."""
    n, v, w = te.size_var("n"), te.var("v", dtype), te.var("w", dtype)
    x = te.placeholder((n,), dtype=dtype, name="x")
    z = te.compute((n,), lambda i: x[i] * v + w, name="z")

    def statements(ins, outs, scalars):
        # Backwards, which the loops it stands for are not.
        count = ins[0].shape[0]
        return loop([count], lambda ib, q: ib.emit(
            outs[0].vstore(count - 1 - q, ins[0].vload(count - 1 - q) * scalars[0] + scalars[1])))

    return te.decl_tensor_intrin(
        z.op, statements, name=name, scalar_params=[v, w], default_buffer_params={"offset_factor": 1})


def random(*shape):
    return np.random.default_rng(len(shape)).random(shape, dtype="float32")


def run(schedule, tensors, inputs):
    """What the built schedule computes of the last tensor; the intrinsics' statements are in it."""
    assert not schedule.check()
    assert 'tensorized("' in str(tw.lower(schedule, tensors))
    out = np.zeros([int(e) for e in tensors[-1].shape], tensors[-1].dtype)
    tw.build(schedule, tensors)(*inputs, out)
    return out


def test_a_call_on_slices_computes_a_block_of_the_tensor():
    # TVM's test_tensor_compute1.
    m, factor = 64, 16
    add = vadd(factor)
    A = te.placeholder((m // factor, factor), name="A")
    B = te.placeholder((m // factor, factor), name="B")
    C = te.compute((m // factor, factor), lambda i: add(A[i, 0:factor], B[i, 0:factor]), name="C")
    assert isinstance(C.op, te.TensorComputeOp)
    assert C.op.intrin.name == add.name and C.op.schedulable_ndim == 1
    s = te.create_schedule(C.op)
    a, b = random(4, 16), random(4, 16)
    np.testing.assert_array_equal(run(s, [A, B, C], [a, b]), a + b)


def test_slices_may_begin_where_an_expression_says():
    add = vadd(16)
    A = te.placeholder((8, 64), name="A")
    B = te.placeholder((64,), name="B")
    C = te.compute((8, 4, 16), lambda i, j: add(A[i, j * 16:j * 16 + 16], B[48 - j * 16:64 - j * 16]), name="C")
    s = te.create_schedule(C.op)
    a, b = random(8, 64), random(64)
    want = a.reshape(8, 4, 16) + b.reshape(4, 16)[::-1]
    np.testing.assert_array_equal(run(s, [A, B, C], [a, b]), want)


def test_a_column_is_a_slice_where_the_buffer_takes_its_stride():
    x, y = te.placeholder((4,), name="x"), te.placeholder((4,), name="y")
    z = te.compute((4,), lambda i: x[i] + y[i], name="z")
    strided = {t: te.decl_buffer((4,), name=t.op.name, strides=[te.var(f"{t.op.name}.stride")], offset_factor=1)
               for t in (x, y, z)}

    def statements(ins, outs):
        return loop([4], lambda ib, q: ib.emit(outs[0].vstore([q], ins[0].vload([q]) + ins[1].vload([q]))))

    add = te.decl_tensor_intrin(z.op, statements, binds=strided)
    A = te.placeholder((8, 3), name="A")
    C = te.compute((3, 2, 4), lambda i, j: add(A[j * 4:j * 4 + 4, i], A[j * 4:j * 4 + 4, 2]), name="C")
    a = random(8, 3)
    want = (a + a[:, 2:]).T.reshape(3, 2, 4)
    np.testing.assert_array_equal(run(te.create_schedule(C.op), [A, C], [a]), want)


def tiles():
    """TVM's test_tensor_compute2: a product of matrices that are stored in tiles."""
    tile = gemm(4, 8, 2)
    A = te.placeholder((3, 5, 4, 2), name="A")
    B = te.placeholder((2, 5, 8, 2), name="B")
    k = te.reduce_axis((0, 5), name="k")
    C = te.compute((3, 2, 4, 8), lambda i, j: tile(A[i, k, 0:4, 0:2], B[j, k, 0:8, 0:2], reduce_axis=k), name="C")
    return A, B, C


def check_tiles(s, A, B, C):
    a, b = random(3, 5, 4, 2), random(2, 5, 8, 2)
    np.testing.assert_allclose(run(s, [A, B, C], [a, b]), np.einsum("ikac,jkbc->ijab", a, b), rtol=1e-5)


def test_a_reduction_around_the_calls_resets_and_updates():
    A, B, C = tiles()
    s = te.create_schedule(C.op)
    assert [a.var.name for a in s[C].leaf_iter_vars] == ["i", "j", "k", "ax0", "ax1", "k"]
    check_tiles(s, A, B, C)


def test_loops_around_the_calls_are_scheduled_and_replayed():
    A, B, C = tiles()
    s = te.create_schedule(C.op)
    i, j = C.op.axis[:2]
    copy = s.cache_read(B, "local", [C])
    sums = s.cache_write(C, "local")
    io, ii = s[C].split(i, factor=2)  # does not divide
    s[C].parallel(io)
    s[sums].compute_at(s[C], ii)
    ko, ki = s[sums].split(sums.op.reduce_axis[0], factor=2)
    s[sums].reorder(ko, ki, sums.op.axis[1])
    s[copy].compute_at(s[sums], ko)
    check_tiles(s, A, B, C)

    script = {}
    exec(s.trace.as_python(), script)
    again = te.create_schedule(C.op)
    script["apply"](again)
    replayed = te.schedule_from_trace(te.Program([A, B, C]), str(s.trace))
    assert str(tw.lower(again, [A, B, C])) == str(tw.lower(s, [A, B, C])) == str(tw.lower(replayed, [A, B, C]))


def calls_between_stages():
    """D = 4 A + 1: a stage, calls that read it and its input, and a stage that reads what they compute."""
    add = vadd(16)
    A = te.placeholder((8, 64), name="A")
    P = te.compute((8, 64), lambda i, j: A[i, j] * 3, name="P")
    C = te.compute((8, 4, 16), lambda i, j: add(P[i, j * 16:j * 16 + 16], A[i, j * 16:j * 16 + 16]), name="C")
    D = te.compute((8, 64), lambda i, j: C[i, j // 16, j % 16] + 1, name="D")
    return A, P, C, D


def test_what_a_call_reads_and_what_reads_it_are_stages_like_others():
    A, P, C, D = calls_between_stages()
    s = te.create_schedule(D.op)
    jo, ji = s[D].split(D.op.axis[1], factor=4)  # a quarter of a block, of which all is computed
    s[C].compute_at(s[D], jo)
    s[P].compute_at(s[C], C.op.axis[1])
    s[D].vectorize(ji)
    a = random(8, 64)
    np.testing.assert_allclose(run(s, [A, D], [a]), a * 3 + a + 1, rtol=1e-6)


def test_text_says_the_intrinsic():
    A, B, C = tiles()
    program = te.Program([A, B, C])
    line = next(row for row in program.text.splitlines() if row.startswith("C = "))
    assert line == (f'C = tensor_compute("{C.op.intrin.name}", 2, 1, [i: 3, j: 2, ax0: 4, ax1: 8], '
                    "reduce [k: 5, k_1: 2], sum((A(i, k, ax0, k_1)*B(j, k, ax1, k_1))))")
    again = te.from_text(program.text)
    assert again.text == program.text and again.workload == program.workload
    check_tiles(te.create_schedule(again.outputs[0].op), again[0], again[1], again[2])


def test_scalars_are_expressions_between_the_slices():
    # TVM's test_tensor_intrin_scalar_params: an intrinsic of n elements computes one of each.
    it = scale_and_shift("int32")
    A = te.placeholder((10, 10), dtype="int32", name="A")
    C = te.compute((10, 10), lambda i, j: it(i * i, A[i, j], i + j), name="C")
    s = te.create_schedule(C.op)
    a = np.arange(100, dtype="int32").reshape(10, 10)
    i, j = np.indices((10, 10))
    np.testing.assert_array_equal(run(s, [A, C], [a]), a * i * i + i + j)


@pytest.mark.parametrize("v, w", [(1.0, 0.0), (0.0, -0.0), (2.5, 1)])
def test_scalars_may_be_numbers_that_expressions_would_lose(v, w):
    it = scale_and_shift()
    A = te.placeholder((4, 10), name="A")
    C = te.compute((4, 10), lambda i: it(v, A[i], w), name="C")
    a = random(4, 10)
    np.testing.assert_allclose(run(te.create_schedule(C.op), [A, C], [a]), a * v + w, rtol=1e-6)


def test_tensorize_finds_scalars_and_extents():
    it = scale_and_shift()
    A = te.placeholder((6, 8), name="A")
    S = te.placeholder((6,), name="S")
    C = te.compute((6, 8), lambda i, j: A[i, j] * S[i] + te.exp(S[5 - i]), name="C")
    s = te.create_schedule(C.op)
    jo, ji = s[C].split(C.op.axis[1], factor=4)
    s[C].reorder(jo, C.op.axis[0], ji)
    s[C].tensorize(ji, it)
    a, v = random(6, 8), random(6)
    want = a * v[:, None] + np.exp(v[::-1])[:, None]
    np.testing.assert_allclose(run(s, [A, S, C], [a, v]), want, rtol=1e-5)


def test_a_scalar_is_the_same_at_all_points():
    it = scale_and_shift()
    A = te.placeholder((6, 8), name="A")
    S = te.placeholder((8,), name="S")
    C = te.compute((6, 8), lambda i, j: A[i, j] * S[j] + 1.0, name="C")
    s = te.create_schedule(C.op)
    s[C].tensorize(C.op.axis[1], it)
    assert [f.code for f in s.check()] == ["cannot-tensorize"]
    with pytest.raises(tw.UserError, match="the loops from here on compute"):
        tw.lower(s, [A, S, C])


def test_extents_of_a_program_may_be_variables_too():
    n, m = te.var("n"), te.var("m")
    it = scale_and_shift()
    A = te.placeholder((n, m), name="A")
    C = te.compute((n, m), lambda i, j: A[i, j] * 2.0 + 1.0, name="C")
    s = te.create_schedule(C.op)
    s[C].tensorize(C.op.axis[1], it)
    assert not s.check()
    f = tw.build(s, [A, C])
    for shape in ((1, 1), (3, 7), (2, 64)):
        a, c = random(*shape), np.zeros(shape, "float32")
        f(a, c)
        np.testing.assert_array_equal(c, a * 2 + 1)


def test_a_larger_intrinsic_computes_several_calls():
    # TVM's test_tensorize_tensor_compute_op: the larger one's own expression is calls, too.
    add = vadd(16)
    x, y = te.placeholder((4, 16), name="x"), te.placeholder((4, 16), name="y")
    z = te.compute((4, 16), lambda i: add(x[i], y[i]), name="z")

    def statements(ins, outs):
        return loop([64], lambda ib, q: ib.emit(outs[0].vstore([0, q], ins[0].vload([0, q]) + ins[1].vload([0, q]))))

    multi = te.decl_tensor_intrin(z.op, statements, name="multivadd", default_buffer_params={"offset_factor": 1})
    A, B = te.placeholder((8, 16), name="A"), te.placeholder((8, 16), name="B")
    C = te.compute((8, 16), lambda i: add(A[i, 0:16], B[i, 0:16]), name="C")
    s = te.create_schedule(C.op)
    io, ii = s[C].split(C.op.axis[0], factor=4)
    s[C].tensorize(ii, multi)
    lowered = str(tw.lower(s, [A, B, C]))
    assert 'tensorized("multivadd")' in lowered and f'tensorized("{add.name}")' not in lowered
    a, b = random(8, 16), random(8, 16)
    np.testing.assert_array_equal(run(s, [A, B, C], [a, b]), a + b)


def test_what_an_intrinsic_reads_may_be_tensorized_in_its_loops():
    it, tile = scale_and_shift(), gemm(4, 4, 4)
    A, B = te.placeholder((8, 8), name="A"), te.placeholder((4, 8), name="B")
    P = te.compute((8, 8), lambda i, j: A[i, j] * 3.0 + 1.0, name="P")
    k = te.reduce_axis((0, 8), name="k")
    C = te.compute((8, 4), lambda i, j: te.sum(P[i, k] * B[j, k], axis=k), name="C")
    s = te.create_schedule(C.op)
    io, jo, ii, ji = s[C].tile(*C.op.axis, 4, 4)
    ko, ki = s[C].split(k, factor=4)
    s[C].reorder(io, jo, ko, ii, ji, ki)
    s[P].compute_at(s[C], ko)
    s[C].tensorize(ii, tile)
    s[P].tensorize(P.op.axis[1], it)
    # Rows of B do not lie side by side in a block of it.
    s[s.cache_read(B, "local", [C])].compute_at(s[C], ko)
    a, b = random(8, 8), random(4, 8)
    np.testing.assert_allclose(run(s, [A, B, C], [a, b]), (a * 3 + 1) @ b.T, rtol=1e-5)


def wrong(expected, make):
    with pytest.raises(tw.UserError) as caught:
        make()
    assert expected in str(caught.value), str(caught.value)


def test_calls_that_do_not_fit_say_why():
    add = vadd(16)
    A = te.placeholder((8, 16), name="A")
    D = te.placeholder((8, 16), dtype="float64", name="D")
    k = te.reduce_axis((0, 8), name="k")
    wrong("the slice of 'A' has extent 8 where the intrinsic's (16) has 16",
          lambda: te.compute((8, 16), lambda i: add(A[i, 0:8], A[i, 0:16])))
    wrong("what is computed has extent 1 where the intrinsic's (16) has 16",
          lambda: te.compute((8, 2), lambda i, j: add(A[i], A[i])))
    wrong("'D' is float64, and the intrinsic's 'x' is float32",
          lambda: te.compute((8, 16), lambda i: add(D[i], A[i])))
    wrong("1 slices of tensors for 2 inputs", lambda: te.compute((8, 16), lambda i: add(A[i])))
    wrong("1 scalars for 0 scalar parameters", lambda: te.compute((8, 16), lambda i: add(A[i], A[i], 3)))
    wrong("the intrinsic does not reduce",
          lambda: te.compute((8, 16), lambda i: add(A[k], A[i], reduce_axis=k)))
    wrong("a slice of 'A' is no element", lambda: te.compute((8,), lambda i: A[i, 0:16] + 1))
    wrong("a slice of a tensor with a step", lambda: A[0, 0:16:2])
    wrong("the function has 1 parameters and the shape 2 dimensions", lambda: te.compute((8, 16), lambda i: A[i, 0]))


def test_loops_of_the_call_are_no_loops_of_the_schedule():
    A, B, C = tiles()
    s = te.create_schedule(C.op)
    sums = s.cache_write(C, "local")
    for step in (lambda: s[sums].split(sums.op.axis[2], factor=2), lambda: s[sums].vectorize(sums.op.axis[3]),
                 lambda: s[sums].reorder(sums.op.axis[3], sums.op.axis[0]),
                 lambda: s[sums].unroll(sums.op.reduce_axis[1])):
        before = str(s.trace)
        wrong("the axis is no loop: ", step)
        assert str(s.trace) == before
    wrong("'rfactor' of a stage that", lambda: s.rfactor(sums, sums.op.reduce_axis[0]))


def test_scalar_parameters_that_nothing_gives_are_refused():
    x, v = te.placeholder((8,), name="x"), te.var("v", "float32")
    z = te.compute((8,), lambda i: x[i] * v, name="z")
    nothing = tir.call_extern("int32", "nothing")
    wrong("it uses 'v', which is no axis of it and no extent", lambda: te.decl_tensor_intrin(z.op, lambda i, o: nothing))
    unused = te.var("u", "float32")
    wrong("it does not use the scalar parameter 'u'",
          lambda: te.decl_tensor_intrin(z.op, lambda i, o, s: nothing, scalar_params=[v, unused]))


def test_unnamed_intrinsics_have_names_of_their_own():
    assert vadd().name != vadd().name


def aligned_program(alignment):
    add = vadd(16, data_alignment=alignment)
    A, B = te.placeholder((4, 16), name="A"), te.placeholder((4, 16), name="B")
    C = te.compute((4, 16), lambda i: add(A[i], B[i]), name="C")
    return add, A, B, C


def test_alignment_of_an_intrinsics_buffers_is_tested():
    add, A, B, C = aligned_program(32)
    s = te.create_schedule(C.op)
    s[C].parallel(C.op.axis[0])
    f = tw.build(s, [A, B, C])
    memory = np.zeros(64 * 3 + 64, "float32")
    start = -(memory.ctypes.data // 4) % 16
    a, b, c = (memory[start + k * 64:start + (k + 1) * 64].reshape(4, 16) for k in range(3))
    a[:], b[:] = random(4, 16), 1
    f(a, b, c)
    np.testing.assert_array_equal(c, a + 1)
    with pytest.raises(tw.UserError) as caught:
        f(a, np.zeros(80, "float32")[1:65].reshape(4, 16), c)
    assert caught.value.code == "argument-alignment"
    assert f"argument 'y' of '{add.name}': data is aligned to 4 bytes, expected 32" in str(caught.value)


def test_copies_of_operands_are_aligned():
    add, A, B, C = aligned_program(64)
    s = te.create_schedule(C.op)
    for t in (A, B):
        s.cache_read(t, "local", [C])
    s.cache_write(C, "local")
    f = tw.build(s, [A, B, C])
    memory = np.zeros(65, "float32")
    a = memory[1:].reshape(4, 16)
    a[:] = random(4, 16)
    c = np.zeros((4, 16), "float32")
    f(a, a, c)
    np.testing.assert_array_equal(c, a + a)


def test_the_tuner_leaves_calls_as_they_are():
    A, P, C, D = calls_between_stages()
    s = tw.autotune.prior_schedule(te.Program([A, D]))
    a = random(8, 64)
    np.testing.assert_allclose(run(s, [A, D], [a]), a * 3 + a + 1, rtol=1e-6)


def test_a_call_may_be_all_that_is_computed():
    add = vadd(16)
    A, B = te.placeholder((16,), name="A"), te.placeholder((16,), name="B")
    C = te.compute((16,), lambda: add(A, B), name="C")
    a, b = random(16), random(16)
    np.testing.assert_array_equal(run(te.create_schedule(C.op), [A, B, C], [a, b]), a + b)


def test_calls_of_several_results():
    x = te.placeholder((8,), name="x")
    more, twice = te.compute((8,), lambda i: (x[i] + 1, x[i] * 2), name="y")

    def statements(ins, outs):
        def store(ib, k):
            ib.emit(outs[0].vstore(k, ins[0].vload(k) + 1))
            ib.emit(outs[1].vstore(k, ins[0].vload(k) * 2))
        return loop([8], store)

    both = te.decl_tensor_intrin(more.op, statements, default_buffer_params={"offset_factor": 1})
    A = te.placeholder((4, 8), name="A")
    P, Q = te.compute((4, 8), lambda i: both(A[i]), name="PQ")
    D = te.compute((4, 8), lambda i, j: P[i, j] - Q[i, j], name="D")
    s = te.create_schedule(D.op)
    s[P].compute_at(s[D], D.op.axis[0])
    a = random(4, 8)
    np.testing.assert_allclose(run(s, [A, D], [a]), a + 1 - a * 2, rtol=1e-6)


def test_calls_in_the_steps_of_a_scan():
    add = vadd(16)
    X, S = te.placeholder((6, 16), name="X"), te.placeholder((6, 16), name="S")
    init = te.compute((1, 16), lambda _, i: X[0, i], name="init")
    update = te.compute((6, 16), lambda t: add(S[t - 1], X[t]), name="update")
    R = te.scan(init, update, S, inputs=[X], name="R")
    x = random(6, 16)
    np.testing.assert_allclose(run(te.create_schedule(R.op), [X, R], [x]), x.cumsum(0), rtol=1e-5)


@pytest.mark.parametrize("bind", ["vthread", "threadIdx.x", "blockIdx.x"])
@pytest.mark.parametrize("check_bounds", [False, True])
def test_scalars_that_are_read_where_threads_run(bind, check_bounds):
    it = scale_and_shift()
    A, S = te.placeholder((6, 8), name="A"), te.placeholder((6,), name="S")
    rows = te.placeholder((6,), dtype="int32", name="rows")
    C = te.compute((6, 2, 4), lambda i, j: it(S[rows[i]] * 1.5, A[i, j * 4:j * 4 + 4], te.exp(S[i])), name="C")
    s = te.create_schedule(C.op)
    i, j = C.op.axis[:2]
    s[C].reorder(j, i)
    s[C].bind(s[C].split(i, factor=3)[1], te.thread_axis(bind))
    a, v, picked = random(6, 8), random(6), np.array([5, 4, 3, 0, 0, 1], "int32")
    with tw.transform.PassContext(config={"check_bounds": check_bounds}):
        c = run(s, [A, S, rows, C], [a, v, picked])
    want = a * (v[picked] * 1.5)[:, None] + np.exp(v)[:, None]
    np.testing.assert_allclose(c, want.reshape(6, 2, 4), rtol=1e-5)


def test_a_cache_of_blocks_has_the_order_of_the_loops():
    it = scale_and_shift()
    A = te.placeholder((6, 8), name="A")
    C = te.compute((6, 2, 4), lambda i, j: it(2.0, A[i, j * 4:j * 4 + 4], 1.0), name="C")

    def split_by(factor):
        s = te.create_schedule(C.op)
        io, ii = s[C].split(C.op.axis[0], factor=factor)
        s[C].reorder(io, C.op.axis[1], ii)
        return s, s.cache_write(C, "local")

    s, cache = split_by(2)
    assert [int(e) for e in cache.shape] == [3, 2, 2, 4]
    a = random(6, 8)
    np.testing.assert_allclose(run(s, [A, C], [a]), (a * 2 + 1).reshape(6, 2, 4), rtol=1e-6)
    wrong("loops run beyond the tensor", lambda: split_by(4))
