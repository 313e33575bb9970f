"""Operations of several outputs of which a program, or a build, uses some."""

import numpy
import pytest

import tilewright as tvm
import tilewright.testing
from tilewright import te, tir


def random(*shape):
    return numpy.random.default_rng(0).standard_normal(shape).astype("float32")


def run(s, args, *arrays):
    outs = [numpy.zeros([int(e) for e in t.shape], str(t.dtype)) for t in args[len(arrays):]]
    tvm.build(s, args)(*arrays, *outs)
    return outs[0] if len(outs) == 1 else outs


def tuple_compute():
    A = te.placeholder((6, 4), name="A")
    P, Q = te.compute((6, 4), lambda i, j: (A[i, j] + 1.0, A[i, j] * 2.0), name="P")
    a = random(6, 4)
    return A, (P, Q), a, (a + 1, a * 2)


def tuple_reduction():
    A = te.placeholder((6, 4), name="A")
    argmax = te.comm_reducer(
        lambda x, y: (tir.Select(x[1] >= y[1], x[0], y[0]), tir.Select(x[1] >= y[1], x[1], y[1])),
        lambda t0, t1: (tir.const(-1, t0), te.min_value(t1)), name="argmax")
    k = te.reduce_axis((0, 4), "k")
    T = te.compute((6,), lambda i: argmax((k.var, A[i, k]), axis=k), name="T")
    a = random(6, 4)
    return A, T, a, (a.argmax(1).astype("int32"), a.max(1))


def scan():
    X = te.placeholder((6, 4), name="X")
    states = [te.placeholder((6, 4), name=n) for n in "st"]
    inits = [te.compute((1, 4), lambda *i, c=c: X[0, i[1]] * c, name="init") for c in (1.0, 2.0)]
    first = te.compute((6, 4), lambda t, i: states[0][t - 1, i] + X[t, i], name="first")
    second = te.compute((6, 4), lambda t, i: states[1][t - 1, i] + states[0][t - 1, i], name="second")
    x = random(6, 4)
    s, t = x.copy(), 2 * x
    for k in range(1, 6):
        s[k], t[k] = s[k - 1] + x[k], t[k - 1] + s[k - 1]
    return X, te.scan(inits, [first, second], states, inputs=[X], name="R"), x, (s, t)


def extern():
    A = te.placeholder((6, 4), name="A")

    def rows(ins, outs):
        ib = tir.ir_builder.create()
        a, total, most = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0]), ib.buffer_ptr(outs[1])
        with ib.for_range(0, 6, "i") as i:
            total[i] = a[i, 0]
            most[i] = a[i, 0]
            with ib.for_range(1, 4, "j") as j:
                total[i] += a[i, j]
                most[i] = te.max(most[i], a[i, j])
        return ib.get()

    a = random(6, 4)
    return A, te.extern([(6,), (6,)], [A], rows, name="E"), a, (a.sum(1), a.max(1))


KINDS = [tuple_compute, tuple_reduction, scan, extern]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("used", [0, 1])
def test_a_build_of_one_output(kind, used):
    A, outputs, a, expected = kind()
    s = te.create_schedule(outputs[0].op)
    tvm.testing.assert_allclose(run(s, [A, outputs[used]], a), expected[used], rtol=1e-4)
    first, second = run(s, [A, *outputs], a)
    tvm.testing.assert_allclose(first, expected[0], rtol=1e-4)
    tvm.testing.assert_allclose(second, expected[1], rtol=1e-4)
    shown = str(tvm.lower(s, [A, outputs[used]], simple_mode=True))
    assert "allocate" in shown


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("used", [0, 1])
def test_a_consumer_of_one_output(kind, used):
    A, outputs, a, expected = kind()
    rank = len(outputs[used].shape)
    D = te.compute(outputs[used].shape, lambda *i: outputs[used](*i) + outputs[used].op.num_outputs, name="D")
    for tensors in ([A, D], [A, D, outputs[used]]):
        s = te.create_schedule(D.op)
        s[D].parallel(D.op.axis[0])
        got = run(s, tensors, a)
        tvm.testing.assert_allclose(got if len(tensors) == 2 else got[0], expected[used] + 2, rtol=1e-4)
    s = te.create_schedule(D.op)
    s[outputs[0]].compute_at(s[D], D.op.axis[rank - 1])
    if kind is not scan:  # its rows depend on each other
        tvm.testing.assert_allclose(run(s, [A, D], a), expected[used] + 2, rtol=1e-4)
    text = te.to_text([D])
    assert te.to_text(te.from_text(text)) == text
    tvm.testing.assert_allclose(run(tvm.autotune.prior_schedule([A, D]), [A, D], a), expected[used] + 2, rtol=1e-4)


@pytest.mark.parametrize("used", [0, 1])
def test_inlined(used):
    A, outputs, a, expected = tuple_compute()
    D = te.compute((6, 4), lambda i, j: outputs[used][i, j] * 3.0, name="D")
    s = te.create_schedule(D.op)
    s[outputs[0]].compute_inline()
    tvm.testing.assert_allclose(run(s, [A, D], a), 3 * expected[used], rtol=1e-6)


@pytest.mark.parametrize("used", [0, 1])
def test_caches_and_factors(used):
    A, outputs, a, expected = tuple_reduction()
    s = te.create_schedule(outputs[0].op)
    _, ki = s[outputs[0]].split(s[outputs[0]].op.reduce_axis[0], factor=2)
    partial = s.rfactor(list(outputs), ki)
    s[partial[0]].compute_at(s[outputs[0]], s[outputs[0]].op.axis[0])
    assert (run(s, [A, outputs[used]], a) == expected[used]).all()
    D = te.compute((6,), lambda i: outputs[used][i] * 2, name="D")
    s = te.create_schedule(D.op)
    s.cache_write(list(outputs), "local")
    s.cache_read(outputs[used], "local", [D])
    assert (run(s, [A, D], a) == 2 * expected[used]).all()


def test_an_operation_none_of_whose_outputs_is_given():
    A, (P, Q), _, _ = tuple_compute()
    C = te.compute((6, 4), lambda i, j: A[i, j] * 3.0, name="C")
    s = te.create_schedule([P.op, C.op])
    with pytest.raises(tvm.UserError, match="output 'P' is not among the arguments"):
        tvm.build(s, [A, C])
