// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/line_statements.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "ir/expr.h"

namespace tw::topi {
namespace {

constexpr int64_t kVectorBytes = 64;     // of the widest registers
constexpr int64_t kWorthThreads = 8192;  // elements that take as long as waking threads
constexpr int64_t kMostColumns = 256;    // of a task: four kilobytes at most in a step

Stmt make_loop(const std::string& name, int64_t begin, int64_t extent, DType type, ForKind kind,
               const LoopBody& body) {
  const Var i(name, type);
  return make(For{.var = i,
                  .min = make_const(type, begin),
                  .extent = make_const(type, extent),
                  .for_kind = kind,
                  .body = body(i)});
}

}  // namespace

std::vector<int64_t> constant_shape(const Place& place, const Tensor& t) {
  std::vector<int64_t> extents;
  for (const Expr& e : t.shape()) {
    const auto constant = as_const_int(e);
    if (!constant) {
      bad_shape(place, fmt::format("shape {}", shape_text(t.shape())), "constant extents");
    }
    extents.push_back(*constant);
  }
  return extents;
}

int64_t count_of(const std::vector<int64_t>& extents) {
  int64_t count = 1;
  for (int64_t e : extents) count *= e;
  return count;
}

Lines lines_along(const std::vector<int64_t>& shape, size_t axis) {
  const auto at = shape.begin() + static_cast<std::ptrdiff_t>(axis);
  return {count_of({shape.begin(), at}), *at, count_of({at + 1, shape.end()})};
}

Expr Buffer::operator[](const Expr& at) const {
  return make(Load{.type = buffer->element, .buffer = buffer, .index = at});
}

Stmt Buffer::set(const Expr& at, const Expr& value) const {
  return make(Store{.buffer = buffer, .value = value, .index = at});
}

Stmt serial_loop(const std::string& name, int64_t extent, DType type, const LoopBody& body) {
  if (extent == 1) return body(make_zero(type));
  return make_loop(name, 0, extent, type, ForKind::Serial, body);
}

bool is_worth_threads(int64_t work) { return work >= kWorthThreads; }

Stmt parallel_loop(const std::string& name, int64_t extent, DType type, int64_t work,
                   const LoopBody& body) {
  if (extent == 1 || !is_worth_threads(work)) return serial_loop(name, extent, type, body);
  return make_loop(name, 0, extent, type, ForKind::Parallel, body);
}

Stmt vector_loop(const std::string& name, int64_t extent, DType type, DType element,
                 const LoopBody& body) {
  const int64_t lanes = kVectorBytes / element.element_bytes();
  const int64_t vectors = extent / lanes, rest = extent - vectors * lanes;
  const Expr width = make_const(type, lanes);
  std::vector<Stmt> parts;
  if (vectors > 0) {
    parts.push_back(serial_loop(name + ".outer", vectors, type, [&](const Expr& outer) {
      return make_loop(name, 0, lanes, type, ForKind::Vectorized,
                       [&](const Expr& i) { return body(outer * width + i); });
    }));
  }
  if (rest > 0 || parts.empty()) {
    parts.push_back(serial_loop(name + ".rest", rest, type, [&](const Expr& i) {
      return body(make_const(type, vectors * lanes) + i);
    }));
  }
  return block(parts);
}

DType position_type(int64_t elements) {
  return int_type(elements > std::numeric_limits<int32_t>::max() ? 64 : 32);
}

int64_t columns_of_task(int64_t inner) {
  for (int64_t columns = std::min(inner, kMostColumns); columns >= 16; --columns) {
    if (inner % columns == 0) return columns;
  }
  return std::max<int64_t>(inner, 1);
}

}  // namespace tw::topi
