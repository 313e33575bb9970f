// SPDX-License-Identifier: Apache-2.0
// Operators on two tensors whose shapes are brought together by NumPy's rule: a row each.
#include <algorithm>

#include "graph/ops/common.h"
#include "graph/ops/families.h"
#include "schedule/topi/common.h"
#include "schedule/topi/topi.h"

namespace tw::graph {
namespace {

void broadcast_shape(ShapeInference& s) {
  s.narrow_output(0, broadcast_of(s, s.input(0), s.input(1)));
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
// A remainder moves with what is divided, and by so many steps against the divisor.
template <const char* const& rounding>
Entries remainder_gradient(const GradientOf& n, const Entry& g) {
  const Entry steps = n(rounding, {n("broadcast_div", {n.input(0), n.input(1)})});
  return {g, n("negative", {n.product(g, steps)})};
}
constexpr const char* kTrunc = "trunc";
constexpr const char* kFloor = "floor";
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

// Whether the operands, which are true where they are not 0, are so; in the type of the first.
using Function = te::Tensor (*)(const te::Tensor&, const te::Tensor&, const std::string&,
                                const std::string&);
template <Function function>
te::Tensor logical(const te::Tensor& a, const te::Tensor& b) {
  return mask(function(as_bool(a), as_bool(b), "T_logical", topi::kBroadcast), a.dtype());
}
// Of integers alone.
template <Function function>
te::Tensor of_integers(const te::Tensor& a, const te::Tensor& b) {
  topi::require_integers({"broadcast", "lhs"}, a);
  return function(a, b, "T_bits", topi::kBroadcast);
}

// Of floats the exact remainder of a quotient towards zero, and the divisor where the signs differ:
// so an infinite divisor leaves what is divided.
te::Tensor floor_mod(const te::Tensor& a, const te::Tensor& b) {
  if (!a.dtype().is_float()) return topi::floor_mod(a, b);
  const te::Tensor rest = topi::fmod(a, b);
  const te::Tensor differ = topi::less(topi::multiply(topi::sign(rest), b), Expr(0));
  return topi::where(differ, topi::add(rest, b), rest);
}

struct Row {
  std::string_view name;
  std::vector<std::string_view> aliases;
  std::string_view doc;
  te::Tensor (*compute)(const te::Tensor&, const te::Tensor&);
  BothGradients gradient = nullptr;  // null: none
  decltype(scales_as_sum)* fold_scale = nullptr;
};

}  // namespace

std::vector<Op> broadcast_ops() {
  static const Row kRows[] = {
      {"broadcast_add",
       {"__add_symbol__", "add"},
       "a + b",
       [](const te::Tensor& a, const te::Tensor& b) { return topi::add(a, b); },
       [](const GradientOf&, const Entry& g) { return Entries{g, g}; },
       scales_as_sum},
      {"broadcast_sub",
       {"__sub_symbol__", "subtract"},
       "a - b",
       [](const te::Tensor& a, const te::Tensor& b) { return topi::subtract(a, b); },
       [](const GradientOf& n, const Entry& g) { return Entries{g, n("negative", {g})}; },
       scales_as_sum},
      {"broadcast_mul",
       {"__mul_symbol__", "multiply"},
       "a * b",
       [](const te::Tensor& a, const te::Tensor& b) { return topi::multiply(a, b); },
       [](const GradientOf& n, const Entry& g) {
         return Entries{times(n, g, n.input(1)), times(n, g, n.input(0))};
       },
       scales_as_product},
      {"broadcast_div",
       {"__div_symbol__", "divide"},
       "a / b",
       [](const te::Tensor& a, const te::Tensor& b) { return topi::divide(a, b); },
       [](const GradientOf& n, const Entry& g) {
         const Entry of_lhs = n("broadcast_div", {g, n.input(1)});
         return Entries{of_lhs, n("negative", {n.product(of_lhs, n.output())})};
       }},
      {"broadcast_max",
       {"maximum"},
       "the greater, NaN where one is",
       [](const te::Tensor& a, const te::Tensor& b) { return topi::maximum(a, b); },
       selected<kGreater, kLess>},
      {"broadcast_min",
       {"minimum"},
       "the lesser, NaN where one is",
       [](const te::Tensor& a, const te::Tensor& b) { return topi::minimum(a, b); },
       selected<kLess, kGreater>},
      {"broadcast_pow",
       {"__pow_symbol__", "power"},
       "a to the b; of integers 1 / a towards zero where b is below 0",
       [](const te::Tensor& a, const te::Tensor& b) { return topi::power(a, b); },
       power_gradient},
      {"broadcast_equal",
       {"equal"},
       "1 where a == b, else 0",
       [](const te::Tensor& a, const te::Tensor& b) { return mask(topi::equal(a, b), a.dtype()); },
       flat},
      {"broadcast_not_equal",
       {"not_equal"},
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
       {"greater_equal"},
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
       {"less_equal"},
       "1 where a <= b, else 0",
       [](const te::Tensor& a, const te::Tensor& b) {
         return mask(topi::less_equal(a, b), a.dtype());
       },
       flat},
      {"broadcast_mod",
       {"mod"},
       "remainder of a / b with the sign of a",
       [](const te::Tensor& a, const te::Tensor& b) { return topi::fmod(a, b); },
       remainder_gradient<kTrunc>},
      {"broadcast_floor_mod",
       {"floor_mod"},
       "remainder of a / b with the sign of b",
       floor_mod,
       remainder_gradient<kFloor>},
      {"broadcast_floor_div",
       {"floor_divide"},
       "greatest integral value not above a / b",
       [](const te::Tensor& a, const te::Tensor& b) { return topi::floor_divide(a, b); },
       flat},
      {"logical_and",
       {"broadcast_logical_and"},
       "1 where neither is 0, else 0, in the type of a",
       logical<topi::logical_and>,
       flat},
      {"logical_or",
       {"broadcast_logical_or"},
       "1 where one is not 0, else 0, in the type of a",
       logical<topi::logical_or>,
       flat},
      {"logical_xor",
       {"broadcast_logical_xor"},
       "1 where one is 0 and one is not, else 0, in the type of a",
       logical<topi::logical_xor>,
       flat},
      {"bitwise_and", {}, "a & b; integers", of_integers<topi::bitwise_and>},
      {"bitwise_or", {}, "a | b; integers", of_integers<topi::bitwise_or>},
      {"bitwise_xor", {}, "a ^ b; integers", of_integers<topi::bitwise_xor>},
      {"broadcast_left_shift", {"left_shift"}, "a << b; integers", of_integers<topi::left_shift>},
      {"broadcast_right_shift",
       {"right_shift"},
       "a >> b, arithmetic for signed integers; integers",
       of_integers<topi::right_shift>},
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
         .gradient = no_gradient,
         .fold_scale = row.fold_scale ? ScaleRule(row.fold_scale) : nullptr,
         .inplace = {{0, 0}, {1, 0}}});
    if (!row.gradient) continue;
    ops.back().gradient = [f = row.gradient](const NodeRef& node, const Entries& g) {
      const GradientOf n(node);
      Entries of_inputs = f(n, g[0]);
      for (size_t k = 0; k < 2; ++k) {
        of_inputs[k] = n("collapse_sum", {of_inputs[k], n.input(k)});
      }
      return of_inputs;
    };
  }
  return ops;
}

}  // namespace tw::graph
