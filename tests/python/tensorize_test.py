"""Tensor intrinsics declared in Python."""

import subprocess
import sys

import numpy as np
import pytest

import tilewright as tw
from tilewright import te, tir


def vnni(name="test_vnni"):
    """Sixteen sums of four products of bytes, by LLVM's intrinsic, declared as a TVM script declares it."""
    data = te.placeholder((4,), dtype="uint8", name="data")
    kernel = te.placeholder((16, 4), dtype="int8", name="kernel")
    k = te.reduce_axis((0, 4), name="k")
    C = te.compute(
        (16,), lambda i: te.sum(data[k].astype("int32") * kernel[i, k].astype("int32"), axis=k), name="C")
    a = tir.decl_buffer(data.shape, dtype="uint8", name="a", offset_factor=1, strides=[1])
    b = tir.decl_buffer(kernel.shape, dtype="int8", name="b", offset_factor=1, strides=[te.var("row"), 1])

    def statements(ins, outs):
        def part(index):
            ib = tir.ir_builder.create()
            if index == 1:
                ib.emit(outs[0].vstore(0, tir.const(0, "int32x16")))
                return ib.get()
            bytes_of_a = tir.call_intrin("int32", "tir.reinterpret", ins[0].vload([0], "uint8x4"))
            lanes_of_a = bytes_of_a.astype("int32x16")
            bytes_of_b = tir.call_intrin("int32x16", "tir.reinterpret", ins[1].vload([0, 0], "int8x64"))
            zero = tir.const(0, "int32x16")
            sums = tir.call_llvm_pure_intrin(
                "int32x16", "llvm.x86.avx512.vpdpbusd.512", tir.const(0, "uint32"), zero, lanes_of_a, bytes_of_b)
            ib.emit(outs[0].vstore(0, sums if index == 0 else sums + outs[0].vload([0], "int32x16")))
            return ib.get()

        return part(0), part(1), part(2)

    return te.decl_tensor_intrin(
        C.op, statements, name=name, binds={data: a, kernel: b}, default_buffer_params={"offset_factor": 1})


