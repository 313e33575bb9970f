"""Random ONNX models of several operators give what ONNX Runtime gives."""

import os

import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

import onnx_random  # noqa: E402

CASES = int(300 * float(os.environ.get("TW_FUZZ_SCALE", "1")))


def test_random_models(tmp_path):
    found = onnx_random.study(CASES, int(os.environ.get("TW_FUZZ_SEED", "1")), tmp_path)
    assert not found, "\n".join(found)


def test_what_differs_is_shrunk(monkeypatch, tmp_path):
    """With a LeakyRelu of another slope the first value that it gives is all that is left."""
    import onnx

    real = onnx_random.ours

    def wrong(model, arrays, opt_level):
        model = onnx.ModelProto.FromString(model.SerializeToString())
        for node in model.graph.node:
            for attribute in node.attribute if node.op_type == "LeakyRelu" else ():
                attribute.f = 0.5
        return real(model, arrays, opt_level)

    monkeypatch.setattr(onnx_random, "ours", wrong)
    number = next(k for k in range(200) if any(n.op_type == "LeakyRelu" for n in onnx_random.random_model(k)[0].graph.node[:-1]))
    model, arrays = onnx_random.random_model(number)
    assert onnx_random.difference(model, arrays)
    assert onnx_random.shrunk(model, arrays).graph.node[-1].op_type == "LeakyRelu"
