"""Errors of scripts: class, code, and what they say about the script."""

import inspect
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import tilewright as tw
from tilewright import te


def refused(code, what="", legal=""):
    """Checks a UserError of this code that is about a line of this file."""

    class Check:
        def __enter__(self):
            self.context = pytest.raises(tw.UserError)
            self.info = self.context.__enter__()
            return self

        def __exit__(self, *exception):
            result = self.context.__exit__(*exception)
            self.error = error = self.info.value
            assert error.code == code, error
            assert what in error.what, error
            assert legal in error.legal, error
            assert error.where.startswith("errors_test.py:"), error
            return result

    return Check()


@pytest.fixture
def program():
    A = te.placeholder((8, 8), name="A")
    B = te.compute((8, 8), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute((8, 8), lambda i, j: B[i, j] * 2.0, name="C")
    return A, B, C, te.create_schedule(C.op)


def test_attributes_of_an_error(program):
    _, _, C, s = program
    i = C.op.axis[0]
    s[C].split(i, factor=2)
    with refused("not-a-leaf-axis", legal="j") as check:
        s[C].split(i, factor=2)
    error = check.error
    assert error.stage == "C" and error.axis == "i"
    assert "errors_test.py:" in error.what  # of the first split
    assert str(error).count("\n") == 0
    assert isinstance(error, tw.TilewrightError)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is tw.UserError and vars(again) == vars(error) and str(again) == str(error)


def test_what_32_bit_indices_do_not_reach():
    def last_row(n):
        A = te.placeholder((n, n), "uint8", name="A")
        return A, te.compute((n,), lambda j: A[n - 1, j] + te.const(1, "uint8"), name="B")

    A, B = last_row(50000)
    s = te.create_schedule(B.op)
    with refused("bad-shape", legal="up to 2147483647, or extents of type int64"):
        tw.build(s, [A, B])
    x = np.zeros((50000, 50000), "uint8")  # of which the system gives one page a row read
    x[-1] = 7
    y = np.zeros(50000, "uint8")
    A, B = last_row(te.const(50000, "int64"))
    tw.build(te.create_schedule(B.op), [A, B])(x, y)
    assert (y == 8).all()
    A, B = last_row(te.var("n"))
    symbolic = tw.build(te.create_schedule(B.op), [A, B])
    symbolic(x[:100, :100].copy(), y[:100])
    with refused("argument-shape"):
        symbolic(x, y)


def test_a_body_too_deep_for_any_walk():
    A = te.placeholder((3,), name="A")

    def chain(links):
        def body(i):
            value = A[i]
            for _ in range(links):
                value = value + 1.0
            return value

        return te.compute((3,), body, name="B")

    with refused("bad-argument", what="levels"):
        chain(20000)
    B = chain(1900)
    tw.build(te.create_schedule(B.op), [A, B])


def test_a_variable_that_nothing_gives():
    A = te.placeholder((3, 3), name="A")
    k = te.reduce_axis((0, 3), name="k")
    read = A[0, k]  # wherever it is written, te.compute is what misses te.sum
    with refused("unbound-variable", what="'k' is an axis of reductions", legal="te.sum(…, axis=k)") as refusal:
        te.compute((3,), lambda i: read, name="B")
    line = inspect.currentframe().f_lineno - 1
    assert (refusal.error.stage, refusal.error.axis, refusal.error.where) == ("B", "k", f"errors_test.py:{line}")


def test_the_line_of_the_script_is_named(program):
    _, _, C, s = program
    with pytest.raises(tw.UserError) as info:
        s[C].split(C.op.axis[0], factor=0)
    line = inspect.currentframe().f_lineno - 1
    assert info.value.where == f"errors_test.py:{line}"
    assert info.value.code == "factor-not-positive"


def test_arguments_of_primitives(program):
    A, B, C, s = program
    with refused("split-arguments"):
        s[C].split(C.op.axis[0])
    with refused("bad-argument", "argument 'parent' of 'split' is str 'i'", "an axis"):
        s[C].split("i", factor=2)
    with refused("bad-argument", "argument 'factor'", "an integer"):
        s[C].split(C.op.axis[0], factor=2.5)
    with refused("not-an-axis-of-stage"):
        s[C].split(B.op.axis[0], factor=2)
    with refused("placeholder-stage"):
        s[A].compute_inline()
    with refused("bad-argument", "argument 'scope' of 'cache_write'", "a string"):
        s.cache_write(C, 3)
    with pytest.raises(TypeError, match="factr"):
        s[C].split(C.op.axis[0], factr=2)


def test_schedules(program):
    A, B, C, s = program
    D = te.compute((8, 8), lambda i, j: 1.0, name="D")
    with refused("unknown-stage"):
        s[D]
    with refused("unknown-stage", "names no stage"):
        s["C"]
    with refused("bad-attach"):
        s[C].compute_at(s[B], B.op.axis[0])
    E = te.compute((8, 8), lambda i, j: A[i, j], name="E")
    F = te.compute((8, 8), lambda i, j: E[i, j] + C[i, j], name="F")
    wide = te.create_schedule(F.op)
    with refused("not-a-consumer"):
        wide[E].compute_at(wide[C], C.op.axis[0])
    with refused("bad-argument", "cannot schedule"):
        te.create_schedule("C")
    other = te.create_schedule(C.op)
    with refused("bad-argument", legal="the same schedule"):
        s[B].compute_at(other[C], C.op.axis[0])


def test_expressions():
    A = te.placeholder((4, 4), name="A")
    with refused("index-count"):
        te.compute((4,), lambda i: A[i, i, i])
    with refused("type-mismatch", legal="A[i, j]"):
        te.compute((4,), lambda i: A)
    with refused("type-mismatch"):
        te.compute((4,), lambda i: "x")
    with refused("unknown-dtype"):
        te.placeholder((4,), dtype="float33")
    with refused("bad-shape"):
        te.placeholder((4, -1))
    with refused("bad-argument", "domain"):
        te.reduce_axis(8)


def test_an_exception_of_the_function_passes_through():
    with pytest.raises(ZeroDivisionError):
        te.compute((4,), lambda i: 1 // 0)


def test_vectorizing_a_symbolic_extent():
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    with pytest.raises(tw.UserError) as info:
        s[B].vectorize(B.op.axis[0])
        tw.lower(s, [A, B])
    assert info.value.code == "symbolic-extent"
    assert info.value.stage == "B"


def test_lowering_and_building(program):
    A, B, C, s = program
    with refused("argument-not-in-program", legal="A"):
        tw.lower(s, [C])
    with refused("unknown-target"):
        tw.build(s, [A, C], target="cuda")
    with refused("unknown-target"):
        tw.target.Target("llvm -mcpu=sapphirerapid")
    with refused("bad-argument", "without args"):
        tw.build(s)
    with refused("bad-argument", "cannot build int"):
        tw.build(3)
    f = tw.lower(s, [A, C], name="f")
    with refused("bad-argument", "two functions are called 'f'"):
        tw.build([f, f])
    with refused("bad-argument", legal="ll, asm, ir"):
        tw.build(f).get_source("ptx")
    with refused("unknown-function", legal="f"):
        tw.build(f)["g"]


def test_operators_and_calls_name_the_line_too(program):
    with refused("bad-shape", "conv2d_nchw, weight: dimension 1"):
        tw.topi.nn.conv2d(te.placeholder((1, 3, 8, 8)), te.placeholder((4, 5, 3, 3)), 1, 1, 1)
    blocks, kernel = te.placeholder((1, 2, 8, 8, 4)), te.placeholder((2, 2, 3, 3, 4, 8))
    with refused("bad-argument", "layout 'NCHW8c' for shape [1, 2, 8, 8, 4]", legal="NCHW4c"):
        tw.topi.nn.conv2d_NCHWc(blocks, kernel, 1, 1, 1, "NCHW8c", "NCHW8c")
    with refused("bad-argument", "layout 'NCHW4c' for shape [2, 2, 3, 3, 4, 8]", legal="NCHW8c"):
        tw.topi.nn.conv2d_NCHWc(blocks, kernel, 1, 1, 1, "NCHW4c", "NCHW4c")
    A, B, C, s = program
    f = tw.build(s, [A, C])
    a, c = np.zeros((8, 8), "float32"), np.zeros((8, 8), "float32")
    with refused("argument-dtype", "argument 0 'A' of 'default_function': the elements are complex64"):
        f(a.astype("complex64"), c)
    c.flags.writeable = False
    with refused("bad-argument", "argument 1 'C' of 'default_function': the kernel writes this argument"):
        f(a, c)


def test_texts():
    with pytest.raises(tw.UserError) as info:
        te.from_text("nonsense")
    assert info.value.code == "parse-error" and info.value.where == "1:1"
    with pytest.raises(tw.UserError) as info:
        te.Trace("splt@1(s0, s0:0, factor=2)")
    assert info.value.code == "unknown-primitive" and "the nearest is 'split'" in info.value.what


def test_every_code_has_a_class_in_python():
    from tilewright import _core

    for code, name in _core.error_codes():
        with pytest.raises(getattr(tw.error, name)) as info:
            _core.raise_error(code, "reason")
        assert info.value.code == code


def test_a_script_whose_name_is_no_utf_8(tmp_path):
    folder = os.fsencode(tmp_path) + b"/\xfc"
    os.mkdir(folder)
    with open(folder + b"/s\xff.py", "w") as file:
        file.write("""
import tilewright as tw
from tilewright import te
A = te.placeholder((8,), name="A")
B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
s = te.create_schedule(B.op)
s[B].split(B.op.axis[0], factor=2)
try:
    s[B].split(B.op.axis[0], factor=2)
except tw.UserError as error:
    print(error.where, error.code)
try:
    tw.autotune.Log(b"\\xfe.db")
except tw.UserError as error:
    print(error.where, error.code)
""")
    result = subprocess.run([sys.executable, b"s\xff.py"], cwd=folder, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    first, second = result.stdout.splitlines()
    assert first == r"s\udcff.py:9 not-a-leaf-axis"
    assert second == r"\xfe.db log-unreadable"


def test_what_a_stage_does_not_have(program):
    _, _, C, s = program
    with pytest.raises(AttributeError, match=r"errors_test.py:\d+: 'Stage' has no 'vectorise'; the nearest is 'vectorize'"):
        s[C].vectorise(C.op.axis[0])
    with pytest.raises(AttributeError, match="'Schedule' has no 'create_groups'"):
        s.create_groups(outputs=C, inputs=C)
    assert not hasattr(s[C], "binds")


def test_axes_in_a_list(program):
    _, _, C, s = program
    for primitive in (s[C].fuse, s[C].reorder):
        with refused("bad-argument", legal="one by one"):
            primitive(list(C.op.axis))


def test_what_is_no_target(program):
    A, _, C, s = program
    with refused("unknown-target", "3 is no target"):
        tw.build(s, [A, C], 3)


def test_products_beyond_32_bits():
    A = te.placeholder((100000,), name="A")
    k, l = te.reduce_axis((0, 100000), "k"), te.reduce_axis((0, 100000), "l")
    C = te.compute((1,), lambda i: te.sum(A[k] * A[l], axis=[k, l]), name="C")
    s = te.create_schedule(C.op)
    s[C].fuse(k, l)
    with refused("bad-shape", "100000 * 100000 iterations are more than int32 counts") as check:
        tw.lower(s, [A, C])
    assert check.error.stage == "C" and check.error.axis == "k.l.fused"
    B = te.compute((4, 6), lambda i, j: A[i * 6 + j], name="B")
    D = te.compute((4, 6), lambda i, j: B[i, j] + 1.0, name="D")
    s = te.create_schedule(D.op)
    s[B].storage_align(B.op.axis[0], 2**31 - 1, 0)
    with refused("bad-shape", "'B' has 8589934588 elements"):
        tw.lower(s, [A, D])


def test_a_factor_that_a_symbolic_extent_cannot_be_added_to():
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    for how in ({"factor": 2**31 - 1}, {"nparts": 2**24 + 1}):
        with refused("bad-argument", "extents are known when the kernel is called", legal="1 to 16777216"):
            s[B].split(B.op.axis[0], **how)


@pytest.mark.parametrize("body", [
    lambda a: a << 2, lambda a: a & 1, lambda a: ~a, lambda a: te.popcount(a), lambda a: tw.tir.reinterpret("int64", a),
    lambda a: te.if_then_else(a, 1.0, 2.0), lambda a: tw.tir.Select(a, 1.0, 2.0), lambda a: te.any(a, a > 1.0),
    lambda a: (a > 1.0) + (a > 2.0),
])
def test_operands_of_types_that_an_operator_is_not_for(body):
    A = te.placeholder((4,), name="A")
    with refused("type-mismatch") as check:
        te.compute((4,), lambda i: body(A[i]), name="B")
    assert check.error.legal


def test_reads_that_are_sure_to_be_outside():
    A = te.placeholder((4, 6), name="A")
    k = te.reduce_axis((0, 3), "k")
    output = lambda body: te.create_schedule(te.compute((6,), body, name="B").op)
    for index, what in (
        (lambda i: 6, "index 1 of 'A', 6, is 6"), (lambda i: i + 1, "goes from 1 to 6"), (lambda i: i * 2 - 1, "-1 to 9"),
        (lambda i: 4 - i, "-1 to 4"),
    ):
        with refused("out-of-bounds", what, legal="0 to 5"):
            output(lambda i: A[0, index(i)])
    with refused("out-of-bounds", "goes from 0 to 7"):
        output(lambda i: te.sum(A[0, i + k], axis=k))
    # Where a condition may say otherwise, or the index is not plain, nobody can be sure.
    output(lambda i: te.if_then_else(i < 5, A[0, i + 1], 0.0))
    output(lambda i: te.sum(A[0, i + k], axis=k, where=i + k < 6))
    output(lambda i: A[i // 6, i - i // 6 * 6])


def test_axes_of_a_reduction_are_axes():
    A = te.placeholder((4, 6), name="A")
    for wrong in (1, A, [1]):
        with refused("bad-reduction", "is no axis of a reduction"):
            te.sum(A[0, 0], axis=wrong)


def test_indices_are_tested_while_the_kernel_runs():
    A, P = te.placeholder((10,), name="A"), te.placeholder((8,), "int32", name="P")
    B = te.compute((8,), lambda i: A[P[i]], name="B")
    s = te.create_schedule(B.op)
    s[B].parallel(B.op.axis[0])
    with tw.transform.PassContext(config={"check_bounds": True}):
        gather = tw.build(s, [A, P, B])
    a, b = np.arange(10, dtype="float32"), np.zeros(8, "float32")
    gather(a, np.arange(8, dtype="int32"), b)
    assert (b == np.arange(8)).all()
    for wrong in 10, -1, 1 << 30:
        with refused("assertion-failed", "index 0 of 'A', P"):
            gather(a, np.array([0, 1, 2, 3, 4, 5, wrong, 7], "int32"), b)


def test_a_stage_that_reads_outside_is_refused_when_it_is_lowered():
    A = te.placeholder((10,), name="A")
    B = te.compute((10,), lambda i: A[i + i], name="B")
    C = te.compute((5,), lambda i: B[i], name="C")
    s = te.create_schedule(C.op)
    with refused("out-of-bounds", "goes from 0 to 18"):
        tw.build(s, [A, C])
    s[B].compute_inline()
    tw.build(s, [A, C])


def test_an_axis_of_reductions_that_nothing_reduces_over():
    A = te.placeholder((4, 6), name="A")
    k, r = te.reduce_axis((0, 6), "k"), te.reduce_axis((0, 6), "r")
    with refused("unbound-variable", "'k' is an axis of reductions", legal="te.sum") as check:
        te.compute((4,), lambda i: A[i, k], name="B")
    assert (check.error.stage, check.error.axis) == ("B", "k")
    with refused("unbound-variable", "'k' is an axis"):
        te.compute((4,), lambda i: te.sum(A[i, r] * A[i, k], axis=r), name="B")
    te.compute((4,), lambda i: te.sum(A[i, r] * A[i, k], axis=[r, k]), name="B")
    n = te.var("n")
    te.compute((4,), lambda i: A[i, 0] * n.astype("float32"), name="B")
