// SPDX-License-Identifier: Apache-2.0
#include "graph/byoc/codegens.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <mutex>

#include "autotune/worker_process.h"
#include "graph/byoc/load_codegen.h"
#include "runtime/error.h"
#include "runtime/nearest_word.h"

namespace tw::graph {
namespace {

struct Table {
  std::mutex mutex;
  std::vector<Codegen> rows = {
#define CODEGEN(name, library, patterns, doc) {#name, library},
#include "graph/byoc/codegens.def"
#undef CODEGEN
  };
};
Table& table() {
  static auto* const value = new Table;
  return *value;
}

vendor::BuildFunction* build_function(const Codegen& codegen) {
  const std::string path = library_path(codegen);
  // Libraries stay: kernels may live as long as the program.
  void* library = load_codegen(path.c_str());
  if (library == nullptr) {
    const char* why = dlerror();
    raise({.code = ErrorCode::ModuleLoad,
           .what = fmt::format("the code generator '{}' cannot be loaded: {}", codegen.name,
                               why == nullptr ? "no reason is known" : why)});
  }
  void* symbol = dlsym(library, "tilewright_build");
  if (symbol == nullptr) {
    raise({.code = ErrorCode::ModuleLoad,
           .what = fmt::format("{} exports no tilewright_build", path)});
  }
  return reinterpret_cast<vendor::BuildFunction*>(symbol);
}

}  // namespace

std::vector<Codegen> codegens() {
  const std::lock_guard lock(table().mutex);
  return table().rows;
}

void register_codegen(Codegen codegen) {
  const std::lock_guard lock(table().mutex);
  std::erase_if(table().rows, [&](const Codegen& c) { return c.name == codegen.name; });
  table().rows.push_back(std::move(codegen));
}

Codegen find_codegen(std::string_view name) {
  const std::vector<Codegen> all = codegens();
  const auto it = std::ranges::find(all, name, &Codegen::name);
  if (it != all.end()) return *it;
  std::vector<std::string_view> names;
  for (const Codegen& c : all) names.push_back(c.name);
  raise({.code = ErrorCode::BadArgument,
         .what = fmt::format("there is no code generator '{}'{}", name,
                             suggestion(nearest_word(name, names))),
         .legal = fmt::format("{}", fmt::join(names, ", "))});
}

std::string library_path(const Codegen& codegen) {
  const std::filesystem::path library(codegen.library);
  if (library.has_parent_path()) return codegen.library;
  return (std::filesystem::path(autotune::worker_program("")).parent_path() / library).string();
}

std::unique_ptr<vendor::Kernel> build_kernel(const Codegen& codegen, const vendor::Region& region) {
  vendor::BuildFunction* const build = build_function(codegen);
  try {
    std::unique_ptr<vendor::Kernel> kernel(build(region));
    if (kernel) return kernel;
    raise({.code = ErrorCode::CodeGeneration, .what = "the code generator gave nothing"});
  } catch (const Error&) {
    throw;
  } catch (const std::exception& e) {
    raise({.code = ErrorCode::CodeGeneration, .what = e.what()});
  }
}

}  // namespace tw::graph
