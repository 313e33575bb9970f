"""Fusion beyond NNVM's rules: what becomes one kernel, why, and that it computes the same."""

import numpy as np
import pytest

import tilewright as tw
import tilewright.compiler
import tilewright.graph
import tilewright.symbol as sym

import check_graph
from random_graph import Case, random_case

x, gamma, beta = (sym.Variable(name) for name in ("x", "gamma", "beta"))


def softmax(x):
    e = sym.exp(sym.broadcast_sub(x, sym.max(x, axis=-1, keepdims=True)))
    return sym.broadcast_div(e, sym.sum(e, axis=-1, keepdims=True))


def centred(x):
    return sym.broadcast_sub(x, sym.mean(x, axis=-1, keepdims=True))


def variance(x):
    d = centred(x)
    return sym.mean(d * d, axis=-1, keepdims=True)


def layer_norm(x):
    d = centred(x)
    scale = sym.sqrt(sym.mean(d * d, axis=-1, keepdims=True) + 1e-5)
    return sym.broadcast_add(sym.broadcast_mul(sym.broadcast_div(d, scale), gamma), beta)


def turned(x):
    return sym.transpose(sym.max(sym.transpose(sym.exp(x), axes=(1, 0)), axis=0, keepdims=True) * 2, axes=(1, 0))


# A function, the shape of x, and how many kernels there are at most.
CASES = {
    "softmax": (softmax(x), (512, 1024), 1),
    "softmax of few rows": (softmax(x), (3, 33), 1),
    "layer norm": (layer_norm(x), (512, 768), 2),
    "variance": (variance(x), (512, 768), 2),
    "a sum and what follows": (sym.tanh(sym.sum(x, axis=1) * 0.01), (300, 64), 1),
    "transpositions around a reduction": (turned(x), (64, 48), 1),
    "an operator that is several loops": (sym.softmax(sym.broadcast_add(x * 0.125, beta)) * 2, (1536, 128), 1),
    "a normalised softmax": (softmax(layer_norm(x)), (128, 256), 4),
}


def partitioned(symbol, shapes, fusion="auto"):
    # What pays is asked of one kind of machine, whichever this is.
    with tw.compiler.build_config(opt_level=2, fusion=fusion), tw.target.create("llvm -mcpu=sapphirerapids"):
        return tw.compiler.build_module.prepare(symbol, shape=shapes)[0]


def groups_of(graph):
    roots = graph.json_attr("group_root")
    return {roots[k] for k, node in enumerate(graph.index.nodes) if node["op"] != "null"}


def shapes_of(symbol, shape):
    others = {name: shape[-1:] for name in symbol.list_input_names() if name != "x"}
    return {"x": shape, **others}


@pytest.mark.parametrize("name", CASES)
def test_one_kernel_where_that_pays(name):
    symbol, shape, kernels = CASES[name]
    shapes = shapes_of(symbol, shape)
    together, apart = (groups_of(partitioned(symbol, shapes, fusion)) for fusion in ("auto", "nnvm"))
    assert len(together) <= kernels < len(apart)
    rng = np.random.default_rng(0)
    case = Case(tw.graph.create(symbol).json(), {n: rng.standard_normal(s).astype("float32") for n, s in shapes.items()}, [])
    for options in ({"opt_level": 3}, {"opt_level": 1, "fusion": "nnvm"}):
        assert check_graph.trouble(case, lambda c: check_graph.built(c, options)) is None  # noqa: B023


def test_statements_stay_alone():
    symbol = sym.relu(sym.sort(sym.exp(x), axis=1))
    assert len(groups_of(partitioned(symbol, shapes_of(symbol, (512, 64))))) == 3


def test_reasons():
    graph = partitioned(softmax(x), {"x": (512, 1024)})
    text = tw.graph.explain_fusion(graph)
    assert "computed in one kernel with 'broadcast_div" in text and "by the prior, and 4 kernels" in text
    # A convolution takes so long that what lies between it and the pooling does not matter.
    image = sym.conv2d(x, channels=64, kernel_size=(3, 3), padding=(1, 1), name="c")
    graph = partitioned(sym.global_avg_pool2d(sym.relu(image, name="r"), name="p"), {"x": (1, 64, 56, 56)})
    assert "one kernel up to 'p' would save" in tw.graph.explain_fusion(graph, "c", "p")
    assert len(groups_of(graph)) == 2


def test_what_is_read_outside_is_stored():
    e = sym.exp(x, name="e")
    s = sym.sum(e, axis=1, keepdims=True, name="s")
    both = sym.Group([sym.broadcast_div(e, s, name="d"), s])
    graph = partitioned(both, {"x": (64, 64)})
    roots, node = graph.json_attr("group_root"), graph.index.node_id
    assert roots[node("s")] == node("s") != roots[node("d")]


def test_opt_level_0_and_unknown_shapes():
    with tw.compiler.build_config(opt_level=0), tw.target.create("llvm"):
        graph = tw.compiler.build_module.prepare(softmax(x), shape={"x": (4, 4)})[0]
    assert len(groups_of(graph)) == 5
    graph = tw.graph.create(softmax(x))
    graph._set_json_attr("fusion", "auto", "str")
    assert len(groups_of(graph.apply(["InferShape", "GraphFusePartition"]))) == 4


def require_acyclic(graph):
    """Each group has one end, and none waits for itself: roots ascend along all edges between groups."""
    roots = graph.json_attr("group_root")
    for k, node in enumerate(graph.index.nodes):
        for source, *_ in node["inputs"]:
            if graph.index.nodes[source]["op"] != "null" and roots[source] != roots[k]:
                assert roots[source] == source and roots[source] < roots[k]
    for source, *_ in graph.index.output_entries:
        assert roots[source] == source


def test_no_group_waits_for_itself():
    merged = 0
    for seed in range(60):
        case = random_case(seed, most_parts=8)
        shapes, types = {n: a.shape for n, a in case.inputs.items()}, {n: str(a.dtype) for n, a in case.inputs.items()}
        with tw.compiler.build_config(opt_level=1), tw.target.create("llvm"):
            graph = tw.compiler.build_module.prepare(case.load(), shape=shapes, dtype=types)[0]
        require_acyclic(graph)
        merged += "computed in one kernel" in tw.graph.explain_fusion(graph)
    assert merged > 10


def test_the_log_decides(tmp_path):
    """What was tuned in parts is built in parts, and what was tuned whole is built whole."""
    shapes = {"x": (64, 128)}
    counts = {}
    for fusion in ("auto", "nnvm"):
        with tw.compiler.build_config(opt_level=2, fusion=fusion):
            tasks, weights = tw.autotune.extract_tasks(softmax(x), shape=shapes)
        log = tmp_path / f"{fusion}.db"
        tw.autotune.tune(tasks, trials=2 * len(tasks), log=log, task_weights=weights)
        counts[fusion] = len(tasks)
        with tw.autotune.apply_best(log), tw.target.create("llvm"), tw.compiler.build_config(opt_level=2):
            kernels = tw.compiler.build_module.build_kernels(softmax(x), shape=shapes)[-1]
        assert [k.origin for k in kernels] == ["record"] * counts[fusion]
    assert counts["auto"] < counts["nnvm"]
