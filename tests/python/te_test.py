"""Programs and schedules written as scripts: built, run, compared with NumPy."""

import numpy as np
import pytest

import tilewright as tw
from tilewright import te, tir


def run(schedule, args, *arrays):
    function = tw.build(schedule, args)
    function(*arrays)
    return arrays[-1]


def matmul(m, n, k, dtype="float32"):
    A = te.placeholder((m, k), name="A", dtype=dtype)
    B = te.placeholder((k, n), name="B", dtype=dtype)
    r = te.reduce_axis((0, k), name="k")
    C = te.compute((m, n), lambda i, j: te.sum(A[i, r] * B[r, j], axis=r), name="C")
    return A, B, C


def test_an_elementwise_script_runs():
    n = 1000
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] * 2.0 + 1.0, name="B")
    s = te.create_schedule(B.op)
    outer, inner = s[B].split(B.op.axis[0], factor=16)
    s[B].vectorize(inner)
    s[B].parallel(outer)
    a = np.random.rand(n).astype("float32")
    b = run(s, [A, B], a, np.zeros(n, "float32"))
    np.testing.assert_allclose(b, a * 2 + 1, rtol=1e-6)


def test_a_tiled_matmul_runs():
    m, n, k = 70, 50, 33
    A, B, C = matmul(m, n, k)
    s = te.create_schedule(C.op)
    CC = s.cache_write(C, "local")
    xo, yo, xi, yi = s[C].tile(C.op.axis[0], C.op.axis[1], x_factor=16, y_factor=32)
    s[CC].compute_at(s[C], yo)
    ci, cj = s[CC].op.axis
    (r,) = s[CC].op.reduce_axis
    ro, ri = s[CC].split(r, factor=4)
    s[CC].reorder(ro, ci, ri, cj)
    s[CC].unroll(ri)
    s[CC].vectorize(cj)
    s[C].vectorize(yi)
    s[C].parallel(xo)
    a, b = np.random.rand(m, k).astype("float32"), np.random.rand(k, n).astype("float32")
    c = run(s, [A, B, C], a, b, np.zeros((m, n), "float32"))
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)


def test_axis_names_are_those_of_the_parameters():
    A = te.placeholder((4, 4), name="A")
    B = te.compute((4, 4), lambda row, col: A[col, row], name="B")
    assert [axis.name for axis in B.op.axis] == ["row", "col"]
    C = te.compute((4, 4), lambda *i: A(*i) + 1, name="C")
    assert [axis.name for axis in C.op.axis] == ["i0", "i1"]
    D = te.compute((4, 4), lambda *i: A(*i) + 1, varargs_names=["x", "y"])
    assert [axis.name for axis in D.op.axis] == ["x", "y"]
    with pytest.raises(tw.UserError) as error:
        te.compute((4, 4), lambda i: A[i, i])
    assert error.value.code == "index-count"


def test_lowering_prints_the_loops():
    A = te.placeholder((21,), name="A")
    B = te.compute((21,), lambda i: A[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    s[B].parallel(B.op.axis[0])
    text = str(tw.lower(s, [A, B], simple_mode=True))
    assert "produce B {" in text
    assert "parallel (i, 0, 21) {" in text
    assert "1.000000f" in text


def test_several_outputs_and_a_reducer_of_ones_own():
    n, m = 5, 17
    A = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, m), name="k")
    argmax = te.comm_reducer(
        lambda x, y: (tir.Select(x[1] >= y[1], x[0], y[0]), tir.Select(x[1] >= y[1], x[1], y[1])),
        lambda t0, t1: (tir.const(-1, t0), te.min_value(t1)), name="argmax")
    T0, T1 = te.compute((n,), lambda i: argmax((k.var, A[i, k]), axis=k), name="T")
    s = te.create_schedule(T0.op)
    a = np.random.rand(n, m).astype("float32")
    position, value = np.zeros(n, "int32"), np.zeros(n, "float32")
    tw.build(s, [A, T0, T1])(a, position, value)
    np.testing.assert_array_equal(position, a.argmax(1))
    np.testing.assert_array_equal(value, a.max(1))


