"""The bits of elements."""

import numpy as np

from operators.row import Operator


def _floats(shape, seed, dtype):
    """Of 32 bits, whatever the others are tried with."""
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


OPERATORS = {
    "reinterpret": Operator(lambda a, x: np.asarray(x).view(a.element_type("dtype")), [
        ([(3, 5)], {"dtype": "int32"}), ([()], {"dtype": "uint32"}), ([(0, 2)], {"dtype": "int32"}), ([(7,)], {"dtype": "float32"}),
    ], samples={0: _floats}, gradient="ends"),
}
