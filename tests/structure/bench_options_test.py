# SPDX-License-Identifier: Apache-2.0
"""What the driver of the benchmarks asks of the program is what the program takes; long sections would say so late."""

import ast
import re

import pytest
import tree

PROGRAM = (tree.ROOT / "bench/main.cc").read_text()
COMMON = re.search(r'kCommonOptions = "([^"]*)"', PROGRAM)[1].split()
OPTIONS = {name: options.split() for name, options in re.findall(r'\{"([\w-]+)",\s*\w+,\s*"([^"]*)",\s*"', PROGRAM)}


def calls():
    for file in sorted((tree.ROOT / "bench").glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "bench":
                if node.args and isinstance(node.args[0], ast.Constant):
                    yield pytest.param(node.args[0].value, [k.arg for k in node.keywords if k.arg], id=f"{file.name}:{node.lineno}")


@pytest.mark.parametrize("section, options", list(calls()))
def test_the_program_takes_what_it_is_called_with(section, options):
    legal = [name.replace("-", "_") for name in (*COMMON, *OPTIONS[section])]
    assert [name for name in options if name not in legal] == []
