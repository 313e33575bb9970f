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

// Types of the elements: of what flows through, of weights, and of the result.
struct ElementTypes {
  std::string_view name;
  DType data, weights, result;
  // Bytes are results of sums that are wider.
  DType sums() const { return result.bits == 8 ? int_type(32) : result; }
};

struct Sizes {
  std::map<std::string_view, int64_t> values;
  ElementTypes types;
  int64_t operator[](std::string_view name) const { return values.at(name); }
};

// A size that cannot be, and what it may be.
struct SizeProblem {
  std::string what, legal;
};

// The types that a kind may have.
enum class TypeChoice : uint8_t {
  Floats,       // one floating type for all elements
  Numbers,      // or int32
  Products,     // or products of narrow numbers with wide sums
  Requantized,  // or bytes, to which such sums are brought back
};
const ElementTypes* find_types(TypeChoice choice, std::string_view name);  // null: not one of them
std::string type_names(TypeChoice choice);                                 // "float32, float64"

struct WorkloadKind {
  std::string_view name;
  std::string_view doc;
  std::vector<SizeName> sizes;
  TypeChoice types;
  std::optional<SizeProblem> (*check)(const Sizes& sizes);
  te::Program (*build)(const Sizes& sizes);
  std::string (*shape)(const Sizes& sizes);  // for people
  std::string_view names_of = {};            // the kind whose named sizes are its own as well
};
std::span<const WorkloadKind> workload_kinds();

}  // namespace tw::autotune
