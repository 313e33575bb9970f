// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <set>

#include "graph/expansion.h"
#include "graph/op.h"
#include "graph/pass.h"
#include "graph/symbol.h"
#include "runtime/error.h"
#include "tests/support/graph.h"
#include "tests/support/graph_values.h"

namespace tw::graph {
namespace {

using Shapes = std::vector<Shape>;

Symbol variable(std::string name, const std::string& shape) {
  return Symbol::variable(std::move(name), {{"shape", shape}});
}
Graph expand(const Symbol& symbol) {
  return apply({.outputs = symbol.outputs()}, "ExpandOperators");
}
Shapes shapes_of(const Symbol& symbol) {
  return *apply({.outputs = symbol.outputs()}, "InferShape").find<Shapes>("shape");
}
Graph gradient_of(const Symbol& y, const std::vector<Symbol>& xs) {
  Graph graph{.outputs = y.outputs()};
  graph.attributes["grad_ys"] = y.outputs();
  graph.attributes["grad_xs"] = Symbol::group(xs).outputs();
  return apply(std::move(graph), "Gradient");
}
template <class F>
ErrorInfo error_of(const F& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.info();
  }
  return {};
}
ErrorInfo error_of(const Symbol& symbol) {
  return error_of([&] { shapes_of(symbol); });
}

TEST(ExpandOperators, PutsTheExpressionInThePlaceOfTheNode) {
  const Symbol x = variable("x", "(2, 3)"), y = variable("y", "(4, 3)");
  EXPECT_EQ(
      to_text(expand(call("exp", "e", {call("einsum", "s", {x, y}, {{"equation", "ij,kj->ik"}})}))),
      "Graph(%x, %y) {\n"
      "  %1 = reshape(%x, shape='(2, 3)')\n"
      "  %3 = reshape(%y, shape='(4, 3)')\n"
      "  %4 = batch_matmul(%1, %3, transpose_a='False', transpose_b='True')\n"
      "  %5 = reshape(%4, shape='(2, 4)')\n"
      "  %6 = exp(%5)\n"
      "  ret %6\n"
      "}\n"
      "graph_attr_keys = [dtype_inputs, shape_inputs]\n");
}

TEST(ExpandOperators, LeavesOthersAndTheirAttributes) {
  const Symbol x = variable("x", "(2, 3)");
  Graph graph{
      .outputs =
          call("layer_norm", "n", {x, Symbol::variable("g"), Symbol::variable("b")}).outputs()};
  graph = apply(std::move(graph), "InferShape");
  const std::string before = to_text(graph);
  EXPECT_EQ(to_text(apply(std::move(graph), "ExpandOperators")), before)
      << "it has a kernel of its own";
}

TEST(ExpandOperators, NeedsShapes) {
  const ErrorInfo e = error_of([] { expand(call("lp_normalize", "n", {Symbol::variable("x")})); });
  EXPECT_EQ(e.code, ErrorCode::BadGraph);
  EXPECT_EQ(e.what, "the shape of node 'n', input 'data' is unknown");
}

// Of an operator that has both, whose gradient is that of the expression.
TEST(Expansion, ComputesWhatTheKernelComputes) {
  struct Case {
    std::string op;
    std::vector<std::vector<int64_t>> shapes;
    Attributes attributes = {};
    std::vector<DType> types = {};  // of inputs that are not float32
  };
  const std::vector<Case> cases = {
      {"matmul", {{3, 4}, {2, 4, 5}}},
      {"grid_sample", {{1, 2, 3, 4}, {1, 2, 2, 2}}},
      {"layer_norm", {{2, 5}, {5}, {5}}},
      {"rms_norm", {{2, 5}, {5}}},
      {"det", {{2, 4, 4}}},
      {"l2_normalize", {{2, 5}}, {{"eps", "0.001"}, {"axis", "1"}}},
      {"dequantize", {{2, 5}, {}, {}}, {}, {int_type(8), float_type(32), int_type(8)}},
      {"yolo_region", {{1, 12, 2, 2}}, {{"num", "2"}, {"classes", "1"}}},
      {"yolo_region", {{1, 14, 2, 2}}, {{"num", "2"}, {"classes", "2"}, {"background", "True"}}},
      {"yolov3_yolo", {{1, 14, 2, 3}}, {{"num", "2"}, {"classes", "2"}}},
      {"multibox_transform_loc",
       {{2, 3, 4}, {2, 16}, {1, 4, 4}},
       {{"threshold", "0.75"}, {"clip", "False"}}},
      {"multibox_transform_loc", {{2, 3, 4}, {2, 16}, {1, 4, 4}}, {{"threshold", "0.75"}}},
  };
  std::set<std::string_view> tried;
  for (const Case& c : cases) {
    SCOPED_TRACE(c.op);
    const Op& op = get_op(c.op);
    tried.insert(op.name);
    std::vector<Symbol> variables;
    std::vector<te::Tensor> tensors;
    std::vector<test::Array> arrays;
    for (size_t k = 0; k < c.shapes.size(); ++k) {
      variables.push_back(Symbol::variable(fmt::format("x{}", k)));
      arrays.emplace_back(c.shapes[k], [&](int64_t i) {
        return static_cast<double>((i * 7 + static_cast<int64_t>(k)) % 5) *
               (c.types.empty() ? 0.25 : 1.0);
      });
      tensors.push_back(test::placeholder_like(
          arrays.back(), c.types.empty() ? float_type(32) : c.types[k], fmt::format("x{}", k)));
    }
    const NodeRef node = call(c.op, "node", variables, c.attributes).outputs()[0].node;
    const auto values = [&](const std::vector<te::Tensor>& outputs) {
      std::vector<test::Array> inputs;
      for (const te::Tensor& t : te::placeholders(outputs)) {
        inputs.push_back(
            arrays[static_cast<size_t>(std::ranges::find(tensors, t) - tensors.begin())]);
      }
      return test::run(outputs, inputs);
    };
    const auto got = values(compute_expanded(*node, tensors)),
               wanted = values(op.compute({op.attributes, c.attributes, "node"}, tensors));
    ASSERT_EQ(got.size(), wanted.size());
    for (size_t k = 0; k < got.size(); ++k) {
      ASSERT_EQ(got[k].shape, wanted[k].shape);
      for (size_t i = 0; i < got[k].data.size(); ++i) {
        EXPECT_NEAR(got[k].data[i], wanted[k].data[i], 1e-5) << k << ", " << i;
      }
    }
  }
  for (const Op& op : operators()) {
    EXPECT_TRUE(!op.compute || !op.expand || tried.contains(op.name)) << op.name << " has no case";
  }
}

// A gradient is a node of the operator's name and attributes, and can be differentiated again.
TEST(GradientOf, StandsForTheGradientOfTheExpression) {
  const Symbol x = variable("x", "(2, 3)");
  const Graph first = gradient_of(call("lp_normalize", "n", {x}, {{"p", "1"}}), {x});
  EXPECT_EQ(to_text(first),
            "Graph(%x) {\n"
            "  %1 = lp_normalize(%x, p='1')\n"
            "  %2 = ones_like(%1)\n"
            "  %3 = _gradient_of(%x, %2, op='lp_normalize', count='1', of_p='1')\n"
            "  ret %3\n"
            "}");
  const Graph second = gradient_of(Symbol(first.outputs), {x});
  EXPECT_THAT(to_text(second),
              testing::HasSubstr("op='_gradient_of', count='2', of_op='lp_normalize', "
                                 "of_count='1', of_of_p='1'"));
  const std::string text = to_text(expand(Symbol(second.outputs)));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("_gradient_of")));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("lp_normalize")));
}

