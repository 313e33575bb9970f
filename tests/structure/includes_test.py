"""Who may include whom: the direction of the folders, and the few files that see a third-party library."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass

import tree

INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.MULTILINE)


@dataclass(frozen=True)
class Library:
    """A third-party library: the headers it is known by, the folders that may include them, and in how many files."""

    headers: str
    folders: tuple[str, ...]
    one_file: bool = False


LIBRARIES = {
    "LLVM": Library(r"(llvm|llvm-c|lld|clang)/", ("lower/llvm/",)),
    "XGBoost": Library(r"xgboost/", ("autotune/",), one_file=True),
    "SQLite": Library(r"sqlite3(ext)?\.h", ("autotune/",), one_file=True),
    "zlib": Library(r"zlib\.h", ("autotune/",), one_file=True),
    "protobuf": Library(r"google/protobuf/", ("graph/onnx/",), one_file=True),
    "oneDNN": Library(r"(oneapi/dnnl/)?dnnl", ("graph/byoc/", "bench/"), one_file=True),
    "OpenBLAS": Library(r"(openblas/)?(cblas|f77blas)", ("graph/byoc/", "bench/")),
    "PyTorch": Library(r"(ATen|c10|torch)/", ("bench/",), one_file=True),
    "pybind11": Library(r"pybind11/", ("python/",)),
    "Google Benchmark": Library(r"benchmark/", ("bench/",)),
    "GoogleTest": Library(r"(gtest|gmock)/", ("tests/",)),
}


def includes() -> list[tuple[str, str, str]]:
    """(file, kind of quote, included path) of every include."""
    return [
        (tree.name(path), quote, included)
        for path in tree.sources()
        if path.suffix in (".cc", ".h", ".def")
        for quote, included in INCLUDE.findall(path.read_text())
    ]


def test_own_headers_are_included_from_the_root():
    wrong = [
        f'{file}: "{included}"'
        for file, quote, included in includes()
        if quote == '"'
        and not (tree.ROOT / included).is_file()
        and not any(re.match(library.headers, included) for library in LIBRARIES.values())
    ]
    assert not wrong, "quoted includes are files of this tree, written from its root:\n" + "\n".join(wrong)


def test_a_folder_includes_only_folders_to_its_left():
    wrong = []
    for file, _, included in includes():
        source, target = tree.folder_of(file), tree.folder_of(included)
        if source is None or target is None or source == target:
            continue
        if source == "tests":  # they may look at everything
            continue
        if target in tree.TOP or source not in tree.TOP and tree.DIRECTION.index(target) > tree.DIRECTION.index(source):
            wrong.append(f"{file} ({source}) includes {included} ({target})")
    assert not wrong, f"the direction is {' <- '.join(tree.DIRECTION)} <- {', '.join(tree.TOP)}:\n" + "\n".join(wrong)


def test_third_party_headers_stay_in_their_folder():
    wrong = [
        f"{file} includes {included}: only {' and '.join(library.folders)} may include {name}"
        for file, _, included in includes()
        for name, library in LIBRARIES.items()
        if re.match(library.headers, included) and not file.startswith(library.folders)
    ]
    assert not wrong, "\n".join(wrong)


def test_some_libraries_are_seen_by_one_file_of_a_folder():
    users = defaultdict(set)
    for file, _, included in includes():
        for name, library in LIBRARIES.items():
            if library.one_file and re.match(library.headers, included):
                users[name, tree.folder_of(file)].add(file)
    wrong = [f"{name}: {', '.join(sorted(files))}" for (name, _), files in users.items() if len(files) > 1]
    assert not wrong, "included by more than one file:\n" + "\n".join(wrong)


def test_runtime_headers_are_free_of_json():
    wrong = [
        file
        for file, _, included in includes()
        if file.startswith("runtime/") and file.endswith(".h") and included.startswith("nlohmann/")
    ]
    assert not wrong, f"what ships with a kernel must not ask its users for nlohmann-json: {wrong}"