def test_rank_zero():
    A = te.placeholder((10,), name="A")
    k = te.reduce_axis((0, 10), name="k")
    total = te.compute((), lambda: te.sum(A[k], axis=k), name="total")
    twice = te.compute((), lambda: total() * 2.0, name="twice")
    s = te.create_schedule(twice.op)
    a = np.arange(10, dtype="float32")
    result = run(s, [A, twice], a, np.zeros((), "float32"))
    assert result == 90


def test_symbolic_extents():
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: te.exp(A[i]), name="B")
    s = te.create_schedule(B.op)
    outer, inner = s[B].split(B.op.axis[0], factor=8)
    s[B].vectorize(inner)
    f = tw.build(s, [A, B])
    for size in (1, 8, 77):
        a, b = np.random.rand(size).astype("float32"), np.zeros(size, "float32")
        f(a, b)
        np.testing.assert_allclose(b, np.exp(a), rtol=1e-5)


def test_operators_of_tensors_are_elementwise():
    A = te.placeholder((3, 4), name="A")
    b = te.placeholder((4,), name="b")
    C = (A + b) * 2.0 - 1.0
    s = te.create_schedule(C.op)
    x, y = np.random.rand(3, 4).astype("float32"), np.random.rand(4).astype("float32")
    z = run(s, [A, b, C], x, y, np.zeros((3, 4), "float32"))
    np.testing.assert_allclose(z, (x + y) * 2 - 1, rtol=1e-5)


@pytest.mark.parametrize("operator", ["+", "-", "*", "/", "**"])
def test_numbers_stand_on_either_side_of_an_operator(operator):
    operate = eval(f"lambda a, b: a {operator} b")
    A = te.placeholder((4,), name="A")
    x = np.array([0.5, 1, 2, 3], "float32")
    for operation in (lambda a: operate(a, 3.0), lambda a: operate(3.0, a)):
        for B in (te.compute((4,), lambda i: operation(A[i]), name="B"), operation(A)):
            y = run(te.create_schedule(B.op), [A, B], x, np.zeros(4, "float32"))
            np.testing.assert_allclose(y, operation(x), rtol=1e-5)


@pytest.mark.parametrize("operator", ["//", "%", "<<", ">>", "&", "|", "^"])
def test_integers_stand_on_either_side_of_an_operator(operator):
    operate = eval(f"lambda a, b: a {operator} b")
    A = te.placeholder((4,), "int32", name="A")
    x = np.array([1, 2, 5, 6], "int32")
    for operation in (lambda a: operate(a, 3), lambda a: operate(3, a)):
        B = te.compute((4,), lambda i: operation(A[i]), name="B")
        y = run(te.create_schedule(B.op), [A, B], x, np.zeros(4, "int32"))
        np.testing.assert_array_equal(y, operation(x))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "uint16", "int32", "int64"])
