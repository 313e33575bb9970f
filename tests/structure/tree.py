"""What the structure tests know of the source tree."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# A folder includes only folders to its left, and itself.
AUTOTUNE = tuple(f"autotune/{inner}" for inner in ("task", "log", "measure", "worker", "space", "cost", "learn", "search", "study"))
DIRECTION = ("runtime", "ir", "schedule/te", "schedule", "schedule/topi", "lower", *AUTOTUNE, "autotune", "graph")
# These may include every folder above, but not each other.
TOP = ("python", "bench", "tests")

MADE = {"build", "dist", "__pycache__"}


def files(*suffixes: str, below: str = ".") -> Iterator[Path]:
    """Files of the checkout with one of these suffixes (none: all), without what is made and what git keeps (a
    file in a work tree that shares another's repository)."""
    for directory, names, members in os.walk(ROOT / below):
        names[:] = sorted(name for name in names if name not in MADE and (name == ".ci" or not name.startswith(".")))
        for member in sorted(members):
            path = Path(directory, member)
            if member != ".git" and path.is_file() and (not suffixes or path.suffix in suffixes):
                yield path


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def sources() -> list[Path]:
    """C++ sources and headers, and Python files, of all folders."""
    folders = sorted({folder.split("/")[0] for folder in (*DIRECTION, *TOP)})
    return [path for folder in folders for path in files(".cc", ".h", ".def", ".py", below=folder)]


def folder_of(file: str) -> str | None:
    """The most specific folder of DIRECTION or TOP that holds a file, given by its path from the root."""
    holding = [folder for folder in (*DIRECTION, *TOP) if file.startswith(folder + "/")]
    return max(holding, key=len, default=None)
