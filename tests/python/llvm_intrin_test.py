"""LLVM's intrinsics by name: whatever they need of the code generator, they get; what it cannot do is an error."""

import numpy as np
import pytest

import tilewright as tw
from tilewright import te, tir

N = 8


def built(function, dtype="int32", result=None, **options):
    A = te.placeholder((N,), dtype=dtype, name="A")
    B = te.compute((N,), lambda i: function(A[i]).astype(result or dtype), name="B")
    return tw.build(te.create_schedule(B.op), [A, B], name="kernel", **options)


def run(function, a, result=None):
    b = np.full(N, 99, result or a.dtype)
    built(function, str(a.dtype), result)(a, b)
    return b


VALUES = np.array([0, 1, -1, 7, -8, 1 << 30, 12345, -(1 << 31)], "int32")


def call(name, *arguments, result="int32"):
    return tir.call_llvm_pure_intrin(result, name, tir.const(len(arguments), "uint32"), *arguments)


@pytest.mark.parametrize("name, function, expected", [
    ("is.constant", lambda x: call("llvm.is.constant", x, result="bool"), np.zeros(N)),
    ("expect", lambda x: call("llvm.expect", x, tir.const(0, "int32")), VALUES),
    ("ctpop", lambda x: call("llvm.ctpop", x), [bin(v & 0xFFFFFFFF).count("1") for v in VALUES.tolist()]),
    ("vector.reduce.add", lambda x: call("llvm.vector.reduce.add", x.astype("int32x4")),
     (VALUES.astype("int64") * 4).astype("int32")),
    ("vp.add", lambda x: call("llvm.vector.reduce.add",
                              call("llvm.vp.add", x.astype("int32x4"), tir.const(1, "int32x4"), tir.const(1, "boolx4"),
                                   tir.const(4, "int32"), result="int32x4")),
     ((VALUES.astype("int64") + 1) * 4).astype("int32")),
    ("smul.fix.sat", lambda x: call("llvm.smul.fix.sat", x, tir.const(2, "int32"), tir.const(0, "int32")),
     np.clip(VALUES.astype("int64") * 2, -(1 << 31), (1 << 31) - 1)),
])
def test_intrinsics_that_passes_must_lower(name, function, expected):
    np.testing.assert_array_equal(run(function, VALUES), np.asarray(expected, "int32"))


def product_of_bytes(x):
    """What only processors with AVX512-VNNI have."""
    zero = tir.const(0, "int32x16")
    sums = call("llvm.x86.avx512.vpdpbusd.512", zero, x.astype("int32x16"), x.astype("int32x16"), result="int32x16")
    return call("llvm.vector.reduce.add", sums)


def test_what_the_processor_lacks_is_an_error_and_nothing_more():
    old = dict(target="llvm -mcpu=x86-64", cross=True)
    for _ in range(3):
        with pytest.raises(tw.TilewrightError, match="gives up") as caught:
            built(product_of_bytes, **old)
        assert caught.value.code == "code-generation"
        # This thread goes on compiling, for the same target too.
        assert "ret" in built(lambda x: x + 1, **old).get_source("asm")
    np.testing.assert_array_equal(run(lambda x: x + 1, VALUES[:7].repeat(2)[:N]), VALUES[:7].repeat(2)[:N] + 1)
