// SPDX-License-Identifier: Apache-2.0
#include "graph/byoc/codegens.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <mutex>

#include "runtime/codegen_library.h"
#include "runtime/error.h"
#include "runtime/nearest_word.h"
#include "runtime/try_regions.h"

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
  const bool is_path = std::filesystem::path(codegen.library).has_parent_path();
  return is_path ? codegen.library : vendor::find_codegen(codegen.library);
}

const tw_codegen& load_library(const Codegen& codegen) {
  return vendor::load_codegen(codegen.name, library_path(codegen));
}

std::unique_ptr<vendor::Kernel> build_kernel(const Codegen& codegen, const vendor::Region& region) {
  return vendor::build_kernel(load_library(codegen), region);
}

std::vector<std::string> try_regions(const Codegen& codegen,
                                     const std::vector<vendor::Region>& regions) {
  return vendor::try_regions(library_path(codegen), regions);
}

}  // namespace tw::graph
