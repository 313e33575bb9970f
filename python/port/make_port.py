# SPDX-License-Identifier: Apache-2.0
"""Writes docs/port.md from the names of TVM 0.8 (tvm_0_8.toml) and the package's real surface:
`./tw python python/port/make_port.py`. A test checks that it is current.
"""

from __future__ import annotations

import textwrap
import tomllib
from pathlib import Path
from types import ModuleType

import tilewright

FOLDER = Path(__file__).resolve().parent
FILE = FOLDER.parents[1] / "docs" / "port.md"
WIDTH = 120
HEAD = """\
# Porting scripts from TVM

A script of TVM 0.8's `te`, `tir` expressions and `topi` ports by its imports: `import tilewright as tvm` and
`from tilewright import te, tir, topi`. Below stands every name of theirs: those that there are, with what differs of them, and
those that there are not, with what does the same. `python/port/make_port.py` writes this page from the package itself.

| module | have | changed | lack |
|---|---|---|---|
"""


def found(path: str) -> object:
    """The module or class, or None."""
    value: object = tilewright
    for part in path.split("."):
        value = getattr(value, part, None)
    return value


def public(owner: object) -> set[str]:
    """Names of a module or class that are not those of modules within."""
    if owner is None:
        return set()
    return {n for n in dir(owner) if not n.startswith("_") and not isinstance(getattr(owner, n, None), ModuleType)}


def in_order(names: set[str]) -> list[str]:
    return sorted(names, key=lambda name: (name.lower(), name))


def listed(names: list[str]) -> str:
    return "\n".join(textwrap.wrap(", ".join(f"`{n}`" for n in names), WIDTH, break_on_hyphens=False)) + "\n"


def table(heading: str, rows: list[tuple[str, str]]) -> str:
    lines = "".join(f"| `{name}` | {note} |\n" for name, note in rows)
    return f"| {heading} | |\n|---|---|\n{lines}\n"


def section(path: str, entry: dict) -> tuple[str, str]:
    """The row of the overview, and the text, of one module."""
    owner = found(path)
    names = in_order(set(entry["names"].split()))
    has = {n for n in names if owner is not None and getattr(owner, n, None) is not None}
    changed, instead = entry.get("changed", {}), entry.get("instead", {})
    unknown = (changed.keys() | instead.keys()) - set(names)
    assert not unknown, f"notes on names that are not listed: {unknown}"
    have = [n for n in names if n in has and n not in changed]
    differs = [(n, changed[n]) for n in names if n in has and n in changed]
    lack = [n for n in names if n not in has]
    text = f"## {path}\n\n"
    if have:
        text += "Have:\n" + listed(have) + "\n"
    if differs:
        text += table("changed", differs)
    if noted := [(n, instead[n]) for n in lack if n in instead]:
        text += table("instead of", noted)
    if bare := [n for n in lack if n not in instead]:
        text += "Lack:\n" + listed(bare) + "\n"
    around = found(path.rpartition(".")[0]) if isinstance(owner, ModuleType) else None
    if own := in_order(public(owner) - set(names) - public(around)):
        text += "Ours:\n" + listed(own) + "\n"
    return f"| [{path}](#{path.lower().replace('.', '')}) | {len(have)} | {len(differs)} | {len(lack)} |\n", text


def page() -> str:
    entries = tomllib.loads((FOLDER / "tvm_0_8.toml").read_text())
    rows, texts = zip(*(section(path, entry) for path, entry in entries.items()), strict=True)
    rows = list(rows)
    for k, path in enumerate(entries):  # the second heading of a name that differs in case has a number
        if sum(p.lower() == path.lower() for p in list(entries)[:k]):
            rows[k] = rows[k].replace(")", "-1)", 1)
    return HEAD + "".join(rows) + "\n" + "".join(texts).rstrip() + "\n"


if __name__ == "__main__":
    FILE.write_text(page())
