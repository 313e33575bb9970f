// SPDX-License-Identifier: Apache-2.0
#include "graph/byoc/annotation.h"

#include <gmock/gmock.h>

#include "graph/byoc/function.h"
#include "graph/byoc/text.h"
#include "graph/op.h"
#include "tests/support/expect_error.h"
#include "tests/support/network.h"

namespace tw::graph {
namespace {

Symbol x(const std::string& name = "x") {
  return Symbol::variable(name, {{"shape", "(2, 4)"}, {"dtype", "float32"}});
}
Symbol begin(const Symbol& s, const std::string& compiler = "dnnl") {
  return Symbol({make_begin(s.outputs()[0], compiler)});
}
Symbol end(const Symbol& s, const std::string& compiler = "dnnl") {
  return Symbol({make_end(s.outputs()[0], compiler)});
}
Graph graph_of(const std::vector<Symbol>& outputs) {
  return {.outputs = Symbol::group(outputs).outputs()};
}

std::vector<AnnotationFault> faults(const Graph& graph) {
  return find_annotations(graph, GraphIndex(graph)).faults;
}

// The only fault of a graph, which PartitionGraph refuses.
AnnotationFault only_fault(const Graph& graph) {
  const auto found = faults(graph);
  EXPECT_EQ(found.size(), 1u);
  test::expect_error(ErrorCode::BadGraph, [&] { apply(graph, "PartitionGraph"); });
  return found.empty() ? AnnotationFault{} : found[0];
}

// The calls of functions of a graph, which computes what it did without annotations.
std::vector<NodeRef> partitioned(Graph graph) {
  graph = inferred(std::move(graph));
  test::Random random(1);
  const Values values = random_values(graph, random);
  const Graph result = apply(graph, "PartitionGraph");
  expect_close(outputs_of(result, values), outputs_of(graph, values));
  expect_close(outputs_of(apply(result, "InlineFunctions"), values), outputs_of(graph, values));
  EXPECT_EQ(save_json(load_json(save_json(result))), save_json(result));
  EXPECT_EQ(to_functional_text(load_json(save_json(result))), to_functional_text(result));
  std::vector<NodeRef> calls;
  for (const NodeRef& node : nodes_of(result.outputs)) {
    if (node->function) calls.push_back(node);
  }
  return calls;
}

size_t body_size(const NodeRef& call) {
  return static_cast<size_t>(std::ranges::count_if(
      nodes_of(call->function->outputs), [](const NodeRef& n) { return !n->is_variable(); }));
}

TEST(Annotation, ARegionBecomesAFunction) {
  const Symbol a = call("relu", "a", {begin(x())}), b = call("tanh", "b", {a});
  const auto calls = partitioned(graph_of({end(b)}));
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0]->name, "dnnl_0");
  EXPECT_EQ(text_of(*calls[0], "Compiler"), "dnnl");
  EXPECT_EQ(text_of(*calls[0], "ExternalSymbol"), "dnnl_0");
  EXPECT_EQ(text_of(*calls[0], "Primitive"), "1");
  EXPECT_EQ(calls[0]->function->parameters[0]->name, "dnnl_input0");
  EXPECT_EQ(body_size(calls[0]), 2u);
}

TEST(Annotation, ConsecutiveRegionsStandSideBySide) {
  Symbol s = x();
  for (int k = 0; k < 3; ++k) {
    s = call("relu", fmt::format("relu{}", k), {begin(s)});
    s = end(call("tanh", fmt::format("tanh{}", k), {s}));
  }
  const auto calls = partitioned(graph_of({s}));
  ASSERT_EQ(calls.size(), 3u);
  for (const NodeRef& c : calls) EXPECT_EQ(body_size(c), 2u);
  EXPECT_EQ(calls[2]->inputs[0].node, calls[1]);
}

TEST(Annotation, BranchesThatMeetAndSeveralOutputs) {
  const Symbol in = begin(x()), a = call("relu", "a", {in}), b = call("tanh", "b", {a}),
               c = call("negative", "c", {a}), d = call("elemwise_add", "d", {b, c});
  const Symbol outer = call("exp", "outer", {end(c)});
  const auto calls = partitioned(graph_of({end(d), outer}));
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0]->num_outputs(), 2);
  EXPECT_EQ(body_size(calls[0]), 4u);
}

