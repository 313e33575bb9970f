// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "graph/op.h"
#include "tests/support/fuzz.h"
#include "tests/support/network.h"

namespace tw::graph {
namespace {

Symbol variable(std::string name, const std::string& shape) {
  return Symbol::variable(std::move(name), {{"shape", shape}, {"dtype", "float32"}});
}
std::string simplified(const Symbol& symbol) {
  const Graph graph = inferred({.outputs = symbol.outputs()});
  return to_text({.outputs = apply(graph, "SimplifyInference").outputs});
}

TEST(SimplifyInference, BatchNormIsAScaleAndAShift) {
  const Symbol x = variable("x", "(2, 3, 4, 4)");
  const Symbol bn = call("batch_norm", "bn", {x}, {{"epsilon", "0.001"}});
  EXPECT_EQ(simplified(bn),
            "Graph(%x,\n"
            "      %bn_moving_var,\n"
            "      %bn_gamma,\n"
            "      %bn_moving_mean,\n"
            "      %bn_beta) {\n"
            "  %2 = __add_scalar__(%bn_moving_var, scalar='0.001')\n"
            "  %3 = sqrt(%2)\n"
            "  %4 = __rdiv_scalar__(%3, scalar='1')\n"
            "  %6 = elemwise_mul(%4, %bn_gamma)\n"
            "  %7 = expand_dims(%6, axis='1', num_newaxis='2')\n"
            "  %8 = broadcast_mul(%x, %7)\n"
            "  %10 = negative(%bn_moving_mean)\n"
            "  %11 = elemwise_mul(%10, %6)\n"
            "  %13 = elemwise_add(%11, %bn_beta)\n"
            "  %14 = expand_dims(%13, axis='1', num_newaxis='2')\n"
            "  %15 = broadcast_add(%8, %14)\n"
            "  ret %15\n"
            "}");
  const Graph graph = apply(inferred({.outputs = bn.outputs()}), "SimplifyInference");
  EXPECT_EQ(graph.outputs[0].node->name, "bn_out");
}

TEST(SimplifyInference, WhatBatchNormDisregardsIsGone) {
  const Symbol bn = call("batch_norm", "bn", {variable("x", "(2, 3)")},
                         {{"scale", "False"}, {"center", "False"}, {"axis", "-1"}});
  EXPECT_EQ(simplified(bn),
            "Graph(%x, %bn_moving_var, %bn_moving_mean) {\n"
            "  %2 = __add_scalar__(%bn_moving_var, scalar='1e-5')\n"
            "  %3 = sqrt(%2)\n"
            "  %4 = __rdiv_scalar__(%3, scalar='1')\n"
            "  %5 = broadcast_mul(%x, %4)\n"
            "  %7 = negative(%bn_moving_mean)\n"
            "  %8 = elemwise_mul(%7, %4)\n"
            "  %9 = broadcast_add(%5, %8)\n"
            "  ret %9\n"
            "}");
}

TEST(SimplifyInference, DropoutIsItsInput) {
  const Symbol x = variable("x", "(2,)"), drop = call("dropout", "d", {call("relu", "r", {x})});
  EXPECT_EQ(simplified(call("exp", "e", {drop})),
            "Graph(%x) {\n  %1 = relu(%x)\n  %2 = exp(%1)\n  ret %2\n}");
}

TEST(SimplifyInference, FurtherOutputsAreKept) {
  const Symbol x = variable("x", "(2, 3)"), drop = call("dropout", "d", {x}),
               bn = call("batch_norm", "bn", {x});
  std::vector<Entry> outputs;
  for (uint32_t k = 0; k < 3; ++k) outputs.push_back({bn.outputs()[0].node, k});
  for (uint32_t k = 0; k < 2; ++k) outputs.push_back({drop.outputs()[0].node, k});
  const Graph graph = inferred({.outputs = outputs});
  test::Random random(1);
  expect_kept(graph, "SimplifyInference", random_values(graph, random));
}

TEST(SimplifyInference, NeedsTheRankOfTheData) {
  const Symbol bn = call("batch_norm", "bn", {Symbol::variable("x")});
  try {
    simplified(bn);
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::BadGraph);
    EXPECT_EQ(e.info().where, "node 'bn'");
  }
}

TEST(SimplifyInference, LeavesNoAttributes) {
  Graph graph{.outputs = call("relu", "r", {variable("x", "(2,)")}).outputs()};
  graph.attributes["target"] = std::string("llvm");
  graph = apply(inferred(std::move(graph)), "SimplifyInference");
  EXPECT_TRUE(graph.attributes.empty());
}

TEST(SimplifyInference, RandomNetworksGiveTheSame) {
  test::FuzzCases cases(150, 1);
  while (cases.next()) {
    SCOPED_TRACE(cases.seed());
    test::Random random(cases.seed());
    const Graph graph = RandomNetwork(random).graph();
    const Graph simple = expect_kept(graph, "SimplifyInference", random_values(graph, random));
    for (const NodeRef& node : nodes_of(simple.outputs)) {
      ASSERT_TRUE(node->is_variable() || !node->op->simplify) << node->name;
    }
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace tw::graph
