# SPDX-License-Identifier: Apache-2.0
"""Every rule of ir/arithmetic/rules.def holds for all integers: proofs by z3, where tests/fuzz tries values."""

from itertools import product

import pytest
from prove_rules import parts, prove, rules

# z3 does not decide them while the divisor is a letter: a multiple of it times another letter is a polynomial of the
# third degree. They are proved for each value of the constants up to LARGEST.
UNDECIDED = {
    "(x % c0) // c1 => (x // c1) % (c0 // c1) if 0 < c1 && 0 < c0 && c0 % c1 == 0",
    "(x % c0) % c1 => x % c1 if 0 < c1 && c0 % c1 == 0 && 0 < c0",
    "(x*c0) % c1 => 0 if 0 < c1 && c0 % c1 == 0",
    "truncmod(x*c0, c1) => 0 if c1 != 0 && c0 % c1 == 0",
}
LARGEST = 16

WRONG = [
    "x - x => 1",
    "x // x => 1",  # where x is 0, the quotient is
    "(x // y)*y + x % y => y if nonzero(y)",
    "truncdiv(x, c0) => x // c0 if 0 < c0",  # truncdiv rounds up below 0
    "truncmod(x, c0) => x % c0 if 0 < c0",
    "x*c0 < c1 => x < c1 // c0 if 0 < c0",
    "(x // c0) // c1 => x // (c0*c1)",
    "min(x // c0, y // c0) => min(x, y) // c0",
    "x % c0 => x if greatest(x) < c0",
    "x < c0 && x <= c1 => x < min(c0, c1)",
    "select(p, select(q, x, y), y) => select(p || q, x, y)",
]


def test_the_rules_are_read():
    text = rules()
    assert len(text) > 300 and len(set(text)) == len(text)
    assert UNDECIDED <= set(text)
    assert parts("x => y if 0 < x") == ("x", "y", "0 < x") and parts("x => y") == ("x", "y", "true")


@pytest.mark.parametrize("rule", [r for r in rules() if r not in UNDECIDED])
def test_a_rule_holds_for_all_integers(rule):
    assert prove(rule) == "proved"


@pytest.mark.parametrize("rule", sorted(UNDECIDED))
def test_an_undecided_rule_holds_for_many_constants(rule):
    proved = 0
    for c0, c1 in product(range(-LARGEST, LARGEST + 1), repeat=2):
        if c1 != 0 and c0 % c1 == 0:
            assert prove(rule, {"c0": c0, "c1": c1}) == "proved", (c0, c1)
            proved += 1
    assert proved > 100


def test_division_is_that_of_the_languages():
    for fact in ["x // 0 => 0", "x % 0 => 0", "truncdiv(x, 0) => 0", "truncmod(x, 0) => 0", "-7 // 2 => -4", "7 // -2 => -4",
                 "-7 // -2 => 3", "-7 % 2 => 1", "7 % -2 => -1", "-7 % -2 => -1", "truncdiv(-7, 2) => -3",
                 "truncdiv(7, -2) => -3", "truncdiv(-7, -2) => 3", "truncmod(-7, 2) => -1", "truncmod(7, -2) => 1"]:
        assert prove(fact) == "proved", fact


@pytest.mark.parametrize("rule", WRONG)
def test_a_wrong_rule_is_found(rule):
    assert prove(rule).startswith("wrong: ")


def test_guards_are_needed():
    """Of the rules with a guard that is more than a direction, dropping it makes nearly all of them wrong."""
    guarded = [r for r in rules() if " if " in r and r not in UNDECIDED]
    wrong = [r for r in guarded if prove(r.partition(" if ")[0]).startswith("wrong: ")]
    assert len(wrong) > 3 * len(guarded) // 4
