// SPDX-License-Identifier: Apache-2.0
// What the gradients of operators that choose elements are written with.
#include "graph/ops/common.h"
#include "graph/ops/families.h"
#include "ir/expr.h"
#include "schedule/topi/topi.h"

namespace tw::graph {
namespace {

int axis_in(const AttributeValues& a) { return static_cast<int>(a.integer("axis")); }

// `chosen` and `indices` have one shape, which is that of `whole` but along the axis.
void infer_selection(ShapeInference& s, const Shape& whole, const Shape& chosen) {
  if (!whole.has_rank() || !chosen.has_rank()) return;
  if (whole.rank() != chosen.rank()) {
    s.fail(fmt::format("indices of shape {} into shape {}", to_string(chosen), to_string(whole)),
           "of the same rank");
  }
  axis_of(s, s.attributes().integer("axis"), whole.rank());
}

}  // namespace

std::vector<Op> selection_ops() {
  const AttributeSpec axis{"axis", AttributeType::Int, "-1", "a dimension"};
  const InputSpec indices{"indices",
                          "integers: positions along the axis; others than those choose nothing"};
  return {
      {.name = "_select_along",
       .doc = "The elements of data at positions along a dimension; 0 where there is none.",
       .inputs = {{"data", "any shape"}, indices},
       .attributes = {axis},
       .infer_shape =
           [](ShapeInference& s) {
             s.equate(1, 0);
             infer_selection(s, s.input(0), s.output(0));
           },
       .infer_type = first_type,
       .pattern = Pattern::Injective,
       .compute =
           [](const AttributeValues& a, Tensors in) {
             return std::vector{topi::select_along(in[0], in[1], axis_in(a))};
           },
       .gradient =
           [](const NodeRef& node, const Entries& g) {
             const GradientOf n(node);
             return Entries{
                 n("_place_along", {g[0], n.input(1), n.input(0)}, Attributes(node->attributes)),
                 {}};
           }},
      {.name = "_place_along",
       .doc = "Zeros of the shape of like, to which values are added at positions along a "
              "dimension.",
       .inputs = {{"values", "the shape of indices"}, indices, {"like", "lends its shape"}},
       .attributes = {axis},
       .infer_shape =
           [](ShapeInference& s) {
             s.equate(2, 0);
             s.narrow_input(1, s.input(0));
             s.narrow_input(0, s.input(1));
             infer_selection(s, s.output(0), s.input(0));
           },
       .infer_type = first_type,
       .compute =
           [](const AttributeValues& a, Tensors in) {
             const std::vector<Expr> shape = in[2].shape();
             const int rank = in[2].rank();
             const int at = topi::normalize_axis({"_place_along", "axis"}, axis_in(a), rank);
             const auto extent = as_const_int(shape[static_cast<size_t>(at)]);
             return std::vector{topi::place_along(in[0], in[1], extent.value(), at)};
           },
       .gradient =
           [](const NodeRef& node, const Entries& g) {
             const GradientOf n(node);
             return Entries{n("_select_along", {g[0], n.input(1)}, Attributes(node->attributes)),
                            {},
                            n.zeros(2)};
           }},
  };
}

}  // namespace tw::graph
