// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/nn/pad.h"

#include <fmt/format.h>

#include "ir/expr.h"
#include "schedule/topi/operator.h"

namespace tw::topi::nn {
namespace {

void check_amounts(const char* argument, const Tensor& data, const std::vector<Expr>& amounts) {
  const Place place{"pad", argument};
  if (amounts.size() != data.shape().size()) {
    bad_shape(place, fmt::format("{} amounts for a tensor of rank {}", amounts.size(), data.rank()),
              "one amount for each dimension");
  }
  for (const Expr& e : amounts) {
    const auto constant = as_const_int(e);
    if (constant && *constant < 0) bad_shape(place, fmt::format("{}", *constant), "at least 0");
  }
}

}  // namespace

Tensor pad(const Tensor& data, const std::vector<Expr>& before, const std::vector<Expr>& after,
           const Expr& value, const std::string& name) {
  check_amounts("before", data, before);
  const std::vector<Expr>& behind = after.empty() ? before : after;
  check_amounts("after", data, behind);
  const std::vector<Expr> inside = data.shape();
  std::vector<Expr> shape;
  for (size_t d = 0; d < inside.size(); ++d) shape.push_back(before[d] + inside[d] + behind[d]);
  const Expr filling = value.defined() ? tw::cast(data.dtype(), value) : make_zero(data.dtype());
  return te::compute(
      shape,
      [&](const std::vector<Var>& i) -> Expr {
        std::vector<Expr> indices, conditions;
        for (size_t d = 0; d < inside.size(); ++d) {
          indices.push_back(i[d] - before[d]);
          if (!is_zero(before[d])) conditions.push_back(before[d] <= i[d]);
          if (!is_zero(behind[d])) conditions.push_back(i[d] < before[d] + inside[d]);
        }
        if (conditions.empty()) return data(indices);
        return if_then_else(all_of(conditions), data(indices), filling);
      },
      name, "injective,pad");
}

std::vector<Operator> pad_rows() {
  return {make_operator(
      "topi.nn", "pad",
      [](const Tensor& data, const std::vector<Expr>& before,
         const std::optional<std::vector<Expr>>& after, const std::optional<Expr>& value,
         const std::string& name) {
        return pad(data, before, after.value_or(std::vector<Expr>()), value.value_or(Expr()), name);
      },
      {{"data"},
       {"pad_before", "elements before each dimension"},
       {"pad_after", "elements after each dimension; None: as before", Value()},
       {"pad_value", "is converted to the type of data; None: 0", 0.0},
       {"name", "of the stage", "PadInput"}},
      "data with elements of pad_value around each dimension. ONNX Pad.")};
}

}  // namespace tw::topi::nn
