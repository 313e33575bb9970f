"""Statistics of the benchmarks, against counts of all cases."""

from __future__ import annotations

import itertools
import math
import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

import samples  # noqa: E402


def covers(count: int, skip: int) -> float:
    """How probable it is that the median lies between the order statistics that remain when `skip` are left out at
    both ends: each sample is above or below it like the toss of a coin."""
    return sum(math.comb(count, k) for k in range(skip + 1, count - skip)) / 2**count


@pytest.mark.parametrize("count", range(1, 40))
def test_the_interval_is_the_narrowest_that_covers_the_median(count):
    found = samples.summarize(range(count))
    skip = int(found.low)
    assert found.high == count - 1 - skip
    assert found.median == (count - 1) / 2
    if skip > 0:
        assert covers(count, skip) >= samples.CONFIDENCE
    assert covers(count, skip + 1) < samples.CONFIDENCE


def test_no_samples_are_refused():
    with pytest.raises(ValueError):
        samples.summarize([])
    with pytest.raises(ValueError):
        samples.mann_whitney([], [1.0])


def p_by_counting(a, b):
    """Over all ways to call len(a) of the values "a"."""
    values = [*a, *b]
    centre = len(a) * len(b) / 2

    def distance(chosen):
        others = [v for i, v in enumerate(values) if i not in chosen]
        return abs(sum((y > values[i]) + 0.5 * (y == values[i]) for i in chosen for y in others) - centre)

    observed = distance(range(len(a)))
    ways = list(itertools.combinations(range(len(values)), len(a)))
    return sum(distance(set(way)) >= observed for way in ways) / len(ways)


@pytest.mark.parametrize("n,m", [(1, 1), (1, 5), (3, 4), (5, 5), (4, 6)])
def test_p_is_that_of_all_arrangements(n, m):
    rng = random.Random(n * 10 + m)
    for _ in range(5):
        values = rng.sample(range(100), n + m)
        a, b = values[:n], values[n:]
        assert samples.mann_whitney(a, b).p == pytest.approx(p_by_counting(a, b))


def test_large_samples_are_close_to_the_exact_distribution(monkeypatch):
    rng = random.Random(1)
    a, b = [rng.gauss(0, 1) for _ in range(20)], [rng.gauss(0.7, 1) for _ in range(25)]
    exact = samples.mann_whitney(a, b).p
    monkeypatch.setattr(samples, "MOST_EXACT_PAIRS", 0)
    assert samples.mann_whitney(a, b).p == pytest.approx(exact, abs=0.005)


def test_equal_samples_do_not_differ():
    assert samples.mann_whitney([1.0] * 5, [1.0] * 7) == samples.Comparison(1.0, 0.5)


def test_separate_samples_differ():
    found = samples.mann_whitney([1.0, 2.0, 3.0, 4.0, 5.0], [6.0, 7.0, 8.0, 9.0, 10.0])
    assert found.p == pytest.approx(2 / 252)
    assert found.superiority == 1


def test_quantile_and_geometric_mean():
    assert samples.quantile([3.0, 1.0, 2.0], 0.5) == 2
    assert samples.quantile([0.0, 10.0], 0.9) == pytest.approx(9)
    assert samples.geometric_mean([1.0, 4.0]) == pytest.approx(2)
