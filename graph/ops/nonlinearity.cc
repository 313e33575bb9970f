// SPDX-License-Identifier: Apache-2.0
// Nonlinearities of networks: functions of one element, with the slopes that PyTorch has at kinks.
#include "graph/ops/arithmetic.h"
#include "graph/ops/families.h"
#include "schedule/topi/topi.h"

namespace tw::graph {
namespace {

struct Row {
  std::string_view name;
  std::vector<std::string_view> aliases;
  std::string_view doc;
  std::vector<AttributeSpec> attributes;
  te::Tensor (*compute)(const te::Tensor& x, const AttributeValues& a);
  Entry (*slope)(const Arithmetic& n, const Entry& x, const AttributeValues& a);
};

Entry sigmoid(const Arithmetic& n, const Entry& x) { return n("sigmoid", {x}); }

// 1 above 0, and below it factor * exp(x / alpha): not above, where that could be infinite.
Entry exponential_slope(const Arithmetic& n, const Entry& x, double factor, double alpha) {
  const Entry above = n.above(x, 0), less = n("broadcast_min", {x, n.like(x, 0)});
  const Entry curve = n("exp", {alpha == 1 ? less : n.mul(less, 1 / alpha)});
  return n.add(above, n.mul(n.rsub(1, above), factor == 1 ? curve : n.mul(curve, factor)));
}

Entry inside(const Arithmetic& n, const Entry& x, double low, double high) {
  return n.mul(n.above(x, low), n.below(x, high));
}

// 1 - tanh(inner)², of what GELU's approximation has.
constexpr double kGeluFactor = 0.7978845608028654, kGeluCube = 0.044715;  // sqrt(2 / pi)

// Of the normal distribution: exp(-x² / 2) / sqrt(2 pi).
Entry normal_density(const Arithmetic& n, const Entry& x) {
  return n.mul(n("exp", {n.mul(n.mul(x, x), -0.5)}), 0.3989422804014327);
}

// (1 + erf(x / sqrt(2))) / 2
te::Tensor normal_share(const te::Tensor& x) {
  const auto number = [&](double v) { return constant_of(x.dtype(), v); };
  const te::Tensor inner = topi::erf(topi::multiply(x, number(0.7071067811865476)));
  return topi::multiply(topi::add(inner, number(1)), number(0.5));
}

Entry gelu_slope(const Arithmetic& n, const Entry& x, const AttributeValues& a) {
  const Entry square = n.mul(x, x);
  if (a.text("approximate") == "none") {
    const Entry share = n("_normal_share", {x});
    return n.add(share, n.mul(x, normal_density(n, x)));
  }
  const Entry inner = n.mul(n.mul(x, n.add(n.mul(square, kGeluCube), 1)), kGeluFactor);
  const Entry t = n("tanh", {inner});
  const Entry rise = n.mul(n.add(n.mul(square, 3 * kGeluCube), 1), kGeluFactor);
  const Entry bent = n.mul(n.mul(x, n.rsub(1, n.mul(t, t))), rise);
  return n.mul(n.add(n.add(t, 1), bent), 0.5);
}

}  // namespace

std::vector<Op> nonlinearity_ops() {
  using enum AttributeType;
  static const Row kRows[] = {
      {"elu",
       {},
       "x where positive, else alpha * (exp(x) - 1)",
       {{"alpha", Float, "1.0", "what it approaches is -alpha"}},
       [](const te::Tensor& x, const AttributeValues& a) {
         return topi::nn::elu(x, a.real("alpha"));
       },
       [](const Arithmetic& n, const Entry& x, const AttributeValues& a) {
         return exponential_slope(n, x, a.real("alpha"), 1);
       }},
      {"selu",
       {},
       "gamma * (x where positive, else alpha * (exp(x) - 1))",
       {{"alpha", Float, "1.67326319217681884765625", "what it approaches is -alpha * gamma"},
        {"gamma", Float, "1.05070102214813232421875", "the slope above 0"}},
       [](const te::Tensor& x, const AttributeValues& a) {
         return topi::nn::selu(x, a.real("alpha"), a.real("gamma"));
       },
       [](const Arithmetic& n, const Entry& x, const AttributeValues& a) {
         return n.mul(exponential_slope(n, x, a.real("alpha"), 1), a.real("gamma"));
       }},
      {"celu",
       {},
       "x where positive, else alpha * (exp(x / alpha) - 1)",
       {{"alpha", Float, "1.0", "what it approaches is -alpha"}},
       [](const te::Tensor& x, const AttributeValues& a) {
         return topi::nn::celu(x, a.real("alpha"));
       },
       [](const Arithmetic& n, const Entry& x, const AttributeValues& a) {
         return exponential_slope(n, x, 1, a.real("alpha"));
       }},
      {"gelu",
       {},
       "x times the share of a normal distribution below x",
       {{"approximate", Text, "none",
         "none, by the error function, or tanh: x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * "
         "x**3)))"}},
       [](const te::Tensor& x, const AttributeValues& a) {
         return topi::nn::gelu(x, a.text("approximate"));
       },
       gelu_slope},
      {"_normal_share",
       {},
       "the share of a normal distribution below x",
       {},
       [](const te::Tensor& x, const AttributeValues&) { return normal_share(x); },
       [](const Arithmetic& n, const Entry& x, const AttributeValues&) {
         return normal_density(n, x);
       }},
      {"silu",
       {"swish"},
       "x * sigmoid(x)",
       {},
       [](const te::Tensor& x, const AttributeValues&) { return topi::nn::silu(x); },
       [](const Arithmetic& n, const Entry& x, const AttributeValues&) {
         const Entry s = sigmoid(n, x);
         return n.mul(s, n.add(n.mul(x, n.rsub(1, s)), 1));
       }},
      {"mish",
       {},
       "x * tanh(log(1 + exp(x)))",
       {},
       [](const te::Tensor& x, const AttributeValues&) { return topi::nn::mish(x); },
       [](const Arithmetic& n, const Entry& x, const AttributeValues&) {
         const Entry t = n("tanh", {n("softplus", {x})});
         return n.add(t, n.mul(n.mul(x, n.rsub(1, n.mul(t, t))), sigmoid(n, x)));
       }},
      {"softplus",
       {},
       "log(1 + exp(beta * x)) / beta",
       {{"beta", Float, "1.0", "how sharp it bends, not 0"}},
       [](const te::Tensor& x, const AttributeValues& a) {
         return topi::nn::softplus(x, a.real("beta"));
       },
       [](const Arithmetic& n, const Entry& x, const AttributeValues& a) {
         return sigmoid(n, n.mul(x, a.real("beta")));
       }},
      {"softsign",
       {},
       "x / (1 + |x|)",
       {},
       [](const te::Tensor& x, const AttributeValues&) { return topi::nn::softsign(x); },
       [](const Arithmetic& n, const Entry& x, const AttributeValues&) {
         return n.pow(n.add(n("abs", {x}), 1), -2);
       }},
      {"relu6",
       {},
       "max(0, min(x, 6))",
       {},
       [](const te::Tensor& x, const AttributeValues&) { return topi::nn::relu6(x); },
       [](const Arithmetic& n, const Entry& x, const AttributeValues&) {
         return inside(n, x, 0, 6);
       }},
      {"hard_sigmoid",
       {},
       "max(0, min(alpha * x + beta, 1))",
       {{"alpha", Float, "0.2", "the slope"}, {"beta", Float, "0.5", "the value at 0"}},
       [](const te::Tensor& x, const AttributeValues& a) {
         return topi::nn::hard_sigmoid(x, a.real("alpha"), a.real("beta"));
       },
       [](const Arithmetic& n, const Entry& x, const AttributeValues& a) {
         const Entry line = n.add(n.mul(x, a.real("alpha")), a.real("beta"));
         return n.mul(inside(n, line, 0, 1), a.real("alpha"));
       }},
      {"hard_swish",
       {},
       "x * max(0, min(x + 3, 6)) / 6",
       {},
       [](const te::Tensor& x, const AttributeValues&) { return topi::nn::hard_swish(x); },
       [](const Arithmetic& n, const Entry& x, const AttributeValues&) {
         // x / 3 + 1 / 2 from -3 to 3, both included.
         const Entry above = n.above(x, 3),
                     bent = n.mul(n.rsub(1, above), n.rsub(1, n.below(x, -3)));
         return n.add(above, n.mul(bent, n.add(n.mul(x, 1.0 / 3), 0.5)));
       }},
      {"thresholded_relu",
       {},
       "x where it is above alpha, else 0",
       {{"alpha", Float, "1.0", "the threshold"}},
       [](const te::Tensor& x, const AttributeValues& a) {
         return topi::nn::thresholded_relu(x, a.real("alpha"));
       },
       [](const Arithmetic& n, const Entry& x, const AttributeValues& a) {
         return n.above(x, a.real("alpha"));
       }},
      {"shrink",
       {},
       "x + bias below -lambd, x - bias above lambd, else 0",
       {{"bias", Float, "0.0", "is taken towards 0"}, {"lambd", Float, "0.5", "the threshold"}},
       [](const te::Tensor& x, const AttributeValues& a) {
         return topi::nn::shrink(x, a.real("bias"), a.real("lambd"));
       },
       [](const Arithmetic& n, const Entry& x, const AttributeValues& a) {
         return n.add(n.above(x, a.real("lambd")), n.below(x, -a.real("lambd")));
       }},
  };
  std::vector<Op> ops;
  for (const Row& row : kRows) {
    ops.push_back({.name = row.name,
                   .aliases = row.aliases,
                   .doc = row.doc,
                   .inputs = {{"data", "any shape, floating"}},
                   .attributes = row.attributes,
                   .infer_shape = same_shape,
                   .infer_type = same_type,
                   .layout = one_layout,
                   .pattern = Pattern::ElementWise,
                   .compute = [f = row.compute](const AttributeValues& a,
                                                Tensors in) { return std::vector{f(in[0], a)}; },
                   .gradient =
                       [f = row.slope](const NodeRef& node, const Entries& g) {
                         const Arithmetic n(node);
                         return Entries{n.mul(g[0], f(n, n.input(0), n.attributes()))};
                       },
                   .inplace = {{0, 0}}});
  }
  ops.push_back({.name = "hardmax",
                 .doc = "1 at the greatest element along a dimension, the first of equals, else 0",
                 .inputs = {{"data", "any shape of rank 1 or more"}},
                 .attributes = {{"axis", Int, "-1", "the dimension that it is taken along"}},
                 .infer_shape = same_shape_along_axis,
                 .infer_type = same_type,
                 .layout = axis_layout,
                 .compute =
                     [](const AttributeValues& a, Tensors in) {
                       return std::vector{
                           topi::nn::hardmax(in[0], static_cast<int>(a.integer("axis")))};
                     },
                 .gradient = flat_gradient});
  return ops;
}

}  // namespace tw::graph