TEST(Annotation, RegionsShareAnInputAndAMark) {
  const Symbol in = x(), mark = begin(in);
  const Symbol a = end(call("relu", "a", {mark})), b = end(call("tanh", "b", {mark}));
  const auto calls = partitioned(graph_of({call("elemwise_add", "sum", {a, b})}));
  EXPECT_EQ(calls.size(), 2u);
}

TEST(Annotation, RegionsOfTwoCompilersAreCountedApart) {
  const Symbol a = end(call("relu", "a", {begin(x(), "blas")}), "blas");
  const auto calls = partitioned(graph_of({end(call("tanh", "b", {begin(a)}))}));
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0]->name, "blas_0");
  EXPECT_EQ(calls[1]->name, "dnnl_0");
}

TEST(Annotation, MarksAroundNothingGo) {
  EXPECT_TRUE(partitioned(graph_of({call("relu", "a", {end(begin(x()))})})).empty());
}

// The fault of the thread "A possible bug in partitioning".
TEST(Annotation, AnEdgeBetweenRegionsWithoutABegin) {
  const Symbol a = end(call("relu", "a", {begin(x())}));
  const Symbol b = call("elemwise_add", "b", {a, begin(x("w"))});
  const Graph graph = graph_of({end(b)});
  const AnnotationFault f = only_fault(graph);
  EXPECT_EQ(f.kind, FaultKind::MissingBegin);
  EXPECT_EQ(to_string(f.kind), "missing-begin");
  EXPECT_EQ(f.from, "a_end");
  EXPECT_EQ(f.to, "b");
  EXPECT_THAT(f.what, testing::HasSubstr("leaves region 0 of dnnl ('a') and enters region 1"));
  EXPECT_EQ(f.repair, "compiler_begin(a_end, compiler='dnnl') as input 0 of 'b'");

  Graph repair = graph;
  repair.attributes["repair"] = int64_t{1};
  EXPECT_EQ(partitioned(repair).size(), 2u);
  const Graph result = apply(repair, "PartitionGraph");
  const auto said = *result.find<std::vector<std::string>>("partition_repairs");
  ASSERT_EQ(said.size(), 1u);
  EXPECT_THAT(said[0], testing::HasSubstr(f.repair));
}

TEST(Annotation, AnEdgeThatEntersWithoutABegin) {
  const Symbol b = call("elemwise_add", "b", {x(), begin(x("w"))});
  const AnnotationFault f = only_fault(graph_of({end(b)}));
  EXPECT_EQ(f.kind, FaultKind::MissingBegin);
  EXPECT_THAT(f.what, testing::Not(testing::HasSubstr("leaves")));
}

TEST(Annotation, AnOutputOrABeginWithoutAnEnd) {
  EXPECT_EQ(only_fault(graph_of({call("relu", "a", {begin(x())})})).kind, FaultKind::MissingEnd);
  Graph two = graph_of({end(call("tanh", "b", {begin(call("relu", "a", {begin(x())}))}))});
  EXPECT_EQ(only_fault(two).kind, FaultKind::MissingEnd);
  two.attributes["repair"] = int64_t{1};
  EXPECT_EQ(partitioned(two).size(), 2u);
}

TEST(Annotation, AnEndWithoutABegin) {
  const AnnotationFault f = only_fault(graph_of({end(call("relu", "a", {x()}))}));
  EXPECT_EQ(f.kind, FaultKind::EndWithoutBegin);
  EXPECT_EQ(f.from, "a");
}

TEST(Annotation, BeginsOfTwoCompilersOnOneNode) {
  const Symbol b = call("elemwise_add", "b", {begin(x()), begin(x("w"), "blas")});
  const AnnotationFault f = only_fault(graph_of({end(b)}));
  EXPECT_EQ(f.kind, FaultKind::TwoCompilers);
  EXPECT_EQ(f.to, "b");
  const Symbol c = call("relu", "c", {begin(x())});
  EXPECT_EQ(only_fault(graph_of({end(c, "blas")})).kind, FaultKind::TwoCompilers);
}

