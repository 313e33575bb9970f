"""Scans, externs, hybrid scripts and tuple reductions, written as for TVM 0.8."""

import numpy
import pytest

import tilewright as tvm
import tilewright.testing
from tilewright import te, topi


def run(s, args, *arrays):
    """Builds the schedule and calls it with the arrays; the outputs are those left, as NumPy arrays."""
    f = tvm.build(s, args, target="llvm")
    outputs = [numpy.zeros([int(e) for e in t.shape], str(t.dtype)) for t in args[len(arrays):]]
    handles = [tvm.nd.array(a) for a in (*arrays, *outputs)]
    f(*handles)
    results = [h.numpy() for h in handles[len(arrays):]]
    return results[0] if len(results) == 1 else results


def random(*shape):
    return numpy.random.default_rng(0).standard_normal(shape).astype("float32")


def test_a_cumulative_sum_of_any_size():
    m, n = te.var("m"), te.var("n")
    X = te.placeholder((m, n), name="X")
    s_state = te.placeholder((m, n))
    s_init = te.compute((1, n), lambda _, i: X[0, i])
    s_update = te.compute((m, n), lambda t, i: s_state[t - 1, i] + X[t, i])
    s_scan = te.scan(s_init, s_update, s_state, inputs=[X])
    s = te.create_schedule(s_scan.op)
    xo, xi = s[s_init].split(s_init.op.axis[1], factor=4)
    uo, ui = s[s_update].split(s_update.op.axis[1], factor=4)
    s[s_update].vectorize(ui)
    f = tvm.build(s, [X, s_scan])
    for rows, columns in ((7, 5), (1, 3), (12, 16)):
        x = random(rows, columns)
        out = tvm.nd.array(numpy.zeros_like(x))
        f(tvm.nd.array(x), out)
        tvm.testing.assert_allclose(out.numpy(), numpy.cumsum(x, 0), rtol=1e-4)


def test_a_cell_of_several_stages():
    m, n = 10, 6
    X = te.placeholder((m, n), name="X")
    s_state = te.placeholder((m, n))
    s_init = te.compute((1, n), lambda _, i: X[0, i])
    s_update_s1 = te.compute((m, n), lambda t, i: s_state[t - 1, i] * 2, name="s1")
    s_update_s2 = te.compute((m, n), lambda t, i: s_update_s1[t, i] + X[t, i], name="s2")
    s_scan = te.scan(s_init, s_update_s2, s_state, inputs=X)
    s = te.create_schedule(s_scan.op)
    s[s_update_s1].compute_at(s[s_update_s2], s_update_s2.op.axis[1])
    x = numpy.arange(m * n).reshape(m, n).astype("float32")
    expected = x.copy()
    for t in range(1, m):
        expected[t] += 2 * expected[t - 1]
    tvm.testing.assert_allclose(run(s, [X, s_scan], x), expected)


def test_two_states_and_what_they_are_fixed_in():
    m, n, k = 6, 4, 3
    s_state1, s_state2 = te.placeholder((m, n)), te.placeholder((m, k))
    s_init1 = te.compute((1, n), lambda _, i: te.const(1.0))
    s_init2 = te.compute((1, k), lambda _, i: te.const(2.0))
    s_update1 = te.compute((m, n), lambda t, i: s_state1[t - 1, i] + 1)
    r = te.reduce_axis((0, n), "r")
    s_update2 = te.compute((m, k), lambda t, i: te.sum(s_state1[t - 1, r], axis=r))
    r0, r1 = te.scan([s_init1, s_init2], [s_update1, s_update2], [s_state1, s_state2])
    assert r0.op.fixed_axes == [[False], [True]] and r0.op.scan_axis.var.name == "scan.idx"
    assert r1.value_index == 1 and r0.op.num_outputs == 2 and repr(r0.op) == "scan(scan)"
    a, b = run(te.create_schedule(r0.op), [r0, r1])
    assert (a == 1 + numpy.arange(m)[:, None]).all()
    assert (b[1:] == n * (1 + numpy.arange(m - 1))[:, None]).all()


