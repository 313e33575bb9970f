// SPDX-License-Identifier: Apache-2.0
#include "runtime/module.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "runtime/c_api.h"
#include "runtime/error.h"
#include "runtime/time_evaluator.h"
#include "tests/support/compile_c.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"

namespace tw {
namespace {

// kernels.c, compiled once for the suite.
class LoadedLibrary : public testing::Test {
 protected:
  static void SetUpTestSuite() { path = test::compile_c("tests/unit/runtime/kernels.c"); }
  static void TearDownTestSuite() { std::remove(path.c_str()); }
  void SetUp() override { ASSERT_FALSE(path.empty()); }
  static inline std::string path;

  static NDArray filled(int64_t n, float value) {
    NDArray a = NDArray::empty({n}, float_type(32));
    for (int64_t i = 0; i < n; ++i) a.data_as<float>()[i] = value + static_cast<float>(i);
    return a;
  }
};

using ThreadSanitizerLoadedLibrary = LoadedLibrary;

TEST_F(LoadedLibrary, DescribesItself) {
  const auto module = load_library(path);
  EXPECT_EQ(module->function_names(),
            (std::vector<std::string>{"add", "fill", "scratch", "fail", "absent"}));
  EXPECT_EQ(to_string(module->get_function("fill").info()),
            "fill(C: float32[4], base: int64, step: float64)");
  EXPECT_EQ(to_string(module->get_function("add").info()),
            "add(A: float32[n], B: float32[n], C: float32[n])");
}

TEST_F(LoadedLibrary, CallsWithTensorsAndNumbers) {
  const Function add = load_library(path)->get_function("add");  // keeps the library loaded
  const NDArray a = filled(1000, 1), b = filled(1000, 5),
                c = NDArray::zeros({1000}, float_type(32));
  add(a, b, c);
  EXPECT_EQ(c.data_as<float>()[0], 6);
  EXPECT_EQ(c.data_as<float>()[999], 6 + 2 * 999);
  const Function fill = load_library(path)->get_function("fill");
  const NDArray d = NDArray::zeros({4}, float_type(32));
  fill(d, 3, 0.5);
  EXPECT_EQ(d.data_as<float>()[3], 4.5f);
  const Function scratch = load_library(path)->get_function("scratch");
  scratch();
  EXPECT_EQ(scratch.unchecked().kernel(), scratch.kernel());  // it has one entry only
  const std::vector<CallArgument> arguments = {a, b, c};
  EXPECT_EQ(time_evaluator(add, arguments, {.number = 2, .repeat = 3}).seconds.size(), 3u);
  EXPECT_GE(measure_until(add, arguments, {.budget_seconds = 1e-3}).seconds.size(), 1u);
}

TEST_F(LoadedLibrary, RefusalsAreTypedErrors) {
  const auto module = load_library(path);
  const Function add = module->get_function("add");
  const NDArray a = filled(6, 1), b = filled(6, 1), c = filled(6, 1);
  EXPECT_EQ(test::expect_message(ErrorCode::ArgumentShape, [&] { add(a, filled(5, 0), c); }),
            "argument 'B' of 'add': dimension 0 is 5, expected 6");
  test::expect_message(ErrorCode::ArgumentCount, [&] { add(a, b); });
  test::expect_message(ErrorCode::TypeMismatch, [&] { add(a, b, 3); });
  test::expect_message(ErrorCode::ArgumentNull, [&] { add(a, b, NDArray()); });
  EXPECT_EQ(test::expect_message(ErrorCode::ArgumentDType,
                                 [&] { add(a, b, NDArray::empty({6}, bfloat_type(16))); }),
            "argument 'C' of 'add': dtype is bfloat16, expected float32");
  test::expect_message(ErrorCode::ArgumentShape,
                       [&] { add(a, b, c.reshape(std::vector<int64_t>{2, 3})); });
  const std::vector<int64_t> three{3}, two{2};
  test::expect_message(ErrorCode::ArgumentStrides,
                       [&] { add(a.view(three, std::vector<int64_t>{1}), b.view(three, two), c); });
  EXPECT_EQ(
      test::expect_message(ErrorCode::AssertionFailed, [&] { module->get_function("fail")(); }),
      "task three does not like it");
  EXPECT_EQ(tw_last_error_code(), TW_NO_ERROR);  // taken over by the exception
  add(a, b, c);                                  // and the next call is none the worse
}

TEST_F(LoadedLibrary, UnknownFunctionsNameTheKnown) {
  const auto module = load_library(path);
  const std::string text =
      test::expect_message(ErrorCode::UnknownFunction, [&] { module->get_function("ad"); });
  EXPECT_NE(text.find("'ad'; legal: add, fill, scratch, fail"), std::string::npos) << text;
  test::expect_message(ErrorCode::UnknownFunction,
                       [&] { module->get_function("absent"); });  // listed only
  test::expect_message(ErrorCode::UnknownFunction, [&] { module->get_function("malloc"); });
  test::expect_message(ErrorCode::BadArgument, [&] { module->source("ll"); });
  test::expect_message(ErrorCode::BadArgument, [&] { module->export_library("x.so"); });
  test::expect_message(ErrorCode::UnknownFunction, [&] { Function().call({}); });
}

TEST_F(ThreadSanitizerLoadedLibrary, KernelsRunOnManyThreadsAtOnce) {
  const Function add = load_library(path)->get_function("add");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&add, t] {
      const NDArray a = filled(100, 1), b = filled(100, static_cast<float>(t));
      const NDArray c = NDArray::zeros({100}, float_type(32));
      for (int i = 0; i < 20; ++i) {
        add(a, b, c);
        EXPECT_EQ(c.data_as<float>()[99], static_cast<float>(1 + t + 2 * 99));
        EXPECT_THROW(add(a, b, 3), UserError);
      }
    });
  }
  for (std::thread& t : threads) t.join();
}

