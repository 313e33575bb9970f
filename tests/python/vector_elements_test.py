"""Tensors whose elements are vectors: te, schedules, machine code, and what is refused."""

import numpy
import pytest

import tilewright as tvm
import tilewright.testing
from tilewright import te, tir

LANES = 4


def random(*shape):
    return numpy.random.default_rng(0).integers(-8, 9, shape).astype("float32")


def run(s, args, *arrays):
    """Builds the schedule and calls it; the last of the arguments is the output, with its lanes."""
    output = tvm.nd.empty([int(e) for e in args[-1].shape], str(args[-1].dtype))
    tvm.build(s, args)(*map(tvm.nd.array, arrays), output)
    return output.numpy()


def check(s, args, expected, *arrays):
    got = run(s, args, *arrays)
    assert got.shape == expected.shape
    tvm.testing.assert_allclose(got, expected, rtol=1e-5)


def matmul(n=6, m=5, k=7, dtype="float32x4"):
    A = te.placeholder((n, k), name="A", dtype="float32")
    B = te.placeholder((k, m), name="B", dtype=dtype)
    r = te.reduce_axis((0, k), name="r")
    return A, B, te.compute((n, m), lambda i, j: te.sum(A[i, r] * B[r, j], axis=r), name="C")


def of_numpy(a, b):
    return numpy.einsum("ik,kjl->ijl", a, b)


def test_elements_of_a_vector_type():
    n = te.var("n")
    A = te.placeholder((n,), name="A", dtype="float32x4")
    B = te.compute((n,), lambda i: A[i] * 2.0 + 1.0, name="B")
    assert (A.dtype, B.dtype) == ("float32x4", "float32x4")
    s = te.create_schedule(B.op)
    outer, inner = s[B].split(B.op.axis[0], factor=4)
    s[B].parallel(outer)
    s[B].unroll(inner)
    f = tvm.build(s, [A, B])
    a = random(10, LANES)
    b = tvm.nd.array(numpy.zeros_like(a))
    f(tvm.nd.array(a), b)
    tvm.testing.assert_allclose(b.numpy(), a * 2 + 1)
    assert tvm.nd.empty((3, 2), "float32x4").shape == (3, 2, 4)
    text = te.to_text([B])
    assert "A = placeholder(float32x4, [n])" in text and te.to_text(te.from_text(text)) == text


@pytest.mark.parametrize("reducer, of", [(te.sum, "sum"), (te.max, "max"), (te.min, "min"), (te.prod, "prod")])
@pytest.mark.parametrize("dtype", ["float32x4", "int32x8", "float64x2", "int8x16", "float16x4", "uint8x3"])
def test_reductions(reducer, of, dtype):
    element, lanes = dtype.split("x")
    A = te.placeholder((5, 9), name="A", dtype=dtype)
    k = te.reduce_axis((0, 9), name="k")
    B = te.compute((5,), lambda i: reducer(A[i, k], axis=k), name="B")
    a = numpy.random.default_rng(1).integers(1, 3, (5, 9, int(lanes))).astype(element)
    expected = getattr(numpy, of)(a.astype("int64"), axis=1).astype(element)
    s = te.create_schedule(B.op)
    assert (run(s, [A, B], a) == expected).all()
    outer, inner = s[B].split(k, factor=4)
    partial = s.rfactor(B, inner)
    s[partial].unroll(s[partial].op.axis[-1])
    assert (run(s, [A, B], a) == expected).all()


def test_a_matrix_of_vectors_by_every_primitive():
    a, b = random(6, 7), random(7, 5, LANES)
    expected = of_numpy(a, b)
    A, B, C = matmul()
    s = te.create_schedule(C.op)
    check(s, [A, B, C], expected, a, b)
    local = s.cache_write(C, "local")
    outer, _, inner, j = s[C].tile(C.op.axis[0], C.op.axis[1], 4, 2)
    s[local].compute_at(s[C], inner)
    r = s[local].op.reduce_axis[0]
    ro, ri = s[local].split(r, factor=3)
    s[local].reorder(ro, s[local].op.axis[1], ri)
    s[local].unroll(ri)
    s[C].parallel(outer)
    shared = s.cache_read(B, "local", [local])
    s[shared].compute_at(s[local], ro)
    s[shared].storage_align(shared.op.axis[0], 8, 3)
    check(s, [A, B, C], expected, a, b)
    shown = str(tvm.lower(s, [A, B, C], simple_mode=True))
    assert "parallel" in shown and "C.local[ramp(" in shown


