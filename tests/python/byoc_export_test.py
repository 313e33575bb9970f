"""Regions of other code generators in exported networks: where they load, and what is said where they do not."""

import json
import os
import shutil
import subprocess
from types import SimpleNamespace

import numpy as np
import pytest

import tilewright as tw
import tilewright.compiler
import tilewright.symbol as sym
from tilewright import byoc
from tilewright.contrib import graph_runtime
from tilewright.dataflow_pattern import is_op

import check_graph
import numpy_graph
from codegens import BINARIES, ROOT, SOURCE, library, register_relu, values_for

x = sym.Variable("x")
SHARED = sym.Variable("w", shape=(8, 8))
# Regions before and behind a kernel of ours, which share a constant.
NET = sym.dense(sym.softmax(sym.relu(sym.dense(x, weight=SHARED, units=8, use_bias=False))), weight=SHARED, units=8)
IMAGES = sym.relu(sym.conv2d(x, channels=4, kernel_size=(3, 3), padding=(1, 1), name="c"))


def exported(folder, net, compiler, shape, **options):
    """The network in folder / "net", with values and results."""
    inputs, params = values_for(net, np.random.default_rng(0), x=shape)
    arrays = {name: tw.nd.array(a) for name, a in params.items()}
    graph = byoc.partition(net, compiler, {"x": shape}, params=arrays)
    graph, module, arrays = tw.compiler.build(graph, shape={"x": shape}, params=arrays)
    graph_runtime.export(folder / "net", graph, module, arrays, **options)
    return SimpleNamespace(path=folder / "net", x=inputs["x"], expected=numpy_graph.run(net, {**inputs, **params})[0],
                           regions=[f["name"] for f in regions_in(folder / "net")])


def regions_in(directory):
    return [json.loads(r["region"]) for r in json.loads((directory / "regions.json").read_text())["regions"]]


def require(network, **options):
    """That it is loaded and computes what it should."""
    executor = graph_runtime.load(network.path, **options)
    for each in (executor, executor.clone()):
        each.run(x=tw.nd.array(network.x))
        assert check_graph.difference([each.get_output(0).numpy()], [network.expected]) is None


def refused(network, code, *words, **options):
    with pytest.raises(tw.TilewrightError) as error:
        graph_runtime.load(network.path, **options)
    text = str(error.value)
    assert error.value.code == code and "\n" not in text and all(word in text for word in words), text


@pytest.mark.parametrize("compiler", ["onednn", "openblas", "csource"])
@pytest.mark.parametrize("fallback", [False, True])
def test_networks_come_back(tmp_path, compiler, fallback, capfd):
    library(compiler)
    net, shape = (IMAGES, (2, 3, 9, 7)) if compiler == "csource" else (NET, (5, 8))
    network = exported(tmp_path, net, compiler, shape, fallback=fallback)
    assert len(network.regions) == (2 if compiler == "openblas" else 1)
    for verify in (False, True):
        require(network, verify=verify)
    assert not capfd.readouterr().err
    again = exported(tmp_path, net, compiler, shape, fallback=not fallback)  # in its place
    require(again)
    assert not list(tmp_path.glob(".net*"))


PROGRAMS = {
    "c": """
#include <stdio.h>
#include "runtime/c_api.h"
int main(int n, char** a) {
  tw_graph* g = tw_graph_load(a[1]);
  float x[4096]; DLTensor in, out;
  FILE* f = fopen(a[2], "rb"); fread(x, 4, 4096, f);
  if (!g || tw_graph_input_tensor(g, 0, &in)) { puts(tw_last_error()); return 1; }
  in.data = x;
  if (tw_graph_set_input(g, "x", &in) || tw_graph_run(g) || tw_graph_output(g, 0, &out)) { puts(tw_last_error()); return 1; }
  long long k, count = 1; for (k = 0; k < out.ndim; ++k) count *= out.shape[k];
  f = fopen(a[3], "wb"); fwrite(out.data, 4, count, f); fclose(f);
  tw_graph_free(g); return 0;
}""",
    "cc": """
#include <fstream>
#include <iostream>
#include "runtime/graph_directory.h"
#include "runtime/graph_executor.h"
int main(int, char** a) try {
  const tw::DeployedGraph graph = tw::load_graph(a[1]);
  tw::GraphExecutor executor(graph.plan, graph.module, graph.parameters);
  const tw::NDArray x = executor.input(0);
  std::ifstream(a[2], std::ios::binary).read(x.data_as<char>(), x.byte_size());
  executor.set_input(0, x);
  executor.run();
  const tw::NDArray y = executor.output(0);
  std::ofstream(a[3], std::ios::binary).write(y.data_as<char>(), y.byte_size());
} catch (const std::exception& e) {
  std::cout << e.what();
  return 1;
}""",
}


