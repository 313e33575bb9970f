"""Reductions that are longer for one element than for another: triangles, and sparse matrices by rows."""

import numpy as np
import pytest

import tilewright as tw
from tilewright import te

N, COLUMNS, ENTRIES = 37, 24, 200


def sparse(seed=0):
    """Row pointers, columns and values; some rows are empty."""
    random = np.random.default_rng(seed)
    ends = np.sort(random.integers(0, ENTRIES, N - 1))
    rows = np.concatenate([[0], ends, [ENTRIES]]).astype("int32")
    return rows, random.integers(0, COLUMNS, ENTRIES).astype("int32"), random.standard_normal(ENTRIES).astype("float32")


def dense(rows, columns, values):
    result = np.zeros((N, COLUMNS), "float32")
    for i in range(N):
        for k in range(rows[i], rows[i + 1]):
            result[i, columns[k]] += values[k]
    return result


def matrix_vector():
    """As topi.nn.sparse_dense of TVM: the axis is made where the row is known."""
    rows, columns = te.placeholder((N + 1,), "int32", "rows"), te.placeholder((ENTRIES,), "int32", "columns")
    values, x = te.placeholder((ENTRIES,), name="values"), te.placeholder((COLUMNS,), name="x")

    def row(i):
        k = te.reduce_axis((0, rows[i + 1] - rows[i]), name="k")
        at = rows[i] + k
        return te.sum(values[at] * x[columns[at]], axis=k)

    return rows, columns, values, x, te.compute((N,), row, name="y")


def plain(s, y):
    pass


def split(s, y):
    s[y].split(y.op.reduce_axis[0], 4)


def partial_sums(s, y):
    outer, inner = s[y].split(y.op.reduce_axis[0], 8)
    partial = s.rfactor(y, inner)
    s[partial].compute_at(s[y], y.op.axis[0])
    s[y].parallel(y.op.axis[0])


def by_columns(s, y):
    cache = s.cache_write(y, "local")
    outer, inner = s[y].split(y.op.axis[0], 5)
    s[cache].compute_at(s[y], outer)
    s[y].vectorize(inner)


