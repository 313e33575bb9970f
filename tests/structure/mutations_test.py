"""The mutations of tests/mutations still apply, and name tests that exist."""

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
            (*(f"unit/{name}" for name in ("runtime", "ir", "schedule", "lower", "autotune")), "golden", "errors", "fuzz", "numeric")}


def test_there_are_some_for_each_folder():
    by_folder = {folder: sum(m.file.startswith(folder + "/") for m in MUTATIONS) for folder in ("runtime", "ir", "schedule", "lower", "python")}
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
