"""Gradients of every operator, of first and second order, against differences of the NumPy reference in float64."""

import numpy as np
import pytest

import tilewright as tw
import tilewright.graph
import tilewright.symbol as sym

from gradients import DIFFERENTIABLE, case_of, evaluate, gradients, random_like, smooth_cases, total
from node_program import run
from operator_cases import ROWS, sample

STEP = 1e-6


def agrees_with_differences(loss, xs, values, note):
    """The gradients of a number by variables, along random directions."""
    found = evaluate(gradients(loss, [sym.Variable(x) for x in xs] if isinstance(xs, dict) else list(xs)), values)
    for x, gradient in zip(xs, found, strict=True):
        name = x.list_input_names()[0]
        assert gradient.shape == values[name].shape, note
        for direction in random_like([values[name].shape] * 2, 77):
            sides = [float(evaluate([loss], values | {name: values[name] + sign * STEP * direction})[0]) for sign in (1, -1)]
            expected = (sides[0] - sides[1]) / (2 * STEP)
            np.testing.assert_allclose(np.sum(gradient * direction), expected, rtol=2e-6, atol=2e-6, err_msg=f"{note}, {name}")
    return found


@pytest.mark.parametrize("operator", DIFFERENTIABLE)
def test_first_order(operator):
    for shapes, attributes in smooth_cases(operator):
        xs, values, loss = case_of(operator, shapes, attributes)
        found = agrees_with_differences(loss, xs, values, f"{operator} {shapes} {attributes}")
        # What the operators of the gradient compute by themselves is what the reference says.
        for ours, theirs in zip(run(tw.graph.create(sym.Group(gradients(loss, xs))).symbol, values), found, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("operator", DIFFERENTIABLE)
def test_second_order(operator):
    for shapes, attributes in smooth_cases(operator):
        xs, values, loss = case_of(operator, shapes, attributes)
        first = gradients(loss, xs)
        weights = random_like([values[x.list_input_names()[0]].shape for x in xs], 11)
        names = [f"weight{k}" for k in range(len(xs))]
        values |= dict(zip(names, weights, strict=True))
        slope = total(first, [sym.Variable(n) for n in names])
        agrees_with_differences(slope, xs, values, f"{operator} {shapes} {attributes}")


def without_inverse():
    """Matrices of every rank, among them such whose zeros come at the first step of an elimination by columns."""
    random = np.random.default_rng(4)
    a = random.uniform(-1, 1, (5, 4, 4))
    a[0, :, 0] = 0
    a[1, :, 1] = 2 * a[1, :, 0]
    a[2, 1] = a[2, 0] - a[2, 2]
    a[2, :, 3] = a[2, :, 2]
    a[3] = np.outer(a[3, 0], a[3, 1])
    a[4] = 0
    return {"ranks 3 to 0": a, "rank 1": np.array([[1.0, 2], [2, 4]]), "two zeros": np.zeros((2, 2)), "zero": np.zeros((1, 1))}


@pytest.mark.parametrize("case", without_inverse())
def test_determinants_of_matrices_without_an_inverse(case):
    """The adjugate, as in PyTorch and JAX; and the gradient of that."""
    a = without_inverse()[case]
    x, values = sym.Variable("x"), {"x": a}
    loss = total([sym.det(x)], [sym.Variable("head")])
    values["head"] = random_like([a.shape[:-2]], 5)[0]
    found = agrees_with_differences(loss, [x], values, case)
    np.testing.assert_allclose(run(tw.graph.create(sym.Group(gradients(loss, [x]))).symbol, values)[0], found[0], rtol=1e-9, atol=1e-9)
    values["weight"] = random_like([a.shape], 11)[0]
    agrees_with_differences(total(gradients(loss, [x]), [sym.Variable("weight")]), [x], values, case)


def test_every_operator_has_a_gradient_or_says_why_not():
    assert {row.gradient for row in ROWS.values()} == {"slope", "ends", "decided", "source"}
    for op in tw.graph.operators():
        if op["name"] in ROWS and not op["inputs"]:
            assert ROWS[op["name"]].gradient == "source"


@pytest.mark.parametrize(
    ("function", "end"),
    [(lambda x: sym.argmax(x, axis=0), "argmax"), (lambda x: sym.cast(x, dtype="int32"), "cast"),
     (lambda x: sym.cast(sym.cast(sym.exp(x), dtype="int32"), dtype="float32"), "cast")],
)
def test_a_gradient_that_ends_names_the_way(function, end):
    x = sym.Variable("x", shape=(3,))
    with pytest.raises(tw.UserError, match=rf"no gradient reaches 'x': it ends at operator '{end}', on the way x -> ") as error:
        gradients(function(x), [x])
    assert error.value.code == "no-gradient"
    # Another way is enough, and what nothing depends on gets zeros.
    both = sym.elemwise_add(sym.cast(function(x), dtype="float32"), sym.sum(sym.exp(x))) if end == "argmax" else None
    if both is not None:
        np.testing.assert_allclose(evaluate(gradients(both, [x]), {"x": np.ones(3)})[0], np.exp(np.ones(3)))
    z = sym.Variable("z", shape=(2,))
    np.testing.assert_array_equal(evaluate(gradients(function(x), [z]), {"z": np.ones(2)})[0], np.zeros(2))


def at(function, *arrays):
    """The gradients of the sum of a function's results at points."""
    xs = [sym.Variable(f"x{k}") for k in range(len(arrays))]
    values = {f"x{k}": np.asarray(a, "float64") for k, a in enumerate(arrays)}
    return [g.tolist() for g in run(tw.graph.create(sym.Group(gradients(sym.sum(function(*xs)), xs))).symbol, values)]


def test_at_kinks_as_pytorch():
    """torch 2: abs, relu, clamp, maximum, amax, max_pool2d, pow, prod, leaky_relu at points where they have no slope."""
    assert at(sym.abs, [-2, 0, 3]) == [[-1, 0, 1]]
    assert at(sym.relu, [-2, 0, 3]) == [[0, 0, 1]]
    assert at(lambda x: sym.clip(x, a_min=-1, a_max=1), [-2, -1, 0, 1, 2]) == [[0, 1, 1, 1, 0]]
    assert at(lambda x: sym.leaky_relu(x, alpha=0.5), [-1, 0, 1]) == [[0.5, 0.5, 1]]
    assert at(sym.broadcast_max, [1, 2, 3], [3, 2, 1]) == [[0, 0.5, 1], [1, 0.5, 0]]
    assert at(sym.broadcast_min, [1, 2, 3], [3, 2, 1]) == [[1, 0.5, 0], [0, 0.5, 1]]
    assert at(lambda x: sym.max(x, axis=1), [[1, 4, 4], [2, 2, 2]]) == [[[0, 0.5, 0.5], [1 / 3, 1 / 3, 1 / 3]]]
    assert at(sym.prod, [2, 0, 3]) == [[0, 6, 0]]
    assert at(sym.prod, [0, 0, 3]) == [[0, 0, 0]]
    assert at(lambda x: x**0, [0, 2]) == [[0, 0]]
    assert at(lambda x: x**2, [0, 2]) == [[0, 4]]
    assert at(sym.broadcast_pow, [0, 0, 2], [2, 0, 0]) == [[0, 0, 0], [0, 0, np.log(2)]]
    assert at(lambda x: sym.max_pool2d(x, pool_size=2, strides=(1, 1)), np.ones((1, 1, 2, 3))) == [[[[[1, 1, 0], [0, 0, 0]]]]]
    assert at(sym.floor, [0, 0.5]) == [[0, 0]]
    assert at(sym.block_grad, [1, 2]) == [[0, 0]]


def test_sums_of_gradients():
    """The gradient of a sum is the sum of gradients, and the head scales it."""
    x = sym.Variable("x")
    values = {"x": sample((3, 4), 1, "float64"), "head": np.full((3, 4), 2.5)}
    f, g = sym.tanh(x), sym.softmax(x)
    both, = evaluate(gradients(sym.elemwise_add(f, g), [x]), values)
    parts = evaluate([*gradients(f, [x]), *gradients(g, [x])], values)
    np.testing.assert_allclose(both, parts[0] + parts[1], rtol=1e-12, atol=1e-15)
    scaled, = evaluate(tw.compiler.graph_util.gradients(f, [x], [sym.Variable("head")]), values)
    np.testing.assert_allclose(scaled, 2.5 * parts[0], rtol=1e-12)
