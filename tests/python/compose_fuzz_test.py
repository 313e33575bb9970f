"""Random compositions of primitives on scans, externs, scripts, ragged reductions and conditions, against NumPy.

What `check` says is held to be all: a schedule that it finds nothing wrong with is built, and computes what NumPy does;
one that it finds something wrong with is refused.
"""

import os
import random

import numpy as np
import pytest

import tilewright as tw
from tilewright import te, tir

CASES = int(400 * float(os.environ.get("TW_FUZZ_SCALE", "1")))
FIRST = 1_000_003 * int(os.environ.get("TW_FUZZ_SEED", "1"))


class Case:
    """A program: its inputs with their values, the output and what it is, and tensors for a schedule to name."""

    def __init__(self, draw):
        self.draw, self.inputs, self.arrays, self.tensors = draw, [], [], {}

    def input(self, name, shape, low=-5, high=6):
        self.inputs.append(te.placeholder(shape, "int32", name))
        self.arrays.append(np.random.default_rng(self.draw.randrange(1 << 30)).integers(low, high, shape).astype("int32"))
        self.tensors[name] = self.inputs[-1]
        return self.inputs[-1], self.arrays[-1]

    def tensor(self, name, shape, f):
        self.tensors[name] = te.compute(shape, f, name=name)
        return self.tensors[name]


def scan(case):
    """A recurrence of two stages, of which some have all rows given, and a reader of it."""
    steps, width, back = case.draw.choice([1, 2, 5, 7]), case.draw.choice([1, 4, 5]), case.draw.choice([1, 2])
    given = case.draw.randint(1, min(steps, 2))
    X, x = case.input("X", (steps, width))
    state = case.tensors["state"] = te.placeholder((steps, width), "int32", "state")
    init = case.tensor("init", (given, width), lambda t, i: X[t, i])
    g = case.tensor("g", (steps, width), lambda t, i: state[t - 1, i] * 2 + state[te.max(t - back, 0), i])
    update = case.tensor("update", (steps, width), lambda t, i: g[t, i] - X[t, i])
    result = case.tensors["scan"] = te.scan(init, update, state, inputs=[X], name="scan")
    out = case.tensor("out", (steps, width), lambda t, i: result[t, i] + result[steps - 1 - t, i])
    y = x.copy()
    for t in range(given, steps):
        y[t] = y[t - 1] * 2 + y[max(t - back, 0)] - x[t]
    return out, y + y[::-1]


def rows_of_data(case):
    """A recurrence that reads the sum of all earlier rows, or a row that data names."""
    steps, width = case.draw.choice([1, 3, 6]), case.draw.choice([2, 5])
    by_data = case.draw.random() < 0.5
    X, x = case.input("X", (steps, width))
    state = case.tensors["state"] = te.placeholder((steps, width), "int32", "state")
    init = case.tensor("init", (1, width), lambda t, i: X[t, i])
    if by_data:
        I, places = case.input("I", (width,))
        g = case.tensor("g", (steps, width), lambda t, i: state[te.max(te.min(I[i], t - 1), 0), i])
    else:
        g = case.tensor("g", (steps, width), lambda t, i: (lambda k: te.sum(state[k, i], axis=k))(te.reduce_axis((0, t), "k")))
    update = case.tensor("update", (steps, width), lambda t, i: g[t, i] + X[t, i])
    result = case.tensors["scan"] = te.scan(init, update, state, inputs=[X], name="scan")
    out = case.tensor("out", (steps, width), lambda t, i: result[t, i] - 1)
    y = x.copy()
    for t in range(1, steps):
        y[t] += y[np.clip(places, 0, t - 1), np.arange(width)] if by_data else y[:t].sum(0)
    return out, y - 1