def test_numbers_of_numpy_keep_their_type_and_value(dtype):
    value = np.dtype(dtype).type(1 / 3 if dtype.startswith("float") else 77)
    e = tir.const(value)
    assert e.dtype == dtype and e.value == value
    A = te.placeholder((2,), dtype, name="A")
    B = te.compute((2,), lambda i: A[i] + value, name="B")
    assert B.dtype == dtype
    y = run(te.create_schedule(B.op), [A, B], np.zeros(2, dtype), np.zeros(2, dtype))
    np.testing.assert_array_equal(y, np.full(2, value))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions_that_are_several_intrinsics(dtype):
    tiny, huge, inf = np.finfo(dtype).tiny, np.finfo(dtype).max, np.inf
    values = np.array([-inf, -huge, -3, -1.5, -0.5, -1e-9, -0.0, 0.0, tiny, 1e-9, 0.5, 1, 1.5, 3, huge, inf, np.nan], dtype)
    n, powers = len(values), np.arange(-8, 9).astype("int32")
    x, y, k = te.placeholder((n,), dtype, name="x"), te.placeholder((n,), dtype, name="y"), te.placeholder((n,), "int32", name="k")
    functions = {
        "asinh": lambda i: te.asinh(x[i]), "acosh": lambda i: te.acosh(x[i]), "atanh": lambda i: te.atanh(x[i]), "log1p": lambda i: tir.log1p(x[i]),
        "exp10": lambda i: tir.exp10(x[i]), "ldexp": lambda i: tir.ldexp(x[i], k[i]), "hypot": lambda i: tir.hypot(x[i], y[i]), "copysign": lambda i: tir.copysign(x[i], y[i])}
    for name, function in functions.items():
        out = te.compute((n,), function, name=name)
        assert out.dtype == dtype
        built = tw.build(te.create_schedule(out.op), [x, y, k, out])
        for other in (values[::-1].copy(), np.roll(values, 4)):
            found = tw.nd.array(np.zeros(n, dtype))
            built(tw.nd.array(values), tw.nd.array(other), tw.nd.array(powers), found)
            with np.errstate(all="ignore"):
                expected = {"exp10": lambda: 10 ** values, "ldexp": lambda: np.ldexp(values, powers), "hypot": lambda: np.hypot(values, other),
                            "copysign": lambda: np.copysign(values, np.where(np.isnan(other), 1, other))}.get(name, lambda: getattr(np, {"asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh"}.get(name, name))(values))()
            np.testing.assert_allclose(found.numpy(), expected, rtol=2e-5 if dtype == "float32" else 1e-12, err_msg=name)
            if name == "copysign":
                np.testing.assert_array_equal(np.signbit(found.numpy()[:-1]), np.signbit(expected[:-1]))
    signs = te.compute((n,), lambda i: tir.copysign(te.const(2, dtype), k[i]), name="signs")
    found = tw.nd.array(np.zeros(n, dtype))
    tw.build(te.create_schedule(signs.op), [k, signs])(tw.nd.array(powers), found)
    np.testing.assert_array_equal(found.numpy(), np.where(powers < 0, -2, 2))
    assert te.asinh(x).shape == x.shape and isinstance(te.asinh(x), te.Tensor)
    with pytest.raises(tw.UserError, match="asinh of int32"):
        te.asinh(te.var("n"))


def test_reducers_stand_in_tir_as_well():
    a = te.placeholder((5, 7), "int32", name="a")
    r = te.reduce_axis((0, 7), "r")
    first = tir.comm_reducer(lambda p, q: p + q, lambda t: tir.const(0, t), name="mine")
    values = np.random.default_rng(0).integers(-9, 9, (5, 7)).astype("int32")
    for reducer, expected in ((tir.sum, values.sum(1)), (tir.max, values.max(1)), (tir.min, values.min(1)), (first, values.sum(1))):
        b = te.compute((5,), lambda i: reducer(a[i, r], axis=r), name="b")
        found = tw.nd.array(np.zeros(5, "int32"))
        tw.build(te.create_schedule(b.op), [a, b])(tw.nd.array(values), found)
        np.testing.assert_array_equal(found.numpy(), expected)
    assert str(tir.max(te.var("n"), 3)) == "max(n, 3)"