def lstm(steps=5, batch=2, hidden=8):
    Xi2h = te.placeholder((steps, batch, 4, hidden), name="Xi2h")
    Wh2h = te.placeholder((4, hidden, hidden), name="Wh2h")
    s_state_h = te.placeholder((steps, batch, hidden))
    s_state_c = te.placeholder((steps, batch, hidden))
    s_init_c = te.compute((1, batch, hidden), lambda *i: 0.0, name="init_c")
    s_init_h = te.compute((1, batch, hidden), lambda *i: 0.0, name="init_h")
    k = te.reduce_axis((0, hidden), name="ki2h")
    s_h2h = te.compute(
        (steps, batch, 4, hidden),
        lambda t, i, x, j: te.sum(s_state_h[t - 1, i, k] * Wh2h[x, j, k], axis=k), name="s_h2h")
    gates = te.compute(Xi2h.shape, lambda *i: Xi2h(*i) + s_h2h(*i), name="gates")
    gshape = (steps, batch, hidden)
    in_gate = te.compute(gshape, lambda t, i, j: te.sigmoid(gates[t, i, 0, j]), name="in_gate")
    in_transform = te.compute(gshape, lambda t, i, j: te.tanh(gates[t, i, 1, j]), name="in_transform")
    forget_gate = te.compute(gshape, lambda t, i, j: te.sigmoid(gates[t, i, 2, j]), name="forget_gate")
    out_gate = te.compute(gshape, lambda t, i, j: te.sigmoid(gates[t, i, 3, j]), name="out_gate")
    next_c = te.compute(
        gshape, lambda t, i, j: forget_gate[t, i, j] * s_state_c[t - 1, i, j] + in_gate[t, i, j] * in_transform[t, i, j],
        name="next_c")
    next_h = te.compute(gshape, lambda t, i, j: out_gate[t, i, j] * te.tanh(next_c[t, i, j]), name="next_h")
    update_c = te.compute(gshape, lambda *i: next_c(*i), name="update_c")
    update_h = te.compute(gshape, lambda *i: next_h(*i), name="update_h")
    scan_h, scan_c = te.scan(
        [s_init_h, s_init_c], [update_h, update_c], [s_state_h, s_state_c], inputs=[Xi2h], name="lstm_scan")
    return locals()


def lstm_of_numpy(x, w):
    steps, batch, _, hidden = x.shape
    h, c = (numpy.zeros((steps, batch, hidden), "float32") for _ in range(2))
    sigmoid = lambda v: 1 / (1 + numpy.exp(-v))
    for t in range(1, steps):
        gates = x[t] + numpy.einsum("bk,xjk->bxj", h[t - 1], w)
        c[t] = sigmoid(gates[:, 2]) * c[t - 1] + sigmoid(gates[:, 0]) * numpy.tanh(gates[:, 1])
        h[t] = sigmoid(gates[:, 3]) * numpy.tanh(c[t])
    return h


def test_an_lstm_with_an_inlined_cell():
    p = lstm()
    s = te.create_schedule(p["scan_h"].op)
    for gate in ("gates", "in_gate", "in_transform", "forget_gate", "out_gate"):
        s[p[gate]].compute_inline()
    sums = s.cache_write(p["s_h2h"], "local")
    s[sums].compute_at(s[p["s_h2h"]], s[p["s_h2h"]].op.axis[2])
    s[p["s_h2h"]].vectorize(s[p["s_h2h"]].op.axis[3])
    update = s[p["update_h"]]
    update.parallel(update.op.axis[1])
    x, w = random(5, 2, 4, 8), random(4, 8, 8)
    h, _ = run(s, [p["Xi2h"], p["Wh2h"], p["scan_h"], p["scan_c"]], x, w)
    tvm.testing.assert_allclose(h, lstm_of_numpy(x, w), rtol=1e-4, atol=1e-5)


