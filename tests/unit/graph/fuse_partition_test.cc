// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "graph/pass.h"
#include "graph/symbol.h"
#include "tests/support/graph.h"

namespace tw::graph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Symbol image(std::string name = "x") {
  return Symbol::variable(std::move(name), {{"shape", "(1, 8, 6, 6)"}});
}
Symbol conv(std::string name, const Symbol& x) {
  return call("conv2d", std::move(name), {x},
              {{"channels", "8"}, {"kernel_size", "3"}, {"padding", "1"}, {"use_bias", "False"}});
}

struct Groups {
  GraphIndex index;
  std::vector<int64_t> roots, masters;
  std::vector<std::string> reasons;

  explicit Groups(const Symbol& s, int64_t opt_level = 2) : Groups(partitioned(s, opt_level)) {}
  explicit Groups(const Graph& g)
      : index(g),
        roots(*g.find<std::vector<int64_t>>("group_root")),
        masters(*g.find<std::vector<int64_t>>("group_master")),
        reasons(*g.find<std::vector<std::string>>("fusion_reason")) {}
  static Graph partitioned(const Symbol& s, int64_t opt_level) {
    Graph g{.outputs = s.outputs()};
    g.attributes["opt_level"] = opt_level;
    return apply(apply(std::move(g), "InferShape"), "GraphFusePartition");
  }
  size_t id(std::string_view name) const {
    for (size_t k = 0; k < index.num_nodes(); ++k) {
      if (index.nodes()[k]->name == name) return k;
    }
    return index.num_nodes();
  }
  std::string root(std::string_view node) const {
    return index.nodes()[static_cast<size_t>(roots[id(node)])]->name;
  }
  std::string master(std::string_view node) const {
    const int64_t m = masters[id(node)];
    return m < 0 ? "" : index.nodes()[static_cast<size_t>(m)]->name;
  }
  std::string reason(std::string_view node) const { return reasons[id(node)]; }
};

TEST(FusePartition, AsTheDocumentsPrint) {
  const Symbol x = Symbol::variable("x", {{"shape", "(1, 13, 100, 100)"}});
  const Attributes window{{"channels", "13"}, {"kernel_size", "(3, 3)"}, {"padding", "[1, 1]"}};
  Symbol z = call("relu", "relu0", {call("conv2d", "conv2d2", {x}, window)});
  z = call("relu", "relu1", {call("conv2d", "conv2d3", {z}, window)});
  z = call("flatten", "flatten0", {call("broadcast_add", "__add_symbol__1", {x, z})});
  z = call("softmax", "softmax0", {call("dense", "dense0", {z}, {{"units", "10"}})});
  const Groups g(call("sum", "sum0", {z}, {{"keepdims", "True"}}));
  EXPECT_THAT(g.roots, ElementsAre(0, 1, 2, 4, 4, 5, 6, 9, 9, 9, 10, 11, 12, 13, 14, 15));
  EXPECT_THAT(g.masters, ElementsAre(-1, -1, -1, 3, 3, -1, -1, 7, 7, 7, 10, -1, -1, 13, 14, 15));
}

TEST(FusePartition, WhatSeveralReadIsStored) {
  const Symbol r = call("relu", "r", {conv("c", image())});
  const Groups g(call("elemwise_add", "sum", {call("exp", "e", {r}), call("tanh", "t", {r})}));
  EXPECT_EQ(g.root("c"), "r");
  EXPECT_EQ(g.root("r"), "r");
  EXPECT_EQ(g.reason("r"), "2 inputs read it");
  EXPECT_EQ(g.root("e"), "sum");
  EXPECT_EQ(g.root("t"), "sum");
}

TEST(FusePartition, OneConvolutionAGroup) {
  const Groups g(call("elemwise_add", "sum", {conv("a", image()), conv("b", image("y"))}));
  EXPECT_EQ(g.root("a"), "sum");
  EXPECT_EQ(g.master("sum"), "a");
  EXPECT_EQ(g.root("b"), "b");
  EXPECT_THAT(g.reason("b"), HasSubstr("has the loops of 'a' already"));
}

TEST(FusePartition, AConvolutionKeepsItsShape) {
  const Symbol weights = Symbol::variable("w", {{"shape", "(4, 8, 6, 6)"}});
  const Groups g(call("broadcast_add", "sum", {conv("c", image()), weights}));
  EXPECT_EQ(g.root("c"), "c");
  EXPECT_EQ(g.reason("c"), "'sum' changes its shape from (1, 8, 6, 6) to (4, 8, 6, 6)");
}

TEST(FusePartition, WhatMovesElementsTakesElementwiseProducers) {
  const Groups g(call("transpose", "t", {call("relu", "r", {image()})}));
  EXPECT_EQ(g.root("r"), "t");
  const Groups h(call("flatten", "f", {call("relu", "r", {conv("c", image())})}));
  EXPECT_EQ(h.root("r"), "r");
  EXPECT_EQ(h.root("f"), "f");
  EXPECT_THAT(h.reason("r"), HasSubstr("does not follow in the loops"));
}

TEST(FusePartition, ReductionsTakeTheirProducersAndEnd) {
  const Groups g(call("exp", "e", {call("sum", "s", {call("relu", "r", {image()})})}));
  EXPECT_EQ(g.root("r"), "s");
  EXPECT_EQ(g.master("s"), "s");
  EXPECT_EQ(g.root("s"), "s");
  EXPECT_THAT(g.reason("s"), HasSubstr("nothing follows in the loops of a sum"));
}

TEST(FusePartition, OutputsAreStored) {
  const Symbol r = call("relu", "r", {image()});
  const Groups g(Symbol::group({r, call("exp", "e", {r})}));
  EXPECT_EQ(g.root("r"), "r");
  EXPECT_THAT(g.reason("r"), HasSubstr("output of the graph"));
}

TEST(FusePartition, NothingIsFusedAtLevelZero) {
  const Groups g(call("relu", "r", {conv("c", image())}), 0);
  EXPECT_EQ(g.root("c"), "c");
  EXPECT_EQ(g.reason("c"), "opt_level 0 fuses nothing");
}

}  // namespace
}  // namespace tw::graph