def packed_product(m, n, k):
    A = te.placeholder((m, k), dtype="uint8", name="A")
    B = te.placeholder((k // 4, n, 4), dtype="int8", name="B")
    r = te.reduce_axis((0, k), name="r")
    C = te.compute((m, n), lambda i, j: te.sum(A[i, r].astype("int32") * B[r // 4, j, r % 4].astype("int32"), axis=r),
                   name="C")
    return A, B, C


def vnni_schedule(A, B, C, intrin):
    s = te.create_schedule(C.op)
    jo, ji = s[C].split(C.op.axis[1], factor=16)
    ro, ri = s[C].split(C.op.reduce_axis[0], factor=4)
    s[C].reorder(jo, C.op.axis[0], ro, ji, ri)
    s[C].tensorize(ji, intrin)
    return s


def test_a_dot_product_of_bytes_by_llvms_intrinsic():
    m, n, k = 5, 32, 24
    A, B, C = packed_product(m, n, k)
    s = vnni_schedule(A, B, C, vnni())
    assert s.trace.steps[-1].endswith('"test_vnni")')
    target = tw.target.Target("llvm -mcpu=icelake-server")
    f = tw.build(s, [A, B, C], target=target, cross=True)
    assert "vpdpbusd" in f.get_source("asm")
    if target.features_missing_on_host:
        pytest.skip("no AVX512-VNNI")
    random = np.random.default_rng(0)
    a = random.integers(0, 256, (m, k)).astype("uint8")
    b = random.integers(-128, 128, (k // 4, n, 4)).astype("int8")
    c = np.zeros((m, n), "int32")
    f(a, b, c)
    flat = b.transpose(0, 2, 1).reshape(k, n).astype("int32")
    np.testing.assert_array_equal(c, a.astype("int32") @ flat)


def test_a_function_of_c():
    """Rows copied by memcpy, whose strides the intrinsic takes from the loop nest."""
    A = te.placeholder((8, 16), dtype="int32", name="A")
    B = te.compute((8, 16), lambda i, j: A[i, j], name="B")
    x = te.placeholder((2, 8), dtype="int32", name="x")
    y = te.compute((2, 8), lambda i, j: x[i, j], name="y")

    def copy(ins, outs):
        ib = tir.ir_builder.create()
        with ib.for_range(0, 2, name="row") as row:
            to = outs[0].access_ptr("w", offset=row * outs[0].strides[0])
            ib.emit(tir.call_extern("handle", "memcpy", to, ins[0].access_ptr("r", offset=row * ins[0].strides[0]),
                                    tir.const(32, "int64")))
        return ib.get()

    buffers = {t: te.decl_buffer(t.shape, t.dtype, t.op.name, strides=[te.var("s"), 1], offset_factor=1) for t in (x, y)}
    intrin = te.decl_tensor_intrin(y.op, copy, name="test_memcpy", binds=buffers)
    assert "test_memcpy" in te.tensor_intrin_names() and te.tensor_intrin("test_memcpy").op.name == "y"
    s = te.create_schedule(B.op)
    io, jo, ii, ji = s[B].tile(B.op.axis[0], B.op.axis[1], 2, 8)
    s[B].tensorize(ii, intrin)
    text = str(tw.lower(s, [A, B], simple_mode=True))
    assert 'if (tensorized("test_memcpy"))' in text and "memcpy" in text and "else" in text
    f = tw.build(s, [A, B])
    a, b = np.arange(128, dtype="int32").reshape(8, 16), np.zeros((8, 16), "int32")
    f(a, b)
    np.testing.assert_array_equal(a, b)
    assert "memcpy" in f.get_source("ll")


def test_statements_of_the_builder():
    """Conditions, memory of its own, and elements by index."""
    x = te.placeholder((8,), name="x")
    y = te.compute((8,), lambda i: te.if_then_else(x[i] > 0, x[i] * 2, 0.0), name="y")

    def body(ins, outs):
        ib = tir.ir_builder.create()
        a, b = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        twice = ib.allocate("float32", 8, name="twice")
        with ib.for_range(0, 8, name="i", kind="unroll") as i:
            twice[i] = a[i] * 2
        with ib.for_range(0, 8, name="j") as j:
            with ib.if_scope(a[j] > 0):
                b[j] = twice[j]
            with ib.else_scope():
                b[j] = 0.0
        return ib.get()

    intrin = te.decl_tensor_intrin(y.op, body, name="test_builder", default_buffer_params={"offset_factor": 1})
    A = te.placeholder((24,), name="A")
    B = te.compute((24,), lambda i: te.if_then_else(A[i] > 0, A[i] * 2, 0.0), name="B")
    s = te.create_schedule(B.op)
    s[B].tensorize(s[B].split(B.op.axis[0], factor=8)[1], intrin)
    a, b = np.random.default_rng(1).standard_normal(24).astype("float32"), np.zeros(24, "float32")
    tw.build(s, [A, B])(a, b)
    np.testing.assert_array_equal(b, np.where(a > 0, a * 2, 0))


def test_the_builder_evaluates_a_condition_once():
    """Also where the statements under it change what it reads."""
    y = te.compute((8,), lambda i: te.const(-2.0), name="y")

    def body(ins, outs):
        ib = tir.ir_builder.create()
        b = ib.buffer_ptr(outs[0])
        with ib.for_range(0, 8, name="j") as j:
            b[j] = 1.0
            with ib.if_scope(b[j] > 0):
                with ib.if_scope(j >= 0):
                    b[j] = -1.0
                with ib.else_scope():
                    b[j] = -3.0
                b[j] = b[j] - 1.0
            with ib.else_scope():
                b[j] = 7.0
        return ib.get()

    intrin = te.decl_tensor_intrin(y.op, body, name="test_else", default_buffer_params={"offset_factor": 1})
    B = te.compute((16,), lambda i: te.const(-2.0), name="B")
    s = te.create_schedule(B.op)
    s[B].tensorize(s[B].split(B.op.axis[0], factor=8)[1], intrin)
    b = np.zeros(16, "float32")
    tw.build(s, [B])(b)
    assert (b == -2).all()


def test_memory_ends_with_its_scope():
    """Two blocks with memory and names of their own, beside one another."""
    def body(ins, outs):
        ib = tir.ir_builder.create()
        c = ib.buffer_ptr(outs[0])
        for k in range(2):
            with ib.new_scope():
                t = ib.allocate("float32", 4, name="t")
                two = ib.let("two", te.const(2.0 + k))
                with ib.for_range(0, 4, "i") as i:
                    t[i] = two * i
                with ib.for_range(0, 4, "i") as i:
                    c[k * 4 + i] = t[3 - i]
        return ib.get()

    C = te.extern((8,), [], body, name="C", dtype="float32")
    c = np.zeros(8, "float32")
    tw.build(te.create_schedule(C.op), [C])(c)
    np.testing.assert_array_equal(c, [6, 4, 2, 0, 9, 6, 3, 0])
    assert str(C.op.body).startswith("{\n") and str(C.op.body).count("allocate t") == 2  # the first ends before the second


def test_an_else_follows_its_if():
    ib = tir.ir_builder.create()
    p = ib.allocate("float32", 4)
    with ib.if_scope(p[0] > 0):
        p[0] = 0.0
    p[1] = 0.0
    with pytest.raises(tw.UserError, match="right before it"), ib.else_scope():
        pass
    with ib.if_scope(p[0] > 0):
        with pytest.raises(tw.UserError, match="right before it"), ib.else_scope():
            pass


def test_errors():
    A, B, C = packed_product(4, 16, 8)
    with pytest.raises(tw.UserError) as e:
        vnni_schedule(A, B, C, "vnnj")
    assert e.value.code == "unknown-intrinsic" and "vnnj" in str(e.value)
    old = vnni("test_replaced")
    vnni("test_replaced")
    with pytest.raises(tw.UserError) as e:
        vnni_schedule(A, B, C, old)
    assert e.value.code == "bad-intrinsic"
    with pytest.raises(tw.UserError) as e:
        vnni_schedule(A, B, C, 3)
    assert e.value.code == "bad-argument"
    # An operand whose memory is not as the intrinsic wants it.
    x = te.placeholder((4,), name="x")
    y = te.compute((4,), lambda i: x[i], name="y")
    intrin = te.decl_tensor_intrin(y.op, lambda ins, outs: outs[0].vstore(0, ins[0].vload(0, "float32x4")), name="test_offset")
    P = te.placeholder((8,), name="P")
    Q = te.compute((8,), lambda i: P[i], name="Q")
    s = te.create_schedule(Q.op)
    s[Q].tensorize(s[Q].split(Q.op.axis[0], factor=4)[1], intrin)
    with pytest.raises(tw.UserError) as e:
        tw.lower(s, [P, Q])
    assert e.value.code == "cannot-tensorize" and "offset in memory" in str(e.value)


def test_a_trace_needs_the_declaration():
    """In a fresh process the name is known once the script has declared it."""
    script = """
import tilewright as tw
from tilewright import te
A = te.placeholder((8,), name="A")
B = te.compute((8,), lambda i: A[i] + 1, name="B")
trace = 'split@1(s1, s1:0, factor=4)\\ntensorize@1(s1, t0.1, "later")'
try:
    te.schedule_from_trace([A, B], trace)
except tw.UserError as e:
    assert e.code == "unknown-intrinsic", e.code
else:
    raise AssertionError("replayed without it")
x = te.placeholder((4,), name="x")
y = te.compute((4,), lambda i: x[i] + 1, name="y")
te.decl_tensor_intrin(y.op, lambda ins, outs: outs[0].vstore(0, ins[0].vload(0, "float32x4") + 1),
                      name="later", default_buffer_params={"offset_factor": 1})
s = te.schedule_from_trace([A, B], trace)
assert 'tensorized("later")' in str(tw.lower(s, [A, B], simple_mode=True))
"""
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def in_tiles(s, A, B, C, parallel):
    """A matrix product in tile registers, one tile of sums at a time."""
    sums = s.cache_write(C, "amx.tile")
    packed = s.cache_read(B, "global", [sums.op])
    s[packed].transform_layout(s[packed].op.axis[0], 4, [0, 2, 1])
    s[packed].transform_layout(s[packed].op.axis[1], 16, [1, 0, 2, 3])
    right = s.cache_read(s[packed].op.output(0), "amx.tile", [sums.op])
    left = s.cache_read(A, "amx.tile", [sums.op])
    io, jo, ii, _ = s[C].tile(C.op.axis[0], C.op.axis[1], 16, 16)
    if parallel:
        s[C].parallel(io)
    s[C].tensorize(ii, "amx.store_s32")
    s[sums].compute_at(s[C], jo)
    i, j = s[sums].op.axis
    ko, ki = s[sums].split(s[sums].op.reduce_axis[0], factor=64)
    s[sums].reorder(ko, i, j, ki)
    s[sums].tensorize(i, "amx.dot_u8s8")
    for tile, axis, intrin in ((left, 0, "amx.load_a_u8"), (right, 1, "amx.load_b_s8")):
        s[tile].compute_at(s[sums], ko)
        s[tile].tensorize(s[tile].op.axis[axis], intrin)


def test_tile_registers_of_several_threads(tmp_path):
    """One product on the thread pool, whose tasks have registers of their own, then one on the calling thread; and the
    same from a library in another process, which has not built anything."""
    n = 64
    A, B, D = (te.placeholder((n, n), dtype, name) for dtype, name in (("uint8", "A"), ("int8", "B"), ("int8", "D")))

    def product(x, y, name):
        k = te.reduce_axis((0, n), name="k")
        return te.compute(
            (n, n), lambda i, j: te.sum(x[i, k].astype("int32") * y[k, j].astype("int32"), axis=k), name=name)

    C, E = product(A, B, "C"), product(A, D, "E")
    s = te.create_schedule([C.op, E.op])
    in_tiles(s, A, B, C, parallel=True)
    in_tiles(s, A, D, E, parallel=False)
    target = tw.target.Target("llvm -mcpu=sapphirerapids")
    try:
        f = tw.build(s, [A, B, D, C, E], target=target, cross=True)
    except tw.UserError as e:
        assert e.code == "target-feature"
        pytest.skip("the system does not grant tile registers")
    assert f.get_source("asm").count("tdpbusd") == 2
    if target.features_missing_on_host:
        pytest.skip("no AMX")
    random = np.random.default_rng(0)
    a = random.integers(0, 256, (n, n)).astype("uint8")
    b, d = (random.integers(-128, 128, (n, n)).astype("int8") for _ in range(2))
    c, e = np.zeros((n, n), "int32"), np.zeros((n, n), "int32")
    for _ in range(20):
        f(a, b, d, c, e)
    np.testing.assert_array_equal(c, a.astype("int32") @ b.astype("int32"))
    np.testing.assert_array_equal(e, a.astype("int32") @ d.astype("int32"))

    path = str(tmp_path / "tiles.so")
    f.export_library(path)
    script = f"""
import numpy as np, tilewright as tw
n = {n}
a, b = np.ones((n, n), "uint8"), np.ones((n, n), "int8")
c, e = np.zeros((n, n), "int32"), np.zeros((n, n), "int32")
tw.runtime.load_module({path!r})["default_function"](a, b, b, c, e)
assert (c == n).all() and (e == n).all()
"""
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_a_scalar_of_a_block():
    x, v = te.placeholder((8,), name="x"), te.var("v", "float32")
    y = te.compute((8,), lambda i: x[i] * v, name="y")

    def scaled(ins, outs, scalars):
        ib = tir.ir_builder.create()
        with ib.for_range(0, 8, "i") as i:
            ib.emit(outs[0].vstore(i, ins[0].vload(i) * scalars[0]))
        return ib.get()

    intrin = te.decl_tensor_intrin(
        y.op, scaled, name="scaled_by_blocks", scalar_params=[v], default_buffer_params={"offset_factor": 1})
    A, S = te.placeholder((4, 32), name="A"), te.placeholder((4, 4), name="S")
    a, b = np.arange(128, dtype="float32").reshape(4, 32), np.arange(1, 17, dtype="float32").reshape(4, 4)

    def tensorized(scale):
        C = te.compute((4, 32), lambda i, j: A[i, j] * scale(i, j), name="C")
        s = te.create_schedule(C.op)
        s[C].tensorize(s[C].split(C.op.axis[1], factor=8)[1], intrin)
        return C, s

    for scale, expected in ((lambda i, j: S[i, j // 8], np.repeat(b, 8, 1)),
                            (lambda i, j: S[j // 8, i], np.repeat(b.T, 8, 1)),
                            (lambda i, j: S[i, j // 16 + i // 4], np.repeat(b[:, :2], 16, 1)),
                            (lambda i, j: S[i, (j - j % 8) // 8], np.repeat(b, 8, 1))):
        C, s = tensorized(scale)
        c = tw.nd.array(np.zeros((4, 32), "float32"))
        tw.build(s, [A, S, C])(tw.nd.array(a), tw.nd.array(b), c)
        np.testing.assert_array_equal(c.numpy(), a * expected)
    for scale in (lambda i, j: S[i, j // 4 % 4], lambda i, j: S[i, j % 4], lambda i, j: S[i, (j + 1) // 16]):
        _, s = tensorized(scale)
        assert [f.code for f in s.check()] == ["cannot-tensorize"]


@pytest.mark.parametrize("scope", ["shared", "warp", "local", "global:tag", ""])
def test_memory_of_any_scope_is_addressed_alike(scope):
    x = te.placeholder((8,), name="x")
    y = te.compute((8,), lambda i: x[i] * 2, name="y")

    def twice(ins, outs):
        ib = tir.ir_builder.create()
        with ib.for_range(0, 8, "i") as i:
            ib.emit(outs[0].vstore(i, ins[0].vload(i) * 2))
        return ib.get()

    intrin = te.decl_tensor_intrin(y.op, twice, name="twice_of_scopes", default_buffer_params={"offset_factor": 1})
    A = te.placeholder((4, 16), name="A")
    B = te.compute((4, 16), lambda i, j: A[i, j] * 2, name="B")
    C = te.compute((4, 16), lambda i, j: B[i, j] + 1, name="C")
    s = te.create_schedule(C.op)
    outer, inner = s[B].split(B.op.axis[1], factor=8)
    s[B].tensorize(inner, intrin)
    s[B].set_scope(scope)
    s[s.cache_read(A, scope, [B])].compute_at(s[B], outer)
    assert s.check() == []
    a, c = np.random.default_rng(0).random((4, 16), dtype="float32"), np.zeros((4, 16), "float32")
    tw.build(s, [A, C])(a, c)
    np.testing.assert_allclose(c, a * 2 + 1, rtol=1e-6)
