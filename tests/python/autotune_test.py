"""Tuning from Python: the log, replay at build, and errors."""

import inspect
import subprocess
import sys

import numpy as np
import pytest

import tilewright as tw
from tilewright import autotune, te

SIZE = "gemm:m=32,n=32,k=32"


def gemm():
    A = te.placeholder((32, 32), name="X")
    B = te.placeholder((32, 32), name="Y")
    k = te.reduce_axis((0, 32), name="r")
    C = te.compute((32, 32), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="Z")
    return [A, B, C]


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    path = tmp_path_factory.mktemp("log") / "tuning.db"
    events = []
    report = autotune.tune(SIZE, path, trials=8, batch=4, threads=1, workers=2, callback=events.append)
    assert report.tasks[0].trials == 8 and not report.stopped
    assert [e.trial for e in events if e.record is not None] == list(range(1, 9))
    return path


def check(f):
    a, b = (np.random.rand(32, 32).astype("float32") for _ in range(2))
    c = np.zeros((32, 32), "float32")
    f(a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-4)


def test_the_log_is_read(log):
    records = list(autotune.Log(log))
    assert len(records) == 8 and records[0]["origin"] == "prior"
    assert {r["threads"] for r in records} == {1}
    ok = [r for r in records if r["ok"]]
    assert ok and all(len(r["seconds"]) > 0 and len(r["ir_hash"]) == 16 for r in ok)
    task = autotune.make_task(SIZE, threads=1)
    best = autotune.Log(log).best(task.workload, task.target, 1)
    assert best.median == min(r["median"] for r in ok)
    assert autotune.Log(log).workloads()[task.workload][0] == SIZE


def test_building_from_the_log(log):
    with autotune.apply_best(log, threads=1):
        check(tw.build(gemm()))  # other names, equal program
        check(tw.build(gemm()[2:]))
    check(tw.build(gemm()))  # the prior's


def test_a_build_says_where_its_schedule_came_from(log):
    with autotune.apply_best(log, threads=1):
        assert tw.build(gemm()).schedule_origin == "record"
    assert tw.build(gemm()).schedule_origin == "prior"
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    assert tw.build([A, te.compute((n,), lambda i: A[i] + 1.0)]).schedule_origin == "unscheduled"
    X, Y, Z = gemm()
    assert tw.build(te.create_schedule(Z.op), [X, Y, Z]).schedule_origin == ""


