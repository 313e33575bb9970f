"""The mutations of tests/mutations still apply, and name tests that exist; and what tests/mutations/run.py makes of them."""

from __future__ import annotations

import importlib.util
import re
import sys
from fnmatch import fnmatchcase

import pytest

import tree

sys.path.insert(0, str(tree.ROOT / "tests"))
import selection  # noqa: E402

_specification = importlib.util.spec_from_file_location("mutations_run", tree.ROOT / "tests/mutations/run.py")
mutate = importlib.util.module_from_spec(_specification)
sys.modules["mutations_run"] = mutate
_specification.loader.exec_module(mutate)

MUTATIONS = mutate.all_mutations()
PROGRAMS = {folder.replace("/", "_"): folder for folder in
            (*(f"unit/{name}" for name in ("runtime", "ir", "schedule", "lower", "autotune", "graph")), "golden", "errors", "fuzz", "numeric")}


def test_there_are_some_for_each_folder():
    by_folder = {folder: sum(m.file.startswith(folder + "/") for m in MUTATIONS) for folder in ("runtime", "ir", "schedule", "lower", "autotune", "graph", "python")}
    assert len(MUTATIONS) >= 25 and min(by_folder.values()) >= 3, by_folder


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda m: m.name)
def test_a_mutation_applies_and_names_tests(mutation):
    text = (tree.ROOT / mutation.file).read_text()
    assert mutation.name.startswith(mutation.file.split("/")[0] + "_")
    assert text.count(mutation.find) == 1, f"{mutation.file} has the text {text.count(mutation.find)} times:\n{mutation.find}"
    assert mutation.replace != mutation.find and mutation.breaks
    if not mutation.program:
        assert (tree.ROOT / mutation.tests).is_file()
        return
    tests = [test for file in selection.sources(PROGRAMS[mutation.program]) for test in selection.tests_in(file)]
    patterns = [re.sub(r"\*/(\w)", r"*\1", pattern) for pattern in mutation.tests.split(":")]
    assert any(fnmatchcase(test, pattern) for test in tests for pattern in patterns), f"no test is called {mutation.tests}"


def test_a_word_that_names_no_mutation_is_refused(capsys):
    with pytest.raises(SystemExit) as info:
        mutate.chosen(["lower_", "lower_paralel_overlap", "?"], MUTATIONS)
    assert info.value.code == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "./tw mutate: no mutation has 'lower_paralel_overlap' in its name (did you mean lower_parallel_overlaps?)"
    assert "'?'" in lines[1] and "--list" in lines[2] and len(lines) == 3


def test_words_choose_mutations():
    assert mutate.chosen([], MUTATIONS) == MUTATIONS
    assert [m.name for m in mutate.chosen(["runtime_half_ties_away", "ir_scale"], MUTATIONS)] == ["ir_scale_keeps_order", "runtime_half_ties_away"]


class Checkout:
    """One source file, which a "build" takes as it stands; its tests fail where that text has `broken` words."""

    def __init__(self, folder, monkeypatch, broken):
        self.file, self.built, self.broken = folder / "a.cc", "", broken
        self.file.write_text("one two")
        monkeypatch.setattr(mutate, "ROOT", folder)
        monkeypatch.setattr(mutate, "COPY", folder)
        monkeypatch.setattr(mutate, "LOG", folder / "build/log.txt")
        monkeypatch.setattr(mutate, "copy_tree", lambda: None)
        monkeypatch.setattr(mutate, "build", self.build)
        monkeypatch.setattr(mutate, "test", self.test)

    def build(self, targets):
        self.built = self.file.read_text()
        return "syntax" not in self.built

    def test(self, program, tests):
        return mutate.Tally(passed=tests != "none", failed=[tests] if self.broken.get(tests, "?") in self.built else [])

    def run(self, monkeypatch, capsys, *mutations):
        monkeypatch.setattr(mutate, "all_mutations", lambda: list(mutations))
        monkeypatch.setattr(sys, "argv", ["mutate"])
        status = mutate.main()
        assert self.file.read_text() == "one two"
        return status, [re.sub(r" +\d+\.\d s$", "", line.strip()) for line in capsys.readouterr().out.splitlines()]


def mutation(name, find, replace, tests):
    return mutate.Mutation(name=name, breaks="", file="a.cc", find=find, replace=replace, tests=tests, program="p")


def test_what_becomes_of_mutations(tmp_path, monkeypatch, capsys):
    checkout = Checkout(tmp_path, monkeypatch, {"A.A": "three", "B.B": "four", "C.C": "two"})
    status, lines = checkout.run(
        monkeypatch, capsys, mutation("noticed", "one", "three", "A.A"), mutation("also", "two", "four", "B.B"),
        mutation("survivor", "two", "five", "B.B"), mutation("wrong", "one", "syntax", "A.A"),
        mutation("moved", "six", "seven", "A.A"), mutation("failing", "one", "eight", "C.C"), mutation("none", "one", "eight", "none"))
    assert status == 1
    assert lines == [
        "noticed", "killed by A.A", "also", "killed by B.B", "survivor", "SURVIVED", "wrong", "does not compile",
        "moved", "does not apply", "failing", "cannot tell: C.C fails without it", "none", "cannot tell: no test is called none",
        "2 of 7 killed"]


# What was built last may still hold the mutation before.
def test_a_mutation_does_not_outlive_its_turn(tmp_path, monkeypatch, capsys):
    checkout = Checkout(tmp_path, monkeypatch, {"A.A": "three", "B.B": "three"})
    status, lines = checkout.run(
        monkeypatch, capsys, mutation("first", "one", "three", "A.A"), mutation("second", "two", "three", "B.B"))
    assert status == 0 and lines[-1] == "2 of 2 killed"
