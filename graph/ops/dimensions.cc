// SPDX-License-Identifier: Apache-2.0
// Operators that add dimensions, drop them, or repeat elements along them.
#include <algorithm>

#include "graph/ops/common.h"
#include "graph/ops/families.h"
#include "schedule/topi/topi.h"

namespace tw::graph {
namespace {

// Says of two shapes that `full` is `less` with dimensions at `added`, of `extents` where those are
// known, and tells what both are.
std::pair<Shape, Shape> with_dimensions(const Shape& less, const Shape& full,
                                        const std::vector<size_t>& added, int64_t extents) {
  const size_t rank = full.has_rank() ? full.rank() : less.rank() + added.size();
  Extents all, rest;
  for (size_t k = 0, next = 0; k < rank; ++k) {
    const int64_t known = extent(full, k);
    if (std::ranges::find(added, k) != added.end()) {
      all.push_back(extents);
      continue;
    }
    const int64_t below = less.has_rank() && next < less.rank() ? less[next] : kUnknown;
    ++next;
    rest.push_back(known);
    all.push_back(below);
  }
  return {rest, all};
}

void infer_squeeze(ShapeInference& s) {
  const Extents& axes = s.attributes().tuple("axis");
  const Shape &data = s.input(0), &out = s.output(0);
  if (axes.empty()) {
    if (!data.known()) return;
    Extents rest = *data.extents;
    std::erase(rest, 1);
    s.narrow_output(0, rest);
    return;
  }
  if (!data.has_rank() && !out.has_rank()) return;
  const size_t rank = data.has_rank() ? data.rank() : out.rank() + axes.size();
  std::vector<size_t> gone;
  for (int64_t axis : axes) gone.push_back(axis_of(s, axis, rank));
  s.narrow_input(0, Shape::of_rank(rank));
  const auto [less, full] = with_dimensions(out, data, gone, 1);
  s.narrow_output(0, less);
  s.narrow_input(0, full);
}

// The dimension before which expand_dims adds others.
size_t expanded_axis(const ShapeInference& s, size_t rank) {
  return axis_of(s, s.attributes().integer("axis"), rank + 1);
}

void infer_expand_dims(ShapeInference& s) {
  const int64_t added = s.attributes().integer("num_newaxis");
  if (added < 1) s.fail(fmt::format("num_newaxis is {}", added), "1 or more");
  const Shape &data = s.input(0), &out = s.output(0);
  if (!data.has_rank() && !out.has_rank()) return;
  const size_t more = static_cast<size_t>(added);
  if (!data.has_rank() && out.rank() < more) {
    s.fail(fmt::format("{} new dimensions of {}", added, out.rank()), "no more than there are");
  }
  const size_t rank = data.has_rank() ? data.rank() : out.rank() - more;
  const size_t at = expanded_axis(s, rank);
  std::vector<size_t> places;
  for (size_t k = 0; k < more; ++k) places.push_back(at + k);
  s.narrow_output(0, Shape::of_rank(rank + more));
  const auto [less, full] = with_dimensions(data, out, places, 1);
  s.narrow_input(0, less);
  s.narrow_output(0, full);
}

void infer_expand_like(ShapeInference& s) {
  second_shape(s);
  const Shape& like = s.input(1);
  if (!like.has_rank()) return;
  for (int64_t axis : s.attributes().tuple("axis")) axis_of(s, axis, like.rank());
  std::vector<size_t> added;
  for (int axis : named_axes(s.attributes(), like.rank())) {
    added.push_back(static_cast<size_t>(axis));
  }
  if (s.input(0).has_rank() && s.input(0).rank() == like.rank()) {
    Extents own = *like.extents, all = *s.input(0).extents;
    for (size_t axis : added) {
      own[axis] = 1;
      all[axis] = kUnknown;
    }
    s.narrow_input(0, own);
    s.narrow_input(1, all);
    s.narrow_output(0, all);
    return;
  }
  const auto [less, full] = with_dimensions(s.input(0), like, added, kUnknown);
  s.narrow_input(0, less);
  s.narrow_input(1, full);
  s.narrow_output(0, full);
}

std::vector<te::Tensor> compute_expand_like(const AttributeValues& a, Tensors in) {
  te::Tensor data = in[0];
  if (data.rank() == in[1].rank()) return {topi::broadcast_to(data, in[1].shape())};
  for (int axis : named_axes(a, in[1].shape().size())) data = topi::expand_dims(data, axis);
  return {topi::broadcast_to(data, in[1].shape())};
}

Entries expand_like_gradient(const NodeRef& node, const Entries& g) {
  const GradientOf n(node);
  const Entry total = n("sum", {g[0]}, Attributes(node->attributes));
  return first_gradient(n, n.shaped_as_input(total));
}

Entries collapsed_gradient(const NodeRef& node, const Entries& g) {
  const GradientOf n(node);
  return first_gradient(n, n("collapse_sum", {g[0], n.input(0)}));
}

// `large` is what `small` is repeated to, by NumPy's rule.
void infer_broadcast(ShapeInference& s, const Shape& small, const Shape& large) {
  if (!small.has_rank() || !large.has_rank()) return;
  const auto fail = [&] {
    s.fail(fmt::format("shape {} does not broadcast to {}", to_string(small), to_string(large)),
           "extents that are equal, 1 or missing");
  };
  if (small.rank() > large.rank()) fail();
  const size_t added = large.rank() - small.rank();
  for (size_t k = 0; k < small.rank(); ++k) {
    const int64_t whole = large[added + k];
    if (small[k] != 1 && small[k] != kUnknown && whole != kUnknown && small[k] != whole) fail();
  }
}

void infer_collapse_sum(ShapeInference& s) {
  second_shape(s);
  infer_broadcast(s, s.input(1), s.input(0));
}

std::vector<te::Tensor> compute_collapse_sum(const AttributeValues&, Tensors in) {
  const std::vector<Expr> whole = in[0].shape(), part = in[1].shape();
  const size_t added = whole.size() - part.size();
  std::vector<int> axes;
  for (size_t k = 0; k < whole.size(); ++k) {
    const bool repeated = k < added || (is_one(part[k - added]) && !is_one(whole[k]));
    if (repeated) axes.push_back(static_cast<int>(k));
  }
  if (axes.empty()) return {topi::identity(in[0])};
  if (axes.size() == added) return {topi::sum(in[0], axes)};
  const te::Tensor sum = topi::sum(in[0], axes, true);
  return {added == 0 ? sum : topi::reshape(sum, part)};
}

void infer_broadcast_to_like(ShapeInference& s) {
  second_shape(s);
  infer_broadcast(s, s.input(0), s.input(1));
}

// Extents are aligned at the last; 0 is that of data.
void infer_broadcast_to(ShapeInference& s) {
  Extents shape = s.attributes().tuple("shape");
  const Shape& data = s.input(0);
  for (size_t k = 0; k < shape.size(); ++k) {
    const size_t behind = shape.size() - k;  // dimensions from this one on
    const bool there = data.has_rank() && behind <= data.rank();
    const int64_t own = there ? data[data.rank() - behind] : kUnknown;
    if (shape[k] == 0 && data.has_rank() && !there) {
      s.fail(fmt::format("an extent of 0 where {} has none to copy", to_string(data)),
             "an extent of 1 or more");
    }
    if (shape[k] == 0) shape[k] = own;
    if (there && own != kUnknown && own != 1 && own != shape[k]) {
      s.fail(fmt::format("shape {} does not broadcast to {}", to_string(data), to_string(shape)),
             "extents that are equal, 1 or missing");
    }
  }
  if (data.has_rank() && data.rank() > shape.size()) {
    s.fail(fmt::format("shape {} does not broadcast to {}", to_string(data), to_string(shape)),
           "no more dimensions than there will be");
  }
  s.narrow_output(0, shape);
}

std::vector<te::Tensor> compute_broadcast_to(const AttributeValues& a, Tensors in) {
  std::vector<Expr> shape;
  const std::vector<Expr> own = in[0].shape();
  const Extents& extents = a.tuple("shape");
  for (size_t k = 0; k < extents.size(); ++k) {
    shape.push_back(extents[k] == 0 ? own[own.size() - (extents.size() - k)]
                                    : Expr(static_cast<int>(extents[k])));
  }
  return {topi::broadcast_to(in[0], shape)};
}

}  // namespace

std::vector<Op> dimension_ops() {
  using enum AttributeType;
  const InputSpec data{"data", "any shape"};
  return {
      {.name = "squeeze",
       .doc = "data without dimensions of extent 1.",
       .inputs = {data},
       .attributes = {{"axis", Tuple, "()", "dimensions of extent 1; none: all such"}},
       .infer_shape = infer_squeeze,
       .infer_type = same_type,
       .pattern = Pattern::Injective,
       .compute =
           [](const AttributeValues& a, Tensors in) {
             return std::vector{topi::squeeze(in[0], to_ints(a.tuple("axis")))};
           },
       .gradient = reshaped_gradient,
       .is_reshape = true,
       .identity = identity_if_same_shape,
       .inplace = {{0, 0}}},
      {.name = "expand_dims",
       .doc = "data with dimensions of extent 1 before dimension `axis`.",
       .inputs = {data},
       .attributes = {{"axis", Int, {}, "from -rank - 1 to rank"},
                      {"num_newaxis", Int, "1", "how many"}},
       .infer_shape = infer_expand_dims,
       .infer_type = same_type,
       .pattern = Pattern::Broadcast,
       .compute =
           [](const AttributeValues& a, Tensors in) {
             return std::vector{topi::expand_dims(in[0], static_cast<int>(a.integer("axis")),
                                                  static_cast<int>(a.integer("num_newaxis")))};
           },
       .gradient = reshaped_gradient,
       .is_reshape = true,
       .inplace = {{0, 0}}},
      {.name = "expand_like",
       .doc = "data repeated along new dimensions, to the shape of shape_like.",
       .inputs =
           {{"data",
             "the shape of shape_like without the new dimensions, or with extents of 1 there"},
            {"shape_like", "any shape and type"}},
       .attributes = {{"axis", Tuple, "()", "the new dimensions; none: all"},
                      {"exclude", Bool, "False", "whether all others are meant"}},
       .infer_shape = infer_expand_like,
       .infer_type = first_type,
       .pattern = Pattern::Broadcast,
       .compute = compute_expand_like,
       .gradient = expand_like_gradient,
       .identity = identity_if_same_shape},
      {.name = "collapse_sum",
       .doc = "The sum over what repeats a tensor of the shape of shape_like in that of data, by "
              "NumPy's rule.",
       .inputs = {{"data", "what the shape of shape_like broadcasts to"},
                  {"shape_like", "any shape and type"}},
       .infer_shape = infer_collapse_sum,
       .infer_type = first_type,
       .pattern = Pattern::CommReduce,
       .compute = compute_collapse_sum,
       .gradient =
           [](const NodeRef& node, const Entries& g) {
             const GradientOf n(node);
             return first_gradient(n, n("broadcast_to_like", {g[0], n.input(0)}));
           },
       .identity = identity_if_same_shape},
      {.name = "broadcast_to_like",
       .doc = "data repeated to the shape of shape_like, by NumPy's rule.",
       .inputs = {data, {"shape_like", "any shape and type"}},
       .infer_shape = infer_broadcast_to_like,
       .infer_type = first_type,
       .pattern = Pattern::Broadcast,
       .compute = [](const AttributeValues&,
                     Tensors in) { return std::vector{topi::broadcast_to(in[0], in[1].shape())}; },
       .gradient = collapsed_gradient,
       .identity = identity_if_same_shape},
      {.name = "broadcast_to",
       .doc = "data repeated to a shape, by NumPy's rule.",
       .inputs = {data},
       .attributes = {{"shape", Tuple, {}, "extents; 0 is that of data"}},
       .infer_shape = infer_broadcast_to,
       .infer_type = same_type,
       .pattern = Pattern::Broadcast,
       .compute = compute_broadcast_to,
       .gradient = collapsed_gradient,
       .identity = identity_if_same_shape},
  };
}

}  // namespace tw::graph
