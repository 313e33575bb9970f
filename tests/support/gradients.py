"""Gradients of operators over their cases, as several tests compare them."""

import numpy as np

import tilewright as tw
import tilewright.graph
import tilewright.symbol as sym

import numpy_graph
from operator_cases import COMPUTED, ROWS, samples

DIFFERENTIABLE = [name for name in COMPUTED if ROWS[name].gradient == "slope"]


def gradients(y, xs):
    return tw.compiler.graph_util.gradients(y, xs)


def total(outputs, heads):
    """The sum of all elements, each with a weight of its own."""
    terms = [sym.sum(sym.elemwise_mul(y, head)) for y, head in zip(outputs, heads, strict=True)]
    return terms[0] if len(terms) == 1 else sym.elemwise_sum(*terms, num_args=len(terms))


def evaluate(symbols, values):
    graph = tw.graph.create(sym.Group(list(symbols)))
    return numpy_graph.run(graph.symbol, {name: values[name] for name in graph.index.input_names})


def random_like(shapes, seed):
    return [np.random.default_rng(seed + k).uniform(-1, 1, shape) for k, shape in enumerate(shapes)]


def case_of(operator, shapes, attributes):
    """Those inputs that have gradients, the values of all variables, and the loss."""
    values = samples(operator, shapes, "float64")
    given = {name: sym.Variable(name) for name in values}
    xs = [given[name] for name, array in values.items() if array.dtype.kind == "f"]
    y = getattr(sym, operator)(*given.values(), **attributes)
    # Positions and numbers of elements do not move.
    everything = [y[k] for k in range(len(y))] if len(y) > 1 else [y]
    found = evaluate(everything, values)
    outputs = [output for output, array in zip(everything, found, strict=True) if array.dtype.kind == "f"]
    heads = random_like([array.shape for array in found if array.dtype.kind == "f"], 5)
    names = [f"head{k}" for k in range(len(heads))]
    values |= dict(zip(names, heads, strict=True))
    return xs, values, total(outputs, [sym.Variable(n) for n in names])


def smooth_cases(operator):
    row = ROWS[operator]
    return [(shapes, attributes) for shapes, attributes in row.cases if row.smooth(attributes)]
