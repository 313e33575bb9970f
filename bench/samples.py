"""Statistics of raw samples: medians, their intervals, and whether two sets differ.

Written here because they are few lines and scipy, which holds the same, is larger than everything else that the
benchmarks install; tests compare each of them with a count of all cases.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95
# Up to this many pairs the distribution of U is counted exactly; beyond, it is normal for any practical purpose.
MOST_EXACT_PAIRS = 2500


@dataclass(frozen=True)
class Summary:
    """A median with bounds at 95 % confidence: from order statistics, so no shape of the distribution is assumed.
    The whole range when there are fewer than six samples, which bound nothing at that level."""

    median: float
    low: float
    high: float
    count: int

    @property
    def spread(self) -> float:
        """Half the width of the interval, relative to the median."""
        return (self.high - self.low) / 2 / abs(self.median) if self.median else math.inf


def summarize(samples: Sequence[float]) -> Summary:
    if not samples:
        raise ValueError("no samples")
    ordered = sorted(samples)
    skip = _interval_rank(len(ordered))
    return Summary(statistics.median(ordered), ordered[skip], ordered[-1 - skip], len(ordered))


def _interval_rank(count: int) -> int:
    """How many samples at either end may be left out so that what remains covers the median with CONFIDENCE."""
    outside = (1 - CONFIDENCE) / 2
    skip, tail = 0, 0.5**count  # P(at most `skip` of the samples lie below the median)
    while True:
        if tail > outside:
            return max(skip - 1, 0)
        skip += 1
        tail += math.comb(count, skip) * 0.5**count


def quantile(samples: Sequence[float], q: float) -> float:
    """The q-th quantile, interpolated between order statistics."""
    ordered = sorted(samples)
    place = q * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def geometric_mean(values: Iterable[float]) -> float:
    values = list(values)
    return math.exp(math.fsum(map(math.log, values)) / len(values))


@dataclass(frozen=True)
class Comparison:
    """Of samples a with samples b. `p`: the probability that a ranking as one-sided as this one, in either direction,
    arises when both come from one distribution. `superiority`: the probability that one of b exceeds one of a."""

    p: float
    superiority: float


def mann_whitney(a: Sequence[float], b: Sequence[float]) -> Comparison:
    """The Mann–Whitney U test, two-sided: exact for small samples without ties, else the normal approximation with
    corrections for ties and continuity (Mann and Whitney 1947; Lehmann, "Nonparametrics", 1975)."""
    if not a or not b:
        raise ValueError("no samples")
    n, m = len(a), len(b)
    u = sum((y > x) + 0.5 * (y == x) for x in a for y in b)
    values = [*a, *b]
    ties = [values.count(v) for v in set(values)]
    if max(ties) == 1 and n * m <= MOST_EXACT_PAIRS:
        counts = _distribution_of_u(n, m)
        p = 2 * sum(counts[: math.floor(min(u, n * m - u)) + 1]) / sum(counts)
    else:
        total = n + m
        tied = sum(t**3 - t for t in ties)
        variance = n * m / 12 * (total + 1 - tied / (total * (total - 1)))
        if variance == 0:  # all equal
            return Comparison(1.0, 0.5)
        z = max(abs(u - n * m / 2) - 0.5, 0) / math.sqrt(variance)
        p = math.erfc(z / math.sqrt(2))
    return Comparison(min(p, 1.0), u / (n * m))


def _distribution_of_u(n: int, m: int) -> list[int]:
    """In how many of the C(n + m, n) arrangements U is 0, 1, …, n·m: the Gaussian binomial coefficient."""
    counts = [1] + [0] * (n * m)
    for i in range(1, n + 1):
        for u in range(n * m, m + i - 1, -1):  # times 1 - q^(m + i)
            counts[u] -= counts[u - m - i]
        for u in range(i, n * m + 1):  # divided by 1 - q^i
            counts[u] += counts[u - i]
    return counts
