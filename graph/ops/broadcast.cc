// SPDX-License-Identifier: Apache-2.0
// Operators on two tensors whose shapes are brought together by NumPy's rule: a row each.
#include <algorithm>

#include "graph/ops/families.h"
#include "schedule/topi/common.h"
#include "schedule/topi/topi.h"

namespace tw::graph {
namespace {

// Shapes are aligned at their last dimension; an extent of 1, or a missing one, is repeated.
void broadcast_shape(ShapeInference& s) {
  const Shape &a = s.input(0), &b = s.input(1);
  if (!a.has_rank() || !b.has_rank()) return;
  const size_t rank = std::max(a.rank(), b.rank());
  const auto extent = [&](const Shape& shape, size_t k) {
    const size_t missing = rank - shape.rank();
    return k < missing ? int64_t{1} : shape[k - missing];
  };
  std::vector<int64_t> result;
  for (size_t k = 0; k < rank; ++k) {
    const int64_t x = extent(a, k), y = extent(b, k);
    if (x == 1 || x == y) {
      result.push_back(y);
    } else if (y == 1 || y == Shape::kUnknown) {
      // Of an unknown extent and one above 1 the other is the result's, whichever the first is.
      result.push_back(y == Shape::kUnknown && x == Shape::kUnknown ? Shape::kUnknown : x);
    } else if (x == Shape::kUnknown) {
      result.push_back(y);
    } else {
      s.fail(fmt::format("shapes {} and {} do not broadcast", to_string(a), to_string(b)),
             "extents that are equal, 1 or missing");
    }
  }
  s.narrow_output(0, result);
}

struct Row {
  std::string_view name;
  std::vector<std::string_view> aliases;
  std::string_view doc;
  te::Tensor (*compute)(const te::Tensor&, const te::Tensor&);
  decltype(scales_as_sum)* fold_scale = nullptr;
};

}  // namespace

std::vector<Op> broadcast_ops() {
  static const Row kRows[] = {
      {"broadcast_add",
       {"__add_symbol__"},
       "a + b",
       [](const te::Tensor& a, const te::Tensor& b) { return topi::add(a, b); },
       scales_as_sum},
      {"broadcast_sub",
       {"__sub_symbol__"},
       "a - b",
       [](const te::Tensor& a, const te::Tensor& b) { return topi::subtract(a, b); },
       scales_as_sum},
      {"broadcast_mul",
       {"__mul_symbol__"},
       "a * b",
       [](const te::Tensor& a, const te::Tensor& b) { return topi::multiply(a, b); },
       scales_as_product},
      {"broadcast_div",
       {"__div_symbol__"},
       "a / b",
       [](const te::Tensor& a, const te::Tensor& b) { return topi::divide(a, b); }},
      {"broadcast_max",
       {},
       "the greater",
       [](const te::Tensor& a, const te::Tensor& b) { return topi::maximum(a, b); }},
      {"broadcast_min",
       {},
       "the lesser",
       [](const te::Tensor& a, const te::Tensor& b) { return topi::minimum(a, b); }},
      {"broadcast_pow",
       {"__pow_symbol__"},
       "a to the b; floating",
       [](const te::Tensor& a, const te::Tensor& b) {
         topi::require_float({"broadcast_pow", "lhs"}, a);
         return topi::power(a, b);
       }},
  };
  std::vector<Op> ops;
  for (const Row& row : kRows) {
    ops.push_back(
        {.name = row.name,
         .aliases = row.aliases,
         .doc = row.doc,
         .inputs = {{"lhs", "any shape"}, {"rhs", "a shape that broadcasts with that of lhs"}},
         .infer_shape = broadcast_shape,
         .infer_type = same_type,
         .layout = broadcast_layout,
         .pattern = Pattern::Broadcast,
         .compute = [f = row.compute](const AttributeValues&,
                                      Tensors in) { return std::vector{f(in[0], in[1])}; },
         .fold_scale = row.fold_scale ? ScaleRule(row.fold_scale) : nullptr,
         .inplace = {{0, 0}, {1, 0}}});
  }
  return ops;
}

}  // namespace tw::graph
