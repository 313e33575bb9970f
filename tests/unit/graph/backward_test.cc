// SPDX-License-Identifier: Apache-2.0
// What operators say of their inputs when an output, or another input, is known.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "graph/op.h"
#include "graph/pass.h"
#include "graph/symbol.h"
#include "runtime/error.h"

namespace tw::graph {
namespace {

using Shapes = std::vector<Shape>;

// A rule with what is known of inputs and outputs, repeated until it says no more.
struct Knowledge {
  Shapes inputs, outputs;
};

Knowledge narrowed(std::string_view op_name, const Attributes& texts, Knowledge k) {
  const Op& op = get_op(op_name);
  Node node;
  node.op = &op;
  node.name = "node";
  node.attributes = texts;
  for (size_t i = 0; i < k.inputs.size(); ++i) {
    node.inputs.push_back({make_variable(fmt::format("x{}", i))});
  }
  const AttributeValues attributes(op.attributes, texts, "node");
  for (bool changed = true; changed;) {
    ShapeInference s(node, attributes, k.inputs, k.outputs, ErrorCode::ShapeConflict);
    op.infer_shape(s);
    changed = s.changed();
  }
  return k;
}

const Shape kAny;
constexpr int64_t kUnknown = Shape::kUnknown;

struct Case {
  std::string_view op;
  Attributes attributes;
  Knowledge before, after;
};

void check(const Case& c) {
  const Knowledge got = narrowed(c.op, c.attributes, c.before);
  for (size_t k = 0; k < got.inputs.size(); ++k) {
    EXPECT_EQ(to_string(got.inputs[k]), to_string(c.after.inputs[k])) << c.op << ", input " << k;
  }
  for (size_t k = 0; k < got.outputs.size(); ++k) {
    EXPECT_EQ(to_string(got.outputs[k]), to_string(c.after.outputs[k])) << c.op << ", output " << k;
  }
}

TEST(InferBackward, ElementwiseAndChannels) {
  const Shape image({2, 3, 4}), c({3});
  check({"clip", {{"a_min", "0"}, {"a_max", "1"}}, {{kAny}, {image}}, {{image}, {image}}});
  check({"cast", {{"dtype", "int8"}}, {{kAny}, {image}}, {{image}, {image}}});
  check({"dropout", {}, {{kAny}, {kAny, image}}, {{image}, {image, image}}});
  check({"prelu", {}, {{kAny, kAny}, {image}}, {{image, c}, {image}}});
  check({"prelu",
         {},
         {{Shape::of_rank(2), c}, {kAny}},
         {{Shape({kUnknown, 3}), c}, {Shape({kUnknown, 3})}}});
  check({"batch_norm",
         {},
         {{kAny, kAny, kAny, kAny, kAny}, {image, kAny, kAny}},
         {{image, c, c, c, c}, {image, c, c}}});
  check({"batch_norm",
         {},
         {{Shape({2, kUnknown, 4}), kAny, kAny, c, kAny}, {kAny, kAny, kAny}},
         {{image, c, c, c, c}, {image, c, c}}});
}

TEST(InferBackward, ImagesAndChannelsOfWindows) {
  for (std::string_view op : {"max_pool2d", "avg_pool2d"}) {
    check({op,
           {{"pool_size", "2"}, {"layout", "NHWC"}},
           {{kAny}, {Shape({5, kUnknown, 7, 3})}},
           {{Shape({5, kUnknown, kUnknown, 3})}, {Shape({5, kUnknown, 7, 3})}}});
  }
  check({"global_max_pool2d",
         {},
         {{kAny}, {Shape({5, 3, kUnknown, kUnknown})}},
         {{Shape({5, 3, kUnknown, kUnknown})}, {Shape({5, 3, 1, 1})}}});
  check({"upsampling",
         {{"scale", "2"}},
         {{kAny}, {Shape({5, 3, 8, kUnknown})}},
         {{Shape({5, 3, 4, kUnknown})}, {Shape({5, 3, 8, kUnknown})}}});
}

TEST(InferBackward, Reshaping) {
  check({"reshape",
         {{"shape", "(6, 4)"}},
         {{Shape({2, kUnknown, 3})}, {kAny}},
         {{Shape({2, 4, 3})}, {Shape({6, 4})}}});
  check({"reshape", {{"shape", "(6, -1)"}}, {{kAny}, {kAny}}, {{kAny}, {Shape({6, kUnknown})}}});
  check({"reshape", {{"shape", "(0, -1)"}}, {{kAny}, {kAny}}, {{kAny}, {kAny}}});
  check({"reshape",
         {{"shape", "(0, -3)"}},
         {{Shape({kUnknown, 3, 4})}, {kAny}},
         {{Shape({kUnknown, 3, 4})}, {Shape({kUnknown, 12})}}});
  check({"reshape_like",
         {},
         {{Shape({2, kUnknown}), kAny}, {Shape({4, 3})}},
         {{Shape({2, 6}), Shape({4, 3})}, {Shape({4, 3})}}});
  check({"squeeze",
         {{"axis", "(0, -1)"}},
         {{kAny}, {Shape({3})}},
         {{Shape({1, 3, 1})}, {Shape({3})}}});
  check({"squeeze", {}, {{kAny}, {Shape({3})}}, {{kAny}, {Shape({3})}}});
  check({"expand_dims",
         {{"axis", "1"}, {"num_newaxis", "2"}},
         {{kAny}, {Shape({4, kUnknown, 1, 5})}},
         {{Shape({4, 5})}, {Shape({4, 1, 1, 5})}}});
  check({"expand_like",
         {{"axis", "1"}},
         {{kAny, Shape({2, 3, 4})}, {kAny}},
         {{Shape({2, 4}), Shape({2, 3, 4})}, {Shape({2, 3, 4})}}});
  check({"expand_like",
         {{"axis", "1"}},
         {{Shape({2, 4}), Shape::of_rank(3)}, {kAny}},
         {{Shape({2, 4}), Shape({2, kUnknown, 4})}, {Shape({2, kUnknown, 4})}}});
  check({"broadcast_to",
         {{"shape", "(2, 0)"}},
         {{Shape({kUnknown})}, {kAny}},
         {{Shape({kUnknown})}, {Shape({2, kUnknown})}}});
}

TEST(InferBackward, PartsAndWholes) {
  check({"concatenate",
         {},
         {{Shape({2, 3}), kAny, Shape({kUnknown, 1})}, {Shape({kUnknown, 9})}},
         {{Shape({2, 3}), Shape({2, 5}), Shape({2, 1})}, {Shape({2, 9})}}});
  check({"concatenate",
         {{"axis", "0"}},
         {{Shape({0, 3}), Shape({0, kUnknown})}, {kAny}},
         {{Shape({0, 3}), Shape({0, 3})}, {Shape({0, 3})}}});
  check({"split",
         {{"indices_or_sections", "3"}},
         {{kAny}, {kAny, Shape({4, 2}), kAny}},
         {{Shape({4, 6})}, {Shape({4, 2}), Shape({4, 2}), Shape({4, 2})}}});
  check({"split",
         {{"indices_or_sections", "(1, 4)"}},
         {{kAny}, {kAny, kAny, Shape({7, 5})}},
         {{Shape({7, 9})}, {Shape({7, 1}), Shape({7, 3}), Shape({7, 5})}}});
  check({"strided_slice",
         {{"begin", "1"}, {"end", "3"}},
         {{Shape({9, kUnknown})}, {Shape({kUnknown, 4})}},
         {{Shape({9, 4})}, {Shape({2, 4})}}});
  check({"strided_slice",
         {{"begin", "(0, 0)"}, {"end", "(0, 9)"}},
         {{Shape({5, 3})}, {kAny}},
         {{Shape({5, 3})}, {Shape({0, 3})}}});
  check({"flip", {}, {{kAny}, {Shape({2})}}, {{Shape({2})}, {Shape({2})}}});
  check({"pad",
         {{"pad_width", "((0, 0), (1, 2))"}},
         {{kAny}, {Shape({4, 9})}},
         {{Shape({4, 6})}, {Shape({4, 9})}}});
}

// One call each that cannot be.
TEST(InferBackward, ContradictionsAreErrors) {
  const Shape x({2, 6}), image({1, 2, 3, 4});
  const Case cases[] = {
      {"reshape", {{"shape", "(5, -1)"}}, {{x}, {kAny}}, {}},
      {"reshape", {{"shape", "(-1, -1)"}}, {{x}, {kAny}}, {}},
      {"reshape", {{"shape", "(7,)"}}, {{x}, {kAny}}, {}},
      {"reshape", {{"shape", "(0, 0, 0)"}}, {{x}, {kAny}}, {}},
      {"reshape", {{"shape", "(0, -3)"}}, {{x}, {kAny}}, {}},
      {"reshape", {{"shape", "(0, -4, 2)"}}, {{x}, {kAny}}, {}},
      {"reshape", {{"shape", "(0, -4, 4, -1)"}}, {{x}, {kAny}}, {}},
      {"reshape", {{"shape", "(0, -4, -1, -1)"}}, {{x}, {kAny}}, {}},
      {"reshape", {{"shape", "(0, -4, 2, 2)"}}, {{x}, {kAny}}, {}},
      {"reshape", {{"shape", "(-5,)"}}, {{x}, {kAny}}, {}},
      {"reshape", {{"shape", "(0, -1)"}}, {{Shape({0, 3})}, {kAny}}, {}},
      {"reshape_like", {}, {{x, Shape({5})}, {kAny}}, {}},
      {"squeeze", {{"axis", "0"}}, {{x}, {kAny}}, {}},
      {"squeeze", {{"axis", "2"}}, {{x}, {kAny}}, {}},
      {"expand_dims", {{"axis", "3"}}, {{x}, {kAny}}, {}},
      {"expand_dims", {{"axis", "0"}, {"num_newaxis", "0"}}, {{x}, {kAny}}, {}},
      {"expand_dims", {{"axis", "0"}}, {{kAny}, {Shape(std::vector<int64_t>{})}}, {}},
      {"expand_like", {{"axis", "1"}}, {{x, x}, {kAny}}, {}},
      {"expand_like", {{"axis", "2"}}, {{kAny, x}, {kAny}}, {}},
      {"broadcast_to", {{"shape", "(3, 6)"}}, {{x}, {kAny}}, {}},
      {"broadcast_to", {{"shape", "(6,)"}}, {{x}, {kAny}}, {}},
      {"broadcast_to", {{"shape", "(0, 2, 6)"}}, {{x}, {kAny}}, {}},
      {"concatenate", {}, {{x, Shape({3, 6})}, {kAny}}, {}},
      {"concatenate", {{"axis", "2"}}, {{x, x}, {kAny}}, {}},
      {"concatenate", {}, {{x, kAny}, {Shape({2, 5})}}, {}},
      {"split", {{"indices_or_sections", "4"}}, {{x}, {kAny, kAny, kAny, kAny}}, {}},
      {"split", {{"indices_or_sections", "0"}}, {{x}, {kAny}}, {}},
      {"split", {{"indices_or_sections", "(4, 2)"}}, {{x}, {kAny, kAny, kAny}}, {}},
      {"split", {{"indices_or_sections", "(7,)"}}, {{x}, {kAny, kAny}}, {}},
      {"strided_slice", {{"begin", "0"}, {"end", "(1, 1)"}}, {{x}, {kAny}}, {}},
      {"strided_slice", {{"begin", "0"}, {"end", "1"}, {"stride", "0"}}, {{x}, {kAny}}, {}},
      {"strided_slice", {{"begin", "(0, 0, 0)"}, {"end", "(1, 1, 1)"}}, {{x}, {kAny}}, {}},
      {"flip", {{"axis", "2"}}, {{x}, {kAny}}, {}},
      {"pad", {{"pad_width", "((1, 1),)"}}, {{x}, {kAny}}, {}},
      {"pad", {{"pad_width", "((1, 1), (1,))"}}, {{x}, {kAny}}, {}},
      {"pad", {{"pad_width", "((0, 0), (0, -1))"}}, {{x}, {kAny}}, {}},
      {"pad", {{"pad_width", "((2, 1), (0, 0))"}}, {{kAny}, {x}}, {}},
      {"upsampling", {{"scale", "0"}}, {{image}, {kAny}}, {}},
      {"upsampling", {{"scale", "2"}}, {{kAny}, {image}}, {}},
      {"max_pool2d", {{"pool_size", "4"}}, {{image}, {kAny}}, {}},
      {"max_pool2d", {{"pool_size", "2"}, {"layout", "NCHX"}}, {{image}, {kAny}}, {}},
      {"max_pool2d", {{"pool_size", "2"}, {"strides", "0"}}, {{image}, {kAny}}, {}},
      {"global_max_pool2d", {}, {{image}, {image}}, {}},
      {"batch_norm", {}, {{x, Shape({2}), kAny, kAny, kAny}, {kAny, kAny, kAny}}, {}},
      {"batch_norm", {{"axis", "2"}}, {{x, kAny, kAny, kAny, kAny}, {kAny, kAny, kAny}}, {}},
      {"prelu", {}, {{x, Shape({2})}, {kAny}}, {}},
      {"argmax", {{"axis", "2"}}, {{x}, {kAny}}, {}},
      {"zeros", {{"shape", "(2, -1)"}}, {{}, {kAny}}, {}},
  };
  for (const Case& c : cases) {
    try {
      narrowed(c.op, c.attributes, c.before);
      ADD_FAILURE() << c.op << " " << (c.attributes.empty() ? "" : c.attributes.begin()->second);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::ShapeConflict) << c.op << ": " << e.info().what;
      EXPECT_FALSE(e.info().legal.empty()) << c.op;
    }
  }
}

TEST(InferTypes, OfOperatorsThatChangeThem) {
  const auto type_of = [](const Symbol& symbol, std::vector<int64_t> given) {
    Graph graph{.outputs = symbol.outputs()};
    graph.attributes["dtype_inputs"] = std::move(given);
    return *apply(std::move(graph), "InferType").find<std::vector<int64_t>>("dtype");
  };
  const auto call = [](std::string_view op, const std::vector<Symbol>& inputs, Attributes texts) {
    return Symbol::call(op, "node", inputs, {}, std::move(texts));
  };
  const Symbol x = Symbol::variable("x"), y = Symbol::variable("y");
  const int64_t f32 = 0, f64 = 1, i32 = 4;
  EXPECT_EQ(type_of(call("cast", {x}, {{"dtype", "float64"}}), {i32}), (std::vector{i32, f64}));
  EXPECT_EQ(type_of(call("cast", {x}, {{"dtype", "float64"}}), {-1}),
            (std::vector<int64_t>{-1, f64}));
  EXPECT_EQ(type_of(call("argmax", {x}, {}), {f32}), (std::vector{f32, i32}));
  EXPECT_EQ(type_of(call("argmin", {x}, {}), {-1}), (std::vector<int64_t>{-1, i32}));
  EXPECT_EQ(type_of(call("reshape_like", {x, y}, {}), {f64, i32}), (std::vector{f64, i32, f64}));
  EXPECT_EQ(type_of(call("expand_like", {x, y}, {}), {f64, i32}), (std::vector{f64, i32, f64}));
  EXPECT_EQ(type_of(call("zeros", {}, {{"shape", "2"}}), {}), (std::vector{f32}));
  EXPECT_EQ(type_of(call("ones", {}, {{"shape", "2"}, {"dtype", "int32"}}), {}),
            (std::vector{i32}));
}

}  // namespace
}  // namespace tw::graph
