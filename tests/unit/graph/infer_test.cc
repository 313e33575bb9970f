// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "graph/op.h"
#include "graph/pass.h"
#include "graph/symbol.h"
#include "runtime/error.h"
#include "tests/support/graph.h"

namespace tw::graph {
namespace {

using Shapes = std::vector<Shape>;

Graph inferred(const Symbol& symbol) { return apply({.outputs = symbol.outputs()}, "InferShape"); }
Shapes shapes_of(const Symbol& symbol) { return *inferred(symbol).find<Shapes>("shape"); }
Symbol variable(std::string name, const std::string& shape) {
  return Symbol::variable(std::move(name), {{"shape", shape}});
}

ErrorInfo error_of(const Symbol& symbol) {
  try {
    inferred(symbol);
  } catch (const Error& e) {
    return e.info();
  }
  return {};
}

TEST(InferShape, AsTheDocumentsPrint) {
  const Symbol x = Symbol::variable("x", {{"shape", "(1, 13, 100, 100)"}, {"dtype", "1"}});
  const Attributes conv{{"channels", "13"}, {"kernel_size", "(3, 3)"}, {"padding", "[1, 1]"}};
  Symbol z = call("relu", "relu0", {call("conv2d", "conv2d2", {x}, conv)});
  z = call("relu", "relu1", {call("conv2d", "conv2d3", {z}, conv)});
  z = call("flatten", "flatten0", {call("broadcast_add", "__add_symbol__1", {x, z})});
  z = call("softmax", "softmax0", {call("dense", "dense0", {z}, {{"units", "10"}})});
  z = call("sum", "sum0", {z}, {{"keepdims", "True"}});
  const Graph graph = apply(inferred(z), "InferType");
  const Shape image({1, 13, 100, 100}), weight({13, 13, 3, 3}), bias({13});
  EXPECT_EQ(*graph.find<Shapes>("shape"),
            (Shapes{image, weight, bias, image, image, weight, bias, image, image, image,
                    Shape({1, 130000}), Shape({10, 130000}), Shape({10}), Shape({1, 10}),
                    Shape({1, 10}), Shape({1, 1})}));
  EXPECT_EQ(*graph.find<int64_t>("shape_num_unknown_nodes"), 0);
  EXPECT_EQ(*graph.find<std::vector<int64_t>>("dtype"), std::vector<int64_t>(16, 1));
}

TEST(InferShape, RunsBackward) {
  // Of the weights' shapes follow those of the data.
  const Symbol x = Symbol::variable("x"), w = variable("w", "(8, 4, 3, 3)");
  Symbol z = Symbol::call("conv2d", "c", {x, w}, {},
                          {{"channels", "8"}, {"kernel_size", "3"}, {"groups", "2"}});
  EXPECT_EQ(shapes_of(z)[0], Shape({-1, 8, -1, -1}));
  EXPECT_EQ(*inferred(z).find<int64_t>("shape_num_unknown_nodes"), 2) << "data and output";
  // Of an elementwise output those of its inputs.
  const Symbol a = Symbol::variable("a"), b = variable("b", "(2, 0)");
  EXPECT_EQ(shapes_of(call("elemwise_add", "s", {call("exp", "e", {a}), b}))[0], Shape({2, 0}));
  // Through a transposition.
  z = call("elemwise_add", "s",
           {call("transpose", "t", {a}, {{"axes", "(1, 2, 0)"}}), variable("b", "(3, 5, 7)")});
  EXPECT_EQ(shapes_of(z)[0], Shape({7, 3, 5}));
  // Of a matrix, which might be a vector or several of them, the rank is known.
  z = call("matmul", "m", {variable("a", "(-1, -1)"), variable("b", "(3, 5)")},
           {{"transpose_a", "True"}});
  EXPECT_EQ(shapes_of(call("elemwise_add", "s", {z, variable("c", "(2, 5)")}))[0], Shape({3, 2}));
}

TEST(InferShape, RankZeroAndExtentsOfZeroAreKnown) {
  EXPECT_EQ(shapes_of(call("sum", "s", {variable("x", "(0, 3)")}))[1],
            Shape(std::vector<int64_t>{}));
  EXPECT_EQ(shapes_of(call("sum", "s", {variable("x", "(4, 3)")}, {{"axis", "1"}}))[1], Shape({4}));
  EXPECT_EQ(shapes_of(call("sum", "s", {variable("x", "(4, 3, 2)")},
                           {{"axis", "(-2,)"}, {"exclude", "1"}}))[1],
            Shape({3}));
  EXPECT_EQ(
      shapes_of(call("broadcast_add", "s", {variable("x", "()"), variable("y", "(1, 0)")}))[2],
      Shape({1, 0}));
}

TEST(InferShape, LayoutsAreRead) {
  const Attributes nhwc{{"channels", "8"},     {"kernel_size", "(3, 5)"},
                        {"layout", "NHWC"},    {"kernel_layout", "HWIO"},
                        {"strides", "(2, 1)"}, {"padding", "(1, 2)"}};
  const Shapes shapes = shapes_of(call("conv2d", "c", {variable("x", "(2, 9, 10, 4)")}, nhwc));
  EXPECT_EQ(shapes[1], Shape({3, 5, 4, 8}));
  EXPECT_EQ(shapes[3], Shape({2, 5, 10, 8}));
}

TEST(InferShape, ConflictsNameNodeInputAndBothShapes) {
  ErrorInfo e =
      error_of(call("elemwise_add", "total", {variable("x", "(2, 3)"), variable("y", "(2, 4)")}));
  EXPECT_EQ(e.code, ErrorCode::ShapeConflict);
  EXPECT_EQ(e.what, "node 'total', input 'rhs' is (2, 4) where (2, 3) is needed");
  e = error_of(call("conv2d", "c", {variable("x", "(1, 3, 8, 8)"), variable("w", "(4, 2, 3, 3)")},
                    {{"channels", "4"}, {"kernel_size", "(3, 3)"}}));
  EXPECT_EQ(e.what, "node 'c', input 'weight' is (4, 2, 3, 3) where (4, 3, 3, 3) is needed");
  e = error_of(call("broadcast_add", "b", {variable("x", "(2, 3)"), variable("y", "(2, 4)")}));
  EXPECT_EQ(e.what, "shapes (2, 3) and (2, 4) do not broadcast");
  EXPECT_EQ(e.where, "node 'b'");
  e = error_of(call("conv2d", "c", {variable("x", "(1, 3, 2, 8)")},
                    {{"channels", "4"}, {"kernel_size", "(3, 3)"}}));
  EXPECT_EQ(e.code, ErrorCode::ShapeConflict);
  e = error_of(call("softmax", "s", {variable("x", "(2, 3)")}, {{"axis", "2"}}));
  EXPECT_EQ(e.legal, "-2 to 1");
}

TEST(InferShape, GivenShapesGoToInputsInOrder) {
  Graph graph{
      .outputs =
          call("elemwise_add", "s", {Symbol::variable("x"), Symbol::variable("y")}).outputs()};
  graph.attributes["shape_inputs"] = Shapes{Shape(), Shape({3})};
  graph = apply(std::move(graph), "InferShape");
  EXPECT_EQ(*graph.find<Shapes>("shape"), Shapes(3, Shape({3})));
  EXPECT_FALSE(graph.attributes.contains("shape_inputs"));
}

TEST(Passes, UnknownOnesAndMissingAttributesAreErrors) {
  try {
    apply({}, "InferShapes");
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::UnknownPass);
    EXPECT_THAT(e.info().what, testing::HasSubstr("'InferShape'"));
  }
  try {
    apply({}, "LoadJSON");
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::PassRequirement);
    EXPECT_EQ(e.info().legal, "apply SaveJSON first");
  }
}

TEST(Passes, AreVerifiedAfterwards) {
  register_pass({.name = "DropInputs", .function = [](Graph graph) {
                   Node node = *graph.outputs[0].node;
                   node.inputs.clear();
                   graph.outputs[0].node = make_node(std::move(node));
                   return graph;
                 }});
  const Symbol z = call("relu", "r", {Symbol::variable("x")});
  try {
    apply({.outputs = z.outputs()}, "DropInputs");
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::BadGraph);
    EXPECT_EQ(e.info().where, "node 'r'");
  }
}

}  // namespace
}  // namespace tw::graph
