"""The NumPy reference against the te programs of operators: a case of each operator or more, over odd and small shapes."""

import numpy as np
import pytest

import tilewright as tw
import tilewright.graph
import tilewright.symbol as sym

import numpy_graph
from node_program import run
from operator_cases import COMPUTED, OPERATORS, ROWS, samples
from operators.arrays import relayout


def compare(operator, dtype, rtol=2e-5, atol=1e-6):
    for shapes, attributes in ROWS[operator].cases:
        arrays = samples(operator, shapes, dtype)
        symbol = getattr(sym, operator)(*(sym.Variable(name) for name in arrays), **attributes)
        everything = sym.Group([output for output in symbol.get_internals() if not output.attr("name").startswith("x")])
        for found, referred in zip(run(everything, arrays), numpy_graph.run(everything, arrays), strict=True):
            assert found.shape == referred.shape and found.dtype == referred.dtype
            np.testing.assert_allclose(found, referred, rtol=rtol, atol=atol, err_msg=f"{operator} {shapes} {attributes}")


@pytest.mark.parametrize("operator", COMPUTED)
def test_operators(operator):
    compare(operator, "float32")


@pytest.mark.parametrize("operator", COMPUTED)
def test_other_types(operator):
    compare(operator, "float64", 1e-12, 1e-12)
    compare(operator, "float16", 1e-2, 1e-2)
    if not ROWS[operator].floating:
        compare(operator, "int32")
        return
    with pytest.raises(tw.UserError) as error:
        compare(operator, "int32")
    assert error.value.code == "type-mismatch"


def test_every_operator_is_there():
    """What cannot be part of an inference says why in NOT_COMPUTED."""
    assert not OPERATORS.keys() - ROWS.keys() - numpy_graph.NOT_COMPUTED.keys()
    assert not [name for name in COMPUTED if not ROWS[name].cases]
    assert not ROWS.keys() - OPERATORS.keys()


@pytest.mark.parametrize(
    ("source", "target"),
    [("NCHW", "NHWC"), ("NCHW", "NCHW4c"), ("NCHW4c", "NHWC"), ("NCHW4c", "NCHW2c"), ("OIHW", "OIHW4i2o"), ("NCHW", "NCH3wW")],
)
def test_layouts(source, target):
    x = np.arange(2 * 8 * 3 * 6).reshape(2, 8, 3, 6)
    given = relayout(x, "NCHW" if "N" in source else "OIHW", source)
    there = relayout(given, source, target)
    np.testing.assert_array_equal(relayout(there, target, source), given)


def test_blocks_stand_where_the_layout_says():
    x = np.arange(8 * 6).reshape(1, 8, 6, 1)
    there = relayout(x, "NCHW", "NCHW4c")
    assert there.shape == (1, 2, 6, 1, 4) and there[0, 1, 5, 0, 3] == x[0, 7, 5, 0]
    there = relayout(x, "NCHW", "NCH3hW")
    assert there.shape == (1, 8, 2, 3, 1) and there[0, 2, 1, 2, 0] == x[0, 2, 5, 0]
