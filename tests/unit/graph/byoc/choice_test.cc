// SPDX-License-Identifier: Apache-2.0
#include "graph/byoc/choice.h"

#include <gmock/gmock.h>

#include "graph/byoc/function.h"
#include "graph/byoc/pattern_table.h"
#include "graph/op.h"
#include "tests/support/expect_error.h"
#include "tests/support/network.h"

namespace tw::graph {
namespace {

using testing::ElementsAre;

const char* const kCompiler = "choice";

Symbol variable(const std::string& name, const std::string& shape) {
  return Symbol::variable(name, {{"shape", shape}, {"dtype", "float32"}});
}
Symbol conv(const std::string& name, const Symbol& in) {
  return call("conv2d", name, {in}, {{"channels", "4"}, {"kernel_size", "1"}});
}
Symbol relu(const std::string& name, const Symbol& in) { return call("relu", name, {in}); }

// With composites: convolutions, relus and sums; weights are constants.
Graph merged(const Symbol& s) {
  PatternTable table{kCompiler};
  for (const char* op : {"nn.conv2d", "nn.relu", "add"})
    table.patterns.push_back({std::string("t.") + op, is_op(op)});
  register_pattern_table(table);
  Graph graph = inferred({.outputs = s.outputs()});
  graph.attributes["compiler"] = kCompiler;
  graph = apply(graph, "MergeComposite");
  std::vector<std::string> constants;
  for (const NodeRef& n : nodes_of(graph.outputs)) {
    if (n->is_variable() && n->name.find('_') != std::string::npos) constants.push_back(n->name);
  }
  graph.attributes["param_name_list"] = constants;
  return inferred(graph);
}

std::vector<std::vector<std::string>> names(const Graph& graph, const std::vector<Part>& pieces) {
  const GraphIndex index(graph);
  std::vector<std::vector<std::string>> result;
  for (const Part& piece : pieces) {
    result.emplace_back();
    for (uint32_t id : piece) result.back().push_back(index.nodes()[id]->name);
  }
  return result;
}

// Two convolutions beside a shortcut, between a convolution and a relu.
Symbol residual() {
  const Symbol stem = conv("stem", variable("x", "(1, 4, 4, 4)"));
  const Symbol b = conv("b", relu("r", conv("a", stem)));
  return relu("last", call("elemwise_add", "sum", {b, stem}));
}

TEST(ByocChoice, ARegionIsCutWhereOneValueCrosses) {
  const Graph graph = merged(residual());
  const auto regions = pieces_of(graph);
  ASSERT_EQ(regions.size(), 1u);
  EXPECT_THAT(
      names(graph, regions[0]),
      ElementsAre(ElementsAre("stem"), ElementsAre("a", "r", "b", "sum"), ElementsAre("last")));
}

TEST(ByocChoice, WhatNoPatternTookSeparatesRegions) {
  const Symbol first = relu("a", variable("x", "(4, 4)"));
  const Graph graph = merged(relu("c", relu("b", call("softmax", "s", {first}))));
  const auto regions = pieces_of(graph);
  ASSERT_EQ(regions.size(), 2u);
  EXPECT_THAT(names(graph, regions[0]), ElementsAre(ElementsAre("a")));
  EXPECT_THAT(names(graph, regions[1]), ElementsAre(ElementsAre("b"), ElementsAre("c")));
  EXPECT_TRUE(pieces_of(merged(call("softmax", "s", {variable("x", "(4, 4)")}))).empty());
}

TEST(ByocChoice, OnlyKeptCompositesStay) {
  const Graph graph = merged(residual());
  const Part block = pieces_of(graph)[0][1];
  const Graph kept = keep_composites(graph, {block[0], block[3]});
  std::vector<std::string> functions;
  for (const NodeRef& n : nodes_of(kept.outputs)) {
    if (n->function) functions.push_back(n->name);
  }
  EXPECT_THAT(functions, ElementsAre("a", "sum"));
}

std::string hash(const Symbol& s) {
  const Graph graph = merged(s);
  Part all;
  const auto regions = pieces_of(graph);
  for (const Part& piece : regions[0]) all.insert(all.end(), piece.begin(), piece.end());
  const auto& constants = *graph.find<std::vector<std::string>>("param_name_list");
  return part_hash(inferred(graph_of_part(graph, all, {all.begin(), all.end()})),
                   {constants.begin(), constants.end()});
}

TEST(ByocChoice, TheHashIsOfWhatIsComputedNotOfNames) {
  const auto net = [](const std::string& name, const std::string& shape, const char* kernel) {
    return relu(name + "r", call("conv2d", name + "c", {variable(name + "x", shape)},
                                 {{"channels", "4"}, {"kernel_size", kernel}}));
  };
  const std::string one = hash(net("a", "(1, 4, 4, 4)", "(1, 1)"));
  EXPECT_EQ(one.size(), 16u);
  EXPECT_EQ(one, hash(net("b", "(1, 4, 4, 4)", "(1, 1)")));
  EXPECT_NE(one, hash(net("a", "(1, 4, 4, 5)", "(1, 1)")));
  EXPECT_NE(one, hash(net("a", "(1, 4, 4, 4)", "(2, 2)")));
  // A weight that is an input is another program.
  const Symbol weight = variable("w", "(4, 4, 1, 1)"), bias = variable("b", "(4,)");
  EXPECT_NE(one,
            hash(relu("ar", call("conv2d", "ac", {variable("ax", "(1, 4, 4, 4)"), weight, bias},
                                 {{"channels", "4"}, {"kernel_size", "(1, 1)"}}))));
}

TEST(ByocChoice, APartNeedsShapes) {
  Graph graph = merged(residual());
  graph.attributes.erase("shape");
  test::expect_error(ErrorCode::PassRequirement, [&] { graph_of_part(graph, Part{}, {}); });
}

TEST(ByocChoice, TheVersionOfWhatIsMissingIsAnError) {
  test::expect_error(ErrorCode::ModuleLoad, [] {
    codegen_version({.name = "missing", .library = "/nowhere/libmissing.so"});
  });
}

// Random networks: pieces are all composites, once; whatever is kept, the graph and each run of
// consecutive pieces compute what they did.
TEST(ByocChoice, RandomNetworks) {
  test::FuzzCases cases(60, 1);
  while (cases.next()) {
    SCOPED_TRACE(cases.seed());
    test::Random random(cases.seed());
    const Graph plain = RandomNetwork(random).graph();
    const Values values = random_values(plain, random);
    const Graph graph = merged(Symbol(plain.outputs));
    const GraphIndex index(graph);
    std::set<uint32_t> seen, composites, kept;
    const auto regions = pieces_of(graph);
    for (const auto& pieces : regions) {
      for (const Part& piece : pieces) {
        for (uint32_t id : piece) EXPECT_TRUE(seen.insert(id).second);
      }
    }
    for (uint32_t id = 0; id < index.num_nodes(); ++id) {
      if (!index.nodes()[id]->function) continue;
      composites.insert(id);
      if (random.chance(50)) kept.insert(id);
    }
    EXPECT_EQ(seen, composites);
    Graph chosen = keep_composites(graph, kept);
    chosen.attributes["compiler"] = kCompiler;
    for (const char* pass : {"AnnotateTarget", "MergeCompilerRegions", "PartitionGraph"})
      chosen = apply(chosen, pass);
    expect_close(outputs_of(chosen, values), outputs_of(plain, values));

    // The network as a part, with what no pattern took; constants keep their names.
    Part operators;
    std::vector<std::string> variables;
    for (uint32_t id = 0; id < index.num_nodes(); ++id) {
      if (index.nodes()[id]->is_variable()) {
        variables.push_back(index.nodes()[id]->name);
      } else {
        operators.push_back(id);
      }
    }
    Graph named = graph;
    named.attributes["param_name_list"] = variables;
    std::map<size_t, Entry> ordered;  // a part's outputs stand in the order in which they run
    for (size_t k = 0; k < graph.outputs.size(); ++k) {
      if (!graph.outputs[k].node->is_variable())
        ordered.try_emplace(index.entry_id(graph.outputs[k]), plain.outputs[k]);
    }
    Graph expected = plain;
    expected.outputs.clear();
    for (const auto& [id, entry] : ordered) expected.outputs.push_back(entry);
    expect_close(outputs_of(graph_of_part(named, operators, kept), values),
                 outputs_of(expected, values));

    for (const auto& pieces : regions) {
      const auto end = static_cast<int64_t>(pieces.size()) - 1;
      const int64_t start = random.between(0, end);
      const auto first = static_cast<size_t>(start);
      const auto last = static_cast<size_t>(random.between(start, end));
      Part part;
      for (size_t k = first; k <= last; ++k)
        part.insert(part.end(), pieces[k].begin(), pieces[k].end());
      const Graph ours = inferred(graph_of_part(graph, part, {}));
      const Values inside = random_values(ours, random);
      for (const std::set<uint32_t>& some : {kept, std::set<uint32_t>(part.begin(), part.end())})
        expect_close(outputs_of(graph_of_part(graph, part, some), inside),
                     outputs_of(ours, inside));
    }
  }
}

}  // namespace
}  // namespace tw::graph
