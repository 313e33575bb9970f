// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <map>

#include "graph/json.h"
#include "graph/op.h"
#include "graph/pass.h"
#include "runtime/error.h"
#include "tests/support/fuzz.h"
#include "tests/support/graph.h"
#include "tests/support/random_ir.h"

namespace tw::graph {
namespace {

Graph ordered(const std::vector<Symbol>& outputs) {
  return apply({.outputs = Symbol::group(outputs).outputs()}, "OrderMutation");
}
std::vector<std::string> waits_for(const Graph& graph, std::string_view name) {
  std::vector<std::string> names;
  for (const NodeRef& node : nodes_of(graph.outputs)) {
    if (node->name != name) continue;
    for (const NodeRef& n : node->control_dependencies) names.push_back(n->name);
  }
  return names;
}
ErrorInfo error_of(const std::vector<Symbol>& outputs) {
  try {
    ordered(outputs);
  } catch (const Error& e) {
    return e.info();
  }
  return {};
}

TEST(OrderMutation, ReadersBeforeAndAfterAWriteAreKeptApart) {
  const Symbol x = Symbol::variable("x");
  const Symbol before = call("relu", "before", {x}), sum = call("elemwise_add", "sum", {before, x});
  const Symbol write = call("_assign", "write", {x, sum});
  const Symbol after = call("elemwise_add", "after", {sum, x});
  // The graph names the later reader first.
  const Graph graph = ordered({after, write});
  EXPECT_THAT(waits_for(graph, "write"), testing::ElementsAre("before", "sum"));
  EXPECT_THAT(waits_for(graph, "after"), testing::ElementsAre("write"));
  EXPECT_EQ(to_text(graph),
            "Graph(%x) {\n"
            "  %1 = relu(%x)\n"
            "  %2 = elemwise_add(%1, %x)\n"
            "  %3 = _assign(%x, %2, control_deps=[%1, %2])\n"
            "  %4 = elemwise_add(%2, %x, control_deps=[%3])\n"
            "  ret %4, %3\n"
            "}");
  // Versions stay in the file, as NNVM's do, and so does the order.
  const Graph read = load_json(save_json(graph));
  EXPECT_EQ(to_text(read), to_text(graph));
  EXPECT_EQ(read.outputs[1].node->inputs[0].version, 1u);
  EXPECT_EQ(to_text(apply(read, "OrderMutation")), to_text(graph));
  // A call on the variable that was read goes on where it was.
  const Symbol again({{read.outputs[1].node->inputs[0].node}});
  EXPECT_EQ(call("relu", "r", {again}).outputs()[0].node->inputs[0].version, 1u);
}

TEST(OrderMutation, WritersFollowOneAnother) {
  const Symbol x = Symbol::variable("x"), y = Symbol::variable("y");
  std::vector<Symbol> writers;
  for (int k = 0; k < 3; ++k) writers.push_back(call("_assign", fmt::format("w{}", k), {x, y}));
  const Graph graph = ordered({writers[2], writers[0], writers[1]});
  EXPECT_THAT(waits_for(graph, "w0"), testing::ElementsAre());
  EXPECT_THAT(waits_for(graph, "w1"), testing::ElementsAre("w0", "w0_value"));
  EXPECT_THAT(waits_for(graph, "w2"), testing::ElementsAre("w1", "w1_value"));
}

TEST(OrderMutation, WhatIsWrittenOverIsCopied) {
  const Symbol x = Symbol::variable("x"), y = Symbol::variable("y");
  const Symbol first = call("_assign", "first", {x, y}),
               sum = call("elemwise_add", "sum", {first, y}),
               second = call("_assign", "second", {x, sum});
  EXPECT_EQ(to_text(ordered({second, first})),
            "Graph(%x, %y) {\n"
            "  %2 = _assign(%x, %y)\n"
            "  %3 = __copy(%2)\n"
            "  %4 = elemwise_add(%3, %y)\n"
            "  %5 = _assign(%x, %4, control_deps=[%2, %3])\n"
            "  ret %5, %3\n"
            "}");
}

TEST(OrderMutation, GraphsWithoutWritersStayAsTheyAre) {
  const Symbol z = call("relu", "r", {Symbol::variable("x")});
  EXPECT_EQ(ordered({z}).outputs, z.outputs());
}

TEST(OrderMutation, WhatCannotBeOrderedIsAnError) {
  const Symbol x = Symbol::variable("x"), y = Symbol::variable("y");
  const Symbol write = call("_assign", "write", {x, y}), after = call("relu", "after", {x});
  EXPECT_EQ(error_of({after}).where, "node 'after'") << "the writer is not in the graph";
  EXPECT_EQ(error_of({after, write}).what, "");
  // Files may say anything.
  Node twice = *write.outputs()[0].node;
  twice.name = "twice";
  EXPECT_EQ(error_of({write, Symbol({{make_node(twice)}})}).where, "node 'twice'");
  Node early = *after.outputs()[0].node;
  early.inputs = {{write.outputs()[0]}};
  early.op = &get_op("elemwise_add");
  early.inputs.push_back({x.outputs()[0].node, 0, 0});
  EXPECT_EQ(error_of({Symbol({{make_node(early)}})}).what,
            "a value of a variable that is written before it can be read");
  try {
    call("_assign", "a", {call("relu", "r", {y}), y});
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.info().what, "'_assign' writes to 'r', which is no variable");
  }
}

// What a program of reads and writes leaves, where values are texts that say how they came about.
TEST(OrderMutation, RandomProgramsReadWhatTheyWereWrittenToRead) {
  test::FuzzCases cases(300, 1);
  int different = 0;
  while (cases.next()) {
    test::Random random(cases.seed());
    const std::vector<Symbol> variables{Symbol::variable("x"), Symbol::variable("y")};
    std::map<std::string, std::string> memory{{"x", "x"}, {"y", "y"}};
    struct Value {
      Symbol symbol;
      std::string text;
    };
    std::vector<Value> values;
    const auto operand = [&]() -> Value {
      if (!values.empty() && random.chance(40)) return random.pick(values);
      const Symbol& v = random.pick(variables);
      return {v, memory.at(v.name())};
    };
    for (int k = 0; k < 12; ++k) {
      const Value a = operand(), b = operand();
      const std::string name = fmt::format("n{}", k);
      if (random.chance(30)) {
        const Symbol& v = random.pick(variables);
        memory[v.name()] = b.text;
        values.push_back({call("_assign", name, {v, b.symbol}), b.text});
      } else {
        values.push_back({call("elemwise_add", name, {a.symbol, b.symbol}),
                          fmt::format("({}+{})", a.text, b.text)});
      }
    }
    std::vector<Symbol> outputs;
    for (const Value& v : values)
      outputs.insert(outputs.begin() + random.between(0, static_cast<int64_t>(outputs.size())),
                     v.symbol);
    const auto run = [&](const Graph& graph) {
      std::map<std::string, std::string> cells{{"x", "x"}, {"y", "y"}}, results;
      for (const NodeRef& node : nodes_of(graph.outputs)) {
        if (node->is_variable()) continue;
        // What a writer gives is in the variable.
        const auto value = [&](const Entry& e) {
          const bool assigned = e.node->op != nullptr && e.node->op->name == "_assign";
          const std::string& name = assigned ? e.node->inputs[0].node->name : e.node->name;
          return assigned || e.node->is_variable() ? cells.at(name) : results.at(name);
        };
        if (node->op->name == "__copy") {
          results[node->name] = value(node->inputs[0]);
          continue;
        }
        const std::string a = value(node->inputs[0]), b = value(node->inputs[1]);
        const bool writes = node->op->name == "_assign";
        if (writes) cells[node->inputs[0].node->name] = b;
        results[node->name] = writes ? b : fmt::format("({}+{})", a, b);
      }
      // What outputs are in the end, by the names of the nodes that they were.
      std::map<std::string, std::string> found;
      for (size_t k = 0; k < outputs.size(); ++k) {
        const Node& node = *graph.outputs[k].node;
        const bool writes = node.op->name == "_assign";
        found[outputs[k].name()] =
            writes ? cells.at(node.inputs[0].node->name) : results.at(node.name);
      }
      return found;
    };
    std::map<std::string, std::string> wanted;
    for (const Value& v : values) wanted[v.symbol.name()] = v.text;
    const Graph unordered{.outputs = Symbol::group(outputs).outputs()};
    different += run(unordered) != wanted;
    const Graph ordered = apply(unordered, "OrderMutation");
    ASSERT_EQ(run(ordered), wanted) << to_text(unordered);
    ASSERT_EQ(to_text(apply(ordered, "OrderMutation")), to_text(ordered));
  }
  EXPECT_GT(different, cases.cases() / 2) << "the pass matters for most";
}

}  // namespace
}  // namespace tw::graph