def test_an_lstm_as_it_is_written():
    p = lstm()
    x, w = random(5, 2, 4, 8), random(4, 8, 8)
    h, _ = run(te.create_schedule(p["scan_h"].op), [p["Xi2h"], p["Wh2h"], p["scan_h"], p["scan_c"]], x, w)
    tvm.testing.assert_allclose(h, lstm_of_numpy(x, w), rtol=1e-4, atol=1e-5)


def test_a_scan_is_text():
    p = lstm(3, 1, 2)
    text = te.to_text([p["scan_h"]])
    assert te.to_text(te.from_text(text)) == text and "scan(init=[init_h, init_c]" in text


def test_an_extern_of_an_ir_builder():
    n, factor = 24, 2
    A = te.placeholder((n,), name="A")

    def extern_generator(ins, outs):
        ib = tvm.tir.ir_builder.create()
        with ib.for_range(0, n // factor, "i", kind="parallel") as i:
            a, c = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
            with ib.for_range(0, factor, "j", kind="vectorize") as j:
                c[i * factor + j] = a[i * factor + j] + 1
        return ib.get()

    C = te.extern(A.shape, [A], extern_generator, name="C")
    s = te.create_schedule(C.op)
    a = random(n)
    tvm.testing.assert_allclose(run(s, [A, C], a), a + 1)
    text = te.to_text([C])
    assert te.to_text(te.from_text(text)) == text


def test_a_while_loop_of_an_ir_builder():
    A = te.placeholder((1,), "int32", name="A")

    def digits(ins, outs):
        ib = tvm.tir.ir_builder.create()
        a, c = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        rest = ib.allocate("int32", (1,), name="rest")
        rest[0], c[0] = a[0], 0
        with ib.while_loop(rest[0] > 0):
            c[0] += 1
            rest[0] = rest[0] // 10
        return ib.get()

    C = te.extern((1,), [A], digits, name="C")
    f = tvm.build(te.create_schedule(C.op), [A, C])
    out = numpy.zeros(1, "int32")
    for value in (0, 7, 10, 123456789):
        f(numpy.array([value], "int32"), out)
        assert out[0] == (len(str(value)) if value else 0)
    assert "while ((rest[0] > 0))" in te.to_text([C])
    with pytest.raises(tvm.UserError, match="scan_extern_test.*a while loop over a condition of type int32; legal: a comparison"):
        with tvm.tir.ir_builder.create().while_loop(A[0]):
            pass


def test_an_extern_between_computes_with_several_outputs():
    A = te.placeholder((4, 6), name="A")
    B = te.compute((4, 6), lambda i, j: A[i, j] * 2, name="B")

    def rows(ins, outs):
        ib = tvm.tir.ir_builder.create()
        b, total, greatest = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0]), ib.buffer_ptr(outs[1])
        with ib.for_range(0, 4, "i") as i:
            best = ib.allocate("float32", (1,), "best")
            total[i] = 0.0
            best[0] = b[i, 0]
            with ib.for_range(0, 6, "j") as j:
                total[i] = total[i] + b[i, j]
                with ib.if_scope(ib.likely(b[i, j] > best[0])):
                    best[0] = b[i, j]
            greatest[i] = best[0]
        return ib.get()

    total, greatest = te.extern([(4,), (4,)], [B], rows, name="rows")
    D = te.compute((4,), lambda i: total[i] - greatest[i], name="D")
    s = te.create_schedule(D.op)
    s[B].parallel(B.op.axis[0])
    a = random(4, 6)
    tvm.testing.assert_allclose(run(s, [A, D], a), (2 * a).sum(1) - (2 * a).max(1), rtol=1e-5)


def test_an_extern_in_place():
    A = te.placeholder((5,), name="A")
    a_buffer = te.decl_buffer((5,), name="a")
    out_buffer = te.decl_buffer((5,), name="out", data=a_buffer.data)

    def prefix(ins, outs):
        ib = tvm.tir.ir_builder.create()
        p = ib.buffer_ptr(outs[0])
        with ib.for_range(1, 5, "i") as i:
            p[i] = p[i] + p[i - 1]
        return ib.get()

    C = te.extern((5,), [A], prefix, in_buffers=[a_buffer], out_buffers=[out_buffer])
    a = random(5)
    tvm.testing.assert_allclose(run(te.create_schedule(C.op), [A, C], a), numpy.cumsum(a), rtol=1e-5)