TEST(Annotation, ARegionThatIsLeftAndEnteredAgain) {
  const Symbol a = call("relu", "a", {begin(x())}), outer = call("exp", "outer", {end(a)}),
               b = call("elemwise_add", "b", {a, begin(outer)});
  const AnnotationFault f = only_fault(graph_of({end(b)}));
  EXPECT_EQ(f.kind, FaultKind::NotConvex);
  EXPECT_THAT(f.path, testing::ElementsAre("a", "outer", "b"));
}

// Neither region is left and entered again by itself.
TEST(Annotation, RegionsThatDependOnEachOther) {
  const Symbol in = begin(x()), other = begin(x("y"), "blas");
  const Symbol a = call("relu", "a", {in}), p = call("tanh", "p", {other});
  const Symbol b = call("elemwise_add", "b", {call("exp", "a2", {in}), begin(end(p, "blas"))});
  const Symbol q = call("elemwise_add", "q", {p, begin(end(a), "blas")});
  const Graph graph = graph_of({end(call("elemwise_add", "c", {a, b})), end(q, "blas")});
  const auto found = faults(graph);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].kind, FaultKind::NotConvex);
  test::expect_error(ErrorCode::BadGraph, [&] { apply(graph, "PartitionGraph"); });
}

TEST(Annotation, ARegionThatNobodyReads) {
  Node last = *call("relu", "last", {x("y")}).outputs()[0].node;
  last.control_dependencies.push_back(end(call("tanh", "a", {begin(x())})).outputs()[0].node);
  const AnnotationFault f = only_fault({.outputs = {{make_node(std::move(last))}}});
  EXPECT_EQ(f.kind, FaultKind::UnusedRegion);
  EXPECT_EQ(f.from, "a_end");
}

TEST(Annotation, ARegionOfAFileThatNobodyReads) {
  const Symbol a = end(call("relu", "a", {begin(x())})),
               b = end(call("tanh", "b", {begin(x("y"))}));
  const Graph both = graph_of({a, b});
  std::string text = save_json(both);
  const size_t heads = text.find("\"heads\"");
  ASSERT_NE(heads, std::string::npos);
  const GraphIndex index(both);
  text.replace(heads, text.find("]\n  ]", heads) + 5 - heads,
               fmt::format("\"heads\": [[{}, 0, 0]]", index.node_id(*b.outputs()[0].node)));
  const Graph graph = load_json(text);
  ASSERT_EQ(graph.outputs.size(), 1u);
  const AnnotationFault f = only_fault(graph);
  EXPECT_EQ(f.kind, FaultKind::UnusedRegion);
  EXPECT_EQ(f.from, "a_end");
  EXPECT_TRUE(faults(load_json(save_json(both))).empty());
}

TEST(Annotation, MarksOfTwoCompilersOnOneEdge) {
  const Symbol outer = begin(x(), "blas");
  AnnotationFault f = only_fault(graph_of({end(call("relu", "a", {begin(outer)}))}));
  EXPECT_EQ(f.kind, FaultKind::TwoCompilers);
  EXPECT_THAT(f.what, testing::HasSubstr("begins a region of blas, and 'x_begin_begin' behind it"));
  f = only_fault(graph_of({call("relu", "a", {end(outer)})}));
  EXPECT_EQ(f.kind, FaultKind::TwoCompilers);
}

TEST(Annotation, AFunctionOfAFileIsChecked) {
  const auto calls = partitioned(graph_of({end(call("relu", "a", {begin(x())}))}));
  Node broken = *calls.at(0);
  broken.inputs.clear();
  test::expect_error(ErrorCode::BadGraph, [&] { verify_function(broken); });
  broken.function = nullptr;
  test::expect_error(ErrorCode::BadGraph, [&] { verify_function(broken); });
}

}  // namespace
}  // namespace tw::graph