TEST(GradientOf, KnowsShapesInBothDirections) {
  const Symbol x = Symbol::variable("x"), g = Symbol::variable("g");
  const Symbol of_x = call("_gradient_of", "d", {x, g}, {{"op", "lp_normalize"}, {"count", "1"}});
  EXPECT_EQ(shapes_of(call("elemwise_add", "s", {of_x, variable("y", "(2, 3)")}))[0],
            Shape({2, 3}));
}

TEST(GradientOf, RefusesWhatIsNone) {
  const auto problem = [](Attributes attributes, size_t inputs) {
    std::vector<Symbol> args;
    for (size_t k = 0; k < inputs; ++k) args.push_back(variable(fmt::format("x{}", k), "(2,)"));
    return error_of([&] { expand(call("_gradient_of", "d", args, attributes)); }).what;
  };
  EXPECT_EQ(problem({{"op", "exp"}, {"count", "1"}}, 2), "_gradient_of 'exp'");
  EXPECT_EQ(problem({{"op", "lp_normalize"}, {"count", "2"}}, 2),
            "2 inputs where 2 of 'lp_normalize' and its 1 outputs are needed");
}

// Of weights follow data and the other way round.
TEST(InferShape, OfNormalizationsProductsAndAttention) {
  const Symbol x = Symbol::variable("x"), open = variable("x", "(-1, -1, -1)");
  EXPECT_EQ(shapes_of(call("layer_norm", "n", {open, variable("g", "(5,)")}))[0],
            Shape({-1, -1, 5}));
  EXPECT_EQ(
      shapes_of(call("group_norm", "n", {open, variable("g", "(6,)")}, {{"num_groups", "2"}}))[0],
      Shape({-1, 6, -1}));
  EXPECT_EQ(shapes_of(call("dense", "d", {open, variable("w", "(4, 7)")}, {{"units", "4"}}))[0],
            Shape({-1, -1, 7}));
  EXPECT_EQ(shapes_of(call("matmul", "m", {open, variable("y", "(2, 7, 4)")}))[0],
            Shape({-1, -1, 7}));
  EXPECT_EQ(
      shapes_of(call("matmul", "m", {variable("a", "(7,)"), variable("y", "(2, 7, 4)")})).back(),
      Shape({2, 4}));
  EXPECT_EQ(shapes_of(call("batch_matmul", "m",
                           {variable("a", "(2, 1, 3, 4)"), variable("b", "(5, 6, 4)")}))
                .back(),
            Shape({2, 5, 3, 6}));
  EXPECT_EQ(shapes_of(call("einsum", "e", {variable("a", "(2, 3, 4)"), variable("b", "(4,)")},
                           {{"equation", "...i,i"}}))
                .back(),
            Shape({2, 3}));
  const Symbol q = variable("q", "(2, 8, 5, 16)"), k = variable("k", "(2, 2, -1, -1)"),
               v = variable("v", "(-1, -1, 7, 3)");
  const Shapes shapes = shapes_of(call("scaled_dot_product_attention", "a", {q, k, v}));
  EXPECT_EQ(shapes, (Shapes{Shape({2, 8, 5, 16}), Shape({2, 2, 7, 16}), Shape({2, 2, 7, 3}),
                            Shape({2, 8, 5, 3})}));
  EXPECT_EQ(
      shapes_of(call("lstm", "l", {x, variable("w", "(1, 12, 4)")}, {{"hidden_size", "3"}}))[0],
      Shape({-1, -1, 4}));
}

