// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "graph/op.h"
#include "tests/support/fuzz.h"
#include "tests/support/network.h"

namespace tw::graph {
namespace {

Symbol variable(std::string name, const std::string& shape) {
  return Symbol::variable(std::move(name), {{"shape", shape}, {"dtype", "float32"}});
}
Symbol image() { return variable("x", "(2, 4, 5, 5)"); }
Symbol conv(std::string name, const Symbol& x, Attributes more = {}) {
  Attributes a{{"channels", "4"}, {"kernel_size", "3"}, {"padding", "1"}};
  for (const auto& [key, text] : more) a.set(key, text);
  return call("conv2d", std::move(name), {x}, a);
}
Symbol along_channels(const Symbol& values) {
  return call("expand_dims", "e", {values}, {{"axis", "1"}, {"num_newaxis", "2"}});
}
Symbol scaled(std::string name, const Symbol& x, const Symbol& by) {
  return call("broadcast_mul", std::move(name), {x, by});
}
Symbol factor() { return along_channels(variable("f", "(4,)")); }
// Of which no value is below 0.
Symbol positive() { return along_channels(call("exp", "p", {variable("f", "(4,)")})); }
Symbol relu(const Symbol& x) { return call("relu", "relu", {x}); }

// The graph after the pass, whose values are checked.
Graph folded(const Symbol& symbol) {
  const Graph graph = inferred({.outputs = symbol.outputs()});
  test::Random random(1);
  return inferred(expect_kept(graph, "FoldScaleAxis", random_values(graph, random)));
}

// How many nodes multiply what depends on x.
int products(const Graph& graph) {
  std::set<const Node*> moving;
  int count = 0;
  for (const NodeRef& node : nodes_of(graph.outputs)) {
    bool moves = node->name == "x";
    for (const Entry& e : node->inputs) moves = moves || moving.contains(e.node.get());
    if (!moves) continue;
    moving.insert(node.get());
    if (!node->is_variable() && node->op->name.find("mul") != std::string_view::npos) ++count;
  }
  return count;
}
bool folds(const Symbol& symbol) { return products(folded(symbol)) == 0; }

TEST(FoldScaleAxis, BackwardIntoWeightAndBias) {
  const Graph graph = folded(scaled("m", conv("c", image()), factor()));
  EXPECT_EQ(to_text({.outputs = graph.outputs}),
            "Graph(%x,\n      %c_weight,\n      %f,\n      %c_bias) {\n"
            "  %3 = expand_dims(%f, axis='1', num_newaxis='3')\n"
            "  %4 = broadcast_mul(%c_weight, %3)\n"
            "  %6 = broadcast_mul(%c_bias, %f)\n"
            "  %7 = conv2d(%x, %4, %6, channels='4', kernel_size='3', padding='1')\n"
            "  ret %7\n"
            "}");
}

TEST(FoldScaleAxis, ForwardIntoWeight) {
  const Graph graph = folded(conv("c", scaled("m", image(), factor())));
  EXPECT_EQ(to_text({.outputs = graph.outputs}),
            "Graph(%x,\n      %c_weight,\n      %f,\n      %c_bias) {\n"
            "  %3 = expand_dims(%f, axis='1', num_newaxis='2')\n"
            "  %4 = broadcast_mul(%c_weight, %3)\n"
            "  %6 = conv2d(%x, %4, %c_bias, channels='4', kernel_size='3', padding='1')\n"
            "  ret %6\n"
            "}");
}

TEST(FoldScaleAxis, AllKindsOfWeights) {
  const std::vector<Attributes> kinds = {
      {},
      {{"use_bias", "False"}},
      {{"kernel_layout", "HWIO"}},
      {{"groups", "2"}},
      {{"groups", "2"}, {"channels", "6"}, {"kernel_layout", "IHOW"}},
      {{"groups", "4"}},
      {{"groups", "4"}, {"kernel_layout", "HWIO"}},
      {{"groups", "4"}, {"channels", "8"}},
  };
  for (const Attributes& kind : kinds) {
    EXPECT_TRUE(folds(conv("c", scaled("m", image(), factor()), kind)));
    const std::string* channels = kind.find("channels");
    const Symbol by = along_channels(variable("f", channels ? "(" + *channels + ",)" : "(4,)"));
    EXPECT_TRUE(folds(scaled("m", conv("c", image(), kind), by)));
  }
  const Attributes nhwc{{"layout", "NHWC"}};
  const Symbol f = variable("f", "(4,)"), x = variable("x", "(2, 5, 5, 4)");
  EXPECT_TRUE(folds(scaled("m", conv("c", x, nhwc), f)));
  EXPECT_TRUE(folds(conv("c", scaled("m", x, f), nhwc)));
  const Symbol flat = variable("x", "(3, 4)");
  const Attributes units{{"units", "4"}};
  EXPECT_TRUE(folds(scaled("m", call("dense", "d", {flat}, units), f)));
  EXPECT_TRUE(folds(call("dense", "d", {scaled("m", f, flat)}, units)));
}

TEST(FoldScaleAxis, ReluAndMaximaAskForFactorsOfZeroOrMore) {
  const auto pool = [](std::string_view op, const Symbol& x) {
    return call(op, "pool", {x}, {{"pool_size", "2"}, {"padding", "1"}});
  };
  const auto slopes = [](const Symbol& x) { return call("prelu", "prelu", {x}); };
  for (const bool sign : {false, true}) {
    const Symbol f = sign ? positive() : factor();
    EXPECT_EQ(folds(scaled("m", relu(conv("c", image())), f)), sign);
    EXPECT_EQ(folds(conv("c", relu(scaled("m", image(), f)))), sign);
    EXPECT_EQ(folds(scaled("m", pool("max_pool2d", conv("c", image())), f)), sign);
    EXPECT_EQ(folds(scaled("m", slopes(conv("c", image())), f)), sign);
    EXPECT_TRUE(folds(scaled("m", pool("avg_pool2d", conv("c", image())), f)));
  }
  const auto times = [](std::string scalar, const Symbol& x) {
    return call("__mul_scalar__", "m", {x}, {{"scalar", std::move(scalar)}});
  };
  EXPECT_TRUE(folds(times("0.5", relu(conv("c", image())))));
  EXPECT_TRUE(folds(times("0", relu(conv("c", image())))));
  EXPECT_FALSE(folds(times("-0.5", relu(conv("c", image())))));
  EXPECT_TRUE(folds(times("-0.5", conv("c", image()))));
}

TEST(FoldScaleAxis, WhatIsKnownOfSigns) {
  const Symbol v = variable("f", "(4,)");
  const auto add = [&](const Symbol& x, std::string scalar) {
    return call("__add_scalar__", "a", {x}, {{"scalar", std::move(scalar)}});
  };
  const Symbol root = call("sqrt", "s", {v});
  const Symbol inverse = call("__rdiv_scalar__", "i", {root}, {{"scalar", "1"}});
  const auto passes = [&](const Symbol& values) {
    return folds(scaled("m", relu(conv("c", image())), along_channels(values)));
  };
  EXPECT_TRUE(passes(inverse));
  EXPECT_TRUE(passes(add(call("exp", "p", {v}), "1")));
  EXPECT_FALSE(passes(add(call("exp", "p", {v}), "-1")));
  EXPECT_FALSE(passes(call("elemwise_mul", "g", {inverse, v})));
  EXPECT_FALSE(passes(call("elemwise_sub", "g", {root, root})));
}

TEST(FoldScaleAxis, SumsTakeAFactorWhereAllTermsDo) {
  const Symbol x = image();
  EXPECT_TRUE(
      folds(scaled("m", call("elemwise_add", "s", {conv("a", x), conv("b", x)}), factor())));
  // The image itself would have to be multiplied.
  EXPECT_FALSE(folds(scaled("m", call("elemwise_add", "s", {conv("a", x), x}), factor())));
  // A value for each channel is multiplied, a whole tensor is not.
  EXPECT_TRUE(folds(
      scaled("m", call("broadcast_add", "s", {conv("a", x), along_channels(variable("v", "(4,)"))}),
             factor())));
  EXPECT_FALSE(folds(scaled(
      "m", call("broadcast_add", "s", {conv("a", x), variable("v", "(4, 5, 5)")}), factor())));
  // Forward the sum has the factor where both terms have it, and nothing else does.
  const Symbol m = scaled("m", x, positive());
  EXPECT_TRUE(folds(conv("c", call("elemwise_add", "s", {m, relu(m)}))));
  EXPECT_FALSE(folds(conv("c", call("elemwise_add", "s", {m, relu(x)}))));
  EXPECT_FALSE(
      folds(conv("c", call("broadcast_add", "s", {m, along_channels(variable("v", "(4,)"))}))));
}

TEST(FoldScaleAxis, SharedNodesAreLeftAloneUnlessAllReadersAgree) {
  const Symbol x = image(), c = conv("c", x), m = scaled("m", c, factor());
  EXPECT_FALSE(folds(Symbol::group({m, c}))) << "an output";
  EXPECT_FALSE(folds(call("elemwise_add", "s", {m, call("tanh", "t", {c})})));
  EXPECT_TRUE(folds(scaled("m", call("elemwise_add", "s", {c, c}), factor())));
  EXPECT_FALSE(folds(scaled("m", call("elemwise_mul", "s", {c, c}), factor())));
  const Symbol f = scaled("m", x, factor());
  EXPECT_TRUE(folds(Symbol::group({conv("a", f), conv("b", f)})));
  EXPECT_FALSE(folds(Symbol::group({conv("a", f), f})));
  EXPECT_FALSE(folds(Symbol::group({conv("a", f), call("tanh", "t", {f})})));
  // Two convolutions of one weight, of which one is multiplied.
  const Symbol w = variable("w", "(4, 4, 3, 3)");
  const Attributes a{{"channels", "4"}, {"kernel_size", "3"}, {"padding", "1"}};
  EXPECT_TRUE(
      folds(call("conv2d", "c2", {scaled("m", call("conv2d", "c1", {x, w}, a), factor()), w}, a)));
}

TEST(FoldScaleAxis, OtherDimensionsAreRefused) {
  const Symbol x = image();
  for (const char* shape : {"(2, 1, 1, 1)", "(5, 1)", "(5,)", "(4, 5, 1)", "(2, 4, 1, 1)"}) {
    EXPECT_FALSE(folds(scaled("m", conv("c", x), variable("f", shape)))) << shape;
    EXPECT_FALSE(folds(conv("c", scaled("m", x, variable("f", shape))))) << shape;
  }
  // One channel, one value.
  const Symbol one = conv("c", x, {{"channels", "1"}});
  EXPECT_TRUE(folds(scaled("m", one, variable("f", "(1, 1, 1)"))));
}

TEST(FoldScaleAxis, FactorsThatDependOnImagesStay) {
  const Symbol x = variable("x", "(1, 4, 5, 5)"), c = conv("c", x);
  const Symbol pooled = call("global_avg_pool2d", "g", {x});
  EXPECT_FALSE(folds(scaled("m", c, call("sigmoid", "s", {pooled}))));
}

TEST(FoldScaleAxis, WeightsOfAnotherTypeStay) {
  const Symbol c = conv("c", image(), {{"out_dtype", "float64"}, {"use_bias", "False"}});
  const Graph graph = apply({.outputs = scaled("m", c, factor()).outputs()}, "InferShape");
  EXPECT_EQ(products(apply(graph, "FoldScaleAxis")), 1);
}

// What it is for: a normalized convolution computes nothing more than a convolution with a bias.
TEST(FoldScaleAxis, NormalizationsGoIntoPrecomputedWeights) {
  Symbol z = image();
  for (int k = 0; k < 3; ++k) {
    const std::string n = fmt::format("{}", k);
    z = relu(call("batch_norm", "bn" + n, {conv("c" + n, z, {{"use_bias", "False"}})}));
  }
  Graph graph = inferred({.outputs = z.outputs()});
  test::Random random(1);
  const Values values = random_values(graph, random);
  graph = apply(graph, "SimplifyInference");
  std::vector<Shape> shapes;
  for (const std::string& name : GraphIndex(graph).input_names())
    shapes.emplace_back(values.at(name).shape);
  graph.attributes["shape_inputs"] = shapes;
  graph = expect_kept(graph, "FoldScaleAxis", values);
  std::vector<std::string> parameters;
  for (const auto& [name, value] : values) {
    if (name != "x") parameters.push_back(name);
  }
  graph.attributes["param_name_list"] = parameters;
  graph = apply(graph, "PrecomputePrune");
  std::vector<std::string_view> ops;
  for (const NodeRef& node : nodes_of(graph.outputs)) {
    if (!node->is_variable()) ops.push_back(node->op->name);
  }
  EXPECT_THAT(ops,
              testing::ElementsAre("conv2d", "broadcast_add", "relu", "conv2d", "broadcast_add",
                                   "relu", "conv2d", "broadcast_add", "relu"));
}

TEST(FoldScaleAxis, RandomNetworksGiveTheSame) {
  test::FuzzCases cases(300, 1);
  int before = 0, after = 0;
  while (cases.next()) {
    SCOPED_TRACE(cases.seed());
    test::Random random(cases.seed());
    Graph graph = RandomNetwork(random).graph();
    const Values values = random_values(graph, random);
    graph = apply(graph, "SimplifyInference");
    before += products(graph);
    after += products(expect_kept(graph, "FoldScaleAxis", values));
    if (HasFailure()) return;
  }
  EXPECT_LT(after, before * 3 / 4);
}

}  // namespace
}  // namespace tw::graph
