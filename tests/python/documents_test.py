"""The notebooks that the graph layer comes from: their code runs, and prints what they show."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
from run_document import MARK, cells  # noqa: E402

DOCUMENTS = sorted((ROOT / "tests/documents").glob("*.txt"))


def normal(text):
    """Lines without the order of attributes, and without our own debug log."""
    text = re.sub(r"^DEBUG:tilewright.*\n", "", text, flags=re.M)
    return [sorted(line.translate(str.maketrans("()[]", ",,,,")).replace(" ", "").split(",")) for line in text.strip("\n").split("\n")]


def is_there(kind, expected, printed):
    """Where what is expected ends among the printed lines; None where it is not there."""
    lines, found = normal(expected), normal(printed)
    if kind == "begins":
        lines = lines[:-1]  # the notebook cuts the last line off
    starts = range(len(found) - len(lines) + 1) if kind == "goes on" else [0]
    if kind == "" and len(found) != len(lines):
        return False
    return any(found[k : k + len(lines)] == lines for k in starts)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.stem)
def test_a_document_prints_what_it_shows(document):
    written = cells(document.read_text(encoding="utf-8"))
    runner = ROOT / "tests/support/run_document.py"
    run = subprocess.run([sys.executable, runner, document], capture_output=True, text=True, env=os.environ, timeout=300)
    assert run.returncode == 0, run.stderr[-2000:]
    printed = run.stdout.split(f"{MARK}\n")[1:]
    assert len(printed) == len(written)
    compared = 0
    for (code, outputs), text in zip(written, printed, strict=True):
        for kind, expected in outputs:
            assert is_there(kind, expected, text), f"{code}\nprints\n{text[:3000]}\nand not\n{expected}"
            compared += 1
    assert compared == sum(len(outputs) for _, outputs in written) > 0


def test_what_a_document_does_not_show_is_noticed():
    shown = "Graph(%x) {\n  %1 = relu(%x, a='1', b='2')\n}\ngraph_attr_keys = [shape, dtype]"
    assert is_there("", shown, shown.replace("a='1', b='2'", "b='2', a='1'"))
    assert not is_there("", shown, shown.replace("b='2'", "b='3'"))
    assert not is_there("", shown, shown + "\nmore")
    assert is_there("goes on", "}", shown) and not is_there("goes on", "{", shown)
    assert is_there("begins", shown[:40], shown) and not is_there("begins", "x\ny", shown)