def test_fmod_is_exact_and_knows_infinities():
    values = [0.0, -0.0, 1.5, -7.25, 1e30, -3e38, 0.1, 16777219.0, np.inf, -np.inf, np.nan]
    x, y = (a.ravel().astype("float32") for a in np.meshgrid(values, values))
    X, Y = (te.placeholder(x.shape, name=name) for name in "XY")
    element = te.compute(x.shape, lambda i: te.fmod(X[i], Y[i]), name="element")
    whole = te.fmod(X, Y)
    with np.errstate(invalid="ignore"):
        expected = np.fmod(x, y)
    for result in (element, whole):
        s = te.create_schedule(result.op)
        _, lanes = s[result].split(result.op.axis[0], factor=8)
        s[result].vectorize(lanes)
        got = run(s, [X, Y, result], x, y, np.zeros_like(x))
        np.testing.assert_array_equal(got, expected)
        np.testing.assert_array_equal(np.signbit(got[got == 0]), np.signbit(expected[got == 0]))
    assert "truncmod" not in str(te.fmod(X[0], 2)) and te.fmod(te.var("n"), 3).dtype == "int32"


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("factor_axis", [None, "outer", "inner"])
def test_positions_of_nan_are_those_of_numpy_under_every_schedule(name, factor_axis):
    a = np.random.default_rng(1).integers(-3, 3, (16, 24)).astype("float32")
    a[1, 7] = a[1, 9] = a[2, 0] = a[3, 23] = np.nan
    a[4] = np.nan
    a[5, ::2], a[6], a[7, 3] = np.inf, -np.inf, np.nan
    A = te.placeholder(a.shape, name="A")
    result = getattr(tw.topi, name)(A, axis=1)
    pair = result.op.input_tensors[0]
    s = te.create_schedule(result.op)
    outer, inner = s[pair].split(s[pair].op.reduce_axis[0], factor=8)
    if factor_axis is None:
        rows, lanes = s[pair].split(s[pair].op.axis[0], factor=8)
        s[pair].reorder(rows, outer, inner, lanes)
        s[pair].vectorize(lanes)
    else:
        s.rfactor(pair, {"outer": outer, "inner": inner}[factor_axis])
    got = run(s, [A, result], a, np.zeros(16, "int32"))
    np.testing.assert_array_equal(got, getattr(np, name)(a, axis=1))


def test_slices_become_elements():
    A = te.placeholder((3, 4), name="A")
    B = te.compute((3, 4), lambda i, j: A[i][j] + A[i, j] + A(i, j))
    x = np.random.rand(3, 4).astype("float32")
    np.testing.assert_allclose(run(te.create_schedule(B.op), [A, B], x, np.zeros_like(x)), 3 * x, rtol=1e-6)


def test_expressions_have_no_truth_value():
    x, y = te.var("x"), te.var("y")
    with pytest.raises(tw.UserError) as error:
        bool(x < y)
    assert "if_then_else" in error.value.legal
    assert x in [y, x] and x not in [y]
    with pytest.raises(tw.UserError) as error:
        x / y
    assert "floordiv" in error.value.legal


def test_text_rebuilds_a_program():
    A, B, C = matmul(6, 7, 8)
    text = te.to_text([A, B, C])
    program = te.from_text(text)
    assert te.to_text(program) == text
    assert te.workload_hash([C]) == te.workload_hash(program)
    assert te.workload_hash(matmul(6, 7, 9)[2]) != te.workload_hash(C)
    assert [t.name for t in program.arguments] == ["A", "B", "C"]


def test_a_trace_replays():
    A, B, C = matmul(16, 16, 16)
    s = te.create_schedule(C.op)
    xo, yo, xi, yi = s[C].tile(*C.op.axis, 4, 8)
    s[C].vectorize(yi)
    text = s.trace.text
    assert "te_test.py:" in text
    again = te.schedule_from_trace(matmul(16, 16, 16)[2], text)
    assert again.trace == s.trace
    assert str(tw.lower(again, again_args(again))) == str(tw.lower(s, [A, B, C]))


def again_args(schedule):
    (output,) = schedule.outputs
    return [*output.op.input_tensors, output]


def test_primitives_have_signatures_and_documentation():
    import inspect

    assert str(inspect.signature(te.Stage.split)) == "(self, parent, factor=None, nparts=None)"
    assert str(inspect.signature(te.Stage.tile)) == "(self, x_parent, y_parent, x_factor, y_factor)"
    assert str(inspect.signature(te.Stage.fuse)) == "(self, *axes)"
    assert str(inspect.signature(te.Stage.reorder)) == "(self, *axes)"
    assert str(inspect.signature(te.Stage.vectorize)) == "(self, var)"
    assert str(inspect.signature(te.Stage.compute_at)) == "(self, parent, scope)"
    assert str(inspect.signature(te.Stage.pragma)) == "(self, var, pragma_type, pragma_value=None)"
    assert str(inspect.signature(te.Schedule.cache_write)) == "(self, tensor, scope)"
    assert "axis" in te.Stage.split.__doc__


