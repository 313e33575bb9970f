// SPDX-License-Identifier: Apache-2.0
// Reductions that are made of several.
#include "graph/ops/families.h"
#include "graph/ops/reduction.h"
#include "schedule/topi/topi.h"

namespace tw::graph {
namespace {

using Axes = std::vector<int>;

// 1 where something is 0, so that nothing is divided by 0.
Entry is_zero(const GradientOf& n, const Entry& e) {
  return n("__equal_scalar__", {e}, {{"scalar", "0"}});
}
Entry plus(const GradientOf& n, const Entry& a, const Entry& b) {
  return n("elemwise_add", {a, b});
}

Entry logsumexp_gradient(const GradientOf& n, const Entry& g, const Node& node) {
  const Entry below = n("elemwise_sub", {n.input(0), expanded(n, n.output(), node)});
  return n.product(expanded(n, g, node), n("exp", {below}));
}

// The direction of data; none where all of it is 0, as in PyTorch.
Entry norm_gradient(const GradientOf& n, const Entry& g, const Node& node) {
  if (n.attributes().integer("ord") == 1) {
    return n.product(expanded(n, g, node), n("sign", {n.input(0)}));
  }
  const Entry length = plus(n, n.output(), is_zero(n, n.output()));
  return n.product(n.input(0), expanded(n, n("elemwise_div", {g, length}), node));
}

// How much more an unbiased variance is: the elements of each by one less.
Entry unbiased_share(const GradientOf& n, const Entry& g) {
  const Attributes type{{"dtype", "float64"}};
  const Entry all = n("ndarray_size", {n.input(0)}, type), each = n("ndarray_size", {g}, type);
  return n("cast_like", {n("elemwise_div", {all, n("elemwise_sub", {all, each})}), g});
}

Entry variance_gradient(const GradientOf& n, const Entry& g, const Node& node) {
  const Entry mean = expanded(n, reduced(n, "mean", n.input(0), node), node);
  const Entry distance = n("elemwise_sub", {n.input(0), mean});
  const Entry share = n("_mean_grad", {g, n.input(0)}, dimensions_of(node));
  const Entry slope = n("__mul_scalar__", {n.product(distance, share)}, {{"scalar", "2"}});
  if (!n.attributes().flag("unbiased")) return slope;
  return n("broadcast_mul", {slope, unbiased_share(n, g)});
}

// None where nothing differs from the mean, as in PyTorch.
Entry std_gradient(const GradientOf& n, const Entry& g, const Node& node) {
  const Entry zero = is_zero(n, n.output());
  const Entry passes = n.product(g, n("__rsub_scalar__", {zero}, {{"scalar", "1"}}));
  const Entry twice = n("__mul_scalar__", {plus(n, n.output(), zero)}, {{"scalar", "2"}});
  return variance_gradient(n, n("elemwise_div", {passes, twice}), node);
}

Entry flat_reduction(const GradientOf& n, const Entry&, const Node&) { return n.zeros(0); }

te::Tensor truths(const te::Tensor& x) { return topi::cast(x, bool_type()); }

struct Row {
  std::string_view name, doc;
  Pattern pattern;
  // Over no dimension at all `axes` is empty, where topi means all by that.
  te::Tensor (*compute)(const te::Tensor& x, const Axes& axes, const AttributeValues& a);
  Entry (*gradient)(const GradientOf&, const Entry&, const Node&);
  std::vector<AttributeSpec> further = {};
};

te::Tensor variance_of(const te::Tensor& x, const Axes& axes, const AttributeValues& a) {
  const bool keep = a.flag("keepdims"), unbiased = a.flag("unbiased");
  if (!axes.empty()) return topi::variance(x, axes, keep, unbiased);
  // Of each element by itself: along a dimension of one.
  return topi::variance(topi::expand_dims(x, 0), {0}, false, unbiased);
}

}  // namespace

std::vector<Op> moments_ops() {
  using enum AttributeType;
  const AttributeSpec unbiased{"unbiased", Bool, "False",
                               "whether it is divided by one less than there are elements"};
  const Row rows[] = {
      {"logsumexp", "log(sum(exp(x))) over dimensions, in which nothing overflows; floating.",
       Pattern::Opaque,
       [](const te::Tensor& x, const Axes& axes, const AttributeValues& a) {
         topi::require_float({"logsumexp", "data"}, x);
         return axes.empty() ? topi::identity(x) : topi::logsumexp(x, axes, a.flag("keepdims"));
       },
       logsumexp_gradient},
      {"norm",
       "Over dimensions the sum of absolute values, or the root of the sum of squares; floating.",
       Pattern::CommReduce,
       [](const te::Tensor& x, const Axes& axes, const AttributeValues& a) {
         topi::require_float({"norm", "data"}, x);
         const int64_t ord = a.integer("ord");
         return axes.empty() && (ord == 1 || ord == 2)
                    ? topi::abs(x)
                    : topi::norm(x, ord, axes, a.flag("keepdims"));
       },
       norm_gradient,
       {{"ord", Int, "2", "1: of absolute values; 2: of squares"}}},
      {"all", "1 where none is 0 over dimensions, else 0, in the type of data.",
       Pattern::CommReduce,
       [](const te::Tensor& x, const Axes& axes, const AttributeValues& a) {
         const te::Tensor bools = truths(x);
         return mask(axes.empty() ? bools : topi::all(bools, axes, a.flag("keepdims")), x.dtype());
       },
       flat_reduction},
      {"any", "1 where one is not 0 over dimensions, else 0, in the type of data.",
       Pattern::CommReduce,
       [](const te::Tensor& x, const Axes& axes, const AttributeValues& a) {
         const te::Tensor bools = truths(x);
         return mask(axes.empty() ? bools : topi::any(bools, axes, a.flag("keepdims")), x.dtype());
       },
       flat_reduction},
      {"variance",
       "The mean square distance from the mean over dimensions; floating.",
       Pattern::Opaque,
       variance_of,
       variance_gradient,
       {unbiased}},
      {"std",
       "The root of the mean square distance from the mean over dimensions; floating.",
       Pattern::Opaque,
       [](const te::Tensor& x, const Axes& axes, const AttributeValues& a) {
         return topi::sqrt(variance_of(x, axes, a));
       },
       std_gradient,
       {unbiased}},
  };
  std::vector<Op> ops;
  for (const Row& row : rows) {
    Op op{.name = row.name,
          .doc = row.doc,
          .inputs = {{"data", "any shape"}},
          .attributes = reduction_attributes(),
          .infer_shape = infer_reduction,
          .infer_type = same_type,
          .layout = reduction_layout,
          .pattern = row.pattern,
          .compute =
              [f = row.compute](const AttributeValues& a, Tensors in) {
                return std::vector{f(in[0], named_axes(a, in[0].shape().size()), a)};
              },
          .gradient = [f = row.gradient](
                          const NodeRef& node,
                          const Entries& g) { return Entries{f(GradientOf(node), g[0], *node)}; }};
    op.attributes.insert(op.attributes.end(), row.further.begin(), row.further.end());
    ops.push_back(std::move(op));
  }
  return ops;
}

}  // namespace tw::graph
