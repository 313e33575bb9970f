// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "graph/ops/common.h"
#include "graph/ops/families.h"
#include "ir/expr.h"
#include "schedule/topi/topi.h"

namespace tw::graph {
namespace {

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

// The gradient of a sum, for each element that was added.
Entry expanded(const GradientOf& n, const Entry& g, const Node& node) {
  const std::string* axis = node.attributes.find("axis");
  const AttributeValues values(node.op->attributes, node.attributes, node.name);
  return n("expand_like", {g, n.input(0)},
           {{"exclude", values.flag("exclude") ? "1" : "0"}, {"axis", axis ? *axis : "[]"}});
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

void reduction_layout(LayoutChoice& c) { choose_reduction(c, false); }
void position_layout(LayoutChoice& c) { choose_reduction(c, true); }

struct Row {
  std::string_view name, doc;
  te::Tensor (*compute)(const te::Tensor&, const std::vector<int>&, bool);
  Entry (*gradient)(const GradientOf&, const Entry&, const Node&) = nullptr;
};

}  // namespace

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
       }},
      {"min", "The least over dimensions.",
       [](const te::Tensor& x, const std::vector<int>& axes, bool keep) {
         return topi::min(x, axes, keep);
       }},
      {"mean", "The mean over dimensions.",
       [](const te::Tensor& x, const std::vector<int>& axes, bool keep) {
         return topi::mean(x, axes, keep);
       }},
      {"prod", "The product over dimensions.",
       [](const te::Tensor& x, const std::vector<int>& axes, bool keep) {
         return topi::prod(x, axes, keep);
       }},
  };
  static const Row kPositions[] = {
      {"argmax",
       "The row-major position of the greatest over dimensions, int32; the first of equals.",
       [](const te::Tensor& x, const std::vector<int>& axes, bool keep) {
         return topi::argmax(x, axes, keep);
       }},
      {"argmin", "The row-major position of the least over dimensions, int32; the first of equals.",
       [](const te::Tensor& x, const std::vector<int>& axes, bool keep) {
         return topi::argmin(x, axes, keep);
       }},
  };
  std::vector<Op> ops;
  const auto add = [&](const Row& row, bool position) {
    ops.push_back({.name = row.name,
                   .doc = row.doc,
                   .inputs = {{"data", "any shape"}},
                   .attributes = {{"axis", Tuple, "()", "the dimensions; none: all"},
                                  {"keepdims", Bool, "False", "whether they stay, with extent 1"},
                                  {"exclude", Bool, "False", "whether all others are meant"}},
                   .infer_shape = infer_reduction,
                   .infer_type = position ? infer_int32 : same_type,
                   .layout = position ? position_layout : reduction_layout,
                   .pattern = Pattern::CommReduce,
                   .compute = [f = row.compute, position](const AttributeValues& a, Tensors in) {
                     // Of no dimension a reduction changes nothing, and the position is 0.
                     const auto axes = named_axes(a, in[0].shape().size());
                     if (!axes.empty()) return std::vector{f(in[0], axes, a.flag("keepdims"))};
                     return std::vector{position ? topi::full(in[0].shape(), int_type(32), Expr(0))
                                                 : topi::identity(in[0])};
                   }});
    if (row.gradient) {
      ops.back().gradient = [f = row.gradient](const NodeRef& node, const Entries& g) {
        return Entries{f(GradientOf(node), g[0], *node)};
      };
    }
  };
  for (const Row& row : kRows) add(row, false);
  for (const Row& row : kPositions) add(row, true);
  return ops;
}

}  // namespace tw::graph
