// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/common.h"
#include "graph/ops/families.h"
#include "schedule/topi/topi.h"

namespace tw::graph {
namespace {

void infer_dense(ShapeInference& s) {
  const int64_t units = s.attributes().integer("units");
  s.narrow_input(0, Shape::of_rank(2));
  s.narrow_input(1, Shape({units, s.input(0)[1]}));
  s.narrow_input(0, Shape({extent(s.output(0), 0), s.input(1)[1]}));
  if (s.num_inputs() > 2) s.narrow_input(2, Shape({units}));
  s.narrow_output(0, Shape({s.input(0)[0], units}));
}

std::vector<ScaleEquation> dense_scales(const Node&, std::span<const Shape> inputs, const Shape&) {
  using Kind = ScaledInput::Kind;
  ScaleEquation out{.output = 1, .inputs = {{}, {Kind::Multiply, 0}}};
  ScaleEquation in{.inputs = {{Kind::Pass, 1}, {Kind::Multiply, 1}}};
  if (inputs.size() > 2) {
    out.inputs.push_back({Kind::Multiply, 0});
    in.inputs.emplace_back();
  }
  return {out, in};
}

void dense_layout(LayoutChoice& c) {
  static constexpr std::string_view kInputs[] = {"NC", "OI", "C"};
  for (size_t k = 0; k < c.num_inputs(); ++k) c.want(k, Layout::parse(kInputs[k]));
  c.give(0, Layout::parse("NC"));
}

// [rows, columns] of an operand of a product, which may stand transposed.
Shape matrix(const Shape& shape, bool transposed) {
  return transposed ? Shape({shape[1], shape[0]}) : shape;
}

void infer_matmul(ShapeInference& s) {
  const bool ta = s.attributes().flag("transpose_a"), tb = s.attributes().flag("transpose_b");
  for (size_t k = 0; k < 2; ++k) s.narrow_input(k, Shape::of_rank(2));
  s.narrow_output(0, Shape::of_rank(2));
  const Shape a = matrix(s.input(0), ta), b = matrix(s.input(1), tb), &c = s.output(0);
  const Shape rows({c[0], b[0]}), columns({a[1], c[1]});
  s.narrow_input(0, matrix(rows, ta));
  s.narrow_input(1, matrix(columns, tb));
  s.narrow_output(0, Shape({a[0], b[1]}));
}

// C = A B, so that A's is G Bᵀ and B's is AᵀG; of operands that stand transposed, transposed.
Entries matmul_gradient(const NodeRef& node, const Entries& g) {
  const GradientOf n(node);
  const bool ta = n.attributes().flag("transpose_a"), tb = n.attributes().flag("transpose_b");
  const auto product = [&](const Entry& a, bool turn_a, const Entry& b, bool turn_b) {
    return n(
        "matmul", {a, b},
        {{"transpose_a", turn_a ? "true" : "false"}, {"transpose_b", turn_b ? "true" : "false"}});
  };
  const Entry &a = n.input(0), &b = n.input(1);
  return {ta ? product(b, tb, g[0], true) : product(g[0], false, b, !tb),
          tb ? product(g[0], true, a, ta) : product(a, !ta, g[0], false)};
}

}  // namespace

std::vector<Op> dense_ops() {
  using enum AttributeType;
  return {
      {.name = "dense",
       .doc = "data · weightᵀ + bias",
       .inputs = {{"data", "(n, k)"}, {"weight", "(units, k)"}, {"bias", "(units,)", "use_bias"}},
       .attributes = {{"units", Int, {}, "columns of the output"},
                      {"use_bias", Bool, "True", "whether there is a bias"}},
       .infer_shape = infer_dense,
       .infer_type = same_type,
       .layout = dense_layout,
       .pattern = Pattern::OutEWiseFusable,
       .compute =
           [](const AttributeValues&, Tensors in) {
             return std::vector{
                 topi::nn::dense(in[0], in[1], in.size() > 2 ? in[2] : te::Tensor())};
           },
       .gradient =
           [](const NodeRef& node, const Entries& g) {
             const GradientOf n(node);
             Entries of_inputs{n("matmul", {g[0], n.input(1)}),
                               n("matmul", {g[0], n.input(0)}, {{"transpose_a", "true"}})};
             if (node->inputs.size() > 2) {
               of_inputs.push_back(n("sum", {g[0]}, {{"axis", "(0,)"}}));
             }
             return of_inputs;
           },
       .fold_scale = dense_scales},
      {.name = "matmul",
       .doc = "lhs · rhs",
       .inputs = {{"lhs", "(m, k), or (k, m) transposed"}, {"rhs", "(k, n), or (n, k) transposed"}},
       .attributes = {{"transpose_a", Bool, "False", "whether lhs stands transposed"},
                      {"transpose_b", Bool, "False", "whether rhs stands transposed"}},
       .infer_shape = infer_matmul,
       .infer_type = same_type,
       .layout = natural_layouts,
       .pattern = Pattern::OutEWiseFusable,
       .compute =
           [](const AttributeValues& a, Tensors in) {
             return std::vector{topi::nn::matmul(in[0], in[1], {}, {}, a.flag("transpose_a"),
                                                 a.flag("transpose_b"))};
           },
       .gradient = matmul_gradient},
  };
}

}  // namespace tw::graph
