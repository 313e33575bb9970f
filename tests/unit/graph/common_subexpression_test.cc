// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "graph/op.h"
#include "tests/support/network.h"

namespace tw::graph {
namespace {

size_t nodes_after(const std::vector<Symbol>& outputs) {
  const Graph graph{.outputs = Symbol::group(outputs).outputs()};
  return GraphIndex(apply(graph, "CommonSubexpression")).num_nodes();
}

TEST(CommonSubexpression, EqualNodesBecomeTheFirst) {
  const Symbol x = Symbol::variable("x");
  const Symbol a = call("exp", "a", {call("relu", "r1", {x})}),
               b = call("exp", "b", {call("relu", "r2", {x})});
  const Graph graph =
      apply({.outputs = call("elemwise_add", "s", {a, b}).outputs()}, "CommonSubexpression");
  EXPECT_EQ(to_text(graph),
            "Graph(%x) {\n"
            "  %1 = relu(%x)\n"
            "  %2 = exp(%1)\n"
            "  %3 = elemwise_add(%2, %2)\n"
            "  ret %3\n"
            "}");
  EXPECT_EQ(graph.outputs[0].node->inputs[1].node->name, "a");
}

TEST(CommonSubexpression, AttributesAreComparedByWhatTheyMean) {
  const Symbol x = Symbol::variable("x");
  const auto sum = [&](Attributes a) { return call("sum", "s", {x}, std::move(a)); };
  const Symbol one = sum({{"axis", "(0, 1)"}, {"keepdims", "True"}});
  EXPECT_EQ(nodes_after({one, sum({{"keepdims", "1"}, {"axis", "[0,1]"}})}), 2u);
  EXPECT_EQ(
      nodes_after({one, sum({{"axis", "(0, 1)"}, {"keepdims", "True"}, {"exclude", "False"}})}), 2u)
      << "an attribute that is left out has its initial value";
  EXPECT_EQ(nodes_after({one, sum({{"axis", "(0, 1)"}})}), 3u);
  EXPECT_EQ(nodes_after({one, sum({{"axis", "(1,)"}, {"keepdims", "True"}})}), 3u);
  // What no schema knows is compared as text: groups of devices, say.
  const auto on = [&](std::string device) {
    Node node = *call("relu", "r", {x}).outputs()[0].node;
    node.attributes.set("device_group", std::move(device));
    return Symbol({{make_node(std::move(node))}});
  };
  EXPECT_EQ(nodes_after({on("a"), on("a")}), 2u);
  EXPECT_EQ(nodes_after({on("a"), on("b")}), 3u);
}

TEST(CommonSubexpression, OtherInputsAndVariablesStayApart) {
  const Symbol x = Symbol::variable("x"), y = Symbol::variable("x");  // two of one name
  EXPECT_EQ(nodes_after({call("exp", "a", {x}), call("exp", "b", {y})}), 4u);
  EXPECT_EQ(nodes_after({call("elemwise_sub", "a", {x, y}), call("elemwise_sub", "b", {y, x})}),
            4u);
  const Symbol parts = call("split", "p", {x}, {{"indices_or_sections", "2"}});
  EXPECT_EQ(nodes_after({call("exp", "a", {parts.output(int64_t{0})}),
                         call("exp", "b", {parts.output(int64_t{1})})}),
            4u);
}

TEST(CommonSubexpression, RandomNetworksGiveTheSame) {
  expect_networks_kept_and_smaller("CommonSubexpression");
}

}  // namespace
}  // namespace tw::graph
