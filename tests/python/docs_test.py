"""The examples of README.md and docs/ run as they stand, and print what is shown; links lead somewhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(page for folder in ROOT.iterdir() if folder.name not in ("build", "dist") and folder.name[0] != "."
               for page in ([folder] if folder.is_file() else folder.rglob("*")) if page.suffix == ".md")


def blocks(page, language):
    found = re.findall(r"^```(\w*)\n(.*?)^```", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)
    return [text for name, text in found if name == language]


def run(script, cwd):
    result = subprocess.run([sys.executable, "-c", script], cwd=cwd, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_the_readme(tmp_path):
    by_hand, tuned = blocks("README.md", "python")
    assert "trials=64" in tuned
    output = run(by_hand + tuned.replace("trials=64", "trials=2, workers=1"), tmp_path)
    (shown,) = (text for text in blocks("README.md", "") if text.startswith("True "))
    assert output.strip() == shown.strip()
    assert (tmp_path / "tuning.db").is_file()


def test_tensor_intrinsics(tmp_path):
    (script,) = blocks("docs/tensor_intrinsics.md", "python")
    assert 'tensorized("copy_line")' in run(script, tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links(page):
    links = re.findall(r"\]\(([^)#\s]+)", re.sub(r"^ *```.*?^ *```|`[^`\n]*`", "", page.read_text(), flags=re.M | re.S))
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert not missing
