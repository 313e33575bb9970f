// SPDX-License-Identifier: Apache-2.0
// Kinds of workloads: their sizes, what is possible, and the te program they mean.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/te/text.h"

namespace tw::autotune {

struct SizeName {
  std::string_view name;
  std::string_view meaning;
  std::optional<int64_t> otherwise;  // when it is not given; none: it must be
  std::string_view same_as = "";     // or the value of this size, which stands before it
  int64_t least = 1;
  bool always_shown = true;  // in canonical text, also where it is as it would be otherwise
};

struct Sizes {
  std::map<std::string_view, int64_t> values;
  DType dtype = float_type(32);
  int64_t operator[](std::string_view name) const { return values.at(name); }
};

// A size that cannot be, and what it may be.
struct SizeProblem {
  std::string what, legal;
};

struct WorkloadKind {
  std::string_view name;
  std::string_view doc;
  std::vector<SizeName> sizes;
  bool floats_only;
  std::optional<SizeProblem> (*check)(const Sizes& sizes);
  te::Program (*build)(const Sizes& sizes);
  std::string (*shape)(const Sizes& sizes);  // for people
};
std::span<const WorkloadKind> workload_kinds();

}  // namespace tw::autotune
