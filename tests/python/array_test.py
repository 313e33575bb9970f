"""Arrays: copies, and memory shared through DLPack."""

import gc
import weakref

import ml_dtypes
import numpy as np
import pytest

import tilewright as tw
from tilewright import te


def code_of(function, *arguments):
    with pytest.raises(tw.UserError) as info:
        function(*arguments)
    return info.value.code


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint64", "bool"])
def test_round_trip(dtype):
    x = (np.arange(24).reshape(2, 3, 4) % 7).astype(dtype)
    a = tw.nd.array(x)
    assert a.shape == (2, 3, 4) and a.dtype == dtype and a.ndim == 3 and a.size == 24
    assert a.data_ptr % 64 == 0
    np.testing.assert_array_equal(a.numpy(), x)
    assert a.asnumpy().dtype == x.dtype


def test_bfloat16():
    x = np.arange(6, dtype="float32").astype(ml_dtypes.bfloat16)
    a = tw.nd.array(x)
    assert a.dtype == "bfloat16"
    assert a.numpy().dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(a.numpy().astype("float32"), np.arange(6))
    shared = tw.nd.from_dlpack(x)
    x[0] = 5
    assert shared.numpy()[0] == 5


def test_array_copies():
    x = np.zeros(4, "float32")
    a = tw.nd.array(x)
    x[:] = 1
    assert not a.numpy().any()
    assert tw.nd.array([[1, 2], [3, 4]]).numpy().tolist() == [[1, 2], [3, 4]]
    assert tw.nd.array(np.arange(6).reshape(2, 3).T).numpy().tolist() == [[0, 3], [1, 4], [2, 5]]


@pytest.mark.parametrize("device", ["cpu", 0, ("cpu", 0), False])
def test_only_a_device_is_a_device(device):
    for make in (lambda where: tw.nd.array([1.0], where), lambda where: tw.nd.empty((1,), device=where),
                 lambda where: tw.nd.zeros((1,), device=where)):
        assert code_of(make, device) == "argument-device"
        assert make(tw.cpu()).shape == make(None).shape == (1,)


def test_from_dlpack_shares_the_memory_of_numpy():
    x = np.zeros((3, 4), "float32")
    a = tw.nd.from_dlpack(x)
    assert a.data_ptr == x.ctypes.data
    x[1, 2] = 7
    assert a.numpy()[1, 2] == 7
    t = tw.nd.from_dlpack(x.T)
    assert t.strides == (1, 4) and not t.is_contiguous


def test_numpy_shares_our_memory():
    a = tw.nd.zeros((3, 4), "int32")
    x = np.from_dlpack(a)
    assert x.ctypes.data == a.data_ptr
    x[0, 1] = 9
    assert a.numpy()[0, 1] == 9
    del a
    gc.collect()
    assert x[0, 1] == 9


def test_a_view_keeps_its_owner_alive():
    class Owner(np.ndarray):
        pass

    x = np.zeros(4, "float32").view(Owner)
    alive = weakref.ref(x)
    a = tw.nd.from_dlpack(x)
    del x
    gc.collect()
    assert alive() is not None
    del a
    gc.collect()
    assert alive() is None


def test_old_and_new_capsules():
    a = tw.nd.zeros((2,), "float32")
    assert '"dltensor"' in repr(a.__dlpack__())
    assert '"dltensor_versioned"' in repr(a.__dlpack__(max_version=(1, 0)))
    assert a.__dlpack_device__() == (1, 0)
    capsule = a.__dlpack__()
    assert tw.nd.from_dlpack(capsule).data_ptr == a.data_ptr
    assert code_of(tw.nd.from_dlpack, capsule) == "bad-argument"
    copied = np.from_dlpack(a, copy=True)
    assert copied.ctypes.data != a.data_ptr


def test_read_only_arrays():
    x = np.zeros(4, "float32")
    x.flags.writeable = False
    a = tw.nd.from_dlpack(x)
    assert a.read_only
    assert not np.from_dlpack(a).flags.writeable
    assert code_of(a.copyfrom, [1, 2, 3, 4]) == "bad-argument"


