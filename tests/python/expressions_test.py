"""Operators that stand for expressions of others: built at every level, forward and with their gradients."""

from pathlib import Path

import numpy as np
import pytest

import tilewright as tw
import tilewright.graph
import tilewright.symbol as sym
from tilewright.contrib import graph_runtime

import numpy_graph


def built(symbol, arrays, **config):
    """The outputs of a network that is built for these inputs."""
    with tw.compiler.build_config(**config):
        graph, lib, params = tw.compiler.build(symbol, shape={n: a.shape for n, a in arrays.items()}, dtype={n: str(a.dtype) for n, a in arrays.items()})
    module = graph_runtime.create(graph, lib, tw.cpu(0))
    names = set(graph.index.input_names)
    module.set_input(**params, **{n: tw.nd.array(a) for n, a in arrays.items() if n in names})
    module.run()
    return [module.get_output(k).numpy() for k in range(module.get_num_outputs())]


def random(seed=0, **shapes):
    generator = np.random.default_rng(seed)
    return {name: generator.uniform(-1, 1, shape).astype("float32") for name, shape in shapes.items()}


def variables(arrays):
    return [sym.Variable(name) for name in arrays]


def attention():
    arrays = random(q=(2, 4, 3, 8), k=(2, 2, 5, 8), v=(2, 2, 5, 4))
    return sym.scaled_dot_product_attention(*variables(arrays), is_causal=True, causal_offset=2), arrays


def lstm():
    arrays = random(x=(3, 2, 5), w=(2, 16, 5), r=(2, 16, 4), b=(2, 32))
    return sym.Group(list(sym.lstm(*variables(arrays), hidden_size=4, direction="bidirectional"))), arrays


def group_norm():
    arrays = random(x=(2, 6, 4, 5), g=(6,), b=(6,))
    return sym.relu(sym.group_norm(*variables(arrays), num_groups=3)), arrays


def dense_of_rank_3():
    arrays = random(x=(2, 3, 5), w=(4, 5), b=(4,))
    return sym.gelu(sym.dense(*variables(arrays), units=4)), arrays


def behind_a_convolution():
    arrays = random(x=(2, 8, 6, 6), w=(16, 8, 3, 3), b=(16,), g=(16,), c=(16,))
    x, w, b, g, c = variables(arrays)
    return sym.hard_swish(sym.instance_norm(sym.conv2d(x, w, b, channels=16, kernel_size=(3, 3)), g, c)), arrays


NETWORKS = [attention, lstm, group_norm, dense_of_rank_3, behind_a_convolution]


@pytest.mark.parametrize("network", NETWORKS)
def test_networks_of_expressions(network):
    symbol, arrays = network()
    expected = numpy_graph.run(symbol, arrays)
    for level in (0, 3):
        for ours, theirs in zip(built(symbol, arrays, opt_level=level), expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("network", NETWORKS)
def test_their_gradients(network):
    symbol, arrays = network()
    xs = variables(arrays)
    y = symbol[0] if len(symbol) > 1 else symbol
    slopes = sym.Group(tw.compiler.graph_util.gradients(sym.sum(sym.tanh(y)), xs))
    expected = numpy_graph.run(slopes, arrays)
    for ours, theirs in zip(built(slopes, arrays, opt_level=3), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-4)


def test_an_expression_is_cleaned():
    """What the gradient of a product of matrices of one batch would add up is left as it is."""
    x, y = sym.Variable("x"), sym.Variable("y")
    slopes = sym.Group(tw.compiler.graph_util.gradients(sym.matmul(x, y), [x, y]))
    graph = tw.compiler.apply_steps(slopes, ["ExpandOperators"], {"x": (3, 4), "y": (4, 5)})
    assert sorted(node["op"] for node in graph.index.nodes if node["op"] != "null") == ["batch_matmul", "batch_matmul", "matmul", "ones_like"]


def test_dropout_is_the_same_for_a_seed():
    x = np.ones((50, 40), "float32")
    def of(seed):
        return built(sym.dropout_training(sym.Variable("x"), rate=0.25, seed=seed)[1], {"x": x})[0]

    assert (of(3) == of(3)).all() and (of(3) != of(4)).any() and (of(3) != of(3 + 2**40)).any()
    assert abs(of(3).mean() - 0.75) < 0.03


def test_bytes_reach_instructions_of_dot_products(monkeypatch):
    """A product of bytes, in int32, is what the dot products of the processor compute."""
    monkeypatch.delenv("TILEWRIGHT_PRIOR_POINTS", raising=False)  # a schedule as users get it
    a, b = te_inputs = [tw.te.placeholder(shape, dtype, name) for name, shape, dtype in (("a", (32, 64), "uint8"), ("b", (64, 48), "int8"))]
    tensor, = tw.graph.compute(sym.matmul_integer(sym.Variable("a"), sym.Variable("b"), use_lhs_zero_point=False, use_rhs_zero_point=False), {"a": a, "b": b})
    function = tw.build([*te_inputs, tensor])
    if "avx512_vnni" in Path("/proc/cpuinfo").read_text():
        assert "vpdpbusd" in function.get_source("asm") or "tdpbusd" in function.get_source("asm")


def test_straight_through():
    """torch.fake_quantize_per_tensor_affine(x, 0.1, 0, -8, 7): 1 inside the limits, 0 outside."""
    x, scale, zero = (sym.Variable(n) for n in ("x", "s", "z"))
    slope, = tw.compiler.graph_util.gradients(sym.fake_quantize(x, scale, zero, quant_min=-8, quant_max=7), [x])
    arrays = {"x": np.float32([-1, -0.8, -0.2, 0, 0.7, 0.76]), "s": np.float32(0.1), "z": np.int32(0)}
    assert built(slope, arrays)[0].tolist() == [0, 1, 1, 1, 1, 0]
