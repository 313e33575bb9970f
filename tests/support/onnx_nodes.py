#!/usr/bin/env python3
"""ONNX's own tests of its operators, as the package onnx makes them, imported, built and run.

    ./tw python tests/support/onnx_nodes.py [WORD...]    run those whose name has one of the words, and say what is wrong
    ./tw python tests/support/onnx_nodes.py --update     run all, and rewrite the list of what is not supported

A case counts where all that goes in and out are tensors of types that we have, without control flow.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np

import tilewright as tw
from tilewright.contrib import graph_runtime

UNSUPPORTED = Path(__file__).parents[1] / "python" / "onnx_unsupported.txt"
TYPES = {"FLOAT", "DOUBLE", "FLOAT16", "BFLOAT16", "BOOL", *(f"{u}INT{bits}" for u in ("", "U") for bits in (8, 16, 32, 64))}
CONTROL_FLOW = {"If", "Loop", "Scan", "SequenceMap"}


class Case(NamedTuple):
    name: str
    model: object
    data_sets: list
    rtol: float
    atol: float


def cases() -> list[Case]:
    """Those that count, by name; each tests one operator. Made by the package onnx, which takes some seconds."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of NumPy, where infinities are the point
        found = load_model_tests(kind="node")
    found = [Case(c.name, c.model, c.data_sets, c.rtol, c.atol) for c in found]
    return sorted((c for c in found if counts(c.model)), key=lambda c: c.name)


def counts(model) -> bool:
    import onnx

    def nodes(graph):
        for node in graph.node:
            yield node
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    yield from nodes(attribute.g)

    if any(node.op_type in CONTROL_FLOW for node in nodes(model.graph)):
        return False
    name = onnx.TensorProto.DataType.Name
    return all(
        value.type.HasField("tensor_type") and name(value.type.tensor_type.elem_type) in TYPES
        for value in (*model.graph.input, *model.graph.output))


def _array(value) -> np.ndarray:
    """Cases have NumPy arrays and, of types that NumPy has not, tensors of ONNX."""
    from onnx import numpy_helper

    return numpy_helper.to_array(value) if hasattr(value, "data_type") else np.asarray(value)


def arrays(values, infos) -> dict:
    return {info.name: _array(value) for info, value in zip(infos, values, strict=False)}


def imported(case: Case, inputs: dict):
    """The network and what it is given: inputs that say shapes are constants, as in files they are."""
    names = list(inputs)
    shape = {name: array.shape for name, array in inputs.items()}
    for first_constant in dict.fromkeys((len(names), 1, 0)):
        constants = {name: inputs[name] for name in names[first_constant:]}
        variables = {name: shape[name] for name in names[:first_constant]}
        try:
            return tw.frontend.from_onnx(case.model, variables, params=constants)
        except tw.UserError as error:
            if "is not constant" not in str(error):
                raise
            refused = error
    raise refused


# What stands around an operator where types and shapes are not the same here and there.
AROUND = {"cast", "cast_like", "copy", "expand_dims", "reshape", "squeeze", "transpose"}


def _of_output(net) -> str | None:
    """The operator that computes the first output, whatever is made of that behind it."""
    index = tw.graph.create(net).index
    first = index.nodes[index.output_entries[0][0]]
    node = first
    while node["op"] in AROUND:
        node = index.nodes[node["inputs"][0][0]]
    found = first if node["op"] == "null" else node
    return None if found["op"] == "null" else found["op"]


def more_cases() -> list[Case]:
    """Forms of operators, and operators of ONNX Runtime's domain, that no test of the package has."""
    from onnx import helper

    f, u, scale, point = np.zeros, lambda *shape: np.zeros(shape, "uint8"), np.float32(0.1), np.uint8(3)
    quantized = [scale, point]
    image = u(1, 2, 4, 4)
    rows = [
        ("", "Gemm", [f((2, 3), "float32"), f((4, 3), "float32"), f(4, "float32")], {"transB": 1}),
        ("", "Not", [f((2, 3), "bool")], {}),
        ("", "MaxRoiPool", [f((1, 2, 6, 6), "float32"), np.array([[0, 0, 0, 3, 3]], "float32")], {"pooled_shape": [2, 2]}),
        *(("com.microsoft", op, inputs, attributes) for op, inputs, attributes in (
            ("DequantizeLinear", [u(2, 3), *quantized], {}),
            ("QuantizeLinear", [f((2, 3), "float32"), *quantized], {}),
            ("QGemm", [u(2, 3), *quantized, u(3, 4), *quantized, f(4, "int32"), *quantized], {}),
            ("QGemm", [u(2, 3), *quantized, u(3, 4), *quantized], {}),
            ("QLinearAdd", [u(2, 3), *quantized, u(2, 3), *quantized, *quantized], {}),
            ("QLinearMul", [u(2, 3), *quantized, u(2, 3), *quantized, *quantized], {}),
            ("QLinearAveragePool", [image, *quantized, *quantized], {"kernel_shape": [2, 2]}),
            ("QLinearGlobalAveragePool", [image, *quantized, *quantized], {}),
            ("QLinearConcat", [*quantized, image, *quantized, image, *quantized], {"axis": 1}),
            ("QLinearLeakyRelu", [u(2, 3), *quantized, *quantized], {}),
            ("QLinearSigmoid", [u(2, 3), *quantized, *quantized], {}),
            ("QLinearSoftmax", [u(2, 3), *quantized, *quantized], {"axis": -1, "opset": 13}))),
    ]
    found = []
    for domain, op, inputs, attributes in rows:
        names = [f"x{k}" for k in range(len(inputs))]
        kind = lambda array: helper.np_dtype_to_tensor_dtype(np.asarray(array).dtype)
        infos = [helper.make_tensor_value_info(name, kind(array), np.shape(array)) for name, array in zip(names, inputs)]
        node = helper.make_node(op, names, ["y"], domain=domain, **attributes)
        graph = helper.make_graph([node], op, infos, [helper.make_empty_tensor_value_info("y")])
        imports = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        found.append(Case(op, helper.make_model(graph, opset_imports=imports, ir_version=8), [(inputs, [])], 0, 0))
    return found