def test_an_extern_that_calls_a_function_of_the_c_library():
    A = te.placeholder((8,), name="A")
    C = te.extern(
        (8,), [A], lambda ins, outs: tvm.tir.call_extern(
            "handle", "memcpy", outs[0].access_ptr("w"), ins[0].access_ptr("r"), tvm.tir.const(32, "int64")), name="C")
    a = random(8)
    assert (run(te.create_schedule(C.op), [A, C], a) == a).all()
    with pytest.raises(tvm.UserError, match="a call of 'memcpy'"):
        te.to_text([C])


def test_what_an_extern_reads_is_tested_on_demand():
    A = te.placeholder((4,), "int32", name="A")

    def gather(ins, outs):
        ib = tvm.tir.ir_builder.create()
        a, c = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        with ib.for_range(0, 4, "i") as i:
            c[i] = a[a[i]]
        return ib.get()

    C = te.extern((4,), [A], gather, name="C")
    s = te.create_schedule(C.op)
    with tvm.transform.PassContext(config={"check_bounds": True}):
        f = tvm.build(s, [A, C])
    out = tvm.nd.array(numpy.zeros(4, "int32"))
    f(tvm.nd.array(numpy.array([3, 2, 1, 0], "int32")), out)
    assert out.numpy().tolist() == [0, 1, 2, 3]
    with pytest.raises(tvm.UserError, match="'A'.* is not from 0 to 4 - 1"):
        f(tvm.nd.array(numpy.array([3, 2, 1, 9], "int32")), out)


def test_wrong_externs():
    A = te.placeholder((4,), name="A")
    B = te.placeholder((4,), "int32", name="B")
    nothing = lambda ins, outs: tvm.tir.const(0)
    with pytest.raises(tvm.UserError, match="no dtype is given, and the inputs are of float32, int32"):
        te.extern((4,), [A, B], nothing)
    with pytest.raises(tvm.UserError, match="2 dtypes for 1 outputs"):
        te.extern((4,), [A], nothing, dtype=["int32", "int32"])
    with pytest.raises(tvm.UserError, match="fcompute"):
        te.extern((4,), [A], lambda ins, outs: None)
    with pytest.raises(tvm.UserError, match="extent 0 of buffer 'buffer' is declared as 5, and is 4 of the tensor"):
        te.extern((4,), [A], nothing, in_buffers=te.decl_buffer((5,)))


def test_argmax_in_the_old_style():
    def fcombine(x, y):
        lhs = tvm.tir.Select((x[1] >= y[1]), x[0], y[0])
        rhs = tvm.tir.Select((x[1] >= y[1]), x[1], y[1])
        return lhs, rhs

    def fidentity(t0, t1):
        return tvm.tir.const(-1, t0), tvm.te.min_value(t1)

    argmax = te.comm_reducer(fcombine, fidentity, name="argmax")
    m, n = te.var("m"), te.var("n")
    idx = te.placeholder((m, n), name="idx", dtype="int32")
    val = te.placeholder((m, n), name="val", dtype="float32")
    k = te.reduce_axis((0, n), "k")
    T0, T1 = te.compute((m,), lambda i: argmax((idx[i, k], val[i, k]), axis=k), name="T")
    s = te.create_schedule(T0.op)
    ko, ki = s[T0].split(k, factor=4)
    f = tvm.build(s, [idx, val, T0, T1])
    v = random(6, 11)
    i = numpy.tile(numpy.arange(11, dtype="int32"), (6, 1))
    outs = [tvm.nd.array(numpy.zeros(6, t)) for t in ("int32", "float32")]
    f(tvm.nd.array(i), tvm.nd.array(v), *outs)
    assert (outs[0].numpy() == v.argmax(1)).all() and (outs[1].numpy() == v.max(1)).all()


