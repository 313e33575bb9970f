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
SHORT = {
    "convnet": (3,), "mlp": range(len(check_graph.BUILDS)), "resnet18": (0, 3), "mobilenet": (3, 4), "squeezenet": (1, 3, 5), "resnet50": (3,),
    "mobilenet_v2": (5,)}
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


@pytest.mark.parametrize("name, options", [("mlp", {"opt_level": level}) for level in range(4)] + [("mobilenet", {"opt_level": 3}), ("squeezenet", {"opt_level": 2, "fusion": "nnvm"})], ids=str)
def test_tuned(name, options, tmp_path, caplog):
    """With schedules of a log, which a few trials have filled: not one kernel is the prior's."""
    case = case_of(name, **NETWORKS[name])
    log = str(tmp_path / "tuning.db")
    params = {n: tw.nd.array(case.inputs[n]) for n in case.params}
    with tw.compiler.build_config(**options):
        tasks, _ = tw.autotune.extract_tasks(
            case.load(), params, shape={"data": case.inputs["data"].shape}, dtype={"data": str(case.inputs["data"].dtype)}, opt_level=options["opt_level"])
    tw.autotune.tune(tasks, log, trials=(3 if name == "mlp" else 1) * len(tasks), workers=1)
    caplog.clear()
    with tw.autotune.apply_best(log):
        compare(case, options)
    assert not [line for line in caplog.messages if "the prior's" in line]
