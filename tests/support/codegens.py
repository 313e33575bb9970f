"""Code generators for tests: those that are installed, and ones of a relu that are compiled here."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import tilewright as tw
import tilewright.compiler
import tilewright.symbol as sym
from tilewright import byoc
from tilewright.dataflow_pattern import is_op

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(tw.__file__).parent
# Where libraries and programs are: of a checkout in the build tree.
BINARIES = PACKAGE if (PACKAGE / "tilewright-worker").is_file() else PACKAGE.parents[1] / "build/release/python/tilewright"


def library(compiler):
    """Where the library of a code generator is; the test is skipped where what it needs is not installed."""
    path = BINARIES / f"libtilewright_{compiler}.so"
    if not path.is_file():
        pytest.skip(f"{compiler} is not installed")
    if compiler == "csource" and not shutil.which("cc"):
        pytest.skip("there is no C compiler")
    return path


def values_for(net, rng, **shapes):
    """Random inputs of these shapes, and parameters for all other variables."""
    names = net.list_input_names()
    found = tw.compiler.graph_util.infer_shape(tw.graph.create(net), **shapes)[0]
    values = {name: rng.normal(size=shape).astype("float32") for name, shape in zip(names, found, strict=True)}
    for name in values:
        if name.endswith("var"):
            values[name] = np.abs(values[name]) + 0.5
    return {n: v for n, v in values.items() if n in shapes}, {n: v for n, v in values.items() if n not in shapes}


# A code generator of relu that counts what it is given; tests put something wrong into it.
SOURCE = """
#include <unistd.h>
#include <csignal>
#include <cstdio>
#include <stdexcept>
#include "runtime/codegen.h"
using namespace tw::vendor;
struct Relu final : Kernel {
  int64_t count, workspace;
  int64_t workspace_bytes() const override { return workspace; }
  void run(void* const* tensors, void* scratch) override {
    const float* x = static_cast<const float*>(tensors[0]);
    float* y = static_cast<float*>(tensors[1]);
    for (int64_t i = 0; i < count; ++i) y[i] = x[i] > 0 ? x[i] : 0;
    RUN
  }
};
Kernel* build(const Region& region, std::string_view saved) {
  auto* k = new Relu;
  k->count = region.values[region.outputs[0]].elements();
  k->workspace = 128;
  BUILD
  return k;
}
TILEWRIGHT_CODEGEN(build, "nothing")
"""


def register_relu(folder, name, source):
    """A code generator of that name, compiled in the folder, for relu."""
    compiler = shutil.which("c++") or pytest.skip("there is no C++ compiler")
    (folder / "relu.cc").write_text(source)
    subprocess.run([compiler, "-std=c++20", "-shared", "-fPIC", f"-I{ROOT}", "-o", folder / "relu.so", folder / "relu.cc"], check=True)
    byoc.register_codegen(name, folder / "relu.so")
    byoc.register_pattern_table(name, [(f"{name}.relu", is_op("nn.relu"))])


def relu_by(name):
    """The module of a relu of four ones by that code generator, and an executor that has its input."""
    graph, module, _ = tw.compiler.build(byoc.partition(sym.relu(sym.Variable("x")), name, {"x": (4,)}), shape={"x": (4,)})
    executor = tw.contrib.graph_runtime.create(graph, module, tw.cpu())
    executor.set_input(x=tw.nd.array(np.ones(4, "float32")))
    return module, executor
