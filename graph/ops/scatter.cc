// SPDX-License-Identifier: Apache-2.0
// Operators that write elements where tensors of integers say.
#include "graph/ops/common.h"
#include "graph/ops/families.h"
#include "schedule/topi/topi.h"

namespace tw::graph {
namespace {

void scatter_type(TypeInference& t) {
  t.narrow_output(0, t.input(0));
  t.narrow_output(0, t.input(2));
  t.narrow_input(0, t.output(0));
  t.narrow_input(2, t.output(0));
}

void infer_scatter(ShapeInference& s) {
  first_shape(s);
  s.equate_inputs(1, 2);
  const Shape& data = s.input(0);
  if (!data.has_rank()) {
    if (s.input(1).has_rank()) s.narrow_input(0, Shape::of_rank(s.input(1).rank()));
    return;
  }
  const size_t along = axis_of(s, s.attributes().integer("axis"), data.rank());
  s.narrow_input(1, Shape::of_rank(data.rank()));
  const Shape& indices = s.input(1);
  for (size_t d = 0; d < data.rank(); ++d) {
    const bool known = data[d] != kUnknown && indices[d] != kUnknown;
    if (d != along && known && indices[d] > data[d]) {
      s.fail(fmt::format("indices of shape {} for data of {}", to_string(indices), to_string(data)),
             "extents no larger than those of data, but for axis");
    }
  }
  if (data[along] == 0 && indices.known() && indices.elements() > 0) {
    s.fail("updates of a dimension without elements", "an extent of 1 or more");
  }
}

void infer_scatter_nd(ShapeInference& s) {
  first_shape(s);
  const Shape &data = s.input(0), &indices = s.input(1);
  if (indices.has_rank() && indices.rank() == 0) s.fail("indices of rank 0", "[m, …]");
  if (!data.has_rank() || !indices.has_rank() || indices[0] == kUnknown) return;
  const auto named = static_cast<size_t>(indices[0]);
  if (named > data.rank()) {
    s.fail(fmt::format("{} indices for rank {}", named, data.rank()),
           "at most one for each dimension of data");
  }
  Extents updates(indices.extents->begin() + 1, indices.extents->end());
  const size_t columns = updates.size();
  updates.insert(updates.end(), data.extents->begin() + static_cast<std::ptrdiff_t>(named),
                 data.extents->end());
  s.narrow_input(2, updates);
  const Extents& given = *s.input(2).extents;
  Extents back(given.begin(), given.begin() + static_cast<std::ptrdiff_t>(columns));
  back.insert(back.begin(), indices[0]);
  s.narrow_input(1, back);
  Extents whole(named, kUnknown);
  whole.insert(whole.end(), given.begin() + static_cast<std::ptrdiff_t>(columns), given.end());
  s.narrow_input(0, whole);
  if (s.input(2).known() && s.input(2).elements() > 0 && data.known() && data.elements() == 0) {
    s.fail("updates of a tensor without elements", "extents of 1 or more");
  }
}

// How an operator of the family is undone and repeated with other updates.
struct Scattered {
  GradientOf n;
  std::string_view op, back;        // that writes, and that reads what it wrote
  std::string_view reduction_name;  // its attribute
  Attributes places;                // attributes that say where

