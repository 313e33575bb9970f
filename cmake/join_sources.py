# SPDX-License-Identifier: Apache-2.0
"""Groups sources that may be compiled as one: `join_sources.py ROOT OUT NAME SOURCE...` writes OUT/NAME_<k>.cc, which
includes up to sixteen of them, and prints the files to compile instead, a line each.

A compiler spends more than half of its time on what sources have in common, headers and the code of inline functions.
Two sources are not put together where both keep something of the same name to themselves (in an unnamed namespace, or
static), or where one speaks of a type by the name that a private type of the other has. One whose private types are called
as those of a header, or that changes how names are looked up, stays alone. Sources are formatted, so what a file declares
begins in the first column. Where that is not enough, the compiler says which two names meet: rename one.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

MOST = 16  # sources in one
UNNAMED = re.compile(r"^namespace \{$(.*?)^\}  // namespace$", re.MULTILINE | re.DOTALL)
TYPE = re.compile(r"^(?:struct|class|enum class|enum|union|using) (\w+)\b", re.MULTILINE)
DECLARED = (
    TYPE,
    re.compile(r"^[A-Za-z_][^\n;={]*?(?:[ &*>])(\w+)\(", re.MULTILINE),  # functions
    re.compile(r"^(?:const|constexpr|static|thread_local|inline|std::|[A-Z]\w*)[^\n(;]*?[ &*>](\w+)(?:\[[^\n]*?\])*(?: =|\{|;)",
               re.MULTILINE),  # constants and variables
    re.compile(r"\b(k[A-Z]\w*)(?: =|\{)"),  # constants that share a declaration, wherever they stand in it
    re.compile(r"^#define (\w+)", re.MULTILINE),
)
STATIC = re.compile(r"^static [^\n;={]*?[ &*>](\w+)(?:\(| =|\{)", re.MULTILINE)
LOOKUP = re.compile(r"^using namespace ", re.MULTILINE)


def declared(text: str) -> set[str]:
    return {name for pattern in DECLARED for name in pattern.findall(text)} - {"TEST", "TEST_F", "TEST_P"}


class Source:
    def __init__(self, path: Path, of_headers: set[str]) -> None:
        text = path.read_text()
        self.path = path
        self.words = set(re.findall(r"\w+", text))
        private = "".join(UNNAMED.findall(text))
        self.own = declared(private) | set(STATIC.findall(text)) | set(DECLARED[-1].findall(text))
        self.types = set(TYPE.findall(private))
        self.alone = bool(LOOKUP.search(text) or self.types & of_headers)

    def fits(self, other: Source) -> bool:
        return not (self.own & other.own or self.types & other.words or other.types & self.words)


def groups(sources: list[Source]) -> list[list[Source]]:
    """Neighbours together as far as they fit."""
    result: list[list[Source]] = []
    for source in sources:
        found = None if source.alone else next(
            (g for g in result if len(g) < MOST and not g[0].alone and all(source.fits(s) for s in g)), None)
        if found is None:
            result.append([source])
        else:
            found.append(source)
    return result


def main(root: Path, out: Path, name: str, files: list[str]) -> None:
    of_headers = {name for header in sorted(root.glob("[a-z]*/**/*.h")) if "build" not in header.relative_to(root).parts
                  for name in TYPE.findall(header.read_text())}
    out.mkdir(parents=True, exist_ok=True)
    for k, group in enumerate(groups([Source(Path(file), of_headers) for file in sorted(files)])):
        if len(group) == 1:
            print(group[0].path)
            continue
        joined = out / f"{name}_{k}.cc"
        text = "".join(f'#include "{source.path.relative_to(root)}"\n' for source in group)
        if not joined.exists() or joined.read_text() != text:  # what did not change is not compiled again
            joined.write_text(text)
        print(joined)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4:])