def test_topi_convolution_matches_numpy():
    from tilewright import topi

    data = te.placeholder((1, 3, 8, 9), name="data")
    weight = te.placeholder((4, 3, 3, 3), name="weight")
    bias = te.placeholder((4,), name="bias")
    conv = topi.nn.conv2d_nchw(data, weight, 2, 1, 1)
    out = topi.nn.relu(topi.nn.bias_add(conv, bias))
    s = te.create_schedule(out.op)
    x, w, b = (np.random.randn(*t.shape_).astype("float32") for t in map(Shaped, (data, weight, bias)))
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))[:, :, ::2, ::2]
    expected = np.maximum(np.einsum("nchwyx,fcyx->nfhw", windows, w) + b[:, None, None], 0)
    y = run(s, [data, weight, bias, out], x, w, b, np.zeros(expected.shape, "float32"))
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)


def test_topi_convolution_of_blocks_matches_numpy():
    from tilewright import topi

    data, weight = te.placeholder((1, 2, 6, 7, 4), name="data"), te.placeholder((3, 2, 3, 3, 4, 8), name="weight")
    out = topi.nn.conv2d_NCHWc(data, weight, (1, 2), 1, 1, "NCHW4c", "NCHW8c", "float32")
    x, w = (np.random.randn(*t.shape_).astype("float32") for t in map(Shaped, (data, weight)))
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))[:, :, :, ::2]
    expected = np.einsum("nchwbyx,fcyxbg->nfhwg", windows, w)
    y = run(te.create_schedule(out.op), [data, weight, out], x, w, np.zeros(expected.shape, "float32"))
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)


class Shaped:
    def __init__(self, tensor):
        self.shape_ = tuple(int(e) for e in tensor.shape)


