"""te.hybrid.script: a restricted Python function as a stage."""

import numpy
import pytest

import tilewright as tvm
from tilewright import te

SCALE = 3  # a constant of the module


@te.hybrid.script
def outer_product(a, b):
    """Its docstring is no statement."""
    c = output_tensor((a.shape[0], b.shape[0]), a.dtype)
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            c[i, j] = a[i] * b[j]
    return c


@te.hybrid.script
def row_statistics(a):
    total = output_tensor((a.shape[0],), "float32")
    greatest = output_tensor((a.shape[0],), "float32")
    for i in parallel(a.shape[0]):
        best = a[i, 0]
        total[i] = float32(0)
        for j in range(a.shape[1]):
            square = a[i, j] * a[i, j]
            total[i] += sqrt(square) * SCALE
            if a[i, j] > best:
                best = a[i, j]
            else:
                best = max(best, a[i, j])
        greatest[i] = best
    return total, greatest


@te.hybrid.script
def pooled(a, width):
    n = a.shape[0] // width
    out = output_tensor((n,), "float32")
    window = allocate((n, width), "float32", "local")
    for i in range(n):
        for j in vectorize(width):
            window[i, j] = a[i * width + j]
    for i in range(0, n):
        out[i] = window[i, 0]
        for j in const_range(1, width):
            out[i] = out[i] + window[i, j] if 0 <= j < width else 0.0
    return out


@te.hybrid.script
def sparse_product(indptr, columns, values, x):
    """Rows of a matrix in CSR: how far the inner loop goes is read from a tensor."""
    y = output_tensor((indptr.shape[0] - 1,), "float32")
    for row in parallel(indptr.shape[0] - 1):
        y[row] = float32(0)
        for k in range(indptr[row], indptr[row + 1]):
            y[row] += values[k] * x[columns[k]]
    return y


@te.hybrid.script
def insertion_sort(a):
    out = output_tensor((a.shape[0], a.shape[1]), "float32")
    for row in parallel(a.shape[0]):
        for i in range(a.shape[1]):
            j = i
            while j > 0 and out[row, j - 1] > a[row, i]:
                out[row, j] = out[row, j - 1]
                j -= 1
            out[row, j] = a[row, i]
    return out


@te.hybrid.script
def lower_bound(a, x):
    """For each of x the first element of a that is not smaller."""
    found = output_tensor((x.shape[0],), "int32")
    for i in parallel(x.shape[0]):
        low = 0
        high = a.shape[0]
        while low < high:
            middle = (low + high) // 2
            if a[middle] < x[i]:
                low = middle + 1
            else:
                high = middle
        found[i] = low
    return found


@te.hybrid.script
def square_roots(a):
    """Newton's iteration, each element until it stands still, and how often."""
    root = output_tensor((a.shape[0],), "float64")
    rounds = output_tensor((a.shape[0],), "int32")
    for i in range(a.shape[0]):
        root[i] = max(a[i], float64(1))
        rounds[i] = 0
        while root[i] * root[i] > a[i] * float64(1.0000001) and rounds[i] < 60:
            root[i] = (root[i] + a[i] / root[i]) / float64(2)
            rounds[i] += 1
    return root, rounds


@te.hybrid.script
def collatz(a):
    steps = output_tensor((a.shape[0],), "int32")
    for i in range(a.shape[0]):
        n = a[i]
        steps[i] = 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps[i] += 1
    return steps


@te.hybrid.script
def row_lengths(indptr):
    """Lanes whose loops are of different lengths run one by one."""
    count = output_tensor((8,), "int32")
    for row in vectorize(8):
        count[row] = 0
        for k in range(indptr[row], indptr[row + 1]):
            count[row] += 1
    return count


def run(inputs, outputs, *arrays):
    f = tvm.build(te.create_schedule([t.op for t in outputs]), [*inputs, *outputs])
    results = [tvm.nd.array(numpy.zeros([int(e) for e in t.shape], str(t.dtype))) for t in outputs]
    f(*[tvm.nd.array(a) for a in arrays], *results)
    return [r.numpy() for r in results]


def random(*shape):
    return numpy.random.default_rng(1).standard_normal(shape).astype("float32")


