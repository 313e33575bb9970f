// SPDX-License-Identifier: Apache-2.0
#include "graph/byoc/pattern.h"

#include <gmock/gmock.h>

#include <cmath>
#include <map>

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

TEST(Pattern, TheFirstDifferenceIsNamedAsWhatItIs) {
  const Graph graph = graph_of(layer());
  const PatternRef relu = is_op("relu"), any = wildcard();
  const std::vector<std::pair<PatternRef, std::string>> cases = {
      {is_op("tanh"), "'r': tanh is wanted, and 'r' is nn.relu"},
      {is_op("relu", {any, any}), "'r': relu of 2 inputs is wanted, and 'r' is relu of 1 inputs"},
      {has_dtype(relu, int_type(8)), "'r': int8 is wanted, and 'r' is of float32"},
      {has_shape(relu, {2, 5}), "'r': shape (2, 5) is wanted, and 'r' is of shape (2, 3)"},
      {has_attr(relu, {{"units", "3"}}),
       "'r': units=3 is wanted, and 'r' is nn.relu without 'units'"},
      {is_op("relu", {is_op("add", {wildcard(), has_attr(is_op("dense"), {{"units", "4"}})})}),
       "input 1 of 'b': units=4 is wanted, and 'd' is of units=3"},
      {is_tuple_get_item(relu, 1), "'r': output 1 is wanted, and 'r' is output 0"},
      {is_op("relu", {is_var("x")}), "input 0 of 'r': a variable is wanted, and 'b' is add"},
  };
  for (const auto& [pattern, difference] : cases) {
    EXPECT_EQ(explain_match(pattern, graph.outputs[0], PatternGraph(graph)).difference, difference);
  }
  const Graph unknown{.outputs = call("relu", "r", {Symbol::variable("x")}).outputs()};
  EXPECT_EQ(
      explain_match(has_shape(relu, {2}), unknown.outputs[0], PatternGraph(unknown)).difference,
      "'r': shape (2,) is wanted, and 'r' is of a shape that is not known");
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

using Assignment = std::map<const NodePattern*, Entry>;

class BruteForce {
 public:
  BruteForce(const NodePattern& pattern, const PatternGraph& graph)
      : root_(pattern), graph_(graph) {
    collect(pattern);
    for (const NodeRef& n : graph.index().nodes()) {
      for (int k = 0; k < n->num_outputs(); ++k) entries_.push_back({n, static_cast<uint32_t>(k)});
    }
  }

  double assignments() const {
    return std::pow(static_cast<double>(entries_.size() + 1), static_cast<double>(parts_.size()));
  }
  bool matches(const Entry& e) {
    assigned_.clear();
    return search(0, e);
  }
  // Whether that assignment is a match.
  bool is_match(const Assignment& assigned, const Entry& e) {
    assigned_ = assigned;
    return holds(root_, e);
  }

 private:
  using Kind = NodePattern::Kind;

  // Parts of a path match each entry on it anew.
  void collect(const NodePattern& p) {
    if (std::ranges::find(parts_, &p) != parts_.end()) return;
    parts_.push_back(&p);
    const size_t bound = p.kind == Kind::Dominated ? 2 : p.parts.size();
    for (size_t k = 0; k < bound; ++k) collect(*p.parts[k]);
  }

  // Of parts in order, each entry or none; then whether what follows from the root is consistent.
  bool search(size_t k, const Entry& e) {
    if (k == parts_.size()) return holds(root_, e);
    for (const Entry& candidate : entries_) {
      assigned_[parts_[k]] = candidate;
      if (parts_[k] == &root_ && candidate != e) continue;
      if (fits_alone(*parts_[k], candidate) && search(k + 1, e)) return true;
    }
    assigned_.erase(parts_[k]);
    // Parts of an alternative that is not taken match nothing.
    return parts_[k] != &root_ && search(k + 1, e);
  }

  // Prunes what no assignment of others makes right.
  bool fits_alone(const NodePattern& p, const Entry& e) const {
    if (p.kind == Kind::Variable) return e.node->is_variable();
    if (p.kind == Kind::Constant) return graph_.is_constant(*e.node);
    if (p.kind == Kind::Call) return !e.node->is_variable() && e.node->op->name == p.op;
    if (p.kind == Kind::Output) return e.index == p.index;
    if (p.kind == Kind::Constrained) return is_constrained(p, e);
    return true;
  }

  bool is_constrained(const NodePattern& p, const Entry& e) const {
    for (const auto& [name, text] : p.attributes) {
      const std::string* given = e.node->attributes.find(name);
      if (given == nullptr || std::stod(*given) != std::stod(text)) return false;
    }
    if (p.dtype && graph_.dtype(e) != p.dtype) return false;
    if (!p.shape) return true;
    const std::vector<int64_t>& shape = *graph_.shape(e)->extents;
    return std::ranges::equal(*p.shape, shape, [](int64_t wanted, int64_t extent) {
      return wanted == Shape::kUnknown || wanted == extent;
    });
  }

  bool holds(const NodePattern& p, const Entry& e) const {
    const auto at = assigned_.find(&p);
    if (at == assigned_.end() || !(at->second == e) || !fits_alone(p, e)) return false;
    switch (p.kind) {
      case Kind::Either:
        return holds(*p.parts[0], e) || holds(*p.parts[1], e);
      case Kind::Output:
      case Kind::Constrained:
        return holds(*p.parts[0], e);
      case Kind::Dominated: {
        const auto parent = assigned_.find(p.parts[1].get());
        return parent != assigned_.end() && holds(*p.parts[0], e) &&
               holds(*p.parts[1], parent->second) &&
               leads_through(*p.parts[2], e.node->inputs, parent->second);
      }
      default:
        break;
    }
    if (p.kind != Kind::Call || p.any_inputs) return true;
    if (e.node->inputs.size() != p.parts.size()) return false;
    const auto in_order = [&](bool swapped) {
      for (size_t k = 0; k < p.parts.size(); ++k) {
        if (!holds(*p.parts[k], e.node->inputs[swapped ? 1 - k : k])) return false;
      }
      return true;
    };
    return in_order(false) || (p.op == "elemwise_add" && in_order(true));
  }

  bool leads_through(const NodePattern& path, const std::vector<Entry>& inputs,
                     const Entry& parent) const {
    return !inputs.empty() && std::ranges::all_of(inputs, [&](const Entry& e) {
      return e == parent ||
             (BruteForce(path, graph_).matches(e) && leads_through(path, e.node->inputs, parent));
    });
  }

  const NodePattern& root_;
  const PatternGraph& graph_;
  std::vector<const NodePattern*> parts_;
  std::vector<Entry> entries_;
  Assignment assigned_;
};

PatternRef random_pattern(test::Random& random, int depth, std::vector<PatternRef>& made) {
  const auto part = [&] {
    if (!made.empty() && random.chance(25)) return random.pick(made);
    return random_pattern(random, depth - 1, made);
  };
  PatternRef p;
  switch (depth == 0 ? random.between(0, 2) : random.between(0, 14)) {
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
    case 6:
      p = has_attr(part(), {{"scalar", random.chance(50) ? "2.0" : "1"}});
      break;
    case 7:
      p = has_dtype(part(), random.chance(50) ? float_type(32) : int_type(32));
      break;
    case 8:
      p = has_shape(part(), {random.between(-1, 2), random.chance(50) ? Shape::kUnknown : 4});
      break;
    case 9:
      p = is_tuple_get_item(random.chance(70) ? is_op("split") : part(),
                            static_cast<uint32_t>(random.between(0, 1)));
      break;
    case 10:
      p = optional(part(), [](PatternRef of) { return is_op("tanh", {std::move(of)}); });
      break;
    case 11: {
      const PatternRef parent = part(), child = part();
      p = dominates(parent, child, random.chance(50) ? wildcard() : is_op("tanh"));
      break;
    }
    default: {
      const PatternRef a = part();
      p = is_op("elemwise_add", {a, part()});
    }
  }
  if (random.chance(50)) p = named(p, fmt::format("part{}", made.size()));
  made.push_back(p);
  return p;
}

// Values of two types and of two shapes.
Graph random_graph(test::Random& random) {
  std::vector<Symbol> values{variable("x"), variable("w")};
  const auto type_of = [](const Symbol& s) {
    const Graph graph = inferred({.outputs = s.outputs()});
    const PatternGraph facts(graph);
    return std::pair(*facts.shape(graph.outputs[0])->extents, *facts.dtype(graph.outputs[0]));
  };
  for (int64_t k = random.between(1, 4); k > 0; --k) {
    const Symbol first = random.pick(values);
    std::vector<Symbol> alike;
    std::ranges::copy_if(values, std::back_inserter(alike),
                         [&](const Symbol& s) { return type_of(s) == type_of(first); });
    const std::string name = fmt::format("n{}", values.size());
    switch (random.between(0, 8)) {
      case 0:
        values.push_back(call("cast", name, {first}, {{"dtype", "int32"}}));
        break;
      case 1:
        values.push_back(
            call("__add_scalar__", name, {first}, {{"scalar", random.chance(50) ? "1" : "2"}}));
        break;
      case 2:
      case 3: {
        if (type_of(first).first[0] == 1) break;
        const Symbol parts =
            call("split", name, {first}, {{"indices_or_sections", "2"}, {"axis", "0"}});
        values.push_back(parts.output(0));
        values.push_back(parts.output(1));
        break;
      }
      case 4:
        if (type_of(first).second == float_type(32)) values.push_back(call("tanh", name, {first}));
        break;
      case 5:
        values.push_back(call("elemwise_sub", name, {first, random.pick(alike)}));
        break;
      default:
        values.push_back(call("elemwise_add", name, {first, random.pick(alike)}));
    }
  }
  return graph_of(values.back(), {"w"});
}

TEST(Pattern, AgreesWithTryingEverything) {
  test::FuzzCases cases(2500, 1);
  int pairs = 0, matched = 0;
  std::map<NodePattern::Kind, int> kinds;  // of matched parts
  while (cases.next()) {
    SCOPED_TRACE(cases.seed());
    test::Random random(cases.seed());
    const Graph graph = random_graph(random);
    const PatternGraph patterns(graph);
    std::vector<PatternRef> made;
    const PatternRef pattern = random_pattern(random, 2, made);
    BruteForce brute(*pattern, patterns);
    if (brute.assignments() > 2e5) continue;
    for (const NodeRef& node : patterns.index().nodes()) {
      for (const Entry& e : entries_of(node)) {
        const bool wanted = brute.matches(e);
        ++pairs;
        matched += wanted ? 1 : 0;
        const auto m = match(pattern, e, patterns);
        const std::string what = to_string(*pattern) + " at " + node->name + "\n" + to_text(graph);
        ASSERT_EQ(m.has_value(), wanted) << what;
        if (!m) continue;
        ASSERT_TRUE(brute.is_match(m->entries, e)) << what;
        std::map<std::string, Entry> captures;
        for (const auto& [part, entry] : m->entries) {
          ++kinds[part->kind];
          if (!part->name.empty()) captures[part->name] = entry;
        }
        ASSERT_EQ(m->captures, captures) << what;
      }
    }
  }
  EXPECT_GT(8 * matched, pairs) << "of several thousand pairs";
  for (const auto kind : {NodePattern::Kind::Output, NodePattern::Kind::Either,
                          NodePattern::Kind::Constrained, NodePattern::Kind::Dominated})
    EXPECT_GT(200 * kinds[kind], matched) << static_cast<int>(kind);
}

}  // namespace
}  // namespace tw::graph
