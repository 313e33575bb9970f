// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "graph/ops/common.h"
#include "graph/ops/families.h"
#include "schedule/topi/topi.h"

namespace tw::graph {
namespace {

void infer_flatten(ShapeInference& s) {
  s.narrow_output(0, Shape::of_rank(2));
  const Shape& data = s.input(0);
  if (!data.has_rank()) return;
  if (data.rank() == 0) s.fail("flatten of a tensor of rank 0", "rank 1 or more");
  int64_t rest = 1;
  for (size_t k = 1; k < data.rank(); ++k) {
    rest = data[k] == Shape::kUnknown || rest == Shape::kUnknown ? Shape::kUnknown : rest * data[k];
  }
  s.narrow_output(0, Shape({data[0], rest}));
}

void infer_transpose(ShapeInference& s) {
  const Shape& data = s.input(0);
  std::vector<int64_t> axes = s.attributes().tuple("axes");
  if (!data.has_rank()) {
    if (!s.output(0).has_rank()) return;
    s.narrow_input(0, Shape::of_rank(s.output(0).rank()));
  }
  const size_t rank = s.input(0).rank();
  if (axes.empty()) {
    for (size_t k = rank; k-- > 0;) axes.push_back(static_cast<int64_t>(k));
  }
  std::vector<size_t> from;
  for (int64_t axis : axes) from.push_back(axis_of(s, axis, rank));
  std::vector<size_t> sorted = from;
  std::ranges::sort(sorted);
  if (from.size() != rank || std::ranges::adjacent_find(sorted) != sorted.end()) {
    s.fail(fmt::format("{} axes for a tensor of rank {}", from.size(), rank),
           "each dimension once");
  }
  s.narrow_output(0, Shape::of_rank(rank));
  Shape in = s.input(0), out = s.output(0);
  for (size_t k = 0; k < rank; ++k) {
    (*out.extents)[k] = s.input(0)[from[k]];
    (*in.extents)[from[k]] = s.output(0)[k];
  }
  s.narrow_output(0, out);
  s.narrow_input(0, in);
}

// The input dimension that each of the output is.
std::vector<size_t> axes_of(const Node& node, size_t rank) {
  const AttributeValues a(node.op->attributes, node.attributes, node.name);
  std::vector<size_t> axes;
  for (int64_t axis : a.tuple("axes")) {
    axes.push_back(static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis));
  }
  for (size_t k = rank; axes.size() < rank;) axes.push_back(--k);
  return axes;
}

Entries transpose_gradient(const NodeRef& node, const Entries& g) {
  const GradientOf n(node);
  const size_t rank = n.attributes().tuple("axes").size();
  const std::vector<size_t> axes = axes_of(*node, rank);
  std::vector<int64_t> back(rank);
  for (size_t k = 0; k < rank; ++k) back[axes[k]] = static_cast<int64_t>(k);
  return {n("transpose", {g[0]}, {{"axes", tuple_text(back)}})};
}

// Itself, or with the transposition before it, leaves each dimension where it was.
std::optional<Entry> transpose_identity(const Node& node, const Known& known) {
  if (!known.output.has_rank()) return std::nullopt;
  std::vector<size_t> axes = axes_of(node, known.output.rank());
  if (std::ranges::is_sorted(axes)) return node.inputs[0];
  const Node& before = *node.inputs[0].node;
  if (before.op != node.op) return std::nullopt;
  const std::vector<size_t> inner = axes_of(before, axes.size());
  for (size_t& axis : axes) axis = inner[axis];
  return std::ranges::is_sorted(axes) ? std::optional(before.inputs[0]) : std::nullopt;
}

}  // namespace

std::vector<Op> transform_ops() {
  using enum AttributeType;
  return {
      {.name = "flatten",
       .doc = "All dimensions but the first as one.",
       .inputs = {{"data", "(n, …)"}},
       .infer_shape = infer_flatten,
       .infer_type = same_type,
       .pattern = Pattern::Injective,
       .compute = [](const AttributeValues&,
                     Tensors in) { return std::vector{topi::nn::flatten(in[0])}; },
       .gradient =
           [](const NodeRef& node, const Entries& g) {
             const GradientOf n(node);
             return Entries{n("reshape_like", {g[0], n.input(0)}, {{"", ""}})};
           },
       .is_reshape = true,
       .identity = identity_if_same_shape,
       .inplace = {{0, 0}}},
      {.name = "transpose",
       .doc = "Dimension d of the output is dimension axes[d] of data.",
       .inputs = {{"data", "any shape"}},
       .attributes = {{"axes", Tuple, "()", "each dimension once; none: all in reverse"}},
       .infer_shape = infer_transpose,
       .infer_type = same_type,
       .pattern = Pattern::Injective,
       .compute =
           [](const AttributeValues& a, Tensors in) {
             std::vector<int> axes = to_ints(a.tuple("axes"));
             for (int& axis : axes) axis += axis < 0 ? static_cast<int>(in[0].shape().size()) : 0;
             return std::vector{topi::transpose(in[0], axes)};
           },
       .gradient = transpose_gradient,
       .identity = transpose_identity},
  };
}

}  // namespace tw::graph
