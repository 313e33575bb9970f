// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/arithmetic.h"

#include <algorithm>

#include "runtime/error.h"

namespace tw::graph {

void Arithmetic::fail(std::string what, std::string legal) const {
  raise({.code = ErrorCode::BadGraph,
         .what = std::move(what),
         .where = fmt::format("node '{}'", node_->name),
         .legal = std::move(legal)});
}

const Shape& Arithmetic::ranked(std::span<const Shape> shapes, size_t k) const {
  if (!shapes[k].has_rank()) {
    fail(fmt::format("the shape of {} is unknown", place_of(*node_, true, k)),
         "a shape for each input of the graph");
  }
  return shapes[k];
}

const std::vector<int64_t>& Arithmetic::known(std::span<const Shape> shapes, size_t k) const {
  const Shape& shape = ranked(shapes, k);
  if (!shape.known()) {
    fail(fmt::format("the shape of {} is {}", place_of(*node_, true, k), to_string(shape)),
         "a shape that is known for each input of the graph");
  }
  return *shape.extents;
}

Entry Arithmetic::slice(const Entry& a, size_t axis, int64_t begin, int64_t end) const {
  std::vector<int64_t> first(axis + 1, 0), last(axis + 1, INT32_MAX);
  first[axis] = begin;
  last[axis] = end;
  return (*this)("strided_slice", {a}, {{"begin", tuple_text(first)}, {"end", tuple_text(last)}});
}

size_t plain_axis(int64_t axis, size_t rank) {
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
}

std::vector<int64_t> plain_axes(const std::vector<int64_t>& axes, size_t rank) {
  std::vector<int64_t> result;
  for (int64_t axis : axes) result.push_back(static_cast<int64_t>(plain_axis(axis, rank)));
  std::ranges::sort(result);
  return result;
}

}  // namespace tw::graph
