"""The networks of tilewright.testing as `compiler.build` builds them, against NumPy."""

import os

import numpy as np
import pytest

import tilewright as tw
import tilewright.compiler
import tilewright.graph
from tilewright.contrib import graph_runtime
from tilewright.testing import zoo

import check_graph
import numpy_graph
from random_graph import Case

# Small images, and fewer channels and classes where a network has a parameter for them.
NETWORKS = {
    "convnet": {},
    "mlp": {},
    "resnet18": {"image_shape": (3, 40, 40), "num_classes": 10},
    "resnet50": {"image_shape": (3, 32, 32), "num_classes": 10},
    "mobilenet": {"image_shape": (3, 32, 32), "num_classes": 10, "multiplier": 0.25},
    "mobilenet_v2": {"image_shape": (3, 32, 32), "num_classes": 10, "multiplier": 0.25},
    "squeezenet": {"image_shape": (3, 48, 48), "num_classes": 10},
    **{name: {"image_shape": (3, 32, 32), "num_classes": 10} for name in ("resnet34", "vgg11", "vgg16", "vgg19", "vgg16_bn")},
    "squeezenet1.0": {"image_shape": (3, 48, 48), "num_classes": 10},
}
# Which are built in what ways without --long, which builds all in all ways: by their numbers in BUILDS.
SHORT = {"convnet": (3,), "mlp": range(len(check_graph.BUILDS)), "resnet18": (0, 3), "mobilenet": (3, 4), "squeezenet": (1, 3), "resnet50": (3,)}
LONG = float(os.environ.get("TW_FUZZ_SCALE", "1")) > 1


def case_of(name, **arguments):
    symbol, params = zoo.get(name, **arguments)
    row = zoo.NETWORKS[name]
    shape = arguments.get("image_shape", row.image_shape)
    inputs = {"data": np.random.default_rng(0).standard_normal((1, *shape)).astype(row.dtype)}
    return Case(tw.graph.create(symbol).json(), inputs | {n: p.numpy() for n, p in params.items()}, list(params))


def compare(case, options):
    (found,), (expected,) = check_graph.built(case, options), numpy_graph.run(case.load(), case.inputs)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4 * expected.max())


@pytest.mark.parametrize("name", NETWORKS if LONG else SHORT)
def test_networks(name):
    case = case_of(name, **NETWORKS[name])
    for options in check_graph.BUILDS if LONG else [check_graph.BUILDS[k] for k in SHORT[name]]:
        compare(case, options)


@pytest.mark.parametrize("name", ["mlp", "squeezenet", "mobilenet"])
def test_no_image_at_all(name):
    symbol, params = zoo.get(name, **NETWORKS[name])
    shape = (0, *NETWORKS[name].get("image_shape", zoo.NETWORKS[name].image_shape))
    for level in (0, 3):
        with tw.compiler.build_config(opt_level=level):
            deployed = tw.compiler.build(symbol, shape={"data": shape}, params=params)
        module = graph_runtime.create(*deployed[:2], tw.cpu(0), deployed[2])
        module.run(data=np.zeros(shape, "float32"))
        assert module.get_output(0).shape == (0, 10)


def test_every_network_is_there():
    assert NETWORKS.keys() == zoo.NETWORKS.keys()


def test_tuned(tmp_path):
    """With schedules of a log, which a few trials have filled."""
    case = case_of("mlp")
    log = str(tmp_path / "tuning.db")
    graph = check_graph.described(case).apply(["InferShape", "InferType", "GraphFusePartition"])
    programs = [tw.te.Program(group.arguments) for group in tw.graph.groups(graph, case.params)]
    tw.autotune.tune(programs, log, trials=3 * len(programs), workers=1)
    with tw.autotune.apply_best(log):
        compare(case, {"opt_level": 2})
