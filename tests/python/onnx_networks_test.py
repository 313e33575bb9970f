"""Networks of the zoo as ONNX models, read again and built at each level of optimization, against ONNX Runtime."""

import os

import numpy as np
import pytest

import tilewright as tw
from tilewright.contrib import graph_runtime, onnx_export
from tilewright.testing import zoo

pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
# Small images, and fewer channels and classes where a network has a parameter for them.
NETWORKS = {
    "mlp": {"image_shape": (1, 28, 28)},
    "resnet18": {"image_shape": (3, 40, 40), "num_classes": 10},
    "mobilenet": {"image_shape": (3, 32, 32), "num_classes": 10, "multiplier": 0.25},
    "squeezenet": {"image_shape": (3, 32, 32), "num_classes": 10},
}
# The levels of optimization without --long, which builds all at each.
SHORT = {"mlp": range(4), "resnet18": (0, 3), "mobilenet": (1, 3), "squeezenet": (2,)}
LONG = float(os.environ.get("TW_FUZZ_SCALE", "1")) > 1


def outputs_of(model, data):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # no remarks on what it optimizes
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {"data": data})


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_come_back(name):
    shape = (1, *NETWORKS[name]["image_shape"])
    net, params = zoo.get(name, **NETWORKS[name])
    model = onnx_export.to_onnx(net, params, {"data": shape})
    data = np.random.default_rng(0).standard_normal(shape).astype("float32")
    wanted = outputs_of(model, data)
    net, params = tw.frontend.from_onnx(model)
    for opt_level in range(4) if LONG else SHORT[name]:
        with tw.compiler.build_config(opt_level=opt_level):
            graph, lib, built = tw.compiler.build(net, params=params)
        module = graph_runtime.create(graph, lib, tw.cpu(0), built)
        module.run(data=data)
        assert module.get_num_outputs() == len(wanted)
        for k, referred in enumerate(wanted):
            found = module.get_output(k).numpy()
            assert found.shape == referred.shape and found.dtype == referred.dtype
            assert np.abs(found - referred).max() <= 1e-5 * np.abs(referred).max(), f"opt_level {opt_level}, output {k}"
