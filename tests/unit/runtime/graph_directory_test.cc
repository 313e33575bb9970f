// SPDX-License-Identifier: Apache-2.0
#include "runtime/graph_directory.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "runtime/c_api.h"
#include "runtime/error.h"
#include "runtime/graph_executor.h"
#include "tests/support/fuzz.h"
#include "tests/support/plan_json.h"
#include "tests/support/temporary_folder.h"

namespace tw {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// A library that can be exported: its file is copied.
class Copied final : public Module {
 public:
  explicit Copied(std::string path, bool dies = false)
      : path_(std::move(path)), module_(load_library(path_)), dies_(dies) {}
  std::vector<std::string> function_names() const override { return module_->function_names(); }
  Function get_function(std::string_view name) const override {
    return module_->get_function(name);
  }
  void export_library(const std::string& path) const override {
    fs::copy_file(path_, path);
    if (dies_) std::raise(SIGKILL);
  }

 private:
  std::string path_;
  std::shared_ptr<Module> module_;
  bool dies_;
};

class Directory : public test::WithGraphKernels {
 protected:
  void SetUp() override {
    WithGraphKernels::SetUp();
    target = folder / "net";
  }

  void write(float weight, int64_t n = 4) const {
    const NDArray w = NDArray::empty({n}, float_type(32));
    for (int64_t i = 0; i < n; ++i) w.data_as<float>()[i] = weight;
    const NamedArray parameters[] = {{"w", w}};
    export_graph(target.string(), test::twice_json(), Copied(path), parameters);
  }
  // What comes out for zeros: twice the weight.
  static float result(const fs::path& directory) {
    const DeployedGraph graph = load_graph(directory.string());
    GraphExecutor executor(graph.plan, graph.module, graph.parameters);
    EXPECT_TRUE(executor.input(1).read_only());
    executor.set_input(0, NDArray::zeros({4}, float_type(32)));
    executor.run();
    return executor.output(0).data_as<float>()[3];
  }
  std::string refusal(ErrorCode code) const {
    try {
      load_graph(target.string());
    } catch (const UserError& e) {
      EXPECT_EQ(e.code(), code) << e.what();
      EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what();
      return e.what();
    }
    ADD_FAILURE() << "it was loaded";
    return {};
  }
  static std::string content(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static void overwrite(const fs::path& file, const std::string& bytes) {
    fs::remove(file);  // it may be loaded
    std::ofstream(file, std::ios::binary) << bytes;
  }
  std::vector<std::string> names_in(const fs::path& where) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(where))
      names.push_back(entry.path().filename().string());
    return names;
  }

  const test::TemporaryFolder own;
  const fs::path& folder = own.path();
  fs::path target;
};

TEST_F(Directory, ComesBackAndIsReplaced) {
  write(1);
  EXPECT_THAT(names_in(target),
              testing::UnorderedElementsAre("graph.json", "graph.params", "model.so"));
  EXPECT_EQ(result(target), 2);
  const DeployedGraph old = load_graph(target.string());
  write(5);
  EXPECT_EQ(result(target), 10);
  EXPECT_EQ(result(target / ""), 10);
  EXPECT_EQ(old.parameters.at(0).value.data_as<float>()[0], 1);  // it stays as it was
  EXPECT_THAT(names_in(folder), testing::ElementsAre("net"));
  EXPECT_NO_THROW(load_graph(target.string(), /*verify=*/true));
  fs::create_directory(folder / "empty");
  fs::create_directory_symlink("empty", folder / "link");
  target = folder / "link";
  write(3);
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(result(folder / "empty"), 6);
}

TEST_F(Directory, WhatIsNoExportStays) {
  fs::create_directory(target);
  std::ofstream(target / "thesis.txt") << "work";
  EXPECT_THROW(write(1), UserError);
  EXPECT_EQ(content(target / "thesis.txt"), "work");
  target = target / "thesis.txt";
  EXPECT_THROW(write(1), UserError);
  EXPECT_EQ(content(target), "work");
  target = folder / "no" / "such" / "net";
  EXPECT_THROW(write(1), UserError);
  // A plan that the module does not go with leaves nothing behind.
  target = folder / "other";
  const Copied module(path);
  EXPECT_THROW(export_graph(target.string(), "{}", module, {}), UserError);
  // Nor does an export that fails half way.
  const NamedArray gaps[] = {
      {"w",
       NDArray::zeros({8}, float_type(32)).view(std::vector<int64_t>{4}, std::vector<int64_t>{2})}};
  EXPECT_THROW(export_graph(target.string(), test::twice_json(), module, gaps), UserError);
  EXPECT_THAT(names_in(folder), testing::ElementsAre("net"));
}

