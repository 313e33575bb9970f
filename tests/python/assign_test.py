"""Networks that write to variables, compiled."""

import numpy as np
import pytest

import tilewright as tw
import tilewright.compiler
import tilewright.graph
import tilewright.symbol as sym
from tilewright.contrib import graph_runtime

LEVELS = pytest.mark.parametrize("opt_level", range(4))


pytestmark = pytest.mark.usefixtures("fresh_names")


def built(network, opt_level, shape=None, params=None, fusion="auto"):
    with tw.compiler.build_config(opt_level=opt_level, fusion=fusion):
        graph, lib, params = tw.compiler.build(network, shape=shape, params=params)
    return graph_runtime.create(graph, lib, params=params)


def output(module, number=0):
    return module.get_output(number).numpy().copy()


@LEVELS
def test_a_counter_is_increased_by_each_run(opt_level):
    count = sym.Variable("count", shape=(3,))
    module = built(sym._assign(count, count + 1), opt_level, params={"count": np.zeros(3, "float32")})
    for run in range(1, 4):
        module.run()
        np.testing.assert_array_equal(output(module), np.full(3, run))
        np.testing.assert_array_equal(module.get_input("count").numpy(), np.full(3, run))
    # An instance for another thread counts on from there, for itself.
    other = module.clone()
    module.set_input("count", np.full(3, 10, "float32"))
    module.run(), other.run()
    assert (output(module)[0], output(other)[0]) == (11, 4)


@LEVELS
@pytest.mark.parametrize("fusion", ["auto", "nnvm"])
@pytest.mark.parametrize("order", [1, -1])
def test_who_reads_before_and_after(opt_level, fusion, order):
    """Reads before the write, in between and after it, under other shapes as well."""
    x, y = sym.Variable("x", shape=(2, 3)), sym.Variable("y", shape=(2, 3))
    old, old_flat = sym.relu(x), sym.reshape(x, shape=(6,))
    first = sym._assign(x, y)
    middle, middle_flat = sym.exp(x), sym.reshape(first, shape=(6,))
    second = sym._assign(x, x * 2)
    outputs = [old, old_flat, first, middle, middle_flat, second, sym.negative(x), sym.reshape(x, shape=(3, 2))]
    module = built(sym.Group(outputs[::order]), opt_level, fusion=fusion)
    xs, ys = np.float32([[1, -2, 3], [4, 5, -6]]), np.float32([[0.5, 1, -1], [2, 0, 1]])
    for before in (xs, 2 * ys):
        if before is xs:
            module.set_input("x", xs)
        module.set_input("y", ys)
        module.run()
        wanted = [np.maximum(before, 0), before.ravel(), ys, np.exp(ys), ys.ravel(), 2 * ys, -2 * ys, (2 * ys).reshape(3, 2)]
        for k, value in enumerate(wanted[::order]):
            np.testing.assert_allclose(output(module, k), value, rtol=1e-5, err_msg=f"output {k}")


@LEVELS
def test_a_weight_that_is_trained_is_not_packed(opt_level):
    """A parameter that the network writes to is no constant, and what depends on it is computed in each run."""
    x, w = sym.Variable("x", shape=(16, 64)), sym.Variable("w", shape=(64, 64))
    outputs = [sym.dense(x, weight=w, units=64, use_bias=False), sym.dense(x, weight=w * 2, units=64, use_bias=False)]
    step = sym._assign(w, w - 0.5 * sym.ones_like(w))
    random = np.random.default_rng(0)
    xs, ws = (random.uniform(-1, 1, s).astype("float32") for s in ((16, 64), (64, 64)))
    module = built(sym.Group([*outputs, step]), opt_level, params={"w": ws})
    for run in range(3):
        module.run(x=xs)
        product = xs @ (ws - 0.5 * run).T
        np.testing.assert_allclose(output(module), product, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(output(module, 1), 2 * product, rtol=1e-4, atol=1e-4)


@LEVELS
def test_a_variable_written_to_itself(opt_level):
    x = sym.Variable("x", shape=(5,))
    values = np.arange(5, dtype="float32")
    module = built(sym._assign(x, x), opt_level, params={"x": values})
    module.run()
    np.testing.assert_array_equal(output(module), values)
