"""Random networks as `compiler.build` builds them at all optimisation levels and with either fusion, against NumPy."""

import os

import numpy as np
import pytest

import tilewright as tw
import tilewright.compiler
import tilewright.graph
import tilewright.symbol as sym

import check_graph
from random_graph import Case, random_case

CASES = int(300 * float(os.environ.get("TW_FUZZ_SCALE", "1")))
FIRST = 1_000_003 * int(os.environ.get("TW_FUZZ_SEED", "1"))
# Each is built without any optimisation and with all; of what lies between, every third one way.
LEAST, *BETWEEN, MOST = sorted(check_graph.BUILDS, key=lambda options: (options["opt_level"], "fusion" not in options))


@pytest.mark.parametrize("part", range(10))
def test_all_builds_compute_the_same(part):
    for seed in range(FIRST + part, FIRST + CASES, 10):
        case = random_case(seed, most_parts=6)
        for options in (LEAST, BETWEEN[seed % len(BETWEEN)], MOST):
            name = "_".join(map(str, ["build", *options.values(), seed]))
            check_graph.require_same(case, lambda c, options=options: check_graph.built(c, options), name)


@pytest.mark.parametrize("shape", [(), (1,), (3,)])
def test_what_is_computed_of_parameters_has_any_rank(shape):
    x, p, q = (sym.Variable(name) for name in "xpq")
    graph = tw.graph.create(sym.elemwise_add(x, sym.elemwise_mul(sym.exp(p), sym.tanh(q))))
    inputs = {name: np.full(shape, 0.5, "float32") for name in "xpq"}
    for options in check_graph.BUILDS:
        assert check_graph.trouble(Case(graph.json(), inputs, ["p", "q"]), lambda c, options=options: check_graph.built(c, options)) is None


def test_weights_of_what_only_lends_its_shape():
    """A convolution whose output is looked at for its shape alone is not computed, nor are its weights packed."""
    normal = lambda v, name: sym.batch_norm(v, name=name, epsilon=1e-3)
    x = normal(sym.Variable("x"), "first")
    like = sym.conv2d(x, channels=16, kernel_size=(3, 3), strides=(1, 2), padding=(1, 1), use_bias=False, name="c")
    graph = tw.graph.create(sym.reshape_like(x, normal(like, "second")))
    shapes = tw.compiler.graph_util.infer_shape(graph, x=(1, 8, 5, 8))[0]
    inputs = {name: np.ones(shape, "float32") for name, shape in zip(graph.index.input_names, shapes, strict=True)}
    for options in check_graph.BUILDS:
        assert check_graph.trouble(Case(graph.json(), inputs, [name for name in inputs if name != "x"]), lambda c, options=options: check_graph.built(c, options)) is None
