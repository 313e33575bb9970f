# SPDX-License-Identifier: Apache-2.0
"""The rules of ir/arithmetic/rules.def as theorems about integers, for z3.

    prove("x - x => 0")            "proved"
    prove("x - x => 1")            "wrong: x = 0"
    prove("(x // y)*y => x")       "wrong: …"

The letters stand for all integers, x // 0 and x % 0 are 0, and least(x), greatest(x) are any numbers below and above x.
That expressions do not overflow is assumed, as rules.def does.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import z3

RULES = Path(__file__).resolve().parents[2] / "ir" / "arithmetic" / "rules.def"
BOOLEANS = "pqr"
STEPS = 5_000_000  # two thousand times what a rule that is proved takes


def rules() -> list[str]:
    """The text of every rule."""
    return re.findall(r'^RULE\("(.*)"\)$', RULES.read_text(), re.MULTILINE)


def parts(rule: str) -> tuple[str, str, str]:
    """Pattern, replacement and guard."""
    pattern, rest = rule.split(" => ")
    replacement, _, guard = rest.partition(" if ")
    return pattern, replacement, guard or "true"


def parsed(text: str) -> ast.expr:
    text = text.replace("&&", " and ").replace("||", " or ")
    return ast.parse(re.sub(r"!(?!=)", " not ", text).strip(), mode="eval").body


class Theorem:
    """One rule with the values that constants are given, which may be few or none of them."""

    def __init__(self, rule: str, constants: dict[str, int]):
        self.constants = constants
        self.letters: dict[str, z3.ExprRef] = {}
        self.facts: list[z3.BoolRef] = []
        pattern, replacement, guard = (self.build(parsed(part)) for part in parts(rule))
        self.claim = z3.Implies(z3.And(guard, *self.facts), pattern == replacement)

    def letter(self, name: str) -> z3.ExprRef:
        if name in ("true", "false"):
            return z3.BoolVal(name == "true")
        if name in self.constants:
            return z3.IntVal(self.constants[name])
        make = z3.Bool if name in BOOLEANS else z3.Int
        return self.letters.setdefault(name, make(name))

    def floor_divide(self, a, b):
        """The quotient, 0 where b is; z3 rounds so that the remainder is not negative."""
        return z3.If(b == 0, 0, z3.If(b > 0, a / b, (-a) / (-b)))

    def truncate_divide(self, a, b):
        size = z3.If(a >= 0, a, -a) / z3.If(b >= 0, b, -b)
        return z3.If(b == 0, 0, z3.If((a >= 0) == (b > 0), size, -size))

    def call(self, name: str, arguments: list[ast.expr]):
        if name in ("least", "greatest"):
            (x,) = arguments
            assert isinstance(x, ast.Name)
            value, bound = self.letter(x.id), self.letter(f"{name}_{x.id}")
            self.facts.append(bound <= value if name == "least" else value <= bound)
            return bound
        values = [self.build(a) for a in arguments]
        match name, values:
            case "nonzero", [x]:
                return x != 0
            case "select", [p, x, y]:
                return z3.If(p, x, y)
            case "min", [x, y]:
                return z3.If(x < y, x, y)
            case "max", [x, y]:
                return z3.If(x > y, x, y)
            case "truncdiv", [x, y]:
                return self.truncate_divide(x, y)
            case "truncmod", [x, y]:
                return z3.If(y == 0, 0, x - y * self.truncate_divide(x, y))
        raise ValueError(name)

    def build(self, e: ast.expr):
        match e:
            case ast.Name(id=name):
                return self.letter(name)
            case ast.Constant(value=value):
                return z3.IntVal(value)
            case ast.UnaryOp(op=ast.Not(), operand=a):
                return z3.Not(self.build(a))
            case ast.UnaryOp(op=ast.USub(), operand=a):
                return -self.build(a)
            case ast.BoolOp(op=op, values=values):
                return (z3.And if isinstance(op, ast.And) else z3.Or)(*map(self.build, values))
            case ast.Compare(left=a, ops=[op], comparators=[b]):
                x, y = self.build(a), self.build(b)
                return {ast.Lt: lambda: x < y, ast.LtE: lambda: x <= y, ast.Gt: lambda: x > y, ast.GtE: lambda: x >= y,
                        ast.Eq: lambda: x == y, ast.NotEq: lambda: x != y}[type(op)]()
            case ast.BinOp(left=a, op=op, right=b):
                x, y = self.build(a), self.build(b)
                match op:
                    case ast.Add():
                        return x + y
                    case ast.Sub():
                        return x - y
                    case ast.Mult():
                        return x * y
                    case ast.FloorDiv():
                        return self.floor_divide(x, y)
                    case ast.Mod():
                        return z3.If(y == 0, 0, x - y * self.floor_divide(x, y))
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return self.call(name, arguments)
        raise ValueError(ast.dump(e))


def prove(rule: str, constants: dict[str, int] | None = None) -> str:
    """"proved", "unknown", or "wrong: " with values of the letters for which the two sides differ. What z3 spends is
    limited in steps and not in time, so that the answer is the same on every machine."""
    solver = z3.Solver()
    solver.set(rlimit=STEPS, random_seed=1)
    solver.add(z3.Not(Theorem(rule, constants or {}).claim))
    match solver.check():
        case z3.unsat:
            return "proved"
        case z3.unknown:
            return "unknown"
    model = solver.model()
    return "wrong: " + ", ".join(f"{d} = {model[d]}" for d in sorted(model.decls(), key=str))
