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

# What headers name of the standard library and of fmt, and where it is from: any one of these, where several are.
NAMES = {
    "algorithm": r"std::(ranges::\w+|all_of|any_of|none_of|min|max|sort|find|find_if|count|copy|fill|clamp|transform)\b",
    "array": r"std::array\b",
    "atomic": r"std::(atomic|memory_order)\w*",
    "bit": r"std::(bit_cast|bit_ceil|bit_width|popcount|has_single_bit|countr_zero)\b",
    "charconv": r"std::(from_chars|to_chars)\b",
    "chrono": r"std::chrono::",
    "cmath": r"std::(sqrt|log|log2|exp|pow|floor|ceil|round|isnan|isfinite)\b",
    "cstdint": r"\bu?int(8|16|32|64)_t\b",
    "cstring": r"std::(memcpy|memset|memcmp|strlen)\b",
    "deque": r"std::deque\b",
    "exception": r"std::(exception|exception_ptr|current_exception|rethrow_exception)\b",
    "filesystem": r"std::filesystem::",
    "functional": r"std::(function|less|greater|hash)\b",
    "future": r"std::(promise|future|shared_future)\b",
    "limits": r"std::numeric_limits\b",
    "list": r"std::list\b",
    "map": r"std::map\b",
    "memory": r"std::(shared_ptr|unique_ptr|weak_ptr|make_shared|make_unique|enable_shared_from_this)\b",
    "mutex": r"std::(mutex|lock_guard|unique_lock|once_flag)\b",
    "numeric": r"std::(gcd|lcm|iota|accumulate)\b",
    "optional": r"std::(optional|nullopt)\b",
    "random": r"std::(mt19937_64|\w+_distribution)\b",
    "set": r"std::set\b",
    "span": r"std::span\b",
    "stdexcept": r"std::(runtime_error|logic_error|invalid_argument|out_of_range)\b",
    "string": r"std::(string|to_string)\b",
    "string_view": r"std::string_view\b",
    "system_error": r"std::(errc|error_code)\b",
    "thread": r"std::(thread|this_thread)\b",
    "tuple": r"std::(tuple|make_tuple|apply|tie)\b",
    "type_traits": r"std::(is_\w+_v|remove_\w+_t|decay_t|enable_if_t|conditional_t)\b",
    "unordered_map": r"std::unordered_map\b",
    "unordered_set": r"std::unordered_set\b",
    "utility": r"std::(move|pair|swap|exchange|forward|index_sequence|make_index_sequence)\b",
    "variant": r"std::(variant|monostate|holds_alternative|get_if|visit)\b",
    "vector": r"std::vector\b",
    "fmt/format.h": r"fmt::(format|to_string|formatter)\b",
}
COMMENT = re.compile(r"//.*")


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


def test_headers_include_what_they_name_of_the_standard_library():
    """Each header is compiled alone, with what most sources include in front of it (cmake/precompiled/std.h): that finds
    all that is missing but this."""
    wrong = []
    for path in tree.files(".h"):
        if tree.folder_of(tree.name(path)) in (None, *tree.TOP):
            continue
        text = COMMENT.sub("", path.read_text())
        included = {name for _, name in INCLUDE.findall(text)}
        if "stdint.h" in included:  # headers for C
            included.add("cstdint")
        wrong += [f"{tree.name(path)} names {found.group()}, of <{header}>"
                  for header, pattern in NAMES.items() if header not in included and (found := re.search(pattern, text))]
    assert not wrong, "\n".join(wrong)
