// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/common.h"
#include "graph/ops/families.h"
#include "ir/expr.h"
#include "schedule/topi/topi.h"

namespace tw::graph {
namespace {

// The output has the shape of data, and all others its extent along `axis`.
void infer_batch_norm(ShapeInference& s) {
  s.narrow_output(0, s.input(0));
  s.narrow_input(0, s.output(0));
  Shape channels = Shape::of_rank(1);
  const auto learn = [&](const Shape& shape) {
    if (const auto both = unify(channels, shape)) channels = *both;
  };
  std::optional<size_t> axis;
  if (s.input(0).has_rank()) {
    axis = axis_of(s, s.attributes().integer("axis"), s.input(0).rank());
    learn(Shape({s.input(0)[*axis]}));
  }
  for (size_t k = 1; k < s.num_inputs(); ++k) learn(s.input(k));
  for (size_t k = 1; k < s.num_outputs(); ++k) learn(s.output(k));
  for (size_t k = 1; k < s.num_inputs(); ++k) s.narrow_input(k, channels);
  for (size_t k = 1; k < s.num_outputs(); ++k) s.narrow_output(k, channels);
  if (!axis) return;
  Shape data = Shape::of_rank(s.input(0).rank());
  (*data.extents)[*axis] = channels[0];
  s.narrow_input(0, data);
}

std::vector<te::Tensor> compute_batch_norm(const AttributeValues& a, Tensors in) {
  // What is not used is there all the same.
  const te::Tensor gamma = a.flag("scale") ? in[1] : topi::full_like(in[1], Expr(1));
  const te::Tensor beta = a.flag("center") ? in[2] : topi::full_like(in[2], Expr(0));
  return {topi::nn::batch_norm(in[0], gamma, beta, in[3], in[4],
                               static_cast<int>(a.integer("axis")), a.real("epsilon")),
          topi::identity(in[3]), topi::identity(in[4])};
}

}  // namespace

std::vector<Op> normalization_ops() {
  using enum AttributeType;
  return {
      {.name = "batch_norm",
       .doc = "(data - moving_mean) / sqrt(moving_var + epsilon) * gamma + beta, as inference has "
              "it. Further outputs: moving_mean and moving_var.",
       .inputs = {{"data", "any shape, floating"},
                  {"gamma", "(c,), with c the extent of data along `axis`"},
                  {"beta", "(c,)"},
                  {"moving_mean", "(c,)"},
                  {"moving_var", "(c,)"}},
       .attributes = {{"axis", Int, "1", "the dimension of channels"},
                      {"epsilon", Float, "1e-5", "is added to the variance"},
                      {"center", Bool, "True", "whether beta is added; False: it is disregarded"},
                      {"scale", Bool, "True",
                       "whether gamma multiplies; False: it is disregarded"}},
       .num_outputs = [](const AttributeValues&) { return 3; },
       .visible_outputs = 1,
       .infer_shape = infer_batch_norm,
       .infer_type = same_type,
       .compute = compute_batch_norm},
      {.name = "dropout",
       .doc = "Drops elements while a network is trained; inference drops none. Further "
              "output: a mask of ones.",
       .inputs = {{"data", "any shape"}},
       .attributes = {{"rate", Float, "0.5", "the share of elements that training drops"}},
       .num_outputs = [](const AttributeValues&) { return 2; },
       .visible_outputs = 1,
       .infer_shape = same_shape,
       .infer_type = same_type,
       .compute =
           [](const AttributeValues&, Tensors in) {
             return std::vector{topi::identity(in[0]), topi::full_like(in[0], Expr(1))};
           }},
  };
}

}  // namespace tw::graph
