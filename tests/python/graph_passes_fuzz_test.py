"""Passes over random networks: what they make of one computes the same."""

import functools
import os

import pytest

import tilewright as tw
import tilewright.graph
import tilewright.symbol as sym

import check_graph
import numpy_graph
from random_graph import Case, random_case

CASES = int(300 * float(os.environ.get("TW_FUZZ_SCALE", "1")))
FIRST = 1_000_003 * int(os.environ.get("TW_FUZZ_SEED", "1"))


@functools.lru_cache(maxsize=CASES)
def case_of(seed):
    return random_case(seed)


@pytest.mark.parametrize("chain", check_graph.rewriting_passes(), ids="-".join)
def test_passes_keep_what_a_network_computes(chain):
    for seed in range(FIRST, FIRST + CASES):
        check_graph.require_same(case_of(seed), lambda case: check_graph.rewritten(case, chain), f"{'_'.join(chain)}_{seed}")


def test_other_passes_are_known():
    """A pass that has its reason to be left out exists, or will."""
    names = {row["name"] for row in tw.graph.passes()}
    assert {"SaveJSON", "PrintGraphIR", "LoadJSON", "Gradient"} <= names & set(check_graph.OTHER_PASSES)


def test_random_networks_have_all_operators():
    """But those that passes and gradients alone make, whose names begin with an underscore, and writing to variables."""
    met = {node["op"] for seed in range(2000) for node in random_case(seed).load().index.nodes}
    names = {op["name"] for op in tw.graph.operators()}
    inner = {name for name in names if name.startswith("_") and not name.startswith("__")}
    # Bits are those of one type, and networks are tried in others too.
    assert names - met - inner == ((names & numpy_graph.NOT_COMPUTED.keys()) | {"reinterpret"}) - inner


def test_the_same_seed_gives_the_same_network():
    first, again = random_case(7), random_case(7)
    assert first.graph == again.graph and all((first.inputs[n] == again.inputs[n]).all() for n in first.inputs)


def test_a_failure_becomes_small(tmp_path):
    """A pass that takes each elemwise_add for a subtraction."""

    @tw.graph.register_pass("BreakSums")
    def broken(graph):
        return tw.graph.load_json(graph.json().replace('"op": "elemwise_add"', '"op": "elemwise_sub"').replace('"op":"elemwise_add"', '"op":"elemwise_sub"'))

    compute = lambda case: check_graph.rewritten(case, ["BreakSums"])
    case = next(case for case in map(random_case, range(100))
                if len(case.load().index.nodes) > 12 and check_graph.trouble(case, compute))
    small = check_graph.shrink(case, lambda c: check_graph.trouble(c, compute) is not None)
    assert [node["op"] for node in small.load().index.nodes if node["op"] != "null"] == ["elemwise_add"]
    small.save(tmp_path / "case.json")
    again = Case.read(tmp_path / "case.json")
    assert check_graph.trouble(again, compute) == check_graph.trouble(small, compute) is not None