  Entry written(std::string reduction, const Entry& data, const Entry& updates) const {
    Attributes all = places;
    all.set(std::string(reduction_name), std::move(reduction));
    return n(op, {data, n.input(1), updates}, all);
  }
  Entry read(const Entry& from) const { return n(back, {from, n.input(1)}, places); }
  Entry plus(const Entry& a, const Entry& b) const { return n("elemwise_add", {a, b}); }
};

// PyTorch's: of a sum all share alike, of a greatest or least those that are it, of a product each
// has that of the others. Where only the last update of several stays, all of them have its
// gradient.
Entries gradient_of(const Scattered& s, const std::string& reduction, const Entry& g) {
  const GradientOf& n = s.n;
  const Entry &data = n.input(0), &updates = n.input(2);
  if (reduction == "add") return {g, {}, s.read(g)};
  if (reduction == "update") {
    return {s.written("update", g, n.zeros(2)), {}, s.read(g)};
  }
  if (reduction == "mul") {
    const Entry zero_data = n("broadcast_equal", {data, n.zeros(0)}),
                zero_updates = n("broadcast_equal", {updates, n.zeros(2)});
    const Entry other_updates = s.plus(updates, zero_updates);  // none is 0
    const Entry product = s.written("mul", s.plus(data, zero_data), other_updates);
    const Entry zeros = s.read(s.written("add", zero_data, zero_updates));
    const Entry none = n("__equal_scalar__", {zeros}, {{"scalar", "0"}}),
                one = n("__equal_scalar__", {zeros}, {{"scalar", "1"}});
    const Entry counts = s.plus(none, n.product(one, zero_updates));
    const Entry others = n("elemwise_div", {s.read(n.product(g, product)), other_updates});
    const Entry of_data = s.written("mul", n("ones_like", {data}), updates);
    return {n.product(g, of_data), {}, n.product(others, counts)};
  }
  const Entry is_data = n("broadcast_equal", {data, n.output()}),
              is_update = n("broadcast_equal", {updates, s.read(n.output())});
  const Entry count = s.written("add", is_data, is_update);
  const Entry share = n("elemwise_div", {g, count});
  return {n.product(share, is_data), {}, n.product(s.read(share), is_update)};
}

Entries elements_gradient(const NodeRef& node, const Entries& g) {
  const GradientOf n(node);
  const AttributeValues a = n.attributes();
  const bool adds = node->op->name == "scatter_add";
  return gradient_of({n,
                      "scatter_elements",
                      "gather",
                      "reduction",
                      {{"axis", fmt::format("{}", a.integer("axis"))}}},
                     adds ? "add" : a.text("reduction"), g[0]);
}

Entries nd_gradient(const NodeRef& node, const Entries& g) {
  const GradientOf n(node);
  return gradient_of({n, "scatter_nd", "gather_nd", "mode", {}}, n.attributes().text("mode"), g[0]);
}

}  // namespace

std::vector<Op> scatter_ops() {
  using enum AttributeType;
  const std::vector<InputSpec> inputs = {
      {"data", "any shape but ()"},
      {"indices", "integers, from the end where negative, the nearest where outside"},
      {"updates", "the shape of indices and the type of data"}};
  const AttributeSpec axis{"axis", Int, "0", "a dimension"};
  constexpr std::string_view kReductions =
      "update: the last update of an element, in row-major order, stays; add, mul, min, max: with "
      "what was there";
  const Op common{.inputs = inputs,
                  .infer_shape = infer_scatter,
                  .infer_type = scatter_type,
                  .pattern = Pattern::Opaque,
                  .gradient = elements_gradient};
  Op elements = common, add = common, nd = common;
  elements.name = "scatter_elements";
  elements.aliases = {"scatter"};
  elements.doc =
      "data with each update at its own position but along a dimension, where the index says.";
  elements.attributes = {axis, {"reduction", Text, "update", kReductions}};
  elements.compute = [](const AttributeValues& a, Tensors in) {
    return std::vector{topi::scatter_elements(
        in[0], in[1], in[2], static_cast<int>(a.integer("axis")), a.text("reduction"))};
  };
  add.name = "scatter_add";
  add.doc =
      "data to which each update is added at its own position but along a dimension, where the "
      "index says, in row-major order.";
  add.attributes = {axis};
  add.compute = [](const AttributeValues& a, Tensors in) {
    return std::vector{
        topi::scatter_elements(in[0], in[1], in[2], static_cast<int>(a.integer("axis")), "add")};
  };
  nd.name = "scatter_nd";
  nd.doc = "data with updates where the columns of indices, [m, y…], say.";
  nd.inputs = {
      {"data", "any shape"}, inputs[1], {"updates", "y… + data.shape[m:], of the type of data"}};
  nd.attributes = {{"mode", Text, "update", kReductions}};
  nd.infer_shape = infer_scatter_nd;
  nd.compute = [](const AttributeValues& a, Tensors in) {
    return std::vector{topi::scatter_nd(in[0], in[1], in[2], a.text("mode"))};
  };
  nd.gradient = nd_gradient;
  return {std::move(elements), std::move(add), std::move(nd)};
}

}  // namespace tw::graph
