// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <set>

#include "graph/dtypes.h"
#include "graph/op.h"
#include "graph/pass.h"
#include "graph/symbol.h"
#include "ir/expr.h"
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
  z = call("matmul", "m", {a, variable("b", "(3, 5)")}, {{"transpose_a", "True"}});
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

// What a rule says of the outputs is what the computation has.
TEST(Operators, ShapesAndTypesAreThoseOfTheComputation) {
  struct Case {
    std::string_view op;
    std::vector<std::vector<int64_t>> inputs;
    Attributes attributes;
  };
  std::vector<Case> cases = {
      {"conv2d", {{2, 4, 9, 7}}, {{"channels", "6"}, {"kernel_size", "(3, 2)"}, {"groups", "2"}}},
      {"conv2d",
       {{2, 9, 7, 4}},
       {{"channels", "6"},
        {"kernel_size", "3"},
        {"layout", "NHWC"},
        {"dilation", "2"},
        {"padding", "(1, 0, 2, 1)"},
        {"strides", "2"},
        {"use_bias", "False"}}},
      {"_contrib_conv2d_NCHWc",
       {{2, 2, 9, 7, 4}},
       {{"channels", "6"},
        {"kernel_size", "(3, 2)"},
        {"layout", "NCHW4c"},
        {"out_layout", "NCHW2c"},
        {"kernel_layout", "OIHW4i2o"}}},
      {"_contrib_conv2d_NCHWc",
       {{2, 3, 9, 7}},
       {{"channels", "8"},
        {"kernel_size", "3"},
        {"strides", "2"},
        {"out_layout", "NCHW4c"},
        {"kernel_layout", "OIHW4o"}}},
      {"_contrib_conv2d_NCHWc",
       {{2, 2, 9, 7, 4}},
       {{"channels", "8"},
        {"groups", "8"},
        {"kernel_size", "3"},
        {"layout", "NCHW4c"},
        {"kernel_layout", "OIHW1i4o"}}},
      {"__layout_transform__", {{2, 6, 3}}, {{"src_layout", "NCW"}, {"dst_layout", "WNC3c"}}},
      {"dense", {{3, 5}}, {{"units", "4"}}},
      {"matmul", {{5, 3}, {4, 5}}, {{"transpose_a", "True"}, {"transpose_b", "True"}}},
      {"softmax", {{3, 5}}, {{"axis", "0"}}},
      {"log_softmax", {{3, 5}}, {}},
      {"flatten", {{3, 5, 2}}, {}},
      {"flatten", {{3}}, {}},
      {"transpose", {{3, 5, 2}}, {{"axes", "(2, 0, -2)"}}},
      {"transpose", {{3, 5}}, {}},
      {"elemwise_sum", {{3, 5}, {3, 5}, {3, 5}}, {}},
      {"_conv2d_grad",
       {{2, 6, 4, 4}, {2, 4, 9, 8}, {6, 2, 3, 2}},
       {{"channels", "6"}, {"kernel_size", "(3, 2)"}, {"groups", "2"}, {"strides", "2"}}},
      {"leaky_relu", {{3, 5}}, {{"alpha", "0.1"}}},
      {"_assign", {{3, 5}, {3, 5}}, {}},
      {"__copy", {{3, 5}}, {}},
      {"compiler_begin", {{3, 5}}, {{"compiler", "dnnl"}}},
      {"compiler_end", {{3, 5}}, {{"compiler", "dnnl"}}},
      {"prelu", {{2, 3, 4}}, {}},
      {"prelu", {{2, 3, 4}}, {{"axis", "-1"}}},
      {"clip", {{3, 5}}, {{"a_min", "-1"}, {"a_max", "2.5"}}},
      {"cast", {{3, 5}}, {{"dtype", "int8"}}},
      {"full_like", {{3, 5}}, {{"fill_value", "7"}}},
      {"zeros", {}, {{"shape", "(3, 5)"}}},
      {"ones", {}, {{"shape", "()"}, {"dtype", "int32"}}},
      {"full", {}, {{"shape", "(4,)"}, {"dtype", "float64"}, {"fill_value", "0.5"}}},
      {"max_pool2d", {{2, 3, 9, 7}}, {{"pool_size", "(3, 2)"}}},
      {"max_pool2d",
       {{2, 9, 7, 3}},
       {{"pool_size", "2"},
        {"strides", "(2, 3)"},
        {"padding", "(0, 1, 1, 0)"},
        {"layout", "NHWC"}}},
      {"avg_pool2d",
       {{2, 3, 8, 7}},
       {{"pool_size", "3"}, {"strides", "2"}, {"padding", "1"}, {"ceil_mode", "True"}}},
      {"global_max_pool2d", {{2, 3, 5, 4}}, {}},
      {"global_avg_pool2d", {{2, 5, 4, 3}}, {{"layout", "NHWC"}}},
      {"batch_norm", {{2, 3, 4}}, {}},
      {"batch_norm", {{2, 3}}, {{"axis", "-1"}, {"scale", "False"}, {"center", "0"}}},
      {"dropout", {{2, 3}}, {{"rate", "0.3"}}},
      {"reshape", {{2, 3, 4}}, {{"shape", "(-1, 0, 2)"}}},
      {"reshape", {{2, 3, 4}}, {{"shape", "(-4, 1, -1, -3)"}}},
      {"reshape", {{2, 3, 4, 5}}, {{"shape", "(0, -4, -1, 1, -2)"}}},
      {"reshape", {{1, 1}}, {{"shape", "()"}}},
      {"reshape_like", {{2, 6}, {3, 4}}, {}},
      {"squeeze", {{1, 3, 1}}, {}},
      {"squeeze", {{1, 3, 1}}, {{"axis", "-1"}}},
      {"expand_dims", {{2, 3}}, {{"axis", "-1"}, {"num_newaxis", "2"}}},
      {"expand_dims", {{}}, {{"axis", "0"}}},
      {"expand_like", {{3}, {2, 3, 4}}, {{"axis", "(0, 2)"}}},
      {"expand_like", {{3}, {2, 3, 4}}, {{"axis", "1"}, {"exclude", "True"}}},
      {"broadcast_to", {{3, 1}}, {{"shape", "(2, 0, 4)"}}},
      {"concatenate", {{2, 1, 3}, {2, 4, 3}, {2, 2, 3}}, {}},
      {"concatenate", {{2}, {3}}, {{"axis", "-1"}}},
      {"split", {{2, 6}}, {{"indices_or_sections", "3"}}},
      {"split", {{6, 2}}, {{"indices_or_sections", "(1, 4)"}, {"axis", "0"}}},
      {"split", {{2, 6}}, {{"indices_or_sections", "(3,)"}, {"axis", "-1"}}},
      {"strided_slice",
       {{5, 6, 7}},
       {{"begin", "(1, -1)"}, {"end", "(-1, 0)"}, {"stride", "(2, -3)"}}},
      {"flip", {{3, 5}}, {{"axis", "-1"}}},
      {"pad", {{3, 5}}, {{"pad_width", "((0, 1), [2, 3])"}, {"pad_value", "1.5"}}},
      {"collapse_sum", {{2, 3, 5}, {3, 1}}, {}},
      {"broadcast_to_like", {{3, 1}, {2, 3, 5}}, {}},
      {"_mean_grad", {{3}, {2, 3, 5}}, {{"axis", "(0, -1)"}}},
      {"_concatenate_grad", {{2, 6}, {2, 4}, {2, 2}}, {{"num_args", "2"}}},
      {"_strided_slice_grad", {{2, 7}, {5, 7}}, {{"begin", "(1,)"}, {"end", "(3,)"}}},
      {"_max_pool2d_grad", {{2, 3, 7, 6}, {2, 3, 9, 7}}, {{"pool_size", "(3, 2)"}}},
      {"_avg_pool2d_grad", {{2, 3, 1, 1}, {2, 3, 9, 7}}, {}},
      {"_max_pool2d_select", {{2, 3, 9, 7}, {2, 3, 9, 7}}, {{"pool_size", "(3, 2)"}}},
      {"upsampling", {{2, 3, 4, 5}}, {{"scale", "2"}}},
      {"upsampling", {{2, 4, 5, 3}}, {{"scale", "3"}, {"layout", "NHWC"}}},
  };
  std::set<std::string_view> tried;
  for (const Case& c : cases) tried.insert(c.op);
  for (const Op& op : operators()) {
    if (!op.compute || !tried.insert(op.name).second) continue;
    const size_t before = cases.size();
    if (op.pattern == Pattern::ElementWise) {
      const bool scalar = !op.attributes.empty();
      cases.push_back({op.name, std::vector<std::vector<int64_t>>(op.inputs.size(), {2, 3}),
                       scalar ? Attributes{{"scalar", "1.5"}} : Attributes()});
    }
    if (op.pattern == Pattern::Broadcast) cases.push_back({op.name, {{2, 1, 3}, {5, 1}}, {}});
    if (op.pattern == Pattern::CommReduce) {
      cases.push_back({op.name, {{2, 4, 3}}, {}});
      cases.push_back({op.name, {{2, 4, 3}}, {{"axis", "(0, 2)"}, {"keepdims", "True"}}});
      cases.push_back({op.name, {{2, 4, 3}}, {{"axis", "1"}, {"exclude", "True"}}});
    }
    EXPECT_GT(cases.size(), before) << op.name << " has no case";
  }
  for (const Case& c : cases) {
    std::vector<Symbol> inputs;
    for (size_t k = 0; k < c.inputs.size(); ++k) {
      inputs.push_back(Symbol::variable(
          fmt::format("x{}", k),
          {{"shape", fmt::format("[{}]", fmt::join(c.inputs[k], ","))}, {"dtype", "float32"}}));
    }
    const Symbol z = call(c.op, "node", inputs, c.attributes);
    const Graph graph = apply(inferred(z), "InferType");
    const Node& node = *z.outputs()[0].node;
    const Shapes& shapes = *graph.find<Shapes>("shape");
    std::vector<te::Tensor> tensors;
    for (size_t k = 0; k < node.inputs.size(); ++k) {
      std::vector<Expr> extents;
      for (int64_t e : *shapes[k].extents) extents.emplace_back(static_cast<int>(e));
      tensors.push_back(te::placeholder(extents, float_type(32), fmt::format("x{}", k)));
    }
    const auto out =
        node.op->compute(AttributeValues(node.op->attributes, node.attributes, "node"), tensors);
    ASSERT_EQ(static_cast<int>(out.size()), node.num_outputs()) << c.op;
    for (size_t k = 0; k < out.size(); ++k) {
      std::vector<int64_t> extents;
      for (const Expr& e : out[k].shape()) extents.push_back(as_const_int(e).value());
      const size_t entry = node.inputs.size() + k;
      EXPECT_EQ(shapes[entry], Shape(extents)) << c.op << ", output " << k;
      EXPECT_EQ((*graph.find<std::vector<int64_t>>("dtype"))[entry], number_of(out[k].dtype()))
          << c.op << ", output " << k;
    }
  }
}

}  // namespace
}  // namespace tw::graph
