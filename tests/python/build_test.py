"""Compiled modules: calls and their checks, sources, libraries, timing, threads."""

import ctypes
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import tilewright as tw
from tilewright import te

ROOT = Path(__file__).resolve().parents[2]


def scale(n=16, dtype="float32", name="scale"):
    A = te.placeholder((n,), name="A", dtype=dtype)
    B = te.compute((n,), lambda i: A[i] * 2, name="B")
    s = te.create_schedule(B.op)
    return tw.lower(s, [A, B], name=name)


@pytest.fixture(scope="module")
def module():
    return tw.build(scale())


def code_of(function, *arguments):
    with pytest.raises(tw.UserError) as info:
        function(*arguments)
    return info.value.code


def test_arguments_of_every_kind(module):
    x = np.arange(16, dtype="float32")
    y = np.zeros(16, "float32")
    module(x, y)
    np.testing.assert_array_equal(y, 2 * x)
    b = tw.nd.empty((16,))
    module(tw.nd.array(x), b)
    np.testing.assert_array_equal(b.numpy(), 2 * x)

    class OnlyDlpack:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **options):
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    y[:] = 0
    module["scale"](OnlyDlpack(x), OnlyDlpack(y))
    np.testing.assert_array_equal(y, 2 * x)


def test_each_check_of_a_call(module):
    x, y = np.zeros(16, "float32"), np.zeros(16, "float32")
    assert code_of(module, x) == "argument-count"
    assert code_of(module, x, y, y) == "argument-count"
    assert code_of(module, x.astype("float64"), y) == "argument-dtype"
    assert code_of(module, x[:8], y) == "argument-shape"
    assert code_of(module, x.reshape(4, 4), y) == "argument-shape"
    assert code_of(module, np.zeros(32, "float32")[::2], y) == "argument-strides"
    unaligned = np.zeros(65, "uint8")[1:].view("float32")
    assert code_of(module, unaligned, y) == "argument-alignment"
    assert code_of(module, "x", y) == "bad-argument"
    assert code_of(module, None, y) == "bad-argument"

    class OnAnotherDevice:
        def __dlpack__(self, **options):
            raise RuntimeError

        def __dlpack_device__(self):
            return (2, 0)

    assert code_of(module, OnAnotherDevice(), y) == "argument-device"
    both = np.zeros(24, "float32")
    assert code_of(module, both[:16], both[8:]) == "argument-overlap"
    assert code_of(module, both[8:], both[:16]) == "argument-overlap"
    twice = 2 * x
    module(x, x)  # elementwise, so it works in place
    assert (x == twice).all()
    touching = np.zeros(32, "float32")
    module(touching[:16], touching[16:])
    y.flags.writeable = False
    assert code_of(module, x, y) == "bad-argument"
    x.flags.writeable = False
    module(x, np.zeros(16, "float32"))  # reading it is fine


def test_parallel_iterations_dealt_out_while_running():
    # Row i costs i: the last rows are the dear ones.
    n = 57
    A = te.placeholder((n, n), name="A")
    k = te.reduce_axis((0, n), name="k")
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k, where=k <= i), name="B")
    s = te.create_schedule(B.op)
    s[B].parallel(B.op.axis[0])
    s[B].pragma(B.op.axis[0], "parallel_dynamic", 4)
    f = tw.build(s, [A, B])
    assert "tw_parallel_for_dynamic" in f.get_source("ll")
    x, y = np.random.default_rng(0).integers(0, 9, (n, n)).astype("float32"), np.zeros(n, "float32")
    f(x, y)
    np.testing.assert_array_equal(y, np.tril(x).sum(1))
    with pytest.raises(tw.UserError) as info:
        s[B].pragma(B.op.axis[0], "parallel_dynamic", 0)
    assert info.value.code == "bad-argument" and info.value.legal == "1 or more"


def test_what_may_share_memory():
    n = te.var("n")
    A, B = te.placeholder((n,), name="A"), te.placeholder((n,), name="B")
    C = te.compute((n,), lambda i: A[i] * B[i], name="C")
    f = tw.build(te.create_schedule(C.op), [A, B, C])
    x, y = np.arange(4, dtype="float32"), np.zeros(5, "float32")
    f(x, x, y[:4])
    np.testing.assert_array_equal(y[:4], x * x)
    f(x[1:1], x[2:2], x[:0])  # empty ones share nothing
    with pytest.raises(tw.UserError, match="'C'.*12 bytes.*argument 1"):
        f(x, y[:4], y[1:5])


