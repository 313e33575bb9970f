// SPDX-License-Identifier: Apache-2.0
// Rows of which files of elementwise operators make tables.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/ops/common.h"

namespace tw::graph {

struct Unary {
  std::string_view name;
  std::vector<std::string_view> aliases;
  std::string_view doc;
  te::Tensor (*compute)(const te::Tensor&);
  // Of the input, from that of the output; null: none.
  Entry (*gradient)(const GradientOf& n, const Entry& g) = nullptr;
  decltype(scales_as_sum)* fold_scale = nullptr;
  decltype(always_identity)* identity = nullptr;
};

struct Binary {
  std::string_view name;
  std::vector<std::string_view> aliases;
  std::string_view doc;
  te::Tensor (*compute)(const te::Tensor&, const te::Tensor&);
  Entries (*gradient)(const GradientOf& n, const Entry& g) = nullptr;
  decltype(scales_as_sum)* fold_scale = nullptr;
};

// Of data and the attribute `scalar`, a number.
struct WithScalar {
  std::string_view name;
  std::string_view doc;
  te::Tensor (*compute)(const te::Tensor&, const Expr&);
  Entry (*gradient)(const GradientOf& n, const Entry& g, const std::string& scalar);
  decltype(scales_as_sum)* fold_scale = nullptr;
  decltype(always_identity)* identity = nullptr;
  std::vector<std::string_view> aliases = {};
};

// Unary::gradient of what does not change where its input changes a little.
Entry flat_in_one(const GradientOf& n, const Entry&);
// WithScalar::gradient of the same.
Entry flat_beside(const GradientOf& n, const Entry&, const std::string&);

// What all elementwise operators are.
Op elementwise(std::string_view name, std::vector<std::string_view> aliases, std::string_view doc);
// The operators of rows.
void append(std::vector<Op>& ops, std::span<const Unary> rows);
void append(std::vector<Op>& ops, std::span<const Binary> rows);
void append(std::vector<Op>& ops, std::span<const WithScalar> rows);

}  // namespace tw::graph
