// SPDX-License-Identifier: Apache-2.0
// Compiled modules: lifetime, sources, libraries, errors, threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "runtime/c_api.h"
#include "runtime/error.h"
#include "tests/unit/lower/llvm_support.h"

namespace tw::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const std::vector<TensorArgument> kTensors = {{"A", float_type(32), {64}},
                                              {"O", float_type(32), {64}, true}};
Kernel scale(const std::string& name, int factor) {
  return make_kernel(
      fmt::format("for (i, 0, 4) {{ O[ramp((i*16), 1, 16)] = "
                  "(exp((A[ramp((i*16), 1, 16)]*x16(0.000000f)))*x16({}.000000f)) }}",
                  factor),
      kTensors, name);
}
float first(const Function& f) {
  NDArray a = NDArray::zeros({64}, float_type(32)), o = NDArray::zeros({64}, float_type(32));
  f(a, o);
  return o.data_as<float>()[0];
}

struct Folder {
  fs::path path;
  Folder() {
    std::string name = (fs::temp_directory_path() / "tilewright-test-XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path); }
};

template <class F>
void expect_error(ErrorCode code, const std::string& part, F f) {
  try {
    f();
    FAIL() << "nothing thrown";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    EXPECT_THAT(e.what(), HasSubstr(part));
  }
}

TEST(LlvmModule, SeveralKernels) {
  const auto module = compile({scale("two", 2), scale("three", 3)}, Target::host());
  EXPECT_EQ(module->function_names(), (std::vector<std::string>{"two", "three"}));
  EXPECT_EQ(first(module->get_function("two")), 2);
  EXPECT_EQ(first(module->get_function("three")), 3);
  EXPECT_EQ(to_string(module->get_function("two").info()), "two(A: float32[64], O: float32[64])");
  expect_error(ErrorCode::UnknownFunction, "two, three", [&] { module->get_function("four"); });
}

TEST(LlvmModule, FunctionKeepsItsCode) {
  Function f;
  {
    const auto module = compile({scale("f", 5)}, Target::host());
    f = module->get_function("f");
  }
  EXPECT_EQ(first(f), 5);
}

TEST(LlvmModule, Timings) {
  CompileTimings t;
  compile({scale("f", 1)}, Target::host(), {}, &t);
  EXPECT_GT(t.emit, 0);
  EXPECT_GT(t.optimize, 0);
  EXPECT_GT(t.generate, 0);
  EXPECT_GT(t.link, 0);
}

TEST(LlvmModule, Sources) {
  for (bool keep : {false, true}) {
    const auto module = compile({scale("f", 1)}, Target::host(), {.keep_sources = keep});
    EXPECT_THAT(module->source("ll"), HasSubstr("define i32 @f("));
    EXPECT_THAT(module->source("asm"), HasSubstr("f:"));
    EXPECT_THAT(module->source("ir"), HasSubstr("for (i, 0, 4)"));
    expect_error(ErrorCode::BadArgument, "ll, asm, ir", [&] { module->source("cuda"); });
  }
}

TEST(LlvmModule, SameInputSameText) {
  EXPECT_EQ(compile({scale("f", 1)}, Target::host())->source("asm"),
            compile({scale("f", 1)}, Target::host())->source("asm"));
}

TEST(LlvmModule, ExportedLibraryIsLoadedAndCalled) {
  const Folder folder;
  const std::string path = (folder.path / "f.so").string();
  compile({scale("f", 7)}, Target::host())->export_library(path);
  const auto loaded = load_library(path);
  EXPECT_EQ(first(loaded->get_function("f")), 7);
  EXPECT_EQ(loaded->get_function("f").info().arguments.size(), 2u);

  // As a C program would.
  tw_module* module = tw_module_load(path.c_str());
  ASSERT_NE(module, nullptr) << tw_last_error();
  tw_kernel kernel = tw_module_function(module, "f");
  ASSERT_NE(kernel, nullptr);
  std::vector<float> a(64), o(64);
  int64_t shape[] = {64};
  DLTensor ta = tw_tensor(a.data(), {kDLFloat, 32, 1}, 1, shape);
  DLTensor to = tw_tensor(o.data(), {kDLFloat, 32, 1}, 1, shape);
  DLTensor* tensors[] = {&ta, &to};
  EXPECT_EQ(tw_call(kernel, tensors, 2), 0);
  EXPECT_EQ(o[63], 7);
  tw_module_free(module);
}

TEST(LlvmModule, ExportedLibraryIsOverwrittenWhileLoaded) {
  const Folder folder;
  const std::string path = (folder.path / "f.so").string();
  compile({scale("f", 7)}, Target::host())->export_library(path);
  const Function old = load_library(path)->get_function("f");
  compile({scale("f", 8)}, Target::host())->export_library(path);
  EXPECT_EQ(first(old), 7);
}

TEST(LlvmModule, ObjectAndHeader) {
  const Folder folder;
  const auto module = compile({scale("f", 7)}, Target::host());
  module->export_library((folder.path / "f.o").string());
  EXPECT_GT(fs::file_size(folder.path / "f.o"), 100u);
  module->export_library((folder.path / "f.h").string());
  std::ifstream in(folder.path / "f.h");
  EXPECT_THAT(std::string(std::istreambuf_iterator<char>(in), {}), HasSubstr("int32_t f("));
  expect_error(ErrorCode::BadArgument, ".so", [&] { module->export_library("f.txt"); });
  expect_error(ErrorCode::LinkFailed, "cannot write",
               [&] { module->export_library("/no/such/folder/f.so"); });
}

TEST(LlvmModule, NoLinker) {
  const Folder folder;
  const std::string path = getenv("PATH");
  setenv("PATH", folder.path.c_str(), 1);
  const auto restore = [&] { setenv("PATH", path.c_str(), 1); };
  const auto module = compile({scale("f", 7)}, Target::host());
  // Where LLVM's own folder has a linker it is found without the path.
  if (!fs::exists("/usr/lib/llvm-19/bin/ld.lld")) {
    expect_error(ErrorCode::LinkFailed, "lld-19",
                 [&] { module->export_library((folder.path / "f.so").string()); });
  }
  restore();
}

TEST(LlvmModule, MissingFeatureIsRefusedUnlessTheBuildIsForAnotherMachine) {
  const Folder folder;
  const Target other = Target::parse("llvm -mcpu=bdver4");  // FMA4 and XOP died out
  if (other.features_missing_on_host().empty()) GTEST_SKIP();
  expect_error(ErrorCode::TargetFeature, "fma4", [&] { compile({scale("f", 7)}, other); });
  const auto module = compile({scale("f", 7)}, other, {.cross = true});
  expect_error(ErrorCode::TargetFeature, "fma4", [&] { module->get_function("f"); });
  module->export_library((folder.path / "f.so").string());
  EXPECT_TRUE(fs::exists(folder.path / "f.so"));
}

TEST(LlvmModule, WhatCannotBeCompiled) {
  const auto build = [](const std::string& text) {
    compile({make_kernel(text, kTensors)}, Target::host());
  };
  expect_error(ErrorCode::CodeGeneration, "variable 'n' has no value",
               [&] { build("declare n: int32\nO[n] = A[0]"); });
  expect_error(ErrorCode::UnknownFunction, "no_such_function",
               [&] { build("O[0] = call_pure_extern<float32>(\"no_such_function\", A[0])"); });
  expect_error(ErrorCode::CodeGeneration, "two kernels",
               [] { compile({scale("f", 1), scale("f", 2)}, Target::host()); });
}

TEST(LlvmModule, CFunctions) {
  const Kernel k =
      make_kernel("O[0] = call_pure_extern<float32>(\"hypotf\", 3.000000f, 4.000000f)", kTensors);
  EXPECT_EQ(first(compile_function(k)), 5);
}

TEST(ThreadSanitizerCompile, TenThreadsAtOnce) {
  std::vector<std::thread> threads;
  std::vector<float> results(10 * 4);
  for (size_t t = 0; t < 10; ++t) {
    threads.emplace_back([t, &results] {
      for (size_t r = 0; r < 4; ++r) {
        const auto module = compile({scale("f", static_cast<int>(t * 4 + r))}, Target::host());
        results[t * 4 + r] = first(module->get_function("f"));
      }
    });
  }
  for (std::thread& t : threads) t.join();
  for (size_t i = 0; i < results.size(); ++i) EXPECT_EQ(results[i], static_cast<float>(i));
}

}  // namespace
}  // namespace tw::test