TEST(InferShape, SaysWhatIsWrong) {
  const Symbol x = variable("x", "(2, 6, 5)");
  const auto problem = [&](std::string_view op, std::vector<Symbol> inputs, Attributes attributes) {
    return error_of(call(op, "n", inputs, attributes)).what;
  };
  const Attributes plain{{"scale", "False"}, {"center", "False"}};
  const auto with = [&](std::string name, std::string text) {
    Attributes a = plain;
    a.set(std::move(name), std::move(text));
    return a;
  };
  EXPECT_EQ(problem("layer_norm", {x}, with("axis", "(1, -2)")), "axis (1, -2)");
  EXPECT_EQ(problem("layer_norm", {x}, with("axis", "3")), "axis 3 of a tensor of rank 3");
  EXPECT_EQ(problem("instance_norm", {x}, with("axis", "0")),
            "channels are dimension 0, that of the batch");
  EXPECT_EQ(problem("group_norm", {x}, with("num_groups", "4")), "6 channels in 4 groups");
  EXPECT_EQ(problem("group_norm", {x}, with("num_groups", "0")), "num_groups is 0");
  EXPECT_EQ(problem("lp_normalize", {x}, {{"p", "3"}}), "p is 3");
  EXPECT_EQ(problem("dense", {variable("x", "()")}, {{"units", "2"}}), "data of rank 0");
  EXPECT_EQ(problem("matmul", {variable("a", "()"), x}, {}), "an operand of shape ()");
  EXPECT_EQ(problem("batch_matmul", {x, variable("b", "(3, 6, 5)")}, {}),
            "products of (2, 6, 5) and (3, 6, 5)");
  EXPECT_EQ(problem("einsum", {x}, {{"equation", "ij"}}),
            "term 'ij' of 'ij' for an operand of rank 3");
  EXPECT_EQ(problem("einsum", {x, x}, {{"equation", "ijk,kji"}}),
            "a label has the extents 5 and 2 in 'ijk,kji'");
  EXPECT_EQ(problem("causal_mask", {variable("x", "(3,)")}, {}), "shape (3,)");
  const Symbol k = variable("k", "(2, 4, 5)");
  EXPECT_EQ(problem("scaled_dot_product_attention", {variable("q", "(3, 4, 5)"), k, k}, {}),
            "query (3, 4, 5) and key (2, 4, 5)");
  EXPECT_EQ(problem("scaled_dot_product_attention", {k, k, k, variable("m", "(3, 4)")},
                    {{"use_mask", "True"}}),
            "a mask of shape (3, 4) for scores of (2, 4, 4)");
  EXPECT_EQ(problem("rotary_embedding", {x}, {}), "5 of 5 elements are turned");
  EXPECT_EQ(problem("rotary_embedding", {x}, {{"rotary_dim", "3"}}), "rotary_dim is 3");
  EXPECT_EQ(problem("quantize", {x, variable("s", "(5,)")}, {}),
            "scales of shape (5,) for data of (2, 6, 5)");
  EXPECT_EQ(problem("matmul_integer", {x, variable("b", "(4, 3)")}, {}),
            "products of (2, 6, 5) and (4, 3)");
  EXPECT_EQ(problem("dropout_training", {x}, {{"rate", "1.5"}}), "rate is 1.5");
  EXPECT_EQ(problem("nll_loss", {x}, {{"reduction", "product"}}), "reduction 'product'");
  EXPECT_EQ(problem("gru", {x}, {{"hidden_size", "2"}, {"direction", "up"}}), "direction 'up'");
  EXPECT_EQ(problem("rnn", {x}, {{"hidden_size", "0"}}), "hidden_size is 0");
}

}  // namespace
}  // namespace tw::graph
