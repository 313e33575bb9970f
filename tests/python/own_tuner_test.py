"""Parts of the tuner that users write in Python."""

import re
import threading
from pathlib import Path

import numpy as np
import pytest

from tilewright import autotune
from tilewright.error import UserError

SIZE = "gemm:m=16,n=32,k=16"
PAGE = Path(__file__).resolve().parents[2] / "docs/own_tuner.md"


def tune(folder, trials=8, **parts):
    return autotune.tune(SIZE, folder / "log.db", trials, batch=4, threads=1, workers=1, **parts)


class Fast:
    """A measurer that runs nothing: seconds by the length of a trace, so that they are known."""

    kind = "made; x"

    def measure(self, task, traces, best_seconds):
        return [len(str(trace)) * 1e-6 for trace in traces]


class Model:
    fitted = ()

    def fit(self, X, y, groups):
        assert X.dtype == np.float32 and X.shape == (len(y), len(autotune.feature_names())) and groups.shape == y.shape
        assert y.max() == 1 and y.min() >= 0
        Model.fitted = (*Model.fitted, len(y))

    def predict(self, X):
        return np.arange(len(X), dtype=float)


class Drawn:
    """A policy that draws points, and keeps what it is told."""

    def __init__(self, task, space, seed):
        self.space = space

    def propose(self, count, model):
        return [self.space.random() for _ in range(count)]

    def observe(self, point, seconds):
        assert self.space.trace(point) and seconds > 0


class Names:
    names = ["length", "splits"]

    def extract(self, task, trace):
        return [len(str(trace)), sum(step.startswith("split") for step in trace.steps)]


class Rows:
    name = "rows"
    has_alternatives = False

    def variants(self, context, op):
        return int(context.facts[op].is_reduction)

    def apply(self, context, op, variant):
        stage = context.stage(op)
        outer, _ = context.split(stage, stage.op.axis[0], [2, 4, 8], "rows")
        stage.parallel(outer)


