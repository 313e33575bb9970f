// SPDX-License-Identifier: Apache-2.0
#include "graph/shape.h"

#include <fmt/format.h>

#include <algorithm>

namespace tw::graph {

bool Shape::known() const {
  return extents && std::ranges::find(*extents, kUnknown) == extents->end();
}

int64_t Shape::elements() const {
  int64_t n = 1;
  for (int64_t e : *extents) n *= e;
  return n;
}

std::optional<Shape> unify(const Shape& a, const Shape& b) {
  if (!a.has_rank()) return b;
  if (!b.has_rank()) return a;
  if (a.rank() != b.rank()) return std::nullopt;
  Shape both = a;
  for (size_t k = 0; k < a.rank(); ++k) {
    if (a[k] == Shape::kUnknown) (*both.extents)[k] = b[k];
    if (a[k] != b[k] && a[k] != Shape::kUnknown && b[k] != Shape::kUnknown) return std::nullopt;
  }
  return both;
}

std::string to_string(const Shape& shape) {
  if (!shape.has_rank()) return "?";
  std::string text = "(";
  for (size_t k = 0; k < shape.rank(); ++k) {
    if (k > 0) text += ", ";
    text += shape[k] == Shape::kUnknown ? "?" : fmt::format("{}", shape[k]);
  }
  return text + (shape.rank() == 1 ? ",)" : ")");
}

}  // namespace tw::graph
