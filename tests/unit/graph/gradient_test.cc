// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "graph/op.h"
#include "graph/pass.h"
#include "graph/symbol.h"
#include "runtime/error.h"
#include "tests/support/graph.h"

namespace tw::graph {
namespace {

Graph gradient_of(const Symbol& y, const std::vector<Symbol>& xs) {
  Graph graph{.outputs = y.outputs()};
  graph.attributes["grad_ys"] = y.outputs();
  graph.attributes["grad_xs"] = Symbol::group(xs).outputs();
  return apply(std::move(graph), "Gradient");
}

TEST(Gradient, IsWrittenInTheGraph) {
  const Symbol x = Symbol::variable("x");
  EXPECT_EQ(to_text(gradient_of(call("softmax", "s", {call("relu", "r", {x})}), {x})),
            "Graph(%x) {\n"
            "  %1 = relu(%x)\n"
            "  %2 = softmax(%1)\n"
            "  %3 = ones_like(%2)\n"
            "  %4 = elemwise_mul(%3, %2)\n"
            "  %5 = sum(%4, keepdims='true', axis='-1')\n"
            "  %6 = broadcast_mul(%5, %2)\n"
            "  %7 = elemwise_sub(%4, %6)\n"
            "  %8 = zeros_like(%x)\n"
            "  %9 = greater(%x, %8, exclude='true')\n"
            "  %10 = elemwise_mul(%7, %9)\n"
            "  ret %10\n"
            "}");
}

TEST(Gradient, WhatIsReadSeveralTimesIsSummed) {
  const Symbol x = Symbol::variable("x");
  const Graph g = gradient_of(call("elemwise_mul", "m", {call("exp", "e", {x}), x}), {x});
  EXPECT_THAT(to_text(g),
              testing::ContainsRegex("elemwise_sum\\(%[0-9]+, %[0-9]+, num_args='2'\\)"));
}

// Each level is read twice by the next: contributions are added before they go on.
TEST(Gradient, SharedNodesAreDifferentiatedOnce) {
  const Symbol x = Symbol::variable("x");
  Symbol z = x;
  for (int i = 0; i < 60; ++i)
    z = call("elemwise_add", "a", {call("exp", "e", {z}), call("tanh", "t", {z})});
  EXPECT_LT(GraphIndex(gradient_of(z, {x})).num_nodes(), 1000u);
}

TEST(Gradient, OfWhatDoesNotMatterIsZero) {
  const Symbol x = Symbol::variable("x"), y = Symbol::variable("y");
  EXPECT_EQ(to_text(gradient_of(call("exp", "e", {x}), {y})),
            "Graph(%y) {\n  %1 = zeros_like(%y)\n  ret %1\n}");
}

ErrorInfo error_of(const Symbol& y, const std::vector<Symbol>& xs) {
  try {
    gradient_of(y, xs);
  } catch (const Error& e) {
    return e.info();
  }
  ADD_FAILURE() << "no error";
  return {};
}

TEST(Gradient, IsAskedOnlyOfOperatorsInBetween) {
  static const Op kWithout{.name = "without", .inputs = {{"data"}}};
  const Symbol x = Symbol::variable("x"), y = Symbol::variable("y");
  Node node;
  node.op = &kWithout;
  node.name = "f";
  node.inputs = y.outputs();
  const NodeRef without = make_node(std::move(node));
  const Symbol z = call("elemwise_mul", "m", {call("exp", "e", {x}), Symbol({{.node = without}})});
  EXPECT_EQ(gradient_of(z, {x}).outputs.size(), 1u);
  const ErrorInfo error = error_of(z, {y});
  EXPECT_EQ(error.code, ErrorCode::NoGradient);
  EXPECT_EQ(error.what, "operator 'without' has no gradient");
  EXPECT_EQ(error.where, "node 'f'");
}

TEST(Gradient, ThatEndsOnAllWaysNamesOne) {
  const Symbol x = Symbol::variable("x"), y = Symbol::variable("y");
  const Symbol t = call("tanh", "t", {call("exp", "e", {x})});
  const Symbol c = call("cast", "c", {t}, {{"dtype", "int32"}});
  const Symbol z = call("elemwise_add", "z", {call("copy", "d", {c}), y});
  const ErrorInfo error = error_of(z, {y, x});
  EXPECT_EQ(error.code, ErrorCode::NoGradient);
  EXPECT_EQ(error.what,
            "no gradient reaches 'x': it ends at operator 'cast', on the way x -> e -> t -> c");
  EXPECT_EQ(error.where, "node 'c'");
  // Another way to x is enough.
  EXPECT_EQ(gradient_of(call("elemwise_add", "a", {z, t}), {x}).outputs.size(), 1u);
}

TEST(Gradient, ZerosAreNotAdded) {
  const Symbol x = Symbol::variable("x");
  const Symbol z = call("elemwise_add", "z", {call("floor", "f", {x}), call("exp", "e", {x})});
  EXPECT_THAT(to_text(gradient_of(z, {x})), testing::Not(testing::HasSubstr("elemwise_sum")));
}

TEST(Gradient, NeedsItsSymbols) {
  try {
    apply({}, "Gradient");
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::PassRequirement);
  }
}

}  // namespace
}  // namespace tw::graph
