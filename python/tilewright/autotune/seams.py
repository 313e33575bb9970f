# SPDX-License-Identifier: Apache-2.0
"""Parts of the tuner that users write in Python: what they may be, and how the tuner calls them.

What a method of theirs raises becomes a UserError that names the line; what it returns is checked.
"""

import copy
import dataclasses
import inspect
import os
import traceback

from .. import _core
from ..error import TilewrightError

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


@dataclasses.dataclass
class Measurement:
    """What came of a candidate.

    seconds: every timing of one call. error: class of a failure such as "run-crashed" or "wrong-result", "" for none;
    seconds do not count then. message: of the failure. compile_seconds: spent on compiling. ir_hash: of the lowered
    kernel. host, kind: the machine that measured, and which processor and instruction set it has; "" is this machine.
    """

    seconds: list = dataclasses.field(default_factory=list)
    error: str = ""
    message: str = ""
    compile_seconds: float = 0.0
    ir_hash: str = ""
    host: str = ""
    kind: str = ""


def _refuse(what, legal, where=""):
    _core.raise_error("bad-argument", what, legal, where)


def _line(error):
    """The innermost line of a traceback that is not ours: "ridge.py:12"."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith(_PACKAGE)]
    return f"{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""


def _call(owner, name, *arguments, **named):
    """A method of a user's object; what it raises comes back as a UserError that names the line."""
    try:
        return getattr(owner, name)(*arguments, **named)
    except TilewrightError:
        raise
    except Exception as error:
        what = f"{_name(owner)}.{name} raised {type(error).__name__}: {error}"
        _refuse(what, "a method that returns", _line(error))


def _name(owner):
    return owner.__name__ if inspect.isclass(owner) else type(owner).__name__


def _has_parameter(function, name):
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(p.name == name or p.kind == p.VAR_KEYWORD for p in parameters)


def _make(factory, *arguments, **named):
    """An object of a user's class or factory."""
    try:
        return factory(*arguments, **named)
    except TilewrightError:
        raise
    except Exception as error:
        name = getattr(factory, "__name__", type(factory).__name__)
        _refuse(f"{name} raised {type(error).__name__}: {error}", "a class or function that makes one", _line(error))


def _has(given, what, *methods):
    """Refuses an object without the methods that a part of the tuner has."""
    missing = [m for m in methods if not callable(getattr(given, m, None))]
    if missing:
        _refuse(f"{_core.describe(given)} as {what} has no method '{missing[0]}'", "methods " + ", ".join(methods))
    return given


class _Model:
    """A model with fit and predict, as scikit-learn has them."""

    def __init__(self, model):
        self.model = _has(model, "a cost model", "fit", "predict")
        self.takes_groups = _has_parameter(model.fit, "groups")
        self.tells_uncertainty = callable(getattr(model, "predict_with_uncertainty", None))
        self.has_base = callable(getattr(model, "predict_base", None))

    def fit(self, X, y, groups):
        _call(self.model, "fit", X, y, **({"groups": groups} if self.takes_groups else {}))

    def predict(self, X):
        return self._scores("predict", _call(self.model, "predict", X), len(X))

    def predict_with_uncertainty(self, X):
        name = "predict_with_uncertainty"
        given = _call(self.model, name, X)
        if not isinstance(given, (tuple, list)) or len(given) != 2:
            _refuse(f"{_name(self.model)}.{name} returned {_core.describe(given)}", "a pair: scores and their standard deviations")
        scores, deviations = (self._scores(name, part, len(X)) for part in given)
        if any(d < 0 for d in deviations):
            _refuse(f"{_name(self.model)}.{name} returned a standard deviation below 0", "0 or more")
        return scores, deviations

    def predict_base(self, X):
        return self._scores("predict_base", _call(self.model, "predict_base", X), len(X))

    def opinion(self, X):
        """(scores, their standard deviations, scores of the base), the latter two empty where the model has none."""
        scores, deviations = self.predict_with_uncertainty(X) if self.tells_uncertainty else (self.predict(X), [])
        return scores, deviations, self.predict_base(X) if self.has_base else []

    def _scores(self, method, given, count):
        import numpy as np

        try:
            scores = np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError):
            _refuse(f"{_name(self.model)}.{method} returned {_core.describe(given)}", f"{count} numbers")
        if scores.shape not in ((count,), (count, 1)):
            _refuse(f"{_name(self.model)}.{method} returned an array of shape {scores.shape}", f"shape ({count},)")
        if np.isnan(scores).any():
            _refuse(f"{_name(self.model)}.{method} returned a score that is no number", "finite numbers")
        return scores.ravel().tolist()