@pytest.mark.parametrize("language", PROGRAMS)
def test_the_runtime_alone_loads_them(tmp_path, language):
    library("onednn")
    compiler = shutil.which({"c": "cc", "cc": "c++"}[language]) or pytest.skip("there is no compiler")
    network = exported(tmp_path, NET, "onednn", (5, 8), fallback=True)
    source, program = tmp_path / f"program.{language}", tmp_path / "program"
    source.write_text(PROGRAMS[language])
    standard = {"c": "-std=gnu11", "cc": "-std=c++20"}[language]
    # Where nothing but the runtime is, and later the code generator.
    shutil.copy(BINARIES / "libtilewright_runtime.so", tmp_path)
    subprocess.run([compiler, standard, "-w", f"-I{ROOT}", "-o", program, source, f"-L{tmp_path}", "-ltilewright_runtime",
                    f"-Wl,-rpath,{tmp_path}"], check=True)
    forget_where_it_was(network)
    network.x.tofile(tmp_path / "x")
    for warns in (True, False):
        run = subprocess.run([program, network.path, tmp_path / "x", tmp_path / "y"], capture_output=True, text=True)
        assert run.returncode == 0, run.stdout
        found = np.fromfile(tmp_path / "y", "float32").reshape(network.expected.shape)
        assert check_graph.difference([found], [network.expected]) is None
        assert ("libtilewright_onednn.so" in run.stderr and "our kernels compute it" in run.stderr) == warns, run.stderr
        shutil.copy(library("onednn"), tmp_path)


def forget_where_it_was(network):
    """Only the name of the code generator's library is known."""
    edit(network.path, lambda text: text.replace(f'"library": "{BINARIES}/', '"library": "').replace(f'"library": "{network.path.parent}/', '"library": "'))


