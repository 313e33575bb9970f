"""Extents of 0: loops that do not run, reductions that give what they begin with, arrays without elements."""

import numpy as np
import pytest

import tilewright as tw
from tilewright import te, topi


def matmul(rows, depth, columns):
    a, b = te.placeholder((rows, depth), name="a"), te.placeholder((depth, columns), name="b", constant=True)
    return a, b, topi.nn.relu(topi.add(topi.nn.matmul(a, b), 1.0))


def run(function, rows, depth, columns):
    out = np.full((rows, columns), 7, "float32")
    function(np.ones((rows, depth), "float32"), np.ones((depth, columns), "float32"), out)
    return out


def test_the_prior_and_the_tuner_have_something_to_build(tmp_path):
    for extents in [(0, 8, 4), (5, 0, 4), (5, 8, 0), (0, 0, 0)]:
        arguments = matmul(*extents)
        assert (run(tw.build(arguments), *extents) == 1).all()
        task = tw.autotune.make_task(arguments)
        log = tmp_path / f"{extents}.db"
        report = tw.autotune.tune(task, trials=2, log=log)
        assert report.tasks[0].trials >= 1
        with tw.autotune.apply_best(log):
            assert (run(tw.build(arguments), *extents) == 1).all()


def test_by_hand():
    a, b, c = matmul(5, 0, 0)
    product = c.op.input_tensors[0].op.input_tensors[0]
    s = te.create_schedule(c.op)
    outer, inner = s[c].split(s[c].op.axis[1], factor=8)
    s[c].parallel(s[c].fuse(s[c].op.axis[0], outer))
    s[c].vectorize(inner)
    s[c.op.input_tensors[0]].compute_inline()
    s[product].compute_at(s[c], inner)
    s[product].unroll(s[product].split(s[product].op.reduce_axis[0], nparts=4)[1])
    run(tw.build(s, [a, b, c]), 5, 0, 0)


CACHED = {
    "split into parts": lambda s, t: (s[t].split(t.op.axis[0], nparts=4), s.cache_write(t, "local")),
    "reordered and fused": lambda s, t: (s[t].reorder(*t.op.axis[::-1]), s[t].fuse(*t.op.axis[::-1]), s.cache_write(t, "local")),
    "stored as one dimension": lambda s, t: s[t].collapse_layout(*t.op.axis),
}


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (0, 0)])
@pytest.mark.parametrize("step", CACHED)
def test_positions_of_an_axis_without_any(shape, step):
    x = te.placeholder(shape, name="x")
    y = te.compute(shape, lambda i, j: x[i, j] * 2, name="y")
    z = te.compute(shape, lambda i, j: y[i, j] + 1, name="z")
    s = te.create_schedule(z.op)
    CACHED[step](s, y)
    assert s.check() == []
    tw.build(s, [x, z])(np.zeros(shape, "float32"), np.zeros(shape, "float32"))


def test_parts_of_a_reduction_over_nothing():
    x = te.placeholder((4, 0), name="x")
    k, l = te.reduce_axis((0, 4), name="k"), te.reduce_axis((0, 0), name="l")
    y = te.compute((2,), lambda i: te.sum(x[k, l], axis=[k, l]), name="y")
    s = te.create_schedule(y.op)
    s.rfactor(y, s[y].split(s[y].fuse(k, l), factor=3)[0])
    out = np.full(2, 7, "float32")
    tw.build(s, [x, y])(np.zeros((4, 0), "float32"), out)
    assert (out == 0).all()


def test_what_reductions_begin_with():
    k = te.reduce_axis((0, 0), name="k")
    x = te.placeholder((0,), name="x")
    for reduce, identity in [(te.sum, "0.000000f"), (te.max, "(float32)-inf"), (te.min, "(float32)inf")]:
        t = te.compute((), lambda: reduce(x[k], axis=k), name="t")  # noqa: B023
        assert f"t[0] = {identity}" in str(tw.lower(te.create_schedule(t.op), [x, t], simple_mode=True))


def test_arrays_without_elements():
    x = tw.nd.array(np.zeros((0, 3), "float32"))
    assert x.shape == (0, 3) and x.numpy().shape == np.from_dlpack(x).shape == (0, 3)
    y = te.compute((0, 3), lambda i, j: 1.0, name="y")
    tw.build(te.create_schedule(y.op), [y])(x)
