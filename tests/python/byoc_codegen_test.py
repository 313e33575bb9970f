"""Other code generators: what they compute, and what becomes of those that misbehave."""

import logging
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import tilewright as tw
import tilewright.compiler
import tilewright.symbol as sym
from tilewright import byoc
from tilewright.dataflow_pattern import is_op

import check_graph
import numpy_graph
from codegens import SOURCE, library, register_relu, relu_by, values_for
from random_graph import random_case

CASES = {compiler: int(n * float(os.environ.get("TW_FUZZ_SCALE", "1"))) for compiler, n in [("csource", 100), ("openblas", 200), ("onednn", 200)]}
FIRST = 1_000_003 * int(os.environ.get("TW_FUZZ_SEED", "1"))


def run(net, inputs, params, compiler=None):
    """The outputs of a network, and the functions that it calls."""
    shape = {name: a.shape for name, a in inputs.items()}
    params = {name: tw.nd.array(a) for name, a in params.items()}
    graph = tw.graph.create(net)
    if compiler is not None:
        graph = byoc.partition(graph, compiler, shape, params=params)
    graph, module, params = tw.compiler.build(graph, shape=shape, params=params)
    executor = tw.contrib.graph_runtime.create(graph, module, tw.cpu())
    executor.set_input(**params, **{name: tw.nd.array(a) for name, a in inputs.items()})
    for _ in range(2):
        executor.run()
    called = [node["attrs"]["func_name"] for node in graph.index.nodes if node["op"] == "tvm_op"]
    return [executor.get_output(k).numpy() for k in range(executor.get_num_outputs())], called


def require(net, compiler, regions, **shapes):
    """That a partitioned network computes what the plain one does, in so many regions and no kernels of ours."""
    library(compiler)
    inputs, params = values_for(net, np.random.default_rng(0), **shapes)
    expected = numpy_graph.run(net, {**inputs, **params})
    found, called = run(net, inputs, params, compiler)
    assert check_graph.difference(found, expected) is None
    assert called == [f"{compiler}_{k}" for k in range(regions)], called