def operators_of_ours() -> dict[str, set[str]]:
    """By operator of ours: those of ONNX whose first output it computes, in one of their tests or in more_cases."""
    found: dict[str, set[str]] = {}
    for case in [*cases(), *more_cases()]:
        nodes = case.model.graph.node
        if len(nodes) != 1:
            continue
        inputs = arrays(case.data_sets[0][0], case.model.graph.input)
        names = list(inputs)
        # As few constants as may be, and as files have them: parameters behind the data.
        for importing in (
            lambda: imported(case, inputs),
            lambda: tw.frontend.from_onnx(case.model, {n: inputs[n].shape for n in names[:1]}, params={n: inputs[n] for n in names[1:]}),
        ):
            try:
                op = _of_output(importing()[0])
            except tw.UserError:
                continue
            if op is not None:
                domain = f"{nodes[0].domain}." if nodes[0].domain == "com.microsoft" else ""
                found.setdefault(op, set()).add(domain + nodes[0].op_type)
    return found


def run(case: Case, opt_level=3) -> None:
    """UserError where it is not supported, AssertionError where the result is wrong."""
    for given, expected in case.data_sets:
        inputs = arrays(given, case.model.graph.input)
        net, params = imported(case, inputs)
        with tw.compiler.build_config(opt_level=opt_level):
            graph, lib, built = tw.compiler.build(net, params=params)
        module = graph_runtime.create(graph, lib, tw.cpu(0), built)
        names = graph.index.input_names
        module.run(**{name: array for name, array in inputs.items() if name in names and name not in built})
        assert module.get_num_outputs() == len(expected), f"{module.get_num_outputs()} outputs"
        for k, wanted in enumerate(expected):
            compare(module.get_output(k).numpy(), _array(wanted), case)


def compare(found, wanted, case: Case) -> None:
    assert found.shape == wanted.shape, f"shape {found.shape}, not {wanted.shape}"
    assert found.dtype == wanted.dtype, f"{found.dtype}, not {wanted.dtype}"
    rtol, atol = case.rtol, case.atol
    if wanted.dtype.kind not in "biu":
        import ml_dtypes

        rounding = float(ml_dtypes.finfo(wanted.dtype).eps)
        rtol = max(rtol, rounding)
        found, wanted = found.astype("float64"), wanted.astype("float64")
        # Where terms cancel, what is left is the rounding of the terms.
        atol = max(atol, rounding * np.abs(wanted[np.isfinite(wanted)]).max(initial=0))
    np.testing.assert_allclose(found, wanted, rtol=rtol, atol=atol)


def outcome(case: Case) -> str:
    """"" where it is right, "unsupported: …" where an error says so, "wrong: …" where the answer is."""
    try:
        run(case)
    except tw.UserError as error:
        return f"unsupported: {error.code}: " + " ".join(str(error).split())
    except AssertionError as error:
        return "wrong: " + " ".join(str(error).split())[:300]
    return ""


def listed() -> set[str]:
    """The names of the list of what is not supported."""
    lines = UNSUPPORTED.read_text().splitlines()
    return {line for line in lines if line and not line.startswith("#")}


def write_list(names) -> None:
    head = (
        "# ONNX's tests of operators that are not supported, by name. Rewritten by\n"
        "#     ./tw python tests/support/onnx_nodes.py --update\n")
    UNSUPPORTED.write_text(head + "".join(f"{name}\n" for name in sorted(names)))


def main(words: list[str]) -> int:
    update = "--update" in words
    words = [word for word in words if word != "--update"]
    chosen = [case for case in cases() if not words or any(word in case.name for word in words)]
    unsupported, bad = [], 0
    for case in chosen:
        found = outcome(case)
        if found.startswith("unsupported"):
            unsupported.append(case.name)
        elif found:
            bad += 1
        if found:
            print(f"{case.name}: {found}", flush=True)
    print(f"{len(chosen)} cases: {len(chosen) - len(unsupported) - bad} right, {len(unsupported)} not supported, {bad} wrong")
    if update:
        known = listed() if UNSUPPORTED.exists() else set()
        names = {case.name for case in chosen}
        write_list({name for name in known if words and name not in names} | set(unsupported))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
