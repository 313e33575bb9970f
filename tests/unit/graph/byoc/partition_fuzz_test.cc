// SPDX-License-Identifier: Apache-2.0
// Random networks under random annotations and random pattern tables: partitioned they compute the
// same, and regions are convex, flat, as large as they can be, and hold what was annotated.
#include <gmock/gmock.h>

#include <set>

#include "graph/byoc/annotation.h"
#include "graph/byoc/function.h"
#include "graph/byoc/pattern_table.h"
#include "graph/byoc/units.h"
#include "graph/op.h"
#include "graph/rewrite.h"
#include "tests/support/network.h"

namespace tw::graph {
namespace {

// Names of nodes by the compiler of the function that they are in.
using Cover = std::map<std::string, std::set<std::string>>;

void add_names(const GraphFunction& function, std::set<std::string>& names) {
  for (const NodeRef& n : nodes_of(function.outputs)) {
    EXPECT_EQ(text_of(*n, "Compiler"), "") << "a region inside of a region";
    if (n->function) {
      add_names(*n->function, names);
    } else if (!n->is_variable()) {
      names.insert(n->name);
    }
  }
}

Cover cover_of(const Graph& graph) {
  Cover cover;
  for (const NodeRef& n : nodes_of(graph.outputs)) {
    EXPECT_FALSE(is_begin(*n) || is_end(*n)) << n->name;
    if (n->function) add_names(*n->function, cover[text_of(*n, "Compiler")]);
  }
  return cover;
}

// Whether a way leads from one node to another beside the edges between them.
bool has_other_way(const Graph& graph, const Node* from, const Node* to) {
  std::set<const Node*> behind{from};  // nodes that depend on it, but for `to`
  for (const NodeRef& n : nodes_of(graph.outputs)) {
    for (const Entry& e : n->inputs) {
      if (!behind.contains(e.node.get())) continue;
      if (n.get() == to && e.node.get() != from) return true;
      if (n.get() != to) behind.insert(n.get());
    }
  }
  return false;
}

// Two regions of one compiler of which one reads the other stay two only where a third way leads
// from the one to the other.
void expect_largest(const Graph& graph) {
  for (const NodeRef& n : nodes_of(graph.outputs)) {
    if (!n->function) continue;
    for (const Entry& e : n->inputs) {
      if (!e.node->function || text_of(*e.node, "Compiler") != text_of(*n, "Compiler")) continue;
      EXPECT_TRUE(has_other_way(graph, e.node.get(), n.get()))
          << e.node->name << " and " << n->name << " could be one\n"
          << to_text(graph);
    }
  }
}

// Each node that computes is with some chance a region of a compiler.
Graph annotated(const Graph& graph, test::Random& random, int64_t percent, Cover& cover) {
  return rewrite(graph, [&](size_t, const NodeRef& node) -> Replacement {
    if (node->is_variable() || !random.chance(percent)) return std::nullopt;
    const std::string compiler = random.chance(80) ? "dnnl" : "blas";
    cover[compiler].insert(node->name);
    Node next = *node;
    for (Entry& e : next.inputs) e = make_begin(e, compiler);
    const NodeRef made = make_node(std::move(next));
    std::vector<Entry> outputs;
    for (uint32_t k = 0; k < static_cast<uint32_t>(made->num_outputs()); ++k)
      outputs.push_back(make_end({made, k}, compiler));
    return outputs;
  });
}

// Names of what the graph has after marks and dead ends are gone.
void keep_used(const Graph& graph, Cover& cover) {
  std::set<std::string> used;
  for (const NodeRef& n : nodes_of(graph.outputs)) used.insert(n->name);
  for (auto& [compiler, names] : cover)
    std::erase_if(names, [&](const std::string& name) { return !used.contains(name); });
  std::erase_if(cover, [](const auto& c) { return c.second.empty(); });
}

TEST(PartitionFuzz, RandomAnnotations) {
  test::FuzzCases cases(400, 1);
  while (cases.next()) {
    SCOPED_TRACE(cases.seed());
    test::Random random(cases.seed());
    const Graph graph = RandomNetwork(random).graph();
    const Values values = random_values(graph, random);
    Cover wanted;
    Graph marked = annotated(graph, random, random.between(20, 100), wanted);
    keep_used(marked, wanted);
    const bool merged = random.chance(70);
    if (merged) marked = apply(marked, "MergeCompilerRegions");
    const Graph result = apply(marked, "PartitionGraph");
    EXPECT_EQ(cover_of(result), wanted);
    if (merged) expect_largest(result);
    expect_close(outputs_of(result, values), outputs_of(graph, values));
    const Graph plain = apply(result, "InlineFunctions");
    EXPECT_EQ(to_text({.outputs = plain.outputs}), to_text({.outputs = graph.outputs}));
    if (HasFailure()) FAIL() << save_json(marked);
  }
}

// Chains and branches without values, in which ways around are frequent.
Graph random_dag(test::Random& random) {
  std::vector<Symbol> values{Symbol::variable("x")};
  for (int64_t k = random.between(5, 25); k > 0; --k) {
    const auto recent = [&] {
      const auto n = static_cast<int64_t>(values.size());
      return values[static_cast<size_t>(n - random.between(1, std::min<int64_t>(n, 5)))];
    };
    const std::string name = fmt::format("n{}", values.size());
    values.push_back(random.chance(50) ? call("relu", name, {recent()})
                                       : call("elemwise_add", name, {recent(), recent()}));
  }
  return {.outputs = values.back().outputs()};
}

// Merging each region with those that it reads, whatever lies beside.
bool greedy_makes_a_cycle(const Graph& marked) {
  const GraphIndex index(marked);
  const Annotations found = find_annotations(marked, index);
  std::vector<int64_t> region_of = found.region_of;
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t id = 0; id < index.num_nodes(); ++id) {
      if (region_of[id] == kNoRegion) continue;
      for (const Entry& begin : index.nodes()[id]->inputs) {
        if (!is_begin(*begin.node) || !is_end(*begin.node->inputs[0].node)) continue;
        const uint32_t end = index.node_id(*begin.node->inputs[0].node);
        const uint32_t from = index.node_id(*index.nodes()[end]->inputs[0].node);
        const auto compiler = [&](uint32_t n) {
          return found.regions[static_cast<size_t>(found.region_of[n])].compiler;
        };
        if (region_of[from] == region_of[id] || compiler(from) != compiler(id)) continue;
        const int64_t old = region_of[from];
        for (int64_t& r : region_of) r = r == old ? region_of[id] : r;
        changed = true;
      }
    }
  }
  // Marks between two nodes of one region are within it.
  for (uint32_t id = 0; id < index.num_nodes(); ++id) {
    const Node& n = *index.nodes()[id];
    if (is_end(n)) region_of[id] = region_of[index.node_id(*n.inputs[0].node)];
  }
  for (uint32_t id = 0; id < index.num_nodes(); ++id) {
    for (const Entry& e : index.nodes()[id]->inputs) {
      if (!is_begin(*e.node) || region_of[id] == kNoRegion) continue;
      const uint32_t begin = index.node_id(*e.node);
      if (region_of[index.node_id(*e.node->inputs[0].node)] == region_of[id])
        region_of[begin] = region_of[id];
    }
  }
  return Units(index, region_of).has_cycle();
}

