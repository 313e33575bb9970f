"""Random networks as `compiler.build` builds them at all optimisation levels, against NumPy."""

import os

import pytest

import check_graph
from random_graph import random_case

CASES = int(300 * float(os.environ.get("TW_FUZZ_SCALE", "1")))
FIRST = 1_000_003 * int(os.environ.get("TW_FUZZ_SEED", "1"))


@pytest.mark.parametrize("part", range(10))
def test_all_levels_compute_the_same(part):
    for seed in range(FIRST + part, FIRST + CASES, 10):
        case = random_case(seed)
        for level in check_graph.LEVELS:
            check_graph.require_same(case, lambda c, level=level: check_graph.built(c, level), f"opt_level_{level}_{seed}")