def statements(case):
    """An extern of two outputs between computes, with a loop of any kind."""
    rows, columns = case.draw.choice([1, 4, 7]), case.draw.choice([1, 4, 8])
    kind = case.draw.choice(["serial", "parallel", "unroll", "vectorize"])
    A, a = case.input("A", (rows, columns))
    P = case.tensor("P", (rows, columns), lambda i, j: A[i, j] * 2)

    def body(ins, outs):
        ib = tir.ir_builder.create()
        p, c, sums = (ib.buffer_ptr(b) for b in (*ins, *outs))
        with ib.for_range(0, rows, "i", kind="parallel" if kind == "parallel" else "serial") as i:
            sums[i] = 0
            with ib.for_range(0, columns, "j", kind="serial" if kind == "parallel" else kind) as j:
                c[i, j] = p[i, j] + j
            with ib.for_range(0, columns, "j") as j:
                sums[i] = sums[i] + p[i, j]
        return ib.get()

    C, S = te.extern([(rows, columns), (rows,)], [P], body, name="C", dtype="int32")
    case.tensors.update(C=C, S=S)
    out = case.tensor("out", (rows, columns), lambda i, j: C[i, j] * S[i] + C[i, columns - 1 - j])
    c = 2 * a + np.arange(columns, dtype="int32")
    return out, c * (2 * a).sum(1, dtype="int32", keepdims=True) + c[:, ::-1]


@te.hybrid.script
def reversed_rows(a):
    c = output_tensor((a.shape[0], a.shape[1]), "int32")  # noqa: F821
    for i in bind("blockIdx.x", a.shape[0]):  # noqa: F821
        for j in bind("threadIdx.x", a.shape[1]):  # noqa: F821
            c[i, j] = a[i, a.shape[1] - 1 - j] * 2
    return c


def script(case):
    A, a = case.input("A", (case.draw.choice([1, 3]), case.draw.choice([4, 5])))
    P = case.tensor("P", A.shape, lambda i, j: A[i, j] + 1)
    C = case.tensors["C"] = reversed_rows(P)
    return case.tensor("out", A.shape, lambda i, j: C[i, j] - A[i, j]), (a + 1)[:, ::-1] * 2 - a


def triangle(case):
    n = case.draw.choice([1, 4, 7])
    A, a = case.input("A", (n, n))
    P = case.tensor("P", (n, n), lambda i, j: A[i, j] + 2)
    C = case.tensor("C", (n, n), lambda i, j: (lambda k: te.sum(P[i, k] * A[k, j], axis=k))(te.reduce_axis((0, i + 1), "k")))
    return case.tensor("out", (n, n), lambda i, j: C[i, j] * 2), (np.tril(a + 2) @ a) * 2


def sparse_rows(case):
    n, entries = case.draw.choice([1, 5, 6]), 7
    R, ends = case.input("R", (n + 1,), 0, entries + 1)
    ends.sort()
    V, v = case.input("V", (entries,))
    P = case.tensor("P", (entries,), lambda i: V[i] * 3)
    C = case.tensor("C", (n,), lambda i: (lambda k: te.sum(P[R[i] + k], axis=k))(te.reduce_axis((0, R[i + 1] - R[i]), "k")))
    sums = np.array([3 * v[ends[i]:ends[i + 1]].sum() for i in range(n)], "int32")
    return case.tensor("out", (n, 2), lambda i, j: C[i] + j), sums[:, None] + np.arange(2, dtype="int32")


def condition(draw, places, depth=2):
    """A likely condition of positions, and the same of arrays."""
    if depth and draw.random() < 0.5:
        (a, x), (b, y) = (condition(draw, places, depth - 1) for _ in range(2))
        return (tir.all(a, b), x & y) if draw.random() < 0.5 else (tir.any(a, b), x | y)
    axis, array, extent = draw.choice(places)
    limit = draw.randint(-1, extent + 1)
    if draw.random() < 0.3:  # a diagonal
        other, values, _ = draw.choice(places)
        axis, array, limit = axis - other, array - values, draw.randint(-2, 2)
    compare = draw.choice([lambda p: p < limit, lambda p: p >= limit, lambda p: p == limit, lambda p: p != limit])
    return compare(axis), compare(array)