def test_options_of_lowering():
    A = te.placeholder((10,), name="A")
    B = te.compute((10,), lambda i: A[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    s[B].split(B.op.axis[0], factor=4)
    seen = []
    with tw.transform.PassContext(config={"partition_const_loop": True, "verify": True},
                                  disabled_pass=["unroll_loop"],
                                  observer=lambda name, func: seen.append(name)) as context:
        tw.lower(s, [A, B])
    assert seen[0] == "check_bounds" and "unroll_loop" not in seen
    assert [name for name, _ in context.timings] == seen
    assert seen == [p.name for p in tw.lower_passes() if p.name != "unroll_loop"]


@pytest.mark.parametrize("given, code, what, legal", [
    ({"config": {"partition_const_lop": True}}, "bad-argument", "the nearest is 'partition_const_loop'", "check_bounds"),
    ({"config": {"check_bounds": "yes"}}, "bad-argument", "option 'check_bounds' is", "True or False"),
    ({"config": {3: True}}, "bad-argument", "an option is named", "names"),
    ({"config": {"tir.UnrollLoop": {"auto_max_steps": 8}}}, "bad-argument", "option 'tir.UnrollLoop' has no 'auto_max_steps'", "auto_max_step, auto_max_depth"),
    ({"config": {"tir.UnrollLoop": 8}}, "bad-argument", "option 'tir.UnrollLoop' is 8", "a dict of auto_max_step"),
    ({"config": {"tir.UnrollLoop": {"explicit_unroll": 1}}}, "bad-argument", "option 'unroll_explicit' is", "True or False"),
    ({"config": {"tir.add_lower_pass": []}}, "bad-argument", "is none here", "observer"),
    ({"disabled_pass": ["unrol"]}, "unknown-pass", "the nearest is 'unroll_loop'", "unroll_loop"),
    ({"disabled_pass": ["storage_flatten"]}, "pass-requirement", "cannot be disabled", "unroll_loop"),
    ({"stop_after": "make_apis"}, "unknown-pass", "the nearest is 'make_api'", "simplify"),
    ({"opt_levl": 3}, "bad-argument", "PassContext has no option 'opt_levl'; the nearest is 'opt_level'", "observer"),
])
def test_what_pass_contexts_do_not_have_is_refused_where_it_is_given(given, code, what, legal):
    with pytest.raises(tw.UserError) as error:
        tw.transform.PassContext(**given)
    assert error.value.code == code and what in error.value.what and legal in error.value.legal, error.value
    assert error.value.where.startswith("te_test.py:")


def test_options_by_the_names_of_tvm():
    A = te.placeholder((64,), name="A")
    B = te.compute((64,), lambda i: A[i] + 1.0, name="B")

    def lowered(**config):
        s = te.create_schedule(B.op)
        outer, inner = s[B].split(B.op.axis[0], factor=4)
        s[B].vectorize(inner)
        with tw.transform.PassContext(config=config):
            return str(tw.lower(s, [A, B]))

    plain = lowered()
    assert "ramp" in plain and "ramp" not in lowered(**{"tir.disable_vectorize": True})
    assert plain == lowered(**{"tir.disable_vectorize": False, "tir.noalias": True})
    unrolled = lowered(**{"tir.UnrollLoop": {"auto_max_step": 128, "auto_max_depth": 4}})
    assert unrolled == lowered(auto_unroll_max_step=128, auto_unroll_max_depth=4) != plain
    config = {"tir.instrument_bound_checkers": True, "tir.disable_assert": False, "tir.disable_storage_rewrite": True}
    context = tw.transform.PassContext(config=config, disabled_pass=["unroll_loop"])
    assert context.config == {"check_bounds": True} and context.disabled_pass == ["unroll_loop", "storage_rewrite"]


def test_an_observer_may_raise():
    A = te.placeholder((10,), name="A")
    B = te.compute((10,), lambda i: A[i] + 1.0, name="B")

    def observer(name, func):
        raise KeyError(name)

    with pytest.raises(KeyError), tw.transform.PassContext(observer=observer):
        tw.lower(te.create_schedule(B.op), [A, B])


def test_arrays_without_elements():
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, 3, m), name="A")
    B = te.compute((n, 3, m), lambda i, j, k: A[i, j, k] + 1.0, name="B")
    r = te.reduce_axis((0, n), name="r")
    C = te.compute((m,), lambda k: te.sum(A[r, 0, k], axis=r), name="C")
    f, g = (tw.build(te.create_schedule(out.op), [A, out]) for out in (B, C))
    for shape in ((0, 3, 2), (2, 3, 0), (0, 3, 0), (2, 3, 4)):
        x, y = np.ones(shape, "float32"), np.zeros(shape, "float32")
        f(x, y)
        np.testing.assert_array_equal(y, x + 1)
        f(tw.nd.array(x), tw.nd.array(y))
        total = np.full(shape[2], 7.0, "float32")
        g(x, total)
        np.testing.assert_array_equal(total, x.sum(0)[0])
    with pytest.raises(tw.UserError) as info:
        f(np.ones((0, 2, 2), "float32"), np.ones((0, 2, 2), "float32"))
    assert info.value.code == "argument-shape"


def test_placeholders_that_nothing_reads():
    A, B = te.placeholder((4,), name="A"), te.placeholder((te.var("n"), 3), "float64", name="B")
    C = te.compute((4,), lambda i: A[i] * 2.0, name="C")
    a, b, c = np.arange(4, dtype="float32"), np.zeros((5, 3)), np.zeros(4, "float32")
    for f in (tw.build(te.create_schedule(C.op), [A, B, C]), tw.build([B, A, C])):
        unread = f.entry_func.signature.index("B") < f.entry_func.signature.index("A")
        f(*((b, a, c) if unread else (a, b, c)))
        np.testing.assert_array_equal(c, a * 2)
        for wrong in (np.zeros((5, 4)), np.zeros((5, 3), "float32")):
            with pytest.raises(tw.UserError, match="'B'"):
                f(*((wrong, a, c) if unread else (a, wrong, c)))
    assert te.workload_hash([A, B, C]) == te.workload_hash([A, C])
    assert te.to_text(te.from_text(te.to_text([A, B, C]))) == te.to_text([A, B, C])


