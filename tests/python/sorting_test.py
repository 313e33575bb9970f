"""Networks with operators that statements compute: built, fused, tuned, replayed, exported."""

import ml_dtypes
import numpy as np
import pytest

import tilewright as tw
import tilewright.graph
import tilewright.symbol as sym
from tilewright import te, topi
from tilewright.contrib import graph_runtime

import check_graph
import numpy_graph
from random_graph import Case


def network():
    """Functions of elements before and behind a sort and what takes the first of a row."""
    x = sym.Variable("x")
    ordered = sym.sort(sym.tanh(x), axis=1, is_ascend=False)
    values, places = sym.topk(sym.exp(x), k=3, axis=1)
    return sym.Group([sym.__add_scalar__(sym.relu(ordered), scalar=0.5), sym.elemwise_mul(values, values), places])


X = np.random.default_rng(0).standard_normal((6, 50)).astype("float32")
SHAPE = {"x": X.shape}


def outputs_of(module):
    module.run(x=X)
    return [module.get_output(k).numpy() for k in range(3)]


def is_right(outputs):
    for found, expected in zip(outputs, numpy_graph.run(network(), {"x": X}), strict=True):
        np.testing.assert_allclose(found, expected, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("fusion", ["nnvm", "auto"])
def test_elements_are_computed_beside_statements_and_not_in_them(fusion):
    with tw.compiler.build_config(opt_level=3, fusion=fusion):
        graph, library, params = tw.compiler.build(network(), shape=SHAPE)
    is_right(outputs_of(graph_runtime.create(graph, library, tw.cpu(), params)))
    case = Case(tw.graph.create(network()).json(), {"x": X})
    if fusion == "nnvm":
        groups = tw.graph.groups(check_graph.described(case).apply(["InferShape", "InferType", "GraphFusePartition"]))
        assert sorted(len(group.nodes) for group in groups) == [1, 1, 1, 1, 1, 2]


def test_statements_are_tuned_as_they_are_written_and_exported(tmp_path):
    log = str(tmp_path / "log.db")
    tasks, weights = tw.autotune.extract_tasks(network(), {}, shape=SHAPE)
    tw.autotune.tune(tasks, log, 2 * len(tasks), task_weights=weights, seed=1)
    with tw.autotune.apply_best(log):
        graph, library, params = tw.compiler.build(network(), shape=SHAPE)
    module = graph_runtime.create(graph, library, tw.cpu(), params)
    expected = outputs_of(module)
    is_right(expected)
    module.export(str(tmp_path / "exported"))
    for found, built in zip(outputs_of(graph_runtime.load(str(tmp_path / "exported"))), expected, strict=True):
        np.testing.assert_array_equal(found, built)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int8", "uint8", "int64", "bool"])
def test_every_type_is_sorted(dtype):
    numpy_type = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    x = np.random.default_rng(1).uniform(-100, 100, (3, 70)).astype("int64" if dtype != "bool" else "bool").astype(numpy_type)
    data = te.placeholder(x.shape, dtype, "data")
    found = [topi.sort(data, axis=-1), topi.argsort(data, axis=1, is_ascend=False, dtype="int32")]
    arrays = [np.zeros(x.shape, numpy_type), np.zeros(x.shape, "int32")]
    tw.build(te.create_schedule([t.op for t in found]), [data, *found])(x, *arrays)
    plain = x.astype("float64")
    np.testing.assert_array_equal(arrays[0].astype("float64"), np.sort(plain, -1))
    np.testing.assert_array_equal(arrays[1], np.argsort(-plain, -1, kind="stable"))


def test_nan_is_beyond_all_numbers():
    x = np.float32([[2, np.nan, -np.inf, np.inf, np.nan, -1]])
    data = te.placeholder(x.shape, "float32", "data")
    for ascend, expected in ((True, [2, 5, 0, 3, 1, 4]), (False, [1, 4, 3, 0, 5, 2])):
        places = topi.argsort(data, is_ascend=ascend, dtype="int32")
        out = np.zeros(x.shape, "int32")
        tw.build(te.create_schedule(places.op), [data, places])(x, out)
        assert out.tolist() == [expected]


@pytest.mark.parametrize(
    ("call", "code", "text"),
    [(lambda x: sym.topk(x, k=6, axis=1), "shape-conflict", "at most 5, or 0 for all"),
     (lambda x: sym.topk(x, ret_type="all"), "shape-conflict", "both, values or indices"),
     (lambda x: sym.sort(x, axis=2), "shape-conflict", "-2 to 1"),
     (lambda x: sym.multibox_prior(x), "shape-conflict", "(?, ?, ?, ?)"),
     (lambda x: sym.multibox_prior(x, sizes="(a,)"), "bad-attribute", "a tuple of numbers")],
)
def test_calls_that_are_refused(call, code, text):
    with pytest.raises(tw.UserError) as error:
        graph = tw.graph.create(call(sym.Variable("x", shape=(3, 5))))
        graph.apply(["InferShape"])
    assert error.value.code == code and text in str(error.value)