def conv(x, channels, kernel=3, **attributes):
    pad = attributes.pop("padding", (kernel // 2, kernel // 2))
    return sym.conv2d(x, channels=channels, kernel_size=(kernel, kernel), padding=pad, **attributes)


x = sym.Variable("x")
IMAGE = {"x": (2, 16, 9, 11)}


def residual(y):
    return sym.relu(sym.elemwise_add(sym.batch_norm(conv(y, 16, use_bias=False)), y))


def normalised(y, epsilon=1e-5):
    """Over the last dimension, of primitive operators."""
    centred = sym.broadcast_sub(y, sym.mean(y, axis=-1, keepdims=True))
    variance = sym.mean(centred * centred, axis=-1, keepdims=True)
    return sym.broadcast_div(centred, sym.sqrt(variance + epsilon))


def layer_norm(y, length, **options):
    gamma, beta = (sym.Variable(name, shape=(length,)) for name in ("gamma", "beta"))
    return sym.broadcast_add(sym.broadcast_mul(normalised(y, **options), gamma), beta)


def grouped(y, groups, weight):
    """A convolution whose weight is computed."""
    return sym.conv2d(y, weight=weight, channels=16, kernel_size=(3, 3), padding=(1, 1), groups=groups, use_bias=False)


def residual_of_two(y):
    """Both sums have the same residual."""
    first = sym.elemwise_add(conv(sym.tanh(y), 16), y)
    return sym.relu(conv(sym.elemwise_add(conv(first, 16), y), 16))


NETWORKS = {
    "bias_relu": sym.relu(conv(x, 24)),
    "clip": sym.clip(conv(x, 8, kernel=1), a_min=0, a_max=6),
    "strides": conv(x, 8, strides=(2, 1)),
    "dilation": conv(x, 8, dilation=(2, 2), padding=(2, 1)),
    "uneven_padding": conv(x, 8, padding=(0, 1, 2, 1)),
    "groups": conv(x, 32, groups=4),
    "depthwise": sym.relu(sym.batch_norm(conv(x, 16, groups=16, use_bias=False))),
    "norm_without_scale": sym.batch_norm(conv(x, 8), scale=False, epsilon=1e-3),
    "norm_without_center": sym.relu(sym.batch_norm(conv(x, 8), center=False)),
    "norm_alone": sym.relu(sym.batch_norm(x)),
    "norm_in_the_middle": conv(sym.relu(sym.batch_norm(sym.elemwise_add(conv(x, 16), x))), 8),
    "norm_behind_a_pool": sym.batch_norm(sym.max_pool2d(conv(x, 16), pool_size=(2, 2))),
    "grouped_dilation": sym.relu(conv(x, 32, groups=2, dilation=(2, 1), padding=(2, 1))),
    "depthwise_dilation_strides": conv(x, 16, groups=16, dilation=(1, 2), strides=(2, 1)),
    "depthwise_multiplier": conv(x, 32, groups=16),
    "computed_weight": grouped(x, 1, sym.tanh(sym.Variable("v", shape=(16, 16, 3, 3)))),
    "computed_weight_of_groups": grouped(conv(x, 16), 4, sym.tanh(sym.Variable("v", shape=(16, 4, 3, 3)))),
    "computed_weight_depthwise": grouped(x, 16, sym.tanh(sym.Variable("v", shape=(16, 1, 3, 3)))),
    "layer_norm": layer_norm(x, 11),
    "layer_norm_behind": sym.relu(layer_norm(sym.relu(conv(x, 16)), 11, epsilon=0.1)),
    "layer_norm_without_shift": sym.broadcast_mul(normalised(x), sym.Variable("gamma", shape=(1, 11))),
    "layer_norm_alone": normalised(x),
    "residual": residual(residual(conv(x, 16))),
    "residual_read_twice": residual_of_two(sym.relu(conv(x, 16))),
    "max_pool": sym.max_pool2d(conv(x, 16), pool_size=(3, 3), strides=(2, 2), padding=(1, 1)),
    "max_pool_up": sym.max_pool2d(x, pool_size=(2, 2), strides=(2, 2), ceil_mode=True),
    "avg_pool": sym.avg_pool2d(conv(x, 16), pool_size=(3, 3), padding=(1, 1)),
    "avg_pool_padding": sym.avg_pool2d(x, pool_size=(3, 3), padding=(1, 1), count_include_pad=True),
    "global_pool": sym.global_avg_pool2d(sym.relu(conv(x, 16))),
    "concat": sym.concatenate(conv(x, 16), sym.relu(conv(x, 32)), axis=1),
    "concat_between": conv(sym.concatenate(conv(x, 5), sym.relu(conv(x, 7)), conv(x, 4), axis=1), 8),
    "concat_of_pixels": sym.relu(conv(sym.concatenate(conv(x, 16), sym.relu(conv(x, 16)), axis=2), 8)),
    "concat_of_one_input": sym.concatenate(x, conv(x, 16), axis=1),
    "concat_of_broken_blocks": sym.concatenate(conv(x, 5), sym.relu(conv(x, 7)), axis=1),
    "activations": sym.sqrt(sym.abs(sym.exp(sym.sigmoid(sym.tanh(x))))),
    "softmax": sym.softmax(x, axis=1),
    "several_outputs": sym.Group([sym.relu(conv(x, 8)), sym.tanh(conv(x, 4))]),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_onednn_images(name):
    regions = {"several_outputs": 2}.get(name, 1)
    require(NETWORKS[name], "onednn", regions, **IMAGE)


def test_onednn_of_rank_0():
    require(sym.elemwise_add(sym.tanh(sym.Variable("y")), sym.Variable("z")), "onednn", 1, y=(), z=())


@pytest.mark.parametrize("compiler", ["onednn", "openblas"])
def test_a_variable_that_the_network_writes_is_no_constant(compiler):
    library(compiler)
    weight = sym.Variable("w", shape=(3, 7))
    net = sym.Group([sym.dense(sym.Variable("y"), weight=weight, units=3, use_bias=False), sym._assign(weight, weight * 2)])
    rng = np.random.default_rng(0)
    y, w = rng.normal(size=(4, 7)).astype("float32"), rng.normal(size=(3, 7)).astype("float32")
    params = {"w": tw.nd.array(w)}
    graph = byoc.partition(net, compiler, {"y": y.shape}, params=params)
    graph, module, params = tw.compiler.build(graph, shape={"y": y.shape}, params=params)
    executor = tw.contrib.graph_runtime.create(graph, module, tw.cpu(), params)
    for k in range(3):
        executor.run(y=tw.nd.array(y))
        assert check_graph.difference([executor.get_output(0).numpy()], [y @ (w * 2**k).T]) is None
    assert f"{compiler}_0" in [node["attrs"]["func_name"] for node in graph.index.nodes if node["op"] == "tvm_op"]


@pytest.mark.parametrize("compiler", ["onednn", "openblas"])
def test_products(compiler):
    y = sym.Variable("y")
    require(sym.relu(sym.dense(sym.relu(sym.dense(y, units=5)), units=3, use_bias=False)), compiler, 1, y=(4, 7))
    for a in (False, True):
        for b in (False, True):
            net = sym.matmul(y, sym.Variable("z"), transpose_a=a, transpose_b=b)
            require(net, compiler, 1, y=(7, 4) if a else (4, 7), z=(3, 7) if b else (7, 3))
            inputs = {"y": (7, 4) if a else (4, 7)}
            matrix = sym.matmul(y, sym.Variable("w", shape=(3, 7) if b else (7, 3)), transpose_a=a, transpose_b=b)
            require(matrix, compiler, 1, **inputs)


# What the code generators compute beside products of matrices: regions, and None where our kernels do.
PRODUCTS = {
    "rank_3": (sym.dense(sym.Variable("y"), units=5), {"y": (2, 3, 4)}, {"onednn": 1, "openblas": 1, "csource": 1}),
    "rank_4_relu": (sym.relu(sym.dense(sym.Variable("y"), units=5, use_bias=False)), {"y": (2, 1, 3, 4)}, {"onednn": 1, "openblas": 1, "csource": 1}),
    "rank_1": (sym.dense(sym.Variable("y"), units=5), {"y": (4,)}, {"onednn": 1, "openblas": 1, "csource": 1}),
    "behind_another": (sym.dense(sym.tanh(sym.dense(sym.Variable("y"), units=6)), units=5), {"y": (2, 3, 4)}, {"onednn": 1, "csource": 1}),
    "batches": (sym.matmul(sym.Variable("y"), sym.Variable("z")), {"y": (2, 3, 4), "z": (2, 4, 5)}, {"onednn": 1, "openblas": None}),
    "batches_transposed": (sym.matmul(sym.tanh(sym.Variable("y")), sym.Variable("z"), transpose_a=True, transpose_b=True),
                           {"y": (2, 4, 3), "z": (2, 5, 4)}, {"onednn": 1, "openblas": None}),
    "unlike_ranks": (sym.relu(sym.matmul(sym.Variable("y"), sym.Variable("z"))), {"y": (2, 3, 4), "z": (4, 5)}, {"onednn": 1, "openblas": None}),
    "unlike_ranks_turned": (sym.matmul(sym.Variable("y"), sym.Variable("z")), {"y": (3, 4), "z": (2, 4, 5)}, {"onednn": 1, "openblas": None}),
    "a_batch_of_one": (sym.matmul(sym.Variable("y"), sym.Variable("z")), {"y": (2, 3, 4), "z": (1, 4, 5)}, {"onednn": 1, "openblas": None}),
    "vectors": (sym.matmul(sym.Variable("y"), sym.Variable("z")), {"y": (4,), "z": (4, 5)}, {"onednn": None, "openblas": None}),
    "of_nothing": (sym.dense(sym.Variable("y"), units=5), {"y": (3, 0)}, {"onednn": None, "openblas": None, "csource": 1}),
}


@pytest.mark.parametrize(("name", "compiler"), [(name, compiler) for name, (_, _, of) in PRODUCTS.items() for compiler in of])
def test_products_of_other_ranks(name, compiler, caplog):
    net, shapes, regions = PRODUCTS[name]
    require_taken(net, compiler, regions[compiler], shapes, caplog)


def require_taken(net, compiler, regions, shapes, caplog):
    """That the table leaves what the builder cannot do, rather than that the builder refuses it."""
    library(compiler)
    inputs, params = values_for(net, np.random.default_rng(0), **shapes)
    found, called = run(net, inputs, params, compiler)
    assert check_graph.difference(found, numpy_graph.run(net, {**inputs, **params})) is None
    assert "computed by our kernels" not in caplog.text
    ours = [f for f in called if not f.startswith(compiler)]
    assert bool(ours) == (regions is None) and len(called) - len(ours) == (regions or 0), called


def once(f):
    return f(conv(x, 16, name="once"))


# What oneDNN's patterns match and its builder does not compute as one primitive: how many of its regions remain.
REFUSED = {
    "a_convolution_added_to_itself": (sym.relu(once(lambda c: sym.elemwise_add(c, c))), 1),
    "a_convolution_added_to_its_norm": (once(lambda c: sym.elemwise_add(c, sym.batch_norm(c))), 1),
    "a_norm_along_another_axis": (sym.relu(sym.batch_norm(sym.transpose(sym.relu(conv(x, 9)), axes=(0, 3, 2, 1)), axis=3)), 2),
    "a_norm_of_columns_behind_a_convolution": (sym.batch_norm(conv(x, 11), axis=3), 1),
    "a_norm_of_inputs_behind_a_convolution": (
        sym.batch_norm(conv(x, 4), sym.tanh(sym.Variable("g")), sym.Variable("b"), sym.Variable("m"), sym.Variable("v_var")), 1),
    "means_over_padding": (sym.avg_pool2d(sym.relu(x), pool_size=(3, 3), strides=(2, 2), padding=(1, 1), ceil_mode=True, count_include_pad=True), 1),
    "an_interval_upside_down": (sym.clip(sym.tanh(x), a_min=1, a_max=-1), 1),  # whose limits are tried in another order
    "a_layer_norm_times_itself": ((lambda n: sym.broadcast_mul(n, n))(normalised(x)), 1),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_onednn_does_not_take(name, caplog):
    """One value of a region that oneDNN refuses would give all of the region to our kernels."""
    library("onednn")
    net, regions = REFUSED[name]
    inputs, params = values_for(net, np.random.default_rng(0), **IMAGE)
    found, called = run(net, inputs, params, "onednn")
    assert check_graph.difference(found, run(net, inputs, params)[0]) is None
    assert "computed by our kernels" not in caplog.text
    assert sum(f.startswith("onednn") for f in called) == regions, called


@pytest.mark.parametrize("scalar", [float("inf"), -float("inf"), 16777215.0, 0.1, -3.0])
def test_scalars_in_c_source(scalar, caplog):
    library("csource")
    net = sym.__mul_scalar__(sym.tanh(sym.Variable("y")), scalar=scalar)
    y = np.array([-1.5, 0.25, 3], "float32")
    (found,), called = run(net, {"y": y}, {}, "csource")
    np.testing.assert_allclose(found, np.tanh(y) * np.float32(scalar), rtol=1e-6)
    assert called == ["csource_0"], caplog.text


def test_layer_norms_are_one_primitive():
    library("onednn")
    y = sym.Variable("y")
    cases = {"whole": (layer_norm(y, 9), 9), "no shift": (sym.broadcast_mul(normalised(y), sym.Variable("g", shape=(9,))), 8),
             "a scale of its own shape": (sym.broadcast_mul(normalised(y), sym.exp(y)), 7)}
    for name, (net, most) in cases.items():
        text = byoc.partition(net, "onednn", {"y": (4, 9)}).astext()
        assert 'Composite="onednn.layer_norm"' in text, name
        lines = byoc.explain_partition(net, "onednn", {"y": (4, 9)}).splitlines()
        assert sum("onednn.layer_norm, of" in line for line in lines) == most, (name, lines)
    # Along another dimension, and where the sums stay in fewer dimensions, it is none.
    for wrong in (sym.mean(y, axis=0, keepdims=True), sym.mean(y, axis=(0, 1), keepdims=True)):
        d = sym.broadcast_sub(y, wrong)
        net = sym.broadcast_div(d, sym.sqrt(sym.mean(d * d, axis=-1, keepdims=True) + 1e-5))
        assert "layer_norm" not in byoc.partition(net, "onednn", {"y": (4, 9)}).astext()


def test_layer_norms_of_inputs():
    """Scale and shift are no constants: one comes from outside, one is computed in the region."""
    y = sym.Variable("y")
    net = sym.broadcast_add(sym.broadcast_mul(normalised(y), sym.Variable("g")), sym.tanh(sym.Variable("b")))
    require(net, "onednn", 1, y=(4, 9), g=(9,), b=(9,))


def test_weights_that_are_inputs():
    for groups in (1, 4, 16):
        weight = sym.Variable("v")
        require(grouped(x, groups, weight), "onednn", 1, **IMAGE, v=(16, 16 // groups, 3, 3))
        require(grouped(x, groups, sym.tanh(weight)), "onednn", 1, **IMAGE, v=(16, 16 // groups, 3, 3))


def test_a_transposed_value_of_the_region():
    y = sym.Variable("y")
    require(sym.matmul(sym.tanh(y), sym.relu(sym.Variable("z")), transpose_a=True, transpose_b=True), "onednn", 1, y=(4, 7), z=(3, 4))


def primitives(net, shape, params, folder):
    """What oneDNN executes in one run."""
    arrays = {name: tw.nd.array(a) for name, a in params.items()}
    graph = byoc.partition(net, "onednn", {"x": shape}, params=arrays)
    graph, module, arrays = tw.compiler.build(graph, shape={"x": shape}, params=arrays)
    tw.contrib.graph_runtime.export(folder / "net", graph, module, arrays)
    script = ("import sys, numpy, tilewright as tw; m = tw.contrib.graph_runtime.load(sys.argv[1]);"
              "m.run(x=tw.nd.array(numpy.zeros(eval(sys.argv[2]), 'float32')))")
    run = subprocess.run([sys.executable, "-c", script, folder / "net", str(shape)], env=os.environ | {"DNNL_VERBOSE": "1"},
                         capture_output=True, text=True, check=True)
    return [line.split(",")[3] for line in run.stdout.splitlines() if line.startswith("onednn_verbose,exec,cpu,")]


def test_a_residual_block_needs_no_reorders(tmp_path):
    """Sums are left where the residual is, values stay in the layout of the convolutions, normalizations have their relu."""
    library("onednn")

    def block(y):
        z = sym.relu(sym.batch_norm(y))
        z = sym.relu(sym.batch_norm(conv(z, 32, use_bias=False)))
        return sym.elemwise_add(conv(z, 32, use_bias=False), y)

    net, shape = sym.global_avg_pool2d(block(block(block(conv(x, 32))))), (1, 32, 14, 14)
    _, params = values_for(net, np.random.default_rng(0), x=shape)
    found = primitives(net, shape, params, tmp_path)
    # Weights are reordered when it is loaded, in front of the first primitive that is none of those.
    found = found[len(found) - 11:]
    assert found.count("convolution") == 7 and found.count("batch_normalization") == 3, found
    assert "eltwise" not in found and "reorder" not in found, found


def test_concatenations_need_no_reorders(tmp_path):
    library("onednn")
    y = conv(x, 16, kernel=1)
    fire = sym.concatenate(sym.relu(conv(y, 32, kernel=1)), sym.relu(conv(y, 32)), axis=1)
    net, shape = sym.global_avg_pool2d(conv(fire, 16)), (1, 32, 14, 14)
    _, params = values_for(net, np.random.default_rng(0), x=shape)
    found = primitives(net, shape, params, tmp_path)[-6:]
    assert found == ["convolution"] * 3 + ["concat", "convolution", "pooling_v2"], found


@pytest.mark.parametrize("name", ["bias_relu", "strides", "dilation", "groups", "depthwise_plain"])
def test_c_source(name):
    net = {**NETWORKS, "depthwise_plain": sym.tanh(conv(x, 16, groups=16)) * 2}[name]
    require(net, "csource", 1, **IMAGE)


def test_a_region_between_our_kernels_is_profiled_by_name():
    library("openblas")
    net = sym.softmax(sym.dense(sym.tanh(sym.Variable("x")), units=3))
    inputs, params = values_for(net, np.random.default_rng(0), x=(4, 7))
    found, called = run(net, inputs, params, "openblas")
    assert called == ["fuse_tanh", "openblas_0", "fuse_softmax"]
    assert check_graph.difference(found, numpy_graph.run(net, {**inputs, **params})) is None


# What a random pattern table is drawn from; the code generators refuse some of it.
OPERATORS = ["nn.conv2d", "nn.dense", "nn.matmul", "nn.relu", "tanh", "sigmoid", "exp", "add", "multiply", "nn.softmax",
             "nn.max_pool2d", "concatenate", "nn.batch_flatten"]


def random_table(name, rng):
    """Some operators, alone or with a relu behind them, of which some calls are taken."""
    share = rng.uniform(0.3, 1)

    def taken(match):
        return match.dtype() == "float32" and rng.random() < share

    patterns = [is_op(op) for op in rng.permutation(OPERATORS)[: rng.integers(3, len(OPERATORS))]]
    patterns = [is_op("nn.relu")(p) | p if rng.random() < 0.5 else p for p in patterns]
    byoc.register_pattern_table(name, [(f"{name}.{k}", p, taken) for k, p in enumerate(patterns)])


@pytest.mark.parametrize("compiler", CASES)
def test_random_networks(compiler, tmp_path, caplog):
    """Half of them by random tables; each once more after an export, every other one with our kernels beside. By its own
    table a code generator is given nothing that it refuses."""
    byoc.register_codegen(f"random_{compiler}", library(compiler))

    def outputs(executor, values):
        executor.run(**{name: tw.nd.array(a) for name, a in values.items() if name in executor.input_names})
        return [executor.get_output(k).numpy() for k in range(executor.get_num_outputs())]

    def parted(case, seed):
        params = {name: tw.nd.array(case.inputs[name]) for name in case.params}
        others = {name: a for name, a in case.inputs.items() if name not in params}
        shape, dtype = {n: a.shape for n, a in others.items()}, {n: str(a.dtype) for n, a in others.items()}
        types = {**dtype, **{n: str(a.dtype) for n, a in params.items()}}
        table = compiler
        if seed % 2:
            table = f"random_{compiler}"
            random_table(table, np.random.default_rng(seed))
        graph = byoc.partition(case.load(), table, shape, types, params)
        graph, module, params = tw.compiler.build(graph, None, shape, dtype, params)
        executor = tw.contrib.graph_runtime.create(graph, module, tw.cpu(0), params)
        found = outputs(executor, others)
        if module is not None:
            executor.export(tmp_path / "net", fallback=seed % 4 > 1)
            again = outputs(tw.contrib.graph_runtime.load(tmp_path / "net"), others)
            assert check_graph.difference(again, found) is None
        return found

    for seed in range(FIRST, FIRST + CASES[compiler]):
        caplog.clear()
        case = random_case(seed, most_parts=6, often=("product", "product", "doubled", "pooling", "convolution", "activated"))
        check_graph.require_same(case, lambda case, s=seed: parted(case, s), f"byoc_{compiler}_{seed}")
        refused = [r.getMessage() for r in caplog.records if "computed by our kernels" in r.getMessage()]
        assert seed % 2 or not refused, (seed, "its own table takes what its builder refuses", refused)


# ---------------------------------------------------------------------------------------------
# Code generators that misbehave: relu, with something wrong.

FAULTS = {
    "good": ("", "", None),
    "prints": ('std::puts("ok");', 'std::puts("not ok");', None),
    "refuses": ("", 'throw std::runtime_error("no relu today");', "no relu today"),
    "gives_nothing": ("", "return nullptr;", "gave nothing"),
    "crashes": ("", "std::raise(SIGSEGV);", "was killed by Segmentation fault"),
    "ends": ("", "std::abort();", "was killed by Aborted"),
    "fails_in_a_run": ('throw std::runtime_error("no run");', "", "no run"),
    "takes_more_workspace": ("static_cast<volatile char*>(scratch)[workspace] = 1;", "", "was killed by"),
    "hangs": ("", "for (;;) sleep(1);", "took too long"),
    "writes_an_output_of_another_shape": ("", "k->count -= 20;", "80 of 480 bytes of output 0 were not written"),
    "writes_behind_its_output": ("for (int64_t i = count; i < count + 2048; ++i) y[i] = 0;", "", "was killed by"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_misbehaves_is_computed_by_our_kernels(fault, tmp_path, caplog, monkeypatch):
    in_run, in_build, said = FAULTS[fault]
    name = f"faulty_{fault}"
    monkeypatch.setenv("TILEWRIGHT_CODEGEN_SECONDS", "2" if fault == "hangs" else "60")
    register_relu(tmp_path, name, SOURCE.replace("RUN", in_run).replace("BUILD", in_build))
    net = sym.relu(sym.tanh(sym.relu(sym.Variable("x"))))
    inputs = {"x": np.random.default_rng(0).normal(size=(3, 40)).astype("float32")}
    with caplog.at_level(logging.WARNING):
        found, called = run(net, inputs, {}, name)
    assert check_graph.difference(found, numpy_graph.run(net, inputs)) is None
    lines = [record.getMessage() for record in caplog.records if "computed by our kernels" in record.getMessage()]
    if said is None:
        assert not lines and [f"{name}_0", f"{name}_1"] == [f for f in called if f.startswith("faulty")]
    else:
        assert len(lines) == 2 and all(said in line and "\n" not in line for line in lines), lines
        assert not [f for f in called if f.startswith("faulty")]


def test_a_failing_run_is_a_typed_error(tmp_path):
    late = 'static int runs = 0; if (++runs > 3) throw std::runtime_error("the fourth run");'
    # The program that tries it has a counter of its own.
    register_relu(tmp_path, "late", SOURCE.replace("RUN", late).replace("BUILD", ""))
    module, executor = relu_by("late")
    with pytest.raises(tw.MeasureError, match="the fourth run"):
        for _ in range(4):
            executor.run()
    with pytest.raises(tw.UserError, match="late_0"):
        module.export_library(str(tmp_path / "model.so"))


def test_a_library_that_is_missing_is_one_line(caplog):
    byoc.register_codegen("missing", "/nowhere/libmissing.so")
    byoc.register_pattern_table("missing", [("missing.relu", is_op("nn.relu"))])
    with caplog.at_level(logging.WARNING):
        run(sym.relu(sym.Variable("x")), {"x": np.ones(3, "float32")}, {}, "missing")
    assert "libmissing.so" in caplog.text
    assert {"onednn", "openblas", "csource"} <= set(byoc.codegens())


@pytest.mark.parametrize(
    ("variables", "rounds"),
    [
        ({}, 1000),
        ({"GOMP_SPINCOUNT": "77"}, 77),
        ({"OMP_WAIT_POLICY": "active"}, 30_000_000_000),
    ],
)
def test_openmp_spins_no_longer_than_our_pool(variables, rounds):
    """Else each primitive takes ten milliseconds where one of its threads waits for a CPU.

    OpenMP says what it read when it is loaded: with our package, and in the program that tries regions.
    """
    onednn = library("onednn")
    ours = [sys.executable, "-c", "import tilewright, os; print(os.environ.get('GOMP_SPINCOUNT'))"]
    tries = [onednn.parent / "tilewright-codegen", onednn]
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "GOMP_"))}
    env = clean | {"OMP_DISPLAY_ENV": "verbose"} | variables
    for command, printed in ((ours, f"{variables.get('GOMP_SPINCOUNT')}\n"), (tries, "")):
        result = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
        read = re.findall("GOMP_SPINCOUNT = '([0-9]+)'", result.stderr)
        if not read:
            pytest.skip("there is no libgomp in this process")
        assert {int(number) for number in read} == {rounds}
        assert result.stdout == printed


@pytest.mark.usefixtures("threads_as_before")
def test_the_pools_number_of_threads_is_obeyed(tmp_path):
    """Also where it changes between build, export, load and runs, whatever a kernel was built for."""
    source = SOURCE.replace("RUN", "y[0] = threads;").replace("BUILD", "k->threads = region.threads; k->workspace *= k->threads;")
    register_relu(tmp_path, "counting", source.replace("int64_t count,", "int threads; int64_t count,"))
    tw.set_num_threads(2)
    _, executor = relu_by("counting")

    def counted(executor):
        executor.run()
        return executor.get_output(0).numpy()[0]

    assert counted(executor) == 2
    tw.set_num_threads(1)
    other = executor.clone()
    other.set_input(x=tw.nd.array(np.ones(4, "float32")))
    assert counted(executor) == counted(other) == 1
    executor.export(tmp_path / "net")
    loaded = tw.contrib.graph_runtime.load(tmp_path / "net")
    loaded.set_input(x=tw.nd.array(np.ones(4, "float32")))
    for threads in (1, 3, 2):
        tw.set_num_threads(threads)
        assert counted(executor) == counted(loaded) == threads


@pytest.mark.usefixtures("threads_as_before")
@pytest.mark.parametrize("compiler", ["onednn", "openblas"])
def test_kernels_compute_with_another_number_of_threads(compiler):
    library(compiler)
    net = sym.relu(conv(sym.relu(conv(x, 32)), 16)) if compiler == "onednn" else sym.dense(sym.Variable("x"), units=64)
    shape = IMAGE["x"] if compiler == "onednn" else (32, 64)
    inputs, params = values_for(net, np.random.default_rng(0), x=shape)
    arrays = {name: tw.nd.array(a) for name, a in params.items()}
    graph, module, arrays = tw.compiler.build(byoc.partition(net, compiler, {"x": shape}, params=arrays), shape={"x": shape}, params=arrays)
    executor = tw.contrib.graph_runtime.create(graph, module, tw.cpu(), arrays)
    expected = numpy_graph.run(net, {**inputs, **params})
    for threads in (1, 3, 2):
        tw.set_num_threads(threads)
        executor.run(x=tw.nd.array(inputs["x"]))
        assert check_graph.difference([executor.get_output(0).numpy()], expected) is None


def test_clones_do_not_wait_for_each_other(tmp_path):
    """From the third run on, the kernel returns when two runs are inside it."""
    # Statics of one name in two such libraries would be one object.
    meet = """static std::atomic<int> meetings{0}, inside{0};
    if (++meetings > 2) {
      ++inside;
      for (int k = 0; inside.load() < 2; ++k) {
        if (k == 20000) throw std::runtime_error("alone");
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }"""
    source = SOURCE.replace("RUN\n  }", "RUN\n  }\n  Kernel* clone() const override { return new Relu(*this); }")
    source = "#include <atomic>\n#include <chrono>\n#include <thread>\n" + source.replace("RUN", meet).replace("BUILD", "")
    register_relu(tmp_path, "meeting", source)
    _, executor = relu_by("meeting")
    for _ in range(2):
        executor.run()
    other = executor.clone()
    other.set_input(x=tw.nd.array(np.ones(4, "float32")))
    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(e.run) for e in (executor, other)]:
            done.result()


@pytest.mark.parametrize("compiler", ["onednn", "openblas", "csource"])
def test_clones_compute_at_once(compiler):
    library(compiler)
    net = sym.relu(sym.dense(sym.dense(sym.Variable("y"), units=64), units=32)) if compiler != "csource" else NETWORKS["bias_relu"]
    shape = (16, 48) if compiler != "csource" else IMAGE["x"]
    name = net.list_input_names()[0]
    values, params = values_for(net, np.random.default_rng(0), **{name: shape})
    params = {n: tw.nd.array(a) for n, a in params.items()}
    graph = byoc.partition(tw.graph.create(net), compiler, {name: shape}, params=params)
    graph, module, kept = tw.compiler.build(graph, shape={name: shape}, params=params)
    first = tw.contrib.graph_runtime.create(graph, module, tw.cpu())
    first.set_input(**kept)

    def same(executor, seed):
        x = np.random.default_rng(seed).normal(size=shape).astype("float32")
        executor.set_input(**{name: tw.nd.array(x)})
        for _ in range(200):
            executor.run()
        expected = numpy_graph.run(net, {name: x, **{n: a.numpy() for n, a in params.items()}})
        assert check_graph.difference([executor.get_output(0).numpy()], expected) is None

    with ThreadPoolExecutor(3) as pool:
        for done in [pool.submit(same, e, seed) for seed, e in enumerate([first, first.clone(), first.clone()])]:
            done.result()
