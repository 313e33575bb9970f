# SPDX-License-Identifier: Apache-2.0
"""Functions of te.hybrid.script that te.compute can say: a nest of loops that gives the elements of one output in turn.

    for i in range(n):                  te.compute((n, m), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k))
        for j in range(m):
            c[i, j] = 0.0
            for k in range(l):
                c[i, j] += a[i, k] * b[k, j]
"""

import ast
from typing import NamedTuple, Optional


class Nest(NamedTuple):
    """The parts of such a function."""

    output: str
    declaration: ast.Call  # output_tensor(shape, dtype)
    loops: list  # over the dimensions, the first outermost
    start: ast.expr  # what an element is, or what it begins with
    reductions: list  # loops
    term: Optional[ast.expr]  # what they add


def nest_of(function):
    """The Nest that a definition consists of; None where it says anything else."""
    body = [s for s in function.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    if len(body) != 3 or not _is_declaration(body[0]) or not isinstance(body[2], ast.Return):
        return None
    output = body[0].targets[0].id
    if not _is_name(body[2].value, output):
        return None
    loops, inner = _loops(body[1])
    index = [loop.target.id for loop in loops]
    if not loops or not isinstance(inner[0], ast.Assign) or not _is_element(inner[0].targets, output, index):
        return None
    start, reductions, term = inner[0].value, [], None
    if len(inner) == 2:
        reductions, inside = _loops(inner[1])
        term = _added(inside, output, index) if reductions else None
    if len(inner) > 2 or (len(inner) == 2 and term is None):
        return None
    names = index + [loop.target.id for loop in reductions]
    own = {a.arg for a in function.args.args} | {output}
    values = [start] if term is None else [start, term]
    extents = [loop.iter.args[0] for loop in loops + reductions]
    is_plain = len(set(names)) == len(names) and not own & set(names)
    reads_itself = any(_mentions(v, [output]) for v in values)
    is_ragged = any(_mentions(e, names) or _has_elements(e) for e in extents)
    if not is_plain or reads_itself or is_ragged or _mentions(start, names[len(index):]):
        return None
    return Nest(output, body[0].value, loops, start, reductions, term)


def _is_name(node, name):
    return isinstance(node, ast.Name) and node.id == name


def _mentions(node, names):
    return any(isinstance(n, ast.Name) and n.id in names for n in ast.walk(node))


def _has_elements(node):
    """Whether it reads more than shapes."""
    return any(isinstance(n, ast.Subscript) and not isinstance(n.value, ast.Attribute) for n in ast.walk(node))


def _is_declaration(node):
    return (isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
            and isinstance(node.value, ast.Call) and _is_name(node.value.func, "output_tensor"))


def _is_loop(node):
    return (isinstance(node, ast.For) and isinstance(node.target, ast.Name) and not node.orelse and isinstance(node.iter, ast.Call)
            and isinstance(node.iter.func, ast.Name) and node.iter.func.id in ("range", "serial")
            and len(node.iter.args) == 1 and not node.iter.keywords)


def _loops(node):
    """Loops of which each is all that the one around it does, and the statements in the innermost."""
    loops, inner = [], [node]
    while len(inner) == 1 and _is_loop(inner[0]):
        loops.append(inner[0])
        inner = inner[0].body
    return loops, inner


def _is_element(targets, output, index):
    """Whether the one target is output[i, j, …]."""
    if len(targets) != 1 or not isinstance(targets[0], ast.Subscript) or not _is_name(targets[0].value, output):
        return False
    at = targets[0].slice
    at = at.elts if isinstance(at, ast.Tuple) else [at]
    return len(at) == len(index) and all(map(_is_name, at, index))


def _added(body, output, index):
    """What the one statement adds to an element of the output."""
    (statement, *others) = body
    if others:
        return None
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add) and _is_element([statement.target], output, index):
        return statement.value
    is_sum = isinstance(statement, ast.Assign) and isinstance(statement.value, ast.BinOp) and isinstance(statement.value.op, ast.Add)
    if is_sum and _is_element(statement.targets, output, index) and _is_element([statement.value.left], output, index):
        return statement.value.right
    return None
