"""The command `autotune`: output, exit status, bad input, signals."""

import fcntl
import io
import json
import os
import pty
import re
import select
import shlex
import signal
import sqlite3
import struct
import subprocess
import sys
import termios
import time

import pytest

from tilewright import autotune
from tilewright.cli import report

SCRIPT = os.path.join(os.path.dirname(sys.executable), "autotune")
TINY = "gemm:m=16,n=16,k=16"
# As long as a run may take before it is interrupted.
SMALL = ["--threads=1", "--workers=2"]
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "TILEWRIGHT_DEBUG"}


def command(*arguments):
    return [sys.executable, "-m", "tilewright.cli", *arguments]


def run(*arguments, cwd, **options):
    return subprocess.run(command(*arguments), cwd=cwd, capture_output=True, text=True, env=ENVIRONMENT, **options)


def records(path):
    return len(autotune.Log(path)) if os.path.exists(path) else 0


def test_a_run_without_terminal(tmp_path):
    result = run(TINY, "softmax:m=8,n=8", "--trials=8", "--json=result.json", *SMALL, cwd=tmp_path)
    assert result.returncode == 0, result
    lines = result.stdout.splitlines()
    assert "\x1b" not in result.stdout
    assert sum(line.startswith("[") for line in lines) == 8
    assert any(re.match(r"gemm:m=16,n=16,k=16 .*\d", line) for line in lines)
    assert "log: tuning.db" in lines
    assert records(tmp_path / "tuning.db") == 8
    value = json.loads((tmp_path / "result.json").read_text())
    assert [t["workload"] for t in value["tasks"]] == [TINY, "softmax:m=8,n=8"]
    assert sum(t["trials"] for t in value["tasks"]) == 8
    assert value["tasks"][0]["best_seconds"] > 0 and value["peak_gflops"] > 0

    # The replay command works as it was printed.
    (replay,) = [line.removeprefix("replay: ") for line in lines if line.startswith("replay: ")]
    shell = subprocess.run(shlex.split(replay), cwd=tmp_path, capture_output=True, text=True, env=ENVIRONMENT)
    assert shell.returncode == 0, shell
    assert TINY in shell.stdout and "same" in shell.stdout


@pytest.mark.parametrize(("name", "encoding"), [
    (b"a b.db", "utf-8"), ("\u00fc\u4e2d.db".encode(), "ascii"), (b"\xff.db", "utf-8")])
def test_any_name_of_a_log(tmp_path, name, encoding):
    for arguments in ([TINY, "--trials=2", "--workers=1"], [TINY, "--replay"]):
        result = subprocess.run([*command(*arguments), "--threads=1", b"--log=" + name], cwd=tmp_path,
                                capture_output=True, env=ENVIRONMENT | {"PYTHONIOENCODING": encoding})
        assert result.returncode == 0 and result.stderr == b"", result
    assert os.listdir(os.fsencode(tmp_path)) == [name]


def test_json_on_standard_output(tmp_path):
    result = run(TINY, "--trials=2", "--json=-", *SMALL, cwd=tmp_path)
    assert result.returncode == 0, result
    assert json.loads(result.stdout)["tasks"][0]["trials"] == 2
    assert "replay: " in result.stderr


def test_a_terminal_of_80_columns(tmp_path):
    status, screen = run_in_terminal(tmp_path, TINY, "conv2d_bias_relu:n=1,ci=8,h=8,w=8,co=8,k=3,s=1,p=1", "--trials=8", *SMALL)
    assert status == 0, screen
    assert "trial 8/8" in screen and "ETA" in screen and "best GF/s" in screen and "failures: " in screen
    assert "replay: " in screen
    table = screen[screen.rindex("untuned"):]
    assert re.search(r"gemm:m=16,n=16,k=16 +[\d.]+ .s +[\d.]+ .s", table), table


def final_table(monkeypatch, columns, name="conv2d_bias_relu:resnet50.3", terminal=True):
    """Lines of the final table for one workload; without `columns` their number is not limited."""

    class Stream(io.StringIO):
        def isatty(self):
            return terminal

    row = {"workload": name, "untuned_seconds": 1e-3, "best_seconds": 1e-4, "gflops": 1234.5,
           "percent_of_peak": 55.0, "trials": 1000, "failures": {}}
    stream = Stream()
    if columns:
        monkeypatch.setenv("COLUMNS", str(columns))
    else:
        monkeypatch.delenv("COLUMNS", raising=False)
    report.print_result({"tasks": [row], "peak_gflops": 1, "threads": 1, "seconds": 1, "interrupted": False,
                         "log": "tuning.db", "replay": "autotune"}, stream)
    lines = stream.getvalue().splitlines()
    return lines[:next(k for k, line in enumerate(lines) if line.startswith("measured"))]