TEST_F(Directory, TheEndOfTheProcessLeavesTheOldOne) {
  write(4);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    export_graph(target.string(), test::twice_json(), Copied(path, /*dies=*/true), {});
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  EXPECT_EQ(result(target), 8);
  write(6);  // and the next one is none the worse
  EXPECT_EQ(result(target), 12);
}

TEST_F(Directory, MissingFilesAreNamed) {
  for (const auto& [name, code] : {std::pair("graph.json", ErrorCode::BadGraph),
                                   std::pair("graph.params", ErrorCode::BadParameters),
                                   std::pair("model.so", ErrorCode::ModuleLoad)}) {
    write(1);
    fs::remove(target / name);
    EXPECT_THAT(refusal(code), HasSubstr(name));
    EXPECT_THAT(refusal(code), HasSubstr("No such file"));
    fs::create_directory(target / name);
    EXPECT_THAT(refusal(code), HasSubstr(name));
    fs::remove(target / name);
  }
}

TEST_F(Directory, TruncatedFilesAreRefused) {
  for (const auto& [name, code] : {std::pair("graph.json", ErrorCode::BadGraph),
                                   std::pair("graph.params", ErrorCode::BadParameters),
                                   std::pair("model.so", ErrorCode::ModuleLoad)}) {
    write(1);
    const std::string good = content(target / name);
    for (size_t size : {size_t{0}, size_t{10}, good.size() / 2, good.size() - 4}) {
      overwrite(target / name, good.substr(0, size));
      EXPECT_THAT(refusal(code), HasSubstr(name)) << size;
    }
    overwrite(target / name, good);
    EXPECT_EQ(result(target), 2);
  }
}

TEST_F(Directory, FilesOfAnotherExportAreRefused) {
  write(1);
  const std::string parameters = content(target / "graph.params");
  write(2);
  overwrite(target / "graph.params", parameters);
  EXPECT_THAT(refusal(ErrorCode::BadParameters),
              HasSubstr("graph.params': it is not the file that 'graph.json' was exported with"));
  write(2);
  const std::string library = content(target / "model.so");
  overwrite(target / "model.so", library + "more");
  EXPECT_THAT(refusal(ErrorCode::ModuleLoad), HasSubstr("model.so': it is not the file"));
  overwrite(target / "model.so", library);
  overwrite(target / "graph.json", test::twice_json());  // that no export wrote
  refusal(ErrorCode::BadParameters);
}

TEST_F(Directory, NewerFilesAreRefused) {
  write(1);
  std::string json = content(target / "graph.json");
  const size_t version = json.find("\"export_version\"");
  ASSERT_NE(version, json.npos);
  json.replace(json.find('1', version), 1, "3");
  overwrite(target / "graph.json", json);
  EXPECT_THAT(refusal(ErrorCode::BadGraph),
              HasSubstr("it is an export of version 3; legal: up to 2"));
  write(1);
  std::string parameters = content(target / "graph.params");
  parameters[8] = 2;
  overwrite(target / "graph.params", parameters);
  EXPECT_THAT(refusal(ErrorCode::BadParameters), HasSubstr("it has version 2"));
}

TEST_F(Directory, DamagedValuesAreFoundWhenAllIsRead) {
  write(1);
  std::string parameters = content(target / "graph.params");
  parameters[parameters.size() - 60] ^= 1;
  overwrite(target / "graph.params", parameters);
  EXPECT_NO_THROW(load_graph(target.string()));
  EXPECT_THROW(load_graph(target.string(), /*verify=*/true), UserError);
}

// Whatever became of a byte, it is refused with a typed error, or it runs.
TEST_F(Directory, DamagedFilesDoNoHarm) {
  write(1);
  for (const char* name : {"graph.json", "graph.params"}) {
    const std::string good = content(target / name);
    // Values of parameters may be any.
    const size_t reach = std::string(name) == "graph.params" ? good.size() - 64 : good.size();
    test::FuzzCases cases(300, 0.02);
    while (cases.next()) {
      std::mt19937_64 random(cases.seed());
      std::string bad = good;
      bad[random() % reach] = static_cast<char>(random());
      overwrite(target / name, bad);
      try {
        result(target);
      } catch (const UserError&) {
        cases.refuse();
      }
    }
    overwrite(target / name, good);
  }
}

TEST_F(Directory, PlainCProgram) {
  write(1);
  const std::string program = test::compile_c("tests/unit/runtime/graph_program.c");
  ASSERT_FALSE(program.empty());
  void* handle = dlopen(program.c_str(), RTLD_NOW);
  ASSERT_NE(handle, nullptr) << dlerror();
  auto* run = reinterpret_cast<int (*)(const char*)>(dlsym(handle, "run"));
  ASSERT_NE(run, nullptr);
  EXPECT_EQ(run(target.c_str()), 0) << "line of graph_program.c; " << tw_last_error();
  dlclose(handle);
  std::remove(program.c_str());
}

}  // namespace
}  // namespace tw
