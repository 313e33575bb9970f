#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fits the polynomials of lower/math_functions.cc anew and prints them as they stand there.

    pip install mpmath && python3 lower/fit_functions.py

Each is the polynomial of its degree whose greatest weighted error over an interval is least, by Remez' second exchange
algorithm (J.-M. Muller, Elementary Functions, 3rd edition, section 3.5): the error of the result swings between equal
extremes. Coefficients must be float32. They are rounded one after the other, from that of the lowest power, and each
time those still free are fitted by least squares to what is left of the function, so that they make up for the rounding.
"""

import struct
import sys

try:
    import mpmath
    from mpmath import mpf
except ModuleNotFoundError:
    sys.exit("fit_functions.py computes with mpmath: pip install mpmath")

mpmath.mp.prec = 160
POINTS = 400  # of the interval, where the error is looked at
EXCHANGES = 40  # at most; some ten are made
LN2 = mpmath.log(2)


def to_float32(x):
    return mpf(struct.unpack("f", struct.pack("f", float(x)))[0])


class Problem:
    """Minimize |weight(x) * (function(x) - sum of c[k] * x**k)| over low <= x <= high."""

    def __init__(self, name, degree, function, weight, low, high):
        self.name, self.degree = name, degree
        low, high = mpf(low), mpf(high)
        # Dense towards the ends, as the extremes of the error are.
        self.x = [(low + high) / 2 - (high - low) / 2 * mpmath.cos(mpmath.pi * k / (POINTS - 1)) for k in range(POINTS)]
        self.f = [function(x) for x in self.x]
        self.w = [weight(x) for x in self.x]

    def errors(self, coefficients):
        return [w * (f - mpmath.polyval(coefficients[::-1], x)) for x, f, w in zip(self.x, self.f, self.w)]

    def greatest_error(self, coefficients):
        return max(map(abs, self.errors(coefficients)))

    def minimax(self):
        count = self.degree + 2
        at = [round((POINTS - 1) * k / (count - 1)) for k in range(count)]
        for _ in range(EXCHANGES):
            rows = mpmath.matrix(
                [[self.w[i] * self.x[i] ** k for k in range(count - 1)] + [(-1) ** r] for r, i in enumerate(at)])
            solution = mpmath.lu_solve(rows, mpmath.matrix([self.w[i] * self.f[i] for i in at]))
            coefficients = list(solution[: count - 1])
            extremes = alternating(self.errors(coefficients), count)
            if extremes == at:
                break
            at = extremes
        return coefficients

    def least_squares(self, fixed):
        """All coefficients, the first of them those of `fixed`."""
        powers = range(len(fixed), self.degree + 1)
        rows = mpmath.matrix([[w * x**k for k in powers] for x, w in zip(self.x, self.w)])
        return fixed + list(mpmath.lu_solve(rows, mpmath.matrix(self.errors(fixed))))

    def float32(self, coefficients):
        fixed = [to_float32(coefficients[0])]
        while len(fixed) <= self.degree:
            fixed.append(to_float32(self.least_squares(fixed)[len(fixed)]))
        return fixed


def alternating(errors, count):
    """`count` places where the error has extremes of changing sign, the greatest among them."""
    places = []
    for i, e in enumerate(errors):
        if places and (errors[places[-1]] > 0) == (e > 0):
            if abs(e) > abs(errors[places[-1]]):
                places[-1] = i
        else:
            places.append(i)
    size = lambda k: abs(errors[places[k]])
    while len(places) > count:
        if len(places) == count + 1:
            del places[0 if size(0) < size(-1) else -1]
        else:  # two neighbours, so that signs go on changing
            least = min(range(len(places) - 1), key=lambda k: size(k) + size(k + 1))
            del places[least : least + 2]
    return places


def near_zero(limit, function):
    """`function`, and at 0, where it cannot be computed, its limit."""
    return lambda x: mpf(limit) if abs(x) < mpf(2) ** -40 else function(x)


# What exp, 1 - exp(-x) and log1p are beyond the terms that have no rounded coefficient.
exp_tail = near_zero(0.5, lambda r: (mpmath.expm1(r) - r) / r**2)
decay_tail = near_zero(-0.5, lambda r: (-mpmath.expm1(-r) - r) / r**2)
log_tail = near_zero(mpf(1) / 3, lambda f: (mpmath.log1p(f) - f + f**2 / 2) / f**3)
# erf x = 1 - exp(-x (1 + erf_rate x)); its error is that of the exponent times what the exponential still is.
erf_rate = near_zero(2 / mpmath.sqrt(mpmath.pi) - 1, lambda x: -mpmath.log(mpmath.erfc(x)) / x - 1)
HALF = LN2 / 2 * mpf("1.0002")  # where the nearest multiple of ln 2 leaves a remainder, rounding included

PROBLEMS = [
    Problem("kExp", 4, exp_tail, lambda r: r**2 / mpmath.exp(r), -HALF, HALF),
    Problem("kDecay", 4, decay_tail, near_zero(0, lambda r: abs(r**2 / mpmath.expm1(-r))), -HALF, HALF),
    Problem("kErf", 8, erf_rate, near_zero(mpmath.sqrt(mpmath.pi) / 2, lambda x: x * mpmath.erfc(x) / mpmath.erf(x)), 0, 3.95),
    Problem("kLog", 7, log_tail, near_zero(0, lambda f: f**3 / mpmath.log1p(f)), mpmath.sqrt(0.5) - 1, mpmath.sqrt(2) - 1),
]


def literal(x):
    """As C++ and clang-format write it."""
    digits, _, exponent = float(x).hex().partition("p")
    return f"{digits.rstrip('0').rstrip('.')}p{exponent}"


def main():
    for problem in PROBLEMS:
        ideal = problem.minimax()
        coefficients = problem.float32(ideal)
        before, after = (mpmath.nstr(problem.greatest_error(c) * 2**24, 2) for c in (ideal, coefficients))
        print(f"// Within {after} * 2^-24 ({before} before coefficients are rounded).")
        print(f"constexpr double {problem.name}[] = {{{', '.join(map(literal, coefficients))}}};")


if __name__ == "__main__":
    main()
