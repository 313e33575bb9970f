// SPDX-License-Identifier: Apache-2.0
// Normalizations by statistics of the data itself: of layers, groups, instances, batches, and by
// norms.
#include <algorithm>

#include "graph/ops/arithmetic.h"
#include "graph/ops/families.h"
#include "schedule/topi/topi.h"

namespace tw::graph {
namespace {

constexpr AttributeSpec kScale{"scale", AttributeType::Bool, "True",
                               "whether gamma multiplies; False: there is none"};
constexpr AttributeSpec kCenter{"center", AttributeType::Bool, "True",
                                "whether beta is added; False: there is none"};
constexpr AttributeSpec kEpsilon{"epsilon", AttributeType::Float, "1e-5",
                                 "is added to the variance"};

// Where gamma and beta stand among the inputs, if they are there.
struct Affine {
  std::optional<size_t> gamma, beta;
  explicit Affine(const AttributeValues& a) {
    size_t next = 1;
    if (a.flag("scale")) gamma = next++;
    if (a.flag("center")) beta = next++;
  }
  Entry apply(const Arithmetic& n, const Entry& x,
              const std::function<Entry(const Entry&)>& aligned) const {
    Entry y = x;
    if (gamma) y = n.mul(y, aligned(n.input(*gamma)));
    if (beta) y = n.add(y, aligned(n.input(*beta)));
    return y;
  }
};

// The dimensions of the attribute `axis`, in order. The inference's error where one is none or
// stands twice.
std::vector<size_t> axes_of(const ShapeInference& s, size_t rank) {
  std::vector<size_t> axes;
  for (int64_t axis : s.attributes().tuple("axis")) axes.push_back(axis_of(s, axis, rank));
  std::ranges::sort(axes);
  if (std::ranges::adjacent_find(axes) != axes.end()) {
    s.fail(fmt::format("axis ({})", fmt::join(s.attributes().tuple("axis"), ", ")),
           "each dimension once");
  }
  return axes;
}

// Further inputs have the extents of the dimensions `axis`.
void infer_layer_norm(ShapeInference& s) {
  s.equate(0, 0);
  const size_t count = s.attributes().tuple("axis").size();
  for (size_t k = 1; k < s.num_inputs(); ++k) s.narrow_input(k, Shape::of_rank(count));
  if (!s.input(0).has_rank()) return;
  const std::vector<size_t> axes = axes_of(s, s.input(0).rank());
  for (size_t k = 1; k < s.num_inputs(); ++k) {
    Extents own, data(s.input(0).rank(), Shape::kUnknown);
    for (size_t j = 0; j < axes.size(); ++j) {
      own.push_back(s.input(0)[axes[j]]);
      data[axes[j]] = s.input(k)[j];
    }
    s.narrow_input(k, own);
    s.narrow_input(0, data);
  }
}

// The shape that puts extents at `axes` of a tensor of that rank; what is there is copied.
std::function<Entry(const Entry&)> aligned_at(const Arithmetic& n, const Extents& axes,
                                              size_t rank) {
  return [&n, axes, rank](const Entry& e) {
    Entry result = e;
    for (size_t d = 0; d < rank; ++d) {
      if (std::ranges::find(axes, static_cast<int64_t>(d)) != axes.end()) continue;
      result = n("expand_dims", {result}, {{"axis", fmt::format("{}", d)}});
    }
    return result;
  };
}

Entry inverse_root(const Arithmetic& n, const Entry& variance, double epsilon) {
  return n.pow(n.add(variance, epsilon), -0.5);
}

Entries expand_layer_norm(const NodeRef& node, std::span<const Shape> shapes) {
  const Arithmetic n(node);
  const AttributeValues a = n.attributes();
  const size_t rank = n.ranked(shapes, 0).rank();
  const Extents axes = plain_axes(a.tuple("axis"), rank);
  if (axes.empty()) n.fail("axis is ()", "one dimension or more");
  const Entry centered = n.sub(n.input(0), n.mean(n.input(0), axes));
  const Entry variance = n.mean(n.mul(centered, centered), axes);
  const Entry normal = n.mul(centered, inverse_root(n, variance, a.real("epsilon")));
  return {Affine(a).apply(n, normal, aligned_at(n, axes, rank))};
}

std::vector<te::Tensor> compute_layer_norm(const AttributeValues& a, Tensors in) {
  const Affine affine(a);
  const auto input = [&](const std::optional<size_t>& k) { return k ? in[*k] : te::Tensor(); };
  return {topi::nn::layer_norm(in[0], input(affine.gamma), input(affine.beta),
                               to_ints(a.tuple("axis")), a.real("epsilon"))};
}

Entries expand_rms_norm(const NodeRef& node, std::span<const Shape> shapes) {
  const Arithmetic n(node);
  const AttributeValues a = n.attributes();
  const size_t rank = n.ranked(shapes, 0).rank();
  const Extents axes = plain_axes(a.tuple("axis"), rank);
  const Entry square = n.mean(n.mul(n.input(0), n.input(0)), axes);
  Entry y = n.mul(n.input(0), inverse_root(n, square, a.real("epsilon")));
  if (a.flag("scale")) y = n.mul(y, aligned_at(n, axes, rank)(n.input(1)));
  return {y};
}

std::vector<te::Tensor> compute_rms_norm(const AttributeValues& a, Tensors in) {
  return {topi::nn::rms_norm(in[0], in.size() > 1 ? in[1] : te::Tensor(), to_ints(a.tuple("axis")),
                             a.real("epsilon"))};
}

// Further inputs have an element for each channel.
void narrow_vectors_of_channels(ShapeInference& s) {
  s.equate(0, 0);
  for (size_t k = 1; k < s.num_inputs(); ++k) {
    s.narrow_input(k, Shape::of_rank(1));
    s.narrow_input(k, channels_of(s, s.input(k)));
    narrow_by_channels(s, s.input(k));
  }
}

void infer_by_channels(ShapeInference& s) {
  narrow_vectors_of_channels(s);
  if (s.input(0).has_rank() && axis_of(s, s.attributes().integer("axis"), s.input(0).rank()) == 0) {
    s.fail("channels are dimension 0, that of the batch", "a dimension behind it");
  }
}

void infer_group_norm(ShapeInference& s) {
  infer_by_channels(s);
  const int64_t groups = s.attributes().integer("num_groups");
  if (groups < 1) s.fail(fmt::format("num_groups is {}", groups), "1 or more");
  if (!s.input(0).has_rank()) return;
  const int64_t channels =
      s.input(0)[axis_of(s, s.attributes().integer("axis"), s.input(0).rank())];
  if (channels != Shape::kUnknown && channels % groups != 0) {
    s.fail(fmt::format("{} channels in {} groups", channels, groups),
           "a number of groups that divides that of channels");
  }
}

// Mean 0 and variance 1 over dimensions.
Entry normalized(const Arithmetic& n, const Entry& x, const Extents& axes, double epsilon) {
  return n("layer_norm", {x},
           {{"axis", tuple_text(axes)},
            {"epsilon", Arithmetic::text(epsilon)},
            {"scale", "False"},
            {"center", "False"}});
}

// Over all dimensions but that of the batch and another one.
Extents all_but(size_t rank, size_t kept) {
  Extents axes;
  for (size_t d = 1; d < rank; ++d) {
    if (d != kept) axes.push_back(static_cast<int64_t>(d));
  }
  return axes;
}

Entries expand_instance_norm(const NodeRef& node, std::span<const Shape> shapes) {
  const Arithmetic n(node);
  const AttributeValues a = n.attributes();
  const size_t rank = n.ranked(shapes, 0).rank();
  const size_t axis = plain_axis(a.integer("axis"), rank);
  const Extents axes = all_but(rank, axis);
  // Of one element the difference to the mean is 0.
  const Entry normal = axes.empty() ? n("zeros_like", {n.input(0)})
                                    : normalized(n, n.input(0), axes, a.real("epsilon"));
  return {Affine(a).apply(n, normal, aligned_at(n, {static_cast<int64_t>(axis)}, rank))};
}

// Channels become groups and their channels, which are normalized together.
Entries expand_group_norm(const NodeRef& node, std::span<const Shape> shapes) {
  const Arithmetic n(node);
  const AttributeValues a = n.attributes();
  const size_t rank = n.ranked(shapes, 0).rank();
  const size_t axis = plain_axis(a.integer("axis"), rank);
  Extents split(axis, 0);
  const Extents parts{-4, a.integer("num_groups"), -1, -2};
  split.insert(split.end(), parts.begin(), parts.end());
  const auto channel = static_cast<int64_t>(axis);
  const Extents in_groups{-4, a.integer("num_groups"), -1};
  const Entry normal =
      normalized(n, n.reshape(n.input(0), split), all_but(rank + 1, axis), a.real("epsilon"));
  const Entry y = Affine(a).apply(n, normal, [&](const Entry& e) {
    return aligned_at(n, {channel, channel + 1}, rank + 1)(n.reshape(e, in_groups));
  });
  return {n("reshape_like", {y, n.input(0)})};
}

// Statistics of the batch: [C] for each.
Entries expand_batch_norm_training(const NodeRef& node, std::span<const Shape> shapes) {
  const Arithmetic n(node);
  const AttributeValues a = n.attributes();
  const size_t rank = n.ranked(shapes, 0).rank();
  const auto axis = static_cast<int64_t>(plain_axis(a.integer("axis"), rank));
  Extents others;
  for (int64_t d = 0; d < static_cast<int64_t>(rank); ++d) {
    if (d != axis) others.push_back(d);
  }
  const auto aligned = aligned_at(n, {axis}, rank);
  // Of data without further dimensions each element is its own mean.
  const auto mean_of = [&](const Entry& e) { return others.empty() ? e : n.mean(e, others); };
  const auto as_vector = [&](const Entry& e) { return n("reshape_like", {e, n.input(3)}); };
  const Entry mean = mean_of(n.input(0)), centered = n.sub(n.input(0), mean);
  const Entry variance = mean_of(n.mul(centered, centered));
  Entry y = n.mul(centered, inverse_root(n, variance, a.real("epsilon")));
  if (a.flag("scale")) y = n.mul(y, aligned(n.input(1)));
  if (a.flag("center")) y = n.add(y, aligned(n.input(2)));
  const double momentum = a.real("momentum");
  const auto moved = [&](const Entry& before, const Entry& now) {
    return n.add(n.mul(before, momentum), n.mul(as_vector(now), 1 - momentum));
  };
  return {y, moved(n.input(3), mean), moved(n.input(4), variance)};
}

void infer_batch_norm_training(ShapeInference& s) {
  narrow_vectors_of_channels(s);
  for (size_t k = 1; k < 3; ++k) {
    s.narrow_output(k, channels_of(s, s.output(k)));
    narrow_by_channels(s, s.output(k));
  }
}

void infer_normalized(ShapeInference& s) {
  same_shape(s);
  if (s.input(0).has_rank()) axes_of(s, s.input(0).rank());
}

Entries expand_lp_normalize(const NodeRef& node, std::span<const Shape> shapes) {
  const Arithmetic n(node);
  const AttributeValues a = n.attributes();
  const Extents axes{
      static_cast<int64_t>(plain_axis(a.integer("axis"), n.ranked(shapes, 0).rank()))};
  const Entry& x = n.input(0);
  // Zeros stay zeros.
  const auto by = [&](const Entry& total) {
    return n.add(total, n("broadcast_equal", {total, n.like(total, 0)}));
  };
  if (a.integer("p") == 1) return {n.div(x, by(n.sum(n("abs", {x}), axes)))};
  return {n.div(x, n("sqrt", {by(n.sum(n.mul(x, x), axes))}))};
}

void infer_lp_normalize(ShapeInference& s) {
  same_shape_along_axis(s);
  const int64_t p = s.attributes().integer("p");
  if (p != 1 && p != 2) s.fail(fmt::format("p is {}", p), "1 or 2");
}

Entries expand_mean_variance(const NodeRef& node, std::span<const Shape> shapes) {
  const Arithmetic n(node);
  const Extents axes = plain_axes(n.attributes().tuple("axis"), n.ranked(shapes, 0).rank());
  const Entry centered = n.sub(n.input(0), n.mean(n.input(0), axes));
  const Entry deviation = n("sqrt", {n.mean(n.mul(centered, centered), axes)});
  return {n.div(centered, n.add(deviation, n.attributes().real("epsilon")))};
}

// x / sqrt(max(sum(x²), eps)): where eps is the greater, a constant factor.
Entries expand_l2_normalize(const NodeRef& node, std::span<const Shape> shapes) {
  const Arithmetic n(node);
  const AttributeValues a = n.attributes();
  const Extents axes = plain_axes(a.tuple("axis"), n.ranked(shapes, 0).rank());
  const Entry& x = n.input(0);
  const Entry total = n.sum(n.mul(x, x), axes);
  return {n.mul(x, n.pow(n("broadcast_max", {total, n.like(total, a.real("eps"))}), -0.5))};
}

}  // namespace

std::vector<Op> group_normalization_ops() {
  using enum AttributeType;
  const InputSpec data{"data", "any shape, floating"};
  const InputSpec gamma{"gamma", "(c,), with c the extent of data along `axis`", "scale"},
      beta{"beta", "(c,)", "center"};
  const AttributeSpec channels{"axis", Int, "1", "the dimension of channels"};
  return {
      {.name = "layer_norm",
       .aliases = {"layer_normalization"},
       .doc = "(data - mean) / sqrt(variance + epsilon) * gamma + beta, with mean and biased "
              "variance over dimensions.",
       .inputs = {data,
                  {"gamma", "the extents of the dimensions `axis`", "scale"},
                  {"beta", "the shape of gamma", "center"}},
       .attributes =
           {{"axis", Tuple, "-1", "the dimensions of a group"}, kEpsilon, kCenter, kScale},
       .infer_shape = infer_layer_norm,
       .infer_type = same_type,
       .compute = compute_layer_norm,
       .expand = expand_layer_norm,
       .rounds_once = true},
      {.name = "rms_norm",
       .aliases = {"rms_normalization"},
       .doc = "data / sqrt(mean(data²) + epsilon) * gamma, with the mean over dimensions; Zhang "
              "and Sennrich, \"Root Mean Square Layer Normalization\".",
       .inputs = {data, {"gamma", "the extents of the dimensions `axis`", "scale"}},
       .attributes = {{"axis", Tuple, "-1", "the dimensions of a group"}, kEpsilon, kScale},
       .infer_shape = infer_layer_norm,
       .infer_type = same_type,
       .compute = compute_rms_norm,
       .expand = expand_rms_norm,
       .rounds_once = true},
      {.name = "instance_norm",
       .doc = "Mean 0 and variance 1 over all dimensions but the first and that of channels, times "
              "gamma plus beta.",
       .inputs = {data, gamma, beta},
       .attributes = {channels, kEpsilon, kCenter, kScale},
       .infer_shape = infer_by_channels,
       .infer_type = same_type,
       .expand = expand_instance_norm,
       .rounds_once = true},
      {.name = "group_norm",
       .doc = "Mean 0 and variance 1 over groups of channels and all dimensions but the first, "
              "times gamma plus beta.",
       .inputs = {data, gamma, beta},
       .attributes = {{"num_groups", Int, {}, "divides the number of channels"},
                      channels,
                      kEpsilon,
                      kCenter,
                      kScale},
       .infer_shape = infer_group_norm,
       .infer_type = same_type,
       .expand = expand_group_norm,
       .rounds_once = true},
      {.name = "batch_norm_training",
       .doc =
           "batch_norm as training has it: mean and biased variance over all dimensions but that "
           "of channels. Further outputs: momentum * moving + (1 - momentum) * of this batch, "
           "for mean and variance.",
       .inputs = {data,
                  {"gamma", "(c,), with c the extent of data along `axis`"},
                  {"beta", "(c,)"},
                  {"moving_mean", "(c,)"},
                  {"moving_var", "(c,)"}},
       .attributes = {channels,
                      kEpsilon,
                      {"momentum", Float, "0.9", "how much of the moving statistics stays"},
                      {"center", Bool, "True", "whether beta is added; False: it is disregarded"},
                      {"scale", Bool, "True",
                       "whether gamma multiplies; False: it is disregarded"}},
       .num_outputs = [](const AttributeValues&) { return 3; },
       .infer_shape = infer_batch_norm_training,
       .infer_type = same_type,
       .expand = expand_batch_norm_training,
       .rounds_once = true},
      {.name = "l2_normalize",
       .doc = "data / sqrt(max(sum(data²), eps)), with the sum over dimensions.",
       .inputs = {data},
       .attributes = {{"eps", Float, {}, "the least that is divided by, squared"},
                      {"axis", Tuple, "()", "the dimensions; none: all"}},
       .infer_shape = infer_normalized,
       .infer_type = same_type,
       .compute =
           [](const AttributeValues& a, Tensors in) {
             return std::vector{
                 topi::nn::l2_normalize(in[0], a.real("eps"), to_ints(a.tuple("axis")))};
           },
       .expand = expand_l2_normalize,
       .rounds_once = true},
      {.name = "lp_normalize",
       .aliases = {"lp_normalization"},
       .doc = "data divided by its norm along a dimension.",
       .inputs = {data},
       .attributes = {{"axis", Int, "-1", "the dimension that it is taken along"},
                      {"p", Int, "2", "the norm: 1, the sum of absolute values, or 2"}},
       .infer_shape = infer_lp_normalize,
       .infer_type = same_type,
       .expand = expand_lp_normalize,
       .rounds_once = true},
      {.name = "mean_variance_normalization",
       .doc = "(data - mean) / (sqrt(variance) + epsilon), with mean and biased variance over "
              "dimensions.",
       .inputs = {data},
       .attributes = {{"axis", Tuple, "(0, 2, 3)", "the dimensions of a group; none: all"},
                      {"epsilon", Float, "1e-9", "is added to the standard deviation"}},
       .infer_shape = infer_normalized,
       .infer_type = same_type,
       .expand = expand_mean_variance,
       .rounds_once = true},
  };
}

}  // namespace tw::graph
