"""The benchmark program of operators: each alone against ONNX Runtime, in Python as networks.py.

operator_contest.py STEP --folder=… --json=part.json [--only=WORD,WORD], with a STEP of

  tune      the kernels of each, into --log
  contest   all contestants of each in turn, in one process, on each of --threads
"""

from __future__ import annotations

import sys
from pathlib import Path

import networks
from operator_sizes import CASES, model_of, workload_of


def chosen(only: str | None) -> list:
    """The cases whose operator is named, or all."""
    words = only.split(",") if only else []
    unknown = [word for word in words if not any(word == case.operator for case in CASES)]
    if unknown:
        sys.exit(f"no case of '{unknown[0]}': choose from {', '.join(sorted({case.operator for case in CASES}))}")
    return [case for case in CASES if not words or case.operator in words]


def tune(options) -> dict:
    return {"measurements": [], "facts": {"tunings": [networks.tune_kernels(workload_of(case), options) for case in chosen(options.only)]}}


def contest(options) -> dict:
    import onnx
    import onnxruntime

    measurements, wrong, failed = [], [], []
    for case in chosen(options.only):
        try:
            workload, path = workload_of(case), Path(options.folder) / "operator.onnx"
            onnx.save(model_of(case, workload), str(path))
            contestants = {}
            for threads in options.threads:
                right, refused = networks.entered(workload, path, threads, options.log)
                contestants |= {(name, threads): contestant for name, contestant in right.items()}
                wrong += refused
        except Exception as error:  # one operator that cannot be built or compared is told of, and others go on
            failed.append({"name": case.name, "error": str(error).splitlines()[0]})
            continue
        for (name, threads), samples in networks.time_interleaved(contestants, options.repetitions, options.seconds).items():
            found = networks.measurement(case.name, name, "run", threads, samples)
            found["labels"]["operator"] = case.operator
            measurements.append(found)
    facts = {"libraries": {networks.PEER: onnxruntime.__version__}, "wrong": wrong, "failed": failed}
    return {"measurements": measurements, "facts": networks.facts() | facts}


STEPS = {"tune": tune, "contest": contest}


def main() -> None:
    networks.run_step(STEPS, {"--only": {}, "--folder": {"required": True}}, trials=64, repetitions=7, seconds=0.02)


if __name__ == "__main__":
    main()
