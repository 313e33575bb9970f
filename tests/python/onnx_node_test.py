"""ONNX's own tests of its operators: each is right, or stands in the list of what is not supported, which is exact."""

import pytest

pytest.importorskip("onnx")

import onnx_nodes  # noqa: E402

import tilewright as tw  # noqa: E402


@pytest.fixture(scope="module")
def cases():
    return onnx_nodes.cases()


def test_nodes(cases):
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


def test_inputs_that_are_left_out(cases):
    """Each input of each node in turn: read without it where it is optional, else refused with a typed error."""
    listed = onnx_nodes.listed()
    refused, wrong, count = 0, [], 0
    for case in cases:
        if case.name in listed or not case.data_sets:
            continue
        inputs = onnx_nodes.arrays(case.data_sets[0][0], case.model.graph.input)
        for node in case.model.graph.node:
            for k, name in enumerate(node.input):
                node.input[k] = ""
                count += 1
                try:
                    onnx_nodes.imported(case, inputs)
                except tw.UserError:
                    refused += 1
                except Exception as error:
                    wrong.append(f"{case.name}, {node.op_type}, input {k}: {error!r}")
                node.input[k] = name
    assert not wrong, f"{len(wrong)} of {count}\n" + "\n".join(wrong)
    assert count > 1000 and 0.5 * count < refused < count, f"{refused} of {count} refused"
