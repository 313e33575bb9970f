"""Reducers of scripts (te.comm_reducer): what is computed is what the expression says, or refused."""

import numpy as np
import pytest

import tilewright as tw
from tilewright import te, tir

ROWS, TERMS = 6, 20


def horner(x, y):
    return x * 2 + y


def program(combine, identity=0):
    A = te.placeholder((ROWS, TERMS), dtype="int32", name="A")
    k = te.reduce_axis((0, TERMS), name="k")
    reducer = te.comm_reducer(combine, lambda t: tir.const(identity, t))
    B = te.compute((ROWS,), lambda i: reducer(A[i, k], axis=k), name="B")
    return A, B, te.create_schedule(B.op), k


def expect_right(A, B, s, combine, identity=0):
    a = np.random.default_rng(1).integers(-3, 4, (ROWS, TERMS), dtype="int32")
    b = tw.nd.array(np.zeros(ROWS, "int32"))
    tw.build(s, [A, B])(tw.nd.array(a), b)
    expected = np.full(ROWS, identity, "int32")
    for column in a.T:
        expected = combine(expected, column)
    np.testing.assert_array_equal(b.numpy(), expected)


@pytest.mark.parametrize("combine, identity", [(horner, 0), (lambda x, y: x - y, 0), (lambda x, y: x + y, 5)])
def test_terms_in_their_order_are_right_for_any_reducer(combine, identity):
    A, B, s, _ = program(combine, identity)
    expect_right(A, B, s, combine, identity)
    A, B, s, k = program(combine, identity)
    W = s.cache_write(B, "local")
    ko, ki = s[W].split(s[W].op.reduce_axis[0], factor=7)
    i = s[W].op.axis[0]
    s[W].reorder(ko, i, ki)
    s[W].vectorize(i)
    o, _ = s[B].split(B.op.axis[0], factor=4)
    s[W].compute_at(s[B], o)
    s[B].parallel(o)
    expect_right(A, B, s, combine, identity)
    A, B, s, k = program(combine, identity)
    s[B].bind(k, te.thread_axis("threadIdx.x"))
    expect_right(A, B, s, combine, identity)


def test_another_order_is_refused():
    A, B, s, k = program(horner)
    ko, ki = s[B].split(k, factor=4)
    s[B].reorder(ki, ko)
    with pytest.raises(tw.UserError, match="in another order than the expression") as error:
        tw.lower(s, [A, B])
    assert (error.value.code, error.value.stage, error.value.axis) == ("loop-order", "B", "k.inner")
    assert error.value.where.startswith("reducers_test.py:")
    assert error.value.legal == "the loops over terms in this order: k.outer, k.inner"
    assert [f.code for f in s.check()] == ["loop-order"]


def test_groups_are_refused():
    for combine, identity in ((lambda x, y: x - y, 0), (lambda x, y: x + y, 5)):
        A, B, s, k = program(combine, identity)
        ko, _ = s[B].split(k, factor=4)
        with pytest.raises(tw.UserError, match="when terms are taken in groups") as error:
            s.rfactor(B, ko)
        assert (error.value.code, error.value.stage, error.value.axis) == ("cannot-factor", "B", "k.outer")
        assert error.value.where.startswith("reducers_test.py:")
        expect_right(A, B, s, combine, identity)


def test_linear_recurrences_are_factored_in_their_order():
    """h = a*h + b, as pairs: associative, but not commutative."""
    A, X = (te.placeholder((ROWS, TERMS), dtype="int32", name=n) for n in "AX")
    k = te.reduce_axis((0, TERMS), name="k")
    reducer = te.comm_reducer(
        lambda x, y: (x[0] * y[0], x[1] * y[0] + y[1]), lambda t, u: (tir.const(1, t), tir.const(0, u))
    )
    P, H = te.compute((ROWS,), lambda i: reducer((A[i, k], X[i, k]), axis=k), name="H")
    s = te.create_schedule(H.op)
    ko, ki = s[H].split(k, factor=6)
    with pytest.raises(tw.UserError) as error:
        s.rfactor([P, H], ki)
    assert error.value.legal.startswith("rfactor of 'k.outer', the outermost loop over terms")
    F = s.rfactor([P, H], ko)
    s[F[0]].parallel(s[F[0]].op.axis[0])
    a, x = np.random.default_rng(1).integers(-2, 3, (2, ROWS, TERMS), dtype="int32")
    p, h = (tw.nd.array(np.zeros(ROWS, "int32")) for _ in range(2))
    tw.build(s, [A, X, P, H])(tw.nd.array(a), tw.nd.array(x), p, h)
    expected = np.zeros(ROWS, "int32")
    for t in range(TERMS):
        expected = a[:, t] * expected + x[:, t]
    np.testing.assert_array_equal(h.numpy(), expected)
    np.testing.assert_array_equal(p.numpy(), a.prod(1))


def test_functions_of_other_arguments():
    a = te.placeholder((8,), name="A")
    k = te.reduce_axis((0, 8), "k")
    zero = lambda t: te.const(0, t)
    wrong = (
        (lambda x: x, zero, a[k], "fcombine is a function of (x), and is called with 2 values"),
        (lambda x, y: x + y, lambda: 0, a[k], "fidentity is a function of (), and is called with 1 values"),
        (lambda x, y: x, lambda t, u: (0, 0), a[k], "fidentity is a function of (t, u), and is called with 1 values"),
        (lambda x, y: (x, y), zero, a[k], "fcombine of 'r' gives a tuple of 2 values"),
        (lambda x, y: x[0] + y[0], lambda t, u: (0, 0), (a[k], a[k]), "fcombine of 'r' gives"),
        (lambda x, y: (x[0], y[1]), lambda t, u: 0, (a[k], a[k]), "fidentity of 'r' gives int 0"),
        (lambda x, y: (x[0],), lambda t, u: (0, 0), (a[k], a[k]), "fcombine of 'r' gives a tuple of 1 values"),
    )
    for fcombine, fidentity, expr, what in wrong:
        with pytest.raises(tw.UserError) as error:
            te.comm_reducer(fcombine, fidentity, name="r")(expr, axis=k)
        assert (error.value.code, error.value.what[:len(what)]) == ("type-mismatch", what)
        assert error.value.legal and error.value.where.startswith("reducers_test.py:")
    total = te.comm_reducer(lambda x, y=0, *more: x + y, lambda *types: 0)
    te.compute((1,), lambda i: total(a[k], axis=k))
