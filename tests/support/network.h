// SPDX-License-Identifier: Apache-2.0
// Random networks, and the values of a network's outputs: what rewriting passes are tested with.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "graph/group.h"
#include "graph/json.h"
#include "graph/pass.h"
#include "schedule/topi/topi.h"
#include "tests/support/fuzz.h"
#include "tests/support/graph.h"
#include "tests/support/random_ir.h"
#include "tests/support/te_run.h"

namespace tw::graph {

using Values = std::map<std::string, test::Array>;  // of variables, by name

// Of each variable of a graph whose shapes are inferred: between -1 and 1, variances above 0.
inline Values random_values(const Graph& graph, test::Random& random) {
  const GraphIndex index(graph);
  const auto& shapes = *graph.find<std::vector<Shape>>("shape");
  Values values;
  for (uint32_t id : index.inputs()) {
    const std::string& name = index.nodes()[id]->name;
    const bool positive = name.ends_with("var");
    values[name] = test::Array(*shapes[index.entry_id(id, 0)].extents, [&](int64_t) {
      const double v = static_cast<double>(random.between(-1000, 1000)) / 1000;
      return positive ? std::abs(v) + 0.5 : v;
    });
  }
  return values;
}

// The outputs as te computes them in float32. Variables that the graph has no more are not needed.
inline std::vector<test::Array> outputs_of(const Graph& graph, const Values& variables) {
  std::map<std::string, te::Tensor> tensors;
  for (const auto& [name, value] : variables) {
    tensors[name] = test::placeholder_like(value, float_type(32), name);
  }
  std::vector<te::Tensor> outputs;
  // An output may be a variable, or one entry twice.
  for (const te::Tensor& t : computations(graph.outputs, tensors))
    outputs.push_back(topi::identity(t));
  const te::Program program = te::make_program(outputs);
  std::vector<test::Array> inputs;
  for (size_t k = 0; k + outputs.size() < program.arguments.size(); ++k) {
    inputs.push_back(variables.at(program.arguments[k].name()));
  }
  return test::run(outputs, inputs);
}

inline void expect_close(const std::vector<test::Array>& got,
                         const std::vector<test::Array>& wanted, double tolerance = 1e-4) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t k = 0; k < got.size(); ++k) {
    ASSERT_EQ(got[k].shape, wanted[k].shape) << "output " << k;
    double largest = 1, apart = 0;
    for (size_t i = 0; i < got[k].data.size(); ++i) {
      largest = std::max(largest, std::abs(wanted[k].data[i]));
      const double difference = std::abs(got[k].data[i] - wanted[k].data[i]);
      apart = std::isfinite(difference) ? std::max(apart, difference) : INFINITY;
    }
    ASSERT_LE(apart, tolerance * largest) << "output " << k;
  }
}

// Once: a second time would forget what was known of variables before a pass.
inline Graph inferred(Graph graph) {
  if (graph.attributes.contains("shape")) return graph;
  return apply(apply(std::move(graph), "InferShape"), "InferType");
}

// Applies a pass that keeps values: they are as before, so is the graph that it was given, and a
// second time changes no more. The result is the pass's.
inline Graph expect_kept(Graph graph, std::string_view pass, const Values& values) {
  graph = inferred(std::move(graph));
  const std::string before = save_json(graph);
  const Graph result = apply(graph, pass);
  EXPECT_EQ(save_json(graph), before) << pass << " changes nodes of its argument";
  const Graph again = apply(inferred(result), pass);
  EXPECT_EQ(save_json({.outputs = again.outputs}), save_json({.outputs = result.outputs}))
      << pass << " changes its own result";
  expect_close(outputs_of(result, values), outputs_of(graph, values));
  if (testing::Test::HasFailure()) {
    ADD_FAILURE() << pass << " makes of\n" << to_text(graph) << "\n" << to_text(result);
  }
  return result;
}

// Small networks of images: convolutions of all kinds, normalizations, activations, branches that
// meet again, values that are read several times, weights that are shared.
class RandomNetwork {
 public:
  explicit RandomNetwork(test::Random& random) : random_(random), nhwc_(random.chance(30)) {}