@pytest.mark.skipif(not PAGE.exists(), reason="not in a checkout")
def test_the_examples_of_the_page(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 7
    exec(compile("\n".join(blocks), str(PAGE), "exec"), {"__name__": "page"})
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == ["24 trials", "24 True 1.0 prior", "True"]
    assert lines[3] == "(36, 4)" and lines[4] == "16 True" and "columns(" in lines[5]


def test_a_model_is_fitted_to_all_trials_of_its_task(tmp_path):
    Model.fitted = ()
    tune(tmp_path, 13, model=Model, policy=Drawn, measurer=Fast())
    assert Model.fitted == (5, 9, 13)


def test_an_object_is_copied_for_each_task(tmp_path):
    seen = []

    class Counting(Model):
        def fit(self, X, y):
            self.rows = getattr(self, "rows", 0) + 1
            seen.append((id(self), self.rows))

    counting = Counting()
    autotune.tune([SIZE, "gemm:m=16,n=32,k=24"], tmp_path / "log.db", 18, batch=4, threads=1, model=counting, measurer=Fast(),
                  task_policy="turns")
    assert len({key for key, _ in seen}) == 2 and not hasattr(counting, "rows")


def test_features_of_ones_own_reach_the_model(tmp_path):
    shapes = []

    class Seen(Model):
        def fit(self, X, y):
            shapes.append(X.shape)
            assert (X[:, 0] > X[:, 1]).all()

    tune(tmp_path, 9, model=Seen, features=Names(), measurer=Fast())
    assert shapes == [(5, 2), (9, 2)]


def test_a_rule_of_ones_own_makes_sketches():
    task = autotune.make_task(SIZE, threads=1)
    space = autotune.Space(task, rules=[Rows()])
    assert [s.description for s in space.sketches] == [s.description for s in space.sketches if "rows(" in s.description]
    (knob,) = [k for k in space.sketches[0].knobs if k.label == "rows"]
    assert knob.choices == [[2], [4], [8]] and knob.kind == "tile"
    point = space.point(0, [1] * len(space.sketches[0].knobs))
    assert space.find(space.trace(point)) == point and "factor=4" in str(space.trace(point))


def test_a_rule_of_ones_own_is_measured(tmp_path):
    tune(tmp_path, 4, rules=[Rows()], policy="random")
    trials = [r for r in autotune.Log(tmp_path / "log.db").records() if r.origin != "prior"]
    assert len(trials) == 3 and all(r.ok for r in trials)


def test_points_that_are_known_are_left_out(tmp_path):
    class Stubborn(Drawn):
        asked = 0

        def propose(self, count, model):
            Stubborn.asked += 1
            self.point = getattr(self, "point", None) or self.space.random()
            return [self.point] * count

    report = tune(tmp_path, 8, policy=Stubborn, measurer=Fast())
    assert report.tasks[0].trials == 2 and Stubborn.asked > 2  # the prior's, and one


def test_failures_and_hosts_of_a_measurer_are_recorded(tmp_path):
    class Failing(Fast):
        def measure(self, task, traces, best_seconds):
            return [autotune.Measurement(error="wrong-result", message="bad", host="far", kind="made; x") for _ in traces]

    report = tune(tmp_path, 5, measurer=Failing())
    assert report.tasks[0].failures == {"wrong-result": 5} and report.tasks[0].best_seconds == 0
    assert {(r.host, r.kind, r.message) for r in autotune.Log(tmp_path / "log.db").records()} == {("far", "made; x", "bad")}


def test_what_the_tuner_saw_as_arrays(tmp_path):
    tune(tmp_path, 9, measurer=Fast(), policy="random")
    data = autotune.dataset(tmp_path / "log.db")
    records = autotune.Log(tmp_path / "log.db").records()
    assert data.X.shape == (9, len(data.names)) and np.isfinite(data.X).all() and data.X.dtype == np.float32
    assert data.seconds.tolist() == [r.median for r in records] and data.traces.tolist() == [r.trace for r in records]
    assert data.y.max() == 1 and (data.y == data.seconds.min() / data.seconds).all() and set(data.groups) == {0}
    own = autotune.dataset(tmp_path / "log.db", features=Names())
    assert own.X[:, 0].tolist() == [len(t) for t in data.traces] and own.names == Names.names


def line_of(text):
    lines = Path(__file__).read_text().splitlines()
    return f"{Path(__file__).name}:{next(k for k, line in enumerate(lines, 1) if line.endswith('# ' + text))}"


class BadFit(Model):
    def fit(self, X, y):
        raise ValueError("singular")  # in fit


class BadPropose(Drawn):
    def propose(self, count, model):
        return 1 / 0  # in propose


class BadObserve(Drawn):
    calls = 0

    def observe(self, point, seconds):
        self.calls += 1
        if self.calls > 1:
            raise KeyError("no such point")  # in observe


class BadMeasure(Fast):
    def measure(self, task, traces, best_seconds):
        if len(traces) > 1:
            raise OSError("no machine")  # in measure
        return super().measure(task, traces, best_seconds)


class BadExtract(Names):
    def extract(self, task, trace):
        raise IndexError("empty")  # in extract


class BadApply(Rows):
    def apply(self, context, op, variant):
        raise AttributeError("no axis")  # in apply


@pytest.mark.parametrize("parts, where, trials", [
    ({"model": BadFit}, "fit", 5), ({"policy": BadPropose}, "propose", 1), ({"policy": BadObserve}, "observe", 5),
    ({"measurer": BadMeasure()}, "measure", 1), ({"model": Model, "features": BadExtract()}, "extract", 0),
    ({"rules": [BadApply()]}, "apply", 0)], ids=lambda p: p if isinstance(p, str) else None)
def test_an_error_names_its_line_and_loses_no_trial(tmp_path, parts, where, trials):
    with pytest.raises(UserError) as caught:
        tune(tmp_path, 12, **{"measurer": Fast(), **parts})
    assert caught.value.code == "bad-argument" and caught.value.where == line_of(f"in {where}")
    assert f".{where} raised " in caught.value.what and caught.value.__context__ is not None
    # A batch that was measured is kept as a whole, whatever is made of its first trial.
    assert len(autotune.Log(tmp_path / "log.db").records()) == trials


class Wrong(Drawn):
    def propose(self, count, model):
        return ["a point"]


class Short(Fast):
    def measure(self, task, traces, best_seconds):
        return [1e-3] * (len(traces) + 1)


class OneScore(Model):
    def predict(self, X):
        return [1.0]


class OneNumber(Names):
    def extract(self, task, trace):
        return [1.0]


@pytest.mark.parametrize("parts, said", [
    ({"policy": Wrong}, "propose returned str 'a point'"), ({"measurer": Short()}, "measure returned 2 results"),
    ({"model": OneScore}, "predict returned an array of shape (1,)"), ({"features": OneNumber()}, "extract returned 1 numbers"),
    ({"model": object()}, "has no method 'fit'"), ({"policy": 3}, "is no search policy"),
    ({"features": object()}, "has no method 'extract'"), ({"measurer": object()}, "has no method 'measure'"),
    ({"model": "gradient"}, "unknown cost model 'gradient'"), ({"policy": "simplex"}, "unknown search policy 'simplex'"),
    ({"measurer": Fast(), "executor": "processes:1"}, "a measurer and an executor"),
    ({"executor": "cloud:1"}, "unknown executor"), ({"executor": 3}, "is no executor")])
def test_what_is_wrong_is_said(tmp_path, parts, said):
    with pytest.raises(UserError) as caught:
        tune(tmp_path, 12, **({"measurer": Fast()} if "executor" not in parts else {}) | parts)
    assert said in caught.value.what


class Unsure(Model):
    """Knows how unsure it is; which policies ask."""

    asked = 0

    def predict_with_uncertainty(self, X):
        Unsure.asked += 1
        return self.predict(X), np.ones(len(X))


@pytest.mark.parametrize("policy", autotune.POLICIES)
@pytest.mark.parametrize("model", [Model, Unsure])
def test_models_work_with_every_policy_whether_or_not_they_know_their_doubts(tmp_path, policy, model):
    Unsure.asked = 0
    report = tune(tmp_path, 13, model=model, policy=policy, measurer=Fast())
    assert report.tasks[0].trials == 13
    assert (Unsure.asked > 0) == (model is Unsure)


@pytest.mark.parametrize("model, told", [(Model, None), (Unsure, 1.0), ("xgboost", float), ("random", None)])
def test_a_policy_hears_whether_the_model_knows_its_doubts(tmp_path, model, told):
    heard = []

    class Asking(Drawn):
        def propose(self, count, model):
            points = super().propose(count, model)
            heard.append(model.uncertainty(points))
            return points

    tune(tmp_path, 13, model=model, policy=Asking, measurer=Fast())
    last = heard[-1]
    if told is None:
        assert last is None
    elif told is float:
        assert (last > 0).any()
    else:
        assert (last == told).all()


@pytest.mark.parametrize("answer, said", [
    (lambda X: np.zeros(len(X)), "returned "), (lambda X: (np.zeros(len(X)), np.zeros(2)), "array of shape (2,)"),
    (lambda X: (np.zeros(len(X)), -np.ones(len(X))), "a standard deviation below 0")])
def test_wrong_doubts_are_said(tmp_path, answer, said):
    class Wrong(Model):
        def predict_with_uncertainty(self, X):
            return answer(X)

    with pytest.raises(UserError) as caught:
        tune(tmp_path, 13, model=Wrong, measurer=Fast())
    assert f"predict_with_uncertainty {said}" in caught.value.what or said in caught.value.what


def test_a_share_is_what_the_model_held_before_it_was_fitted(tmp_path):
    asked = []

    class Settled(Model):
        def predict_base(self, X):
            asked.append(len(X))
            return np.arange(len(X))

    report = tune(tmp_path, 13, model=Settled, measurer=Fast())
    assert report.tasks[0].trials == 13
    assert max(asked) > 13, "a generation at a time"

    class Wrong(Model):
        def predict_base(self, X):
            return np.zeros(2)

    with pytest.raises(UserError) as caught:
        tune(tmp_path, 13, model=Wrong, measurer=Fast())
    assert "predict_base returned an array of shape (2,)" in caught.value.what


def test_a_policy_may_know_what_is_left(tmp_path):
    left = []

    class Thrifty(Drawn):
        def __init__(self, task, space, seed, budget):
            super().__init__(task, space, seed)
            self.budget = budget

        def propose(self, count, model):
            left.append((self.budget().trials_left, self.budget().spent))
            return super().propose(count, model)

    tune(tmp_path, 13, policy=Thrifty, measurer=Fast())
    assert left == [(12, 1 / 13), (8, 5 / 13), (4, 9 / 13)]


def test_what_the_first_round_knows(tmp_path):
    def taught(**options):
        return tune(tmp_path, 5, measurer=Fast(), **options)

    assert taught().tasks[0].transfer == "the shipped model"
    assert taught(transfer="none").tasks[0].transfer == ""
    assert taught(model="prior").tasks[0].transfer == "", "a model that does not ask"
    with pytest.raises(UserError, match="unknown transfer 'pretraind'"):
        taught(transfer="pretraind")
    other = tmp_path / "model.bin"
    other.write_bytes(b"tilewright experience 1 features 0000 members 1\n")
    with pytest.warns(UserWarning, match="model.bin: a model of other tasks for features 0000"):
        report = taught(transfer=other)
    assert report.tasks[0].transfer == "" and report.tasks[0].trials == 5 and len(report.notes) == 1


def test_names_are_listed(tmp_path):
    with pytest.raises(UserError) as caught:
        tune(tmp_path, policy="simplex")
    assert caught.value.legal == ", ".join(autotune.POLICIES)


def test_other_threads_run_while_it_tunes(tmp_path):
    """The interpreter's lock is free while nothing of Python's runs."""
    inside, seen = threading.Event(), []

    class Waiting(Fast):
        def measure(self, task, traces, best_seconds):
            inside.wait(10)  # set by a thread that needs the lock
            seen.append(inside.is_set())
            return super().measure(task, traces, best_seconds)

    thread = threading.Thread(target=inside.set)
    thread.start()
    tune(tmp_path, 5, measurer=Waiting(), policy=Drawn, model=Model)
    thread.join()
    assert all(seen)


def test_the_model_cannot_be_asked_after_proposing(tmp_path):
    kept = []

    class Keeping(Drawn):
        def propose(self, count, model):
            points = super().propose(count, model)
            assert len(model.scores(points)) == count
            kept.append((model, points))
            return points

    tune(tmp_path, 5, policy=Keeping, measurer=Fast())
    model, points = kept[0]
    with pytest.raises(UserError):
        model.scores(points)

