# SPDX-License-Identifier: Apache-2.0
"""Writes the type stubs of tilewright._core from the signatures that pybind11 puts into docstrings and from the table of
primitives, and those of tilewright.topi from the table of operators: `./tw python python/stubs/make_stubs.py`. A test
checks that they are current.
"""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path

import tilewright  # noqa: F401  installs the methods of primitives
from tilewright import _core
from tilewright.topi import table

FOLDER = Path(__file__).resolve().parents[1] / "tilewright"
HEAD = '''\
# SPDX-License-Identifier: Apache-2.0
# Made by python/stubs/make_stubs.py.
import collections.abc
import typing

import tilewright._core
'''
EXPRESSIONS = '''
ExprLike: typing.TypeAlias = PrimExpr | IterVar | TensorSlice | Tensor | int | float
ArrayLike: typing.TypeAlias = typing.Any  # NDArray, NumPy array, or an object with __dlpack__
'''
# What primitives take.
PARAMETERS = {
    "stage": "Stage", "producer": "Stage | Tensor | Operation", "axis": "IterVar", "axes": "collections.abc.Sequence[IterVar]",
    "stages": "collections.abc.Sequence[Stage]", "int": "int", "ints": "collections.abc.Sequence[int]", "float": "float",
    "str": "str", "intrin": "TensorIntrin | str", "place": "Stage", "size": "int | PrimExpr", "condition": "PrimExpr",
    "thread": "tilewright.te.thread.ThreadAxis", "threads": "collections.abc.Sequence[tilewright.te.thread.ThreadAxis]", "group": "Stage"}
SKIPPED = {"__doc__", "__module__", "__dict__", "__weakref__", "__new__", "__hash__", "__getattr__", "__qualname__", "__repr__", "__str__",
           "__bool__", "__annotations__"}


def types(text: str) -> str:
    text = re.sub(r"(?<![\w.])object\b", "typing.Any", text)
    text = re.sub(r"typing\.SupportsInt \| typing\.SupportsIndex|typing\.SupportsInt", "int", text)
    text = re.sub(r"typing\.SupportsFloat \| typing\.SupportsIndex|typing\.SupportsFloat", "float", text)
    return re.sub(r"(?<![\w.])(PrimExpr|Var)\b", r"tilewright._core.\1", text)


def signature(doc: str, name: str) -> tuple[str, str]:
    """(parameters, result) of the first line of a docstring."""
    match = re.match(rf"{re.escape(name)}\((.*)\) -> (.*)$", (doc or "").strip().splitlines()[0] if doc else "")
    if not match:
        return "*args: typing.Any, **kwargs: typing.Any", "typing.Any"
    parameters = re.sub(r"^self: [^,]+", "self", match[1]).replace("*args", "*args: typing.Any")
    parameters = types(parameters).replace("tilewright._core.PrimExpr", "tilewright._core.ExprLike")
    return re.sub(r" = <[^>]*>", " = ...", parameters), types(match[2])


def documentation(doc: str, indent: str) -> list[str]:
    lines = [line for line in (doc or "").strip().splitlines()[1:] if line.strip()]
    return [f'{indent}"""{" ".join(line.strip() for line in lines)}"""'] if lines else [f"{indent}..."]


def function(name: str, doc: str, indent: str = "") -> list[str]:
    parameters, result = signature(doc, name)
    body = documentation(doc, indent + "    ")
    return [f"{indent}def {name}({parameters}) -> {result}:", *body]


def primitive_methods(owner: str) -> list[str]:
    lines = []
    for name, _, parameters, results, doc in _core.primitives():
        makes_stage = "stage" in results
        if (owner == "Schedule") != makes_stage:
            continue
        texts = ["self"] + (["tensor: Tensor | collections.abc.Sequence[Tensor]"] if makes_stage else [])
        for k, (parameter, kind, optional) in enumerate(parameters[1:], start=1):
            if kind in ("axes", "stages") and k == len(parameters) - 1 and not makes_stage:
                texts.append(f"*{parameter}: {'IterVar' if kind == 'axes' else 'Stage'}")
            else:
                texts.append(f"{parameter}: {PARAMETERS[kind]}" + (" | None = None" if optional else ""))
        if makes_stage:
            result = "typing.Any"
        else:
            result = {0: "None", 1: "IterVar"}.get(len(results), f"tuple[{', '.join(['IterVar'] * len(results))}]")
        lines += [f"    def {name}({', '.join(texts)}) -> {result}:", f'        """{doc}"""']
    return lines