def test_the_same_as_python():
    A, B = te.placeholder((5,), name="A"), te.placeholder((7,), name="B")
    a, b = random(5), random(7)
    C = outer_product(A, B)
    assert C.op.name == "outer_product" and outer_product.__doc__.startswith("Its")
    numpy.testing.assert_allclose(run([A, B], [C], a, b)[0], numpy.outer(a, b), rtol=1e-6)
    numpy.testing.assert_allclose(outer_product(a, b), numpy.outer(a, b), rtol=1e-6)
    text = te.to_text([C])
    assert te.to_text(te.from_text(text)) == text


def test_symbolic_shapes():
    n = te.var("n")
    A, B = te.placeholder((n,), name="A"), te.placeholder((n,), name="B")
    C = outer_product(A, B)
    f = tvm.build(te.create_schedule(C.op), [A, B, C])
    for size in (1, 6):
        a, b, out = random(size), random(size) + 1, tvm.nd.array(numpy.zeros((size, size), "float32"))
        f(tvm.nd.array(a), tvm.nd.array(b), out)
        numpy.testing.assert_allclose(out.numpy(), numpy.outer(a, b), rtol=1e-6)


def test_scalars_conditions_and_several_outputs():
    A = te.placeholder((4, 9), name="A")
    a = random(4, 9)
    total, greatest = run([A], list(row_statistics(A)), a)
    numpy.testing.assert_allclose(total, 3 * numpy.abs(a).sum(1), rtol=1e-5)
    numpy.testing.assert_allclose(greatest, a.max(1))


def test_constants_allocations_and_loops_of_every_kind():
    A = te.placeholder((12,), name="A")
    a = random(12)
    numpy.testing.assert_allclose(run([A], [pooled(A, 4)], a)[0], a.reshape(3, 4).sum(1), rtol=1e-5)
    numpy.testing.assert_allclose(pooled(a, 4), a.reshape(3, 4).sum(1), rtol=1e-5)


def test_beside_other_stages():
    A = te.placeholder((6,), name="A")
    B = te.compute((6,), lambda i: A[i] + 1, name="B")
    C = outer_product(B, B)
    D = te.compute((6, 6), lambda i, j: C[i, j] * 2, name="D")
    s = te.create_schedule(D.op)
    s[D].parallel(D.op.axis[0])
    f = tvm.build(s, [A, D])
    a, out = random(6), tvm.nd.array(numpy.zeros((6, 6), "float32"))
    f(tvm.nd.array(a), out)
    numpy.testing.assert_allclose(out.numpy(), 2 * numpy.outer(a + 1, a + 1), rtol=1e-5)


def line_of(function, text):
    import inspect
    lines, first = inspect.getsourcelines(function)
    return first + next(k for k, line in enumerate(lines) if text in line)


def wrong(function, text, message):
    """The error of a call names the line that has the text."""
    script = te.hybrid.script(function)
    with pytest.raises(tvm.UserError, match=message) as error:
        script(te.placeholder((4,), name="A"))
    assert f"hybrid_test.py:{line_of(function, text)}" in str(error.value)


