"""Functions made from the table of operators: signatures, documentation, arguments and results."""

import inspect
import operator

import numpy as np
import pytest

import tilewright as tw
from tilewright import te, topi


def run(result, *arrays):
    inputs = te.Program([result]).arguments[: len(arrays)]
    out = np.zeros([int(e) for e in result.shape], result.dtype)
    tw.build(te.create_schedule(result.op), [*inputs, result])(*arrays, out)
    return out


def names():
    return [(module, name) for module, name, _, _ in tw._core.topi.operators()]


def test_every_row_is_a_function_with_signature_and_documentation():
    assert len(set(names())) == len(names()) > 80
    for module, name, parameters, doc in tw._core.topi.operators():
        function = operator.attrgetter(f"{module}.{name}")(tw)
        assert function.__name__ == name and function.__module__ == f"tilewright.{module}"
        shown = inspect.signature(function).parameters
        assert list(shown) == [p[0] for p in parameters]
        for parameter, (_, annotation, _, default) in zip(shown.values(), parameters):
            assert default == (() if parameter.default is parameter.empty else (parameter.default,))
            assert annotation
        assert doc.split(".")[0][1:] in function.__doc__
        assert all(p[0] in function.__doc__ for p in parameters)


@pytest.mark.parametrize(("function", "signature"), [
    (topi.nn.conv2d_nchw, "(Input, Filter, stride, padding, dilation, out_dtype=None)"),
    (topi.nn.batch_matmul, "(tensor_a, tensor_b, oshape=None, out_dtype=None, transpose_a=False, transpose_b=True)"),
    (topi.nn.pad, "(data, pad_before, pad_after=None, pad_value=0.0, name='PadInput')"),
    (topi.argmax, "(data, axis=None, keepdims=False, select_last_index=False)"),
    (topi.cast, "(x, dtype, span=None)"),
    (topi.nn.layer_norm, "(data, gamma, beta, axis, epsilon=1e-05)"),
])
def test_signatures_are_those_of_tvm(function, signature):
    assert str(inspect.signature(function)) == signature


def test_padding_as_tvm_takes_it():
    x, w = te.placeholder((1, 2, 9, 8), name="x"), te.placeholder((3, 2, 3, 3), name="w")
    shape = lambda padding, dilation=1: tuple(int(e) for e in topi.nn.conv2d_nchw(x, w, 1, padding, dilation).shape)
    assert shape("SAME") == (1, 3, 9, 8) and shape("SAME", 2) == (1, 3, 9, 8)
    assert shape("VALID") == shape(0) == shape((0, 0)) == (1, 3, 7, 6)
    assert shape([1, 0]) == (1, 3, 9, 6) and shape((1, 0, 0, 2)) == (1, 3, 8, 8)
    assert shape(np.int64(1)) == shape(te.const(1)) == (1, 3, 9, 8)
    same = topi.nn.pool2d(x, 2, 1, 1, "SAME", "max")
    values = np.random.rand(1, 2, 9, 8).astype("float32")
    padded = np.pad(values, ((0, 0), (0, 0), (1, 0), (1, 0)), constant_values=-np.inf)
    expected = np.max([padded[:, :, y : y + 9, c : c + 8] for y in (0, 1) for c in (0, 1)], axis=0)
    np.testing.assert_array_equal(run(same, values), expected)


def test_windows_that_begin_in_the_padding():
    x = te.placeholder((1, 1, 21, 8), name="x")
    rows = lambda **rule: int(topi.nn.pool2d(x, 2, 2, 1, 1, "avg", True, **rule).shape[2])
    assert rows() == rows(ceil_rule="tvm") == 12 and rows(ceil_rule="pytorch") == 11
    with pytest.raises(tw.UserError, match="tvm, pytorch"):
        rows(ceil_rule="onnx")


def test_expressions_in_place_of_tensors():
    v = te.var("v")
    assert topi.cast(v, "int8").dtype == "int8"
    assert str(topi.add(v, 1)) == "(v + 1)"
    x = te.placeholder((4,), name="x")
    np.testing.assert_array_equal(run(topi.subtract(2.0, x), np.arange(4, dtype="float32")), 2.0 - np.arange(4))
    np.testing.assert_allclose(run(te.sinh(x), np.arange(4, dtype="float32")), np.sinh(np.arange(4)), rtol=1e-5)


