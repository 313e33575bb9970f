"""Operators that take, write, walk and move elements: what is refused, what is outside, and gradients at kinks."""

import numpy as np
import pytest

import tilewright as tw
import tilewright.graph
import tilewright.symbol as sym

from node_program import run
from operator_cases import OPERATORS, ROWS


def inferred(operator, shapes, attributes, dtypes=()):
    xs = [sym.Variable(f"x{k}", shape=shape, dtype=dtypes[k] if k < len(dtypes) else "float32") for k, shape in enumerate(shapes)]
    return tw.graph.create(getattr(sym, operator)(*xs, **attributes)).apply(["InferShape", "InferType"])


@pytest.mark.parametrize(("operator", "shapes", "attributes", "text"), [
    ("take", [(3, 4), (2,)], {"axis": 2}, "axis 2 of a tensor of rank 2"),
    ("take", [(3, 4), (2,)], {"axis": 0, "batch_dims": 1}, "1 batch_dims for axis 0 and indices of rank 1"),
    ("take", [(0, 4), (2,)], {"axis": 0}, "2 elements of none"),
    ("take", [(2, 4), (3, 1)], {"axis": 1, "batch_dims": 1}, "where .* is needed"),
    ("embedding", [(2,), (3, 4)], {"input_dim": 5}, "where .* is needed"),
    ("gather", [(3, 4), (2, 5)], {}, "extents no larger than those of data|indices of shape"),
    ("gather", [(3, 4), (2,)], {}, "where .* is needed"),
    ("gather_nd", [(3, 4), (3, 2)], {}, "3 indices and 0 batch_dims for rank 2"),
    ("gather_nd", [(3, 4), ()], {}, "indices of rank 0"),
    ("gather_nd", [(3, 4), (1, 2)], {"batch_dims": 2}, "2 batch_dims"),
    ("one_hot", [(3,)], {"depth": -1}, "a depth of -1"),
    ("where", [(3,), (4,), (4,)], {}, "do not broadcast"),
    ("scatter_elements", [(3, 4), (3, 5), (3, 5)], {"axis": 0}, "indices of shape"),
    ("scatter_elements", [(3, 4), (3, 2), (3, 3)], {"axis": 1}, "where .* is needed"),
    ("scatter_add", [(0,), (2,), (2,)], {}, "updates of a dimension without elements"),
    ("scatter_nd", [(3, 4), (3, 2), (2,)], {}, "3 indices for rank 2"),
    ("cumsum", [(3,)], {"axis": 1}, "axis 1 of a tensor of rank 1"),
    ("linear_recurrence", [(3,), (4,)], {}, "where .* is needed"),
    ("tile", [(3,)], {"reps": (-1,)}, "0 or more each|reps"),
    ("repeat", [(3,)], {"repeats": -2}, "-2 repeats"),
    ("stack", [(3,), (4,)], {}, "where .* is needed"),
    ("roll", [(3,)], {"shift": (1, 2), "axis": 0}, "2 shifts along 1 axes"),
    ("reverse_sequence", [(3, 4), (3,)], {"seq_axis": 0}, "the same"),
    ("reverse_sequence", [(3, 4), (4,)], {}, "where .* is needed"),
    ("slice_like", [(3, 4), (3, 5)], {}, "like"),
    ("slice_like", [(3, 4), (3,)], {}, "one rank|like"),
    ("compress", [(3,)], {"condition": (1, 0, 1, 1)}, "4 conditions for 3 elements"),
    ("depth_to_space", [(1, 6, 2, 2)], {"block_size": 2}, "an extent of 6"),
    ("space_to_depth", [(1, 1, 3, 2)], {"block_size": 2}, "an extent of 3"),
    ("space_to_depth", [(1, 1, 2, 2)], {"block_size": 2, "layout": "HWNC"}, "layout 'HWNC'"),
    ("space_to_depth", [(1, 1, 2, 2)], {"block_size": 2, "mode": "X"}, "mode 'X'"),
    ("pixel_shuffle", [(1, 6, 2, 2)], {"upscale_factor": 2}, "an extent of 6"),
    ("pixel_shuffle", [(1, 4, 2, 2)], {"upscale_factor": 0}, "upscale_factor 0"),
    ("pixel_unshuffle", [(1, 1, 2, 3)], {"downscale_factor": 2}, "an extent of 3"),
    ("arange", [], {"stop": 4, "step": 0}, "a step of 0"),
    ("eye", [], {"N": -1}, "-1 rows"),
    ("diag", [()], {}, "rank 0"),
    ("matrix_set_diag", [(3, 4), (4,)], {}, "where .* is needed"),
    ("trilu", [(3,)], {}, "rank 2 or more|shape"),
    ("meshgrid", [(3,), (4,)], {"num_args": 3}, "num_args=3 for 2 vectors"),
    ("meshgrid", [(3,)], {"num_args": 1, "indexing": "ji"}, "indexing 'ji'"),
    ("unravel_index", [(3,)], {"shape": (2, 0)}, "extents of 1 or more|shape"),
])
def test_shapes_that_do_not_fit(operator, shapes, attributes, text):
    with pytest.raises(tw.UserError, match=text) as error:
        inferred(operator, shapes, attributes)
    assert error.value.code in ("shape-conflict", "bad-shape", "bad-argument"), error.value.code


