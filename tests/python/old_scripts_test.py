"""What scripts of TVM 0.8 carry: scopes that say nothing, pragmas of its code generation, threads in statements."""

import contextlib

import numpy as np
import pytest

import tilewright as tw
from tilewright import te, tir


def chain():
    A = te.placeholder((8, 8), name="A")
    B = te.compute((8, 8), lambda i, j: A[i, j] + 1, name="B")
    C = te.compute((8, 8), lambda i, j: B[i, 7 - j] * 2, name="C")
    return A, B, C, te.create_schedule(C.op)


def expect(s, arguments, inputs, expected):
    out = tw.nd.array(np.zeros(expected.shape, expected.dtype))
    tw.build(s, arguments)(*[tw.nd.array(a) for a in inputs], out)
    np.testing.assert_array_equal(out.numpy(), expected)


def test_the_empty_scope_is_that_of_which_nothing_was_said():
    A, B, C, s = chain()
    a = np.arange(64, dtype="float32").reshape(8, 8)
    plain = str(tw.lower(s, [A, C]))
    s[B].set_scope("local")
    s[B].set_scope("")
    assert str(tw.lower(s, [A, C])) == plain
    s[C].set_scope("")  # also of an output
    R, W = s.cache_read(A, "", [B]), s.cache_write(C, "")
    assert (R.name, W.name) == ("A.cache", "C.cache")
    assert s[R].scope == s[W].scope == ""
    s[W].compute_at(s[C], C.op.axis[0])
    expect(s, [A, C], [a], (a[:, ::-1] + 1) * 2)
    names = {}
    exec(compile(s.trace.as_python(), "script", "exec"), names)
    again = te.create_schedule(C.op)
    names["apply"](again)
    assert str(tw.lower(again, [A, C])) == str(tw.lower(s, [A, C]))


def test_pragmas_of_tvm_say_what_to_write_instead():
    A, B, C, s = chain()
    for name, value, instead in (
        ("import_llvm", "; ModuleID = 'gemv.cc'\n" * 50, "ctypes.CDLL"),
        ("import_c", "void f(void) {}", "tir.call_extern"),
        ("debug_skip_region", 1, "a placeholder in place of the stage"),
    ):
        with pytest.raises(tw.UserError, match=f"the pragma '{name}' is none here") as error:
            s[C].pragma(C.op.axis[0], name, value)
        assert instead in error.value.legal
        assert error.value.where.startswith("old_scripts_test.py:")
        assert len(str(error.value)) < 400


def test_pragmas_of_parallel_loops_ask_for_what_each_does():
    """As TVM's test of its LLVM target has them, with two parallel loops in one that launches."""
    A, B, C, s = chain()
    outer, inner = s[C].split(C.op.axis[0], factor=4)
    rows, _ = s[C].split(inner, factor=2)
    s[C].parallel(rows)
    plain = str(tw.lower(s, [A, C]))
    s[C].pragma(outer, "parallel_launch_point")
    s[C].pragma(rows, "parallel_stride_pattern")
    s[C].pragma(rows, "parallel_barrier_when_finish")
    assert str(s.trace).count("pragma") == 3 and str(tw.lower(s, [A, C])) == plain
    a = np.arange(64, dtype="float32").reshape(8, 8)
    expect(s, [A, C], [a], (a[:, ::-1] + 1) * 2)


def extern(body, n, shape=None):
    A = te.placeholder((n,), name="A")

    def statements(ins, outs):
        ib = tir.ir_builder.create()
        body(ib, ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0]))
        return ib.get()

    B = te.extern((n,), [A], statements, name="B", dtype="float32")
    return A, B, te.create_schedule(B.op)


