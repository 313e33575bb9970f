// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/element_rows.h"

namespace tw::graph {

Entry flat_in_one(const GradientOf& n, const Entry&) { return n.zeros(0); }
Entry flat_beside(const GradientOf& n, const Entry&, const std::string&) { return n.zeros(0); }

Op elementwise(std::string_view name, std::vector<std::string_view> aliases, std::string_view doc) {
  return {.name = name,
          .aliases = std::move(aliases),
          .doc = doc,
          .infer_shape = same_shape,
          .infer_type = same_type,
          .layout = one_layout,
          .pattern = Pattern::ElementWise,
          .inplace = {{0, 0}}};
}

void append(std::vector<Op>& ops, std::span<const WithScalar> rows) {
  for (const WithScalar& row : rows) {
    Op op = elementwise(row.name, row.aliases, row.doc);
    op.inputs = {{"data", "any shape"}};
    op.attributes = {{"scalar", AttributeType::Float, {}, "a number, taken in the type of data"}};
    op.compute = [f = row.compute](const AttributeValues& a, Tensors in) {
      return std::vector{f(in[0], constant_of(in[0].dtype(), a.real("scalar")))};
    };
    if (row.gradient) {
      op.gradient = [f = row.gradient](const NodeRef& node, const Entries& g) {
        return Entries{f(GradientOf(node), g[0], *node->attributes.find("scalar"))};
      };
    }
    if (row.fold_scale) op.fold_scale = row.fold_scale;
    if (row.identity) op.identity = row.identity;
    ops.push_back(std::move(op));
  }
}

void append(std::vector<Op>& ops, std::span<const Unary> rows) {
  for (const Unary& row : rows) {
    Op op = elementwise(row.name, row.aliases, row.doc);
    op.inputs = {{"data", "any shape and type that the function takes"}};
    op.compute = [f = row.compute](const AttributeValues&, Tensors in) {
      return std::vector{f(in[0])};
    };
    if (row.gradient) {
      op.gradient = [f = row.gradient](const NodeRef& node, const Entries& g) {
        return Entries{f(GradientOf(node), g[0])};
      };
    }
    if (row.fold_scale) op.fold_scale = row.fold_scale;
    if (row.identity) op.identity = row.identity;
    ops.push_back(std::move(op));
  }
}

void append(std::vector<Op>& ops, std::span<const Binary> rows) {
  for (const Binary& row : rows) {
    Op op = elementwise(row.name, row.aliases, row.doc);
    op.inputs = {{"lhs", "any shape"}, {"rhs", "the shape and type of lhs"}};
    op.inplace = {{0, 0}, {1, 0}};
    op.compute = [f = row.compute](const AttributeValues&, Tensors in) {
      return std::vector{f(in[0], in[1])};
    };
    if (row.gradient) {
      op.gradient = [f = row.gradient](const NodeRef& node, const Entries& g) {
        return f(GradientOf(node), g[0]);
      };
    }
    if (row.fold_scale) op.fold_scale = row.fold_scale;
    ops.push_back(std::move(op));
  }
}

}  // namespace tw::graph