def test_errors_name_the_line():
    def loops_while(a):
        c = output_tensor((4,), "float32")
        while True:
            c[0] = a[0]
        return c

    def stores_into_an_input(a):
        a[0] = 1.0
        return a

    def unknown_name(a):
        c = output_tensor((4,), "float32")
        c[0] = nobody
        return c

    def unknown_function(a):
        c = output_tensor((4,), "float32")
        c[0] = print(a[0])
        return c

    def out_of_its_block(a):
        c = output_tensor((4,), "float32")
        for i in range(4):
            x = a[i] * 2
        c[0] = x
        return c

    def wrong_rank(a):
        c = output_tensor((4,), "float32")
        c[0, 1] = a[0]
        return c

    def returns_early(a):
        c = output_tensor((4,), "float32")
        for i in range(4):
            return c

    def returns_nothing(a):
        c = output_tensor((4,), "float32")
        c[0] = a[0]

    def wrong_type(a):
        c = output_tensor((4,), "float33")
        return c

    def assigns_the_loop_variable(a):
        c = output_tensor((4,), "float32")
        for i in range(4):
            i = i + 1
        return c

    def breaks(a):
        c = output_tensor((4,), "float32")
        c[0] = a[0]
        while c[0] < 9:
            break
        return c

    def waits_on_a_number(a):
        c = output_tensor((4,), "float32")
        while a[0]:
            c[0] = a[0]
        return c

    wrong(loops_while, "while True", "a while loop that never ends: True always holds; legal: a condition of what the loop changes")
    wrong(breaks, "            break", "a statement of kind Break.*legal: for loops")
    wrong(waits_on_a_number, "while a[0]", "a while loop over a condition of type float32; legal: a comparison")
    wrong(stores_into_an_input, "a[0] = 1", "a store into an input")
    wrong(unknown_name, "nobody", "'nobody' has no value here")
    wrong(unknown_function, "print", "a call of print; legal: len, ceil_div")
    wrong(out_of_its_block, "c[0] = x", "'x' has no value here")
    wrong(wrong_rank, "c[0, 1]", "2 indices for 1 dimensions")
    wrong(returns_early, "            return c", "return inside a loop")
    wrong(returns_nothing, "def returns_nothing", "nothing is returned")
    wrong(wrong_type, "float33", "an element type 'float33'")
    wrong(assigns_the_loop_variable, "i = i + 1", "which is a parameter, a loop variable")


def test_an_assertion_stops_the_kernel():
    @te.hybrid.script
    def positive(a):
        c = output_tensor((4,), "float32")
        for i in range(4):
            assert a[i] > 0, "a number that is not positive"
            c[i] = sqrt(a[i])
        return c

    A = te.placeholder((4,), name="A")
    C = positive(A)
    f = tvm.build(te.create_schedule(C.op), [A, C])
    out = tvm.nd.array(numpy.zeros(4, "float32"))
    f(tvm.nd.array(numpy.ones(4, "float32")), out)
    with pytest.raises(tvm.UserError, match="a number that is not positive"):
        f(tvm.nd.array(-numpy.ones(4, "float32")), out)


def csr(rows, seed=0):
    rng = numpy.random.default_rng(seed)
    lengths = rng.integers(0, 5, rows)
    indptr = numpy.concatenate([[0], numpy.cumsum(lengths)]).astype("int32")
    return indptr, rng.integers(0, 7, 40).astype("int32"), rng.integers(-4, 5, 40).astype("float32")


def test_loops_as_long_as_a_tensor_says():
    rows = te.var("rows")
    P, C = te.placeholder((rows,), "int32", name="P"), te.placeholder((40,), "int32", name="C")
    V, X = te.placeholder((40,), name="V"), te.placeholder((7,), name="X")
    y = sparse_product(P, C, V, X)
    kernel = tvm.build(te.create_schedule(y.op), [P, C, V, X, y])
    with tvm.transform.PassContext(config={"check_bounds": True}):
        tested = tvm.build(te.create_schedule(y.op), [P, C, V, X, y])
    x = numpy.arange(7).astype("float32")
    for n in (1, 2, 7, 8):
        indptr, columns, values = csr(n, n)
        expected = sparse_product(indptr, columns, values, x)
        for f in (kernel, tested):
            result = numpy.full(n, -1, "float32")
            f(indptr, columns, values, x, result)
            numpy.testing.assert_array_equal(result, expected)
    indptr, columns, values = csr(8)
    indptr[-1] = 41
    with pytest.raises(tvm.UserError, match="index 0 of 'V'|index 0 of 'C'"):
        tested(indptr, columns, values, x, numpy.zeros(8, "float32"))


def test_lanes_with_loops_of_different_lengths():
    P = te.placeholder((9,), "int32", name="P")
    indptr = csr(8)[0]
    numpy.testing.assert_array_equal(run([P], [row_lengths(P)], indptr)[0], numpy.diff(indptr))