def class_stub(cls: type) -> list[str]:
    bases = [b.__name__ for b in cls.__bases__ if b.__module__.startswith("tilewright")]
    lines = ["", "", f"class {cls.__name__}{f'({bases[0]})' if bases else ''}:"]
    body = [f'    """{cls.__doc__.strip()}"""'] if (cls.__doc__ or "").strip() else []
    table = {row[0] for row in _core.primitives()}
    for name, value in sorted(vars(cls).items()):
        if name in SKIPPED or name.startswith("_pybind11") or (name in table and cls in (_core.Stage, _core.Schedule)):
            continue
        if isinstance(value, property):
            text = (value.fget.__doc__ or "").strip() if value.fget else ""
            match = re.search(r"-> (.*)$", text.splitlines()[0]) if text else None
            result = types(match[1]) if match else "typing.Any"
            body += ["    @property", f"    def {name}(self) -> {result}:"]
            doc = " ".join((value.__doc__ or "").split())
            body += [f'        """{doc}"""'] if doc and "->" not in doc else ["        ..."]
            if value.fset:
                body += [f"    @{name}.setter", f"    def {name}(self, value: {result}) -> None: ..."]
        elif isinstance(value, staticmethod):
            body += ["    @staticmethod", *function(name, value.__func__.__doc__, "    ")]
        elif inspect.isfunction(value):
            body += [f"    def {name}{signature_of(value)}:", f'        """{(value.__doc__ or "").strip().splitlines()[0]}"""']
        elif name == "__init__" and not (value.__doc__ or "").startswith("__init__("):
            continue  # made by functions only
        elif callable(value):
            body += function(name, value.__doc__, "    ")
    body += primitive_methods(cls.__name__) if cls in (_core.Stage, _core.Schedule) else []
    return lines + (body or ["    ..."])


def signature_of(value) -> str:
    parameters = [str(p) for p in inspect.signature(value).parameters.values()]
    return f"({', '.join(parameters)}) -> typing.Any"


def stub(module) -> str:
    lines, functions = [], []
    classes = [v for v in vars(module).values() if inspect.isclass(v)]
    for cls in classes:
        lines += class_stub(cls)
    for name, value in sorted(vars(module).items()):
        if callable(value) and not inspect.isclass(value):
            functions += ["", "", *function(name, value.__doc__)]
    extra = EXPRESSIONS if module is _core else ""
    version = "\n__version__: str\n" if module is _core else ""
    return HEAD + version + "\n".join(lines) + "\n" + extra + "\n".join(functions) + "\n"


OPERATORS = '''\
# SPDX-License-Identifier: Apache-2.0
# Made by python/stubs/make_stubs.py.
import collections.abc

from tilewright._core import ExprLike, PrimExpr, Tensor
'''


# Modules that a module of operators has.
PARTS = {"topi": "from . import image as image, nn as nn, table as table, utils as utils, vision as vision\n", "topi.vision": "from . import ssd as ssd\n"}


def operators(module: str) -> str:
    lines = [OPERATORS + (PARTS.get(module, ""))]
    for row_module, name, parameters, doc in _core.topi.operators():
        if row_module == module:
            text = table.documentation(parameters, doc).replace("\n", "\n    ").replace("    \n", "\n")
            # Of expressions alone the result is one.
            result = "Tensor | PrimExpr" if any("Tensor | ExprLike" in p[1] for p in parameters) else "Tensor"
            lines += ["", f"def {name}({table.signature(parameters, annotated=True)}) -> {result}:",
                      f'    r"""{text}', '    """', ""]
    return "\n".join(lines)


def stubs() -> dict[str, str]:
    """Text by file name."""
    return {
        "_core/__init__.pyi": stub(_core), "_core/autotune.pyi": stub(_core.autotune), "_core/topi.pyi": stub(_core.topi),
        "topi/__init__.pyi": operators("topi"), "topi/image.pyi": operators("topi.image"), "topi/nn.pyi": operators("topi.nn"),
        "topi/vision/__init__.pyi": operators("topi.vision"), "topi/vision/ssd.pyi": operators("topi.vision.ssd")}


def main() -> None:
    for name, text in stubs().items():
        (FOLDER / name).write_text(text)


if __name__ == "__main__":
    sys.exit(main())
