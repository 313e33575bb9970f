# SPDX-License-Identifier: Apache-2.0
"""Functions out of the table of operators (schedule/topi/operator.h)."""

from .._core import topi as _topi
from ..generated import functions_of


def documentation(parameters, doc):
    """What help() shows of an operator."""
    lines = [f"{doc[:1].upper()}{doc[1:]}{'' if doc.endswith('.') else '.'}", ""]
    lines += [f"{name} ({annotation}){': ' + text if text else ''}" for name, annotation, text, _ in parameters]
    return "\n".join(lines)


def signature(parameters, annotated=False):
    """The parameters between the parentheses of a definition."""
    texts = []
    for name, annotation, _, default in parameters:
        text = f"{name}: {annotation}" if annotated else name
        if default:
            text += f"{' = ' if annotated else '='}{default[0]!r}"
        texts.append(text)
    return ", ".join(texts)


def functions(module):
    """The operators of "topi" or "topi.nn" by name."""
    sources, documentations = [], {}
    for row_module, name, parameters, doc in _topi.operators():
        if row_module == module:
            passed = "".join(f"{p[0]}, " for p in parameters)
            sources.append(f"def {name}({signature(parameters)}):\n    return _call('{module}.{name}', ({passed}))\n")
            documentations[name] = documentation(parameters, doc)
    found = functions_of(sources, f"tilewright.{module}", {"_call": _topi.call})
    for name, text in documentations.items():
        found[name].__doc__ = text
    return found
