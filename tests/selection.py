"""Which tests the words of `./tw test` choose. Names are looked for in the sources, so that only the programs that hold
such tests are built and run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

TESTS = Path(__file__).resolve().parent
CPP_TEST = re.compile(r"^TEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\)", re.MULTILINE)
CPP_INSTANCES = re.compile(r"^INSTANTIATE_TEST_SUITE_P\(\s*(\w+),", re.MULTILINE)
PYTHON_TEST = re.compile(r"^ *(?:def|class) ([Tt]est\w*)", re.MULTILINE)


@cache
def sources(folder: str) -> tuple[Path, ...]:
    """The files with tests of a folder below tests/."""
    return tuple(sorted(file for file in (TESTS / folder).rglob("*_test.*") if file.suffix in (".cc", ".py")))


@cache
def tests_in(file: Path) -> tuple[str, ...]:
    """What tests of a file are called, without their parameters: Suite.Name, or a function of Python."""
    text = file.read_text()
    if file.suffix == ".py":
        return tuple(PYTHON_TEST.findall(text))
    return tuple(f"{suite}.{name}" for suite, name in CPP_TEST.findall(text))


def holds(file: Path, name: str) -> bool:
    """Whether a test of the file has that part in its name; parameters and their names are not looked at."""
    if file.suffix == ".py":
        known = [text.lower() for text in (*tests_in(file), file.stem)]
        return any(fnmatchcase(text, f"*{name.split('[')[0].lower()}*") for text in known)
    # Of Prefix/Suite.Name/parameter the longest part is the most telling.
    known = (*tests_in(file), *CPP_INSTANCES.findall(file.read_text()))
    return any(fnmatchcase(text, f"*{max(name.split('/'), key=len)}*") for text in known)


@dataclass(frozen=True)
class Selection:
    """`rows` are folders of tests and rows that are none (headers, sanitizers). Files narrow their own folder; names narrow
    the folders that hold tests of such a name."""

    rows: frozenset[str]
    files: frozenset[Path] = frozenset()
    names: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()  # names that no source holds; a parameter may be called so

    def names_in(self, folder: str) -> list[str]:
        return [name for name in self.names if any(holds(file, name) for file in sources(folder))] + list(self.unknown)

    def files_of(self, folder: str) -> list[Path]:
        """The files of a folder that hold chosen tests."""
        files = [file for file in sources(folder) if file in self.files] or list(sources(folder))
        names = self.names_in(folder)
        return [file for file in files if any(holds(file, name) for name in names)] or files

    def pattern(self, folder: str) -> str:
        """The GoogleTest filter for a folder."""
        if names := self.names_in(folder):
            return ":".join(f"*{name}*" for name in names)
        files = [file for file in sources(folder) if file in self.files]
        return ":".join(f"{test}:*/{test}/*" for file in files for test in tests_in(file)) or "*"

    def narrowed(self, folders: list[str]) -> list[str]:
        """Of the folders that a sanitizer runs, those that it shall: the ones that hold a name, if there are any."""
        named = [folder for folder in folders if self.names_in(folder)]
        return named or folders


def select(words: list[str], folders: tuple[str, ...], others: tuple[str, ...], sanitizers: tuple[str, ...]) -> Selection:
    """What the words choose of these folders of tests, sanitizers (which run C++ folders) and other rows; no words: all.

    A name that a given folder holds narrows it. One that no given folder holds is looked for in all folders.
    """
    known = (*folders, *others, *sanitizers)
    rows: set[str] = set()
    files: set[Path] = set()
    names: list[str] = []
    for word in words:
        path = Path(word).resolve()
        if path.exists() and path.is_relative_to(TESTS):
            word = path.relative_to(TESTS).as_posix()
        matching = [row for row in known if row == word or row.startswith(word.rstrip("/") + "/") or word.startswith(row + "/")]
        rows.update(matching)
        if matching and path.is_file():
            files.add(path)
        elif not matching:
            names.append(word)
    if not words:
        return Selection(frozenset(known))
    unknown = []
    for name in names:
        holding = {folder for folder in folders if any(holds(file, name) for file in sources(folder))}
        if not holding:
            unknown.append(name)
            rows.update(() if rows else folders)
        elif not rows & {*holding, *sanitizers}:
            rows |= holding
    return Selection(frozenset(rows), frozenset(files), tuple(name for name in names if name not in unknown), tuple(unknown))
