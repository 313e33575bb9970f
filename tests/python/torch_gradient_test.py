"""Results and gradients of operators against PyTorch's, over the cases of tests/support/operators.

PyTorch is Debian's python3-torch, which is not among the project's packages: the tests are skipped where it is not.
"""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

import tilewright.graph
import tilewright.symbol as sym

import gradients
import numpy_graph
from operator_cases import ROWS, samples

PYTHON = "/usr/bin/python3"
PROGRAM = Path(__file__).resolve().parents[1] / "support/torch_operators.py"
OPERATORS = sorted(set(gradients.DIFFERENTIABLE))


def cases_of(operator):
    """Attributes with defaults, the operator of variables, their values, and the outputs with weights."""
    for shapes, attributes in gradients.smooth_cases(operator):
        arrays = samples(operator, shapes, "float64")
        given = {name: sym.Variable(name) for name in arrays}
        symbol = getattr(sym, operator)(*given.values(), **attributes)
        outputs = gradients.evaluate([symbol[k] for k in range(len(symbol))] if len(symbol) > 1 else [symbol], arrays)
        heads = gradients.random_like([y.shape for y in outputs], 5)
        node = tilewright.graph.create(symbol).index.nodes[-1]
        texts = {**numpy_graph.defaults().get(operator, {}), **node.get("attrs", {})}
        yield texts, symbol, given, arrays, outputs, heads


@pytest.fixture(scope="module")
def torchs(tmp_path_factory):
    """By operator: for each case what PyTorch gives; operators that are not in its table are not there."""
    try:
        subprocess.run([PYTHON, "-c", "import torch"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("python3-torch is not installed")
    folder, arrays, cases = tmp_path_factory.mktemp("torch"), {}, []
    for operator in OPERATORS:
        for texts, _, _, inputs, _, heads in cases_of(operator):
            for kind, values in (("input", list(inputs.values())), ("head", heads)):
                arrays |= {f"{len(cases)}/{kind}{k}": value for k, value in enumerate(values)}
            cases.append({"operator": operator, "attributes": texts, "input": len(inputs), "head": len(heads)})
    np.savez(folder / "cases.npz", **arrays)
    (folder / "cases.json").write_text(json.dumps(cases))
    files = [str(folder / name) for name in ("cases.npz", "cases.json", "results.npz")]
    done = subprocess.run([PYTHON, PROGRAM, *files], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    results, found = np.load(files[2]), {}
    for number, case in enumerate(cases):
        keys = sorted(key for key in results.files if key.startswith(f"{number}/"))
        of_case = {kind: [results[key] for key in keys if kind in key] for kind in ("output", "gradient", "error")}
        if keys:
            found.setdefault(case["operator"], []).append(of_case)
    return found


@pytest.mark.parametrize("operator", OPERATORS)
def test_gradients_are_pytorchs(operator, torchs):
    if operator not in torchs:
        pytest.skip("no expression of PyTorch is known")
    for (_, symbol, given, arrays, outputs, heads), of_torch in zip(cases_of(operator), torchs[operator], strict=True):
        assert not of_torch["error"], of_torch["error"]
        for y, y_of_torch in zip(outputs, of_torch["output"], strict=True):
            np.testing.assert_allclose(y, y_of_torch, rtol=1e-9, atol=1e-12)
        moving = [k for k, y in enumerate(outputs) if y.dtype.kind == "f"]
        ys = [symbol[k] if len(symbol) > 1 else symbol for k in moving]
        loss = gradients.total(ys, [sym.Variable(f"head{k}") for k in moving])
        xs = [given[name] for name, array in arrays.items() if array.dtype.kind == "f"]
        values = arrays | {f"head{k}": head for k, head in enumerate(heads)}
        for slope, slope_of_torch in zip(gradients.evaluate(gradients.gradients(loss, xs), values), of_torch["gradient"], strict=True):
            np.testing.assert_allclose(slope, slope_of_torch, rtol=1e-9, atol=1e-12)


def test_most_operators_are_compared(torchs):
    """Those that PyTorch lacks are gradients and parts of ours, which differences prove."""
    named = [operator for operator in OPERATORS if not operator.startswith("_")]
    assert len(torchs) > 0.6 * len(named) and set(torchs) <= set(ROWS)
