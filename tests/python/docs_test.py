"""The examples of README.md and docs/ run as they stand, and print what is shown; links lead somewhere."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import numpy as np

import tilewright
import numpy_graph
import operators

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(page for folder in ROOT.iterdir() if folder.name not in ("build", "dist") and folder.name[0] != "."
               for page in ([folder] if folder.is_file() else folder.rglob("*")) if page.suffix == ".md")


def blocks(page, language):
    found = re.findall(r"^```(\w*)\n(.*?)^```", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)
    return [text for name, text in found if name == language]


def run(script, cwd, **environment):
    result = subprocess.run([sys.executable, "-c", script], cwd=cwd, capture_output=True, text=True, env=os.environ | environment)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_the_readme(tmp_path):
    by_hand, tuned, network = blocks("README.md", "python")
    assert "trials=64" in tuned
    output = run(by_hand + tuned.replace("trials=64", "trials=2, workers=1"), tmp_path)
    (shown,) = (text for text in blocks("README.md", "") if text.startswith("True "))
    assert output.strip() == shown.strip()
    assert (tmp_path / "tuning.db").is_file()
    assert "between kernels" in run(network, tmp_path)
    assert {"model.so", "graph.json", "graph.params"} <= {path.name for path in (tmp_path / "resnet18").iterdir()}


def test_onnx(tmp_path):
    pytest.importorskip("onnx")
    (script,) = blocks("docs/onnx.md", "python")
    assert run(script, tmp_path).strip() in blocks("docs/onnx.md", "")[0]
    old, new = tilewright.frontend.onnx.opsets()
    assert f"opsets {old} to {new}" in (ROOT / "docs/onnx.md").read_text()


def test_networks(tmp_path):
    pytest.importorskip("onnx")
    scripts = blocks("docs/networks.md", "python")
    output = run("\n".join(scripts), tmp_path)
    assert "['x', 'conv_weight', 'conv_bias', 'norm_gamma'" in output
    assert "tvm_op(" in output and "(1, 10)" in output and "between kernels" in output
    assert "['Conv', 'BatchNormalization', 'Relu'" in output


def test_tensor_intrinsics(tmp_path):
    output = run("\n".join(blocks("docs/tensor_intrinsics.md", "python")), tmp_path)
    assert 'tensorized("copy_line")' in output and 'tensorized("scale_line")' in output


def test_scans_and_externs(tmp_path):
    # A script's source is read from its file.
    script = tmp_path / "scan_and_extern.py"
    script.write_text("\n".join(blocks("docs/scan_and_extern.md", "python")))
    output = run(f"import runpy; runpy.run_path({str(script)!r})", tmp_path)
    assert "produce sums" in output and "G = extern(inputs=[A], outputs=[float32: [4]]" in output
    assert "produce outer" in output


BUILD = ROOT / "build/release"


def compiled_for(source, commands):
    """The file that the build compiles for a source: itself, or the one that joins it with others."""
    included = f'#include "{source}"\n'
    return next(f for f in commands if f == str(ROOT / source) or "/joined/" in f and included in Path(f).read_text())


def with_sources(folder, changed, added):
    """A package in a folder, whose extension module has the folder's variant of a changed source, an added source of the
    folder, and headers of the folder in place of others."""
    commands = {c["file"]: c["command"] for c in json.loads((BUILD / "compile_commands.json").read_text())}
    like = compiled_for(changed, commands)
    # A file of joined sources includes the folder's first.
    sources = [like if "/joined/" in like else folder / changed, folder / added]
    objects, running = [], []
    for source in map(Path, sources):
        words = shlex.split(commands[like])
        objects.append(str(folder / (source.stem + ".o")))
        words[words.index("-o") + 1] = objects[-1]
        words[words.index("-c") + 1] = str(source)
        first = next(k for k, word in enumerate(words) if word.startswith("-I"))
        running.append(subprocess.Popen([*words[:first], f"-I{folder}", *words[first:]], cwd=BUILD))
    assert [process.wait() for process in running] == [0] * len(running)

    (module,) = (BUILD / "python/tilewright").glob("_core*.so")
    lines = subprocess.run(["ninja", "-t", "commands", "-s", str(module.relative_to(BUILD))], cwd=BUILD, capture_output=True, text=True)
    link = lines.stdout.strip().removeprefix(": && ").partition(" && ")[0]
    words = shlex.split(link.replace("\\$", "$"))  # $ORIGIN
    place = words.index("-o")
    package = folder / "tilewright"
    package.mkdir()
    for entry in (BUILD / "python/tilewright").iterdir():
        if entry != module:
            (package / entry.name).symlink_to(entry)
    # Objects win over those of libraries.
    subprocess.run([*words[:place], "-o", str(package / module.name), *objects, *words[place + 2 :]], cwd=BUILD, check=True)


def test_adding_an_operator_to_networks(tmp_path):
    page = (ROOT / "docs/add_an_operator.md").read_text().partition("\n# An operator of networks\n")[2]
    operator, row, reference, script, shown = re.findall(r"^( *)```\w*\n(.*?)^ *```", page, re.MULTILINE | re.DOTALL)
    operator, row, reference, script, shown = (re.sub(f"^{indent}", "", text, flags=re.M) for indent, text in (operator, row, reference, script, shown))
    (tmp_path / "graph/ops").mkdir(parents=True)
    source = tmp_path / "graph/ops/bent_line.cc"
    source.write_text(operator)
    for file in ("graph/op.cc", "graph/ops/families.h"):
        (tmp_path / file).write_text((ROOT / file).read_text())
    (tmp_path / "graph/ops.def").write_text((ROOT / "graph/ops.def").read_text() + row)
    with_sources(tmp_path, "graph/op.cc", "graph/ops/bent_line.cc")
    assert run(script, tmp_path, PYTHONPATH=str(tmp_path)) == shown

    names = {"np": np, "Operator": operators.Operator}
    exec(reference, names)
    (row,) = names["OPERATORS"].values()
    x = np.float32([[-3, -2, -1], [0, 1, 4]])
    assert str(row.reference(numpy_graph.Attributes({"alpha": "0.25"}, {"beta": "0.5"}), x)) in shown
    assert row.cases and row.grow


def test_what_a_row_of_an_operator_may_say_is_listed():
    text = re.sub(r"//.*", "", (ROOT / "graph/op.h").read_text())
    members = re.findall(r"(\w+)(?: = [^;]*)?;", re.search(r"struct Op \{(.*?)\n\};", text, re.DOTALL)[1])
    page = (ROOT / "docs/add_an_operator.md").read_text()
    assert len(members) > 10 and not [m for m in members if f"`{m}`" not in page and f".{m} =" not in page]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links(page):
    links = re.findall(r"\]\(([^)#\s]+)", re.sub(r"^ *```.*?^ *```|`[^`\n]*`", "", page.read_text(), flags=re.M | re.S))
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert not missing
