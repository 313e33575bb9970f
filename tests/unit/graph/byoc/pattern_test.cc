// SPDX-License-Identifier: Apache-2.0
#include "graph/byoc/pattern.h"

#include <gmock/gmock.h>

#include "graph/op.h"
#include "tests/support/expect_error.h"
#include "tests/support/network.h"

namespace tw::graph {
namespace {

Symbol variable(const std::string& name, const std::string& shape = "(2, 4)") {
  return Symbol::variable(name, {{"shape", shape}, {"dtype", "float32"}});
}
Graph graph_of(const Symbol& s, std::vector<std::string> constants = {}) {
  Graph graph = inferred({.outputs = s.outputs()});
  graph.attributes["param_name_list"] = std::move(constants);
  return graph;
}
bool matches_output(const PatternRef& pattern, const Graph& graph) {
  return match(pattern, graph.outputs[0], PatternGraph(graph)).has_value();
}

// dense, bias, relu
Symbol layer() {
  const Symbol d = call("dense", "d", {variable("x"), variable("w", "(3, 4)")},
                        {{"units", "3"}, {"use_bias", "False"}});
  const Symbol b = call("broadcast_add", "b", {variable("bias", "(3,)"), d});
  return call("relu", "r", {b});
}

TEST(Pattern, KindsOfParts) {
  const Graph graph = graph_of(layer(), {"w", "bias"});
  const PatternRef dense = is_op("nn.dense", {is_var("x"), is_constant()});
  const PatternRef block = is_op("relu", {is_op("add", {dense, is_constant()})});
  EXPECT_TRUE(matches_output(block, graph));  // operands of add in either order
  EXPECT_FALSE(matches_output(block, graph_of(layer(), {"w"})));
  EXPECT_FALSE(matches_output(is_op("tanh", {wildcard()}), graph));
  EXPECT_TRUE(matches_output(is_op("relu"), graph));
  EXPECT_FALSE(matches_output(is_op("relu", {wildcard(), wildcard()}), graph));
  EXPECT_TRUE(matches_output(either(is_op("tanh"), is_op("relu")), graph));
  EXPECT_TRUE(matches_output(has_shape(is_op("relu"), {2, Shape::kUnknown}), graph));
  EXPECT_FALSE(matches_output(has_shape(is_op("relu"), {2}), graph));
  EXPECT_TRUE(matches_output(has_dtype(wildcard(), float_type(32)), graph));
  EXPECT_FALSE(matches_output(has_dtype(wildcard(), float_type(64)), graph));
  const PatternRef units = has_attr(is_op("dense"), {{"units", "(3)"}});
  EXPECT_FALSE(matches_output(units, graph));
  EXPECT_TRUE(matches_output(
      is_op("relu",
            {is_op("add", {wildcard(), has_attr(is_op("dense"), {{"use_bias", "false"}})})}),
      graph));
  test::expect_error(ErrorCode::UnknownOperator, [] { is_op("nn.conv2"); });
}

TEST(Pattern, AnOptionalPartAndCaptures) {
  const PatternRef dense = named(is_op("dense"), "dense");
  const PatternRef block = is_op(
      "relu",
      {optional(dense, [](PatternRef d) { return is_op("add", {d, named(wildcard(), "bias")}); })});
  const Graph graph = graph_of(layer());
  const auto m = match(block, graph.outputs[0], PatternGraph(graph));
  ASSERT_TRUE(m);
  EXPECT_EQ(m->captures.at("dense").node->name, "d");
  EXPECT_EQ(m->captures.at("bias").node->name, "bias");
  EXPECT_EQ(m->nodes.size(), 3u);
  const Graph plain =
      graph_of(call("relu", "r", {call("dense", "d", {variable("x")}, {{"units", "3"}})}));
  EXPECT_TRUE(matches_output(block, plain));
}

TEST(Pattern, APartThatOccursTwiceIsOneEntry) {
  const PatternRef any = wildcard();
  const PatternRef square = is_op("elemwise_mul", {any, any});
  const Symbol x = variable("x"), y = variable("y");
  EXPECT_TRUE(matches_output(square, graph_of(call("elemwise_mul", "m", {x, x}))));
  EXPECT_FALSE(matches_output(square, graph_of(call("elemwise_mul", "m", {x, y}))));
  // The order that fits the first operand leaves nothing for the second.
  const PatternRef a = wildcard();
  const PatternRef sum = is_op("add", {is_op("add", {a, is_op("tanh")}), a});
  const Symbol t = call("tanh", "t", {y}), u = call("tanh", "u", {x});
  EXPECT_TRUE(matches_output(
      sum, graph_of(call("elemwise_add", "o", {call("elemwise_add", "i", {t, u}), t}))));
}

TEST(Pattern, OneOfSeveralOutputs) {
  const Symbol x = variable("x", "(1, 3, 2, 2)");
  const Graph graph = graph_of(call("relu", "r", {call("batch_norm", "n", {x})}));
  EXPECT_TRUE(matches_output(is_op("relu", {is_tuple_get_item(is_op("nn.batch_norm"), 0)}), graph));
  EXPECT_FALSE(
      matches_output(is_op("relu", {is_tuple_get_item(is_op("nn.batch_norm"), 1)}), graph));
}

TEST(Pattern, WhatIsDominated) {
  const Symbol d = call("dense", "d", {variable("x")}, {{"units", "4"}});
  const Symbol a = call("tanh", "a", {d}), b = call("exp", "b", {a});
  const PatternRef pattern =
      dominates(is_op("dense"), is_op("add"), either(is_op("tanh"), is_op("exp")));
  EXPECT_TRUE(matches_output(pattern, graph_of(call("elemwise_add", "s", {a, b}))));
  EXPECT_TRUE(matches_output(pattern, graph_of(call("elemwise_add", "s", {b, d}))));
  // A way beside it, and one through something else.
  EXPECT_FALSE(matches_output(pattern, graph_of(call("elemwise_add", "s", {b, variable("y")}))));
  EXPECT_FALSE(
      matches_output(pattern, graph_of(call("elemwise_add", "s", {b, call("relu", "r", {d})}))));
}

TEST(Pattern, TheNearestMatchAndItsFirstDifference) {
  const PatternRef pattern = is_op("relu", {is_op("add", {is_op("nn.conv2d"), wildcard()})});
  const auto nearest = nearest_match(pattern, PatternGraph(graph_of(layer())));
  ASSERT_TRUE(nearest);
  EXPECT_EQ(nearest->at, "r");
  EXPECT_THAT(nearest->difference, testing::HasSubstr("of 'b': nn.conv2d is wanted"));
  EXPECT_FALSE(nearest_match(is_op("relu"), PatternGraph(graph_of(layer()))));
}

TEST(Pattern, Rewrites) {
  const PatternRef x = wildcard(), y = wildcard();
  const PatternRef pattern =
      is_op("add", {is_op("__mul_scalar__", {x}), is_op("__mul_scalar__", {y})});
  const auto scaled = [](const std::string& name, const Symbol& s) {
    return call("__mul_scalar__", name, {s}, {{"scalar", "2"}});
  };
  const Symbol a = variable("a"), b = variable("b");
  const Symbol inner = call("elemwise_add", "i", {scaled("p", a), scaled("q", b)});
  const Graph graph = graph_of(
      call("elemwise_add", "o", {scaled("s", inner), scaled("t", call("tanh", "u", {a}))}));
  const Graph result = rewrite_matches(graph, pattern, [&](const Match& m) -> std::optional<Entry> {
    const Entry sum =
        make_call("elemwise_add", "sum", {m.entries.at(x.get()), m.entries.at(y.get())});
    return make_call("__mul_scalar__", "twice", {sum}, {{"scalar", "2"}});
  });
  EXPECT_EQ(matches(pattern, PatternGraph(graph)).size(), 2u);
  EXPECT_EQ(matches(pattern, PatternGraph(result)).size(), 0u);
  test::Random random(1);
  const Values values = random_values(graph, random);
  expect_close(outputs_of(result, values), outputs_of(graph, values));
}

// ---------------------------------------------------------------------------------------------
// Against a matcher that tries every assignment of parts to entries.

class BruteForce {
 public:
  BruteForce(const PatternRef& pattern, const PatternGraph& graph) : graph_(graph) {
    collect(*pattern);
    for (const NodeRef& n : graph.index().nodes()) {
      for (int k = 0; k < n->num_outputs(); ++k) entries_.push_back({n, static_cast<uint32_t>(k)});
    }
  }