def test_numbers_of_any_kind():
    x = te.placeholder((4, 6), name="x")
    assert tuple(map(int, topi.reshape(x, (8.0, np.int32(3))).shape)) == (8, 3)
    assert tuple(map(int, topi.full(5, "int", 1).shape)) == (5,)
    assert tuple(map(int, topi.sum(x, axis=np.int64(0), keepdims=np.True_).shape)) == (1, 6)
    assert tuple(map(int, topi.expand_dims(x, te.const(1)).shape)) == (4, 1, 6)
    assert topi.nn.leaky_relu(x, te.const(0.5)).dtype == "float32"


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("max", [[0, 0, 0, 0], [0, 2, 4, 0], [0, 0, 0, 0]]), ("avg", [[0.25, 0.5, 0.5, 0.25], [0.5, 1, 1, 0.5], [0.25, 0.5, 0.5, 0.25]])],
)
def test_the_gradient_of_pooling(kind, expected):
    x = np.array([[0, 1, 2, 3], [4, 5, 6, 0], [1, 2, 3, 4]], "float32").reshape(1, 1, 3, 4)
    g, data = te.placeholder((1, 1, 2, 3), name="g"), te.placeholder(x.shape, name="x")
    result, out = topi.nn.pool_grad(g, data, 2, 1, 0, kind), np.zeros(x.shape, "float32")
    tw.build(te.create_schedule(result.op), [g, data, result])(np.ones((1, 1, 2, 3), "float32"), x, out)
    np.testing.assert_array_equal(out[0, 0], expected)


NUMBERS = np.array([np.nan, -np.inf, -7, -0.25, 0, 0.25, 7, np.inf])
OF_NAN = [
    (topi.nn.relu, lambda x: np.maximum(x, 0)),
    (topi.nn.relu6, lambda x: np.clip(x, 0, 6)),
    (lambda x: topi.clip(x, -1, 1), lambda x: np.clip(x, -1, 1)),
    (lambda x: topi.maximum(x, 0.5), lambda x: np.maximum(x, 0.5)),
    (lambda x: topi.minimum(0.5, x), lambda x: np.minimum(0.5, x)),
    (lambda x: topi.maximum(x, float("nan")), lambda x: np.maximum(x, np.nan)),
    (topi.nn.hard_sigmoid, lambda x: np.clip(0.2 * x + 0.5, 0, 1)),
    (topi.nn.elu, lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0)))),
    (lambda x: topi.nn.thresholded_relu(x, 1.0), lambda x: np.where(x <= 1, 0, x)),
]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(8,), (37, 8)])  # one by one, and in vectors
@pytest.mark.parametrize(("function", "reference"), OF_NAN)
def test_nan_stays_nan(function, reference, shape, dtype):
    x = te.placeholder(shape, dtype, name="x")
    values = np.broadcast_to(NUMBERS, shape).astype(dtype, order="C")
    np.testing.assert_allclose(run(function(x), values), reference(values).astype(dtype), rtol=1e-3)


def test_the_greater_and_the_lesser_are_nan_where_one_operand_is():
    shape = (len(NUMBERS), 1), (1, len(NUMBERS))
    x, y = (te.placeholder(s, "float32", name=n) for s, n in zip(shape, "xy", strict=True))
    a, b = (NUMBERS.reshape(s).astype("float32") for s in shape)
    np.testing.assert_array_equal(run(topi.maximum(x, y), a, b), np.maximum(a, b))
    np.testing.assert_array_equal(run(topi.minimum(x, y), a, b), np.minimum(a, b))


def test_schedules_of_poolings_take_a_layout():
    A = te.placeholder((1, 2, 4, 4), name="A")
    B = topi.nn.global_pool(A, "max")
    for schedule in (topi.generic.schedule_adaptive_pool, topi.generic.schedule_pool):
        assert schedule([B], "NCHW")[B].op.name == B.op.name
