// SPDX-License-Identifier: Apache-2.0
// Compiled modules: lifetime, sources, libraries, errors, threads.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "runtime/c_api.h"
#include "runtime/error.h"
#include "runtime/workspace.h"
#include "tests/support/temporary_folder.h"
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

// A kernel may be called as a function is that it calls itself; nobody else's calls reach it
// either.
TEST(LlvmModule, NamesOfKernelsAreNobodysFunctions) {
  const test::TemporaryFolder folder;
  for (const char* name : {"tan", "tanf", "exp", "expf", "log", "memset", "tw_parallel_for"}) {
    const Kernel kernel =
        make_kernel("for (i, 0, 64) { O[i] = ((tan(A[i]) + exp(A[i])) + log((A[i] + 1.000000f))) }",
                    kTensors, name);
    const std::string path = folder.file(std::string(name) + ".so");
    const auto module = compile({kernel}, Target::parse("llvm -mcpu=x86-64"));
    module->export_library(path);
    NDArray a = NDArray::zeros({64}, float_type(32));
    a.data_as<float>()[0] = 1;
    for (const Function& f : {module->get_function(name), load_library(path)->get_function(name)}) {
      NDArray o = NDArray::zeros({64}, float_type(32));
      f(a, o);
      EXPECT_NEAR(o.data_as<float>()[0], std::tan(1.0f) + std::exp(1.0f) + std::log(2.0f), 1e-5)
          << name;
      EXPECT_EQ(o.data_as<float>()[1], 1) << name;
    }
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    // It may be one of the libraries' that this one needs.
    Dl_info found{};
    if (void* function = dlsym(library, name)) {
      ASSERT_NE(dladdr(function, &found), 0) << name;
      EXPECT_NE(found.dli_fname, path) << "the library has a function '" << name << "'";
    }
    dlclose(library);
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
    EXPECT_THAT(module->source("ll"), HasSubstr("define i32 @f.kernel("));
    EXPECT_THAT(module->source("asm"), HasSubstr("f.kernel:"));
    EXPECT_THAT(module->source("ir"), HasSubstr("for (i, 0, 4)"));
    expect_error(ErrorCode::BadArgument, "ll, asm, ir", [&] { module->source("cuda"); });
  }
}

TEST(LlvmModule, SameInputSameText) {
  EXPECT_EQ(compile({scale("f", 1)}, Target::host())->source("asm"),
            compile({scale("f", 1)}, Target::host())->source("asm"));
}

TEST(LlvmModule, ExportedLibraryIsLoadedAndCalled) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("f.so");
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
  const test::TemporaryFolder folder;
  const std::string path = folder.file("f.so");
  compile({scale("f", 7)}, Target::host())->export_library(path);
  const Function old = load_library(path)->get_function("f");
  compile({scale("f", 8)}, Target::host())->export_library(path);
  EXPECT_EQ(first(old), 7);
}

TEST(LlvmModule, ObjectAndHeader) {
  const test::TemporaryFolder folder;
  const auto module = compile({scale("f", 7)}, Target::host());
  module->export_library(folder.file("f.o"));
  EXPECT_GT(fs::file_size(folder.path() / "f.o"), 100u);
  module->export_library(folder.file("f.h"));
  std::ifstream in(folder.path() / "f.h");
  EXPECT_THAT(std::string(std::istreambuf_iterator<char>(in), {}), HasSubstr("int32_t f("));
  expect_error(ErrorCode::BadArgument, ".so", [&] { module->export_library("f.txt"); });
  expect_error(ErrorCode::LinkFailed, "cannot write",
               [&] { module->export_library("/no/such/folder/f.so"); });
}

// O[i] = A[i] * W[i] + small[0], W of `size` elements, as make_api leaves it.
Kernel weighted(const std::string& name, int64_t size, float factor) {
  const Var a = buffer_var("A", float_type(32)), o = buffer_var("O", float_type(32)),
            w = buffer_var("W", float_type(32)), small = buffer_var("small", float_type(32)),
            i("i");
  const auto load = [](const Var& buffer, const Expr& index) {
    return Expr(make(Load{.type = float_type(32), .buffer = buffer, .index = index}));
  };
  const Expr extent(static_cast<int>(size));
  const NDArray weights = NDArray::empty({size}, float_type(32)),
                one = NDArray::empty({1}, float_type(32));
  for (int64_t k = 0; k < size; ++k) weights.data_as<float>()[k] = factor * static_cast<float>(k);
  one.data_as<float>()[0] = 1;
  const Expr value = load(a, i) * load(w, i) + load(small, 0);
  Kernel kernel{
      .name = name,
      .arguments =
          {{.name = "A", .dtype = float_type(32), .shape = {extent}, .var = a},
           {.name = "O", .dtype = float_type(32), .shape = {extent}, .var = o, .is_output = true}},
      .constants =
          {{.name = "W", .dtype = float_type(32), .shape = {extent}, .var = w, .value = weights},
           {.name = "small", .dtype = float_type(32), .shape = {1}, .var = small, .value = one}},
      .body = make(For{.var = i,
                       .min = 0,
                       .extent = extent,
                       .body = make(Store{.buffer = o, .value = value, .index = i})})};
  return run_passes(kernel, Target::host(), {}).entry();
}
void expect_weighted(const Function& f, int64_t size, float factor) {
  NDArray a = NDArray::empty({size}, float_type(32)), o = NDArray::zeros({size}, float_type(32));
  for (int64_t k = 0; k < size; ++k) a.data_as<float>()[k] = 2;
  f(a, o);
  for (int64_t k : {int64_t{0}, int64_t{1}, size - 1})
    EXPECT_EQ(o.data_as<float>()[k], 2 * factor * static_cast<float>(k) + 1) << k;
}

