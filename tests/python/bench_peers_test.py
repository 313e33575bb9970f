# SPDX-License-Identifier: Apache-2.0
"""The peers of the benchmarks compute what ours do. `./tw bench` builds the program that knows; nothing is timed."""

import json
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "build/release/bench/tilewright-bench"
# What the program must be newer than, to be of this build.
PARTS = [*ROOT.glob("bench/*.cc"), *ROOT.glob("bench/*.h"), *ROOT.glob("build/release/python/tilewright/libtilewright_runtime.so")]

WORKLOADS = {
    "gemm:m=5,n=24,k=7": {"openblas", "onednn", "pytorch"},
    "gemm:m=6,n=32,k=16,w=1": {"openblas", "onednn", "pytorch"},
    "dense:m=3,n=17,k=8": {"onednn", "pytorch"},
    "batch_gemm:b=2,m=4,n=8,k=5": {"onednn", "pytorch"},
    "conv2d:n=2,ci=3,h=9,w=8,co=5,k=3,s=2,p=1": {"openblas", "onednn", "pytorch"},
    "conv2d_bias_relu:n=1,ci=16,h=8,w=7,co=32,k=3,s=1,p=1": {"openblas", "onednn", "pytorch"},
    "conv2d_bias_relu:n=1,ci=8,h=7,w=7,co=8,k=1,s=1,p=0": {"openblas", "onednn", "pytorch"},
    "conv2d_bias_relu:n=2,ci=16,h=8,w=7,co=32,k=3,s=2,p=1,b=16": {"onednn"},
    "conv2d:n=1,ci=3,h=7,w=7,co=8,k=3,s=1,p=1,b=8": {"onednn"},
    "depthwise_conv2d:n=1,c=16,h=9,w=9,k=3,s=2,p=1": {"onednn", "pytorch"},
    "conv2d_data_gradient:n=2,ci=5,h=9,w=8,co=7,k=3,s=2,p=1": {"onednn"},
    "conv2d_weight_gradient:n=2,ci=5,h=9,w=8,co=7,k=3,s=2,p=1": {"onednn"},
    "conv2d_data_gradient:n=1,ci=8,h=9,w=9,co=16,k=1,s=2,p=0": {"onednn"},
    "softmax:m=3,n=20": {"onednn", "pytorch"},
    "layer_norm:m=3,n=20": {"onednn", "pytorch"},
    "transpose:m=5,n=12": {"onednn", "pytorch"},
    "row_sum:m=5,n=12": {"onednn", "pytorch"},
    "column_sum:m=5,n=12": {"onednn", "pytorch"},
    "elementwise:m=4,n=20": {"onednn"},
    "gemm:m=4,n=16,k=8,w=1,dtype=u8s8s32": {"onednn"},
}


@pytest.fixture(scope="module")
def results():
    if not PROGRAM.is_file():
        pytest.skip("the benchmark program is not built")
    if PROGRAM.stat().st_mtime < max(part.stat().st_mtime for part in PARTS):
        pytest.skip("the benchmark program is not of this build")
    words = ["--workload=" + ";".join(WORKLOADS), "--threads=1;2", "--repetitions=0"]
    run = subprocess.run([PROGRAM, "peers", *words], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_all_compute_the_same(results):
    assert results["facts"]["wrong"] == []


@pytest.mark.parametrize("peer", ["openblas", "onednn", "pytorch"])
def test_a_peer_takes_part_in_what_it_knows(results, peer):
    if peer not in results["facts"]["libraries"]:
        pytest.skip(f"the benchmark program was built without {peer}")
    found = {
        (m["labels"]["workload"], m["labels"]["threads"])
        for m in results["measurements"]
        if m["labels"]["contestant"] == peer
    }
    workloads = dict(WORKLOADS)
    if peer == "onednn" and re.search(r", (avx2|avx512_core|other instructions)$", results["facts"]["libraries"][peer]):
        del workloads["gemm:m=4,n=16,k=8,w=1,dtype=u8s8s32"]  # whose sums would saturate
    assert found == {(workload, threads) for workload, peers in workloads.items() if peer in peers for threads in (1, 2)}
