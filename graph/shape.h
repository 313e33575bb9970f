// SPDX-License-Identifier: Apache-2.0
// What is known of a tensor's shape.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tw::graph {

// Of unknown rank, or a list of extents of which some may be unknown. Rank 0 and extents of 0 are
// known as any others.
using Extents = std::vector<int64_t>;

struct Shape {
  static constexpr int64_t kUnknown = -1;
  std::optional<Extents> extents = {};

  Shape() = default;
  Shape(Extents e) : extents(std::move(e)) {}
  static Shape of_rank(size_t rank) { return Extents(rank, kUnknown); }

  bool has_rank() const { return extents.has_value(); }
  size_t rank() const { return extents->size(); }
  // Whether all of it is known.
  bool known() const;
  int64_t operator[](size_t k) const { return (*extents)[k]; }
  // The number of elements of a known shape.
  int64_t elements() const;
  bool operator==(const Shape&) const = default;
};

// For those who write it often.
inline constexpr int64_t kUnknown = Shape::kUnknown;

// What both say; nothing where they contradict each other.
std::optional<Shape> unify(const Shape& a, const Shape& b);
// "(1, 13, ?, 100)", "?" for an unknown rank.
std::string to_string(const Shape& shape);

}  // namespace tw::graph
