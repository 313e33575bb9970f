"""Arguments of wrong types are answered with errors of the project, which say what is legal."""

import inspect

import numpy as np
import pytest

import tilewright as tw
from tilewright import te, tir, topi

A = te.placeholder((1, 4, 8, 8), name="A")
k = te.reduce_axis((0, 8), name="k")

# A right argument by the name of its parameter; operators have annotations.
RIGHT = {
    "shape": (4,), "fcompute": lambda *axes: 1.0, "dom": (0, 4), "expr": A[0, 0, 0, k], "axis": k, "dtype": "float32",
    "name": "name", "value": 1, "func_name": "exp", "cond": te.var("i") > 1, "outputs": [A + 1.0], "tensors": [A + 1.0], "ops": (A + 1.0).op,
    "text": te.to_text(A + 1.0), "op": (A + 1.0).op, "in_tuple": (1, 2), "fcombine": lambda x, y: x + y, "trace": "",
    "fidentity": lambda t: te.const(0, t), "pool_type": "max", "layout": "NCHW"}
ANNOTATED = {
    "Tensor": A, "collections.abc.Sequence[Tensor]": [A], "int": 1, "float": 1.0, "bool": True, "str": "float32", "None": None,
    "ExprLike": 1, "Tensor | ExprLike": A}
WRONG = [
    None, 3, 0, -1, 2**31, -(2**63), 2**70, 2.5, 1e300, float("nan"), float("inf"), "", "x", [1], [-1], (), {}, object(), A, te.var("v"), k, np.float32, np.zeros(2), b"x", lambda: 1]
MODULES = {"te": te, "tir": tir, "topi": topi, "topi.nn": topi.nn, "topi.utils": topi.utils}
ANNOTATIONS = {
    f"{module}.{name}": {p[0]: p[1] for p in parameters} for module, name, parameters, _ in tw._core.topi.operators()}


def functions():
    for module, scope in MODULES.items():
        for name, value in sorted(vars(scope).items()):
            if inspect.isfunction(value) and not name.startswith("_") and value.__module__.startswith("tilewright"):
                yield pytest.param(f"{module}.{name}", value, id=f"{module}.{name}")


def right(function, parameter):
    if parameter in RIGHT:
        return RIGHT[parameter]
    annotation = ANNOTATIONS.get(function, {}).get(parameter, "")
    return next((v for text, v in ANNOTATED.items() if annotation == text or annotation.startswith(text + " |")), 1)


@pytest.mark.parametrize(("name", "function"), list(functions()))
def test_no_raw_errors(name, function):
    parameters = [
        p for p in inspect.signature(function).parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    for wrong_one in parameters:
        for wrong in WRONG:
            arguments = {p.name: right(name, p.name) for p in parameters if p.default is p.empty}
            arguments[wrong_one.name] = wrong
            if wrong_one.name == "fcompute" and callable(wrong):
                continue  # what the caller's own function raises, the caller gets
            try:
                function(**arguments)
            except tw.UserError as error:
                assert error.what, error
            except Exception as error:
                raise AssertionError(f"{wrong_one.name}={wrong!r}: {type(error).__name__}: {error}") from error


def refused(call):
    with pytest.raises(tw.UserError) as info:
        call()
    assert info.value.where.startswith("wrong_arguments_test.py:")
    return info.value


def test_what_is_said_of_operators():
    error = refused(lambda: topi.nn.conv2d_nchw(A, [A], 1, 1, 1))
    assert error.code == "type-mismatch"
    assert error.what.startswith("conv2d_nchw, Filter: list [Tensor(A") and error.legal == "a tensor"
    error = refused(lambda: topi.nn.conv2d_nchw(A, A, 1, "FULL", 1))
    assert error.what == "conv2d_nchw, padding: str 'FULL'" and '"SAME" or "VALID"' in error.legal
    error = refused(lambda: topi.sum(A, axis="x"))
    assert error.legal == "an axis, a list of axes, or None"
    error = refused(lambda: topi.nn.pool2d(A, 2, 2, 1, 0, "max", layout="NHWC"))
    assert error.what == "pool2d, layout: unknown layout 'NHWC'" and error.legal == "NCHW"


def test_what_is_said_of_functions_of_the_extension():
    error = refused(lambda: te.reduce_axis((0, 4), name=3))
    assert error.code == "type-mismatch" and error.what.startswith("reduce_axis does not take (") and "int 3" in error.what
    assert error.legal.startswith("reduce_axis(dom: Range, name: str)")
    error = refused(lambda: tir.Var([], "int32"))
    assert error.what == "Var does not take (list [], str 'int32')"
    assert error.legal.startswith("Var(name: str = 'v', dtype: str = 'int32')")
    error = refused(lambda: A.op.output("x"))
    assert error.what == "output does not take (str 'x')" and error.legal.startswith("output(index: int)")
    error = refused(lambda: tir.Range.from_min_extent(0, 1, size=3))
    assert "size=int 3" in error.what


def test_errors_of_functions_that_a_script_hands_in_pass():
    def wrong(i):
        return len(3)

    with pytest.raises(TypeError, match="has no len"):
        te.compute((4,), wrong)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'padding'"):
        topi.nn.conv2d_nchw(A, A, 1, dilation=1)


def test_errors_are_runtime_errors():
    assert issubclass(tw.TilewrightError, RuntimeError)
    with pytest.raises(RuntimeError):
        topi.sum(A, axis=9)
