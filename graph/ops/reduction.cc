// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "graph/ops/common.h"
#include "graph/ops/families.h"
#include "graph/ops/reduction.h"
#include "ir/expr.h"
#include "schedule/topi/common.h"
#include "schedule/topi/topi.h"

namespace tw::graph {
void infer_reduction(ShapeInference& s) {
  const Shape& data = s.input(0);
  if (!data.has_rank()) return;
  for (int64_t axis : s.attributes().tuple("axis")) axis_of(s, axis, data.rank());
  const auto axes = named_axes(s.attributes(), data.rank());
  std::vector<int64_t> result;
  for (size_t k = 0; k < data.rank(); ++k) {
    const bool gone = std::ranges::find(axes, static_cast<int>(k)) != axes.end();
    if (!gone) result.push_back(data[k]);
    if (gone && s.attributes().flag("keepdims")) result.push_back(1);
  }
  s.narrow_output(0, result);
}

Entry expanded(const GradientOf& n, const Entry& g, const Node& node) {
  const std::string* axis = node.attributes.find("axis");
  const AttributeValues values(node.op->attributes, node.attributes, node.name);
  return n("expand_like", {g, n.input(0)},
           {{"exclude", values.flag("exclude") ? "1" : "0"}, {"axis", axis ? *axis : "[]"}});
}

Attributes dimensions_of(const Node& node) {
  Attributes which;
  for (const std::string_view name : {"axis", "keepdims", "exclude"}) {
    if (const std::string* text = node.attributes.find(name)) which.set(std::string(name), *text);
  }
  return which;
}

Entry reduced(const GradientOf& n, std::string_view op, const Entry& e, const Node& node) {
  return n(op, {e}, dimensions_of(node));
}

namespace {

// The elements that are the extreme one have equal shares, as in PyTorch's amax.
Entry extreme_gradient(const GradientOf& n, const Entry& g, const Node& node) {
  const Entry chosen = n("broadcast_equal", {n.input(0), expanded(n, n.output(), node)});
  const Entry share = n("elemwise_div", {g, reduced(n, "sum", chosen, node)});
  return n.product(chosen, expanded(n, share, node));
}

Entry mean_gradient(const GradientOf& n, const Entry& g, const Node& node) {
  return n("_mean_grad", {g, n.input(0)}, dimensions_of(node));
}

// The product of all others: with one zero among them only that has a gradient, with several none.
Entry product_gradient(const GradientOf& n, const Entry& g, const Node& node) {
  const Entry &x = n.input(0), zeros = n.zeros(0);
  const Entry is_zero = n("broadcast_equal", {x, zeros});
  const Entry others = n("elemwise_add", {x, is_zero});  // none is 0
  const Entry product = expanded(n, n.product(g, reduced(n, "prod", others, node)), node);
  const Entry count = expanded(n, reduced(n, "sum", is_zero, node), node);
  const Entry none = n("broadcast_equal", {count, zeros}),
              one = n("broadcast_equal", {count, n("ones_like", {x})});
  const Entry counts = n("elemwise_add", {none, n.product(one, is_zero)});
  return n.product(n("elemwise_div", {product, others}), counts);
}

std::vector<te::Tensor> compute_mean_gradient(const AttributeValues& a, Tensors in) {
  topi::require_float({"_mean_grad", "grad"}, in[0]);
  const std::vector<Expr> shape = in[1].shape();
  te::Tensor grad = in[0];
  Expr count = 1;
  for (int axis : named_axes(a, shape.size())) {
    if (!a.flag("keepdims")) grad = topi::expand_dims(grad, axis);
    count = count * shape[static_cast<size_t>(axis)];
  }
  const te::Tensor share = topi::divide(grad, cast(grad.dtype(), max(count, Expr(1))));
  return {topi::broadcast_to(share, shape)};
}

void infer_int32(TypeInference& t) { t.narrow_output(0, int_type(32)); }

// A layout without some dimensions; all of them may stay with extent 1.
Layout without(const Layout& layout, const std::set<char>& gone, bool keep) {
  std::vector<Layout::Dimension> rest;
  for (const Layout::Dimension& d : layout.dimensions()) {
    if (keep || !gone.contains(d.primal())) rest.push_back(d);
  }
  return rest.empty() ? Layout() : Layout::of(std::move(rest));
}

// Elements may be added up in any order, so blocks are reduced with their dimension. Where that
// stays, it has extent 1 and no blocks. `in_order`: what is reduced must keep its order.
void choose_reduction(LayoutChoice& c, bool in_order) {
  const Layout &natural = c.natural(0), &given = c.given(0);
  const bool keep = c.attributes().flag("keepdims");
  for (int64_t axis : c.attributes().tuple("axis")) {
    const auto rank = static_cast<int64_t>(natural.rank());
    if (axis < -rank || axis >= rank) return;
  }
  std::set<char> gone;
  for (int axis : named_axes(c.attributes(), natural.rank())) {
    const char letter = natural[static_cast<size_t>(axis)].primal();
    if (natural.is_split(letter)) return;
    gone.insert(letter);
  }
  const Layout rest = without(natural, gone, keep);
  c.give(0, rest);
  if (given == natural) return;
  std::vector<int64_t> axes;
  std::string order, natural_order;
  for (const Layout::Dimension& d : natural.dimensions()) {
    if (gone.contains(d.letter)) natural_order += d.letter;
  }
  for (size_t k = 0; k < given.rank(); ++k) {
    if (!gone.contains(given[k].primal())) continue;
    if (keep && given.is_split(given[k].primal())) return;
    axes.push_back(static_cast<int64_t>(k));
    order += given[k].letter;
  }
  if ((in_order && order != natural_order) || gone.empty()) return;
  c.want(0, given);
  c.give(0, without(given, gone, keep), rest);
  c.set_attribute("axis", tuple_text(axes));
  if (c.attributes().flag("exclude")) c.set_attribute("exclude", "False");
}

void position_layout(LayoutChoice& c) { choose_reduction(c, true); }

struct Row {
  std::string_view name, doc;
  te::Tensor (*compute)(const te::Tensor&, const std::vector<int>&, bool);
  Entry (*gradient)(const GradientOf&, const Entry&, const Node&);
};

struct Position {
  std::string_view name, doc;
  te::Tensor (*compute)(const te::Tensor&, const std::vector<int>&, bool keep, bool last);
};

}  // namespace

void reduction_layout(LayoutChoice& c) { choose_reduction(c, false); }

std::vector<AttributeSpec> reduction_attributes() {
  using enum AttributeType;
  return {{"axis", Tuple, "()", "the dimensions; none: all"},
          {"keepdims", Bool, "False", "whether they stay, with extent 1"},
          {"exclude", Bool, "False", "whether all others are meant"}};
}

std::vector<Op> reduction_ops() {
  using enum AttributeType;
  static const Row kRows[] = {
      {"sum", "The sum over dimensions.",
       [](const te::Tensor& x, const std::vector<int>& axes, bool keep) {
         return topi::sum(x, axes, keep);
       },
       expanded},
      {"max", "The greatest over dimensions.",
       [](const te::Tensor& x, const std::vector<int>& axes, bool keep) {
         return topi::max(x, axes, keep);
       },
       extreme_gradient},
      {"min", "The least over dimensions.",
       [](const te::Tensor& x, const std::vector<int>& axes, bool keep) {
         return topi::min(x, axes, keep);
       },
       extreme_gradient},
      {"mean", "The mean over dimensions.",
       [](const te::Tensor& x, const std::vector<int>& axes, bool keep) {
         return topi::mean(x, axes, keep);
       },
       mean_gradient},
      {"prod", "The product over dimensions.",
       [](const te::Tensor& x, const std::vector<int>& axes, bool keep) {
         return topi::prod(x, axes, keep);
       },
       product_gradient},
  };
  static const Position kPositions[] = {
      {"argmax", "The row-major position of the greatest over dimensions, int32.", topi::argmax},
      {"argmin", "The row-major position of the least over dimensions, int32.", topi::argmin},
  };
  std::vector<Op> ops;
  for (const Row& row : kRows) {
    ops.push_back({.name = row.name,
                   .doc = row.doc,
                   .inputs = {{"data", "any shape"}},
                   .attributes = reduction_attributes(),
                   .infer_shape = infer_reduction,
                   .infer_type = same_type,
                   .layout = reduction_layout,
                   .pattern = Pattern::CommReduce,
                   .compute =
                       [f = row.compute](const AttributeValues& a, Tensors in) {
                         // Of no dimension a reduction changes nothing.
                         const auto axes = named_axes(a, in[0].shape().size());
                         return std::vector{axes.empty() ? topi::identity(in[0])
                                                         : f(in[0], axes, a.flag("keepdims"))};
                       },
                   .gradient =
                       [f = row.gradient](const NodeRef& node, const Entries& g) {
                         return Entries{f(GradientOf(node), g[0], *node)};
                       }});
  }
  for (const Position& row : kPositions) {
    ops.push_back({.name = row.name,
                   .doc = row.doc,
                   .inputs = {{"data", "any shape"}},
                   .attributes = reduction_attributes(),
                   .infer_shape = infer_reduction,
                   .infer_type = infer_int32,
                   .layout = position_layout,
                   .pattern = Pattern::CommReduce,
                   .compute =
                       [f = row.compute](const AttributeValues& a, Tensors in) {
                         // Of no dimension the position is 0.
                         const auto axes = named_axes(a, in[0].shape().size());
                         return std::vector{
                             axes.empty()
                                 ? topi::full(in[0].shape(), int_type(32), Expr(0))
                                 : f(in[0], axes, a.flag("keepdims"), a.flag("select_last_index"))};
                       },
                   .gradient = no_gradient});
    ops.back().attributes.push_back(
        {"select_last_index", Bool, "False", "of equal elements the last, else the first"});
  }
  ops.push_back(
      {.name = "_mean_grad",
       .doc = "The gradient of mean's data; attributes are those of the mean.",
       .inputs = {{"grad", "the gradient of the output"}, {"data", "what mean was given"}},
       .attributes = reduction_attributes(),
       .infer_shape = second_shape,
       .infer_type = first_type,
       .pattern = Pattern::Broadcast,
       .compute = compute_mean_gradient,
       .gradient = [](const NodeRef& node, const Entries& g) {
         const GradientOf n(node);
         return first_gradient(n, reduced(n, "mean", g[0], *node));
       }});
  return ops;
}

}  // namespace tw::graph
