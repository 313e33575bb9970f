"""What scripts of TVM 0.8 carry: scopes that say nothing, pragmas of its code generation, threads in statements."""

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
        ("parallel_stride_pattern", None, "parallel_dynamic"),
    ):
        with pytest.raises(tw.UserError, match=f"the pragma '{name}' is none here") as error:
            s[C].pragma(C.op.axis[0], name, value)
        assert instead in error.value.legal
        assert error.value.where.startswith("old_scripts_test.py:")
        assert len(str(error.value)) < 400