def test_numbers_beyond_int64():
    assert tir.const(2**63, "uint64").value == int(tir.const(np.uint64(2**63))) == 2**63
    assert tir.IntImm("uint64", 2**64 - 1).value == te.max_value("uint64").value == 2**64 - 1
    assert tir.const(2**70, "float32").value == 2.0**70
    for value, dtype in ((2**64, "uint64"), (2**63, "int64"), (-(2**63) - 1, "int64"), (2**63, None)):
        with pytest.raises(tw.UserError, match="does not fit into") as info:
            tir.const(value, dtype)
        assert info.value.legal
    A = te.placeholder((2,), "uint64", name="A")
    B = te.compute((2,), lambda i: A[i] + tir.const(2**63, "uint64"), name="B")
    b = run(te.create_schedule(B.op), [A, B], np.array([1, 5], "uint64"), np.zeros(2, "uint64"))
    np.testing.assert_array_equal(b, np.array([2**63 + 1, 2**63 + 5], "uint64"))


def test_types_without_a_width():
    for name, dtype in (("int", "int32"), ("uint", "uint32"), ("float", "float32"), ("bool", "bool"), ("handle", "handle")):
        assert te.var("x", name).dtype == dtype
    assert te.placeholder((2,), "float").dtype == "float32" and te.var("x").astype("int").dtype == "int32"
    for wrong in ("double", "int128", "float8", float):
        with pytest.raises(tw.UserError) as info:
            te.placeholder((2,), wrong)
        assert info.value.code == "unknown-dtype"


def test_what_a_call_calls():
    x = te.var("x", "float32")
    assert te.exp(x).op.name == "tir.exp" and te.exp(x).op == tir.Op.get("tir.exp")
    assert te.exp(x).op.same_as(te.exp(x + 1.0).op) and te.exp(x).op != te.log(x).op
    assert te.if_then_else(x > 1.0, x, 2.0).op.name == "tir.if_then_else"
    assert tir.call_pure_extern("float32", "sinf", x).op.name == "tir.call_pure_extern"
    assert tir.call_extern("int32", "puts", "text").op.name == "tir.call_extern"
    assert tir.call_llvm_pure_intrin("float32", "llvm.sin", x).op.name == "tir.call_llvm_pure_intrin"
    assert len({te.exp(x).op, te.exp(x).op, te.log(x).op}) == 2
    with pytest.raises(tw.UserError) as info:
        tir.Op.get("tir.nothing")
    assert info.value.code == "unknown-intrinsic"


def test_parts_that_stand_in_many_places():
    A = te.placeholder((8,), name="A")

    def nested(i):
        x = A[i]
        for _ in range(28):
            x = te.exp(x) * 0.1 + te.tanh(x) * 0.5
        return x

    B = te.compute((8,), nested, name="B")
    stages = [A]
    for _ in range(28):
        T = stages[-1]
        stages.append(te.compute((8,), lambda i: te.exp(T[i]) * 0.1 + te.tanh(T[i]) * 0.5, name="T"))
    expected = x = np.linspace(-1, 1, 8).astype("float32")
    for _ in range(28):
        expected = np.exp(expected) * 0.1 + np.tanh(expected) * 0.5
    for output in (B, stages[-1]):
        s = te.create_schedule(output.op)
        for stage in stages[1:-1] if output is stages[-1] else []:
            s[stage].compute_inline()
        found = np.zeros(8, "float32")
        tw.build(s, [A, output])(x, found)
        np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_a_reduction_that_starts_from_a_tensor():
    n = te.var("n")
    A, B, C = te.placeholder((n, 8), name="A"), te.placeholder((8, 6), name="B"), te.placeholder((n, 6), name="C")
    k = te.reduce_axis((0, 8), name="k")
    D = te.compute((n, 6), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k, init=C[i, j]), name="D")
    s = te.create_schedule(D.op)
    outer, inner = s[D].split(k, factor=4)
    s.rfactor(D, inner)
    s[D].vectorize(D.op.axis[1])
    a, b, c = [np.random.default_rng(0).integers(-4, 5, size).astype("float32") for size in ((5, 8), (8, 6), (5, 6))]
    result = np.zeros((5, 6), "float32")
    tw.build(s, [A, B, C, D])(a, b, c, result)
    np.testing.assert_array_equal(result, c + a @ b)


