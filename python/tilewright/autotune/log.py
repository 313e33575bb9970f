# SPDX-License-Identifier: Apache-2.0
"""The tuning log as Python sees it."""

import os

from .. import _core

FIELDS = (
    "id", "workload", "target", "threads", "trace", "ok", "error", "message", "seconds", "median", "compile_seconds",
    "elapsed_seconds", "ir_hash", "seed", "origin", "predicted", "caches", "race_seconds", "run", "host", "kind",
    "created")


def log_file(path, write):
    """The log of a path, whose name may be any bytes."""
    return _core.autotune.LogFile(os.fsencode(path), write)


class Log:
    """Every trial ever recorded in a file. Iterating gives a dict a record, in the order they were made."""

    def __init__(self, path):
        self.path = os.fspath(path)
        self._file = log_file(path, False)

    def records(self, workload="", target="", threads=0):
        """Records as objects; of one workload, target, or number of threads where these are given."""
        return self._file.records(workload, str(target), threads)

    def best(self, workload, target, threads, caches="hot"):
        """The best verified record, or None: the winner of the last race, of those that were timed with such caches where
        there are any."""
        return self._file.best(workload, str(target), threads, caches)

    def workloads(self):
        """{id: (name, te text)} of every workload in the log."""
        return {key: (name, text) for key, name, text in self._file.workloads()}

    def __iter__(self):
        for record in self.records():
            yield {field: getattr(record, field) for field in FIELDS}

    def __len__(self):
        return len(self.records())

    def __repr__(self):
        return f"Log({self.path!r})"