@pytest.mark.parametrize("schedule", [plain, split, partial_sums, by_columns])
def test_rows_of_a_sparse_matrix(schedule):
    *inputs, y = matrix_vector()
    s = te.create_schedule(y.op)
    schedule(s, y)
    multiply = tw.build(s, [*inputs, y])
    rows, columns, values = sparse()
    x = np.random.default_rng(1).standard_normal(COLUMNS).astype("float32")
    out = np.full(N, np.nan, "float32")
    multiply(rows, columns, values, x, out)
    np.testing.assert_allclose(out, dense(rows, columns, values) @ x, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("schedule", [plain, split, partial_sums, by_columns])
def test_lower_triangle(schedule):
    a, x = te.placeholder((N, N), name="a"), te.placeholder((N,), name="x")

    def row(i):
        k = te.reduce_axis((0, i + 1), name="k")
        return te.sum(a[i, k] * x[k], axis=k)

    y = te.compute((N,), row, name="y")
    s = te.create_schedule(y.op)
    schedule(s, y)
    random = np.random.default_rng(2)
    matrix, vector = random.standard_normal((N, N)).astype("float32"), random.standard_normal(N).astype("float32")
    out = np.full(N, np.nan, "float32")
    tw.build(s, [a, x, y])(matrix, vector, out)
    np.testing.assert_allclose(out, np.tril(matrix) @ vector, rtol=1e-4, atol=1e-5)


def test_parts_of_a_row_are_cached():
    rows, columns = te.placeholder((N + 1,), "int32", "rows"), te.placeholder((ENTRIES,), "int32", "columns")
    values, x = te.placeholder((ENTRIES,), name="values"), te.placeholder((COLUMNS,), name="x")

    def row(i):
        k = te.reduce_axis((rows[i], rows[i + 1]), name="k")
        return te.sum(values[k] * x[columns[k]], axis=k)

    y = te.compute((N,), row, name="y")
    s = te.create_schedule(y.op)
    block, _ = s[y].split(y.op.axis[0], 8)
    outer, _ = s[y].split(y.op.reduce_axis[0], 4)
    for tensor in (values, columns):
        s[s.cache_read(tensor, "local", [y])].compute_at(s[y], outer)
    s[y].parallel(block)
    assert "allocate values.local[float32 * 4]" in str(tw.lower(s, [rows, columns, values, x, y], simple_mode=True))
    pointers, indices, data = sparse()
    vector = np.random.default_rng(1).standard_normal(COLUMNS).astype("float32")
    out = np.full(N, np.nan, "float32")
    tw.build(s, [rows, columns, values, x, y])(pointers, indices, data, vector, out)
    np.testing.assert_allclose(out, dense(pointers, indices, data) @ vector, rtol=1e-4, atol=1e-5)


def test_text_holds_the_ends():
    *_, y = matrix_vector()
    text = te.to_text(te.Program([y]))
    assert "reduce [k: (rows((i + 1)) - rows(i))]" in text
    assert te.to_text(te.from_text(text)) == text


def test_loops_over_data_inside_need_a_longest():
    *inputs, y = matrix_vector()
    s = te.create_schedule(y.op)
    outer, inner = s[y].split(y.op.axis[0], 5)
    s[y].reorder(outer, y.op.reduce_axis[0], inner)
    with pytest.raises(tw.UserError) as error:
        tw.lower(s, [*inputs, y])
    assert error.value.code == "loop-order"
    assert error.value.legal == "an order with i.inner outside of k"


def test_an_axis_of_a_tensor_has_one_length():
    *_, y = matrix_vector()
    s = te.create_schedule(y.op)
    with pytest.raises(tw.UserError) as error:
        s.rfactor(y, y.op.reduce_axis[0])
    assert error.value.code == "cannot-factor"
    assert error.value.legal == "split it by a factor, and rfactor of the inner loop"


def many_columns():
    """Rows of a sparse matrix by a dense one: the dense axis is the same for all rows."""
    rows, columns = te.placeholder((N + 1,), "int32", "rows"), te.placeholder((ENTRIES,), "int32", "columns")
    values, x = te.placeholder((ENTRIES,), name="values"), te.placeholder((COLUMNS, 40), name="x")

    def element(i, j):
        k = te.reduce_axis((0, rows[i + 1] - rows[i]), name="k")
        return te.sum(values[rows[i] + k] * x[columns[rows[i] + k], j], axis=k)

    return rows, columns, values, x, te.compute((N, 40), element, name="y")


@pytest.mark.parametrize("program", [matrix_vector, many_columns])
def test_untuned_and_tuned(program, tmp_path):
    """Candidates run on rows and columns that there may be, and are right; without a log there is a schedule too."""
    tensors = list(program())
    rows, columns, values = sparse()
    x = np.random.default_rng(1).standard_normal([int(e) for e in tensors[3].shape]).astype("float32")
    task = tw.autotune.make_task(tensors)
    untuned = tw.build(tensors)
    tw.autotune.tune(task, trials=24, log=tmp_path / "log.db")
    records = tw.autotune.Log(tmp_path / "log.db").records()
    assert len(records) >= 2  # there are few divisors of 37
    assert all(r.ok for r in records), [r.message for r in records]
    with tw.autotune.apply_best(tmp_path / "log.db"):
        tuned = tw.build(tensors)
    for multiply in (untuned, tuned):
        out = np.full([int(e) for e in tensors[4].shape], np.nan, "float32")
        multiply(rows, columns, values, x, out)
        np.testing.assert_allclose(out, dense(rows, columns, values) @ x, rtol=1e-4, atol=1e-5)


def fused_inside(s, C):
    i, j = C.op.axis
    k, = C.op.reduce_axis
    s[C].reorder(k, i, j)
    return k, s[C].fuse(i, j)


def split_of_fused(s, C):
    k, fused = fused_inside(s, C)
    outer, inner = s[C].split(fused, factor=3)
    s[C].unroll(inner)
    s[C].reorder(outer, k, inner)


def turned(s, C):
    i, j = C.op.axis
    k, = C.op.reduce_axis
    s[C].reorder(k, j, i)
    s[C].fuse(j, i)


def split_rows(s, C):
    i, j = C.op.axis
    k, = C.op.reduce_axis
    outer, inner = s[C].split(i, factor=3)
    s[C].reorder(outer, k, inner, j)
    s[C].fuse(inner, j)


def in_a_consumer(s, C):
    fused_inside(s, C)
    D, = (stage.op.output(0) for stage in s.stages if stage.name == "D")
    s[C].compute_at(s[D], s[D].split(D.op.axis[0], factor=2)[0])


@pytest.mark.parametrize("schedule", [fused_inside, split_of_fused, turned, split_rows, in_a_consumer])
@pytest.mark.parametrize("size", ["constant", "symbolic"])
def test_fused_loops_inside_of_a_triangle(schedule, size):
    n = 7 if size == "constant" else te.var("n")
    A = te.placeholder((n, n), "int32", name="A")

    def product(i, j):
        k = te.reduce_axis((0, i + 1), "k")
        return te.sum(A[i, k] * A[k, j], axis=k)

    C = te.compute((n, n), product, name="C")
    D = te.compute((n, n), lambda i, j: C[i, j] + 1, name="D")
    s = te.create_schedule(D.op)
    schedule(s, C)
    assert s.check() == []
    f = tw.build(s, [A, D])
    for m in (7,) if size == "constant" else (1, 2, 7, 8):
        a = np.random.default_rng(m).integers(-9, 9, (m, m)).astype("int32")
        d = np.zeros_like(a)
        f(a, d)
        np.testing.assert_array_equal(d, np.tril(a) @ a + 1)
