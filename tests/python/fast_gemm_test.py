"""The schedules of docs/fast_gemm.md compute products, and their page shows what the script holds."""

import importlib.util
import re
from pathlib import Path

import pytest
import tilewright as tw

DOCS = Path(__file__).resolve().parents[2] / "docs"


def load():
    spec = importlib.util.spec_from_file_location("fast_gemm", DOCS / "fast_gemm.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


fast_gemm = load()


@pytest.mark.parametrize("step", fast_gemm.STEPS)
@pytest.mark.parametrize("size", [(96, 96, 64), (50, 131, 33)], ids=str)
def test_every_step_computes_the_product(step, size):
    threads = 3 if step in fast_gemm.PARALLEL else 1
    kernel = fast_gemm.Kernel(step, *size, threads=threads)
    tw.runtime.set_num_threads(threads)
    kernel.run()
    assert kernel.error() < 1e-5


@pytest.mark.parametrize("words", [["--size=x"], ["--size=8,8"], ["--size=8,8,0"], ["--threads=1,"], ["--threads=0"]])
def test_wrong_words_are_refused(words, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["fast_gemm.py", *words])
    with pytest.raises(SystemExit):
        fast_gemm.main()
    assert "invalid numbers value" in capsys.readouterr().err


def test_the_table_needs_80_columns(capsys):
    fast_gemm.print_table([((1024, 1024, 1024), "vectorized", 64, 1e13, 0.99, {"fma": 240, "loads": 100, "stores": 0, "stack": 0})])
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


def test_blocks_of_rows():
    """What does not fit into half of L2 is walked in blocks; here a small L2 makes several."""
    A, B, C = fast_gemm.product(200, 96, 64, True)
    machine = fast_gemm.Machine("llvm", threads=2, l2_bytes=32 << 10)
    text = str(tw.lower(fast_gemm.parallel(A, B, C, machine), [A, B, C], simple_mode=True))
    assert re.search(r"parallel \(i\.outer\.outer\.j\.outer\.fused", text), text


@pytest.mark.parametrize("step", ["registers", "packed", "ahead"])
def test_sums_stay_in_registers(step):
    counts = fast_gemm.counts(fast_gemm.Kernel(step, 1024, 1024, 64).inner_loop())
    assert counts["fma"] == fast_gemm.Machine("llvm").registers * 3 // 4
    assert counts["stores"] == counts["stack"] == 0


def test_the_table(capsys):
    fast_gemm.print_table(fast_gemm.measure([(48, 48, 16)], [1, 2], ["naive", "parallel"], budget=1e-3, rounds=1))
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1:3] for line in lines[2:]] == [["naive", "1"], ["parallel", "1"], ["parallel", "2"]]


def test_the_page_shows_the_script():
    """Every block of Python in the page is a piece of the script, and every step is there."""
    page, script = (DOCS / "fast_gemm.md").read_text(), (DOCS / "fast_gemm.py").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.S)
    assert blocks
    for block in blocks:
        assert block in script, block
    for step in fast_gemm.STEPS:
        assert re.search(rf"`{step}`", page), step
