// SPDX-License-Identifier: Apache-2.0
// Operators on two tensors whose shapes are brought together by NumPy's rule: a row each.
#include <algorithm>

#include "graph/ops/common.h"
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

// Gradients of both operands from that of the output, all of the output's shape.
using BothGradients = Entries (*)(const GradientOf& n, const Entry& g);

Entry times(const GradientOf& n, const Entry& a, const Entry& b) {
  return n("broadcast_mul", {a, b});
}
// 1 where a comparison of the operands holds, else 0.
Entry holds(const GradientOf& n, std::string_view comparison) {
  return n(comparison, {n.input(0), n.input(1)});
}

// Of the greater or the lesser; operands that are equal have half of it each, as in PyTorch.
template <const char* const& first, const char* const& second>
Entries selected(const GradientOf& n, const Entry& g) {
  const Entry half = n("__mul_scalar__", {holds(n, "broadcast_equal")}, {{"scalar", "0.5"}});
  return {n.product(g, n("elemwise_add", {holds(n, first), half})),
          n.product(g, n("elemwise_add", {holds(n, second), half}))};
}
constexpr const char* kGreater = "broadcast_greater";
constexpr const char* kLess = "broadcast_less";

// b * a^(b - 1), which is 0 where b is, and y * log(a), which is 0 where a is.
Entries power_gradient(const GradientOf& n, const Entry& g) {
  const auto is_zero = [&](size_t k) { return n("broadcast_equal", {n.input(k), n.zeros(k)}); };
  const Entry less =
      n("__sub_scalar__", {n("elemwise_add", {n.input(1), is_zero(1)})}, {{"scalar", "1"}});
  const Entry slope = times(n, n("broadcast_pow", {n.input(0), less}), n.input(1));
  const Entry logarithm = n("log", {n("elemwise_add", {n.input(0), is_zero(0)})});
  return {n.product(g, slope), n.product(g, times(n, n.output(), logarithm))};
}

struct Row {
  std::string_view name;
  std::vector<std::string_view> aliases;
  std::string_view doc;
  te::Tensor (*compute)(const te::Tensor&, const te::Tensor&);
  BothGradients gradient;
  decltype(scales_as_sum)* fold_scale = nullptr;
};

}  // namespace

std::vector<Op> broadcast_ops() {
  static const Row kRows[] = {
      {"broadcast_add",
       {"__add_symbol__"},
       "a + b",
       [](const te::Tensor& a, const te::Tensor& b) { return topi::add(a, b); },
       [](const GradientOf&, const Entry& g) { return Entries{g, g}; },
       scales_as_sum},
      {"broadcast_sub",
       {"__sub_symbol__"},
       "a - b",
       [](const te::Tensor& a, const te::Tensor& b) { return topi::subtract(a, b); },
       [](const GradientOf& n, const Entry& g) { return Entries{g, n("negative", {g})}; },
       scales_as_sum},
      {"broadcast_mul",
       {"__mul_symbol__"},
       "a * b",
       [](const te::Tensor& a, const te::Tensor& b) { return topi::multiply(a, b); },
       [](const GradientOf& n, const Entry& g) {
         return Entries{times(n, g, n.input(1)), times(n, g, n.input(0))};
       },
       scales_as_product},
      {"broadcast_div",
       {"__div_symbol__"},
       "a / b",
       [](const te::Tensor& a, const te::Tensor& b) { return topi::divide(a, b); },
       [](const GradientOf& n, const Entry& g) {
         const Entry of_lhs = n("broadcast_div", {g, n.input(1)});
         return Entries{of_lhs, n("negative", {n.product(of_lhs, n.output())})};
       }},
      {"broadcast_max",
       {},
       "the greater",
       [](const te::Tensor& a, const te::Tensor& b) { return topi::maximum(a, b); },
       selected<kGreater, kLess>},
      {"broadcast_min",
       {},
       "the lesser",
       [](const te::Tensor& a, const te::Tensor& b) { return topi::minimum(a, b); },
       selected<kLess, kGreater>},
      {"broadcast_pow",
       {"__pow_symbol__"},
       "a to the b; floating",
       [](const te::Tensor& a, const te::Tensor& b) {
         topi::require_float({"broadcast_pow", "lhs"}, a);
         return topi::power(a, b);
       },
       power_gradient},
      {"broadcast_equal",
       {},
       "1 where a == b, else 0",
       [](const te::Tensor& a, const te::Tensor& b) { return mask(topi::equal(a, b), a.dtype()); },
       flat},
      {"broadcast_not_equal",
       {},
       "1 where a != b, else 0",
       [](const te::Tensor& a, const te::Tensor& b) {
         return mask(topi::not_equal(a, b), a.dtype());
       },
       flat},
      {"broadcast_greater",
       {},
       "1 where a > b, else 0",
       [](const te::Tensor& a, const te::Tensor& b) {
         return mask(topi::greater(a, b), a.dtype());
       },
       flat},
      {"broadcast_greater_equal",
       {},
       "1 where a >= b, else 0",
       [](const te::Tensor& a, const te::Tensor& b) {
         return mask(topi::greater_equal(a, b), a.dtype());
       },
       flat},
      {"broadcast_less",
       {},
       "1 where a < b, else 0",
       [](const te::Tensor& a, const te::Tensor& b) { return mask(topi::less(a, b), a.dtype()); },
       flat},
      {"broadcast_less_equal",
       {},
       "1 where a <= b, else 0",
       [](const te::Tensor& a, const te::Tensor& b) {
         return mask(topi::less_equal(a, b), a.dtype());
       },
       flat},
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
         .gradient =
             [f = row.gradient](const NodeRef& node, const Entries& g) {
               const GradientOf n(node);
               Entries of_inputs = f(n, g[0]);
               for (size_t k = 0; k < 2; ++k) {
                 of_inputs[k] = n("collapse_sum", {of_inputs[k], n.input(k)});
               }
               return of_inputs;
             },
         .fold_scale = row.fold_scale ? ScaleRule(row.fold_scale) : nullptr,
         .inplace = {{0, 0}, {1, 0}}});
  }
  return ops;
}

}  // namespace tw::graph
