"""Words on the command line of `./tw test` choose what is said in tests/README.md."""

from __future__ import annotations

import sys

import tree

sys.path.insert(0, str(tree.ROOT / "tests"))

import run  # noqa: E402
from selection import Selection, holds, select, sources  # noqa: E402

FOLDERS = (*run.CPP_FOLDERS, *run.PYTHON_FOLDERS)


def chosen(*words: str) -> Selection:
    return select([str(tree.ROOT / word) if word.startswith("tests/") else word for word in words], FOLDERS, (run.HEADERS,), run.SANITIZERS)


def test_no_words_choose_all():
    assert chosen().rows == {*FOLDERS, run.HEADERS, *run.SANITIZERS}
    assert {chosen().pattern(folder) for folder in run.CPP_FOLDERS} == {"*"}


def test_folders():
    assert chosen("unit").rows == {folder for folder in FOLDERS if folder.startswith("unit/")}
    assert chosen("tests/unit/ir", "golden", "asan").rows == {"unit/ir", "golden", "asan"}


def test_files_narrow_their_own_folder():
    selection = chosen("tests/python/cli_test.py", "tests/unit/runtime/ref_test.cc", "structure")
    assert selection.rows == {"python", "unit/runtime", "structure"}
    assert [file.name for file in selection.files_of("python")] == ["cli_test.py"]
    assert selection.files_of("structure") == list(sources("structure"))
    assert "ThreadSanitizerRef.CountsAreAtomic:" in selection.pattern("unit/runtime")
    assert "ThreadPool" not in selection.pattern("unit/runtime")


def test_names_choose_the_programs_that_hold_them():
    selection = chosen("ThreadSanitizerRef.CountsAreAtomic")
    assert selection.rows == {"unit/runtime"} and selection.pattern("unit/runtime") == "*ThreadSanitizerRef.CountsAreAtomic*"
    selection = chosen("Seeds/ArithmeticFuzz", "names_choose_the_programs")
    assert selection.rows == {"fuzz", "structure"}
    assert selection.pattern("fuzz") == "*Seeds/ArithmeticFuzz*"
    assert [file.name for file in selection.files_of("structure")] == ["selection_test.py"]


def test_a_name_narrows_the_given_folders_that_hold_it_and_no_other():
    selection = chosen("asan", "ThreadSanitizerRef")
    assert selection.rows == {"asan"} and selection.narrowed(list(run.CPP_FOLDERS)) == ["unit/runtime"]
    selection = chosen("golden", "ThreadSanitizerRef")
    assert selection.rows == {"golden", "unit/runtime"} and selection.pattern("golden") == "*"


def test_a_name_that_no_source_has_may_be_that_of_a_parameter():
    word = "in_no_" + "source"
    selection = chosen(word)
    assert selection.rows == set(FOLDERS) and selection.pattern("fuzz") == f"*{word}*"
    assert chosen("fuzz", word).rows == {"fuzz"}


def test_each_test_is_found_by_its_name():
    """Whatever the macros look like, every file has tests that a word can name."""
    unnamed = [tree.name(file) for folder in FOLDERS for file in sources(folder) if not holds(file, "*")]
    assert not unnamed
