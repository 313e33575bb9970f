// SPDX-License-Identifier: Apache-2.0
#include "autotune/cost/math_cost.h"

#include <algorithm>
#include <vector>

#include "ir/visit.h"
#include "lower/math_functions.h"

namespace tw::autotune {
namespace {

// What is no instruction of its own: names, constants, the same bits as another type.
bool is_free(const Expr& e) {
  const Call* call = as<Call>(e);
  return is<Let>(e) || is<Variable>(e) || is_const(e) ||
         (call != nullptr && call->name == "reinterpret");
}

MathCost cost_of(const Expr& e) {
  MathCost cost;
  for_each_expr(e, [&](const Expr& part) {
    if (!is_free(part)) (is<Div>(part) ? cost.divisions : cost.operations) += 1;
  });
  return cost;
}

}  // namespace

MathCost math_cost(std::string_view name, DType type) {
  static const std::vector<MathCost> costs = [] {
    std::vector<MathCost> result;
    for (std::string_view function : math_functions())
      result.push_back(cost_of(math_function(function, Var("x", float_type(32)), false)));
    return result;
  }();
  const auto names = math_functions();
  const auto found = std::ranges::find(names, name);
  if (found == names.end() || !is_arithmetic(type)) return {};
  return costs[static_cast<size_t>(found - names.begin())];
}

}  // namespace tw::autotune
