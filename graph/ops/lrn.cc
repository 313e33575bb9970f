// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/common.h"
#include "graph/ops/families.h"
#include "schedule/topi/topi.h"

namespace tw::graph {
namespace {

void infer_window_sum(ShapeInference& s) {
  const int64_t size = s.attributes().integer("size");
  if (size < 1) s.fail(fmt::format("a size of {}", size), "1 or more");
  same_shape_along_axis(s);
}

// With d = bias + alpha / size * sums: g / d ** beta, less 2 * alpha * beta / size * x times the
// sum of g * x / d ** (beta + 1) over those whose window x is in.
Entries lrn_gradient(const NodeRef& node, const Entries& g) {
  const GradientOf n(node);
  const AttributeValues a = n.attributes();
  const Entry& x = n.input(0);
  const double beta = a.real("beta"),
               share = a.real("alpha") / static_cast<double>(a.integer("size"));
  const auto scalar = [&](const char* op, const Entry& e, double value) {
    return n(op, {e}, {{"scalar", fmt::format("{}", value)}});
  };
  const auto sums = [&](const Entry& e, const char* reverse) {
    return n("_window_sum", {e},
             {{"size", fmt::format("{}", a.integer("size"))},
              {"axis", fmt::format("{}", a.integer("axis"))},
              {"reverse", reverse}});
  };
  const Entry base =
      scalar("__add_scalar__", scalar("__mul_scalar__", sums(n.product(x, x), "False"), share),
             a.real("bias"));
  const Entry direct = n.product(g[0], scalar("__pow_scalar__", base, -beta));
  const Entry others = sums(n("elemwise_div", {n.product(direct, x), base}), "True");
  return {n("elemwise_sub",
            {direct, scalar("__mul_scalar__", n.product(x, others), 2 * beta * share)})};
}

}  // namespace

std::vector<Op> lrn_ops() {
  using enum AttributeType;
  const AttributeSpec size{"size", Int, {}, "how many elements along axis are summed"},
      axis{"axis", Int, "1", "the dimension of channels"};
  Op norm{.name = "lrn",
          .doc =
              "data / (bias + alpha / size * sum of squares) ** beta, the sum being over `size` "
              "elements along axis; floating.",
          .inputs = {{"data", "any shape, floating"}},
          .attributes = {size,
                         axis,
                         {"bias", Float, "2", "what is added to the mean square"},
                         {"alpha", Float, "0.0001", "factor of the mean square"},
                         {"beta", Float, "0.75", "the power"}},
          .infer_shape = infer_window_sum,
          .infer_type = same_type,
          .layout = axis_layout,
          .pattern = Pattern::OutEWiseFusable,
          .gradient = lrn_gradient};
  norm.compute = [](const AttributeValues& a, Tensors in) {
    return std::vector{topi::nn::lrn(in[0], a.integer("size"), static_cast<int>(a.integer("axis")),
                                     a.real("alpha"), a.real("beta"), a.real("bias"))};
  };
  Op sum{
      .name = "_window_sum",
      .doc = "The sum of `size` elements along axis about each; part of gradients.",
      .inputs = {{"data", "any shape"}},
      .attributes = {size,
                     axis,
                     {"reverse", Bool, "False",
                      "whether of an even size one more lies before an element, and not behind"}},
      .infer_shape = infer_window_sum,
      .infer_type = same_type,
      .layout = axis_layout,
      .pattern = Pattern::OutEWiseFusable};
  sum.compute = [](const AttributeValues& a, Tensors in) {
    return std::vector{topi::nn::window_sum(
        in[0], a.integer("size"), static_cast<int>(a.integer("axis")), a.flag("reverse"))};
  };
  sum.gradient = [](const NodeRef& node, const Entries& g) {
    const GradientOf n(node);
    Attributes attributes(node->attributes);
    attributes.set("reverse", n.attributes().flag("reverse") ? "False" : "True");
    return Entries{n("_window_sum", {g[0]}, attributes)};
  };
  return {norm, sum};
}

}  // namespace tw::graph
