"""Damaged ONNX models are refused with a typed error, or give what ONNX Runtime gives; none ends the process, hangs or takes all memory."""

import os

import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

import onnx_mutants  # noqa: E402

COUNT = 5000 if float(os.environ.get("TW_FUZZ_SCALE", "1")) > 1 else 2000


def test_damaged_models():
    counts, mistakes = onnx_mutants.study(COUNT, seed=int(os.environ.get("TW_FUZZ_SEED", "0")))
    assert not mistakes, f"tests/support/onnx_mutants.py --write=K writes model K: {mistakes[:5]}"
    assert counts["refused"] + counts["accepted"] + counts["large"] == COUNT
    assert counts["same"] > COUNT / 50, counts  # many models are compared
