// SPDX-License-Identifier: Apache-2.0
#include "graph/byoc/pattern_table.h"

#include <gmock/gmock.h>

#include "graph/byoc/annotation.h"
#include "graph/byoc/function.h"
#include "tests/support/expect_error.h"
#include "tests/support/network.h"

namespace tw::graph {
namespace {

using testing::HasSubstr;

Symbol x() { return Symbol::variable("x", {{"shape", "(1, 4, 4, 4)"}, {"dtype", "float32"}}); }
Symbol conv(const std::string& name, const Symbol& in) {
  return call("conv2d", name, {in}, {{"channels", "4"}, {"kernel_size", "1"}});
}

Graph with_table(const Symbol& s, PatternTable table) {
  Graph graph = inferred({.outputs = s.outputs()});
  graph.attributes["compiler"] = table.compiler;
  register_pattern_table(std::move(table));
  return graph;
}

std::vector<std::string> composites(const Graph& graph) {
  std::vector<std::string> names;
  for (const NodeRef& n : nodes_of(apply(graph, "MergeComposite").outputs)) {
    if (n->function) names.push_back(text_of(*n, "Composite") + " " + n->name);
  }
  return names;
}

TEST(PatternTable, GreaterPriorityComesFirstThenTheOrderOfTheTable) {
  const PatternRef c = is_op("nn.conv2d"), block = is_op("nn.relu", {c});
  const Symbol net = call("relu", "r", {conv("c", x())});
  EXPECT_THAT(composites(with_table(net, {"t", {{"t.block", block}, {"t.conv", c}}})),
              testing::ElementsAre("t.block r"));
  EXPECT_THAT(composites(with_table(net, {"t", {{"t.conv", c}, {"t.block", block}}})),
              testing::ElementsAre("t.conv c"));
  PatternTable table{"t", {{"t.conv", c}, {"t.block", block}}};
  table.patterns[1].priority = 1;
  EXPECT_THAT(composites(with_table(net, table)), testing::ElementsAre("t.block r"));
}

TEST(PatternTable, AValueThatOthersReadStays) {
  const Symbol c = conv("c", x());
  const Symbol net = call("elemwise_add", "s", {call("relu", "r", {c}), c});
  const PatternRef block = is_op("nn.relu", {is_op("nn.conv2d")});
  const Graph graph = with_table(net, {"t", {{"t.block", block}}});
  EXPECT_TRUE(composites(graph).empty());
  const auto notes = explain_partition(graph, find_pattern_table("t"));
  ASSERT_EQ(notes.size(), 3u);
  EXPECT_EQ(notes[1].node, "r");
  EXPECT_THAT(notes[1].text, HasSubstr("t.block matches, but a value within it is read by others"));
}

TEST(PatternTable, PredicatesSeeCapturesAndShapes) {
  PatternTable table{"t", {{"t.relu", named(is_op("nn.relu"), "relu")}}};
  table.patterns[0].predicate = [](const Match& m, const PatternGraph& g) {
    return m.captures.at("relu").node->name == "b" && g.shape(m.root)->rank() == 4;
  };
  const Symbol net = call("relu", "b", {call("tanh", "m", {call("relu", "a", {x()})})});
  const Graph graph = with_table(net, table);
  EXPECT_THAT(composites(graph), testing::ElementsAre("t.relu b"));
  EXPECT_THAT(explain_partition(graph, table)[0].text, HasSubstr("its predicate refuses it"));
}

TEST(PatternTable, ExplainsEachNode) {
  const Symbol a = conv("a", x()), t = call("tanh", "t", {a});
  const Symbol net = call("elemwise_add", "s", {conv("b", a), t});
  const PatternTable table{"t",
                           {{"t.conv_relu", is_op("nn.relu", {is_op("nn.conv2d")})},
                            {"t.conv", is_op("nn.conv2d")},
                            {"t.add", is_op("add", {is_op("nn.conv2d"), is_op("sigmoid")})},
                            {"t.sum", is_op("add")}}};
  const auto notes = explain_partition(with_table(net, table), table);
  ASSERT_EQ(notes.size(), 4u);
  EXPECT_EQ(notes[0].node, "a");
  EXPECT_EQ(notes[0].text,
            "t.conv, of 'a', in region 0; it ends before 't', which no pattern took");
  EXPECT_THAT(notes[1].text, HasSubstr("t.conv, of 'b', in region 0"));
  EXPECT_EQ(notes[2].text, "none: no pattern ends in a tanh");
  EXPECT_THAT(notes[3].text, HasSubstr("t.sum, of 's'"));
  EXPECT_THAT(notes[1].text, HasSubstr("it ends before 's', since a way leads there through 't'"));
}

TEST(PatternTable, WhatThereIsNot) {
  with_table(x(), {"some_table", {}});
  const ErrorInfo info =
      test::expect_error(ErrorCode::BadArgument, [] { find_pattern_table("sone_table"); });
  EXPECT_THAT(info.what, HasSubstr("some_table"));
  test::expect_error(ErrorCode::PassRequirement,
                     [] { apply(Graph{.outputs = x().outputs()}, "MergeComposite"); });
}

}  // namespace
}  // namespace tw::graph