def test_while_loops():
    rows, n = te.var("rows"), te.var("n")
    A = te.placeholder((rows, n), name="A")
    ordered = insertion_sort(A)
    f = tvm.build(te.create_schedule(ordered.op), [A, ordered])
    for shape in ((3, 7), (5, 1), (2, 64)):
        a, out = random(*shape), numpy.zeros(shape, "float32")
        f(a, out)
        numpy.testing.assert_array_equal(out, numpy.sort(a, 1))
        numpy.testing.assert_array_equal(insertion_sort(a), out)

    A, X = te.placeholder((50,), name="A"), te.placeholder((20,), name="X")
    a, x = numpy.sort(random(50)), random(20)
    found, = run([A, X], [lower_bound(A, X)], a, x)
    numpy.testing.assert_array_equal(found, numpy.searchsorted(a, x))

    A = te.placeholder((8,), "float64", name="A")
    a = numpy.abs(random(8)).astype("float64") * 1000
    root, rounds = run([A], list(square_roots(A)), a)
    numpy.testing.assert_allclose(root, numpy.sqrt(a), rtol=1e-6)
    assert 3 < rounds.max() < 60
    numpy.testing.assert_array_equal(square_roots(a)[1], rounds)

    A = te.placeholder((30,), "int32", name="A")
    a = numpy.arange(1, 31, dtype="int32")
    numpy.testing.assert_array_equal(run([A], [collatz(A)], a)[0], collatz(a))


def test_a_while_loop_beside_scheduled_stages():
    A = te.placeholder((4, 8), name="A")
    B = te.compute((4, 8), lambda i, j: A[i, j] * 2, name="B")
    C = insertion_sort(B)
    D = te.compute((4, 8), lambda i, j: C[i, 7 - j], name="D")
    s = te.create_schedule(D.op)
    outer, inner = s[D].split(D.op.axis[1], factor=4)
    s[D].vectorize(inner)
    s[D].parallel(D.op.axis[0])
    text = te.to_text([D])
    assert "while (" in text and te.to_text(te.from_text(text)) == text
    a, out = random(4, 8), numpy.zeros((4, 8), "float32")
    tvm.build(s, [A, D])(a, out)
    numpy.testing.assert_array_equal(out, -numpy.sort(-2 * a, 1))
    out[:] = 0
    tvm.build([A, D])(a, out)  # as the prior schedules it
    numpy.testing.assert_array_equal(out, -numpy.sort(-2 * a, 1))


def test_what_a_while_condition_reads_is_tested():
    @te.hybrid.script
    def first_negative(a):
        k = output_tensor((1,), "int32")
        k[0] = 0
        while a[k[0]] >= 0:
            k[0] += 1
        return k

    A = te.placeholder((4,), name="A")
    k = first_negative(A)
    with tvm.transform.PassContext(config={"check_bounds": True}):
        f = tvm.build(te.create_schedule(k.op), [A, k])
    out = numpy.zeros(1, "int32")
    f(numpy.array([1, 2, -3, 4], "float32"), out)
    assert out[0] == 2
    with pytest.raises(tvm.UserError, match="'A'.* is not from 0 to 4 - 1"):
        f(numpy.array([1, 2, 3, 4], "float32"), out)


def test_a_while_loop_has_no_lanes():
    @te.hybrid.script
    def in_lanes(a):
        out = output_tensor((4,), "float32")
        for i in vectorize(4):
            out[i] = a[i]
            while out[i] > 1:
                out[i] = out[i] / 2
        return out

    A = te.placeholder((4,), name="A")
    out = in_lanes(A)
    with pytest.raises(tvm.UserError, match="a while loop inside a vectorized loop.*legal: a serial, parallel or unrolled loop"):
        tvm.build(te.create_schedule(out.op), [A, out])


def test_what_is_no_function_of_def():
    A = te.placeholder((8,), name="A")
    for scripted in (lambda: te.hybrid.script(lambda a: a)(A),
                     lambda: te.hybrid.script((lambda a: a,
                                               1)[0])(A)):
        with pytest.raises(tvm.UserError, match="is no function of `def`"):
            scripted()


@te.hybrid.script
def product(a, b, x):
    c = output_tensor((a.shape[0], b.shape[1]), "float32")
    for i in range(a.shape[0]):
        for j in serial(b.shape[1]):
            c[i, j] = x
            for k in range(b.shape[0]):
                c[i, j] += a[i, k] * b[k, j] if k > 0 else 0.0
    return c


