# SPDX-License-Identifier: Apache-2.0
"""What the tuner saw, as arrays of NumPy."""

import dataclasses

import numpy as np

from .. import _core
from .log import Log
from .seams import features_of

_native = _core.autotune


@dataclasses.dataclass
class Dataset:
    """The trials of a log: entry k of every array is about one of them, in the order they were made.

    Attributes
    ----------
    X: float32 (trials, columns)
        Features. NaN where a trace cannot be applied any more.
    names: list of str
        Of the columns.
    seconds: float64 (trials,)
        Medians; infinity for failures.
    y: float64 (trials,)
        Throughput in parts of the fastest of the group, 0 for failures: what models are fitted to.
    groups: int (trials,)
        Trials of one task, on machines of one kind, have one number; those of different groups are not comparable.
    scores: float64 (trials,)
        What the model said when the trial was chosen; larger is better, within one round of one task.
    traces, workloads, hosts, origins, errors: arrays of str
    """

    X: np.ndarray
    names: list
    seconds: np.ndarray
    y: np.ndarray
    groups: np.ndarray
    scores: np.ndarray
    traces: np.ndarray
    workloads: np.ndarray
    hosts: np.ndarray
    origins: np.ndarray
    errors: np.ndarray

    def __len__(self):
        return len(self.seconds)


def dataset(log, *, workload="", features=None):
    """The Dataset of a log, during a run or after it; of one workload where its id is given.

    features: an object with `names` and `extract(task, trace)`, by default the tuner's own.
    """
    log = log if isinstance(log, Log) else Log(log)
    own = features_of(features)
    records = log.records(workload)
    texts = {key: text for key, (_, text) in log.workloads().items()}
    names = own.names if own else _native.feature_names()
    X = np.full((len(records), len(names)), np.nan, np.float32)
    groups, rows_of = np.zeros(len(records), int), {}
    for k, r in enumerate(records):
        rows_of.setdefault((r.workload, r.target, r.threads, r.kind), []).append(k)
    seconds = np.array([r.median for r in records], float)
    y = np.zeros(len(records))
    for number, ((key, target, threads, _), rows) in enumerate(rows_of.items()):
        task = _native.make_task_of_text(texts[key], target, threads)
        X[rows] = _native.features_of(task, [records[k].trace for k in rows], own)
        groups[rows] = number
        if np.isfinite(seconds[rows]).any():
            y[rows] = seconds[rows].min() / seconds[rows]

    def text(field):
        return np.array([getattr(r, field) for r in records], object).astype(str)

    return Dataset(X, list(names), seconds, y, groups, np.array([r.predicted for r in records], float), text("trace"),
                   text("workload"), text("host"), text("origin"), text("error"))
