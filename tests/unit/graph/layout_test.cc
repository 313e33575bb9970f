// SPDX-License-Identifier: Apache-2.0
#include "graph/layout.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

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

TEST(Layout, IsText) {
  for (const char* text :
       {"NCHW", "NCHW16c", "OIHW16i16o", "H20wW", "C", "8cC", "NCH1wW", "__undef__"}) {
    EXPECT_EQ(Layout::parse(text).text(), text);
  }
  const Layout l = Layout::parse("H20wW4h");
  EXPECT_EQ(l.rank(), 4u);
  EXPECT_EQ(l.index_of('W'), 2);
  EXPECT_EQ(l.index_of('C'), -1);
  EXPECT_EQ(l.block('W'), 20);
  EXPECT_EQ(l.primal().text(), "HW");
  EXPECT_EQ(l.primal().split('H', 1, 5).text(), "H5hW");
  EXPECT_EQ(l.with_block('W', 10).text(), "H10wW4h");
  EXPECT_FALSE(l.primal().is_split('W'));
  EXPECT_FALSE(Layout().known());
  EXPECT_FALSE(Layout() == l);
}

TEST(Layout, TextThatIsNone) {
  for (const char* text : {"", "NCHWC", "NCHW16", "NCHWc", "NCHW0c", "NCHW-4c", "NCHW16d", "NC HW",
                           "NCHW16c8c", "16", "NCHW99999999999c", "undef", "NCHW16C"}) {
    const ErrorInfo e = expect_error(ErrorCode::BadAttribute, [&] { Layout::parse(text, "here"); });
    EXPECT_TRUE(e.what.starts_with(fmt::format("here: '{}' is no layout", text))) << e.what;
    EXPECT_FALSE(e.legal.empty());
  }
}

TEST(Layout, ConvertsIntoThoseOfTheSameDimensions) {
  const Layout blocked = Layout::parse("NCHW16c");
  EXPECT_TRUE(blocked.convertible(Layout::parse("NHWC")));
  EXPECT_TRUE(Layout::parse("NHWC").convertible(blocked));
  EXPECT_FALSE(blocked.convertible(Layout::parse("NCH")));
  EXPECT_FALSE(Layout::parse("NCH").convertible(blocked));
  EXPECT_FALSE(blocked.convertible({}));
  EXPECT_FALSE(Layout().convertible({}));
}

TEST(Layout, ShapesFollowExtents) {
  const Layout blocked = Layout::parse("NCHW16c");
  EXPECT_EQ(shape_in(blocked, {{'N', 2}, {'C', 64}, {'W', 0}}), Shape({2, 4, -1, 0, 16}));
  EXPECT_EQ(shape_in(blocked, {{'C', 24}}), std::nullopt);
  LayoutExtents extents = extents_of(Shape({2, 4, -1, 0, 16}), blocked);
  EXPECT_EQ(extents, (LayoutExtents{{'N', 2}, {'C', 64}, {'H', -1}, {'W', 0}}));
  EXPECT_EQ(extents_of(Shape(), Layout::parse("C"))['C'], -1);
}

// Any layout into any other, against a walk over all elements, and back.
TEST(Layout, TransformsMoveElements) {
  std::mt19937 rng(7);
  for (int round = 0; round < 200; ++round) {
    LayoutExtents extents;
    std::string letters = std::string("NCHWD").substr(0, 1 + rng() % 5);
    for (char c : letters) extents[c] = std::array{1, 2, 3, 4, 6, 8}[rng() % 6];
    const Layout from = test::random_layout(Layout::parse(letters), extents, rng),
                 to = test::random_layout(Layout::parse(letters), extents, rng);
    SCOPED_TRACE(fmt::format("{} to {}", from.text(), to.text()));
    const Array x = test::sample(*shape_in(from, extents)->extents);
    const te::Tensor t = test::placeholder_like(x);
    const te::Tensor there = layout_transform(t, from, to);
    const Array got = test::run(there, {x}), want = in_layout(x, from, to);
    EXPECT_EQ(got.shape, want.shape);
    EXPECT_EQ(got.data, want.data);
    EXPECT_EQ(test::run(layout_transform(there, to, from), {x}).data, x.data);
  }
}