def test_a_message_names_function_and_argument(module):
    with pytest.raises(tw.UserError) as info:
        module(np.zeros(15, "float32"), np.zeros(16, "float32"))
    for part in ("scale", "A", "15", "16"):
        assert part in str(info.value)


def test_scalar_arguments():
    n, factor = te.var("n"), te.var("factor", "float32")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] * factor, name="B")
    f = tw.build(te.create_schedule(B.op), [n, factor, A, B])
    x, y = np.arange(5, dtype="float32"), np.zeros(5, "float32")
    f(5, 3.0, x, y)
    np.testing.assert_array_equal(y, 3 * x)
    f(np.int64(5), 2, x, y)
    np.testing.assert_array_equal(y, 2 * x)
    assert code_of(f, 4, 3.0, x, y) == "argument-shape"


def test_bfloat16():
    import ml_dtypes

    f = tw.build(scale(dtype="bfloat16"))
    x = np.arange(16).astype(ml_dtypes.bfloat16)
    y = np.zeros(16, ml_dtypes.bfloat16)
    f(x, y)
    np.testing.assert_array_equal(y.astype("float32"), 2 * np.arange(16))


EVERY_16_BITS = np.arange(65536, dtype="uint16")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_every_16_bit_float_converts_as_in_numpy(dtype):
    import ml_dtypes

    x = EVERY_16_BITS.view(ml_dtypes.bfloat16 if dtype == "bfloat16" else "float16")
    A = te.placeholder(x.shape, dtype, name="A")
    wide = te.compute(x.shape, lambda i: A[i].astype("float32"), name="wide")
    back = te.compute(x.shape, lambda i: wide[i].astype(dtype), name="back")
    got, again = np.zeros(x.shape, "float32"), np.zeros(x.shape, x.dtype)
    tw.build(te.create_schedule(back.op), [A, wide, back])(x, got, again)
    np.testing.assert_array_equal(got, x.astype("float32"))  # counts NaN as equal
    number = ~np.isnan(got)
    np.testing.assert_array_equal(again.view("uint16")[number], EVERY_16_BITS[number])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_rounding_to_16_bits_is_that_of_numpy(dtype):
    import ml_dtypes

    narrow = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else "float16")
    exact = EVERY_16_BITS.view(narrow).astype("float32")
    with np.errstate(over="ignore", invalid="ignore"):
        middle = (exact + np.roll(exact, -1)) / 2
        x = np.concatenate([f(v) for v in (exact, middle) for f in (lambda v: v, lambda v: np.nextafter(v, np.float32(3e38)))])
        want = x.astype(narrow)
    A = te.placeholder(x.shape, name="A")
    B = te.compute(x.shape, lambda i: A[i].astype(dtype), name="B")
    s = te.create_schedule(B.op)
    s[B].vectorize(s[B].split(B.op.axis[0], factor=16)[1])
    got = np.zeros(x.shape, narrow)
    tw.build(s, [A, B])(x, got)
    number = ~np.isnan(x)
    np.testing.assert_array_equal(got.view("uint16")[number], want.view("uint16")[number])
    assert np.isnan(got[~number].astype("float32")).all()


