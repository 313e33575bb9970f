// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/common.h"
#include "graph/ops/families.h"
#include "ir/expr.h"
#include "schedule/topi/topi.h"

namespace tw::graph {
namespace {

constexpr std::string_view kEpsilon = "1e-5";

// The output has the shape of data, and all others one element for each of its channels.
void infer_batch_norm(ShapeInference& s) {
  s.equate(0, 0);
  Shape channels;
  const auto learn = [&](const Shape& shape) {
    if (const auto both = unify(channels, shape)) channels = *both;
  };
  for (size_t k = 1; k < s.num_inputs(); ++k) learn(s.input(k));
  for (size_t k = 1; k < s.num_outputs(); ++k) learn(s.output(k));
  learn(channels_of(s, channels));
  for (size_t k = 1; k < s.num_inputs(); ++k) s.narrow_input(k, channels);
  for (size_t k = 1; k < s.num_outputs(); ++k) s.narrow_output(k, channels);
  narrow_by_channels(s, channels);
}

std::vector<te::Tensor> compute_batch_norm(const AttributeValues& a, Tensors in) {
  // What is not used is there all the same.
  const te::Tensor gamma = a.flag("scale") ? in[1] : topi::full_like(in[1], Expr(1));
  const te::Tensor beta = a.flag("center") ? in[2] : topi::full_like(in[2], Expr(0));
  return {topi::nn::batch_norm(in[0], gamma, beta, in[3], in[4],
                               static_cast<int>(a.integer("axis")), a.real("epsilon")),
          topi::identity(in[3]), topi::identity(in[4])};
}

// A value for each channel, of the rank of data that has channels along `axis`, and in blocks their
// places along the last dimension.
Entry of_channels(const Entry& values, size_t rank, size_t axis, bool blocks) {
  const size_t behind = rank - axis - (blocks ? 2 : 1);
  if (behind == 0) return values;
  return make_call("expand_dims", values.node->name + "_expand", {values},
                   {{"axis", "1"}, {"num_newaxis", fmt::format("{}", behind)}});
}

// NNVM's nodes and their names, but for the further outputs, which inference gives as they are.
Entries simplify_batch_norm(const NodeRef& node, std::span<const Shape> shapes) {
  const AttributeValues a(node->op->attributes, node->attributes, node->name);
  if (!shapes[0].has_rank()) {
    raise({.code = ErrorCode::BadGraph,
           .what = "the shape of data is unknown",
           .where = fmt::format("node '{}'", node->name),
           .legal = "a shape for each input of the graph"});
  }
  const size_t rank = shapes[0].rank();
  const int64_t axis = a.integer("axis");
  const size_t channel = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
  const auto call = [&](std::string_view op, std::string_view suffix, Entries inputs,
                        Attributes attributes = {}) {
    return make_call(op, fmt::format("{}_{}", node->name, suffix), std::move(inputs),
                     std::move(attributes));
  };
  const Entry &data = node->inputs[0], &gamma = node->inputs[1], &beta = node->inputs[2],
              &mean = node->inputs[3], &variance = node->inputs[4];
  const std::string* epsilon = node->attributes.find("epsilon");
  Entry scale = call("__add_scalar__", "add_eps", {variance},
                     {{"scalar", epsilon ? *epsilon : std::string(kEpsilon)}});
  scale = call("__rdiv_scalar__", "div", {call("sqrt", "sqrt", {scale})}, {{"scalar", "1"}});
  if (a.flag("scale")) scale = call("elemwise_mul", "gamma_mul_div", {scale, gamma});
  Entry shift =
      call("elemwise_mul", "neg_mean_mul_a", {call("negative", "neg_mean", {mean}), scale});
  if (a.flag("center")) shift = call("elemwise_add", "add_beta", {shift, beta});
  const bool blocks = shapes[1].has_rank() && shapes[1].rank() == 2;
  const Entry scaled =
      call("broadcast_mul", "a_mul_data", {data, of_channels(scale, rank, channel, blocks)});
  return {call("broadcast_add", "out", {scaled, of_channels(shift, rank, channel, blocks)}), mean,
          variance};
}

// Of x * f + shift with f = gamma / sqrt(variance + epsilon), as inference has it: of mean and
// variance too, which are inputs like others.
Entries batch_norm_gradient(const NodeRef& node, const Entries& g) {
  const GradientOf n(node);
  const AttributeValues a = n.attributes();
  const std::string axis = tuple_text({a.integer("axis")});
  const Attributes channels{{"axis", axis}, {"exclude", "True"}};
  const auto spread = [&](const Entry& e) { return n("expand_like", {e, n.input(0)}, channels); };
  const auto total = [&](const Entry& e) { return n("sum", {e}, channels); };
  const Entry &gamma = n.input(1), &mean = n.input(3), &variance = n.input(4);
  const Entry shifted =
      n("__add_scalar__", {variance}, {{"scalar", fmt::format("{}", a.real("epsilon"))}});
  const Entry inverse = n("__pow_scalar__", {shifted}, {{"scalar", "-0.5"}});
  const Entry factor = a.flag("scale") ? n.product(inverse, gamma) : inverse;
  const Entry normal = n.product(n("elemwise_sub", {n.input(0), spread(mean)}), spread(inverse));
  const Entry of_shift = total(g[0]), of_normal = total(n.product(g[0], normal));
  // d f / d variance = -f / (2 (variance + epsilon)), times x - mean.
  Entry of_variance = n("elemwise_div", {of_normal, shifted});
  if (a.flag("scale")) of_variance = n.product(of_variance, gamma);
  of_variance = n("__mul_scalar__", {of_variance}, {{"scalar", "-0.5"}});
  const Entry of_mean = n("negative", {n.product(of_shift, factor)});
  return {n.product(g[0], spread(factor)), a.flag("scale") ? of_normal : n.zeros(1),
          a.flag("center") ? of_shift : n.zeros(2), n("elemwise_add", {of_mean, g[1]}),
          n("elemwise_add", {of_variance, g[2]})};
}

}  // namespace

std::vector<Op> normalization_ops() {
  using enum AttributeType;
  return {
      {.name = "batch_norm",
       .doc = "(data - moving_mean) / sqrt(moving_var + epsilon) * gamma + beta, as inference has "
              "it. Further outputs: moving_mean and moving_var.",
       .inputs = {{"data", "any shape, floating"},
                  {"gamma",
                   "(c,), with c the extent of data along `axis`; (c / b, b) where blocks of b "
                   "channels are the last dimension of data"},
                  {"beta", "(c,)"},
                  {"moving_mean", "(c,)"},
                  {"moving_var", "(c,)"}},
       .attributes = {{"axis", Int, "1", "the dimension of channels"},
                      {"epsilon", Float, kEpsilon, "is added to the variance"},
                      {"center", Bool, "True", "whether beta is added; False: it is disregarded"},
                      {"scale", Bool, "True",
                       "whether gamma multiplies; False: it is disregarded"}},
       .num_outputs = [](const AttributeValues&) { return 3; },
       .visible_outputs = 1,
       .infer_shape = infer_batch_norm,
       .infer_type = same_type,
       .layout = channel_layout,
       .compute = compute_batch_norm,
       .gradient = batch_norm_gradient,
       .simplify = simplify_batch_norm},
      {.name = "dropout",
       .doc = "Drops elements while a network is trained; inference drops none. Further "
              "output: a mask of ones.",
       .inputs = {{"data", "any shape"}},
       .attributes = {{"rate", Float, "0.5", "the share of elements that training drops"}},
       .num_outputs = [](const AttributeValues&) { return 2; },
       .visible_outputs = 1,
       .infer_shape = same_shape,
       .infer_type = same_type,
       .layout = one_layout,
       .compute =
           [](const AttributeValues&, Tensors in) {
             return std::vector{topi::identity(in[0]), topi::full_like(in[0], Expr(1))};
           },
       .gradient = [](const NodeRef&, const Entries& g) { return Entries{g[0]}; },
       .simplify =
           [](const NodeRef& node, std::span<const Shape>) {
             const Entry& data = node->inputs[0];
             return Entries{data, make_call("ones_like", node->name + "_mask", {data})};
           }},
  };
}

}  // namespace tw::graph
