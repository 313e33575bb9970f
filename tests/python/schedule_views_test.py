"""What scripts may look at in a schedule, by TVM's names."""

import numpy as np

import tilewright as tw
from tilewright import te


def test_bounds_relations_and_marks_can_be_looked_at():
    A = te.placeholder((3, 5, 4), name="A")
    k = te.reduce_axis((0, 5), name="k")
    C = te.compute((3, 4), lambda i, j: te.sum(A[i, k, j], axis=k), name="C")
    s = te.create_schedule(C.op)
    sums = s.cache_write(C, "local")
    io, ii = s[C].split(C.op.axis[0], factor=2)
    s[C].parallel(io)
    s[sums].compute_at(s[C], ii)
    (split,) = s[C].relations
    assert isinstance(split, te.schedule.Split) and split.inner.same_as(ii) and str(split.factor) == "2"
    assert split.nparts is None
    attrs = s[C].iter_var_attrs
    assert list(attrs) == [io] and attrs[io].iter_type == "parallel" and attrs[io].bind_thread is None
    bounds = te.schedule.InferBound(s)
    assert [int(bounds[a].extent) for a in (io, ii, C.op.axis[1])] == [2, 2, 4]
    assert [int(bounds[a].extent) for a in sums.op.axis] == [1, 4]
    assert s.stage_map[A.op].op == A.op and s.stage_map[C.op].leaf_iter_vars[0].same_as(io)
    assert C.axis == C.op.axis and C.reduce_axis[0].same_as(C.op.reduce_axis[0])


def test_plain_stages_are_inlined_at_once():
    A = te.placeholder((8, 8), name="A")
    P = te.compute((8, 8), lambda i, j: A[i, j] + 1, name="P")
    k = te.reduce_axis((0, 8), name="k")
    R = te.compute((8,), lambda i: te.sum(te.multiply(P[i, k], 2.0), axis=k), name="R")
    D = te.compute((8,), lambda i: te.subtract(te.add(R[i], P[i, 0]), 1.0), name="D")
    s = tw.topi.generic.schedule_injective(D)
    assert [s[t].attach_type for t in (P, R, D)] == ["inline", "root", "root"]
    a, d = np.random.default_rng(0).random((8, 8), dtype="float32"), np.zeros(8, "float32")
    tw.build(s, [A, D])(a, d)
    np.testing.assert_allclose(d, (a + 1).sum(1) * 2 + a[:, 0], rtol=1e-6)


def test_what_is_read_as_memory_is_not_inlined():
    A = te.placeholder((8, 16), name="A")
    x = te.placeholder((16,), name="x")
    y = te.compute((16,), lambda i: x[i] * 2, name="y")
    twice = te.decl_tensor_intrin(
        y.op, lambda ins, outs: outs[0].vstore(0, ins[0].vload(0, "float32x16") * 2.0),
        default_buffer_params={"offset_factor": 1})
    P = te.compute((8, 16), lambda i, j: A[i, j] + 1, name="P")
    C = te.compute((8, 16), lambda i: twice(P[i]), name="C")
    Q = te.compute((8, 16), lambda i, j: C[i, j] + 1, name="Q")
    E = te.extern((8, 16), [Q], lambda ins, outs: tw.tir.call_extern("int32", "f", ins[0].data, outs[0].data), name="E")
    s = tw.topi.generic.schedule_extern(E)
    assert {s[t].attach_type for t in (P, C, Q, E)} == {"root"} and s.check() == []

    S = te.placeholder((4, 16), name="S")
    init = te.compute((1, 16), lambda _, i: A[0, i], name="init")
    R = te.scan(init, te.compute((4, 16), lambda t, i: S[t - 1, i] + A[t, i], name="update"), S, inputs=[A], name="R")
    assert tw.topi.generic.default_schedule(R).check() == []


def test_a_schedule_by_the_functions_of_tvm():
    """As TVM's tests of bounds have it: a fused axis, split by a variable that only the schedule knows."""
    m, l, factor = te.var("m"), te.var("l"), te.var("factor")
    A = te.placeholder((m, l), name="A")
    B = te.compute((m, l), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute((m, l), lambda i, j: B[i, j] * B[i, j], name="C")
    s = te.create_schedule(C.op)
    outer, inner = s[C].split(s[C].fuse(*C.op.axis), factor)
    s[B].compute_at(s[C], outer)
    s = s.normalize()
    bounds = te.schedule.InferBound(s)
    text = str(te.schedule.ScheduleOps(s, bounds))
    assert text.index("produce C {") < text.index("produce B {") and "realize B" in text
    assert str(bounds[inner].extent) in text
    function = tw.build(s, [factor, A, C])
    for size, of in ((1, 1), (3, 4), (7, 100)):
        x = np.arange(size * 5, dtype="float32").reshape(size, 5)
        y = tw.nd.array(np.zeros_like(x))
        function(of, tw.nd.array(x), y)
        np.testing.assert_array_equal(y.numpy(), (x + 1) ** 2)
    graph = te.schedule.CreateReadGraph([C.op])
    assert graph == {C.op: [B], B.op: [A], A.op: []}
    assert te.schedule.PostDFSOrder([C.op], graph) == [A.op, B.op, C.op]


def test_loops_of_one_iteration_stay_where_asked_for():
    A = te.placeholder((1, 4), name="A")
    B = te.compute((1, 4), lambda i, j: A[i, j] + 1.0, name="B")
    s = te.create_schedule(B.op)
    assert "for (i, 0, 1)" in str(te.schedule.ScheduleOps(s, te.schedule.InferBound(s), True))
    assert "for (i" not in str(te.schedule.ScheduleOps(s, te.schedule.InferBound(s)))