  Graph graph() {
    images_.push_back(variable("x", {1, 4, 4, 4}));
    for (int64_t k = random_.between(2, 14); k > 0; --k) images_.push_back(layer());
    std::vector<Symbol> outputs;
    for (int64_t k = random_.between(1, 2); k > 0; --k) outputs.push_back(end(recent()).symbol);
    return inferred({.outputs = Symbol::group(outputs).outputs()});
  }

 private:
  struct Image {
    Symbol symbol;
    int64_t channels, size;  // size × size pixels
  };

  std::string name(std::string_view what) { return fmt::format("{}{}", what, count_++); }
  static std::string text(const std::vector<int64_t>& v) {
    return fmt::format("({},)", fmt::join(v, ", "));
  }

  // n, c, h, w
  Image variable(std::string name, std::vector<int64_t> s) {
    if (nhwc_) s = {s[0], s[2], s[3], s[1]};
    return {Symbol::variable(std::move(name), {{"shape", text(s)}, {"dtype", "float32"}}), 4, 4};
  }
  Image recent() {
    const auto n = static_cast<int64_t>(images_.size());
    const int64_t back = random_.chance(60) ? 1 : random_.chance(60) ? std::min<int64_t>(n, 3) : n;
    return images_[static_cast<size_t>(n - random_.between(1, back))];
  }
  Symbol channel_values(int64_t channels) {
    const Symbol values = Symbol::variable(name("p"), {{"shape", text({channels})}});
    if (nhwc_) return values;
    return call("expand_dims", name("e"), {values}, {{"axis", "1"}, {"num_newaxis", "2"}});
  }

  Image convolution(const Image& x) {
    const bool depthwise = random_.chance(25);
    const int64_t groups = depthwise ? x.channels : random_.chance(25) ? 2 : 1;
    const int64_t channels =
        depthwise ? x.channels * random_.between(1, 2) : 2 * random_.between(1, 3);
    const int64_t kernel = random_.chance(50) && x.size >= 3 ? 3 : 1;
    const int64_t pad = kernel == 3 ? random_.between(0, 1) : 0;
    Attributes a{{"channels", fmt::format("{}", channels)},
                 {"kernel_size", fmt::format("{}", kernel)},
                 {"padding", fmt::format("{}", pad)},
                 {"groups", fmt::format("{}", groups)},
                 {"layout", nhwc_ ? "NHWC" : "NCHW"},
                 {"kernel_layout", nhwc_ ? "HWIO" : "OIHW"},
                 {"use_bias", random_.chance(50) ? "True" : "False"}};
    const std::string key = fmt::format("{} {} {} {}", channels, kernel, groups, x.channels);
    std::vector<Symbol> inputs{x.symbol};
    if (random_.chance(25) && weights_.contains(key)) inputs.push_back(weights_.at(key));
    const Symbol z = call("conv2d", name("conv"), inputs, a);
    weights_[key] = Symbol({z.outputs()[0].node->inputs[1]});
    return {z, channels, x.size + 2 * pad - kernel + 1};
  }

  Image layer() {
    const Image x = recent();
    const std::string axis = nhwc_ ? "3" : "1", layout = nhwc_ ? "NHWC" : "NCHW";
    const auto as_x = [&](const Symbol& s) { return Image{s, x.channels, x.size}; };
    switch (random_.between(0, 15)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return convolution(x);
      case 4:
      case 5:
        return as_x(call("batch_norm", name("bn"), {x.symbol},
                         {{"axis", random_.chance(20) && nhwc_ ? "-1" : axis},
                          {"scale", random_.chance(80) ? "True" : "False"},
                          {"epsilon", "1e-3"}}));
      case 6:
      case 7:
        return as_x(call("relu", name("relu"), {x.symbol}));
      case 8: {
        const std::vector<std::string> ops{"tanh", "negative", "copy", "sigmoid"};
        return as_x(call(random_.pick(ops), name("f"), {x.symbol}));
      }
      case 9: {
        const Image y = recent();
        const std::vector<std::string> ops{"elemwise_add", "elemwise_sub", "elemwise_mul"};
        if (y.channels != x.channels || y.size != x.size) return convolution(x);
        return as_x(call(random_.pick(ops), name("both"), {x.symbol, y.symbol}));
      }
      case 10: {
        const std::vector<std::string> ops{"broadcast_add", "broadcast_mul", "broadcast_mul"};
        return as_x(call(random_.pick(ops), name("c"), {x.symbol, channel_values(x.channels)}));
      }
      case 11:
        if (x.size < 2) return as_x(call("dropout", name("drop"), {x.symbol}));
        return {call(random_.chance(50) ? "max_pool2d" : "avg_pool2d", name("pool"), {x.symbol},
                     {{"pool_size", "2"}, {"layout", layout}}),
                x.channels, x.size - 1};
      case 13:
        return as_x(nothing(x.symbol));
      case 14:  // once more what is there
        return as_x(Symbol({again(x.symbol.outputs()[0])}));
      case 12:
        return as_x(call("dropout", name("drop"), {x.symbol}));
      default: {
        const std::vector<std::string> ops{"__mul_scalar__", "__div_scalar__"};
        return as_x(call(random_.pick(ops), name("s"), {x.symbol},
                         {{"scalar", random_.chance(70) ? "1.5" : "-0.5"}}));
      }
    }
  }

