// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "graph/dtypes.h"
#include "graph/op.h"
#include "graph/pass.h"
#include "graph/symbol.h"
#include "runtime/error.h"
#include "tests/support/fuzz.h"
#include "tests/support/graph.h"
#include "tests/support/random_ir.h"

namespace tw::graph {
namespace {

using Numbers = std::vector<int64_t>;
using test::FuzzCases;
using test::Random;

Graph planned(Graph graph) {
  for (std::string_view pass : {"InferShape", "InferType", "PlanMemory"}) {
    graph = apply(std::move(graph), pass);
  }
  return graph;
}
Graph planned(const Symbol& symbol) { return planned(Graph{.outputs = symbol.outputs()}); }
const Numbers& storage_of(const Graph& graph) { return *graph.find<Numbers>("storage_id"); }

Symbol variable(std::string name, const std::string& shape) {
  return Symbol::variable(std::move(name), {{"shape", shape}, {"dtype", "float32"}});
}

// What a node may overwrite, read from the table or the attribute anew.
std::set<std::pair<size_t, size_t>> pairs_of(const Graph& graph, const GraphIndex& index,
                                             size_t id) {
  std::set<std::pair<size_t, size_t>> pairs;
  if (const auto* texts = graph.find<std::vector<std::string>>("inplace")) {
    size_t in = 0, out = 0;
    int used = 0;
    for (const char* at = (*texts)[id].c_str(); std::sscanf(at, "%zu:%zu%n", &in, &out, &used) == 2;
         at += used) {
      pairs.emplace(in, out);
    }
  } else if (!index.nodes()[id]->is_variable()) {
    for (const InplacePair& pair : index.nodes()[id]->op->inplace) {
      pairs.emplace(pair.input, pair.output);
    }
  }
  return pairs;
}

struct Sizes {
  int64_t planned = 0;  // of all storages but the variables'
  int64_t live = 0;     // the most that is in use at once
  // What storages must have that are shared as a whole: the largest value that is ever in use, the
  // most that the second largest beside it has, and so on.
  int64_t bound = 0;
};

// Runs the graph with names of entries for values, and says what went wrong.
std::string fault_of(const Graph& graph, Sizes* sizes = nullptr) {
  const GraphIndex index(graph);
  const Numbers& storage = storage_of(graph);
  if (storage.size() != index.num_entries()) return "not one storage for each entry";
  std::map<int64_t, size_t> holds;  // which entry's value a storage has
  std::map<int64_t, int64_t> bytes;
  std::set<int64_t> own, seen;
  const auto& shapes = *graph.find<std::vector<Shape>>("shape");
  const auto& types = *graph.find<Numbers>("dtype");
  const auto bytes_of = [&](size_t e) {
    const DType type = *type_of_number(static_cast<int>(types[e]));
    return shapes[e].elements() * type.element_bytes();
  };
  std::set<size_t> outputs;
  for (const Entry& e : index.outputs()) outputs.insert(index.entry_id(e));
  for (size_t id = 0; id < index.num_nodes(); ++id) {
    const Node& node = *index.nodes()[id];
    const size_t begin = index.first_entries()[id], end = index.first_entries()[id + 1];
    for (const Entry& e : node.inputs) {
      if (holds.at(storage[index.entry_id(e)]) != index.entry_id(e)) {
        return fmt::format("'{}' reads what is overwritten", node.name);
      }
    }
    const auto pairs = pairs_of(graph, index, id);
    for (size_t e = begin; e < end; ++e) {
      for (size_t k = 0; k < node.inputs.size(); ++k) {
        const size_t input = index.entry_id(node.inputs[k]);
        if (storage[input] != storage[e]) continue;
        if (!pairs.contains({k, e - begin})) {
          return fmt::format("'{}' overwrites its input {}", node.name, k);
        }
        if (bytes_of(input) != bytes_of(e)) {
          return fmt::format("'{}' overwrites its input {} of another size", node.name, k);
        }
      }
      for (size_t other = begin; other < e; ++other) {
        if (storage[other] == storage[e]) return fmt::format("'{}' writes twice", node.name);
      }
      if (own.contains(storage[e]))
        return fmt::format("'{}' writes to what is not shared", node.name);
      if (node.is_variable() || outputs.contains(e)) {
        own.insert(storage[e]);
        if (seen.contains(storage[e])) return fmt::format("'{}' shares", node.name);
      }
      seen.insert(storage[e]);
      holds[storage[e]] = e;
      if (!node.is_variable()) {
        int64_t& size = bytes[storage[e]];
        size = std::max(size, bytes_of(e));
      }
    }
  }
  for (size_t e : outputs) {
    if (holds.at(storage[e]) != e) return "an output is overwritten";
  }
  if (sizes != nullptr) {
    for (const auto& [id, size] : bytes) sizes->planned += size;
    std::vector<int64_t> largest;
    // Which values are read later, node by node; a storage that holds one is in use.
    for (size_t id = 0; id < index.num_nodes(); ++id) {
      std::map<int64_t, int64_t> used;
      for (size_t e = 0; e < index.num_entries(); ++e) {
        const size_t from = static_cast<size_t>(std::ranges::upper_bound(index.first_entries(), e) -
                                                index.first_entries().begin() - 1);
        if (index.nodes()[from]->is_variable()) continue;
        size_t last = from;
        for (size_t reader = from + 1; reader < index.num_nodes(); ++reader) {
          for (const Entry& in : index.nodes()[reader]->inputs) {
            if (index.entry_id(in) == e) last = reader;
          }
        }
        if (outputs.contains(e) || (from <= id && id <= last)) used[storage[e]] = bytes_of(e);
      }
      std::vector<int64_t> live;
      for (const auto& [storage_id, size] : used) live.push_back(size);
      std::ranges::sort(live, std::greater());
      sizes->live = std::max(sizes->live, std::accumulate(live.begin(), live.end(), int64_t{0}));
      largest.resize(std::max(largest.size(), live.size()));
      for (size_t k = 0; k < live.size(); ++k) largest[k] = std::max(largest[k], live[k]);
    }
    sizes->bound = std::accumulate(largest.begin(), largest.end(), int64_t{0});
  }
  return "";
}

TEST(PlanMemory, AChainOfElementwiseNodesIsOneStorage) {
  const Symbol x = variable("x", "(4, 8)");
  Symbol z = x;
  for (int i = 0; i < 5; ++i) z = call("relu", fmt::format("r{}", i), {z});
  EXPECT_EQ(storage_of(planned(call("softmax", "s", {z}))), (Numbers{0, 1, 1, 1, 1, 1, 2}));
}

TEST(PlanMemory, WhatIsReadAgainIsNotOverwritten) {
  const Symbol x = variable("x", "(4,)"), a = call("exp", "a", {x}), b = call("tanh", "b", {a}),
               c = call("exp", "c", {b}), d = call("elemwise_add", "d", {a, c});
  // b and c are one, d is in place of either, and the last its own.
  EXPECT_EQ(storage_of(planned(call("exp", "e", {d}))), (Numbers{0, 1, 2, 2, 1, 3}));
}

TEST(PlanMemory, AnInputReadTwiceIsOverwrittenWhereBothAllowIt) {
  const Symbol x = variable("x", "(4, 4)"), a = call("exp", "a", {x});
  const auto last_but_one = [](const Symbol& z) {
    const Numbers ids = storage_of(planned(call("exp", "end", {z})));
    return std::pair(ids[1], ids[2]);
  };
  EXPECT_EQ(last_but_one(call("elemwise_mul", "m", {a, a})), std::pair(int64_t{1}, int64_t{1}));
  // matmul reads an operand again; prelu's slopes are read for many elements.
  EXPECT_EQ(last_but_one(call("matmul", "m", {a, a})), std::pair(int64_t{1}, int64_t{2}));
  const Symbol v = call("exp", "v", {variable("y", "(4,)")});
  EXPECT_EQ(last_but_one(call("prelu", "p", {v, v}, {{"axis", "0"}})),
            std::pair(int64_t{1}, int64_t{2}));
}

TEST(PlanMemory, BroadcastInputsAreOverwrittenWhereTheyAreAsLarge) {
  const Symbol row = call("exp", "row", {variable("x", "(1, 4)")}),
               all = call("exp", "all", {variable("y", "(3, 4)")});
  const Graph g = planned(call("exp", "end", {call("broadcast_add", "sum", {row, all})}));
  const Numbers& ids = storage_of(g);  // x, row, y, all, sum, end
  EXPECT_NE(ids[4], ids[1]);
  EXPECT_EQ(ids[4], ids[3]);
}

TEST(PlanMemory, OutputsAndVariablesShareWithNone) {
  const Symbol x = variable("x", "(4,)"), a = call("exp", "a", {x}), b = call("exp", "b", {a}),
               c = call("exp", "c", {b});
  Graph graph{.outputs = Symbol::group({b, c, b, x}).outputs()};
  graph = planned(std::move(graph));
  EXPECT_EQ(storage_of(graph), (Numbers{0, 1, 2, 3}));
  EXPECT_EQ(*graph.find<int64_t>("planned_bytes"), 3 * 16);
  EXPECT_EQ(*graph.find<int64_t>("peak_bytes"), 3 * 16);
}

// Values of sizes 1, 3, 2, 3: in the order of time the first storage would grow.
TEST(PlanMemory, LargeOnesArePlacedFirst) {
  Symbol z = variable("x", "(1,)");
  for (const char* shape : {"(1,)", "(3,)", "(2,)", "(3,)"}) {
    z = call("broadcast_to", "b", {call("sum", "s", {z}, {{"keepdims", "1"}})}, {{"shape", shape}});
  }
  const Graph graph = planned(call("sum", "end", {z}));
  EXPECT_EQ(fault_of(graph), "");
  EXPECT_EQ(*graph.find<int64_t>("planned_bytes"), *graph.find<int64_t>("peak_bytes"));
}

TEST(PlanMemory, WhatIsWrittenToAVariableIsInItsMemory) {
  const Symbol x = variable("x", "(4,)"), y = variable("y", "(4,)"),
               write = call("_assign", "w", {x, call("exp", "e", {y})});
  // Inputs are x, y, e, w.
  EXPECT_EQ(storage_of(planned(write)), (Numbers{0, 1, 2, 0}));
  EXPECT_EQ(*planned(write).find<int64_t>("planned_bytes"), 16);
}

TEST(PlanMemory, DevicesDoNotShare) {
  const Symbol x = variable("x", "(4,)");
  Graph graph{.outputs = call("exp", "c", {call("exp", "b", {call("exp", "a", {x})})}).outputs()};
  graph.attributes["device"] = Numbers{1, 1, 2, 2};
  EXPECT_EQ(storage_of(planned(std::move(graph))), (Numbers{0, 1, 2, 3}));
}

TEST(PlanMemory, SaysWhatIsMissing) {
  const auto error_of = [](Graph graph) {
    try {
      apply(std::move(graph), "PlanMemory");
    } catch (const Error& e) {
      return e.info();
    }
    return ErrorInfo{};
  };
  const Symbol z = call("relu", "r", {variable("x", "(4,)")});
  EXPECT_EQ(error_of({.outputs = z.outputs()}).code, ErrorCode::PassRequirement);
  Graph graph = apply(apply({.outputs = z.outputs()}, "InferShape"), "InferType");
  graph.attributes["inplace"] = std::vector<std::string>{"", "0-0"};
  EXPECT_EQ(error_of(graph).where, "node 'r'");
  graph.attributes["inplace"] = std::vector<std::string>{""};
  EXPECT_EQ(error_of(graph).code, ErrorCode::BadGraph);
  graph.attributes.erase("inplace");
  graph.attributes["shape"] = std::vector<Shape>{Shape({4}), Shape({-1})};
  EXPECT_EQ(error_of(graph).what, "the shape of 'r' is unknown");
}

// A graph of nodes with one to three outputs, whose shapes are whatever: the plan reads no more
// than their sizes, and what may be overwritten.
Graph random_graph(Random& random) {
  std::vector<Entry> entries;
  const int nodes = static_cast<int>(random.between(2, 30));
  for (int n = 0; n < nodes; ++n) {
    Node node;
    node.name = fmt::format("n{}", n);
    if (!entries.empty() && !random.chance(15)) {
      const bool parts = random.chance(25);
      node.op = &get_op(parts ? "split" : "elemwise_sum");
      if (parts)
        node.attributes.set("indices_or_sections", fmt::format("{}", random.between(1, 3)));
      for (int64_t k = parts ? 1 : random.between(1, 4); k > 0; --k) {
        // Mostly what is new, so that there are chains.
        const int64_t size = static_cast<int64_t>(entries.size());
        const int64_t back = random.chance(70) ? std::min<int64_t>(size, 4) : size;
        node.inputs.push_back(entries[static_cast<size_t>(size - random.between(1, back))]);
      }
    }
    const NodeRef made = make_node(std::move(node));
    for (uint32_t k = 0; k < static_cast<uint32_t>(made->num_outputs()); ++k)
      entries.push_back({made, k});
  }
  Graph graph;
  for (int64_t k = random.between(1, 3); k > 0; --k) {
    graph.outputs.push_back(
        entries[entries.size() -
                static_cast<size_t>(random.between(
                    1, std::min<int64_t>(5, static_cast<int64_t>(entries.size()))))]);
  }
  const GraphIndex index(graph);
  std::vector<Shape> shapes;
  Numbers types;
  for (size_t e = 0; e < index.num_entries(); ++e) {
    shapes.push_back(Shape({random.between(0, 4), random.chance(50) ? 1 : 5}));
    types.push_back(random.chance(80) ? 0 : 1);
  }
  graph.attributes["shape"] = std::move(shapes);
  graph.attributes["dtype"] = std::move(types);
  if (random.chance(80)) {
    std::vector<std::string> inplace;
    for (const NodeRef& node : index.nodes()) {
      std::string text;
      for (size_t k = 0; k < node->inputs.size(); ++k) {
        for (int o = 0; o < node->num_outputs(); ++o) {
          if (random.chance(60)) text += fmt::format("{}{}:{}", text.empty() ? "" : " ", k, o);
        }
      }
      inplace.push_back(text);
    }
    graph.attributes["inplace"] = std::move(inplace);
  }
  return graph;
}

TEST(PlanMemory, RandomGraphsReadNothingThatIsOverwritten) {
  int64_t planned_bytes = 0, bound = 0;
  FuzzCases cases(500, 1);
  while (cases.next()) {
    Random random(cases.seed());
    const Graph graph = apply(random_graph(random), "PlanMemory");
    Sizes sizes;
    ASSERT_EQ(fault_of(graph, &sizes), "") << "seed " << cases.seed() << "\n" << to_text(graph);
    ASSERT_EQ(*graph.find<int64_t>("planned_bytes"), sizes.planned);
    ASSERT_EQ(*graph.find<int64_t>("peak_bytes"), sizes.live) << to_text(graph);
    ASSERT_GE(sizes.planned, sizes.bound);
    planned_bytes += sizes.planned;
    bound += sizes.bound;
  }
  // The figure is that of the greedy placement; a little more says that it got worse.
  EXPECT_LT(static_cast<double>(planned_bytes), 1.02 * static_cast<double>(bound));
}

// The layers of a network by their shapes: what a plan needs of one.
class Layers {
 public:
  Symbol conv(const Symbol& x, int channels, int kernel = 3, int stride = 1, int groups = 1) {
    const Symbol y = call("conv2d", name("conv"), {x},
                          {{"channels", fmt::format("{}", channels)},
                           {"kernel_size", fmt::format("{}", kernel)},
                           {"padding", fmt::format("{}", kernel / 2)},
                           {"strides", fmt::format("{}", stride)},
                           {"groups", fmt::format("{}", groups)}});
    return call("relu", name("relu"), {y});
  }
  Symbol bottleneck(const Symbol& x, int channels, int stride, bool project) {
    const Symbol y = conv(conv(conv(x, channels, 1), channels, 3, stride), 4 * channels, 1);
    return call(
        "relu", name("relu"),
        {call("elemwise_add", name("add"), {y, project ? conv(x, 4 * channels, 1, stride) : x})});
  }
  Symbol dense_layer(const Symbol& x, int growth) {
    return call("concatenate", name("cat"), {x, conv(conv(x, 4 * growth, 1), growth)});
  }
  std::string name(const char* what) { return fmt::format("{}{}", what, count_++); }