TEST(LlvmModule, LargeConstantsStandBesideTheLibrary) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("f.so");
  const int64_t size = 1 << 20;
  const auto module = compile({weighted("f", size, 1), weighted("g", size, 3)}, Target::host());
  expect_weighted(module->get_function("g"), size, 3);
  module->export_library(path);
  EXPECT_LT(fs::file_size(path), 100000u);
  EXPECT_GT(fs::file_size(folder.path() / "f.params"), 8u << 20);
  const auto loaded = load_library(path);
  expect_weighted(loaded->get_function("f"), size, 1);
  expect_weighted(loaded->get_function("g"), size, 3);

  // Two libraries of one name for their constants do not meet.
  const std::string other = folder.file("other.so");
  compile({weighted("f", size, 5)}, Target::host())->export_library(other);
  const auto second = load_library(other);
  expect_weighted(second->get_function("f"), size, 5);
  expect_weighted(loaded->get_function("f"), size, 1);

  // Both files may be renamed together.
  fs::create_directory(folder.path() / "moved");
  fs::rename(path, folder.path() / "moved" / "x.so");
  fs::rename(folder.path() / "f.params", folder.path() / "moved" / "x.params");
  expect_weighted(load_library((folder.path() / "moved" / "x.so").string())->get_function("g"),
                  size, 3);

  // Another library's, damaged ones, none.
  const auto refuses = [&](const char* part) {
    expect_error(ErrorCode::BadParameters, part, [&] { load_library(other); });
  };
  const fs::path parameters = folder.path() / "other.params", good = folder.path() / "good";
  fs::copy_file(parameters, good);
  fs::remove(parameters);
  refuses("No such file");
  fs::copy_file(folder.path() / "moved" / "x.params", parameters);
  refuses("are not those of");
  fs::remove(parameters);
  fs::copy_file(good, parameters);
  fs::resize_file(parameters, fs::file_size(good) - 4);
  refuses("bytes of");
  fs::remove(parameters);
  fs::copy_file(good, parameters);
  EXPECT_NE(load_library(other), nullptr);
}

TEST(LlvmModule, SmallConstantsStayInTheLibrary) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("f.so");
  compile(weighted("f", 64, 2), Target::host())->export_library(path);
  EXPECT_FALSE(fs::exists(folder.path() / "f.params"));
  expect_weighted(load_library(path)->get_function("f"), 64, 2);
}

// An object holds all constants: what is linked from it needs nothing beside it.
TEST(LlvmModule, ObjectsHoldTheirConstants) {
  const test::TemporaryFolder folder;
  const std::string object = folder.file("f.o");
  const int64_t size = 1 << 18;
  compile(weighted("f", size, 4), Target::host())->export_library(object);
  EXPECT_FALSE(fs::exists(folder.path() / "f.params"));
  EXPECT_GT(fs::file_size(object), 1u << 20);
  if (std::system("command -v ld.lld-19 > /dev/null") != 0) GTEST_SKIP() << "no linker";
  const std::string library = folder.file("linked.so");
  ASSERT_EQ(std::system(fmt::format("ld.lld-19 -shared -o {} {}", library, object).c_str()), 0);
  expect_weighted(load_library(library)->get_function("f"), size, 4);
}

TEST(LlvmModule, EachKernelHasAnEntryWithoutChecks) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("f.so");
  const auto module = compile(weighted("f", 64, 2), Target::host());
  module->export_library(path);
  module->export_library(folder.file("f.h"));
  std::ifstream in(folder.path() / "f.h");
  EXPECT_THAT(std::string(std::istreambuf_iterator<char>(in), {}),
              HasSubstr("int32_t f_unchecked("));
  const NDArray longer = NDArray::zeros({65}, float_type(32)),
                o = NDArray::zeros({64}, float_type(32));
  for (const Function& f : {module->get_function("f"), load_library(path)->get_function("f")}) {
    EXPECT_NE(f.kernel(), f.unchecked().kernel());
    EXPECT_EQ(f.unchecked().unchecked().kernel(), f.unchecked().kernel());
    expect_weighted(f, 64, 2);
    expect_weighted(f.unchecked(), 64, 2);
    expect_error(ErrorCode::ArgumentShape, "65", [&] { f(longer, o); });
    f.unchecked()(longer, o);  // reads what it needs of it
  }
  tw_module* loaded = tw_module_load(path.c_str());
  ASSERT_NE(loaded, nullptr);
  EXPECT_NE(tw_module_unchecked(loaded, "f"), nullptr);
  EXPECT_NE(tw_module_unchecked(loaded, "f"), tw_module_function(loaded, "f"));
  EXPECT_EQ(tw_module_unchecked(loaded, "g"), nullptr);
  EXPECT_EQ(load_library(path)->function_names(), std::vector<std::string>{"f"});
  tw_module_free(loaded);
  tw_clear_error();
}

