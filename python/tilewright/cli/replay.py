# SPDX-License-Identifier: Apache-2.0
"""autotune --replay: the best schedules of a log, built without searching and timed."""

import shlex
import sys

from .. import _core, autotune, driver, nd
from .._core import autotune as _native
from .arguments import program_name
from .output import number, print_table, rates, time_text, write_json


def replay(workloads, target, threads, arguments):
    log = autotune.Log(arguments.log)
    for workload in workloads:  # all records are there, or nothing is built
        if log.best(workload.program.workload, target, threads, workload.caches) is None:
            _no_record(workload, target, threads, arguments)
    peak = autotune.fma_peak(target, threads)
    _core.set_num_threads(threads)
    rows = []
    for workload in workloads:
        record = log.best(workload.program.workload, str(target), threads, workload.caches)
        schedule = _native.replay(workload.program, record.trace)
        ir_hash = _native.ir_hash(workload.program, schedule, target.model, record.caches)
        arrays = [(t, _array(t)) for t in workload.program]
        constants = [(t, a) for t, a in arrays if t.constant]
        kernel = _core.lower_program(workload.program, schedule, target.model, "kernel", constants)
        function = driver.build(kernel, target=target)
        arrays = [a for t, a in arrays if not t.constant]
        seconds = function.time_evaluator(number=1, repeat=20, min_repeat_ms=5)(*arrays).median
        gflops, percent = rates(workload.program.operations, seconds, peak)
        rows.append({
            "workload": workload.label, "id": workload.program.workload, "record": record.id,
            "recorded_seconds": record.median, "seconds": seconds, "gflops": gflops, "percent_of_peak": percent,
            "ir_hash": ir_hash, "same_ir": ir_hash == record.ir_hash, "trace": record.trace})
    stream = sys.stderr if arguments.json == "-" else sys.stdout
    print_table(stream, ("workload", "recorded", "now", "GFLOP/s", "% peak", "record", "IR"), [
        (row["workload"], time_text(row["recorded_seconds"]), time_text(row["seconds"]), number(row["gflops"]),
         number(row["percent_of_peak"], "{:.0f}"), str(row["record"]), "same" if row["same_ir"] else "differs")
        for row in rows])
    stream.flush()
    if arguments.json:
        write_json({"target": str(target), "threads": threads, "log": log.path, "tasks": rows}, arguments.json)
    return 0 if all(row["same_ir"] for row in rows) else 1


def _no_record(workload, target, threads, arguments):
    words = [workload.label, *(["--target", arguments.target] if arguments.target != "llvm" else []),
             "--threads", str(threads), "--log", arguments.log]
    _core.raise_error(
        "no-record", f"{arguments.log} has no verified record of {workload.label} on target \"{target}\" with {threads} "
        f"thread{'' if threads == 1 else 's'}", f"tune it first: {program_name()} {shlex.join(words)}")


def _array(tensor):
    """Data that no operation finds special: 1/2 in floats, 1 in integers."""
    import numpy

    shape = tuple(int(extent) for extent in tensor.shape)
    array = nd.empty(shape, tensor.dtype)
    value = 0.5 if "float" in tensor.dtype else 1
    array.copyfrom(numpy.full(shape, value, dtype=array.numpy().dtype))
    return array