def test_argmax_in_factors():
    argmax = te.comm_reducer(
        lambda x, y: (tvm.tir.Select(x[1] >= y[1], x[0], y[0]), tvm.tir.Select(x[1] >= y[1], x[1], y[1])),
        lambda t0, t1: (tvm.tir.const(-1, t0), tvm.te.min_value(t1)), name="argmax")
    A = te.placeholder((6, 12), name="A")
    k = te.reduce_axis((0, 12), "k")
    T0, T1 = te.compute((6,), lambda i: argmax((k.var, A[i, k]), axis=k), name="T")
    s = te.create_schedule(T0.op)
    _, ki = s[T0].split(k, factor=4)
    BF0, BF1 = s.rfactor([T0, T1], ki)
    s[BF0].compute_at(s[T0], s[T0].op.axis[0])
    a = random(6, 12)
    at, best = run(s, [A, T0, T1], a)
    assert (at == a.argmax(1)).all() and (best == a.max(1)).all()


def test_rows_of_a_sparse_matrix():
    rows, entries = 5, 12
    data = te.placeholder((entries,), name="data")
    columns = te.placeholder((entries,), "int32", name="columns")
    indptr = te.placeholder((rows + 1,), "int32", name="indptr")
    x = te.placeholder((7,), name="x")

    def product(ins, outs):
        ib = tvm.tir.ir_builder.create()
        d, c, p, v, y = [ib.buffer_ptr(b) for b in (*ins, outs[0])]
        with ib.for_range(0, rows, "row", kind="parallel") as row:
            y[row] = 0.0
            with ib.for_range(0, p[row + 1] - p[row], "k") as k:
                y[row] += d[p[row] + k] * v[c[p[row] + k]]
        return ib.get()

    y = te.extern((rows,), [data, columns, indptr, x], product, dtype="float32", name="y")
    pointers = numpy.array([0, 3, 3, 7, 8, 12], "int32")
    at = (numpy.arange(entries) * 5 % 7).astype("int32")
    d, v = random(entries), random(7)
    expected = [sum(d[k] * v[at[k]] for k in range(pointers[r], pointers[r + 1])) for r in range(rows)]
    tvm.testing.assert_allclose(
        run(te.create_schedule(y.op), [data, columns, indptr, x, y], d, at, pointers, v), expected, rtol=1e-5)


def test_tag_scopes():
    A = te.placeholder((4,), name="A")
    with te.tag_scope(tag="mine"):
        B = te.compute((4,), lambda i: A[i] + 1)
        C = te.compute((4,), lambda i: A[i] + 1, tag="own")
        with pytest.raises(tvm.UserError, match="inside that of 'mine'"):
            with te.tag_scope("other"):
                pass

    @te.tag_scope(tag="decorated")
    def made(x):
        return te.compute((4,), lambda i: x[i] * 2)

    assert (B.op.tag, C.op.tag, made(A).op.tag, te.compute((4,), lambda i: A[i]).op.tag) == ("mine", "own", "decorated", "")


def test_topi_beside_a_scan_as_written_and_as_the_prior_schedules_it():
    X = te.placeholder((6, 16), name="X")
    Y = topi.nn.relu(X)
    state = te.placeholder((6, 16))
    init = te.compute((1, 16), lambda _, i: Y[0, i])
    update = te.compute((6, 16), lambda t, i: te.max(state[t - 1, i], Y[t, i]))
    Z = topi.add(te.scan(init, update, state), X)
    x = random(6, 16)
    expected = numpy.maximum.accumulate(numpy.maximum(x, 0), 0) + x
    for s in (te.create_schedule(Z.op), tvm.autotune.prior_schedule([X, Z])):
        tvm.testing.assert_allclose(run(s, [X, Z], x), expected)