class _Policy:
    def __init__(self, policy):
        self.policy = _has(policy, "a search policy", "propose", "observe")

    def propose(self, count, model):
        points = _call(self.policy, "propose", count, model)
        try:
            points = list(points)
        except TypeError:
            points = [points]
        wrong = [p for p in points if not isinstance(p, _core.autotune.Point)]
        if wrong:
            _refuse(f"{_name(self.policy)}.propose returned {_core.describe(wrong[0])}", "a list of points of the space")
        return points

    def observe(self, point, seconds):
        _call(self.policy, "observe", point, seconds)


def _numbers(owner, method, given, count):
    try:
        row = [float(x) for x in given]
    except (TypeError, ValueError):
        _refuse(f"{_name(owner)}.{method} returned {_core.describe(given)}", f"{count} numbers")
    if len(row) != count:
        _refuse(f"{_name(owner)}.{method} returned {len(row)} numbers", f"{count}, one for each name")
    return row


class _Features:
    def __init__(self, features):
        self.features = _has(features, "features", "extract")
        self.names = [str(n) for n in getattr(features, "names", ())]
        if not self.names:
            _refuse(f"{_core.describe(features)} as features has no names", "a list 'names', one for each number")

    def extract(self, task, trace):
        return _numbers(self.features, "extract", _call(self.features, "extract", task, trace), len(self.names))


class _Rule:
    def __init__(self, rule):
        self.rule = _has(rule, "a sketch rule", "variants", "apply")
        self.name = str(getattr(rule, "name", type(rule).__name__))
        self.has_alternatives = bool(getattr(rule, "has_alternatives", True))

    def variants(self, context, op):
        count = _call(self.rule, "variants", context, op)
        if isinstance(count, bool):
            return int(count)
        if not isinstance(count, int) or count < 0:
            _refuse(f"{_name(self.rule)}.variants returned {_core.describe(count)}", "a number of ways, 0 for none")
        return count

    def apply(self, context, op, variant):
        _call(self.rule, "apply", context, op, variant)


def _measurement(owner, given):
    """A Measurement of what a user's measurer returns for a candidate: one, or seconds."""
    if isinstance(given, Measurement):
        return given
    if isinstance(given, _core.autotune.Record):
        return Measurement(given.seconds, given.error, given.message, given.compile_seconds, given.ir_hash, given.host, given.kind)
    try:
        return Measurement([float(given)])
    except (TypeError, ValueError):
        _refuse(f"{_name(owner)} returned {_core.describe(given)} for a candidate", "a Measurement, or seconds")


class _Measurer:
    def __init__(self, measurer):
        self.measurer = _has(measurer, "a measurer", "measure")
        self.kind = str(getattr(measurer, "kind", ""))

    def measure(self, task, traces, best_seconds):
        given = _call(self.measurer, "measure", task, traces, best_seconds)
        measurements = [_measurement(self.measurer, m) for m in given]
        if len(measurements) != len(traces):
            _refuse(f"{_name(self.measurer)}.measure returned {len(measurements)} results", f"{len(traces)}, one a trace")
        return measurements


class _AsyncMeasurer:
    def __init__(self, measurer):
        self.measurer = _has(measurer, "an asynchronous measurer", "submit", "wait", "cancel", "capacity")

    @property
    def kind(self):
        return str(getattr(self.measurer, "kind", ""))

    def capacity(self):
        return int(_call(self.measurer, "capacity"))

    def submit(self, ticket, task, trace, best_seconds):
        _call(self.measurer, "submit", ticket, task, trace, best_seconds)

    def wait(self, seconds):
        return [(ticket, _measurement(self.measurer, m)) for ticket, m in _call(self.measurer, "wait", seconds)]

    def cancel(self):
        _call(self.measurer, "cancel")


def model_of(given):
    """The name of a model, or a function (task, seed) that makes one for a task.

    A class or a function is called without arguments for each task; an object is copied.
    """
    if isinstance(given, str):
        return given
    if inspect.isclass(given) or inspect.isfunction(given):
        return lambda task, seed: _Model(_make(given))
    _has(given, "a cost model", "fit", "predict")
    return lambda task, seed: _Model(copy.deepcopy(given))


def policy_of(given):
    """The name of a policy, or a function (task, space, seed, budget) that makes one for a task."""
    if isinstance(given, str):
        return given
    if not callable(given):
        _refuse(f"{_core.describe(given)} is no search policy", "a name, or a class made of (task, space, seed)")
    takes_budget = _has_parameter(given, "budget")
    return lambda task, space, seed, budget: _Policy(_make(given, task, space, seed, **({"budget": budget} if takes_budget else {})))


def features_of(given):
    return None if given is None else _Features(given)


def rules_of(given):
    return [rule if isinstance(rule, _Rule) else _Rule(rule) for rule in given]


def measurer_of(given):
    if given is None:
        return None
    return _AsyncMeasurer(given) if hasattr(given, "submit") else _Measurer(given)