  bool matches(const NodePattern& root, const Entry& e) {
    assigned_.clear();
    return search(0, root, e);
  }

 private:
  void collect(const NodePattern& p) {
    if (std::ranges::find(parts_, &p) == parts_.end()) {
      parts_.push_back(&p);
      for (const PatternRef& part : p.parts) collect(*part);
    }
  }

  // Of parts in order, each entry or none; then whether what follows from the root is consistent.
  bool search(size_t k, const NodePattern& root, const Entry& e) {
    if (k == parts_.size()) return holds(root, e);
    for (const Entry& candidate : entries_) {
      assigned_[parts_[k]] = candidate;
      if (parts_[k] == &root && candidate != e) continue;
      if (fits_alone(*parts_[k], candidate) && search(k + 1, root, e)) return true;
    }
    assigned_.erase(parts_[k]);
    // Parts of an alternative that is not taken match nothing.
    return parts_[k] != &root && search(k + 1, root, e);
  }

  // Prunes what no assignment of others makes right.
  bool fits_alone(const NodePattern& p, const Entry& e) const {
    using enum NodePattern::Kind;
    if (p.kind == Variable) return e.node->is_variable();
    if (p.kind == Constant) return graph_.is_constant(*e.node);
    if (p.kind == Call) return !e.node->is_variable() && e.node->op->name == p.op;
    return true;
  }

