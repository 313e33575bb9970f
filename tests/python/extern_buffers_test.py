"""Buffers that te.extern and tensor intrinsics declare, with strides and offsets: honoured, or refused."""

import numpy
import pytest

import tilewright as tvm
import tilewright.testing
from tilewright import te, tir


def run(s, args, *arrays):
    out = numpy.zeros([int(e) for e in args[-1].shape], str(args[-1].dtype))
    tvm.build(s, args)(*arrays, out)
    return out


def random(*shape):
    return numpy.random.default_rng(0).standard_normal(shape).astype("float32")


def transposed(ins, outs):
    """By index, whose strides are the buffers' own."""
    ib = tir.ir_builder.create()
    x, y = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
    rows, columns = ins[0].shape
    with ib.for_range(0, rows, "i") as i, ib.for_range(0, columns, "j") as j:
        y[j, i] = x[i, j]
    return ib.get()


def test_symbolic_strides_offsets_and_extents_take_what_the_tensors_have():
    A = te.placeholder((3, 5), name="A")
    B = te.compute((3, 5), lambda i, j: A[i, j] + 1.0, name="B")
    Bb = tir.decl_buffer((te.var("r"), te.var("c")), name="Bb", strides=[te.var("s0"), te.var("s1")],
                         elem_offset=te.var("first"))
    Cb = tir.decl_buffer((5, 3), name="Cb", strides=[te.var("t0"), 1], offset_factor=16)
    C = te.extern((5, 3), [B], transposed, in_buffers=[Bb], out_buffers=[Cb], name="C")
    assert "s0" not in str(C.op.body) and "first" not in str(C.op.body)
    a = random(3, 5)
    tvm.testing.assert_allclose(run(te.create_schedule(C.op), [A, C], a), (a + 1).T)


def test_of_symbolic_tensors():
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m), name="A")
    Ab = tir.decl_buffer((n, m), name="Ab", strides=[m, 1])
    Cb = tir.decl_buffer((m, n), name="Cb", strides=[te.var("s"), te.var("one")], offset_factor=1)
    C = te.extern((m, n), [A], transposed, in_buffers=Ab, out_buffers=Cb, name="C")
    f = tvm.build(te.create_schedule(C.op), [A, C])
    a, c = random(4, 7), numpy.zeros((7, 4), "float32")
    f(a, c)
    assert (c == a.T).all()


def test_a_number_that_two_buffers_share():
    A = te.placeholder((3, 5), name="A")
    s = te.var("s")
    Ab = tir.decl_buffer((3, 5), name="Ab", strides=[s, 1])
    same = te.extern((4, 5), [A], lambda ins, outs: outs[0].vstore([1, 2], ins[0].vload([2, 4])), in_buffers=Ab,
                     out_buffers=tir.decl_buffer((4, 5), name="Cb", strides=[s, 1]), name="C")
    assert str(same.op.body) == "Cb[(5 + 2)] = Ab[((2*5) + 4)]\n"
    with pytest.raises(tvm.UserError, match="stride 0 of buffer 'Cb' is declared as s, and is 4 of the tensor") as info:
        te.extern((3, 4), [A], transposed, in_buffers=Ab, out_buffers=tir.decl_buffer((3, 4), name="Cb", strides=[s, 1]))
    assert info.value.code == "bad-argument" and info.value.where.startswith("extern_buffers_test.py:")


N = te.var("n")


@pytest.mark.parametrize("declared, what", [
    (dict(strides=[8, 1]), "stride 0 of buffer 'Ab' is declared as 8, and is 5 of the tensor"),
    (dict(strides=[5, 2]), "stride 1 of buffer 'Ab' is declared as 2, and is 1 of the tensor"),
    (dict(strides=[1]), "has 1 strides and its tensor 2 dimensions"),
    (dict(strides=[15, 5, 1]), "has 3 strides and its tensor 2 dimensions"),
    (dict(elem_offset=4), "offset of buffer 'Ab' is declared as 4, and is 0 of the tensor"),
    (dict(elem_offset=N + 1), r"offset of buffer 'Ab' is declared as \(n \+ 1\), and is 0 of the tensor"),
    (dict(strides=[N * 2, 1]), r"stride 0 of buffer 'Ab' is declared as \(n\*2\), and is 5 of the tensor"),
    (dict(strides=[N, N]), "stride 1 of buffer 'Ab' is declared as n, and is 1 of the tensor"),
], ids=str)
def test_what_is_not_so_of_the_tensor_is_refused(declared, what):
    A = te.placeholder((3, 5), name="A")
    with pytest.raises(tvm.UserError, match=what) as info:
        te.extern((5, 3), [A], transposed, in_buffers=tir.decl_buffer((3, 5), name="Ab", **declared), name="C")
    assert info.value.code == "bad-argument" and info.value.stage == "C"


def test_an_expression_of_numbers_that_are_known():
    A = te.placeholder((3, 4), name="A")
    h = te.var("h")
    Ab = tir.decl_buffer((3, h), name="Ab", strides=[h + h - 4, 1])
    C = te.extern((4, 3), [A], transposed, in_buffers=Ab, name="C")
    a = random(3, 4)
    assert (run(te.create_schedule(C.op), [A, C], a) == a.T).all()


def test_memory_that_is_padded_is_refused():
    A = te.placeholder((3, 5), name="A")
    B = te.compute((3, 5), lambda i, j: A[i, j] + 1.0, name="B")
    Bb = tir.decl_buffer((3, 5), name="Bb", strides=[te.var("s"), 1])
    C = te.extern((5, 3), [B], transposed, in_buffers=Bb, name="C")
    s = te.create_schedule(C.op)
    with pytest.raises(tvm.UserError, match="'storage_align' of what 'C' addresses in memory, row-major without gaps"):
        s[B].storage_align(B.op.axis[0], 8, 0)