def test_operations_are_counted_by_lanes():
    of_type = lambda dtype: te.from_text(te.to_text([matmul(dtype=dtype)[2]])).operations
    assert of_type("float32") == 2 * 6 * 5 * 7 and of_type("float32x4") == 4 * of_type("float32")


def test_layouts_prefetches_and_constants():
    a, b = random(6, 7), random(7, 5, LANES)
    A, B, C = matmul()
    D = te.compute(C.shape, lambda i, j: te.max(C[i, j], 0.0), name="D")
    s = te.create_schedule(D.op)
    s[C].transform_layout(C.op.axis[1], 2, [1, 0, 2])
    s[C].prefetch(B, s[C].op.reduce_axis[0], 1)
    check(s, [A, B, D], numpy.maximum(of_numpy(a, b), 0), a, b)

    W = te.placeholder((7, 5), "float32x4", name="W", constant=True)
    r = te.reduce_axis((0, 7), name="r")
    E = te.compute((6, 5), lambda i, j: te.sum(A[i, r] * W[r, j], axis=r), name="E")
    s = te.create_schedule(E.op)
    packed = s.cache_read(W, "global", [E])
    s[packed].precompute()
    out = numpy.zeros((6, 5, LANES), "float32")
    tvm.build(s, [A, E], constants={W: b})(a, out)
    tvm.testing.assert_allclose(out, of_numpy(a, b))


def test_a_line_of_the_cache_has_four_vectors():
    A, B, C = matmul(m=9)
    s = te.create_schedule(C.op)
    s[C].prefetch(B, C.op.axis[0], 0)
    shown = str(tvm.lower(s, [A, B, C], simple_mode=True))
    assert [f"prefetch(B[{at}]" in shown for at in ("(row*36)", "((row*36) + 16)", "((row*36) + 32)")] == [True] * 3
    assert shown.count("prefetch(") == 3


def test_a_reducer_of_ones_own_over_tuples():
    A = te.placeholder((3, 8), name="A", dtype="int32x4")
    k = te.reduce_axis((0, 8), name="k")
    both = te.comm_reducer(
        lambda x, y: (te.max(x[0], y[0]), x[1] + y[1]),
        lambda t0, t1: (te.min_value("int32"), te.const(0, t1)), name="both")
    M, S = te.compute((3,), lambda i: both((A[i, k], A[i, k] * A[i, k]), axis=k), name="M")
    s = te.create_schedule(M.op)
    a = random(3, 8, 4).astype("int32")
    m, q = numpy.zeros((2, 3, 4), "int32")
    tvm.build(s, [A, M, S])(a, m, q)
    assert (m == a.max(1)).all() and (q == (a * a).sum(1)).all()


def test_lanes_taken_and_joined():
    A = te.placeholder((6,), name="A", dtype="float32x4")
    B = te.compute((6,), lambda i: tir.Shuffle([A[i]], [2]), name="B")  # one lane of each
    C = te.compute((6,), lambda i: tir.Shuffle([A[i]], [3, 2, 1, 0]) + B[i], name="C")
    assert (B.dtype, C.dtype) == ("float32", "float32x4")
    a = random(6, LANES)
    check(te.create_schedule(C.op), [A, C], a[:, ::-1] + a[:, 2:3], a)


def test_choices_lane_by_lane():
    A = te.placeholder((6,), name="A", dtype="float32x4")
    B = te.compute((6,), lambda i: tir.all(A[i] > -4.0, A[i] < 4.0), name="B")
    C = te.compute((6,), lambda i: tir.if_then_else(B[i], tir.Select(A[i] > 0.0, A[i], 0.0 - A[i]), 9.0), name="C")
    D = te.compute((6,), lambda i: te.exp(C[i].astype("float64") * 0.5).astype("float32"), name="D")
    assert (B.dtype, C.dtype) == ("boolx4", "float32x4")
    a = random(6, LANES)
    inside = (a > -4) & (a < 4)
    s = te.create_schedule([B.op, D.op])
    b, d = tvm.nd.empty((6,), "boolx4"), tvm.nd.empty((6,), "float32x4")
    tvm.build(s, [A, B, D])(a, b, d)
    assert (b.numpy() == inside).all()
    tvm.testing.assert_allclose(d.numpy(), numpy.exp(numpy.where(inside, abs(a), 9) * 0.5), rtol=1e-6)