 private:
  int count_ = 0;
};

TEST(PlanMemory, NetworksNeedLittleMoreThanTheyMust) {
  const Symbol image = variable("x", "(1, 3, 224, 224)");
  const auto pool = [](const Symbol& x) {
    return call("max_pool2d", "pool", {x}, {{"pool_size", "2"}, {"strides", "2"}});
  };
  Layers l;
  Symbol resnet = pool(l.conv(image, 64, 7, 2)), mobilenet = l.conv(image, 32, 3, 2),
         densenet = pool(l.conv(image, 64, 7, 2));
  const int depth[] = {3, 4, 6, 3};
  for (int stage = 0; stage < 4; ++stage) {
    for (int k = 0; k < depth[stage]; ++k) {
      resnet = l.bottleneck(resnet, 64 << stage, k == 0 && stage > 0 ? 2 : 1, k == 0);
    }
  }
  int channels = 32;
  for (int block = 0; block < 13; ++block) {
    const bool down = block == 1 || block == 3 || block == 5 || block == 11;
    mobilenet = l.conv(mobilenet, channels, 3, down ? 2 : 1, channels);
    if (down || block == 0) channels *= 2;
    mobilenet = l.conv(mobilenet, channels, 1);
  }
  for (int stage = 0; stage < 3; ++stage) {
    for (int k = 0; k < 6; ++k) densenet = l.dense_layer(densenet, 32);
    densenet = pool(l.conv(densenet, 128, 1));
  }
  for (const auto& [name, network] :
       {std::pair("resnet50", resnet), {"mobilenet", mobilenet}, {"densenet", densenet}}) {
    const Graph graph = planned(call("global_avg_pool2d", "gap", {network}));
    Sizes sizes;
    EXPECT_EQ(fault_of(graph, &sizes), "");
    EXPECT_LE(static_cast<double>(sizes.planned), 1.07 * static_cast<double>(sizes.bound)) << name;
  }
}

}  // namespace
}  // namespace tw::graph