def checksum(data):
    """As runtime/checksum.h."""
    lanes, whole, mask = [1, 2, 3, 4], len(data) // 32 * 32, (1 << 64) - 1
    for i in range(0, whole, 8):
        lane = (lanes[i // 8 % 4] ^ int.from_bytes(data[i : i + 8], "little")) * 0x9E3779B97F4A7C15 & mask
        lanes[i // 8 % 4] = lane ^ (lane >> 29)
    value = len(data)
    for byte in data[whole:]:
        value = (value ^ byte) * 0x100000001B3 & mask
    for lane in lanes:
        value = (value ^ lane) * 0xBF58476D1CE4E5B9 & mask
    return value


def edit(directory, change, name="regions.json"):
    """Changes a file as an export would have written it."""
    text = change((directory / name).read_text())
    (directory / name).unlink()
    (directory / name).write_text(text)
    graph = json.loads((directory / "graph.json").read_text())
    files = graph["attrs"]["files"][1]
    files[:] = [f for f in files if not f.startswith(name + " ")] + [f"{name} {len(text)} {checksum(text.encode()):016x}"]
    (directory / "graph.json").write_text(json.dumps(graph))


def relu_network(folder, name, run="", build="", save="", **options):
    """relu(tanh(x)) by a code generator with something wrong."""
    source = SOURCE.replace("RUN\n  }", "RUN\n  }\n  std::string save() const override { SAVE return \"saved\"; }")
    register_relu(folder, name, source.replace("RUN", run).replace("BUILD", build).replace("SAVE", save))
    return exported(folder, sym.relu(sym.tanh(x)), name, (3, 40), **options)


def test_where_libraries_are_looked_for(tmp_path, monkeypatch):
    network = relu_network(tmp_path, "wandering")
    require(network)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "relu.so").rename(tmp_path / "elsewhere/relu.so")
    forget_where_it_was(network)
    refused(network, "module-load", "'wandering_0' of wandering", "relu.so: cannot open shared object", "TILEWRIGHT_CODEGEN_PATH")
    monkeypatch.setenv("TILEWRIGHT_CODEGEN_PATH", f"/nowhere:{tmp_path}/elsewhere")
    require(network)
    monkeypatch.delenv("TILEWRIGHT_CODEGEN_PATH")
    (tmp_path / "elsewhere/relu.so").rename(network.path / "relu.so")
    require(network)


def test_without_the_library_our_kernels_compute(tmp_path, capfd):
    network = relu_network(tmp_path, "gone", fallback=True)
    forget_where_it_was(network)
    require(network)
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 1 and "'gone_0' of gone" in lines[0] and "relu.so" in lines[0] and "our kernels compute it" in lines[0]


def test_what_is_saved_comes_back(tmp_path):
    """And a code generator that is given it may refuse it, or crash on it."""
    check = 'if (std::getenv("TW_TEST_RELU") && saved != std::getenv("TW_TEST_RELU")) throw std::runtime_error("saved: " + std::string(saved));'
    network = relu_network(tmp_path, "saving", build="#include <cstdlib>\n" + check)
    os.environ["TW_TEST_RELU"] = "saved"
    try:
        require(network, verify=True)
        os.environ["TW_TEST_RELU"] = "else"
        refused(network, "module-load", "'saving_0' of saving: saved: saved")
    finally:
        del os.environ["TW_TEST_RELU"]


# What goes wrong where the network is loaded, and what is said of it.
FAULTS = {
    "throws": ('if (!saved.empty()) throw std::runtime_error("no more relu");', "no more relu"),
    "gives_nothing": ("if (!saved.empty()) return nullptr;", "gave nothing"),
    "crashes": ("if (!saved.empty()) std::raise(SIGSEGV);", "was killed by Segmentation fault"),
    "takes_less_workspace": ("if (!saved.empty()) k->workspace = -1;", "cannot say what it needs"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_fails_where_it_is_loaded(tmp_path, fault, capfd):
    build, said = FAULTS[fault]
    network = relu_network(tmp_path, f"loaded_{fault}", build=build)
    refused(network, "module-load", said, network.regions[0], verify=True)
    network = exported(tmp_path, sym.relu(sym.tanh(x)), f"loaded_{fault}", (3, 40), fallback=True)
    require(network, verify=True)
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 1 and said in lines[0], lines


RUN_FAULTS = {
    "throws": ('if (std::getenv("TW_TEST_RUN")) throw std::runtime_error("no run");', "no run"),
    "takes_more_workspace": (
        'if (std::getenv("TW_TEST_RUN")) static_cast<volatile char*>(scratch)[workspace] = 1;', "behind its 128 bytes of scratch memory"),
}


@pytest.mark.parametrize("fault", RUN_FAULTS)
def test_what_fails_in_a_run_after_loading(tmp_path, fault, monkeypatch):
    run, said = RUN_FAULTS[fault]
    network = relu_network(tmp_path, f"run_{fault}", run=run)
    require(network)
    monkeypatch.setenv("TW_TEST_RUN", "1")
    executor = graph_runtime.load(network.path)
    with pytest.raises(tw.MeasureError, match=said):
        executor.run(x=tw.nd.array(network.x))
    monkeypatch.delenv("TW_TEST_RUN")
    executor.run()
    assert check_graph.difference([executor.get_output(0).numpy()], [network.expected]) is None


def test_a_code_generator_that_cannot_save(tmp_path):
    with pytest.raises(tw.MeasureError, match="'unsaved_0' cannot be saved: full"):
        relu_network(tmp_path, "unsaved", save='throw std::runtime_error("full");')
    assert not (tmp_path / "net").exists()


@pytest.fixture(scope="module")
def once(tmp_path_factory):
    return relu_network(tmp_path_factory.mktemp("files"), "files")


@pytest.fixture
def network(once, tmp_path):
    shutil.copytree(once.path, tmp_path / "net")
    return SimpleNamespace(**{**vars(once), "path": tmp_path / "net"})


@pytest.mark.parametrize("name", ["regions.json", "regions.params"])
def test_damaged_files_are_refused(network, name):
    path = network.path / name
    code = {"regions.json": "bad-graph", "regions.params": "bad-parameters"}[name]
    whole = path.read_bytes()
    for bytes_ in (whole[:-7], whole[:20], b"", b"x" * len(whole)):
        path.unlink()
        path.write_bytes(bytes_)
        refused(network, code, name)
    path.unlink()
    refused(network, code, name)
    path.write_bytes(whole)
    require(network)


def test_files_of_another_export_are_refused(network, tmp_path):
    (tmp_path / "b").mkdir()
    other = exported(tmp_path / "b", sym.relu(sym.exp(x)), "files", (3, 41))
    shutil.copy(other.path / "regions.json", network.path)
    refused(network, "bad-graph", "not the file that 'graph.json' was exported with")


def test_newer_regions_are_refused(network):
    edit(network.path, lambda text: text.replace('"version": 1', '"version": 2'))
    refused(network, "bad-graph", "it is of version 2", "up to 1")


@pytest.mark.parametrize("key", ["compiler", "library", "region", "parameters", "body"])
def test_regions_that_lack_something_are_refused(network, key):
    edit(network.path, lambda text: text.replace(f'"{key}":', '"other":'))
    refused(network, "bad-graph", "it is damaged")


def test_what_was_saved_has_a_checksum(network):
    path = network.path / "regions.params"
    damaged = path.read_bytes().replace(b"saved\0", b"sawed\0")
    path.unlink()
    path.write_bytes(damaged)
    refused(network, "bad-graph", "'files_0.saved' is damaged")


def test_the_c_source_needs_no_compiler_where_it_is_loaded(tmp_path, monkeypatch):
    library("csource")
    network = exported(tmp_path, IMAGES, "csource", (2, 3, 9, 7))
    monkeypatch.setenv("CC", "/nowhere/cc")
    require(network, verify=True)


# A code generator that knows nothing of us but one header: y = relu(x), in C.
PLAIN = """
#include <stdlib.h>
#include <string.h>
#include "codegen_abi.h"
struct relu { int64_t count; };
static void* build(const tw_codegen_region* r, const void* saved, int64_t bytes, tw_codegen_error* error) {
  const tw_codegen_value* y = &r->values[r->outputs.values[0]];
  struct relu* s = malloc(sizeof *s);
  (void)saved; (void)bytes;
  if (strcmp(r->composites[0].steps[0].op, "relu") != 0) { strcpy(error->text, "only relu"); return NULL; }
  s->count = 1;
  for (int64_t d = 0; d < y->rank; ++d) s->count *= y->shape[d];
  return s;
}
static int64_t workspace(void* state) { (void)state; return 0; }
static int32_t run(const tw_codegen_call* call, tw_codegen_error* error) {
  const float* x = call->tensors[0];
  float* y = call->tensors[1];
  (void)error;
  for (int64_t i = 0; i < ((struct relu*)call->state)->count; ++i) y[i] = x[i] > 0 ? x[i] : 0;
  return 0;
}
static const tw_codegen table = {VERSION, "nothing", build, workspace, run, NULL, NULL, free};
const tw_codegen* tilewright_codegen(void) { return &table; }
"""


def plain_codegen(folder, name, version):
    compiler = shutil.which("cc") or pytest.skip("there is no C compiler")
    shutil.copy(ROOT / "runtime/codegen_abi.h", folder)
    (folder / "plain.c").write_text(PLAIN.replace("VERSION", version))
    subprocess.run([compiler, "-std=c99", "-Wall", "-Werror", "-pedantic", "-shared", "-fPIC", "-o", folder / f"{name}.so",
                    folder / "plain.c"], check=True)
    byoc.register_codegen(name, folder / f"{name}.so")
    byoc.register_pattern_table(name, [(f"{name}.relu", is_op("nn.relu"))])


def test_a_code_generator_in_c_needs_one_header(tmp_path):
    plain_codegen(tmp_path, "plain", "TW_CODEGEN_VERSION")
    require(exported(tmp_path, sym.relu(sym.tanh(x)), "plain", (3, 40)), verify=True)
    assert tw._core.codegen_version("plain") == "nothing"


def test_another_version_of_the_header_is_one_line(tmp_path, caplog):
    plain_codegen(tmp_path, "ancient", "TW_CODEGEN_VERSION + 1")
    graph = byoc.partition(sym.relu(x), "ancient", {"x": (4,)})
    tw.compiler.build(graph, shape={"x": (4,)})
    assert "ancient.so is made for version 3 of codegen_abi.h, and this is 2" in caplog.text
