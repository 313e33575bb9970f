// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <set>

#include "autotune/log/log.h"
#include "graph/group.h"
#include "graph/op.h"
#include "graph/pass.h"
#include "tests/support/expect_error.h"
#include "tests/support/graph.h"
#include "tests/support/graph_values.h"
#include "tests/support/temporary_folder.h"

namespace tw::graph {
namespace {

using test::Array;
using testing::HasSubstr;
using Texts = std::vector<std::string>;

const std::string kAvx512 = "llvm -mcpu=skylake-avx512", kAvx2 = "llvm -mcpu=haswell",
                  kSse = "llvm -mcpu=nehalem";

Graph inferred(Graph graph) { return apply(apply(std::move(graph), "InferShape"), "InferType"); }
// The sequence of compiler.build at opt_level 3.
Graph altered(const Symbol& s, const std::string& target, const std::string& log = "") {
  Graph graph{.outputs = s.outputs()};
  graph.attributes["target"] = target;
  graph.attributes["threads"] = int64_t{1};
  if (!log.empty()) graph.attributes["log"] = log;
  graph = inferred(apply(std::move(graph), "CorrectLayout"));
  return apply(apply(std::move(graph), "AlterOpLayout"), "CorrectLayout");
}

Symbol image(const std::string& shape) {
  return Symbol::variable("x", {{"shape", shape}, {"dtype", "float32"}});
}
Symbol conv(std::string name, const Symbol& x, int64_t channels, int kernel = 1, int stride = 1,
            Attributes more = {}) {
  Attributes texts{{"channels", fmt::format("{}", channels)},
                   {"kernel_size", fmt::format("{}", kernel)},
                   {"strides", fmt::format("{}", stride)},
                   {"padding", fmt::format("{}", kernel / 2)},
                   {"use_bias", "False"}};
  for (const auto& [key, text] : more) texts.set(key, text);
  return call("conv2d", std::move(name), {x}, texts);
}
// A convolution, and what SimplifyInference leaves of a batch_norm: (C, 1, 1) arrays.
Symbol unit(const std::string& name, const Symbol& x, int64_t channels, int kernel, int stride,
            bool relu) {
  const std::string shape = fmt::format("({},)", channels);
  Symbol z = conv(name, x, channels, kernel, stride);
  z = call(
      "broadcast_mul", name + "_scaled",
      {z, call("expand_dims", name + "_g", {Symbol::variable(name + "_gamma", {{"shape", shape}})},
               {{"axis", "1"}, {"num_newaxis", "2"}})});
  z = call(
      "broadcast_add", name + "_shifted",
      {z, call("expand_dims", name + "_b", {Symbol::variable(name + "_beta", {{"shape", shape}})},
               {{"axis", "1"}, {"num_newaxis", "2"}})});
  return relu ? call("relu", name + "_relu", {z}) : z;
}
Symbol block(const std::string& name, const Symbol& x, int64_t channels, int stride, bool project) {
  Symbol z = unit(name + "a", x, channels, 3, stride, true);
  z = unit(name + "b", z, channels, 3, 1, false);
  const Symbol skip = project ? unit(name + "s", x, channels, 1, stride, false) : x;
  return call("relu", name + "_out", {call("elemwise_add", name + "_sum", {z, skip})});
}
// A residual network; resnet18 with width 64 and four stages of two blocks.
Symbol resnet(const Symbol& x, int64_t width, int stages, int blocks) {
  Symbol z = unit("stem", x, width, 7, 2, true);
  z = call("max_pool2d", "pool", {z}, {{"pool_size", "3"}, {"strides", "2"}, {"padding", "1"}});
  for (int s = 0; s < stages; ++s) {
    for (int b = 0; b < blocks; ++b) {
      z = block(fmt::format("s{}b{}", s, b), z, width << s, s > 0 && b == 0 ? 2 : 1,
                s > 0 && b == 0);
    }
  }
  z = call("flatten", "flat", {call("global_avg_pool2d", "mean", {z})});
  return call("softmax", "softmax", {call("dense", "fc", {z}, {{"units", "10"}})});
}

// Nodes that depend on data, and not on parameters alone.
std::vector<NodeRef> data_nodes(const Graph& graph) {
  std::map<const Node*, bool> depends;
  std::vector<NodeRef> result;
  for (const NodeRef& node : nodes_of(graph.outputs)) {
    bool& d = depends[node.get()];
    d = node->is_variable() && node->name == "x";
    for (const Entry& e : node->inputs) d = d || depends[e.node.get()];
    if (d && !node->is_variable()) result.push_back(node);
  }
  return result;
}
std::vector<std::string> transforms_of_data(const Graph& graph) {
  std::vector<std::string> names;
  for (const NodeRef& node : data_nodes(graph)) {
    if (node->op->name == "__layout_transform__") names.push_back(node->name);
  }
  return names;
}
int convolutions(const Graph& graph, std::string_view op) {
  int count = 0;
  for (const NodeRef& node : data_nodes(graph)) count += node->op->name == op;
  return count;
}

TEST(AlterOpLayout, NoTransformStandsBetweenConvolutionsOfResnet18) {
  const Graph g = altered(resnet(image("(1, 3, 224, 224)"), 64, 4, 2), kAvx512);
  EXPECT_EQ(convolutions(g, "_contrib_conv2d_NCHWc"), 20);
  EXPECT_EQ(convolutions(g, "conv2d"), 0);
  // Only the result of the last pooling, 512 numbers, goes back, where it is made a vector.
  EXPECT_EQ(transforms_of_data(g), Texts{"mean_NCHW"});
  const Graph shapes = inferred(g);
  EXPECT_EQ(*shapes.find<int64_t>("shape_num_unknown_nodes"), 0);
  // Parameters are transformed where a build does it once, each under a name of its own.
  std::set<std::string> names;
  for (const NodeRef& node : nodes_of(g.outputs))
    EXPECT_TRUE(names.insert(node->name).second) << node->name;
  EXPECT_TRUE(names.contains("s0b0a_weight_OIHW16i16o"));
  EXPECT_TRUE(names.contains("stem_weight_OIHW16o")) << "images of 3 channels stay as they are";
  EXPECT_TRUE(names.contains("s0b0a_g_CHW16c"));
}

// Groups are those of the plain network: nothing stands between a convolution and what follows it.
TEST(AlterOpLayout, ConvolutionsAreFusedAsBefore) {
  const Symbol net = resnet(image("(1, 3, 32, 32)"), 16, 2, 1);
  const auto groups = [&](Graph g) {
    g = apply(inferred(std::move(g)), "GraphFusePartition");
    const GraphIndex index(g);
    std::map<int64_t, int> members;
    const auto& roots = *g.find<std::vector<int64_t>>("group_root");
    for (const NodeRef& node : data_nodes(g)) ++members[roots[index.node_id(*node)]];
    std::vector<int> sizes;
    for (const auto& [root, size] : members) sizes.push_back(size);
    return sizes;
  };
  std::vector<int> plain = groups({.outputs = net.outputs()}),
                   blocked = groups(altered(net, kAvx512));
  // flatten has the transform that brings its input back.
  EXPECT_EQ(std::accumulate(plain.begin(), plain.end(), 0) + 1,
            std::accumulate(blocked.begin(), blocked.end(), 0));
  EXPECT_EQ(plain.size(), blocked.size());
}

TEST(AlterOpLayout, BlocksFillARegister) {
  const auto layout = [](const std::string& target, int64_t in, int64_t out, int64_t groups = 1) {
    const Symbol z = conv("c", image(fmt::format("(1, {}, 4, 4)", in)), out, 3, 1,
                          {{"groups", fmt::format("{}", groups)}});
    const Graph g = altered(z, target);
    for (const NodeRef& node : data_nodes(g)) {
      if (node->op->name != "_contrib_conv2d_NCHWc") continue;
      return fmt::format("{} {} {}", *node->attributes.find("layout"),
                         *node->attributes.find("kernel_layout"),
                         *node->attributes.find("out_layout"));
    }
    return std::string("plain");
  };
  EXPECT_EQ(layout(kAvx512, 32, 64), "NCHW16c OIHW16i16o NCHW16c");
  EXPECT_EQ(layout(kAvx2, 32, 64), "NCHW8c OIHW8i8o NCHW8c");
  EXPECT_EQ(layout(kSse, 32, 64), "NCHW4c OIHW4i4o NCHW4c");
  EXPECT_EQ(layout(kAvx512, 3, 64), "NCHW OIHW16o NCHW16c");
  EXPECT_EQ(layout(kAvx512, 24, 32), "NCHW24c OIHW24i16o NCHW16c") << "a register and a half";
  EXPECT_EQ(layout(kAvx512, 32, 1000), "NCHW16c OIHW16i1000o NCHW1000c");
  EXPECT_EQ(layout(kAvx512, 8, 32), "NCHW8c OIHW8i16o NCHW16c") << "half a register";
  EXPECT_EQ(layout(kAvx512, 20, 32), "plain") << "a quarter does not pay";
  EXPECT_EQ(layout(kAvx512, 32, 20), "plain");
  EXPECT_EQ(layout(kAvx512, 32, 32, 32), "NCHW16c OIHW1i16o NCHW16c");
  EXPECT_EQ(layout(kAvx512, 32, 64, 32), "plain");
  EXPECT_EQ(layout(kAvx512, 32, 32, 2), "plain");
}

std::map<std::string, Array> values_for(const Graph& graph) {
  const Graph g = inferred(graph);
  const GraphIndex index(g);
  std::map<std::string, Array> values;
  for (uint32_t id : index.inputs()) {
    const Shape& shape = (*g.find<std::vector<Shape>>("shape"))[index.entry_id(id, 0)];
    const std::string& name = index.nodes()[id]->name;
    values[name] = test::sample(*shape.extents, static_cast<int64_t>(id));
    if (!name.ends_with("_var")) continue;
    for (double& v : values[name].data) v = std::abs(v) + 1;
  }
  return values;
}

// `blocked`: how many convolutions there are then; returned too.
int expect_same_values(const Symbol& z, const std::string& target,
                       std::optional<int> blocked = {}) {
  const Graph before{.outputs = z.outputs()}, after = altered(z, target);
  const int count = convolutions(after, "_contrib_conv2d_NCHWc");
  EXPECT_EQ(count, blocked.value_or(count)) << to_text(after);
  SCOPED_TRACE(to_text(after));
  const std::map<std::string, Array> inputs = values_for(before);
  const std::vector<Array> want = values_of(before.outputs, inputs),
                           got = values_of(after.outputs, inputs);
  for (size_t k = 0; k < want.size(); ++k) {
    EXPECT_EQ(got[k].shape, want[k].shape);
    double largest = 0, difference = 0;
    for (double v : want[k].data) largest = std::max(largest, std::abs(v));
    for (size_t i = 0; i < want[k].data.size() && got[k].shape == want[k].shape; ++i) {
      difference = std::max(difference, std::abs(got[k].data[i] - want[k].data[i]));
    }
    EXPECT_LE(difference, 1e-5 * largest) << "output " << k;
    EXPECT_TRUE(largest > 0 && std::isfinite(largest));
  }
  return count;
}

TEST(AlterOpLayout, ValuesStay) {
  // Convolutions of many kinds, behind and before what they are used with.
  const Symbol x = image("(1, 3, 9, 9)");
  Symbol z = conv("stem", x, 8, 3, 2, {{"use_bias", "True"}});
  expect_same_values(z, kSse, 1);
  const Symbol wide = call("concatenate", "cat", {conv("l", z, 4), conv("r", z, 8, 3)});
  const Symbol deep =
      call("relu", "r6", {conv("dw", wide, 12, 3, 1, {{"groups", "12"}, {"use_bias", "True"}})});
  const Symbol scaled = call("batch_norm", "bn", {conv("p", deep, 12)});
  z = call("elemwise_add", "sum", {call("prelu", "pr", {scaled}), wide});
  z = call("pad", "pad", {z}, {{"pad_width", "((0, 0), (0, 0), (1, 0), (0, 2))"}});
  const Symbol parts = call("split", "parts", {z}, {{"indices_or_sections", "(8,)"}});
  z = call("max_pool2d", "mp", {parts.output(0)}, {{"pool_size", "2"}});
  const Symbol odd = conv("odd", parts.output(1), 6, 2);
  z = Symbol::group({conv("last", z, 4), call("softmax", "soft", {odd}, {{"axis", "1"}}),
                     call("sum", "s", {deep}, {{"axis", "(2, 3)"}}), wide});
  expect_same_values(z, kSse, 7);
}

TEST(AlterOpLayout, ValuesOfAResidualNetworkStay) {
  expect_same_values(
      call("flatten", "f",
           {block("b", unit("stem", image("(1, 3, 6, 6)"), 8, 3, 1, true), 8, 2, true)}),
      kAvx2, 4);
}

// Networks of chance, whose channels fill blocks or not.
class RandomNetwork {
 public:
  explicit RandomNetwork(uint32_t seed) : rng_(seed) {}