@pytest.mark.parametrize(("operator", "dtypes", "attributes"), [
    ("take", ("float32", "float32"), {"axis": 0}), ("gather", ("float32", "float32"), {}), ("scatter_add", ("float32", "float32", "float32"), {}),
    ("bitwise_and", ("float32", "float32"), {}), ("bitwise_not", ("float32",), {}), ("broadcast_left_shift", ("float32", "float32"), {}),
    ("__rshift_scalar__", ("float32",), {"scalar": 1}), ("logsumexp", ("int32",), {}), ("variance", ("int32",), {}), ("one_hot", ("float32",), {"depth": 3}),
])
def test_types_that_do_not_fit(operator, dtypes, attributes):
    arrays = {f"x{k}": np.ones(3, dtype) for k, dtype in enumerate(dtypes)}
    with pytest.raises(tw.UserError) as error:
        run(getattr(sym, operator)(*(sym.Variable(name) for name in arrays), **attributes), arrays)
    assert error.value.code == "type-mismatch"


def test_where_nothing_is():
    with pytest.raises(tw.UserError, match="'__undef__' has no computation"):
        run(sym.exp(sym.__undef__(name="later")), {})


@pytest.mark.parametrize(("operator", "shapes", "attributes", "output", "expected"), [
    ("take", [None, (2, 3)], {"axis": 0}, (2, 3, 5), [None, (2, 3)]),
    ("take", [(-1, 5), (4,)], {"axis": 0}, None, [(-1, 5), (4,)]),
    ("embedding", [(2,), None], {"output_dim": 5}, None, [(2,), (-1, 5)]),
    ("gather", [(3, 4), None], {}, (2, 4), [(3, 4), (2, 4)]),
    ("scatter_nd", [None, (1, 2), None], {}, (3, 4), [(3, 4), (1, 2), (2, 4)]),
    ("tile", [(-1, 3)], {"reps": (2, 2)}, (4, 6), [(2, 3)]),
    ("stack", [None, (3,)], {}, None, [(3,), (3,)]),
    ("diag", [(-1,)], {"k": 1}, (4, 4), [(3,)]),
    ("depth_to_space", [None], {"block_size": 2}, (1, 2, 4, 6), [(1, 8, 2, 3)]),
    ("pixel_unshuffle", [None], {"downscale_factor": 2}, (1, 8, 2, 3), [(1, 2, 4, 6)]),
])
def test_shapes_that_follow_from_the_output(operator, shapes, attributes, output, expected):
    xs = [sym.Variable(f"x{k}", **({"shape": shape} if shape else {})) for k, shape in enumerate(shapes)]
    y = getattr(sym, operator)(*xs, **attributes)
    like = sym.elemwise_add(y, sym.Variable("like", shape=output)) if output else y
    graph = tw.graph.create(like).apply("InferShape")
    found = dict(zip((n["name"] for n in graph.index.nodes), graph.json_attr("shape")))
    assert [tuple(found[f"x{k}"]) if found[f"x{k}"] is not None else None for k in range(len(shapes))] == expected


