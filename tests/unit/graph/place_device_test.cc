// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <set>

#include "graph/op.h"
#include "tests/support/fuzz.h"
#include "tests/support/network.h"

namespace tw::graph {
namespace {

using Numbers = std::vector<int64_t>;

Symbol on(const std::string& group, const Symbol& symbol) {
  symbol.outputs()[0].node->attributes.set("group", group);
  return symbol;
}
Graph placed(Graph graph, std::vector<std::string> map = {"a:0", "b:1"}) {
  graph.attributes["device_group_attr_key"] = std::string("group");
  graph.attributes["device_assign_map"] = std::move(map);
  return apply(std::move(graph), "PlaceDevice");
}
Graph placed(const Symbol& symbol) { return placed(Graph{.outputs = symbol.outputs()}); }

TEST(PlaceDevice, CopiesStandBetweenDevices) {
  const Symbol x = Symbol::variable("x"), first = on("a", call("exp", "first", {x}));
  const Symbol second = on("b", call("elemwise_add", "second", {first, x}));
  const Symbol third = on("b", call("elemwise_add", "third", {second, first}));
  const Graph graph = placed(third);
  EXPECT_EQ(to_text({.outputs = graph.outputs}),
            "Graph(%x) {\n"
            "  %1 = exp(%x, group='a')\n"
            "  %2 = __copy(%1)\n"
            "  %3 = __copy(%x)\n"
            "  %4 = elemwise_add(%2, %3, group='b')\n"
            "  %5 = elemwise_add(%4, %2, group='b')\n"
            "  ret %5\n"
            "}");
  EXPECT_EQ(*graph.find<Numbers>("device"), (Numbers{0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(nodes_of(graph.outputs)[2]->name, "first_copy1");
}

TEST(PlaceDevice, NodesWithoutAGroupAreWhereTheirInputsAre) {
  const Symbol x = Symbol::variable("x"), w = Symbol::variable("w");
  const Symbol second = on("b", call("exp", "second", {x}));
  const Symbol z = call("elemwise_add", "z", {call("tanh", "t", {second}), w});
  const Graph graph = placed(z);
  EXPECT_EQ(*graph.find<Numbers>("device"), Numbers(5, 1)) << "variables are where they are read";
  EXPECT_EQ(graph.outputs, z.outputs());
  // Where nobody says anything: the first device.
  EXPECT_EQ(*placed(call("exp", "e", {x})).find<Numbers>("device"), Numbers(2, 0));
}

TEST(PlaceDevice, SaysWhatIsWrong) {
  const Symbol z = on("c", call("exp", "e", {Symbol::variable("x")}));
  const auto error_of = [&](std::vector<std::string> map) {
    try {
      placed({.outputs = z.outputs()}, std::move(map));
    } catch (const Error& e) {
      return e.info();
    }
    return ErrorInfo{};
  };
  EXPECT_EQ(error_of({"a:0", "b:1"}).where, "node 'e'");
  EXPECT_EQ(error_of({"c:x"}).what, "'c:x' in the graph attribute 'device_assign_map'");
  EXPECT_EQ(error_of({"c"}).code, ErrorCode::BadArgument);
  EXPECT_EQ(error_of({"c:2"}).what, "");
}

TEST(PlaceDevice, RandomNetworksGiveTheSameOnOneDeviceANode) {
  test::FuzzCases cases(150, 1);
  while (cases.next()) {
    SCOPED_TRACE(cases.seed());
    test::Random random(cases.seed());
    Graph graph = RandomNetwork(random).graph();
    const Values values = random_values(graph, random);
    for (const NodeRef& node : nodes_of(graph.outputs)) {
      if (random.chance(40)) node->attributes.set("group", random.chance(50) ? "a" : "b");
    }
    const Graph after = placed(graph);
    const GraphIndex index(after);
    const Numbers& devices = *after.find<Numbers>("device");
    std::set<std::string> names;
    for (size_t id = 0; id < index.num_nodes(); ++id) {
      const Node& node = *index.nodes()[id];
      ASSERT_TRUE(names.insert(node.name).second) << node.name << " twice";
      if (const std::string* group = node.attributes.find("group")) {
        ASSERT_EQ(devices[id], *group == "b") << node.name;
      }
      if (node.is_variable() || node.op->name == "__copy") continue;
      for (const Entry& e : node.inputs) ASSERT_EQ(devices[index.node_id(*e.node)], devices[id]);
    }
    expect_close(outputs_of(after, values), outputs_of(graph, values), 0);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace tw::graph
