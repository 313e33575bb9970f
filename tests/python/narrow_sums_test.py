"""Sums and products of float16 and bfloat16 are made in float32 and rounded once: of ones that a sum in bfloat16 would stop to count at 256."""

import ml_dtypes
import numpy as np
import pytest

import tilewright as tw
import tilewright.symbol as sym
from tilewright import te, topi
from tilewright.contrib import graph_runtime

from node_program import run

N = 2048
# Operator, shapes, attributes, and what it makes of ones.
OF_ONES = [
    ("sum", [(2, N)], {"axis": 1}, N),
    ("mean", [(2, N)], {"axis": 1}, 1),
    ("dense", [(2, N), (3, N)], {"units": 3, "use_bias": False}, N),
    ("dense", [(2, N), (3, N), (3,)], {"units": 3}, N),
    ("matmul", [(2, N), (N, 3)], {}, N),
    ("batch_matmul", [(1, 2, N), (2, 3, N)], {}, N),
    ("einsum", [(2, N), (3, N)], {"equation": "ij,kj->ik"}, N),
    ("conv1d", [(1, N, 3), (2, N, 1)], {"channels": 2, "kernel_size": 1, "use_bias": False}, N),
    ("conv2d", [(1, N, 2, 2), (2, N, 1, 1)], {"channels": 2, "kernel_size": 1, "use_bias": False}, N),
    ("conv2d_transpose", [(1, N, 1, 1), (N, 2, 1, 1)], {"channels": 2, "kernel_size": 1, "use_bias": False}, N),
    ("avg_pool2d", [(1, 1, 64, 32)], {"pool_size": (64, 32)}, 1),
    ("global_avg_pool2d", [(1, 2, 64, 32)], {}, 1),
    ("softmax", [(2, N)], {}, 1 / N),
    ("log_softmax", [(2, N)], {}, -np.log(N)),
    ("cumsum", [(N,)], {"axis": 0}, np.arange(1, N + 1)),
    ("l2_normalize", [(1, 4 * N)], {"eps": 1e-6, "axis": 1}, (4 * N) ** -0.5),
    ("lp_normalize", [(1, N)], {"p": 1}, 1 / N),
    ("rms_norm", [(1, N), (N,)], {"epsilon": 0}, 1),
    ("nll_loss", [(N, 1), (N,)], {"reduction": "sum"}, -N),
]
# Of zeros and twos in turn, whose mean and variance are 1.
OF_TWOS = [
    ("layer_norm", [(2, N)], {"epsilon": 0, "scale": False, "center": False}),
    ("instance_norm", [(1, 2, N)], {"epsilon": 0, "scale": False, "center": False}),
    ("group_norm", [(1, 4, N)], {"epsilon": 0, "num_groups": 2, "scale": False, "center": False}),
    ("mean_variance_normalization", [(2, N)], {"axis": 1}),
]
NARROW = [np.float16, ml_dtypes.bfloat16]


def symbol_of(operator, arrays, attributes):
    return getattr(sym, operator)(*(sym.Variable(name) for name in arrays), **attributes)


def ones(operator, shapes, dtype):
    arrays = {f"x{k}": np.ones(shape, dtype) for k, shape in enumerate(shapes)}
    if operator == "dense" and len(shapes) > 2:
        arrays["x2"] *= 0
    if operator == "nll_loss":
        arrays["x1"] = np.zeros(shapes[1], "int32")
    return arrays


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize(("operator", "shapes", "attributes", "value"), OF_ONES)
def test_ones(operator, shapes, attributes, value, dtype):
    arrays = ones(operator, shapes, dtype)
    for found in run(symbol_of(operator, arrays, attributes), arrays):
        assert found.dtype == dtype
        np.testing.assert_array_equal(found.astype("float32"), np.broadcast_to(np.asarray(value, dtype).astype("float32"), found.shape))


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize(("operator", "shapes", "attributes"), OF_TWOS)
def test_norms(operator, shapes, attributes, dtype):
    x = np.zeros(shapes[0], dtype)
    x[..., ::2] = 2
    (found,) = run(symbol_of(operator, {"x0": x}, attributes), {"x0": x})
    np.testing.assert_array_equal(found.astype("float32"), x.astype("float32") - 1)


@pytest.mark.parametrize("operator", ["group_norm", "lp_normalize", "nll_loss"])
def test_expressions_of_built_networks(operator):
    """What the pass ExpandOperators makes of them, with gradients."""
    row = next(row for row in [*OF_ONES, *OF_TWOS] if row[0] == operator)
    arrays = ones(operator, row[1], ml_dtypes.bfloat16)
    if operator == "group_norm":
        arrays["x0"][..., ::2], arrays["x0"][..., 1::2] = 2, 0
    outputs = symbol_of(operator, arrays, row[2])
    wanted = run(outputs, arrays)
    with tw.compiler.build_config(opt_level=3):
        graph, lib, _ = tw.compiler.build(outputs, None, {k: a.shape for k, a in arrays.items()}, {k: str(a.dtype) for k, a in arrays.items()})
    module = graph_runtime.create(graph, lib, tw.cpu(0))
    module.run(**{name: tw.nd.array(a) for name, a in arrays.items()})
    np.testing.assert_array_equal(module.get_output(0).numpy().astype("float32"), wanted[0].astype("float32"))


def test_gradients_of_expressions_are_wide_too():
    x, w = np.ones((1, N), ml_dtypes.bfloat16), sym.Variable("x0")
    gradient = tw.compiler.graph_util.get_gradient_graph(sym.lp_normalize(w, p=1) * 2, w)
    with tw.compiler.build_config(opt_level=2):
        graph, lib, _ = tw.compiler.build(gradient, None, {"x0": x.shape}, {"x0": "bfloat16"})
    module = graph_runtime.create(graph, lib, tw.cpu(0))
    module.run(x0=tw.nd.array(x))
    assert (module.get_output(0).numpy().astype("float32") == 0).all()  # the sum stays 1 wherever x goes


def test_out_dtype_is_that_of_the_result():
    a, b = te.placeholder((2, N), "float16", "a"), te.placeholder((3, N), "float16", "b")
    for out_dtype, dtype in ((None, "float16"), ("float16", "float16"), ("float32", "float32")):
        assert topi.nn.dense(a, b, out_dtype=out_dtype).dtype == dtype