  // Nodes that change nothing, or might.
  Symbol nothing(const Symbol& x) {
    const std::vector<std::string> axes{"(0, 1, 2, 3)", "(0, 2, 3, 1)", "(0, 3, 1, 2)",
                                        "(0, 1, 3, 2)"};
    switch (random_.between(0, 4)) {
      case 0: {
        const Symbol y = call("transpose", name("t"), {x}, {{"axes", axes[1]}});
        return call("transpose", name("t"), {y}, {{"axes", axes[2]}});
      }
      case 1:
        return call("transpose", name("t"), {x}, {{"axes", axes[random_.chance(50) ? 3 : 0]}});
      case 2: {
        const Symbol y = call("flip", name("flip"), {x}, {{"axis", "2"}});
        return call("flip", name("flip"), {y}, {{"axis", random_.chance(50) ? "2" : "1"}});
      }
      case 3:
        return call("cast", name("cast"), {x}, {{"dtype", "float32"}});
      default:
        return call("strided_slice", name("s"), {x},
                    {{"begin", "(0, 0)"}, {"end", "(9, 9)"}, {"stride", "(1, 1)"}});
    }
  }

  // A node of the same inputs and attributes.
  Entry again(const Entry& e) {
    if (e.node->is_variable()) return e;
    Node node = *e.node;
    node.name = name("again");
    if (random_.chance(30) && !node.inputs.empty()) node.inputs[0] = again(node.inputs[0]);
    return {make_node(std::move(node)), e.index};
  }

  Image end(const Image& x) {
    if (random_.chance(60)) return x;
    const Symbol flat = call("flatten", name("flat"), {x.symbol});
    Symbol z = call("dense", name("dense"), {flat}, {{"units", "3"}});
    for (int64_t k = random_.between(0, 2); k > 0; --k) {
      const std::string shape = random_.chance(50) ? "(3,)" : "(1, 3)";
      const Symbol p = Symbol::variable(name("p"), {{"shape", shape}, {"dtype", "float32"}}),
                   q = Symbol::variable(name("p"), {{"shape", shape}, {"dtype", "float32"}});
      const Symbol by = random_.chance(30) ? call("broadcast_mul", name("pq"), {p, q}) : p;
      z = call("broadcast_mul", name("m"), {z, by});
      if (random_.chance(50)) z = call("dense", name("dense"), {z}, {{"units", "3"}});
    }
    return {z, 3, 1};
  }

  test::Random& random_;
  const bool nhwc_;
  std::vector<Image> images_;
  std::map<std::string, Symbol> weights_;  // by what they fit
  int count_ = 0;
};

// A pass that takes nodes away keeps what random networks compute, and does take some away.
inline void expect_networks_kept_and_smaller(std::string_view pass) {
  test::FuzzCases cases(200, 1);
  size_t before = 0, after = 0;
  while (cases.next()) {
    SCOPED_TRACE(cases.seed());
    test::Random random(cases.seed());
    const Graph graph = RandomNetwork(random).graph();
    const Values values = random_values(graph, random);
    before += GraphIndex(graph).num_nodes();
    after += GraphIndex(expect_kept(graph, pass, values)).num_nodes();
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_LT(after, before);
}

}  // namespace tw::graph
