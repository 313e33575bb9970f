// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "graph/op.h"
#include "graph/pass.h"
#include "tests/support/expect_error.h"
#include "tests/support/graph.h"
#include "tests/support/graph_values.h"
#include "tests/support/random_layout.h"

namespace tw::graph {
namespace {

using test::Array;
using test::expect_error;
using testing::ElementsAre;
using testing::HasSubstr;
using Texts = std::vector<std::string>;

Graph corrected(Graph graph, Texts layouts) {
  graph.attributes["layout_inputs"] = std::move(layouts);
  return apply(std::move(graph), "CorrectLayout");
}
// A network written for inputs of the first layouts and given others.
Graph corrected(const Symbol& s, const Texts& natural, Texts given) {
  return corrected(corrected(Graph{.outputs = s.outputs()}, natural), std::move(given));
}
const Texts& layouts_of(const Graph& graph) { return *graph.find<Texts>("layout"); }
size_t transforms_in(const Graph& graph) {
  size_t count = 0;
  for (const NodeRef& node : nodes_of(graph.outputs)) {
    count += !node->is_variable() && node->op->name == "__layout_transform__";
  }
  return count;
}
Symbol variable(std::string name) { return Symbol::variable(std::move(name)); }
Symbol conv(std::string name, const Symbol& x, Attributes more = {}) {
  Attributes attributes{{"channels", "32"}, {"kernel_size", "1"}, {"use_bias", "False"}};
  for (const auto& [key, text] : more) attributes.set(key, text);
  return call("conv2d", std::move(name), {x}, attributes);
}

TEST(CorrectLayout, NamesWhatOperatorsSay) {
  const Symbol x = variable("x");
  const Symbol z =
      call("softmax", "s",
           {call("dense", "d", {call("flatten", "f", {call("relu", "r", {conv("c", x)})})},
                 {{"units", "4"}})});
  const Graph g = apply({.outputs = z.outputs()}, "CorrectLayout");
  EXPECT_EQ(transforms_in(g), 0u);
  EXPECT_EQ(g.outputs[0].node, z.outputs()[0].node) << "what needs no change stays";
  EXPECT_THAT(layouts_of(g),
              ElementsAre("NCHW", "OIHW", "NCHW", "NCHW", "NC", "OI", "C", "NC", "NC"));
  EXPECT_FALSE(g.attributes.contains("layout_inputs"));
  EXPECT_THAT(layouts_of(apply({.outputs = call("exp", "e", {x}).outputs()}, "CorrectLayout")),
              ElementsAre("__undef__", "__undef__"));
}

TEST(CorrectLayout, NamesGoBackwardThroughChains) {
  Symbol z = variable("x");
  for (int k = 0; k < 1000; ++k) z = call("relu", "r", {z});
  const Graph g = apply({.outputs = conv("c", z).outputs()}, "CorrectLayout");
  EXPECT_EQ(layouts_of(g)[0], "NCHW");
}

TEST(CorrectLayout, TransformsStandWhereLayoutsDiffer) {
  const Symbol x = variable("x");
  const Graph g = corrected(Graph{.outputs = conv("c", x).outputs()}, {"NCHW16c", "__undef__"});
  EXPECT_EQ(to_text(g),
            "Graph(%x, %c_weight) {\n"
            "  %1 = __layout_transform__(%x, src_layout='NCHW16c', dst_layout='NCHW')\n"
            "  %3 = conv2d(%1, %c_weight, channels='32', kernel_size='1', use_bias='False')\n"
            "  ret %3\n"
            "}\n"
            "graph_attr_keys = [layout]\n");
  EXPECT_EQ(g.outputs[0].node->inputs[0].node->name, "x_NCHW");
  EXPECT_THAT(layouts_of(g), ElementsAre("NCHW16c", "NCHW", "OIHW", "NCHW"));
}

TEST(CorrectLayout, ReadersShareOneTransform) {
  const Symbol x = variable("x");
  const Graph g = corrected(Graph{.outputs = Symbol::group({conv("a", x), conv("b", x),
                                                            conv("c", x, {{"layout", "NHWC"}})})
                                                 .outputs()},
                            {"NCHW16c"});
  EXPECT_EQ(transforms_in(g), 2u);
  EXPECT_EQ(g.outputs[0].node->inputs[0], g.outputs[1].node->inputs[0]);
}

TEST(CorrectLayout, OppositeTransformsCancel) {
  const Symbol x = variable("x");
  const auto transform = [](const Symbol& s, const char* from, const char* to) {
    return call("layout_transform", "t", {s}, {{"src_layout", from}, {"dst_layout", to}});
  };
  const Symbol there = transform(x, "NCHW", "NCHW8c");
  EXPECT_EQ(to_text(apply({.outputs = conv("c", there).outputs()}, "CorrectLayout")),
            "Graph(%x, %c_weight) {\n"
            "  %2 = conv2d(%x, %c_weight, channels='32', kernel_size='1', use_bias='False')\n"
            "  ret %2\n"
            "}\n"
            "graph_attr_keys = [layout]\n");
  const Graph back =
      apply({.outputs = transform(there, "NCHW8c", "NCHW").outputs()}, "CorrectLayout");
  EXPECT_EQ(back.outputs[0].node->name, "x");
  // Three in a row are one, and one that the graph has already serves others.
  const Graph g = apply(
      {.outputs =
           Symbol::group({there, transform(transform(there, "NCHW8c", "NHWC"), "NHWC", "NCHW8c")})
               .outputs()},
      "CorrectLayout");
  EXPECT_EQ(transforms_in(g), 1u);
  EXPECT_EQ(g.outputs[0], g.outputs[1]);
  EXPECT_EQ(g.outputs[0].node, there.outputs()[0].node);
}

TEST(CorrectLayout, AgainChangesNothing) {
  const Symbol x = variable("x");
  Graph g = corrected(Graph{.outputs = call("max_pool2d", "p", {conv("c", call("relu", "r", {x}))},
                                            {{"pool_size", "2"}})
                                           .outputs()},
                      {"NCHW16c"});
  const Graph again = apply(g, "CorrectLayout");
  EXPECT_EQ(to_text(again), to_text(g));
  EXPECT_EQ(again.outputs, g.outputs);
}

TEST(CorrectLayout, ResidualsKeepBlocks) {
  const Symbol x = variable("x"), y = variable("y");
  const Graph g = corrected(call("relu", "r", {call("elemwise_add", "a", {x, y})}),
                            {"NCHW", "NCHW"}, {"NCHW", "NCHW16c"});
  EXPECT_THAT(layouts_of(g),
              ElementsAre("NCHW", "NCHW16c", "NCHW16c", "NCHW16c", "NCHW16c", "NCHW"))
      << "the output comes as it was";
}

TEST(CorrectLayout, NamesOfOtherDimensionsAreOnlyNames) {
  // A kernel of a convolution is the image of another.
  const Symbol x = variable("x"), w = variable("w");
  const Attributes texts{{"channels", "32"}, {"kernel_size", "1"}, {"use_bias", "False"}};
  const Symbol z =
      Symbol::group({call("conv2d", "a", {x, w}, texts), call("conv2d", "b", {w}, texts),
                     call("elemwise_add", "s",
                          {call("dense", "d", {variable("m")}, {{"units", "4"}}), variable("n")})});
  EXPECT_EQ(transforms_in(apply({.outputs = z.outputs()}, "CorrectLayout")), 0u);
  // Of ranks that contradict each other InferShape speaks.
  EXPECT_EQ(transforms_in(
                apply({.outputs = call("dense", "d", {conv("c", x)}, {{"units", "4"}}).outputs()},
                      "CorrectLayout")),
            0u);
}

// A reader names an output before its own operator can, since the names of its input come later.
TEST(CorrectLayout, FirstNamesStay) {
  const Symbol x = variable("x");
  const Symbol m = call("max", "m", {call("relu", "r", {x})}, {{"axis", "(1, 2)"}});
  const Symbol z = Symbol::group({call("dense", "d", {m}, {{"units", "4"}}), conv("c", x)});
  Graph g = apply({.outputs = z.outputs()}, "CorrectLayout");
  EXPECT_EQ(transforms_in(g), 0u) << to_text(g);
  EXPECT_EQ(layouts_of(g)[2], "NC");
  // In blocks of what the reader calls something else.
  g = corrected(std::move(g), {"NCHW4w"});
  EXPECT_EQ(transforms_in(g), 2u) << to_text(g);
  EXPECT_EQ(g.outputs[0].node->inputs[0].node->name, "m_NC");
  EXPECT_EQ(*g.outputs[0].node->inputs[0].node->attributes.find("src_layout"), "NC4c");
}

TEST(CorrectLayout, WrongLayoutsAreErrors) {
  const Graph g{.outputs = conv("c", variable("x")).outputs()};
  expect_error(ErrorCode::BadAttribute, [&] { corrected(g, {"NCHW16"}); });
  ErrorInfo e = expect_error(ErrorCode::BadArgument, [&] { corrected(g, {"NCHW", "OIHW", "C"}); });
  EXPECT_EQ(e.what, "3 values in 'layout_inputs'");
  e = expect_error(ErrorCode::BadArgument, [&] { corrected(corrected(g, {"NCHW"}), {"NHW"}); });
  EXPECT_EQ(e.what, "input 'x' is given in layout NHW, and was NCHW");
  e = expect_error(ErrorCode::BadGraph, [&] { corrected(g, {"NCW16c"}); });
  EXPECT_EQ(e.what, "node 'c', input 'data' is in layout NCW16c");
  Graph other = g;
  other.attributes["layout"] = Texts{"NCHW"};
  expect_error(ErrorCode::BadArgument, [&] { apply(other, "CorrectLayout"); });
  other.attributes["layout"] = std::string("NCHW");
  expect_error(ErrorCode::BadArgument, [&] { apply(other, "CorrectLayout"); });
  expect_error(ErrorCode::BadAttribute, [&] {
    apply({.outputs = conv("c", variable("x"), {{"layout", "nchw"}}).outputs()}, "CorrectLayout");
  });
}

// ------------------------------------------------------------------------------------------------
// Each operator in layouts of chance computes what it did.

struct Case {
  std::string op;
  std::vector<std::pair<std::string, std::vector<int64_t>>> inputs;  // natural layout, shape
  Attributes attributes;
  DType type = float_type(32);  // of all inputs
};

// Of operators whose pattern does not say what their inputs may be; others get a case by it.
std::vector<Case> cases() {
  const std::pair<std::string, std::vector<int64_t>> image{"NCHW", {2, 4, 6, 4}}, vector{"C", {4}};
  const Attributes window{{"pool_size", "(3, 2)"}, {"strides", "(2, 1)"}, {"padding", "(1, 0)"}};
  const Attributes filters{
      {"channels", "6"}, {"kernel_size", "(3, 2)"}, {"padding", "1"}, {"groups", "2"}};
  return {
      {"leaky_relu", {image}, {}},
      {"compiler_begin", {image}, {{"compiler", "dnnl"}}},
      {"compiler_end", {image}, {{"compiler", "dnnl"}}},
      {"prelu", {image, vector}, {}},
      {"prelu", {{"NHWC", {2, 6, 4, 4}}, vector}, {{"axis", "-1"}}},
      {"clip", {image}, {{"a_min", "-2"}, {"a_max", "3"}}},
      {"cast", {image}, {{"dtype", "float64"}}},
      {"full_like", {image}, {{"fill_value", "7"}}},
      {"elemwise_sum", {image, image, image}, {}},
      {"broadcast_add", {image, image}, {}},
      {"broadcast_sub", {image, {"CHW", {4, 1, 1}}}, {}},
      {"broadcast_mul", {{"CHW", {4, 1, 1}}, image}, {}},
      {"broadcast_sub", {image, {"NCHW", {1, 4, 1, 4}}}, {}},
      {"broadcast_max", {image, {"NCHW", {2, 1, 6, 4}}}, {}},
      {"broadcast_min", {image, {"HW", {6, 4}}}, {}},
      {"broadcast_add", {image, {"W", {1}}}, {}},
      {"broadcast_add", {{"NHWC", {2, 6, 4, 4}}, vector}, {}},
      {"conv2d", {image, {"OIHW", {6, 2, 3, 2}}, {"C", {6}}}, filters},
      {"_conv2d_grad", {{"NCHW", {2, 6, 6, 5}}, image, {"OIHW", {6, 2, 3, 2}}}, filters},

      {"_contrib_conv2d_NCHWc",
       {{"NCHW2c", {2, 2, 6, 4, 2}}, {"OIHW2i3o", {2, 2, 3, 2, 2, 3}}, {"C3c", {2, 3}}},
       {{"channels", "6"},
        {"kernel_size", "(3, 2)"},
        {"layout", "NCHW2c"},
        {"kernel_layout", "OIHW2i3o"},
        {"out_layout", "NCHW3c"}}},
      {"max_pool2d", {image}, window},
      {"avg_pool2d", {image}, window},
      {"global_max_pool2d", {image}, {}},
      {"global_avg_pool2d", {{"NHWC", {2, 6, 4, 4}}}, {{"layout", "NHWC"}}},
      {"_max_pool2d_grad", {{"NCHW", {2, 4, 3, 3}}, image}, window},
      {"_avg_pool2d_grad", {{"NCHW", {2, 4, 1, 1}}, image}, {}},
      {"_max_pool2d_select", {image, image}, window},
      {"upsampling", {image}, {{"scale", "2"}}},
      {"resize", {image}, {{"size", "(3, 7)"}}},
      {"upsampling3d", {{"NCDHW", {1, 4, 2, 3, 2}}}, {{"scale", "2"}}},
      {"lrn", {image}, {{"size", "3"}}},
      {"_window_sum", {image}, {{"size", "4"}}},
      {"_pad_grad",
       {{"NCHW", {2, 4, 9, 5}}, image},
       {{"pad_width", "((0, 0), (0, 0), (1, 2), (0, 1))"}, {"pad_mode", "reflect"}}},
      {"dense", {{"NC", {4, 6}}, {"OI", {2, 6}}, {"C", {2}}}, {{"units", "2"}}},
      {"matmul", {{"NC", {4, 6}}, {"CN", {6, 2}}}, {}},
      {"softmax", {image}, {{"axis", "1"}}},
      {"log_softmax", {image}, {}},
      {"logsumexp", {image}, {{"axis", "1"}}},
      {"variance", {image}, {{"axis", "(0, 2)"}}},
      {"std", {image}, {{"axis", "(1, 3)"}, {"keepdims", "True"}}},
      {"sort", {image}, {{"axis", "1"}}},
      {"argsort", {image}, {{"axis", "2"}}},
      {"hardmax", {image}, {{"axis", "1"}}},
      {"batch_norm", {image, vector, vector, vector, vector}, {}},
      {"batch_norm", {{"NHWC", {2, 6, 4, 4}}, vector, vector, vector, vector}, {{"axis", "3"}}},
      {"dropout", {image}, {}},
      {"sum", {image}, {{"axis", "(1, 2)"}}},
      {"mean", {image}, {{"axis", "(0, 1)"}, {"exclude", "True"}}},
      {"max", {image}, {{"axis", "(-1,)"}, {"keepdims", "True"}}},
      {"min", {image}, {}},
      {"prod", {{"CW", {2, 2}}}, {{"axis", "1"}}},
      {"argmax", {image}, {{"axis", "(1, 3)"}}},
      {"argmin", {image}, {{"axis", "2"}, {"keepdims", "True"}}},
      {"zeros", {}, {{"shape", "(2, 3)"}}},
      {"ones", {}, {{"shape", "(2, 3)"}}},
      {"full", {}, {{"shape", "(2, 3)"}, {"fill_value", "2"}}},
      {"flatten", {image}, {}},
      {"transpose", {image}, {{"axes", "(0, 2, 3, 1)"}}},
      {"__layout_transform__", {image}, {{"src_layout", "NCHW"}, {"dst_layout", "NCHW2c"}}},
      {"reshape", {image}, {{"shape", "(0, -1)"}}},
      {"reshape_like", {image, {"NC", {8, 24}}}, {}},
      {"squeeze", {{"NCHW", {2, 4, 1, 1}}}, {{"axis", "(2, 3)"}}},
      {"expand_dims", {vector}, {{"axis", "1"}, {"num_newaxis", "2"}}},
      {"expand_like", {vector, image}, {{"axis", "1"}, {"exclude", "True"}}},
      {"collapse_sum", {image, {"CHW", {4, 1, 4}}}, {}},
      {"broadcast_to_like", {{"CHW", {4, 1, 4}}, image}, {}},
      {"_mean_grad", {{"NW", {2, 4}}, image}, {{"axis", "(1, 2)"}}},
      {"broadcast_to", {{"CHW", {4, 1, 1}}}, {{"shape", "(4, 6, 4)"}}},
      {"concatenate", {image, image}, {}},
      {"concatenate", {image, {"NCHW", {2, 8, 6, 4}}}, {{"axis", "-3"}}},
      {"concatenate", {image, image}, {{"axis", "3"}}},
      {"split", {image}, {{"indices_or_sections", "2"}}},
      {"split", {image}, {{"indices_or_sections", "(2,)"}, {"axis", "1"}}},
      {"split", {image}, {{"indices_or_sections", "(1, 4)"}, {"axis", "-2"}}},
      {"_concatenate_grad", {{"NCHW", {2, 8, 6, 4}}, image, image}, {{"num_args", "2"}}},
      {"_strided_slice_grad",
       {{"NCHW", {2, 2, 6, 4}}, image},
       {{"begin", "(0, 1)"}, {"end", "(2, 3)"}}},
      {"strided_slice", {image}, {{"begin", "(0, 1)"}, {"end", "(2, 3)"}}},
      {"strided_slice",
       {image},
       {{"begin", "(0, 0, -1)"}, {"end", "(2147483647, 2147483647, 1)"}, {"stride", "(1, 1, -2)"}}},
      {"flip", {image}, {{"axis", "1"}}},
      {"pad", {image}, {{"pad_width", "((0, 0), (0, 0), (1, 2), (0, 1))"}, {"pad_value", "3"}}},
      {"pad", {image}, {{"pad_width", "((0, 1), (4, 2), (0, 0), (0, 0))"}}},
      {"pad", {image}, {{"pad_width", "((0, 1), (4, 2), (0, 0), (1, 0))"}, {"pad_mode", "edge"}}},
  };
}

// Values before, and after two runs of CorrectLayout: one in the natural layouts, with or without
// shapes known between them, and one with inputs in others.
void check(const Symbol& z, const Case& c, std::mt19937& rng) {
  const auto& inputs = c.inputs;
  std::map<std::string, Array> arrays, given;
  Texts natural, layouts;
  std::string trace;
  std::vector<Shape> shapes;
  std::map<std::string, std::pair<std::string, std::vector<int64_t>>> by_name;
  for (size_t k = 0; k < inputs.size(); ++k) by_name[fmt::format("x{}", k)] = inputs[k];
  for (const std::string& name : z.list_input_names()) {
    const auto& [text, shape] = by_name.at(name);
    const Layout own = Layout::parse(text);
    const Layout other = own.has_blocks()
                             ? test::random_layout(own.primal(), extents_of(Shape(shape), own), rng)
                             : test::random_layout(own, extents_of(Shape(shape), own), rng);
    // Variances are positive.
    Array x = test::sample(shape, static_cast<int64_t>(natural.size()));
    if (c.type.is_integer()) x = Array(shape, [](int64_t i) { return static_cast<double>(i % 5); });
    if (name == "x4") x = Array(shape, [](int64_t i) { return static_cast<double>(1 + i % 5); });
    given[name] = in_layout(x, own, other);
    arrays[name] = std::move(x);
    natural.push_back(text);
    shapes.emplace_back(shape);
    layouts.push_back(other.text());
    trace += fmt::format(" {} {} -> {}", name, text, other.text());
  }
  SCOPED_TRACE(trace);
  Graph g = corrected(Graph{.outputs = z.outputs()}, natural);
  if (rng() % 2 == 0) {
    g.attributes["shape_inputs"] = shapes;
    g = apply(std::move(g), "InferShape");
  }
  g = corrected(std::move(g), layouts);
  const std::vector<Array> want = values_of(z.outputs(), arrays, c.type),
                           got = values_of(g.outputs, given, c.type);
  std::vector<Shape> given_shapes;
  for (const std::string& name : z.list_input_names()) given_shapes.emplace_back(given[name].shape);
  Graph inferred{.outputs = g.outputs};
  inferred.attributes["shape_inputs"] = given_shapes;
  inferred = apply(std::move(inferred), "InferShape");
  EXPECT_EQ(*inferred.find<int64_t>("shape_num_unknown_nodes"), 0) << to_text(inferred);
  for (size_t k = 0; k < want.size(); ++k) {
    ASSERT_EQ(got[k].shape, want[k].shape) << to_text(g);
    for (size_t i = 0; i < want[k].data.size(); ++i) {
      const double a = got[k].data[i], b = want[k].data[i];
      if (a == b || (std::isnan(a) && std::isnan(b))) continue;
      ASSERT_LE(std::abs(a - b), 1e-4 * std::max(1.0, std::abs(b))) << to_text(g);
    }
  }
}

// Functions of bits, which are of integers alone.
std::vector<Case> bits() {
  const std::pair<std::string, std::vector<int64_t>> image{"NCHW", {2, 4, 6, 4}};
  std::vector<Case> cases = {{"bitwise_not", {image}, {}, int_type(32)},
                             {"reinterpret", {image}, {{"dtype", "uint32"}}, int_type(32)}};
  for (const char* op : {"bitwise_and", "bitwise_or", "bitwise_xor", "broadcast_left_shift",
                         "broadcast_right_shift"}) {
    cases.push_back({op, {image, {"CHW", {4, 1, 1}}}, {}, int_type(32)});
  }
  for (const char* op : {"__lshift_scalar__", "__rshift_scalar__"}) {
    cases.push_back({op, {image}, {{"scalar", "2"}}, int_type(32)});
  }
  return cases;
}

// What slides windows, of any number of spatial dimensions.
std::vector<Case> windows(size_t spatial) {
  using Input = std::pair<std::string, std::vector<int64_t>>;
  const std::string letters = std::string("DHW").substr(3 - spatial);
  const auto tensor = [&](const std::string& two, int64_t first, int64_t second, int64_t extent) {
    Input input{two + letters, {first, second}};
    input.second.resize(2 + spatial, extent);
    return input;
  };
  const Input image = tensor("NC", 2, 4, 5), inner = tensor("NC", 2, 6, 4),
              pooled = tensor("NC", 2, 4, 4), one = tensor("NC", 2, 4, 1);
  const Input weight = tensor("OI", 6, 2, 2), turned = tensor("OI", 4, 3, 2), bias{"C", {6}};
  const Attributes window{{"pool_size", "2"}}, taps{{"kernel_size", "2"}, {"groups", "2"}};
  Attributes filters = taps;
  filters.set("channels", "6");
  const auto name = [&](std::string_view pattern) {
    return fmt::format(fmt::runtime(pattern), spatial);
  };
  std::vector<Case> cases = {
      {name("conv{}d"), {image, weight, bias}, filters},
      {name("conv{}d_transpose"), {image, turned, bias}, filters},
      {name("_conv{}d"), {image, weight}, taps},
      {name("_conv{}d_grad"), {inner, image, weight}, filters},
      {name("_conv{}d_data_grad"), {inner, weight, image}, taps},
      {name("_conv{}d_weight_grad"), {inner, image}, taps},
      {name("resize{}d"), {image}, {{"size", "7"}}},
      {name("_resize{}d_like"), {image, pooled}, {}},
      {name("_resize{}d_grad"), {pooled, image}, {}},
      {name("_max_pool{}d_select"), {image, image}, window},
      {name("_max_pool{}d_grad"), {pooled, image}, window},
      {name("_avg_pool{}d_grad"), {one, image}, {}},
      {name("_sum_pool{}d_grad"), {pooled, image}, window},
  };
  for (const char* op : {"max_pool{}d", "avg_pool{}d", "lp_pool{}d", "_sum_pool{}d"}) {
    cases.push_back({name(op), {image}, window});
  }
  for (const char* op : {"global_max_pool{}d", "global_avg_pool{}d"}) {
    cases.push_back({name(op), {image}, {}});
  }
  for (const char* op : {"adaptive_max_pool{}d", "adaptive_avg_pool{}d"}) {
    cases.push_back({name(op), {image}, {{"output_size", "2"}}});
  }
  return cases;
}

TEST(CorrectLayout, OperatorsComputeTheSameInAnyLayout) {
  std::set<std::string, std::less<>> tried;
  std::mt19937 rng(11);
  std::vector<Case> all = cases();
  for (Case& c : bits()) all.push_back(std::move(c));
  for (size_t spatial : {1, 2, 3}) {
    for (Case& c : windows(spatial)) all.push_back(std::move(c));
  }
  for (const Case& c : all) tried.insert(c.op);
  for (const Op& op : operators()) {
    if (!op.layout || !tried.emplace(op.name).second) continue;
    const std::pair<std::string, std::vector<int64_t>> image{"NCHW", {2, 4, 6, 4}};
    const bool with_scalar = !op.attributes.empty() && op.attributes[0].name == "scalar";
    if (op.pattern == Pattern::ElementWise) {
      all.push_back({std::string(op.name),
                     {op.inputs.size(), image},
                     with_scalar ? Attributes{{"scalar", "2"}} : Attributes()});
    } else if (op.pattern == Pattern::Broadcast) {
      all.push_back({std::string(op.name), {image, {"CHW", {4, 1, 1}}}, {}});
    } else if (op.pattern == Pattern::CommReduce) {
      all.push_back({std::string(op.name), {image}, {{"axis", "(1, 3)"}, {"keepdims", "True"}}});
    } else {
      ADD_FAILURE() << op.name << " has no case";
    }
  }
  for (const Case& c : all) {
    SCOPED_TRACE(c.op);
    std::vector<Symbol> inputs;
    for (size_t k = 0; k < c.inputs.size(); ++k) inputs.push_back(variable(fmt::format("x{}", k)));
    const Symbol z = call(c.op, "node", inputs, c.attributes);
    for (int round = 0; round < 12 && !testing::Test::HasFailure(); ++round) check(z, c, rng);
  }
}

// Operators that go on in blocks, without a transform.
TEST(CorrectLayout, BlocksOfChannelsPass) {
  const std::string image = "NCHW16c";
  const auto transforms = [&](const Symbol& z, Texts natural, Texts given, bool restored = true) {
    Graph g = corrected(Graph{.outputs = z.outputs()}, std::move(natural));
    std::vector<Shape> shapes;
    for (const std::string& text : layouts_of(g)) {
      (void)text;
      shapes.emplace_back();
    }
    g = corrected(std::move(g), std::move(given));
    size_t behind = 0;  // only outputs are brought back
    for (const Entry& e : g.outputs) behind += e.node->name.ends_with("_NCHW");
    EXPECT_EQ(behind, restored ? g.outputs.size() : 0) << to_text(g);
    return transforms_in(g) - behind;
  };
  const Symbol x = variable("x"), y = variable("y");
  for (const auto& [op, texts] : std::vector<std::pair<std::string, Attributes>>{
           {"relu", {}},
           {"clip", {{"a_min", "0"}, {"a_max", "6"}}},
           {"dropout", {}},
           {"max_pool2d", {{"pool_size", "2"}}},
           {"avg_pool2d", {{"pool_size", "2"}}},
           {"global_avg_pool2d", {}},
           {"global_max_pool2d", {}},
           {"upsampling", {{"scale", "2"}}},
           {"softmax", {{"axis", "2"}}},
           {"flip", {{"axis", "3"}}},
           {"sum", {{"axis", "(2, 3)"}, {"keepdims", "True"}}},
           {"split", {{"indices_or_sections", "(16,)"}}},
           {"pad", {{"pad_width", "((0, 0), (0, 0), (1, 1), (1, 1))"}}},
           {"strided_slice", {{"begin", "(1,)"}, {"end", "(2,)"}}}}) {
    EXPECT_EQ(transforms(call(op, "z", {x}, texts), {"NCHW"}, {image}), 0u) << op;
  }
  EXPECT_EQ(transforms(call("elemwise_add", "z", {x, y}), {"NCHW", "NCHW"}, {image, image}), 0u);
  EXPECT_EQ(transforms(call("concatenate", "z", {x, y}), {"NCHW", "NCHW"}, {image, image}), 0u);
  // Vectors of channels come in blocks too.
  EXPECT_EQ(transforms(call("batch_norm", "z", {x}), {"NCHW", "C", "C", "C", "C"},
                       {image, "C16c", "C16c", "C16c", "C16c"}),
            0u);
  EXPECT_EQ(transforms(call("batch_norm", "z", {x}), {"NCHW", "C", "C", "C", "C"},
                       {image, "C", "C", "C", "C"}),
            4u);
  EXPECT_EQ(transforms(call("prelu", "z", {x}), {"NCHW", "C"}, {image, "C"}), 1u);
  // Of small blocks and large ones the small ones.
  EXPECT_EQ(transforms(call("concatenate", "z", {x, y}), {"NCHW", "NCHW"}, {image, "NCHW8c"}), 1u);
}

TEST(CorrectLayout, VectorsOfChannelsAreBroadcastInBlocks) {
  const Symbol x = variable("x"), b = variable("b");
  const Symbol z = call("broadcast_add", "z",
                        {x, call("expand_dims", "e", {b}, {{"axis", "1"}, {"num_newaxis", "2"}})});
  Graph g = corrected(Graph{.outputs = z.outputs()}, {"NCHW", "C"});
  g.attributes["shape_inputs"] = std::vector<Shape>{Shape({1, 32, 4, 4}), Shape({32})};
  g = corrected(apply(std::move(g), "InferShape"), {"NCHW16c", "C"});
  EXPECT_EQ(to_text(g),
            "Graph(%x, %b) {\n"
            "  %2 = expand_dims(%b, axis='1', num_newaxis='2')\n"
            "  %3 = __layout_transform__(%2, src_layout='CHW', dst_layout='CHW16c')\n"
            "  %4 = broadcast_add(%x, %3)\n"
            "  %5 = __layout_transform__(%4, src_layout='NCHW16c', dst_layout='NCHW')\n"
            "  ret %5\n"
            "}\n"
            "graph_attr_keys = [layout]\n");
}

}  // namespace
}  // namespace tw::graph
