"""What users may say wrongly when they build and run a network: each is a UserError that says what, where and what would be
legal."""

import re

import numpy as np
import pytest

import tilewright as tw
import tilewright.compiler
import tilewright.symbol as sym
from tilewright.contrib import graph_runtime

SHAPE = {"x": (1, 3, 8, 8)}


@pytest.fixture(scope="module")
def network():
    with tw.name.NameManager():
        z = sym.relu(sym.conv2d(sym.Variable("x"), channels=4, kernel_size=(3, 3), name="conv"))
        return sym.dense(sym.flatten(z), units=5, name="fc")


def refused(code, text, action, *arguments, **named):
    with pytest.raises(tw.UserError, match=re.escape(text)) as error:
        action(*arguments, **named)
    assert error.value.code == code


@pytest.mark.parametrize(("code", "text", "wrong"), [
    ("type-mismatch", "shape is a tuple", {"shape": (1, 3, 8, 8)}),
    ("bad-shape", "the shape of 'x' is 5", {"shape": {"x": 5}}),
    ("bad-shape", "the shape of 'x' is '1,3'", {"shape": {"x": "1,3"}}),
    ("bad-shape", "the shape of 'x' is (1.0, 3, 8, 8)", {"shape": {"x": (1.0, 3, 8, 8)}}),
    ("bad-shape", "the shape of 'x' is (1, 3, -8, 8)", {"shape": {"x": (1, 3, -8, 8)}}),
    ("bad-graph", "the shape of 'x' is unknown", {"shape": {}}),
    ("bad-argument", "no input 'y'; legal: x, conv_weight", {"shape": {"y": (1, 3, 8, 8)}}),
    ("bad-argument", "the type of inputs is 'floaty32'; legal: bfloat16, bool", {"dtype": "floaty32"}),
    ("bad-argument", "the type of inputs is '3'", {"dtype": 3}),
    ("bad-argument", "the type of 'x' is 'floaty32'", {"dtype": {"x": "floaty32"}}),
    ("bad-argument", "no input 'y'", {"dtype": {"y": "float32"}}),
    ("bad-argument", "no input 'y'", {"layout": {"y": "NCHW"}}),
    ("type-mismatch", "layout is a list", {"layout": ["NCHW"]}),
    ("type-mismatch", "params is a list", {"params": [1]}),
    ("type-mismatch", "parameter 'conv_weight' is a NoneType", {"params": {"conv_weight": None}}),
    ("shape-conflict", "node 'conv', input 'weight' is (4, 3, 5, 5) where (4, 3, 3, 3) is needed",
     {"params": {"conv_weight": np.zeros((4, 3, 5, 5), "float32")}}),
    ("type-conflict", "node 'conv', input 'weight' is float64 where float32 is needed",
     {"dtype": {"x": "float32"}, "params": {"conv_weight": np.zeros((4, 3, 3, 3))}}),
    # As many elements as 32 bits count are another shape where only the last bits are taken.
    ("bad-shape", "the shape of 'x' is (4294967297, 3, 8, 8)", {"shape": {"x": (2**32 + 1, 3, 8, 8)}}),
    ("type-mismatch", "node 'conv': sum of bool", {"dtype": "bool"}),
])
def test_what_build_refuses(network, code, text, wrong):
    refused(code, text, tw.compiler.build, network, **{"shape": SHAPE, **wrong})


def test_what_inference_refuses(network):
    graph = tw.graph.create(network)
    refused("bad-shape", "the shape of 'x' is 5", tw.compiler.graph_util.infer_shape, graph, x=5)
    refused("bad-argument", "the type of 'x' is 'floaty32'", tw.compiler.graph_util.infer_dtype, graph, x="floaty32")


@pytest.mark.parametrize("wrong", [
    {"shape": {"x": list(np.int64(SHAPE["x"]))}}, {"dtype": np.float32}, {"dtype": np.dtype("float32")},
    {"dtype": {"x": np.float32}}])
def test_numbers_and_types_of_numpy(network, wrong):
    graph, lib, _ = tw.compiler.build(network, **{"shape": SHAPE, **wrong})
    assert graph_runtime.create(graph, lib).get_input("x").numpy().dtype == "float32"


def test_what_create_refuses(network):
    graph, lib, _ = tw.compiler.build(network, shape=SHAPE)
    refused("type-mismatch", "the graph is a Module", graph_runtime.create, lib, graph)
    refused("type-mismatch", "the graph is a Symbol", graph_runtime.create, network, lib)
    refused("bad-argument", "the network has no input 'foo'", graph_runtime.create, graph, lib, params={"foo": np.zeros(3)})


def test_a_call_with_the_name_of_an_input():
    x = sym.Variable("x")
    network = sym.dense(sym.reshape(x, shape=(2, 6), name="x"), units=3, use_bias=False, name="fc")
    shapes, _ = tw.compiler.graph_util.infer_shape(tw.graph.create(network), x=(2, 3, 2))
    assert shapes == [[2, 3, 2], [3, 6]]
    graph, lib, params = tw.compiler.build(network, shape={"x": (2, 3, 2)}, params={"fc_weight": np.ones((3, 6), "float32")})
    module = graph_runtime.create(graph, lib, params=params)
    module.run(x=np.ones((2, 3, 2), "float32"))
    np.testing.assert_array_equal(module.get_output(0).numpy(), np.full((2, 3), 6))


def test_inputs_of_one_name():
    network = sym.elemwise_add(sym.Variable("a"), sym.exp(sym.Variable("a")))
    refused("bad-graph", "several inputs are called 'a'", tw.compiler.build, network, shape={"a": (2,)})


def test_variables_begin_with_what_they_were_made_with():
    """Each network with its own, whatever was made besides."""
    other = sym.Variable("other", init=np.ones(3, "float32"))
    x = sym.Variable("x")
    w = sym.Variable("w", init=np.array([1, 2, 3], "float32"))
    twice = sym.Variable("twice", init=w * 2)
    graph, lib, params = tw.compiler.build((x + w) * twice, shape={"x": (3,), "w": (3,), "twice": (3,)})
    module = tw.contrib.graph_runtime.create(graph, lib, params=params)
    module.run(x=np.ones(3, "float32"))
    assert set(params) == {"w", "twice"}
    graph, lib, params = tw.compiler.build(x * other, shape={"x": (3,), "other": (3,)})
    assert set(params) == {"other"}