def test_no_integer_leads_outside():
    """The least and greatest integers, in each type of indices."""
    x = np.arange(12, dtype="float32").reshape(3, 4)
    for dtype in ("int8", "uint8", "int32", "int64"):
        limits = np.iinfo(dtype)
        indices = np.array([limits.min, -1 if limits.min else 1, 0, limits.max], dtype)
        names = {"x": x, "i": indices}
        taken = lambda mode: run(sym.take(sym.Variable("x"), sym.Variable("i"), axis=0, mode=mode), names)[0]
        np.testing.assert_array_equal(taken("clip"), x[[0, 0 if limits.min else 1, 0, 2]])
        np.testing.assert_array_equal(taken("fast"), x[[0, 2 if limits.min else 1, 0, 2]])
        np.testing.assert_array_equal(taken("wrap"), x[[int(i) % 3 for i in indices.tolist()]])
        written, = run(sym.scatter_nd(sym.Variable("x"), sym.Variable("i"), sym.Variable("u"), mode="add"), {"x": x, "i": indices[None], "u": np.ones((4, 4), "float32")})
        assert written.sum() == x.sum() + 16


def test_the_last_update_stays():
    x, i, u = np.zeros(4, "float32"), np.array([1, -3, 1, 9], "int32"), np.array([1, 2, 3, 4], "float32")
    written, = run(sym.scatter(sym.Variable("x"), sym.Variable("i"), sym.Variable("u")), {"x": x, "i": i, "u": u})
    np.testing.assert_array_equal(written, [0, 3, 0, 4])


def gradients(function, *arrays):
    xs = [sym.Variable(f"x{k}") for k in range(len(arrays))]
    of = tw.compiler.graph_util.gradients(sym.sum(function(*xs)), xs)
    return [g.tolist() for g in run(tw.graph.create(sym.Group(of)).symbol, {f"x{k}": np.asarray(a, "float64") for k, a in enumerate(arrays)})]


def test_at_kinks_as_pytorch():
    """torch 2: maximum, norm, var and std, cumprod, logsumexp, remainder at points where they have no slope, or a quotient has none."""
    assert gradients(lambda x: sym.__max_scalar__(x, scalar=1), [0, 1, 2]) == [[0, 0.5, 1]]
    assert gradients(lambda x: sym.norm(x, axis=1), [[0, 0], [0, -2]]) == [[[0, 0], [0, -1]]]
    assert gradients(lambda x: sym.norm(x, ord=1), [-2, 0, 3]) == [[-1, 0, 1]]
    assert gradients(lambda x: sym.std(x, axis=1), [[2, 2], [1, 3]]) == [[[0, 0], [-0.5, 0.5]]]
    assert gradients(lambda x: sym.cumprod(x, axis=0), [2, 0, 3]) == [[1, 8, 0]]
    assert gradients(lambda x: sym.cumprod(x, axis=0), [0, 0, 3]) == [[1, 0, 0]]
    assert gradients(lambda x: sym.logsumexp(x), [0, -np.inf]) == [[1, 0]]
    assert gradients(lambda x, y: sym.broadcast_mod(x, y), [7, -7], [2, 2]) == [[1, 1], [-3, 3]]
    at = lambda x, u: sym.scatter_elements(x, sym.cast(sym.zeros_like(u), dtype="int32"), u, reduction="mul")
    assert gradients(at, [2, 5], [0, 3]) == [[0, 1], [6, 0]]
    assert gradients(at, [0, 5], [0, 3]) == [[0, 1], [0, 0]]
    most = lambda x, u: sym.scatter_elements(x, sym.cast(sym.zeros_like(u), dtype="int32"), u, reduction="max")
    assert gradients(most, [3, 5], [3, 1]) == [[0.5, 1], [0.5, 0]]


def test_names_of_relay_and_onnx_mean_the_same():
    names = {name: op["name"] for op in OPERATORS.values() for name in [op["name"], *op["aliases"]]}
    for alias, name in {"maximum": "broadcast_max", "power": "broadcast_pow", "equal": "broadcast_equal", "mod": "broadcast_mod", "scatter": "scatter_elements",
                        "size": "ndarray_size", "arcsin": "asin", "_greater_scalar": "__greater_scalar__", "left_shift": "broadcast_left_shift"}.items():
        assert names[alias] == name
    assert all(name in ROWS for name in ("take", "where", "cumsum"))