  bool holds(const NodePattern& p, const Entry& e) const {
    const auto at = assigned_.find(&p);
    if (at == assigned_.end() || !(at->second == e)) return false;
    using enum NodePattern::Kind;
    if (p.kind == Either) return holds(*p.parts[0], e) || holds(*p.parts[1], e);
    if (p.kind != Call || p.any_inputs) return true;
    if (e.node->inputs.size() != p.parts.size()) return false;
    const auto in_order = [&](bool swapped) {
      for (size_t k = 0; k < p.parts.size(); ++k) {
        if (!holds(*p.parts[k], e.node->inputs[swapped ? 1 - k : k])) return false;
      }
      return true;
    };
    return in_order(false) || (p.op == "elemwise_add" && in_order(true));
  }

  const PatternGraph& graph_;
  std::vector<const NodePattern*> parts_;
  std::vector<Entry> entries_;
  std::map<const NodePattern*, Entry> assigned_;
};

PatternRef random_pattern(test::Random& random, int depth, std::vector<PatternRef>& made) {
  const auto part = [&] {
    if (!made.empty() && random.chance(25)) return random.pick(made);
    return random_pattern(random, depth - 1, made);
  };
  PatternRef p;
  switch (depth == 0 ? random.between(0, 2) : random.between(0, 7)) {
    case 0:
      p = wildcard();
      break;
    case 1:
      p = is_var();
      break;
    case 2:
      p = is_constant();
      break;
    case 3:
      p = is_op("tanh", {part()});
      break;
    case 4: {
      const PatternRef a = part();
      p = either(a, part());
      break;
    }
    case 5: {
      const PatternRef a = part();
      p = is_op("elemwise_sub", {a, part()});
      break;
    }
    default: {
      const PatternRef a = part();
      p = is_op("elemwise_add", {a, part()});
    }
  }
  made.push_back(p);
  return p;
}

TEST(Pattern, AgreesWithTryingEverything) {
  test::FuzzCases cases(1500, 1);
  int pairs = 0, matched = 0;
  while (cases.next()) {
    SCOPED_TRACE(cases.seed());
    test::Random random(cases.seed());
    std::vector<Symbol> values{variable("x"), variable("w")};
    for (int64_t k = random.between(1, 4); k > 0; --k) {
      const std::vector<std::string> ops{"tanh", "elemwise_sub", "elemwise_add", "elemwise_add"};
      const std::string op = random.pick(ops);
      std::vector<Symbol> inputs{random.pick(values)};
      if (op != "tanh") inputs.push_back(random.pick(values));
      values.push_back(call(op, fmt::format("n{}", values.size()), inputs));
    }
    const Graph graph = graph_of(values.back(), {"w"});
    const PatternGraph patterns(graph);
    std::vector<PatternRef> made;
    const PatternRef pattern = random_pattern(random, 2, made);
    if (made.size() > 6) continue;  // six parts in six entries are 117,649 assignments
    BruteForce brute(pattern, patterns);
    for (const NodeRef& node : patterns.index().nodes()) {
      const bool wanted = brute.matches(*pattern, {node});
      ++pairs;
      matched += wanted ? 1 : 0;
      ASSERT_EQ(match(pattern, {node}, patterns).has_value(), wanted)
          << to_string(*pattern) << " at " << node->name << "\n"
          << to_text(graph);
    }
  }
  EXPECT_GT(4 * matched, pairs) << "of several thousand pairs";
}

}  // namespace
}  // namespace tw::graph