def test_the_prior_leaves_an_extern_as_it_is():
    A = te.placeholder((32, 48), name="A")
    B = topi.nn.relu(A)

    def reverse(ins, outs):
        ib = tvm.tir.ir_builder.create()
        b, c = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        with ib.for_range(0, 32, "i") as i:
            with ib.for_range(0, 48, "j") as j:
                c[i, j] = b[31 - i, j]
        return ib.get()

    C = topi.sum(te.extern((32, 48), [B], reverse), axis=1)
    a = random(32, 48)
    tvm.testing.assert_allclose(
        run(tvm.autotune.prior_schedule([A, C]), [A, C], a), numpy.maximum(a, 0)[::-1].sum(1), rtol=1e-5)


def test_dimensions_of_a_step_stay_apart():
    parts = lstm()
    s = te.create_schedule(parts["scan_h"].op)
    gates = s[parts["gates"]]
    with pytest.raises(tvm.UserError, match="in each step of 'lstm_scan', for rows of that step only") as info:
        gates.collapse_layout(gates.op.axis[0], gates.op.axis[1])
    assert info.value.code == "bad-argument" and info.value.stage == "gates"


def test_an_lstm_is_tuned_in_its_steps(tmp_path):
    parts = lstm(steps=4, batch=2, hidden=16)
    arguments = [parts["Xi2h"], parts["Wh2h"], parts["scan_h"]]  # the other state is the kernel's own
    log = tmp_path / "lstm.db"
    report = tvm.autotune.tune(arguments, log, trials=6, batch=3, threads=2, workers=2)
    assert report.tasks[0].trials == 6 and 0 < report.tasks[0].best_seconds <= report.tasks[0].untuned_seconds
    x, w = random(4, 2, 4, 16), random(4, 16, 16) / 4
    out = numpy.zeros((4, 2, 16), "float32")
    with tvm.autotune.apply_best(log):
        tvm.build(arguments)(x, w, out)
    tvm.testing.assert_allclose(out, lstm_of_numpy(x, w), rtol=1e-3, atol=1e-5)
    shown = str(tvm.autotune.prior_schedule(arguments).trace)
    assert shown.count("vectorize") >= 4 and "compute_inline" in shown


@pytest.mark.parametrize("rows, given", [(1, 1), (2, 2), (3, 3), (3, 2)])
def test_rows_that_are_all_given(rows, given):
    X = te.placeholder((rows, 5), name="X")
    state = te.placeholder((rows, 5), name="state")
    init = te.compute((given, 5), lambda t, i: X[t, i], name="init")
    update = te.compute((rows, 5), lambda t, i: state[t - 1, i] + X[t, i], name="update")
    scan = te.scan(init, update, state, inputs=[X], name="scan")
    double = te.compute((rows, 5), lambda t, i: scan[t, i] * 2, name="double")
    x = random(rows, 5)
    expected = x.copy()
    for t in range(given, rows):
        expected[t] += expected[t - 1]

    def cache(s):
        s[s.cache_write(update, "local")].compute_at(s[update], update.op.axis[1])

    def in_its_consumer(s):
        if s.outputs[0].op.name == "double":
            s[scan].compute_at(s[double], double.op.axis[1])

    for primitives in (lambda s: None, in_its_consumer, lambda s: s[update].split(update.op.axis[1], factor=2), cache,
                       lambda s: s[s.cache_read(state, "local", [update])].compute_at(s[update], update.op.axis[1])):
        for output, factor in ((scan, 1), (double, 2)):
            s = te.create_schedule(output.op)
            primitives(s)
            assert s.check() == []
            tvm.testing.assert_allclose(run(s, [X, output], x), expected * factor, rtol=1e-5)
    wide = te.compute((given, 5), lambda t, i: X[t + rows, i], name="wide")
    outside = te.scan(wide, update, state, inputs=[X])
    with pytest.raises(tvm.UserError, match="index 0 of 'X'"):
        tvm.build(te.create_schedule(outside.op), [X, outside])


def test_the_axis_of_statements():
    A = te.placeholder((4,), name="A")
    E = te.extern((4,), [A], lambda ins, outs: tvm.tir.ir_builder.create().get(), name="E")
    for of in (E, E.op):
        with pytest.raises(tvm.UserError, match="computed by statements, whose loops are no axes"):
            of.axis