def conditions(case):
    rows, columns = case.draw.choice([5, 10, 23]), case.draw.choice([4, 11, 17])
    A, a = case.input("A", (rows, columns))
    i_of, j_of = np.indices((rows, columns))
    found = []

    def element(i, j):
        test, mask = condition(case.draw, [(i, i_of, rows), (j, j_of, columns)])
        found.append(mask)
        return te.if_then_else(te.likely(test), A[i, j], A[i, j] * 2 - 1)

    C = case.tensor("C", (rows, columns), element)
    return case.tensor("out", (rows, columns), lambda i, j: C[i, j] + 1), np.where(found[0], a, a * 2 - 1) + 1


PROGRAMS = [scan, rows_of_data, statements, script, triangle, sparse_rows, conditions]


def steps(case, s):
    """What may be done to a stage of the case; each may be refused."""
    draw, tensors = case.draw, case.tensors
    any_of = lambda: draw.choice(list(tensors.values()))
    add = lambda name, tensor: tensors.setdefault(f"{name}{len(tensors)}", tensor[0] if isinstance(tensor, list) else tensor)
    loop = lambda t: draw.choice(list(s[t].leaf_iter_vars))
    place = lambda: (lambda t: (s[t], loop(t)))(any_of())
    thread = lambda: te.thread_axis(draw.choice(["blockIdx.x", "threadIdx.x", "threadIdx.y", "vthread"]))

    def reorder(t):
        loops = list(s[t].leaf_iter_vars)
        draw.shuffle(loops)
        s[t].reorder(*loops)

    def fuse(t):
        loops = list(s[t].leaf_iter_vars)
        k = draw.randrange(len(loops) - 1)
        s[t].fuse(loops[k], loops[k + 1])

    return [
        lambda t: s[t].split(loop(t), **{draw.choice(["factor", "nparts"]): draw.randint(1, 5)}),
        fuse, reorder,
        lambda t: getattr(s[t], draw.choice(["vectorize", "unroll", "parallel"]))(loop(t)),
        lambda t: s[t].compute_at(*place()),
        lambda t: s[t].compute_inline(),
        lambda t: add("w", s.cache_write(t, draw.choice(["local", "shared", "global"]))),
        lambda t: add("r", s.cache_read(t, draw.choice(["local", "shared"]), [any_of()])),
        lambda t: add("f", s.rfactor(t, loop(t))),
        lambda t: s[t].bind(loop(t), thread()),
        lambda t: s[t].double_buffer(),
        lambda t: s[t].storage_align(loop(t), 8, draw.choice([0, 2])),
        lambda t: s[t].prefetch(any_of(), loop(t), 1),
        lambda t: s.create_group(outputs=t, inputs=any_of()).compute_at(*place()),
        lambda t: s[t].set_store_predicate(thread().var.equal(0)),
        lambda t: s[t].env_threads([te.thread_axis((0, 4), "threadIdx.x")]),
    ]


def attempt(seed):
    case = Case(random.Random(seed))
    out, expected = PROGRAMS[seed % len(PROGRAMS)](case)
    s = te.create_schedule(out.op)
    primitives = steps(case, s)
    for _ in range(case.draw.randint(2, 14)):
        tensor = case.draw.choice(list(case.tensors.values()))
        try:
            case.draw.choice(primitives)(tensor)
        except (tw.UserError, IndexError, ValueError):  # the latter where a stage has too few loops
            pass
    findings = s.check()
    try:
        f = tw.build(s, [*case.inputs, out])
    except tw.UserError as error:
        assert findings, f"{error} was not found\n{s.trace}"
        return False
    assert not findings, f"{findings[0]} is built\n{s.trace}"
    result = np.full(expected.shape, 77, "int32")
    f(*case.arrays, result)
    np.testing.assert_array_equal(result, expected, err_msg=f"seed {seed}\n{s.trace}")
    return True


@pytest.mark.parametrize("part", range(8))
def test_compositions_compute_what_numpy_does(part):
    seeds = range(FIRST + part, FIRST + CASES, 8)
    built = sum(attempt(seed) for seed in seeds)
    assert built > len(seeds) / 4