def test_where_named_and_other_reducers_start():
    A = te.placeholder((4, 8), "int32", name="A")
    k = te.reduce_axis((0, 8), name="k")
    latest = te.comm_reducer(
        lambda x, y: (te.max(x[0], y[0]), te.min(x[1], y[1])), lambda t, u: (te.min_value(t), te.max_value(u)), name="both")
    greatest = te.compute((4,), lambda i: te.max(A[i, k], axis=k, init=3), name="greatest")
    product = te.compute((4,), lambda i: te.prod(A[i, k], axis=k, init=i), name="product")
    ends = te.compute((4,), lambda i: latest((A[i, k], A[i, k]), axis=k, init=(2, i)), name="ends")
    a = np.random.default_rng(1).integers(-3, 4, (4, 8)).astype("int32")
    outputs = [greatest, product, *ends]
    results = [np.zeros(4, "int32") for _ in outputs]
    tw.build(te.create_schedule([o.op for o in outputs]), [A, *outputs])(a, *results)
    expected = [
        np.maximum(a.max(1), 3), a.prod(1) * np.arange(4), np.maximum(a.max(1), 2),
        np.minimum(a.min(1), np.arange(4))]
    for result, right in zip(results, expected):
        np.testing.assert_array_equal(result, right)
    with pytest.raises(tw.UserError, match="init has 2 values for 1 components"):
        te.sum(A[0, k], axis=k, init=(1, 2))
    with pytest.raises(tw.UserError, match="init depends on 'k'"):
        te.sum(A[0, k], axis=k, init=k)


def test_one_kernel_for_extents_that_are_multiples():
    m = te.var("m")
    A = te.placeholder((8 * m,), name="A")
    B = te.compute((8 * m,), lambda i: A[i] + 1, name="B")
    s = te.create_schedule(B.op)
    outer, inner = s[B].split(B.op.axis[0], factor=8)
    s[B].vectorize(inner)
    assert "likely" not in str(tw.lower(s, [A, B], simple_mode=True))
    kernel = tw.build(s, [A, B])
    for size in (0, 8, 40):
        a, b = np.arange(size).astype("float32"), np.zeros(size, "float32")
        kernel(a, b)
        np.testing.assert_array_equal(b, a + 1)
    with pytest.raises(tw.UserError, match="dimension 0 is 12, expected 8"):
        kernel(np.zeros(12, "float32"), np.zeros(12, "float32"))


def test_one_kernel_for_all_extents_here_and_exported(tmp_path):
    n, m, k = te.var("n"), te.var("m"), te.var("k")
    A, B = te.placeholder((n, k), name="A"), te.placeholder((k, m), name="B")
    r = te.reduce_axis((0, k), name="r")
    C = te.compute((n, m), lambda i, j: te.sum(A[i, r] * B[r, j], axis=r), name="C")
    s = te.create_schedule(C.op)
    packed, local = s.cache_read(B, "local", [C]), s.cache_write(C, "local")
    x_outer, y_outer, x, y = s[C].tile(*C.op.axis, 4, 16)
    s[C].parallel(x_outer)
    s[C].vectorize(y)
    s[local].compute_at(s[C], y_outer)
    outer, inner = s[local].split(local.op.reduce_axis[0], factor=4)
    s[local].reorder(outer, inner, *local.op.axis)
    s[packed].compute_at(s[local], outer)
    kernel = tw.build(s, [A, B, C], name="product")
    kernel.export_library(str(tmp_path / "product.so"))
    loaded = tw.runtime.load_module(str(tmp_path / "product.so"))["product"]
    rng = np.random.default_rng(0)
    for sizes in ((0, 3, 2), (3, 0, 2), (2, 3, 0), (1, 1, 1), (4, 16, 8), (5, 17, 9), (31, 33, 7)):
        a, b = rng.integers(-3, 4, (sizes[0], sizes[2])), rng.integers(-3, 4, (sizes[2], sizes[1]))
        for function in (kernel, loaded):
            c = np.full(sizes[:2], 7, "float32")
            function(a.astype("float32"), b.astype("float32"), c)
            np.testing.assert_array_equal(c, a @ b)