def test_scans_and_externs_of_vectors():
    X = te.placeholder((5, 3), name="X", dtype="float32x4")
    state = te.placeholder((5, 3), "float32x4")
    init = te.compute((1, 3), lambda _, i: X[0, i])
    update = te.compute((5, 3), lambda t, i: state[t - 1, i] + X[t, i])
    sums = te.scan(init, update, state, inputs=[X])

    def doubled(ins, outs):
        ib = tir.ir_builder.create()
        x, y = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        held = ib.allocate("float32x4", (1,), "held")
        with ib.for_range(0, 5, "i") as i, ib.for_range(0, 3, "j") as j:
            held[0] = x[i, j] * 2.0
            y[i, j] = held[0]
        return ib.get()

    twice = te.extern((5, 3), [sums], doubled, dtype="float32x4")
    x = random(5, 3, LANES)
    check(te.create_schedule(twice.op), [X, twice], 2 * numpy.cumsum(x, 0), x)
    with tvm.transform.PassContext(config={"check_bounds": True}):
        check(te.create_schedule(twice.op), [X, twice], 2 * numpy.cumsum(x, 0), x)



def test_an_address_counts_vectors():
    A = te.placeholder((3,), name="A", dtype="float32x4")
    # All but the first vector, into the place before.
    C = te.extern((2,), [A], lambda ins, outs: tir.call_extern(
        "handle", "memcpy", outs[0].access_ptr("w"), ins[0].access_ptr("r", offset=1), tir.const(32, "int64")), name="C")
    a = random(3, LANES)
    check(te.create_schedule(C.op), [A, C], a[1:], a)


def test_there_are_no_vectors_of_vectors():
    A, B, C = matmul()
    s = te.create_schedule(C.op)
    _, inner = s[C].split(C.op.axis[1], factor=2)
    s[C].vectorize(inner)
    (finding,) = s.check()
    assert (finding.code, finding.stage, finding.axis) == ("type-mismatch", "C", "j.inner")
    assert "vector_elements_test.py:" in finding.where and "float32x4" in finding.what
    with pytest.raises(tvm.UserError, match="a vectorized loop over elements of type float32x4") as info:
        tvm.build(s, [A, B, C])
    assert info.value.code == "type-mismatch"


def test_an_intrinsic_is_of_scalars():
    x = te.placeholder((4,), "float32x4", name="x")
    y = te.compute((4,), lambda i: x[i] * 2.0, name="y")
    with pytest.raises(tvm.UserError, match="elements of 'x' are float32x4") as info:
        te.decl_tensor_intrin(y.op, lambda ins, outs: tir.call_extern("int32", "f", outs[0].access_ptr("w")), "test_of_vectors")
    assert info.value.code == "bad-intrinsic"


def test_what_runs_inside_a_vectorized_loop():
    A = te.placeholder((8,), name="A", dtype="float32x4")
    B = te.compute((8,), lambda i: A[i] * 2.0, name="B")
    C = te.compute((8,), lambda i: tir.Shuffle([B[i]], [0]), name="C")
    s = te.create_schedule(C.op)
    s[B].compute_at(s[C], C.op.axis[0])
    s[C].vectorize(C.op.axis[0])
    assert {f.code for f in s.check()} == {"type-mismatch"}


def test_arrays_that_do_not_fit():
    A = te.placeholder((4,), name="A", dtype="float32x4")
    B = te.compute((4,), lambda i: A[i] + 1.0, name="B")
    f = tvm.build(te.create_schedule(B.op), [A, B])
    for wrong, code in ((numpy.zeros(16, "float32"), "argument-shape"), (numpy.zeros((4, 3), "float32"), "argument-shape"),
                        (numpy.zeros((4, 4), "float64"), "argument-dtype")):
        with pytest.raises(tvm.UserError) as info:
            f(wrong, numpy.zeros((4, 4), "float32"))
        assert info.value.code == code, info.value


def test_the_tuner_takes_scalars():
    A = te.placeholder((4,), name="A", dtype="float32x4")
    B = te.compute((4,), lambda i: A[i] + 1.0, name="B")
    with pytest.raises(tvm.UserError, match="tuning of elements of type float32x4") as info:
        tvm.autotune.make_task([A, B])
    assert info.value.code == "type-mismatch"