def test_a_fresh_process_gets_the_same_ir(log):
    task = autotune.make_task(SIZE, threads=1)
    best = autotune.Log(log).best(task.workload, task.target, 1)
    script = (
        "import sys, tilewright as tw\n"
        "from tilewright import _core, autotune, te, target\n"
        "log = autotune.Log(sys.argv[1])\n"
        "(key, (name, text)), = log.workloads().items()\n"
        "program = te.from_text(text)\n"
        "schedule = autotune.load_best(log, program, threads=1)\n"
        "model = target.Target('llvm').model\n"
        "print(_core.lower_program(program, schedule, model, 'any', []).ir_hash())\n")
    result = subprocess.run([sys.executable, "-c", script, log], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == best.ir_hash


def test_a_missing_record(log):
    A = te.placeholder((7,), name="A")
    B = te.compute((7,), lambda i: A[i] + 1.0, name="B")
    with autotune.apply_best(log, threads=1), pytest.raises(tw.UserError) as info:
        tw.build([A, B])
    error = info.value
    assert error.code == "no-record"
    for part in (te.workload_hash(B), str(tw.target.Target("llvm")), "tune"):
        assert part in str(error)
    assert "\n" not in str(error)


def test_resuming_counts_what_is_there(log):
    before = len(autotune.Log(log))
    report = autotune.tune(SIZE, log, trials=before + 2, resume=True, threads=1, workers=1)
    assert report.tasks[0].trials == before + 2
    assert len(autotune.Log(log)) == before + 2


def test_trials_are_spent_over_tasks(tmp_path):
    sizes = [SIZE, "gemm:m=16,n=16,k=16"]
    common = {"trials": 16, "batch": 2, "threads": 1, "workers": 1}
    turns = autotune.tune(sizes, tmp_path / "a.db", task_policy="turns", **common)
    assert all(6 <= task.trials <= 10 for task in turns.tasks)
    weighted = autotune.tune(sizes, tmp_path / "b.db", task_weights=[1e6, 1], **common)
    assert weighted.tasks[0].trials > 10 and sum(task.trials for task in weighted.tasks) == 16
    for wrong in ({"task_weights": [1, 2, 3]}, {"task_policy": "luck"}):
        with pytest.raises(tw.UserError) as info:
            autotune.tune(sizes, tmp_path / "c.db", **wrong, **common)
        assert info.value.code == "bad-argument"


def test_a_callback_that_raises_ends_the_run(tmp_path):
    def callback(event):
        if event.record is not None:
            raise KeyError("stop")

    with pytest.raises(KeyError):
        autotune.tune(SIZE, tmp_path / "t.db", trials=4, threads=1, workers=1, callback=callback)
    assert len(autotune.Log(tmp_path / "t.db")) >= 1


def test_a_seed_repeats_a_run(tmp_path):
    def run(name, seed):
        # One batch, chosen before anything is timed, and blindly.
        autotune.tune(SIZE, tmp_path / name, trials=9, batch=8, model="random", threads=1, workers=1, seed=seed)
        records = list(autotune.Log(tmp_path / name))
        assert [r["seed"] for r in records] == [seed] * 9
        return {r["trace"] for r in records}

    assert run("a.db", 1) == run("b.db", 1) != run("c.db", 2)


def test_the_stop_flag(tmp_path):
    stop = autotune.StopFlag()

    def callback(event):
        if event.record is not None:
            stop.set()

    report = autotune.tune(SIZE, tmp_path / "t.db", trials=1000, threads=1, workers=1, callback=callback, stop=stop)
    assert report.stopped
    assert 1 <= report.tasks[0].trials < 1000


@pytest.mark.parametrize(("options", "code"), [
    ({"trials": 0}, "bad-trials"), ({"model": "linear"}, "bad-argument"), ({"threads": 0}, "bad-argument")])
def test_bad_options(tmp_path, options, code):
    with pytest.raises(tw.UserError) as info:
        autotune.tune(SIZE, tmp_path / "t.db", **options)
    assert info.value.code == code


def test_defaults_are_those_of_the_tuner():
    options = tw._core.autotune.TunerOptions()
    defaults = {name: p.default for name, p in inspect.signature(autotune.tune).parameters.items()}
    shared = (defaults.keys() & set(dir(options))) - {
        "model", "task_policy", "task_weights", "policy", "features", "rules", "measurer"}  # which Python gives by name, or None
    assert {"batch", "trials", "time_limit", "workers", "timeout"} <= shared
    assert {name: getattr(options, name) for name in shared} == {name: defaults[name] for name in shared}


def test_bad_workloads():
    with pytest.raises(tw.UserError) as info:
        autotune.make_task("gem:bert.ffn")
    assert info.value.code == "unknown-workload" and "gemm:bert.ffn" in str(info.value)
    with pytest.raises(tw.UserError) as info:
        autotune.make_task("gemm:m=0,n=1,k=1")
    assert info.value.code == "bad-workload"


def test_a_program_without_design_space_is_built_as_it_stands():
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] + 1.0, name="B")
    y = np.zeros(5, "float32")
    tw.build([A, B])(np.ones(5, "float32"), y)
    assert (y == 2).all()


def test_an_unnamed_contraction_tunes(tmp_path):
    A = te.placeholder((8, 9, 10), name="A")
    B = te.placeholder((9, 10), name="B")
    w = te.placeholder((10,), name="w")
    j, k = te.reduce_axis((0, 9), name="j"), te.reduce_axis((0, 10), name="k")
    C = te.compute((8,), lambda i: te.sum(A[i, j, k] * B[j, k] * w[k], axis=[j, k]), name="C")
    report = autotune.tune([A, B, w, C], tmp_path / "t.db", trials=4, threads=1, workers=1)
    assert report.tasks[0].best_seconds > 0
    with autotune.apply_best(tmp_path / "t.db", threads=1):
        f = tw.build([A, B, w, C])
    a, b, v = (np.random.rand(*s).astype("float32") for s in ((8, 9, 10), (9, 10), (10,)))
    c = np.zeros(8, "float32")
    f(a, b, v, c)
    np.testing.assert_allclose(c, np.einsum("ijk,jk,k->i", a, b, v), rtol=1e-4)


def test_the_peak_is_positive():
    assert autotune.fma_peak(threads=1, seconds=0.01) > 1e8
