"""Sizes, READMEs, paths, and that the lists of packages and budgets agree with each other."""

from __future__ import annotations

import re
import tomllib

import tree

MOST_LINES = 650  # "about 600"


def test_a_file_has_one_subject_and_stays_short():
    sizes = {tree.name(path): len(path.read_text().splitlines()) for path in tree.sources()}
    long = [f"{lines} {name}" for name, lines in sizes.items() if lines > MOST_LINES]
    assert not long, f"more than {MOST_LINES} lines:\n" + "\n".join(long)


def test_every_source_folder_has_a_readme():
    used = {tree.folder_of(tree.name(path)) for path in tree.sources()}
    missing = sorted(folder for folder in used if folder and not (tree.ROOT / folder / "README.md").is_file())
    assert not missing, f"no README.md (what enters, what leaves, where to add things) in: {', '.join(missing)}"


def test_the_readmes_name_each_source():
    passes = set(re.findall(r'^ +\{"(\w+)",', (tree.ROOT / "lower/pipeline.cc").read_text(), re.MULTILINE))
    assert len(passes) > 10
    unnamed = []
    for folder in ("lower/llvm", *(folder for folder in tree.DIRECTION if folder != "schedule/topi")):
        text = (tree.ROOT / folder / "README.md").read_text()
        # relation_{split,fuse}.cc is two names.
        for prefix, ends in re.findall(r"(\w+)\{([\w,]+)\}", text):
            text += "".join(f" {prefix}{end}" for end in ends.split(","))
        known = set(re.findall(r"\w+", text)) | (passes if folder == "lower" else set())
        stems = {path.stem for path in (tree.ROOT / folder).iterdir() if path.suffix in (".cc", ".h")}
        unnamed += [f"{folder}/{stem}" for stem in sorted(stems - known)]
    assert not unnamed, f"not in the README of its folder: {', '.join(unnamed)}"


def test_no_file_names_a_path_of_one_machine():
    pattern = re.compile(r"(?<![\w.$}*-])/(?:home|root|work|Users)/[\w.-]+")
    found = []
    for path in tree.files():
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        found += [f"{tree.name(path)}: {match}" for match in pattern.findall(text)]
    assert not found, "\n".join(found)


def test_no_number_is_read_as_a_locale_has_it():
    pattern = re.compile(r"\b(?:strto(?:d|f|ld)|ato[f]|sto(?:d|f|ld))\(")
    found = [f"{tree.name(path)}: {match}" for path in tree.sources() if not tree.name(path).startswith("tests/")
             for match in pattern.findall(path.read_text())]
    assert not found, "read_double of runtime/read_number.h reads alike in every locale: " + ", ".join(found)


def test_the_budgets_fit_into_the_total():
    budgets = tomllib.loads((tree.ROOT / "tests/budgets.toml").read_text())
    minutes = budgets["setup"] + sum(sum(budgets[table].values()) for table in ("builds", "folders", "sanitizers"))
    assert minutes <= budgets["total"]


def test_every_test_lies_in_a_folder_with_a_budget():
    budgets = tomllib.loads((tree.ROOT / "tests/budgets.toml").read_text())["folders"]
    tests = [path for path in tree.files(".cc", ".py", below="tests") if path.stem.endswith("_test")]
    stray = [tree.name(path) for path in tests if not tree.name(path).removeprefix("tests/").startswith(tuple(f + "/" for f in budgets))]
    assert not stray, f"in no folder of tests/budgets.toml: {', '.join(stray)}"


def test_the_virtual_environment_holds_what_the_wheel_requires():
    project = tomllib.loads((tree.ROOT / "pyproject.toml").read_text())
    required = {*project["project"]["dependencies"], *project["build-system"]["requires"]}
    lines = (tree.ROOT / "packages/python.txt").read_text().splitlines()
    listed = {line.split("#")[0].strip() for line in lines} - {""}
    assert required <= listed
