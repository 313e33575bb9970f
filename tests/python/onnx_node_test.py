"""ONNX's own tests of its operators: each is right, or stands in the list of what is not supported, which is exact."""

import pytest

pytest.importorskip("onnx")

import onnx_nodes  # noqa: E402


def test_nodes():
    cases = onnx_nodes.cases()
    listed = onnx_nodes.listed()
    assert listed <= {case.name for case in cases}, "the list names cases that there are not"
    wrong = {}
    for case in cases:
        found = onnx_nodes.outcome(case)
        if found.startswith("wrong") or bool(found) != (case.name in listed):
            wrong[case.name] = found or "passes, and stands in the list"
    shown = "\n".join(f"{name}: {why}" for name, why in wrong.items())
    assert not wrong, f"{len(wrong)} cases; ./tw python tests/support/onnx_nodes.py --update rewrites the list\n{shown}"
    passed = len(cases) - len(listed)
    assert passed >= 0.75 * len(cases), f"{passed} of {len(cases)}"
