// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "graph/op.h"
#include "tests/support/fuzz.h"
#include "tests/support/network.h"

namespace tw::graph {
namespace {

using Names = std::vector<std::string>;

Graph pruned(const Symbol& symbol, Names parameters) {
  Graph graph{.outputs = symbol.outputs()};
  graph.attributes["param_name_list"] = std::move(parameters);
  return apply(std::move(graph), "PrecomputePrune");
}
const Names& names_of(const Graph& graph) { return *graph.find<Names>("output_names"); }
Graph precomputed(const Graph& graph) {
  return {.outputs = *graph.find<std::vector<Entry>>("precompute_graph")};
}
std::string text(const Graph& graph) { return to_text({.outputs = graph.outputs}); }

TEST(PrecomputePrune, WhatDependsOnParametersAloneIsAVariable) {
  const Symbol x = Symbol::variable("x"), w = Symbol::variable("w"), s = Symbol::variable("s"),
               scaled = call("broadcast_mul", "scaled", {w, call("exp", "e", {s})});
  const Graph graph = pruned(call("matmul", "m", {x, scaled}), {"w", "s"});
  EXPECT_EQ(text(graph), "Graph(%x, %scaled) {\n  %2 = matmul(%x, %scaled)\n  ret %2\n}");
  EXPECT_THAT(names_of(graph), testing::ElementsAre("scaled"));
  EXPECT_EQ(text(precomputed(graph)),
            "Graph(%w, %s) {\n"
            "  %2 = exp(%s)\n"
            "  %3 = broadcast_mul(%w, %2)\n"
            "  ret %3\n"
            "}");
}

TEST(PrecomputePrune, ParametersThatAreReadAsTheyAreStay) {
  const Symbol x = Symbol::variable("x"), w = Symbol::variable("w");
  const Symbol z =
      call("matmul", "m", {x, call("elemwise_add", "sum", {w, call("exp", "e", {w})})});
  const Graph graph = pruned(call("matmul", "n", {z, w}), {"w", "unknown"});
  EXPECT_EQ(text(graph),
            "Graph(%x, %sum, %w) {\n"
            "  %2 = matmul(%x, %sum)\n"
            "  %4 = matmul(%2, %w)\n"
            "  ret %4\n"
            "}");
  const Graph none = pruned(call("matmul", "n", {x, w}), {"w"});
  EXPECT_TRUE(names_of(none).empty());
  EXPECT_TRUE(precomputed(none).outputs.empty());
}

TEST(PrecomputePrune, NamesStayUnique) {
  const Symbol x = Symbol::variable("x"), w = Symbol::variable("w"),
               both = Symbol::variable("both");
  // Two nodes of one name, a variable and an unused parameter of that name.
  const Symbol a = call("exp", "both", {w}), b = call("tanh", "both", {w});
  const Symbol z = call("elemwise_sum", "z", {x, a, b, both});
  const Graph graph = pruned(z, {"w", "both_1"});
  EXPECT_THAT(names_of(graph), testing::ElementsAre("both_2", "both_3"));
}

TEST(PrecomputePrune, EachOutputThatIsReadIsAVariable) {
  const Symbol x = Symbol::variable("x"), w = Symbol::variable("w"),
               parts = call("split", "parts", {w}, {{"indices_or_sections", "3"}});
  const Symbol z =
      call("elemwise_sum", "z", {x, parts.output(int64_t{2}), parts.output(int64_t{0})});
  const Graph graph = pruned(Symbol::group({z, parts.output(int64_t{2})}), {"w"});
  EXPECT_THAT(names_of(graph), testing::ElementsAre("parts_output2", "parts_output0"));
  EXPECT_EQ(text(graph),
            "Graph(%x, %parts_output2, %parts_output0) {\n"
            "  %3 = elemwise_sum(%x, %parts_output2, %parts_output0)\n"
            "  ret %3, %parts_output2\n"
            "}");
}

TEST(PrecomputePrune, ConstantsAloneAreNotStored) {
  const Symbol x = Symbol::variable("x"), w = Symbol::variable("w"),
               ones = call("ones", "ones", {}, {{"shape", "(2, 2)"}});
  const Graph graph =
      pruned(call("elemwise_sum", "z", {x, ones, call("elemwise_add", "a", {w, ones})}), {"w"});
  EXPECT_EQ(text(graph),
            "Graph(%x, %a) {\n"
            "  %1 = ones(shape='(2, 2)')\n"
            "  %3 = elemwise_sum(%x, %1, %a)\n"
            "  ret %3\n"
            "}");
  EXPECT_THAT(names_of(graph), testing::ElementsAre("a"));
}

TEST(PrecomputePrune, NeedsTheNames) {
  try {
    apply({.outputs = Symbol::variable("x").outputs()}, "PrecomputePrune");
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::PassRequirement);
  }
}

TEST(PrecomputePrune, RandomNetworksGiveTheSame) {
  test::FuzzCases cases(150, 1);
  int removed = 0;
  while (cases.next()) {
    SCOPED_TRACE(cases.seed());
    test::Random random(cases.seed());
    Graph graph = RandomNetwork(random).graph();
    Values values = random_values(graph, random);
    if (random.chance(60)) graph = apply(graph, "SimplifyInference");
    const std::vector<test::Array> wanted = outputs_of(graph, values);
    Names parameters;
    for (const auto& [name, value] : values) {
      if (name != "x" && random.chance(80)) parameters.push_back(name);
    }
    const std::string before = save_json(graph);
    graph.attributes["param_name_list"] = parameters;
    const Graph rest = apply(graph, "PrecomputePrune");
    graph.attributes.erase("param_name_list");
    ASSERT_EQ(save_json(graph), before);
    const auto computed = outputs_of(precomputed(rest), values);
    for (size_t k = 0; k < computed.size(); ++k) {
      ASSERT_TRUE(values.emplace(names_of(rest)[k], computed[k]).second) << "a name twice";
      parameters.push_back(names_of(rest)[k]);
      ++removed;
    }
    expect_close(outputs_of(rest, values), wanted, 1e-6);
    // Nothing is left to compute.
    ASSERT_TRUE(names_of(pruned(Symbol(rest.outputs), parameters)).empty());
    if (HasFailure()) return;
  }
  EXPECT_GT(removed, cases.cases() / 2);
}

}  // namespace
}  // namespace tw::graph