  Symbol make(int operators) {
    images_ = {{image("(1, 3, 6, 6)"), 3, 6}};
    for (int k = 0; k < operators; ++k) add(fmt::format("n{}", k));
    std::vector<Symbol> outputs{images_.back().symbol};
    if (pick(2)) outputs.push_back(any().symbol);
    return Symbol::group(outputs);
  }

 private:
  struct Image {
    Symbol symbol;
    int64_t channels, pixels;
  };
  uint32_t pick(uint32_t n) { return static_cast<uint32_t>(rng_()) % n; }
  // The last ones are read most.
  const Image& any() {
    const size_t from = images_.size() - std::min<size_t>(images_.size(), 1 + pick(4));
    return images_[from];
  }
  const Image* like(const Image& x) {
    std::vector<const Image*> alike;
    for (const Image& y : images_) {
      if (y.pixels == x.pixels && y.channels == x.channels) alike.push_back(&y);
    }
    return alike[pick(static_cast<uint32_t>(alike.size()))];
  }
  Symbol vector(const std::string& name, int64_t channels) {
    return call("expand_dims", name + "_dims",
                {Symbol::variable(name, {{"shape", fmt::format("({},)", channels)}})},
                {{"axis", "1"}, {"num_newaxis", "2"}});
  }

  void add(const std::string& name) {
    const Image x = any();
    const std::string third = fmt::format("{}", 1 + pick(3));
    switch (pick(14)) {
      case 0:
      case 1:
      case 2: {
        const int64_t channels = std::array{4, 4, 8, 12, 6}[pick(5)];
        const int kernel = x.pixels >= 3 && pick(2) ? 3 : 1;
        images_.push_back(
            {conv(name, x.symbol, channels, kernel, 1, {{"use_bias", pick(2) ? "True" : "False"}}),
             channels, x.pixels});
        return;
      }
      case 3:
        images_.push_back(
            {conv(name, x.symbol, x.channels, 1, 1, {{"groups", fmt::format("{}", x.channels)}}),
             x.channels, x.pixels});
        return;
      case 4:
        images_.push_back(
            {call("elemwise_add", name, {x.symbol, like(x)->symbol}), x.channels, x.pixels});
        return;
      case 5: {
        const Image y = any();
        if (y.pixels != x.pixels || x.channels + y.channels > 16) return;
        images_.push_back(
            {call("concatenate", name, {x.symbol, y.symbol}), x.channels + y.channels, x.pixels});
        return;
      }
      case 6:
        if (x.pixels < 2) return;
        images_.push_back(
            {call("max_pool2d", name, {x.symbol}, {{"pool_size", "2"}}), x.channels, x.pixels - 1});
        return;
      case 7:
        images_.push_back({call("broadcast_mul", name, {x.symbol, vector(name + "_v", x.channels)}),
                           x.channels, x.pixels});
        return;
      case 8:
        images_.push_back(
            {call("broadcast_add", name,
                  {call("mean", name + "_m", {x.symbol},
                        {{"axis", fmt::format("({},)", third)}, {"keepdims", "True"}}),
                   x.symbol}),
             x.channels, x.pixels});
        return;
      case 9:
        if (x.channels <= 4) return;
        images_.push_back({call("split", name, {x.symbol},
                                {{"indices_or_sections", fmt::format("({},)", pick(2) ? 4 : 2)}})
                               .output(0),
                           4, x.pixels});
        images_.back().channels =
            images_.back().symbol.attributes().find("indices_or_sections")->at(1) - '0';
        return;
      case 10:
        images_.push_back(
            {call("flip", name, {x.symbol}, {{"axis", third}}), x.channels, x.pixels});
        return;
      case 11:
        images_.push_back({call("prelu", name, {x.symbol}), x.channels, x.pixels});
        return;
      case 12:
        images_.push_back({call("transpose", name, {x.symbol}, {{"axes", "(0, 1, 3, 2)"}}),
                           x.channels, x.pixels});
        return;
      default:
        images_.push_back({call("tanh", name, {x.symbol}), x.channels, x.pixels});
    }
  }