def test_threads_of_statements():
    """As kernels of topi (nms, sort) have them: blocks and threads, and a test where the last block ends."""
    n = 37

    def body(ib, a, b):
        tx, bx = te.thread_axis("threadIdx.x"), te.thread_axis("blockIdx.x")
        ib.scope_attr(tx, "thread_extent", 8)
        ib.scope_attr(bx, "thread_extent", (n + 7) // 8)
        i = bx * 8 + tx
        with ib.if_scope(i < n):
            b[i] = a[i] + tx

    A, B, s = extern(body, n)
    a = np.arange(n, dtype="float32")
    expect(s, [A, B], [a], a + np.arange(n, dtype="float32") % 8)
    assert s.check() == []


def test_one_axis_launches_twice():
    def body(ib, a, b):
        tx = te.thread_axis((0, 8), "threadIdx.x")
        with ib.threads(tx, 8):
            b[tx] = a[tx]
        with ib.threads(tx, 8):
            b[tx] = b[tx] * 2

    A, B, s = extern(body, 8)
    a = np.arange(8, dtype="float32")
    expect(s, [A, B], [a], a * 2)


def test_blocks_that_race_are_refused():
    def body(ib, a, b):
        bx = te.thread_axis("blockIdx.x")
        ib.scope_attr(bx, "thread_extent", 8)
        b[bx // 2] = a[bx]

    _, _, s = extern(body, 8)
    assert [f.code for f in s.check()] == ["parallel-reduction"]


def test_wrong_threads():
    cases = (
        (lambda ib: ib.scope_attr("x", "thread_extent", 4), "thread_extent of 'x'", "blockIdx.x"),
        (lambda ib: ib.scope_attr(te.thread_axis("threadIdx.q"), "thread_extent", 4), "'threadIdx.q'", "threadIdx.x"),
        (lambda ib: ib.scope_attr(te.thread_axis((0, 8), "threadIdx.x"), "thread_extent", 4), "4 threads", "8"),
        (lambda ib: ib.scope_attr(te.thread_axis("threadIdx.x"), "thread_extend", 4), "'thread_extend'", "thread_extent"),
    )
    for call, what, legal in cases:
        with pytest.raises(tw.UserError) as error:
            call(tir.ir_builder.create())
        assert what in error.value.what and legal in error.value.legal, error.value
        assert error.value.where.startswith("old_scripts_test.py:")


@te.hybrid.script
def doubled(a):
    b = output_tensor((a.shape[0],), a.dtype)
    for bx in bind("blockIdx.x", a.shape[0] // 4):
        for tx in bind("threadIdx.x", 4):
            b[bx * 4 + tx] = a[bx * 4 + tx] * 2
    return b


def test_bind_in_a_hybrid_script():
    a = np.arange(12, dtype="float32")
    np.testing.assert_array_equal(doubled(a), a * 2)
    A = te.placeholder((12,), name="A")
    B = doubled(A)
    expect(te.create_schedule(B.op), [A, B], [a], a * 2)

    @te.hybrid.script
    def wrong(a):
        b = output_tensor((4,), "float32")
        for i in bind(4):
            b[i] = a[i]
        return b

    with pytest.raises(tw.UserError) as error:
        wrong(A)
    assert error.value.legal == 'bind("threadIdx.x", extent)'


def test_axes_of_what_statements_compute():
    A = te.placeholder((12,), name="A")
    B = doubled(A)
    with pytest.raises(tw.UserError, match="whose loops are no axes of a schedule") as error:
        te.create_schedule(B.op)[B].parallel(B.op.axis[0])
    assert error.value.stage == "doubled" and "for i in parallel(n)" in error.value.legal


def shared_in_turn(scope, launch):
    """Each thread stores an element of a memory and reads another one's, without a barrier in between."""
    def body(ins, outs):
        ib = tir.ir_builder.create()
        a, o = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        tx = te.thread_axis("threadIdx.x")
        with launch(ib, tx) as _:
            t = ib.allocate("float32", 8, name="t", scope=scope)
            t[tx] = a[tx] * 2
            o[tx] = t[tx]
        return ib.get()

    return body


@contextlib.contextmanager
def by_attribute(ib, tx):
    ib.scope_attr(tx, "thread_extent", 8)
    yield


@pytest.mark.parametrize("launch", [by_attribute, lambda ib, tx: ib.threads(tx, 8)])
def test_threads_that_run_in_turn_share_no_memory_of_their_own(launch):
    A = te.placeholder((8,), name="A")
    with pytest.raises(tw.UserError) as error:
        te.extern((8,), [A], shared_in_turn("shared", launch), dtype="float32")
    assert "'t' that threads share" in error.value.what and "'local'" in error.value.legal
    a = np.arange(8, dtype="float32")
    B = te.extern((8,), [A], shared_in_turn("local", launch), dtype="float32")
    expect(te.create_schedule(B.op), [A, B], [a], a * 2)


def test_tags_of_threads():
    for tag in ("foo", "threadIdx", "threadIdx.w", "", 3, None):
        with pytest.raises(tw.UserError) as error:
            te.thread_axis((0, 4), tag)
        assert error.value.what == f"{tag!r} is no tag of a thread axis"
        assert error.value.legal.startswith("blockIdx.x, ") and "vthread" in error.value.legal
