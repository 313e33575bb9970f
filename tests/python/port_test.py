# SPDX-License-Identifier: Apache-2.0
"""docs/port.md says which names of TVM's there are."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def make_port():
    spec = importlib.util.spec_from_file_location("make_port", ROOT / "python" / "port" / "make_port.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_current():
    port = make_port()
    assert port.FILE.read_text() == port.page(), "run ./tw python python/port/make_port.py"


def test_what_is_said_of_a_name():
    port = make_port()
    row, text = port.section("te", {"names": "compute gradient no_such_name sum", "changed": {"sum": "differs"},
                                    "instead": {"gradient": "the graph"}})
    assert row == "| [te](#te) | 1 | 1 | 2 |\n"
    assert "Have:\n`compute`\n" in text and "| `sum` | differs |" in text
    assert "| `gradient` | the graph |" in text and "Lack:\n`no_such_name`\n" in text
    assert "`create_schedule`" in text.split("Ours:")[1]


def test_what_stands_in_place_of_a_name_is_there():
    """Names in backquotes that begin with a module of ours."""
    import re

    port = make_port()
    for path in re.findall(r"`((?:te|tir|topi|tilewright)\.[\w.]+)", (port.FOLDER / "tvm_0_8.toml").read_text()):
        assert port.found(path.removeprefix("tilewright.")) is not None, path