  std::mt19937 rng_;
  std::vector<Image> images_;
};

TEST(AlterOpLayout, ValuesOfNetworksOfChanceStay) {
  int blocked = 0;
  for (uint32_t seed = 0; seed < 200 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    blocked += expect_same_values(RandomNetwork(seed).make(16), kSse);
  }
  EXPECT_GT(blocked, 200);
}

// A network whose image comes in blocks has batch_norm on blocks before it is simplified.
TEST(AlterOpLayout, BatchNormOnBlocksIsSimplified) {
  const Symbol x = Symbol::variable("x");
  const Symbol z = call("batch_norm", "bn", {x});
  Graph g{.outputs = z.outputs()};
  g.attributes["layout_inputs"] = Texts{"NCHW", "C", "C", "C", "C"};
  g = apply(std::move(g), "CorrectLayout");
  g.attributes["layout_inputs"] = Texts{"NCHW4c", "C", "C", "C", "C"};
  g = apply(std::move(g), "CorrectLayout");
  g.attributes["shape_inputs"] = std::vector<Shape>{Shape({2, 2, 3, 3, 4})};
  g = apply(apply(std::move(g), "InferShape"), "SimplifyInference");
  const Array image = test::sample({2, 8, 3, 3});
  std::map<std::string, Array> inputs{{"x", image}};
  for (const char* name : {"bn_gamma", "bn_beta", "bn_moving_mean", "bn_moving_var"}) {
    inputs[name] = Array({8}, [&](int64_t i) { return 1.0 + static_cast<double>(i) / 3; });
  }
  const Array want = values_of(z.outputs(), inputs)[0];
  inputs["x"] = in_layout(image, Layout::parse("NCHW"), Layout::parse("NCHW4c"));
  const Array got = values_of(g.outputs, inputs)[0];
  EXPECT_EQ(transforms_of_data(g), Texts{"bn_NCHW"}) << to_text(g);
  ASSERT_EQ(got.shape, want.shape);
  for (size_t i = 0; i < want.data.size(); ++i) ASSERT_NEAR(got.data[i], want.data[i], 1e-4);
}

TEST(AlterOpLayout, OutputsKeepTheirLayout) {
  const Graph g = altered(conv("c", image("(1, 16, 4, 4)"), 16), kAvx512);
  EXPECT_EQ(g.outputs[0].node->name, "c_NCHW");
  EXPECT_EQ((*g.find<Texts>("layout")).back(), "NCHW");
}

// The te program of one node on placeholders, of which all but the first are constant.
te::Program program_of(std::string_view op, const Attributes& texts,
                       const std::vector<std::vector<int64_t>>& shapes) {
  te::Program program;
  for (const std::vector<int64_t>& shape : shapes) {
    std::vector<Expr> extents;
    for (int64_t e : shape) extents.emplace_back(static_cast<int>(e));
    program.arguments.push_back(
        te::placeholder(extents, float_type(32), "p", !program.arguments.empty()));
  }
  const Op& row = get_op(op);
  program.outputs = row.compute(AttributeValues(row.attributes, texts, "n"), program.arguments);
  program.arguments.push_back(program.outputs[0]);
  return program;
}

TEST(AlterOpLayout, RecordsOfBothDecide) {
  const Symbol z = conv("c", image("(1, 16, 4, 4)"), 16);
  const test::TemporaryFolder folder;
  const std::string path = folder.file("log.db");
  Attributes texts = z.attributes();
  const te::Program plain = program_of("conv2d", texts, {{1, 16, 4, 4}, {16, 16, 1, 1}});
  texts.set("layout", "NCHW16c");
  texts.set("out_layout", "NCHW16c");
  texts.set("kernel_layout", "OIHW16i16o");
  const te::Program blocked =
      program_of("_contrib_conv2d_NCHWc", texts, {{1, 1, 4, 4, 16}, {1, 1, 1, 1, 16, 16}});
  const auto append = [&](const te::Program& program, double seconds) {
    autotune::Log log(path, autotune::Log::Mode::Write);
    const autotune::Task task = autotune::make_task(program, Target::parse(kAvx512), 1);
    log.begin_run({.id = fmt::format("run{}", seconds)});
    log.add_task(task);
    log.append({.workload = task.workload,
                .target = task.target_text,
                .threads = 1,
                .trace = "",
                .seconds = {seconds},
                .run = fmt::format("run{}", seconds)});
  };
  const auto is_blocked = [&] {
    return convolutions(altered(z, kAvx512, path), "_contrib_conv2d_NCHWc") == 1;
  };
  append(plain, 2e-3);
  EXPECT_TRUE(is_blocked()) << "nothing is known of the other";
  append(blocked, 3e-3);
  EXPECT_FALSE(is_blocked());
  append(blocked, 1e-3);
  EXPECT_TRUE(is_blocked());
}

TEST(AlterOpLayout, NeedsShapesAndTypes) {
  Graph graph{.outputs = conv("c", image("(1, 16, 4, 4)"), 16).outputs()};
  test::expect_error(ErrorCode::PassRequirement, [&] { apply(graph, "AlterOpLayout"); });
  graph = inferred(std::move(graph));
  graph.attributes["target"] = std::string("llvm -mcpu=abacus");
  test::expect_error(ErrorCode::UnknownTarget, [&] { apply(graph, "AlterOpLayout"); });
  graph.attributes["shape"] = std::vector<Shape>{};
  test::expect_error(ErrorCode::BadGraph, [&] { apply(graph, "AlterOpLayout"); });
}

}  // namespace
}  // namespace tw::graph