def test_copyfrom_and_copyto():
    a = tw.nd.empty((2, 2), "float32")
    assert a.copyfrom([[1, 2], [3, 4]]) is a
    b = tw.nd.zeros((2, 2))
    a.copyto(b)
    assert b.numpy().tolist() == [[1, 2], [3, 4]]
    assert code_of(a.copyfrom, np.zeros((2, 2), "float64")) == "argument-dtype"
    assert code_of(a.copyfrom, np.zeros((3, 2), "float32")) in ("argument-shape", "bad-shape")


def test_what_is_no_array():
    assert code_of(tw.nd.from_dlpack, 3) == "bad-argument"
    assert code_of(tw.nd.from_dlpack, np.zeros(3, ">f4")) == "argument-dtype"
    assert code_of(tw.nd.from_dlpack, np.zeros(3, "complex64")) == "argument-dtype"
    assert code_of(tw.nd.empty, (-1,)) == "bad-shape"
    fields = np.zeros(3, [("a", "i1"), ("b", "f4")])
    assert code_of(tw.nd.from_dlpack, fields["b"]) == "argument-strides"


def test_rank_zero():
    a = tw.nd.array(np.float32(3))
    assert a.shape == () and float(a.numpy()) == 3


def test_torch_shares_memory_both_ways():
    torch = pytest.importorskip("torch")
    t = torch.zeros(3, 4)
    a = tw.nd.from_dlpack(t)
    t[1, 1] = 2
    assert a.numpy()[1, 1] == 2
    back = torch.from_dlpack(a)
    assert back.data_ptr() == t.data_ptr()
    for dtype in ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float64"):
        t = torch.zeros(3, 4, dtype=getattr(torch, dtype)).t()
        a = tw.nd.from_dlpack(t)
        assert a.dtype == dtype and a.strides == (1, 4)
        back = torch.from_dlpack(a)
        assert back.dtype == t.dtype and back.data_ptr() == t.data_ptr() and back.stride() == t.stride()


def test_shared_memory_outlives_torchs_tensor_and_our_array():
    torch = pytest.importorskip("torch")
    t = torch.ones(1000)
    a = tw.nd.from_dlpack(t)
    del t
    others = [torch.zeros(1000) for _ in range(20)]
    assert a.numpy().all()
    back = torch.from_dlpack(a)
    del a, others
    others = [torch.zeros(1000) for _ in range(20)]
    assert back.sum() == 1000 and len(others) == 20


def test_a_kernel_takes_torchs_tensors():
    torch = pytest.importorskip("torch")
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + A[i], name="B")
    f = tw.build(te.create_schedule(B.op), [A, B])
    result = torch.zeros(8)
    f(torch.arange(8.0), result)
    assert result.tolist() == [0, 2, 4, 6, 8, 10, 12, 14]
    assert code_of(f, torch.arange(8), result) == "argument-dtype"
    assert code_of(f, torch.zeros(16)[::2], result) == "argument-strides"
    assert code_of(f, torch.zeros(8, requires_grad=True), result) == "bad-argument"


def test_what_torch_does_not_share():
    torch = pytest.importorskip("torch")
    assert code_of(tw.nd.from_dlpack, torch.zeros(3, dtype=torch.complex64)) == "argument-dtype"
    for tensor in (torch.zeros(3, 3).to_sparse(), torch.zeros(3, 3).to_mkldnn(), torch.zeros(3, 3, device="meta")):
        assert code_of(tw.nd.from_dlpack, tensor) == "bad-argument"


def test_who_cannot_say_where_it_is():
    class Nowhere:
        def __dlpack_device__(self):
            raise ValueError("no device")

        def __dlpack__(self, **options):
            raise AssertionError("not asked")

    assert code_of(tw.nd.from_dlpack, Nowhere()) == "bad-argument"