TEST(Layout, TransformsThatCannotBe) {
  const te::Tensor x = te::placeholder({1, 24, 2, 2});
  const auto transform = [&](const char* from, const char* to) {
    return [=] { layout_transform(x, Layout::parse(from), Layout::parse(to)); };
  };
  const ErrorInfo e = expect_error(ErrorCode::BadShape, transform("NCHW", "NCHW16c"));
  EXPECT_EQ(e.what, "24 elements of C in blocks of 16");
  expect_error(ErrorCode::BadShape, transform("NCHW4c", "NCHW"));
  expect_error(ErrorCode::BadAttribute, transform("NCHW", "NCDW"));
  expect_error(ErrorCode::BadAttribute, transform("NCHW", "__undef__"));
}

Symbol transform(const Symbol& x, const std::string& from, const std::string& to) {
  return call("layout_transform", "t", {x}, {{"src_layout", from}, {"dst_layout", to}});
}
std::vector<Shape> shapes_of(const Symbol& s) {
  return *apply({.outputs = s.outputs()}, "InferShape").find<std::vector<Shape>>("shape");
}

TEST(LayoutTransform, ShapesAreInferredBothWays) {
  const Symbol x = Symbol::variable("x"),
               y = Symbol::variable("y", {{"shape", "(2, 3, 5, 7, 16)"}});
  const auto given = [](const char* shape) { return Symbol::variable("x", {{"shape", shape}}); };
  EXPECT_EQ(shapes_of(transform(given("(2, 48, 5, 7)"), "NCHW", "NCHW16c"))[1],
            Shape({2, 3, 5, 7, 16}));
  EXPECT_EQ(shapes_of(transform(given("(2, 48, 0, 7)"), "NCHW", "NHWC8c"))[1],
            Shape({2, 0, 7, 6, 8}));
  EXPECT_EQ(shapes_of(call("elemwise_add", "s", {transform(x, "NCHW", "NCHW16c"), y}))[0],
            Shape({2, 48, 5, 7}));
  EXPECT_EQ(shapes_of(call("elemwise_add", "s", {transform(x, "NHWC8c", "NCHW16c"), y}))[0],
            Shape({2, 5, 7, 6, 8}));
  EXPECT_EQ(shapes_of(transform(x, "NCHW", "NCHW16c"))[1], Shape({-1, -1, -1, -1, 16}));
}

TEST(LayoutTransform, WrongOnesNameTheNode) {
  const Symbol x = Symbol::variable("x", {{"shape", "(2, 24, 5, 7)"}});
  const auto shapes = [&](const char* from, const char* to) {
    return [=] { shapes_of(transform(x, from, to)); };
  };
  ErrorInfo e = expect_error(ErrorCode::ShapeConflict, shapes("NCHW", "NCHW16c"));
  EXPECT_EQ(e.what, "(2, 24, 5, 7) in layout NCHW as NCHW16c");
  EXPECT_EQ(e.where, "node 't'");
  e = expect_error(ErrorCode::BadAttribute, shapes("NCHW", "NCHW16"));
  EXPECT_TRUE(e.what.starts_with("node 't', dst_layout: 'NCHW16' is no layout")) << e.what;
  expect_error(ErrorCode::ShapeConflict, shapes("NCHW", "NCH"));
  expect_error(ErrorCode::ShapeConflict, shapes("NCHW4c", "NCHW"));
  expect_error(ErrorCode::BadAttribute,
               [&] { shapes_of(call("layout_transform", "t", {x}, {{"src_layout", "NCHW"}})); });
}

TEST(LayoutTransform, TheGradientGoesBack) {
  const Symbol x = Symbol::variable("x"), y = transform(x, "NCHW", "NCHW16c");
  Graph graph{.outputs = y.outputs()};
  graph.attributes["grad_ys"] = y.outputs();
  graph.attributes["grad_xs"] = x.outputs();
  EXPECT_EQ(to_text(apply(std::move(graph), "Gradient")),
            "Graph(%x) {\n"
            "  %1 = __layout_transform__(%x, src_layout='NCHW', dst_layout='NCHW16c')\n"
            "  %2 = ones_like(%1)\n"
            "  %3 = __layout_transform__(%2, src_layout='NCHW16c', dst_layout='NCHW')\n"
            "  ret %3\n"
            "}");
}

}  // namespace
}  // namespace tw::graph
