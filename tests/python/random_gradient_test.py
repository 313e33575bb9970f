"""Laws that gradients keep, on random networks computed with NumPy in float64."""

import os
from types import SimpleNamespace

import numpy as np
import pytest

import tilewright as tw
import tilewright.graph
import tilewright.symbol as sym

import numpy_graph
from gradients import evaluate, gradients, random_like
from random_graph import Case, random_case

CASES = int(200 * float(os.environ.get("TW_FUZZ_SCALE", "1")))
FIRST = 1_000_003 * int(os.environ.get("TW_FUZZ_SEED", "1"))
MOST_VARIABLES = 3
# Constants of a network may be float32, which rounds what is computed with them.
TOLERANCE = 1e-5


def weighted(symbol, name):
    return sym.sum(sym.elemwise_mul(symbol, sym.Variable(name)))


def has_gradient(y, x):
    try:
        gradients(y, [x])
    except tw.UserError as error:  # every way to it ends at whole numbers
        assert error.code == "no-gradient"
        return False
    return True


def differentiable(seed):
    """Two functions of a network's variables, numbers both, those variables that have gradients, and all values; None of a
    network without."""
    case = random_case(seed)
    graph = Case(case.graph.replace("float32", "float64"), case.inputs, case.params).load()
    values = {name: a.astype("float64") if a.dtype.kind == "f" else a for name, a in case.inputs.items()}
    random = np.random.default_rng(seed)
    outputs = [(graph.symbol[k] if len(graph.symbol) > 1 else graph.symbol, y) for k, y in enumerate(numpy_graph.run(graph, values)) if y.dtype.kind == "f"]
    if not outputs:
        return None
    (f, of_f), (g, of_g) = outputs[0], outputs[-1]
    values |= {"weight_f": random.uniform(-1, 1, of_f.shape), "weight_g": random.uniform(-1, 1, of_g.shape)}
    f, g = weighted(f, "weight_f"), weighted(g, "weight_g")
    names = [name for name, a in case.inputs.items() if a.dtype.kind == "f"]
    chosen = random.permutation(names)[:MOST_VARIABLES]
    # Variables of the network, which is found by name.
    inside = {node.attr("name"): node for node in graph.symbol.get_internals() if node.attr("name") in chosen}
    xs = [x for x in inside.values() if has_gradient(f, x) and has_gradient(g, x)]
    return SimpleNamespace(f=f, g=g, xs=xs, values=values, shapes=[values[x.attr("name")].shape for x in xs]) if xs else None


def close(found, expected, note):
    for a, b in zip(found, expected, strict=True):
        scale = max(np.abs(a).max(initial=0), np.abs(b).max(initial=0), 1)
        np.testing.assert_allclose(a, b, rtol=0, atol=TOLERANCE * scale, err_msg=note)


def check_sums_and_scales(n, note):
    unused, head = sym.Variable("unused"), sym.Variable("head")
    both = gradients(sym.elemwise_add(n.f, n.g), [*n.xs, unused])
    scaled = tw.compiler.graph_util.gradients(n.f, n.xs, [head])
    parts = [*gradients(n.f, n.xs), *gradients(n.g, n.xs)]
    found = evaluate([*both, *scaled, *parts], n.values | {"unused": np.ones((2, 3)), "head": np.asarray(-2.5)})
    count = len(n.xs)
    of_both, zeros, of_scaled, of_f, of_g = found[:count], found[count], found[count + 1 : 2 * count + 1], found[2 * count + 1 : 3 * count + 1], found[3 * count + 1 :]
    close(of_both, [a + b for a, b in zip(of_f, of_g)], f"{note}: of a sum")
    close(of_scaled, [-2.5 * a for a in of_f], f"{note}: of a scaled head")
    np.testing.assert_array_equal(zeros, np.zeros((2, 3)))


def check_symmetry(n, note) -> bool:
    """v · (H u) is u · (H v). Whether there is a second derivative to look at."""
    slope = sym.elemwise_sum(*(weighted(g, f"along{k}") for k, g in enumerate(gradients(n.f, n.xs))), num_args=len(n.xs))
    if not all(has_gradient(slope, x) for x in n.xs):
        return False
    second = gradients(slope, n.xs)
    u, v = random_like(n.shapes, 3), random_like(n.shapes, 5000)
    along = lambda direction: evaluate(second, n.values | {f"along{k}": d for k, d in enumerate(direction)})
    products = [(a * b, np.abs(a * b).sum()) for x, y in ((u, v), (v, u)) for a, b in [(np.concatenate([h.ravel() for h in along(x)]), np.concatenate([d.ravel() for d in y]))]]
    (first, size), (other, _) = products
    np.testing.assert_allclose(first.sum(), other.sum(), rtol=0, atol=TOLERANCE * max(size, 1), err_msg=note)
    return size > 0


@pytest.fixture(scope="module")
def networks():
    found, seed = {}, FIRST
    while len(found) < CASES:
        network = differentiable(seed)
        if network is not None:
            found[seed] = network
        seed += 1
    assert seed - FIRST < 2 * CASES
    return found


def test_sums_scales_and_unused_inputs(networks):
    for seed, network in networks.items():
        check_sums_and_scales(network, f"network {seed}")


def test_second_derivatives_are_symmetric(networks):
    curved = [seed for seed, network in networks.items() if check_symmetry(network, f"network {seed}")]
    assert len(curved) > CASES / 8