def test_loops_over_the_dimensions_are_axes_of_a_schedule():
    """Split evenly and not, reordered, fused, bound, marked, as TVM's test of schedules of hybrid functions has them."""
    A, B = te.placeholder((64,), name="A"), te.placeholder((64,), name="B")
    a, b = random(64), random(64)[::-1].copy()
    C = outer_product(A, B)
    assert [axis.var.name for axis in C.op.axis] == ["i", "j"]

    def ordered(s, i, j):
        io, ii = s[C].split(i, 4)
        s[C].parallel(ii)
        jo, ji = s[C].split(j, 4)
        joo, joi = s[C].split(jo, 4)
        s[C].vectorize(ji)
        s[C].reorder(ii, io, joo, joi, ji)

    schedules = [
        ordered, lambda s, i, j: s[C].fuse(i, j), lambda s, i, j: s[C].split(i, 3),
        lambda s, i, j: s[C].bind(i, te.thread_axis("threadIdx.x")), lambda s, i, j: s.cache_write(C, "local")]
    for schedule in schedules:
        s = te.create_schedule(C.op)
        schedule(s, *C.op.axis)
        found = tvm.nd.array(numpy.zeros((64, 64), "float32"))
        tvm.build(s, [A, B, C])(tvm.nd.array(a), tvm.nd.array(b), found)
        numpy.testing.assert_array_equal(found.numpy(), numpy.outer(a, b))


def test_a_sum_in_loops_is_a_reduction():
    n, x = te.var("n"), te.var("x", "float32")
    A, B = te.placeholder((n, 5), name="A"), te.placeholder((5, 7), name="B")
    for start in (x, 0.0):
        C = product(A, B, start)
        assert [axis.var.name for axis in C.op.reduce_axis] == ["k"]
        s = te.create_schedule(C.op)
        _, inner = s[C].split(C.op.reduce_axis[0], factor=2)
        if start is not x:
            s.rfactor(C, inner)
        f = tvm.build(s, [A, B, x, C])
        a, b = random(6, 5), random(5, 7)
        found = tvm.nd.array(numpy.zeros((6, 7), "float32"))
        f(tvm.nd.array(a), tvm.nd.array(b), 2.5, found)
        expected = a[:, 1:] @ b[1:] + (2.5 if start is x else 0)
        numpy.testing.assert_allclose(found.numpy(), expected, rtol=1e-5, atol=1e-5)
        numpy.testing.assert_allclose(product(a, b, 2.5 if start is x else 0.0), expected, rtol=1e-5, atol=1e-5)


@te.hybrid.script
def other_order(a):
    c = output_tensor((3, 3), "float32")
    for j in range(3):
        for i in range(3):
            c[i, j] = a[i, j]
    return c


@te.hybrid.script
def not_all(a):
    c = output_tensor((3, 3), "float32")
    for i in range(3):
        for j in range(2):
            c[i, j] = a[i, j]
    return c


@te.hybrid.script
def ragged(a):
    c = output_tensor((3,), "float32")
    for i in range(3):
        c[i] = 0.0
        for j in range(i):
            c[i] += a[i, j]
    return c


@te.hybrid.script
def marked(a):
    c = output_tensor((3, 3), "float32")
    for i in parallel(3):
        for j in range(3):
            c[i, j] = a[i, j]
    return c


@te.hybrid.script
def running(a):
    c = output_tensor((3, 3), "float32")
    for i in range(3):
        for j in range(3):
            c[i, j] = a[i, j] + (c[i, j - 1] if j > 0 else 0.0)
    return c


@te.hybrid.script
def subtracted(a):
    c = output_tensor((3,), "float32")
    for i in range(3):
        c[i] = 1.0
        for j in range(3):
            c[i] = a[i, j] - c[i]
    return c


@te.hybrid.script
def diagonal(a):
    c = output_tensor((3, 3), "float32")
    for i in range(3):
        for j in range(3):
            c[j, i] = a[i, j]
    return c


@pytest.mark.parametrize("function", [other_order, not_all, ragged, marked, running, subtracted, diagonal])
def test_other_loops_stay_statements(function):
    A = te.placeholder((3, 3), name="A")
    C = function(A)
    assert isinstance(C.op, te.ExternOp)
    a = random(3, 3)
    found = run([A], [C], a)[0]
    expected = function(a)
    if function is not_all:
        found, expected = found[:, :2], expected[:, :2]
    numpy.testing.assert_allclose(found, expected, rtol=1e-6)