def block(strides, name, by_index=True):
    """An intrinsic that copies four by four elements."""
    x = te.placeholder((4, 4), name="x")
    y = te.compute((4, 4), lambda i, j: x[i, j], name="y")
    buffers = [tir.decl_buffer((4, 4), name=n, strides=st, offset_factor=1) for n, st in zip("xy", strides)]

    def statements(ins, outs):
        ib = tir.ir_builder.create()
        a, b = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        with ib.for_range(0, 4, "i") as i, ib.for_range(0, 4, "j") as j:
            b[i, j] = a[i, j]
        return ib.get()

    return te.decl_tensor_intrin(y.op, statements, name=name, binds=dict(zip((x, y), buffers)))


def tiled(rows, columns):
    A = te.placeholder((16, rows), name="A")
    B = te.compute((16, rows), lambda i, j: A[i, j], name="B")
    C = te.compute((16, columns), lambda i, j: B[i, j], name="C")
    s = te.create_schedule(C.op)
    _, _, i, _ = s[C].tile(C.op.axis[0], C.op.axis[1], 4, 4)
    return s, A, C, i


def test_an_intrinsic_by_index_follows_the_strides():
    s, A, C, i = tiled(12, 8)
    s[C].tensorize(i, block([[te.var("s"), 1], [te.var("t"), 1]], "test_block_of_strides"))
    a = random(16, 12)
    assert (run(s, [A, C], a) == a[:, :8]).all()


def test_a_stride_that_two_buffers_of_an_intrinsic_share():
    shared = te.var("s")
    intrin = block([[shared, 1], [shared, 1]], "test_block_of_one_stride")
    s, A, C, i = tiled(8, 8)
    s[C].tensorize(i, intrin)
    a = random(16, 8)
    assert (run(s, [A, C], a) == a).all()
    s, A, C, i = tiled(12, 8)
    s[C].tensorize(i, intrin)
    with pytest.raises(tvm.UserError, match="operand 'y' of 'test_block_of_one_stride', which is 'C': its stride in dimension 0 is 8") as info:
        tvm.build(s, [A, C])
    assert info.value.code == "cannot-tensorize" and info.value.legal.startswith("12, or a variable of its own")


def copied(alignment, n=64):
    """A copy in vectors of sixteen, of memory that is declared to be so aligned."""
    A = te.placeholder((n,), name="A")

    def vectors(ins, outs):
        ib = tir.ir_builder.create()
        with ib.for_range(0, n // 16, name="i") as i:
            ib.emit(outs[0].vstore([i * 16], ins[0].vload([i * 16], "float32x16")))
        return ib.get()

    declared = {"data_alignment": alignment}
    C = te.extern((n,), [A], vectors, in_buffers=te.decl_buffer((n,), name="Ab", **declared),
                  out_buffers=te.decl_buffer((n,), name="Cb", **declared), name="C")
    return te.create_schedule(C.op), [A, C]


def array_at(offset, alignment, n=64):
    """An array whose address leaves `offset` bytes on division by `alignment`."""
    memory = numpy.zeros(4 * n + 2 * alignment, "uint8")
    begin = (offset - memory.ctypes.data) % alignment
    return memory[begin:begin + 4 * n].view("float32")


@pytest.mark.parametrize("alignment", [-1, 4, 64, 128])
def test_alignment_is_what_the_address_has(alignment):
    s, arguments = copied(alignment)
    f = tvm.build(s, arguments)
    a, c = array_at(0, 128), array_at(0, 128)
    a[:] = numpy.arange(64)
    f(a, c)
    numpy.testing.assert_array_equal(c, a)
    for arrays, name in (((array_at(4, 128), c), "Ab"), ((a, array_at(32, 128)), "Cb")):
        if alignment <= 4:
            f(*arrays)
            numpy.testing.assert_array_equal(arrays[1], arrays[0])
            continue
        with pytest.raises(tvm.UserError, match=f"argument '{name}' of 'C': data is aligned to .*expected {alignment}") as error:
            f(*arrays)
        assert error.value.code == "argument-alignment"


def test_vectors_of_aligned_memory_are_aligned():
    for alignment, found in ((-1, "align 4"), (64, "align 64"), (128, "align 64")):
        accesses = [line for line in tvm.build(*copied(alignment)).get_source("ll").splitlines()
                    if "<16 x float>" in line and ("load" in line or "store" in line)]
        assert len(accesses) == 2 and all(found in line for line in accesses), accesses


def test_alignment_of_a_stage_of_the_kernel():
    s, (A, C) = copied(64)
    D = te.compute((64,), lambda i: C[i] + 1, name="D")
    s = te.create_schedule(D.op)
    a, d = numpy.arange(64, dtype="float32"), numpy.zeros(64, "float32")
    tvm.build(s, [A, D])(array_at(0, 64), d)
    numpy.testing.assert_array_equal(d, numpy.ones(64))
    text = te.to_text(te.Program([D]))
    assert te.to_text(te.from_text(text)) == text
    del a


@pytest.mark.parametrize("alignment", [3, 48])
def test_alignment_is_a_power_of_two(alignment):
    with pytest.raises(tvm.UserError) as error:
        te.decl_buffer((4,), name="Ab", data_alignment=alignment)
    assert (error.value.code, error.value.legal) == ("bad-argument", "a power of two, in bytes; or -1, for that of the type")