def reading(row, rows=8):
    """A scan over rows of 4, whose update is row(state, t, i, I) for a tensor I of integers."""
    X, I = te.placeholder((rows, 4), name="X"), te.placeholder((4,), "int32", name="I")
    state = te.placeholder((rows, 4), name="state")
    init = te.compute((1, 4), lambda t, i: X[t, i], name="init")
    update = te.compute((rows, 4), lambda t, i: row(state, t, i, I), name="update")
    scan = te.scan(init, update, state, inputs=[X], name="scan")
    return X, I, scan, te.create_schedule(scan.op)


def terms(extent):
    return te.reduce_axis((0, extent), "k")


EARLIER = {
    "the one before": lambda s, t, i, I: s[t - 1, i],
    "a half": lambda s, t, i, I: s[t // 2, i],
    "two before": lambda s, t, i, I: te.if_then_else(t >= 2, s[t - 2, i], 0.0),
    "of data, bounded": lambda s, t, i, I: s[te.max(te.min(I[i], t - 1), 0), i],
    "of data, modulo": lambda s, t, i, I: s[I[i] % t, i],
    "of data, tested": lambda s, t, i, I: te.if_then_else(tvm.tir.all(I[i] >= 0, I[i] < t), s[I[i], i], 0.0),
    "all before": lambda s, t, i, I: (lambda k: te.sum(s[k, i], axis=k))(terms(t)),
    "those before": lambda s, t, i, I: (lambda k: te.sum(s[k, i], axis=k, where=k < t))(terms(8)),
    "a column of data": lambda s, t, i, I: s[t - 1, I[i] % 4],
}
LATER = {
    "of data": lambda s, t, i, I: s[I[i], i],
    "of data, bounded by its own": lambda s, t, i, I: s[te.min(I[i], t), i],
    "of data, tested too late": lambda s, t, i, I: te.if_then_else(I[i] <= t, s[I[i], i], 0.0),
    "its own at times": lambda s, t, i, I: te.if_then_else(t > 2, s[t, i], 0.0),
    "those up to its own": lambda s, t, i, I: (lambda k: te.sum(s[k, i], axis=k, where=k <= t))(terms(8)),
}


@pytest.mark.parametrize("rows", ["constant", "symbolic"])
def test_rows_that_are_provably_earlier(rows):
    n = te.var("n") if rows == "symbolic" else 8
    for name, row in EARLIER.items():
        X, I, scan, s = reading(row, n)
        assert s.check() == [], name
    for name, row in LATER.items():
        X, I, scan, s = reading(row, n)
        (finding,) = s.check()
        assert (finding.code, finding.stage, finding.axis) == ("uninitialized-read", "update", "scan.idx"), name
        assert "of the state 'state' may be read before 'scan' has computed it" in finding.what
        assert "te.min" in finding.legal


def test_rows_of_data_are_read():
    X, I, scan, s = reading(lambda s, t, i, I: s[te.max(te.min(I[i], t - 1), 0), i] * 2)
    x, places = random(8, 4), numpy.array([3, 0, -7, 100], "int32")
    expected = x.copy()
    for t in range(1, 8):
        expected[t] = [2 * expected[max(min(p, t - 1), 0), i] for i, p in enumerate(places)]
    f = tvm.build(s, [X, I, scan])
    out = tvm.nd.array(numpy.zeros_like(x))
    f(tvm.nd.array(x), tvm.nd.array(places), out)
    tvm.testing.assert_allclose(out.numpy(), expected)


def test_a_cache_of_loops_fused_over_steps():
    """In its order rows of other steps lie between those of one. What would be legal is said, and is: the cache first."""
    def scan_of():
        A, init, state = te.placeholder((7, 9), "int32"), te.placeholder((1, 9), "int32"), te.placeholder((7, 9), "int32")
        k = te.reduce_axis((0, 9), "k")
        total = te.compute((7, 9), lambda t, i: te.sum(state[te.max(t - 1, 0), k], axis=k), "total")
        update = te.compute((7, 9), lambda t, i: (total[t, i] + A[t, i]) % 97)
        scan = te.scan(init, update, state, [A])
        s = te.create_schedule(scan.op)
        partial = s.rfactor(total, s[total].split(s[total].op.reduce_axis[0], 3)[0])
        return A, init, scan, s, partial

    A, init, scan, s, partial = scan_of()
    s[partial].fuse(*s[partial].op.axis[:2])
    s.cache_write(partial, "local")
    (finding,) = s.check()
    assert finding.code == "uninitialized-read" and finding.legal.endswith("cache_write before loops over steps are fused")
    A, init, scan, s, partial = scan_of()
    s.cache_write(partial, "local")
    s[partial].fuse(*s[partial].op.axis[:2])
    a, first = (numpy.random.default_rng(0).integers(0, 50, shape).astype("int32") for shape in ((7, 9), (1, 9)))
    expected = numpy.concatenate([first, numpy.zeros((6, 9), "int32")])
    for t in range(1, 7):
        expected[t] = (expected[t - 1].sum() + a[t]) % 97
    out = tvm.nd.array(numpy.zeros((7, 9), "int32"))
    tvm.build(s, [A, init, scan])(tvm.nd.array(a), tvm.nd.array(first), out)
    assert numpy.array_equal(out.numpy(), expected)


def test_a_cache_may_hold_more_rows_than_are_read():
    X, I, scan, s = reading(lambda s, t, i, I: s[t - 1, i] + s[te.max(t - 2, 0), i])
    update = next(st for st in s.stages if st.name == "update")
    state = next(st for st in s.stages if st.name == "state").op.output(0)
    cache = s.cache_read(state, "local", [update.op.output(0)])
    s[cache].compute_at(update, update.op.axis[1])
    assert s.check() == []
    x = random(8, 4)
    expected = x.copy()
    for t in range(1, 8):
        expected[t] = expected[t - 1] + expected[max(t - 2, 0)]
    tvm.testing.assert_allclose(run(s, [X, scan], x), expected, rtol=1e-5)


def cached_step(rows, back, schedule):
    X, state = te.placeholder((rows, 8), name="X"), te.placeholder((rows, 8), name="state")
    init = te.compute((1, 8), lambda t, i: X[0, i], name="init")
    step = te.compute((rows, 8), lambda t, i: state[t - back, i] + X[t, i], name="step")
    update = te.compute((rows, 8), lambda t, i: step[t, i] * 2, name="update")
    scan = te.scan(init, update, state, inputs=[X], name="scan")
    s = te.create_schedule(scan.op)
    schedule(s, step)
    return X, scan, s


def split_time(s, step):
    s[step].split(step.op.axis[0], factor=4)
    s.cache_write(step, "local")


def split_both(s, step):
    s[step].split(step.op.axis[0], factor=4)
    outer, inner = s[step].split(step.op.axis[1], factor=3)
    s[step].reorder(inner, outer)
    cache = s.cache_write(step, "local")
    s[cache].vectorize(s[cache].op.axis[3])


def fused(s, step):
    s[step].split(s[step].fuse(*step.op.axis), factor=8)
    s.cache_write(step, "local")


@pytest.mark.parametrize("schedule", [split_time, split_both, fused])
def test_caches_of_steps_that_factors_do_not_divide(schedule):
    for rows in (1, 6, 9):
        X, scan, s = cached_step(rows, 1, schedule)
        assert s.check() == []
        x = random(rows, 8)
        expected = x.copy()
        for t in range(1, rows):
            expected[t] = 2 * (expected[t - 1] + x[t])
        tvm.testing.assert_allclose(run(s, [X, scan], x), expected, rtol=1e-4)
    for rows in (6, 9):
        _, _, s = cached_step(rows, 2, schedule)
        assert [f.code for f in s.check()] == ["out-of-bounds"], rows
