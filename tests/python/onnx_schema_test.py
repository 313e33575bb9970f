"""Rows of converters against ONNX's schemas: inputs and attributes are those of each opset that a row is for."""

import pytest

import tilewright as tw
from tilewright import _core

pytest.importorskip("onnx")
from onnx import defs  # noqa: E402

ANY = 2**31 - 1
OLDEST, NEWEST = tw.frontend.onnx.opsets()


def rows_by_operator():
    rows = {}
    for domain, op, since, least, most, attributes in _core.onnx_converters():
        if domain in ("", "ai.onnx"):
            rows.setdefault(op, []).append((since, least, most, dict(a.split(":") for a in attributes.split())))
    return {op: sorted(versions, key=lambda row: row[0]) for op, versions in rows.items()}


def kind(attribute):
    return {"SPARSE_TENSOR": "sparse_tensor"}.get(attribute.type.name, attribute.type.name.lower())


def difference(row, schema):
    """What a row says otherwise than the schema; texts."""
    _, least, most, attributes = row
    if least > schema.min_input or most < schema.max_input:
        yield f"{least} to {most} inputs, not {schema.min_input} to {schema.max_input}"
    wanted = {name: kind(a) for name, a in schema.attributes.items()}
    for name in sorted({*wanted, *attributes}):
        if wanted.get(name) != attributes.get(name):
            yield f"attribute '{name}' is {attributes.get(name)}, not {wanted.get(name)}"


def test_rows_are_schemas():
    wrong = []
    for op, rows in rows_by_operator().items():
        for opset in range(OLDEST, NEWEST + 1):
            row = next((row for row in reversed(rows) if row[0] <= opset), None)
            try:
                schema = defs.get_schema(op, opset)
            except defs.SchemaError:
                schema = None
            if (row is None) == (schema is None or schema.deprecated):
                if row is not None:
                    wrong += [f"{op} of opset {opset}: {text}" for text in difference(row, schema)]
            elif row is not None and row[0] > 1 and schema is None:
                wrong.append(f"{op} is not in opset {opset}")
            elif row is None:
                wrong.append(f"{op} has no row for opset {opset}")
    assert not wrong, "\n".join(dict.fromkeys(wrong))


def test_opsets_are_those_of_onnx():
    """A newer onnx may have operators that mean something else: look at what changed, then raise kNewestOpset."""
    assert defs.onnx_opset_version() == NEWEST
