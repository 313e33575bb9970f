"""docs/graph_operators.md, the page of operators of networks, and the list of ONNX's operators in docs/onnx.md are made from their rows:
TILEWRIGHT_UPDATE_GOLDEN=1 writes them."""

import os
import sys
from pathlib import Path

import pytest

import tilewright as tw
import tilewright.graph
from tilewright import _core

import numpy_graph
from operators import OPERATORS as ROWS
from tilewright.contrib import onnx_export

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE, ONNX_PAGE = DOCS / "graph_operators.md", DOCS / "onnx.md"
LIST_BEGINS, LIST_ENDS = "<!-- operators, which a test writes -->\n", "<!-- end of operators -->\n"
HEAD = """\
# Operators of networks

What `tilewright.symbol` calls. Names and attributes are those of NNVM, or of Relay in TVM 0.8 where NNVM had none; `help(tw.symbol.NAME)`
has the words. Types: "floats" are float64, float32, float16 and bfloat16, "numbers" those and integers. The pattern says what may become
one kernel with it ([graph](../graph/README.md)). A layout rule says in which layouts it computes; without
one it is that which the network was written in. What has a gradient has one of second order. "ONNX": those of its operators whose
result it computes where a model is read ([onnx.md](onnx.md)); with an arrow where `onnx_export` has it too.
What an operator computes is written once more in NumPy in the named file of `tests/support/operators/`, and compared with that in all types,
with differences as gradients, and in random networks. Operators with an underscore are what gradients and passes are made of.

| operator | inputs | attributes | types | pattern | layouts | gradient | ONNX | reference |
|---|---|---|---|---|---|---|---|---|
"""
# What is known when a model is read, and becomes no operator.
CONSTANT: set[str] = set()
GRADIENTS = {"slope": "yes", "ends": "ends there", "decided": "decided otherwise", "source": "no inputs"}


def families() -> dict[str, str]:
    """By operator: the file that says what it computes."""
    modules = {name: module for name, module in sys.modules.items() if name.startswith("operators.") and hasattr(module, "OPERATORS")}
    return {operator: name.partition(".")[2] for name, module in modules.items() for operator in module.OPERATORS}


def code(text) -> str:
    return f"`{text}`".replace("|", "\\|") if text else ""


def row_of(op, family, of_onnx, exported) -> str:
    name, row = op["name"], ROWS.get(op["name"])
    inputs = ", ".join(code(i[0]) for i in op["inputs"]) + (", …" if op["variadic"] else "")
    attributes = ", ".join(code(text if default is None else f"{text}={default}") for text, _, default, _ in op["attributes"])
    types = "" if row is None else "floats" if row.floating else "numbers"
    gradient = GRADIENTS[row.gradient] if row else "yes" if op["has_gradient"] else "no"
    names = " ".join(code(n) for n in (name, *op["aliases"]))
    cells = [names, inputs, attributes, types, op["pattern"], "rule" if op["has_layout"] else "as written", gradient,
             " ".join([*(code(n) for n in sorted(of_onnx.get(name, ()))), *["→"] * (name in exported)]), family.get(name, numpy_graph.NOT_COMPUTED.get(name, ""))]
    return "| " + " | ".join(cells) + " |\n"


def onnx_list() -> str:
    """Each operator once, with its opset where rows are not from the oldest that is read; operators of other domains by them."""
    first = {}
    for domain, name, since, *_ in _core.onnx_converters():
        full = f"{domain}.{name}" if domain else name
        first[full] = min(first.get(full, since), since)
    return ", ".join(f"{code(name)}" + (f" ({since})" if since > 7 else "") for name, since in sorted(first.items()))


def test_the_list_of_onnx():
    before, rest = ONNX_PAGE.read_text().split(LIST_BEGINS)
    _, behind = rest.split(LIST_ENDS)
    page = f"{before}{LIST_BEGINS}{onnx_list()}\n{LIST_ENDS}{behind}"
    if os.environ.get("TILEWRIGHT_UPDATE_GOLDEN"):
        ONNX_PAGE.write_text(page)
    assert ONNX_PAGE.read_text() == page, "TILEWRIGHT_UPDATE_GOLDEN=1 writes the list"


def test_the_page_lists_every_operator():
    pytest.importorskip("onnx")
    import onnx_nodes

    family, of_onnx, exported = families(), onnx_nodes.operators_of_ours(), set(onnx_export.operators())
    imported = {f"{domain}.{name}" if domain else name for domain, name, *_ in _core.onnx_converters()}
    missing = imported - set().union(*of_onnx.values())
    assert missing == CONSTANT, "operators of ONNX that stand at no operator: onnx_nodes.more_cases takes a form of each"
    page = HEAD + "".join(row_of(op, family, of_onnx, exported) for op in sorted(tw.graph.operators(), key=lambda op: op["name"].lstrip("_")))
    if os.environ.get("TILEWRIGHT_UPDATE_GOLDEN"):
        PAGE.write_text(page)
    assert PAGE.read_text() == page, "TILEWRIGHT_UPDATE_GOLDEN=1 writes the page"