TEST(LoadLibrary, Unloadable) {
  EXPECT_NE(test::expect_message(ErrorCode::ModuleLoad, [] { load_library("no/such/file.so"); })
                .find("No such file"),
            std::string::npos);
  const std::string path = testing::TempDir() + "/no_library.so";
  std::ofstream(path) << "text";
  test::expect_message(ErrorCode::ModuleLoad, [&] { load_library(path); });
  std::remove(path.c_str());
}

// The loader itself takes a path that it has met for the library that was there.
TEST(LoadLibrary, ALibraryThatTookThePlaceOfALoadedOneIsLoaded) {
  namespace fs = std::filesystem;
  const test::TemporaryFolder own;
  const fs::path &folder = own.path(), library = folder / "f.so";
  const auto put = [&](int version) {
    const fs::path source = folder / "f.c";
    std::ofstream(source) << "int version(void* const* a, const int* b, int c)"
                             " { return a || b || c ? 0 : "
                          << version << "; }\n";
    const std::string command =
        "cc -shared -fPIC -o '" + (folder / "next.so").string() + "' '" + source.string() + "'";
    ASSERT_EQ(std::system(command.c_str()), 0);
    fs::rename(folder / "next.so", library);
  };
  const auto version = [](const Module& module) {
    return module.get_function("version").kernel()(nullptr, nullptr, 0);
  };
  put(1);
  const auto first = load_library(library.string());
  put(2);
  const auto second = load_library(library.string());
  put(3);
  const auto third = load_library(library.string()), again = load_library(library.string());
  EXPECT_EQ(version(*first), 1);
  EXPECT_EQ(version(*second), 2);
  EXPECT_EQ(version(*third), 3);
  EXPECT_EQ(version(*again), 3);
}

TEST(Metadata, RoundTrips) {
  const ModuleInfo info{
      .target = "llvm -mcpu=x86-64-v3",
      .instruction_sets = {"avx", "avx2"},
      .parameters = "0123456789abcdef",
      .functions = {
          {.name = "gemm",
           .symbol = "gemm.kernel",
           .unchecked = "gemm.unchecked",
           .workspace = {.call = 128, .thread = {}},
           .arguments =
               {{.name = "A",
                 .kind = ArgumentKind::Tensor,
                 .dtype = bfloat_type(16),
                 .shape = {Extent(128), Extent("n*2")}},
                {.name = "n", .kind = ArgumentKind::Int, .dtype = int_type(32)},
                {.name = "\"odd\"\n", .dtype = bool_type(), .output = true, .may_share = {0, 1}}}},
          {.name = "empty"}}};
  const std::string json = metadata_to_json(info);
  EXPECT_EQ(metadata_from_json(json), info) << json;
  EXPECT_EQ(json, metadata_to_json(metadata_from_json(json)));
}

TEST(Metadata, TheFirstVersionSaysLess) {
  const ModuleInfo info =
      metadata_from_json(R"({"version": 1, "functions": [{"name": "f", "arguments": []}]})");
  EXPECT_TRUE(info.parameters.empty());
  EXPECT_TRUE(info.functions.at(0).unchecked.empty());
  EXPECT_FALSE(info.functions.at(0).workspace.call.has_value());
}

TEST(Metadata, ForeignTextIsRefused) {
  for (const char* text : {"", "{", "[]", "{\"version\": 3, \"functions\": []}", "{\"version\": 1}",
                           R"({"version": 1, "functions": [{"name": 3, "arguments": []}]})",
                           R"({"version": 1, "functions": [{"name": "f", "arguments":
            [{"name": "A", "kind": "tensor", "dtype": "float31", "shape": []}]}]})",
                           R"({"version": 1, "functions": [{"name": "f", "arguments":
            [{"name": "A", "kind": "matrix", "dtype": "float32", "shape": []}]}]})"}) {
    test::expect_message(ErrorCode::ModuleLoad, [&] { metadata_from_json(text); });
  }
}

}  // namespace
}  // namespace tw
