"""Cases of operators, with arrays."""

import numpy as np

import tilewright as tw
import tilewright.graph

import numpy_graph
from operators import OPERATORS as ROWS

OPERATORS = {op["name"]: op for op in tw.graph.operators()}
COMPUTED = sorted(OPERATORS.keys() - numpy_graph.NOT_COMPUTED.keys())


def sample(shape, seed, dtype="float32"):
    """Between 1/4 and 4, where all functions have values; not at the steps of floor and the like. Integers from 1 to 4."""
    values = np.random.default_rng(seed).uniform(0.25, 4, shape)
    return np.asarray(values if dtype.startswith("float") else np.ceil(values), dtype)


def samples(operator, shapes, dtype="float32", first=0):
    """Arrays for the inputs of an operator, whose row may say which."""
    own = ROWS[operator].samples
    return {f"x{k}": own.get(k, sample)(shape, k + first, dtype) for k, shape in enumerate(shapes)}