FIGURES = r"1\.00 ms +100 us +1234\.5 +55 +1000 +0$"


@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize("columns", [80, 72])
def test_lines_fit_a_terminal(monkeypatch, columns, terminal):
    lines = final_table(monkeypatch, columns, terminal=terminal)
    assert re.fullmatch(r"conv2d_bias_relu:resnet50\.3 +" + FIGURES, lines[-1])
    assert max(map(len, lines)) <= columns


def test_every_named_workload_has_one_line_of_80_columns(monkeypatch):
    for kind_and_name, *_ in autotune.named_workloads():
        *_, line = lines = final_table(monkeypatch, 80, kind_and_name)
        assert re.fullmatch(re.escape(kind_and_name) + " +" + FIGURES, line)
        assert max(map(len, lines)) <= 80


SIZES = "conv2d_bias_relu:n=1,ci=1024,h=14,w=14,co=2048,k=1,s=2,p=0,dtype=float32"


def test_figures_stand_below_a_name_that_leaves_no_room_for_them(monkeypatch):
    *_, name, figures = lines = final_table(monkeypatch, 80, SIZES)
    assert name == SIZES and re.fullmatch(" +" + FIGURES, figures) and max(map(len, lines)) <= 80


def test_a_row_in_a_file_is_a_line(monkeypatch):
    assert re.fullmatch(SIZES + " +" + FIGURES, final_table(monkeypatch, None, SIZES, terminal=False)[-1])


@pytest.mark.parametrize("columns", [40, 20])
def test_a_narrow_terminal_shows_all_numbers(monkeypatch, columns):
    first, *others = final_table(monkeypatch, columns)
    assert first == "conv2d_bias_relu:resnet50.3"
    assert max(map(len, others)) <= columns
    found = " ".join(line.strip() for line in others)
    for figure in ("untuned 1.00 ms", "best 100 us", "GFLOP/s 1234.5", "% peak 55", "trials 1000", "failed 0"):
        assert figure in found


@pytest.mark.parametrize(("columns", "term"), [(40, "xterm"), (80, "dumb")])
def test_other_terminals(tmp_path, columns, term):
    status, screen = run_in_terminal(tmp_path, TINY, "--trials=2", *SMALL, columns=columns, term=term)
    assert status == 0, screen
    assert re.search(r"\d [num]s\b", screen) and "replay: " in screen
    assert ("[2/2]" in screen) == (term == "dumb")