TEST(PartitionFuzz, WhereGreedyMergingWouldMakeACycle) {
  test::FuzzCases cases(1000, 1);
  int cycles = 0, ran = 0;
  while (cases.next()) {
    ++ran;
    SCOPED_TRACE(cases.seed());
    test::Random random(cases.seed());
    Cover wanted;
    const Graph marked = annotated(random_dag(random), random, 70, wanted);
    cycles += greedy_makes_a_cycle(marked) ? 1 : 0;
    const Graph result = apply(apply(marked, "MergeCompilerRegions"), "PartitionGraph");
    EXPECT_EQ(cover_of(result), wanted);
    expect_largest(result);
    if (HasFailure()) FAIL() << save_json(marked);
  }
  EXPECT_GE(5 * cycles, ran) << "in a thousand cases at least 200";
}

PatternTable random_table(test::Random& random) {
  const PatternRef conv = is_op("nn.conv2d"), any = wildcard();
  const PatternRef norm = is_tuple_get_item(is_op("nn.batch_norm", {conv, any, any, any, any}), 0);
  const std::vector<std::pair<std::string, PatternRef>> all = {
      {"conv", conv},
      {"conv_norm", norm},
      {"block", is_op("relu", {either(norm, conv)})},
      {"conv_add", is_op("add", {conv, wildcard()})},
      {"sum", is_op("add", {wildcard(), wildcard()})},
      {"relu", is_op("relu")},
      {"twice", is_op("relu", {is_op("relu")})},
      {"tanh_chain", is_op("tanh", {optional(is_op("negative"),
                                             [](PatternRef p) { return is_op("relu", {p}); })})},
      {"through", dominates(conv, is_op("add"), wildcard())},
      {"constant", is_op("multiply", {wildcard(), is_op("expand_dims")})},
      {"norm", is_op("batch_norm")},
  };
  PatternTable table{.compiler = "random"};
  for (int64_t k = random.between(1, 6); k > 0; --k) {
    const auto& [name, pattern] = random.pick(all);
    TablePattern row{.name = fmt::format("random.{}", name), .pattern = pattern};
    row.priority = static_cast<int>(random.between(0, 3));
    if (random.chance(30)) {
      row.refusal = [](const Match& m, const PatternGraph&) {
        return m.root.node->name.size() % 2 == 0 ? "" : "its name is odd";
      };
    }
    table.patterns.push_back(std::move(row));
  }
  return table;
}

TEST(PartitionFuzz, RandomPatternTables) {
  test::FuzzCases cases(300, 1);
  size_t taken_nodes = 0, ran = 0;
  while (cases.next()) {
    ++ran;
    SCOPED_TRACE(cases.seed());
    test::Random random(cases.seed());
    Graph graph = RandomNetwork(random).graph();
    const Values values = random_values(graph, random);
    register_pattern_table(random_table(random));
    graph.attributes["compiler"] = std::string("random");
    const auto notes = explain_partition(graph, find_pattern_table("random"));
    Graph result = graph;
    for (const char* pass :
         {"MergeComposite", "AnnotateTarget", "MergeCompilerRegions", "PartitionGraph"}) {
      result = apply(std::move(result), pass);
      expect_close(outputs_of(result, values), outputs_of(graph, values));
    }
    expect_largest(result);
    // What the explanation says is taken is what lies in functions.
    std::set<std::string> taken;
    for (const PartitionNote& n : notes) {
      if (!n.text.starts_with("none")) taken.insert(n.node);
    }
    EXPECT_EQ(cover_of(result)["random"], taken);
    taken_nodes += taken.size();
    const Graph plain = apply(result, "InlineFunctions");
    EXPECT_EQ(to_text({.outputs = plain.outputs}), to_text({.outputs = graph.outputs}));
    if (HasFailure()) FAIL() << save_json(graph);
  }
  EXPECT_GT(2 * taken_nodes, ran);
}

}  // namespace
}  // namespace tw::graph