@pytest.mark.parametrize("source", ["int16", "uint16", "float16", "bfloat16"])
@pytest.mark.parametrize("target", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64"])
def test_saturating_casts_of_every_16_bit_value(source, target):
    import ml_dtypes

    x = EVERY_16_BITS.view(ml_dtypes.bfloat16 if source == "bfloat16" else source)
    A = te.placeholder(x.shape, source, name="A")
    B = te.compute(x.shape, lambda i: te.saturating_cast(A[i], target), name="B")
    s = te.create_schedule(B.op)
    s[B].vectorize(s[B].split(B.op.axis[0], factor=32)[1])
    got = np.zeros(x.shape, target)
    tw.build(s, [A, B])(x, got)
    limits = np.iinfo(target)
    with np.errstate(invalid="ignore"):
        value = np.trunc(x.astype("float64"))
    inside = (value > limits.min) & (value < limits.max)
    want = np.where(value >= limits.max, limits.max, limits.min).astype(target)
    want[inside] = value[inside].astype(target)
    want[np.isnan(value)] = 0
    np.testing.assert_array_equal(got, want)


def test_saturating_cast_of_tensors_and_constants():
    A = te.placeholder((4,), name="A")
    B = te.saturating_cast(A, "uint8")
    y = np.zeros(4, "uint8")
    tw.build(te.create_schedule(B.op), [A, B])(np.array([-1, 1.9, 256, np.nan], "float32"), y)
    assert y.tolist() == [0, 1, 255, 0]
    assert te.saturating_cast(te.const(300), "int8").value == 127
    with pytest.raises(tw.UserError) as info:
        te.saturating_cast(te.const(300), "bool")
    assert info.value.code == "type-mismatch"


def test_bfloat16_through_dlpack_and_constants():
    import ml_dtypes

    w = np.linspace(-2, 2, 16).astype(ml_dtypes.bfloat16)
    A, W = te.placeholder((16,), "bfloat16", name="A"), te.placeholder((16,), "bfloat16", name="W", constant=True)
    B = te.compute((16,), lambda i: A[i].astype("float32") * W[i].astype("float32"), name="B")
    f = tw.build(te.create_schedule(B.op), [A, W, B], constants={W: w})
    x, y = np.arange(16).astype(ml_dtypes.bfloat16), np.zeros(16, "float32")
    f(tw.nd.from_dlpack(x), y)
    np.testing.assert_array_equal(y, x.astype("float32") * w.astype("float32"))
    shared = tw.nd.array(x)
    f(tw.nd.from_dlpack(shared.__dlpack__(max_version=(1, 0))), y)
    np.testing.assert_array_equal(y, x.astype("float32") * w.astype("float32"))


def test_sources(module):
    assert "define" in module.get_source("ll") and module.get_source() == module.get_source("ll")
    assert "scale" in module.get_source("asm")
    assert "for (i, 0, 16)" in module.get_source("ir")


def test_a_module_of_several_functions():
    module = tw.build([scale(name="first"), scale(n=8, name="second")])
    assert module.function_names == ["first", "second"]
    y = np.zeros(8, "float32")
    module["second"](np.ones(8, "float32"), y)
    assert (y == 2).all()


def test_a_function_outlives_its_module():
    f = tw.build(scale())["scale"]
    y = np.zeros(16, "float32")
    f(np.ones(16, "float32"), y)
    assert (y == 2).all()


def test_time_evaluator(module):
    x = tw.nd.zeros((16,))
    result = module.time_evaluator("scale", tw.cpu(), number=3, repeat=4)(x, tw.nd.zeros((16,)))
    assert len(result.results) == 4
    assert 0 < result.min <= result.median <= result.max
    assert result.min <= result.mean <= result.max
    assert code_of(module.time_evaluator(number=0), x, x) == "bad-argument"
    cold = module.time_evaluator("scale", number=1, repeat=3, f_preproc="cache_flush_cpu_non_first_arg")
    assert len(cold(x, tw.nd.zeros((16,))).results) == 3
    with pytest.raises(tw.UserError, match="unknown f_preproc 'flush'"):
        module.time_evaluator(f_preproc="flush")


def test_what_a_planner_is_told(tmp_path):
    A = te.placeholder((64, 3000), name="A")
    B = te.placeholder((64, 3000), name="B")
    T = te.compute((64, 3000), lambda i, j: A[i, 2999 - j] + 1, name="T")
    C = te.compute((64, 3000), lambda i, j: T[i, 2999 - j] * B[i, j], name="C")
    s = te.create_schedule(C.op)
    s[T].compute_at(s[C], C.op.axis[0])
    f = tw.build(s, [A, B, C], name="f")
    f.export_library(tmp_path / "f.so")
    a, b = (np.random.default_rng(k).random((64, 3000), dtype="float32") for k in range(2))
    for function in (f["f"], tw.runtime.load_module(tmp_path / "f.so")["f"]):
        assert function.may_share == {2: [1]}
        assert function.workspace == (12032, 0)  # a row of T, in lines of 64 bytes
        for call in (function, function.unchecked):
            c = b.copy()
            call(a, c, c)
            assert (c == (a + 1) * b).all()
        assert code_of(function, a, b, a) == "argument-overlap"
    n = te.var("n")
    X = te.placeholder((n,), name="X")
    Y = te.compute((n,), lambda i: X[i] + 1, name="Y")
    Z = te.compute((n,), lambda i: Y[n - 1 - i], name="Z")
    assert tw.build(te.create_schedule(Z.op), [X, Z]).entry_func.workspace == (None, 0)


def test_large_constants_are_mapped_from_a_file(tmp_path):
    A = te.placeholder((256, 64), name="A")
    W = te.placeholder((256, 64), name="W", constant=True)
    C = te.compute((256, 64), lambda i, j: A[i, j] * W[i, j], name="C")
    w = np.random.default_rng(0).random((256, 64), dtype="float32")
    tw.build(te.create_schedule(C.op), [A, W, C], constants={W: w}).export_library(tmp_path / "scaled.so")
    assert w.tobytes() in (tmp_path / "scaled.params").read_bytes()
    a, c = np.full((256, 64), 3, "float32"), np.zeros((256, 64), "float32")
    tw.runtime.load_module(tmp_path / "scaled.so")(a, c)
    assert (c == 3 * w).all()
    content = bytearray((tmp_path / "scaled.params").read_bytes())
    content[-1] ^= 1
    (tmp_path / "other").write_bytes(content)
    (tmp_path / "other").rename(tmp_path / "scaled.params")
    assert code_of(tw.runtime.load_module, tmp_path / "scaled.so") == "bad-parameters"
    (tmp_path / "scaled.params").unlink()
    assert code_of(tw.runtime.load_module, tmp_path / "scaled.so") == "bad-parameters"


def test_export_and_load(module, tmp_path):
    path = tmp_path / "scale.so"
    module.export_library(path)
    loaded = tw.runtime.load_module(path)
    assert loaded.function_names == ["scale"]
    y = np.zeros(16, "float32")
    loaded(np.ones(16, "float32"), y)
    assert (y == 2).all()
    assert code_of(loaded, y) == "argument-count"
    assert code_of(tw.runtime.load_module, tmp_path / "absent.so") == "module-load"
    assert code_of(module.export_library, tmp_path / "scale.txt") == "bad-argument"


PROGRAM = r"""
#include <stdio.h>
#include "runtime/c_api.h"

int main(int argc, char** argv) {
  tw_module* module = tw_module_load(argv[argc - 1]);
  if (module == NULL) return 1;
  float a[16], b[16];
  for (int i = 0; i < 16; ++i) a[i] = (float)i;
  int64_t shape[1] = {16};
  DLDataType type;
  if (tw_parse_dtype("float32", &type) != 0) return 2;
  DLTensor x = tw_tensor(a, type, 1, shape), y = tw_tensor(b, type, 1, shape);
  DLTensor* tensors[2] = {&x, &y};
  tw_kernel kernel = tw_module_function(module, "scale");
  if (kernel == NULL || tw_call(kernel, tensors, 2) != 0) return 3;
  for (int i = 0; i < 16; ++i) {
    if (b[i] != 2 * a[i]) return 4;
  }
  if (tw_call(kernel, tensors, 1) == 0) return 5;
  tw_module_free(module);
  puts("ok");
  return 0;
}
"""


def test_a_c_program_loads_a_library(module, tmp_path):
    library = tmp_path / "scale.so"
    module.export_library(library)
    source = tmp_path / "main.c"
    source.write_text(PROGRAM)
    package = Path(tw.__file__).parent
    subprocess.run(
        ["cc", "-std=c99", "-Wall", "-Werror", f"-I{ROOT}", "-o", tmp_path / "main", source, f"-L{package}",
         "-ltilewright_runtime", f"-Wl,-rpath,{package}"], check=True)
    result = subprocess.run([tmp_path / "main", library], capture_output=True, text=True)
    assert result.stdout == "ok\n", result


def test_two_threads_build_at_once():
    """While one thread builds, another one runs Python: the interpreter is not held."""
    A = te.placeholder((256, 256), name="A")
    B = te.placeholder((256, 256), name="B")
    k = te.reduce_axis((0, 256), name="k")
    C = te.compute((256, 256), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    results, errors = [], []

    def work():
        try:
            for _ in range(3):
                s = te.create_schedule(C.op)
                xo, yo, xi, yi = s[C].tile(*C.op.axis, 8, 16)
                s[C].unroll(xi)
                s[C].vectorize(yi)
                f = tw.build(s, [A, B, C])
                c = np.zeros((256, 256), "float32")
                f(np.ones((256, 256), "float32"), np.ones((256, 256), "float32"), c)
                results.append(float(c[0, 0]))
        except Exception as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors
    assert results == [256.0] * 6


def test_the_interpreter_is_free_while_a_kernel_runs():
    n = te.var("n")
    flag = te.placeholder((1,), name="flag", dtype="int32")
    r = te.reduce_axis((0, n), name="r")
    total = te.compute((1,), lambda i: te.sum(te.if_then_else(r >= 0, flag[i], 0), axis=r), name="total")
    f = tw.build(te.create_schedule(total.op), [n, flag, total])
    flags, out = np.ones(1, "int32"), np.zeros(1, "int32")
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(1)
            time.sleep(0)  # gives the lock away

    ticker = threading.Thread(target=tick)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)  # so that only who gives the lock away lets the other thread run
    try:
        ticker.start()
        for _ in range(1000):  # the other thread may need a while to wake up
            before = len(ticks)
            f(500_000, flags, out)
            if len(ticks) > before:
                break
        else:
            pytest.fail("no other thread ran while a kernel did")
    finally:
        done.set()
        sys.setswitchinterval(interval)
        ticker.join()
    assert out[0] == 500_000


def test_targets():
    with tw.target.Target("llvm -mcpu=x86-64") as target:
        assert tw.target.Target.current() == target
        f = tw.build(scale())
        assert "scale" in f.get_source("asm")
    assert tw.target.Target.current() is None
    assert tw.target.Target("llvm").vector_bits >= 128
    assert tw.target.create("llvm") == tw.target.Target("llvm")


def test_a_target_that_this_machine_is_not(tmp_path):
    target = tw.target.Target("llvm -mcpu=bdver4")  # FMA4 and XOP died out
    if not target.features_missing_on_host:
        pytest.skip("a machine of 2015")
    with pytest.raises(tw.UserError, match="fma4.*legal: 'llvm .*cross=True") as refused:
        tw.build(scale(), target=target)
    assert refused.value.code == "target-feature"
    f = tw.build(scale(), target=target, cross=True)
    assert "scale" in f.get_source("asm")
    f.export_library(tmp_path / "scale.so")
    x = np.zeros(16, "float32")
    assert code_of(f, x, x.copy()) == "target-feature"
    assert code_of(tw.runtime.load_module, tmp_path / "scale.so") == "target-feature"


def test_addresses_are_those_of_ctypes():
    a = tw.nd.array(np.arange(4, dtype="int32"))
    assert list((ctypes.c_int32 * 4).from_address(a.data_ptr)) == [0, 1, 2, 3]


def packed_product(m=8, n=40, k=12):
    A = te.placeholder((m, k), name="A")
    W = te.placeholder((k, n), name="W", constant=True)
    bias = te.placeholder((n,), name="bias", constant=True)
    r = te.reduce_axis((0, k), name="r")
    C = te.compute((m, n), lambda i, j: te.sum(A[i, r] * W[r, j], axis=r), name="C")
    D = te.compute((m, n), lambda i, j: C[i, j] + bias[j], name="D")
    s = te.create_schedule(D.op)
    packed = s.cache_read(W, "global", [C])
    s[packed].transform_layout(s[packed].op.axis[1], 16, [1, 0, 2])
    s[packed].precompute()
    return s, A, W, bias, D


def test_constants_are_packed_when_the_kernel_is_built(tmp_path):
    s, A, W, bias, D = packed_product()
    rng = np.random.default_rng(0)
    # Aligned as kernels need it, so that nothing else asks for a copy.
    a, w, b = (np.from_dlpack(tw.nd.array(rng.random(shape, dtype="float32"))) for shape in ((8, 12), (12, 40), (40,)))
    expected = a @ w + b
    f = tw.build(s, [A, W, bias, D], constants={W: w, bias: b})
    g = tw.build(s, [A, W, bias, D], constants={W: w})  # bias stays an argument
    h = tw.build(s, [A, W, bias, D])  # packs in every call
    path = str(tmp_path / "product.so")
    f.export_library(path)
    library = tw.runtime.load_module(path)
    w_before, b_before = w.copy(), b.copy()
    w[:], b[:] = 0, 0  # constants are copies
    for call, arguments in ((f, (a,)), (g, (a, b_before)), (h, (a, w_before, b_before)), (library, (a,))):
        d = np.full((8, 40), np.nan, "float32")
        call(*arguments, d)
        np.testing.assert_allclose(d, expected, rtol=1e-5)
    kernel = tw.lower(s, [A, D], constants={W: w, bias: b})
    assert [name for name, *_ in kernel.args] == ["A", "D"]
    assert code_of(tw.build, s, [A, D]) == "argument-not-in-program"
    assert code_of(lambda: tw.build(s, [A, W, bias, D], constants={A: a})) == "not-constant"
    assert code_of(lambda: tw.build(kernel, constants={W: w})) == "bad-argument"
    assert code_of(lambda: tw.build(s, [A, W, bias, D], constants=[w])) == "bad-argument"


def test_untuned_tensors_with_constants():
    _, A, W, bias, D = packed_product(m=32, n=64, k=48)
    rng = np.random.default_rng(1)
    a, w, b = (rng.random(shape, dtype="float32") for shape in ((32, 48), (48, 64), (64,)))
    d = np.zeros((32, 64), "float32")
    tw.build([A, W, bias, D], constants={W: w, bias: b})(a, d)
    np.testing.assert_allclose(d, a @ w + b, rtol=1e-5)
