"""Operators of networks: the te program of one node against NumPy, and its shapes and types against InferShape and InferType."""

import numpy as np
import pytest

import tilewright as tw
import tilewright.graph
import tilewright.symbol as sym
from tilewright import te

import numpy_graph
from node_program import run

GRID = [(), (1,), (7,), (3, 5), (2, 3, 5), (1, 4, 3, 2), (0,), (3, 0), (0, 4, 3)]
IMAGES = [(1, 1, 5, 5), (2, 3, 7, 9), (1, 4, 8, 3), (0, 3, 5, 5)]


def sample(shape, seed=0, low=-4.0):
    """Multiples of 1/4, so that sums and products are exact."""
    return np.asarray(np.random.default_rng(seed).integers(int(4 * low), 17, shape) / 4, "float32")


def check(operator, shapes, attributes, reference, **arrays_of):
    """`operator` on samples of these shapes against what NumPy makes of them."""
    arrays = {f"x{k}": sample(shape, k, **arrays_of) for k, shape in enumerate(shapes)}
    symbol = getattr(sym, operator)(*(sym.Variable(name) for name in arrays), **attributes)
    expected = reference(*arrays.values())
    expected = list(expected) if isinstance(expected, (list, tuple)) else [expected]
    outputs = sym.Group(list(symbol.get_internals())[-len(expected) :])
    results = run(outputs, arrays)
    for found, wanted, referred in zip(results, expected, numpy_graph.run(outputs, arrays), strict=True):
        wanted = np.asarray(wanted)
        assert found.shape == wanted.shape == referred.shape and found.dtype == referred.dtype
        np.testing.assert_allclose(found, wanted.astype(found.dtype), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(found, referred, rtol=1e-5, atol=1e-6)


ANY_SHAPE = [
    ("leaky_relu", {"alpha": 0.5}, lambda x: np.where(x > 0, x, x * 0.5)),
    ("leaky_relu", {}, lambda x: np.where(x > 0, x, x * 0.25)),
    ("clip", {"a_min": -1, "a_max": 1.5}, lambda x: np.clip(x, -1, 1.5)),
    ("cast", {"dtype": "int32"}, lambda x: x.astype("int32")),
    ("cast", {"dtype": "float64"}, lambda x: x.astype("float64")),
    ("full_like", {"fill_value": 2.5}, lambda x: np.full_like(x, 2.5)),
    ("block_grad", {}, lambda x: x),
    ("__add_scalar__", {"scalar": 0.5}, lambda x: x + 0.5),
    ("__rsub_scalar__", {"scalar": "1e-3"}, lambda x: np.float32(1e-3) - x),
    ("__mul_scalar__", {"scalar": -1.25}, lambda x: x * -1.25),
    ("dropout", {"rate": 0.3}, lambda x: (x, np.ones_like(x))),
    ("reshape", {"shape": (-1,)}, lambda x: x.reshape(-1)),
    ("reshape", {"shape": (-2,)}, lambda x: x),
    ("reshape", {"shape": (-2, 1, 1)}, lambda x: x.reshape(*x.shape, 1, 1)),
    ("squeeze", {}, np.squeeze),
    ("expand_dims", {"axis": 0}, lambda x: x[None]),
    ("expand_dims", {"axis": -1, "num_newaxis": 2}, lambda x: x[..., None, None]),
]
WITH_ELEMENTS = [
    ("argmax", {}, lambda x: np.argmax(x) if x.ndim else np.int32(0)),
    ("argmin", {"keepdims": True}, lambda x: np.argmin(x, keepdims=True) if x.ndim else np.int32(0)),
]


@pytest.mark.parametrize("shape", GRID, ids=str)
@pytest.mark.parametrize(("operator", "attributes", "reference"), ANY_SHAPE)
def test_operators_of_any_shape(operator, attributes, reference, shape):
    check(operator, [shape], attributes, reference)


@pytest.mark.parametrize("shape", [shape for shape in GRID if 0 not in shape], ids=str)
@pytest.mark.parametrize(("operator", "attributes", "reference"), WITH_ELEMENTS)
def test_positions(operator, attributes, reference, shape):
    check(operator, [shape], attributes, reference)


def test_there_is_no_position_in_nothing():
    check("argmax", [(0, 3)], {"axis": 1}, lambda x: np.argmax(x, 1))
    with pytest.raises(tw.UserError, match="a position in none of shape") as error:
        run(sym.argmax(sym.Variable("x"), axis=0), {"x": np.zeros((0, 3), "float32")})
    assert error.value.code == "bad-shape"


@pytest.mark.parametrize("shape", GRID[1:], ids=str)
def test_operators_along_an_axis(shape):
    for axis in range(-len(shape), len(shape)):
        channels = shape[axis]
        aligned = [1] * len(shape)
        aligned[axis] = channels
        if channels > 0:
            check("argmax", [shape], {"axis": axis}, lambda x: np.argmax(x, axis))  # noqa: B023
            check("argmin", [shape], {"axis": axis, "keepdims": True}, lambda x: np.argmin(x, axis, keepdims=True))  # noqa: B023
        check("flip", [shape], {"axis": axis}, lambda x: np.flip(x, axis))  # noqa: B023
        parts = channels or 2
        check("split", [shape], {"indices_or_sections": parts, "axis": axis}, lambda x: np.split(x, parts, axis))  # noqa: B023
        check("split", [shape], {"indices_or_sections": (0, channels), "axis": axis}, lambda x: np.split(x, (0, channels), axis))  # noqa: B023
        check("concatenate", [shape, shape], {"axis": axis}, lambda x, y: np.concatenate([x, y], axis))  # noqa: B023
        check(
            "prelu",
            [shape, (channels,)],
            {"axis": axis},
            lambda x, a: np.where(x > 0, x, x * a.reshape(aligned)),  # noqa: B023
        )


def normalized(x, gamma, beta, mean, var, axis, epsilon):
    aligned = [1] * x.ndim
    aligned[axis] = -1
    gamma, beta, mean, var = (v.reshape(aligned) for v in (gamma, beta, mean, var))
    return (x - mean) / np.sqrt(var + epsilon) * gamma + beta


@pytest.mark.parametrize(("shape", "axis"), [((3, 5), 1), ((2, 3, 4, 5), 1), ((2, 3, 4, 5), -1), ((7,), 0), ((1, 1), 1)])
@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("center", [True, False])
def test_batch_norm(shape, axis, scale, center):
    def reference(x, gamma, beta, mean, var):
        used = np.ones_like(gamma) if not scale else gamma, np.zeros_like(beta) if not center else beta
        return normalized(x, *used, mean, var, axis, 1e-3), mean, var

    attributes = {"axis": axis, "epsilon": 1e-3, "scale": scale, "center": center}
    check("batch_norm", [shape] + 4 * [(shape[axis],)], attributes, reference, low=1.0)


def pooled(x, size, strides, padding, ceil_mode, mean, count_include_pad):
    """NumPy's windows over rows and columns of [n, c, h, w]."""
    (top, left, bottom, right), (kh, kw), (sh, sw) = padding, size, strides
    n, c, h, w = x.shape
    up = lambda room, stride: -(-room // stride) if ceil_mode else room // stride
    rows, columns = up(h + top + bottom - kh, sh) + 1, up(w + left + right - kw, sw) + 1
    out = np.zeros((n, c, rows, columns), "float64")
    inside = np.zeros((h + top + bottom, w + left + right), "int32")
    inside[top : top + h, left : left + w] = 1
    padded = np.full((n, c, *inside.shape), 0.0 if mean else -np.inf)
    padded[:, :, top : top + h, left : left + w] = x
    for i in range(rows):
        for j in range(columns):
            at = np.s_[i * sh : i * sh + kh, j * sw : j * sw + kw]
            window = padded[(..., *at)]
            counted = inside[at].size if count_include_pad else inside[at].sum()
            out[:, :, i, j] = window.sum((2, 3)) / max(counted, 1) if mean else window.max((2, 3), initial=-np.inf)
    return out


WINDOWS = [
    {"pool_size": (2, 2)},
    {"pool_size": (3, 2), "strides": (2, 1), "padding": (1, 1)},
    {"pool_size": (3, 3), "strides": (2, 2), "padding": (1, 0, 2, 1)},
    {"pool_size": (3, 3), "strides": (2, 2), "padding": (1, 1), "ceil_mode": True},
    {"pool_size": (2, 2), "strides": (3, 3), "ceil_mode": True},
]


@pytest.mark.parametrize("shape", IMAGES, ids=str)
@pytest.mark.parametrize("attributes", WINDOWS, ids=str)
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_pooling(shape, attributes, layout):
    padding = attributes.get("padding", (0, 0))
    padding = padding * 2 if len(padding) == 2 else padding
    window = (attributes["pool_size"], attributes.get("strides", (1, 1)), padding, attributes.get("ceil_mode", False))
    images = lambda x: x if layout == "NCHW" else x.transpose(0, 3, 1, 2)
    back = lambda x: x if layout == "NCHW" else x.transpose(0, 2, 3, 1)
    given = [shape if layout == "NCHW" else tuple(shape[d] for d in (0, 2, 3, 1))]
    texts = {**attributes, "layout": layout}
    check("max_pool2d", given, texts, lambda x: back(pooled(images(x), *window, False, False)))
    check("avg_pool2d", given, texts, lambda x: back(pooled(images(x), *window, True, False)))
    texts["count_include_pad"] = True
    check("avg_pool2d", given, texts, lambda x: back(pooled(images(x), *window, True, True)))


@pytest.mark.parametrize("shape", IMAGES, ids=str)
def test_whole_images(shape):
    check("global_max_pool2d", [shape], {}, lambda x: x.max((2, 3), keepdims=True))
    check("global_avg_pool2d", [shape], {}, lambda x: x.mean((2, 3), keepdims=True))
    check("global_max_pool2d", [shape], {"layout": "NHWC"}, lambda x: x.max((1, 2), keepdims=True))
    check("global_avg_pool2d", [shape], {"layout": "NHWC"}, lambda x: x.mean((1, 2), keepdims=True))
    check("upsampling", [shape], {"scale": 3}, lambda x: x.repeat(3, 2).repeat(3, 3))
    check("upsampling", [shape], {"scale": 2, "layout": "NHWC"}, lambda x: x.repeat(2, 1).repeat(2, 2))


def reshaped(*shape):
    return lambda x: x.reshape(shape)


CASES = [
    ("reshape", [(2, 3, 4)], {"shape": (4, 0, 2)}, reshaped(4, 3, 2)),
    ("reshape", [(2, 3, 4)], {"shape": (-1, 0, 2)}, reshaped(4, 3, 2)),
    ("reshape", [(2, 3, 4)], {"shape": (6, 1, -1)}, reshaped(6, 1, 4)),
    ("reshape", [(2, 3, 4)], {"shape": (3, -1, 8)}, reshaped(3, 1, 8)),
    ("reshape", [(2, 3, 4)], {"shape": (2, -2)}, reshaped(2, 3, 4)),
    ("reshape", [(2, 3, 4)], {"shape": (-2, 1, 1)}, reshaped(2, 3, 4, 1, 1)),
    ("reshape", [(2, 3, 4)], {"shape": (-3, 4)}, reshaped(6, 4)),
    ("reshape", [(2, 3, 4)], {"shape": (0, -3)}, reshaped(2, 12)),
    ("reshape", [(2, 3, 4, 5)], {"shape": (-3, -3)}, reshaped(6, 20)),
    ("reshape", [(2, 3, 4)], {"shape": (-4, 1, 2, -2)}, reshaped(1, 2, 3, 4)),
    ("reshape", [(2, 3, 4)], {"shape": (2, -4, -1, 3, -2)}, reshaped(2, 1, 3, 4)),
    ("reshape", [(1, 1)], {"shape": ()}, reshaped()),
    ("reshape_like", [(2, 6), (3, 4)], {}, lambda x, y: x.reshape(y.shape)),
    ("reshape_like", [(1,), ()], {}, lambda x, y: x.reshape(y.shape)),
    ("squeeze", [(1, 3, 1)], {"axis": 0}, reshaped(3, 1)),
    ("squeeze", [(1, 3, 1)], {"axis": (0, -1)}, reshaped(3)),
    ("expand_dims", [(3, 5)], {"axis": 1, "num_newaxis": 3}, reshaped(3, 1, 1, 1, 5)),
    ("expand_like", [(3,), (2, 3, 4)], {"axis": (0, 2)}, lambda x, y: np.broadcast_to(x[None, :, None], y.shape)),
    ("expand_like", [(3, 4), (2, 3, 4)], {"axis": 0}, lambda x, y: np.broadcast_to(x[None], y.shape)),
    ("expand_like", [(3,), (2, 3, 4)], {"axis": -2, "exclude": True}, lambda x, y: np.broadcast_to(x[None, :, None], y.shape)),
    ("expand_like", [(1, 3), (2, 3)], {"axis": 0}, lambda x, y: np.broadcast_to(x, y.shape)),
    ("expand_like", [(), (2, 3)], {}, lambda x, y: np.broadcast_to(x, y.shape)),
    ("broadcast_to", [()], {"shape": (2, 3)}, lambda x: np.broadcast_to(x, (2, 3))),
    ("broadcast_to", [()], {"shape": ()}, lambda x: x),
    ("broadcast_to", [(3, 1)], {"shape": (2, 0, 4)}, lambda x: np.broadcast_to(x, (2, 3, 4))),
    ("concatenate", [(2, 3), (2, 1), (2, 5)], {}, lambda *x: np.concatenate(x, 1)),
    ("concatenate", [(2, 3)], {}, lambda x: x),
    ("split", [(2, 6)], {"indices_or_sections": 3}, lambda x: np.split(x, 3, 1)),
    ("split", [(7, 2)], {"indices_or_sections": (1, 4), "axis": 0}, lambda x: np.split(x, (1, 4), 0)),
    ("split", [(2, 7)], {"indices_or_sections": (2,), "axis": -1}, lambda x: np.split(x, (2,), 1)),
    ("split", [(2, 7)], {"indices_or_sections": [5]}, lambda x: np.split(x, [5], 1)),
    ("strided_slice", [(5, 7)], {"begin": (1,), "end": (4,)}, lambda x: x[1:4]),
    ("strided_slice", [(5, 7)], {"begin": (0, -3), "end": (99, -1)}, lambda x: x[:, -3:-1]),
    ("strided_slice", [(5, 7)], {"begin": (4, 6), "end": (0, -8), "stride": (-1, -2)}, lambda x: x[4:0:-1, ::-2]),
    ("strided_slice", [(5, 7)], {"begin": (0, 1), "end": (5, 7), "stride": (3,)}, lambda x: x[::3, 1:]),
    ("pad", [(3, 5)], {"pad_width": ((0, 1), (2, 3)), "pad_value": 1.5}, lambda x: np.pad(x, ((0, 1), (2, 3)), constant_values=1.5)),
    ("pad", [(3,)], {"pad_width": ((1, 0),)}, lambda x: np.pad(x, ((1, 0),))),
    ("pad", [(1, 2, 3, 1)], {"pad_width": [(0, 0), (0, 0), (1, 1), (2, 2)]}, lambda x: np.pad(x, [(0, 0), (0, 0), (1, 1), (2, 2)])),
    ("argmax", [(2, 3, 4)], {"axis": (0, 2)}, lambda x: x.transpose(1, 0, 2).reshape(3, 8).argmax(1)),
    ("argmin", [(2, 3, 4)], {"axis": 1, "exclude": True}, lambda x: x.transpose(1, 0, 2).reshape(3, 8).argmin(1)),
    ("prelu", [(2, 3, 4), (3,)], {}, lambda x, a: np.where(x > 0, x, x * a[:, None])),
    ("zeros", [], {"shape": (2, 3)}, lambda: np.zeros((2, 3), "float32")),
    ("ones", [], {"shape": (), "dtype": "int32"}, lambda: np.ones((), "int32")),
    ("full", [], {"shape": 4, "dtype": "float64", "fill_value": 0.1}, lambda: np.full(4, 0.1)),
    ("full", [], {"shape": (3,), "dtype": "uint8", "fill_value": 300}, lambda: np.full(3, 255, "uint8")),
    ("full", [], {"shape": (3,), "dtype": "bool", "fill_value": 0.5}, lambda: np.full(3, True)),
    ("full", [], {"shape": (3,), "dtype": "int8", "fill_value": -7.9}, lambda: np.full(3, -7, "int8")),
]


@pytest.mark.parametrize(("operator", "shapes", "attributes", "reference"), CASES)
def test_attributes(operator, shapes, attributes, reference):
    check(operator, shapes, attributes, reference)


def shape_of(symbol):
    return tw.graph.create(symbol).apply("InferShape").json_attr("shape")[-1]


@pytest.mark.parametrize(
    ("operator", "shapes", "attributes", "reference"),
    [
        ("reshape", [(0, 3)], {"shape": (0, 1, 3)}, reshaped(0, 1, 3)),
        ("reshape", [(0, 3)], {"shape": (-1, 3)}, reshaped(0, 3)),
        ("reshape_like", [(2, 0), (0, 5)], {}, lambda x, y: x.reshape(y.shape)),
        ("flatten", [(0, 3, 4)], {}, reshaped(0, 12)),
        ("flatten", [(2, 0, 4)], {}, reshaped(2, 0)),
        ("transpose", [(2, 0, 4)], {"axes": (2, 0, 1)}, lambda x: x.transpose(2, 0, 1)),
        ("squeeze", [(1, 0)], {}, np.squeeze),
        ("expand_dims", [(0,)], {"axis": 0}, lambda x: x[None]),
        ("expand_like", [(3,), (0, 3)], {"axis": 0}, lambda x, y: np.broadcast_to(x, y.shape)),
        ("broadcast_to", [(1,)], {"shape": (2, 1)}, lambda x: np.broadcast_to(x, (2, 1))),
        ("broadcast_to", [(0,)], {"shape": (2, 0)}, lambda x: np.broadcast_to(x, (2, 0))),
        ("broadcast_add", [(1, 3), (0, 1)], {}, np.add),
        ("broadcast_mul", [(2, 1), (0,)], {}, np.multiply),
        ("elemwise_add", [(0, 4), (0, 4)], {}, np.add),
        ("concatenate", [(2, 0), (2, 3)], {}, lambda *x: np.concatenate(x, 1)),
        ("concatenate", [(2, 3), (2, 0), (2, 0), (2, 1)], {}, lambda *x: np.concatenate(x, 1)),
        ("strided_slice", [(5,)], {"begin": 3, "end": 1}, lambda x: x[3:1]),
        ("strided_slice", [(5, 7)], {"begin": (1, 7), "end": (3, 9)}, lambda x: x[1:3, 7:9]),
        ("strided_slice", [(0,)], {"begin": -2, "end": 9, "stride": -1}, lambda x: x[-2:9:-1]),
        ("flip", [(0, 2)], {}, lambda x: np.flip(x, 1)),
        ("pad", [(0,)], {"pad_width": ((1, 2),), "pad_value": 2}, lambda x: np.pad(x, (1, 2), constant_values=2)),
        ("upsampling", [(1, 0, 2, 3)], {"scale": 2}, lambda x: x.repeat(2, 2).repeat(2, 3)),
        ("zeros", [], {"shape": (0, 2)}, lambda: np.zeros((0, 2), "float32")),
        ("sum", [(3, 0)], {"axis": 1}, lambda x: x.sum(1)),
        ("sum", [(3, 0)], {"axis": 0}, lambda x: x.sum(0)),
        ("sum", [(3, 0, 2)], {"keepdims": True}, lambda x: x.sum(keepdims=True)),
        ("prod", [(3, 0)], {"axis": 1}, lambda x: x.prod(1)),
        ("mean", [(3, 0)], {"axis": 1}, lambda x: np.full(3, np.nan)),
        ("max", [(3, 0)], {"axis": 0}, lambda x: x.max(0)),
        ("max", [(3, 0)], {"axis": 1}, lambda x: x.max(1, initial=-np.inf)),
        ("min", [(3, 0)], {"axis": 1}, lambda x: x.min(1, initial=np.inf)),
        ("softmax", [(0, 4)], {}, lambda x: x),
        ("softmax", [(4, 0)], {}, lambda x: x),
        ("log_softmax", [(0, 4)], {}, lambda x: x),
        ("dense", [(0, 4), (3, 4), (3,)], {"units": 3}, lambda x, w, b: x @ w.T + b),
        ("dense", [(2, 0), (3, 0), (3,)], {"units": 3}, lambda x, w, b: x @ w.T + b),
        ("matmul", [(2, 0), (0, 3)], {}, np.matmul),
        ("matmul", [(2, 3), (3, 0)], {}, np.matmul),
        ("conv2d", [(0, 3, 5, 5), (4, 3, 3, 3), (4,)], {"channels": 4, "kernel_size": 3, "padding": 1}, lambda x, w, b: np.zeros((0, 4, 5, 5))),
        ("conv2d", [(0, 4, 5, 5), (4, 1, 3, 3), (4,)], {"channels": 4, "kernel_size": 3, "groups": 4}, lambda x, w, b: np.zeros((0, 4, 3, 3))),
        ("global_avg_pool2d", [(0, 3, 5, 5)], {}, lambda x: np.zeros((0, 3, 1, 1))),
        ("global_max_pool2d", [(2, 0, 5, 5)], {}, lambda x: np.zeros((2, 0, 1, 1))),
    ],
)
@pytest.mark.filterwarnings("ignore:Mean of empty slice")
def test_extents_of_0(operator, shapes, attributes, reference):
    check(operator, shapes, attributes, reference)


def test_outputs_have_names_and_numbers():
    parts = sym.split(sym.Variable("x", shape=(2, 6)), indices_or_sections=(1, 4), name="parts")
    assert parts.list_output_names() == ["parts_output0", "parts_output1", "parts_output2"]
    assert shape_of(sym.relu(parts[1])) == [2, 3]


def test_outputs_for_passes_are_no_inputs_of_others():
    x = sym.Variable("x", shape=(2, 6))
    z = sym.relu(sym.batch_norm(sym.dropout(sym.relu(x)), name="norm"))
    assert shape_of(z) == [2, 6] and len(sym.dropout(x)) == len(z) == 1
    assert z.get_internals().list_output_names()[-4:-1] == ["norm_output0", "norm_output1", "norm_output2"]


def test_inputs_that_are_left_out_have_their_own_shapes_and_types():
    z = sym.cast(sym.reshape(shape=(2, 3), name="r"), dtype="float64")
    assert tw.graph.create(z).apply("InferShape").json_attr("shape") == [None, [2, 3], [2, 3]]
    assert tw.graph.create(sym.cast(dtype="float64")).apply("InferType").json_attr("dtype") == [-1, 1]


def test_what_cannot_be_computed_says_what_is_legal():
    x = sym.Variable("x")
    tensor = te.placeholder((2, 3), name="x")
    with pytest.raises(tw.UserError, match="no tensor for variable 'x'"):
        tw.graph.compute(sym.relu(x), {"y": tensor})
    with pytest.raises(tw.UserError, match=r"reshape: the elements of \(2, 3\) under \(4, -1\)"):
        tw.graph.compute(sym.reshape(x, shape=(4, -1)), {"x": tensor})
    with pytest.raises(tw.UserError, match="'pad_width' is '3'; legal: a tuple of tuples"):
        sym.pad(x, pad_width=3)
    with pytest.raises(tw.UserError, match="'indices_or_sections' is 'two'; legal: an integer, or a tuple"):
        sym.split(x, indices_or_sections="two")
    with pytest.raises(tw.UserError, match="'indices_or_sections' is missing"):
        sym.split(x)