def run_in_terminal(cwd, *arguments, interrupt_after=None, log="tuning.db", columns=80, term="xterm"):
    """Exit status and what stood on the screen, without colours. `interrupt_after`: trials before Ctrl-C."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    child = subprocess.Popen(
        command(*arguments), cwd=cwd, stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
        env=ENVIRONMENT | {"TERM": term}, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    os.close(slave)
    output = b""
    while True:
        if select.select([master], [], [], 0.05)[0]:
            try:
                data = os.read(master, 65536)
            except OSError:
                break
            if not data:
                break
            output += data
        if interrupt_after is not None and records(cwd / log) >= interrupt_after:
            os.write(master, b"\x03")
            interrupt_after = None
    os.close(master)
    return child.wait(), re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", output.decode(errors="replace"))


def test_control_c_in_a_terminal(tmp_path):
    status, screen = run_in_terminal(tmp_path, TINY, "--trials=100000", *SMALL, interrupt_after=4)
    assert status == 130, screen
    assert "interrupted" in screen and "replay: " in screen and "Traceback" not in screen
    assert records(tmp_path / "tuning.db") >= 4


def test_a_second_control_c_stops_at_once(tmp_path):
    child = start_and_wait(tmp_path, 2, TINY, "--trials=100000", *SMALL)
    for _ in range(200):
        child.send_signal(signal.SIGINT)
        if child.poll() is not None:
            break
        time.sleep(0.02)
    _, errors = child.communicate(timeout=300)
    assert child.returncode == 130 and "Traceback" not in errors
    assert records(tmp_path / "tuning.db") >= 2


@pytest.mark.skipif(not os.path.exists(SCRIPT), reason="not in the .venv of a checkout")
def test_control_c_while_it_starts(tmp_path):
    for delay in range(0, 200, 20):
        child = subprocess.Popen([SCRIPT, "--list"], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        time.sleep(delay / 1000)
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=300)
        assert errors == "" and child.returncode in (0, 130, -signal.SIGINT)


def test_a_time_limit(tmp_path):
    result = run(TINY, "--trials=100000", "--time-limit=1", "--json=r.json", *SMALL, cwd=tmp_path)
    value = json.loads((tmp_path / "r.json").read_text())
    assert value["stopped"]
    # A busy machine may not have timed a single candidate.
    assert result.returncode == (0 if value["tasks"][0]["best_seconds"] else 1), result


def start_and_wait(cwd, trials, *arguments):
    """A run with at least so many trials in its log."""
    child = subprocess.Popen(command(*arguments), cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
    deadline = time.monotonic() + 300
    while records(cwd / "tuning.db") < trials:
        assert child.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    return child


def test_sigterm_finishes_cleanly(tmp_path):
    child = start_and_wait(tmp_path, 3, TINY, "--trials=100000", *SMALL)
    child.send_signal(signal.SIGTERM)
    _, errors = child.communicate(timeout=300)
    assert child.returncode == 143 and errors == ""


def test_kill_and_resume_lose_nothing(tmp_path):
    child = start_and_wait(tmp_path, 5, TINY, "--trials=100000", *SMALL)
    child.kill()
    child.communicate()
    before = records(tmp_path / "tuning.db")
    assert before >= 5
    result = run(TINY, f"--trials={before + 3}", "--resume", "--json=r.json", *SMALL, cwd=tmp_path)
    assert result.returncode == 0, result
    assert records(tmp_path / "tuning.db") == before + 3
    assert json.loads((tmp_path / "r.json").read_text())["tasks"][0]["trials"] == before + 3


def test_without_resume_earlier_trials_do_not_count(tmp_path):
    for total in (3, 6):
        assert run(TINY, "--trials=3", *SMALL, cwd=tmp_path).returncode == 0
        assert records(tmp_path / "tuning.db") == total


def test_list(tmp_path):
    result = run("--list", cwd=tmp_path)
    assert result.returncode == 0
    assert re.search(r"\* conv2d_bias_relu:resnet50\.3 +n=1,ci=64", result.stdout)
    assert re.search(r"\n  gemm:m,n,k.*\n.*\n +dtype=float32, .*u8s8s32", result.stdout)
    assert re.search(r"\n\* convnet  .*\n  mlp ", result.stdout)
    assert max(map(len, result.stdout.splitlines())) <= 80
    value = json.loads(run("--list", "--json=-", cwd=tmp_path).stdout)
    assert {"name": "mlp", "doc": "three products with relu between them", "default": False} in value["networks"]
    assert {"name", "sizes", "source", "default"} == set(value["workloads"][0])
    assert "bf16bf16f32" in next(kind["dtypes"] for kind in value["kinds"] if kind["kind"] == "gemm")


def test_help_fits_a_terminal_of_80_columns(tmp_path, monkeypatch):
    monkeypatch.setitem(ENVIRONMENT, "COLUMNS", "80")
    result = run("--help", cwd=tmp_path)
    assert result.returncode == 0 and max(map(len, result.stdout.splitlines())) <= 80


def write(path, content):
    path.write_bytes(content)


def execute(path, statement):
    database = sqlite3.connect(path)
    database.execute(statement)
    database.commit()
    database.close()


def foreign(path):
    execute(path, "CREATE TABLE notes (text TEXT)")


def newer(path):
    autotune.tune(TINY, path, trials=1, threads=1, workers=1)
    execute(path, "PRAGMA user_version = 9999")


@pytest.mark.parametrize(("arguments", "said"), [
    (["gemm:bert.fnn"], "gemm:bert.ffn"),
    (["conv:resnet50.3"], "conv2d_bias_relu:resnet50.3"),
    (["gemm:m=0,n=4,k=4"], "m"),
    (["gemm:m=4,n=4"], "k"),
    (["gemm:m=4,n=4,k=4,q=4"], "q"),
    (["gemm:m=4000000000,n=4,k=4"], "m"),
    (["conv2d:ci=3,h=2,w=2,co=4,k=5"], "k"),
    (["gemm:m=x,n=4,k=4"], "m"),
    ([TINY, "--trials=0"], "--trials"),
    ([TINY, "--trials=many"], "--trials"),
    ([TINY, "--timeout=0"], "--timeout"),
    ([TINY, f"--trials={2**31}"], "--trials"),
    ([TINY, f"--threads={10**30}"], "--threads"),
    ([TINY, f"--workers={10**30}"], "--workers"),
    ([TINY, f"--seed={2**64}"], "--seed"),
    ([TINY, "--seed=" + "9" * 400], "--seed"),
    ([TINY, "--seed=" + "9" * 5000], "--seed"),
    ([TINY, "--timeout=inf"], "--timeout"),
    ([TINY, "--time-limit=-1"], "--time-limit"),
    ([TINY, "--threads=0"], "--threads"),
    ([TINY, "--threads=1000000"], "threads"),
    ([TINY, "--model=forest"], "xgboost"),
    ([TINY, "--transfer=pretraind"], "unknown transfer 'pretraind'"),
    ([TINY, "--target=cuda"], "llvm"),
    (["gemm:m=1\udcff"], "UTF-8"),
    ([TINY, "--json=\udcff/r.json"], "No such file"),
    ([TINY, "--target=llvm -mcpu=zen"], "the nearest is znver"),
    ([TINY, "--trails=4"], "--trails"),
    ([TINY, "--log=no/such/folder/t.db"], "no/such/folder/t.db"),
    ([TINY, "--log=."], "folder"),
    ([TINY, "--json=no/such/folder/r.json"], "no/such/folder/r.json"),
    ([TINY, "--replay"], "tuning.db"),
])
def test_bad_input(tmp_path, arguments, said):
    refused(run(*arguments, cwd=tmp_path), said)


def test_what_the_model_knows_at_first(tmp_path):
    (tmp_path / "model.bin").write_bytes(b"tilewright experience 1 features 0000 members 1\n")
    for how, known in [("shipped", "the shipped model"), ("none", ""), ("model.bin", "")]:
        result = run(TINY, "--trials=1", f"--transfer={how}", "--json=result.json", *SMALL, cwd=tmp_path)
        assert result.returncode == 0, result
        assert json.loads((tmp_path / "result.json").read_text())["tasks"][0]["transfer"] == known
        # That a model was refused is said in one line, without the place in the code.
        said = [line for line in result.stderr.splitlines() if "features" in line]
        assert [line.startswith("autotune: ") for line in said] == [True] * (how == "model.bin")
        assert "UserWarning" not in result.stderr


@pytest.mark.parametrize(("make", "code"), [
    (lambda path: write(path, b"a text that is no database\n" * 100), "log-foreign"),
    (foreign, "log-foreign"),
    (newer, "log-newer"),
])
def test_bad_logs(tmp_path, make, code):
    make(tmp_path / "bad.db")
    before = (tmp_path / "bad.db").read_bytes()
    refused(run(TINY, "--trials=1", "--log=bad.db", *SMALL, cwd=tmp_path), code)
    assert (tmp_path / "bad.db").read_bytes() == before


def test_a_log_that_cannot_be_read(tmp_path):
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    autotune.tune(TINY, tmp_path / "t.db", trials=1, threads=1, workers=1)
    (tmp_path / "t.db").chmod(0)
    refused(run(TINY, "--log=t.db", *SMALL, cwd=tmp_path), "log-unreadable")


def test_a_workload_that_is_not_in_the_log(tmp_path):
    autotune.tune(TINY, tmp_path / "tuning.db", trials=1, threads=1, workers=1)
    result = run("gemm:m=8,n=8,k=8", "--replay", "--threads=1", cwd=tmp_path)
    refused(result, "no-record")
    assert "tune it first: " in result.stderr and "gemm:m=8,n=8,k=8 --threads 1 --log tuning.db" in result.stderr


def refused(result, said):
    assert result.returncode == 2, result
    assert "Traceback" not in result.stderr
    assert said in result.stderr.strip().splitlines()[-1], result.stderr


def test_an_unexpected_error_is_one_line(tmp_path):
    script = (
        "import sys\n"
        "from tilewright import cli\n"
        "from tilewright.cli import command\n"
        "command.parse = lambda argv: 1 / 0\n"
        "sys.exit(cli.main([]))\n")
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path, env=ENVIRONMENT)
    assert result.returncode == 1
    (line,) = result.stderr.splitlines()
    details = line.rpartition("details in ")[2]
    with open(details) as file:
        assert "Traceback" in file.read()
    os.remove(details)
    traced = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=ENVIRONMENT | {"TILEWRIGHT_DEBUG": "1"})
    assert "Traceback" in traced.stderr


def test_the_peak_is_that_of_the_type():
    from tilewright import te
    from tilewright.cli.output import peak_of, rates

    for dtype, peak in [("float32", 100.0), ("float64", 50.0), ("int8", 100.0)]:
        x = te.placeholder((4,), dtype, name="x")
        program = te.Program([x, te.compute((4,), lambda i: x[i] + x[i], name="y")])  # noqa: B023
        assert peak_of(program, 100.0) == peak
    assert rates(100, 2.0, peak_of(program, 100.0)) == (5e-8, 50.0)
