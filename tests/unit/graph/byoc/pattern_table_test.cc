// SPDX-License-Identifier: Apache-2.0
#include "graph/byoc/pattern_table.h"

#include <gmock/gmock.h>

#include "graph/byoc/annotation.h"
#include "graph/byoc/function.h"
#include "graph/byoc/text.h"
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
  table.patterns[0].refusal = [](const Match& m, const PatternGraph& g) {
    const bool taken = m.captures.at("relu").node->name == "b" && g.shape(m.root)->rank() == 4;
    return taken ? "" : "this is not b";
  };
  const Symbol net = call("relu", "b", {call("tanh", "m", {call("relu", "a", {x()})})});
  const Graph graph = with_table(net, table);
  EXPECT_THAT(composites(graph), testing::ElementsAre("t.relu b"));
  EXPECT_THAT(explain_partition(graph, table)[0].text,
              HasSubstr("t.relu matches, but this is not b"));
}

// x -> a (relu) -> b (relu) -> m (tanh)
Symbol chain(Attributes of_x = {{"shape", "(2, 3)"}, {"dtype", "float32"}}) {
  const Symbol x = Symbol::variable("x", std::move(of_x));
  return call("tanh", "m", {call("relu", "b", {call("relu", "a", {x})})});
}

TEST(PatternTable, AnnotateTargetAloneMarksInstances) {
  register_pattern_table({"t", {{"t.two", is_op("nn.relu", {is_op("nn.relu")})}}});
  Graph graph{.outputs = chain().outputs()};
  graph.attributes["compiler"] = std::string("t");
  const Graph marked = apply(graph, "AnnotateTarget");
  const Annotations found = find_annotations(marked, GraphIndex(marked));
  ASSERT_EQ(found.regions.size(), 1u);
  EXPECT_EQ(found.regions[0].nodes.size(), 2u);
  EXPECT_TRUE(found.faults.empty());
  test::Random random(1);
  const Values values = random_values(inferred({.outputs = graph.outputs}), random);
  expect_close(outputs_of(apply(marked, "PartitionGraph"), values), outputs_of(graph, values));
}

TEST(PatternTable, ShapesAreInferredAndSaidToBeMissing) {
  const auto annotated = [](const Symbol& net) {
    Graph graph{.outputs = net.outputs()};
    graph.attributes["compiler"] = std::string("onednn");
    return graph;
  };
  for (const char* pass : {"MergeComposite", "AnnotateTarget"}) {
    const Graph found = apply(annotated(chain()), pass);
    EXPECT_NE(to_text(found), to_text({.outputs = chain().outputs()}));
    for (const Attributes& less :
         {Attributes(), Attributes{{"shape", "(2, 3)"}}, Attributes{{"dtype", "float32"}}}) {
      const ErrorInfo info = test::expect_error(ErrorCode::PassRequirement,
                                                [&] { apply(annotated(chain(less)), pass); });
      EXPECT_THAT(info.what, HasSubstr("the shape or type of '"));
    }
  }
  const auto notes = explain_partition(annotated(chain({})), find_pattern_table("onednn"));
  EXPECT_THAT(notes[0].text, HasSubstr("the shape or type of 'x' is unknown"));
  // What is known of inputs stays known through all passes.
  Graph graph = annotated(chain({}));
  graph.attributes["shape_inputs"] = std::vector<Shape>{Shape({2, 3})};
  graph.attributes["dtype_inputs"] = std::vector<int64_t>{0};
  for (const char* pass :
       {"MergeComposite", "AnnotateTarget", "MergeCompilerRegions", "PartitionGraph"})
    graph = apply(std::move(graph), pass);
  EXPECT_THAT(to_functional_text(graph), HasSubstr("fn (%x: Tensor[(2, 3), float32])"));
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