// Scratch memory of the call, and of each thread.
TEST(LlvmModule, KernelsSayWhatScratchMemoryTheyTake) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("f.so");
  const te::Tensor a = te::placeholder({16, 2000}, float_type(32), "A");
  const te::Tensor t =
      te::compute({16, 2000}, [&](const auto& i) { return a(i[0], i[1]) + 1; }, "t");
  const te::Tensor row =
      te::compute({16, 2000}, [&](const auto& i) { return t(i[0], 1999 - i[1]) * 2; }, "row");
  const te::Tensor c =
      te::compute({16, 2000}, [&](const auto& i) { return row(i[0], 1999 - i[1]) + 3; }, "C");
  for (const bool dynamic : {false, true}) {
    const Schedule s = Schedule::create({c});
    s[row].compute_at(s[c], s[c].axis(0));
    s[c].parallel(s[c].axis(0));
    if (dynamic) s[c].pragma(s[c].axis(0), "parallel_dynamic", 2);
    const Kernel kernel = lower(s, {a, c}, Target::host(), {.name = "f"});
    compile(kernel, Target::host())->export_library(path);
    tw_module* module = tw_module_load(path.c_str());
    ASSERT_NE(module, nullptr);
    tw_workspace w = {};
    EXPECT_EQ(tw_module_workspace(module, "f", &w.call_bytes, &w.thread_bytes), 0);
    EXPECT_EQ(w.call_bytes, 16 * 2000 * 4);
    EXPECT_EQ(w.thread_bytes, 8000);
    EXPECT_EQ(tw_module_workspace(module, "g", &w.call_bytes, &w.thread_bytes), -1);
    tw_set_num_threads(3);
    w.num_threads = tw_num_threads();
    NDArray memory = NDArray::zeros({tw_workspace_bytes(&w)}, int_type(8));
    w.memory = memory.data();
    workspace_trim();
    EXPECT_EQ(tw_workspace_lend(&w), 0);
    const Function f = load_library(path)->get_function("f");
    NDArray in = NDArray::zeros({16, 2000}, float_type(32)),
            out = NDArray::zeros({16, 2000}, float_type(32));
    for (int call = 0; call < 5; ++call) {
      f(in, out);
      for (int64_t i = 0; i < out.size(); ++i) ASSERT_EQ(out.data_as<float>()[i], 5);
      out.copy_from(in);
    }
    EXPECT_EQ(tw_workspace_lend(nullptr), 0);
    EXPECT_EQ(workspace_kept_bytes(), 0u);  // nothing but the lent memory was used
    const auto* used = reinterpret_cast<const float*>(memory.data_as<char>());
    EXPECT_EQ(used[0], 1);          // t
    EXPECT_EQ(used[16 * 2000], 2);  // a task's row
    tw_module_free(module);
  }
  tw_clear_error();
}

TEST(LlvmModule, NoLinker) {
  const test::TemporaryFolder folder;
  const std::string path = getenv("PATH");
  setenv("PATH", folder.path().c_str(), 1);
  const auto restore = [&] { setenv("PATH", path.c_str(), 1); };
  const auto module = compile({scale("f", 7)}, Target::host());
  // Where LLVM's own folder has a linker it is found without the path.
  if (!fs::exists("/usr/lib/llvm-19/bin/ld.lld")) {
    expect_error(ErrorCode::LinkFailed, "lld-19",
                 [&] { module->export_library(folder.file("f.so")); });
  }
  restore();
}

TEST(LlvmModule, MissingFeatureIsRefusedUnlessTheBuildIsForAnotherMachine) {
  const test::TemporaryFolder folder;
  const Target other = Target::parse("llvm -mcpu=bdver4");  // FMA4 and XOP died out
  if (other.features_missing_on_host().empty()) GTEST_SKIP();
  expect_error(ErrorCode::TargetFeature, "fma4", [&] { compile({scale("f", 7)}, other); });
  const auto module = compile({scale("f", 7)}, other, {.cross = true});
  expect_error(ErrorCode::TargetFeature, "fma4", [&] { module->get_function("f"); });
  module->export_library(folder.file("f.so"));
  EXPECT_TRUE(fs::exists(folder.path() / "f.so"));
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
