// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <algorithm>

#include "graph/build.h"
#include "graph/pass.h"
#include "runtime/error.h"
#include "tests/support/graph.h"
#include "tests/support/whole_prior.h"

namespace tw::graph {
namespace {

using Compiled = std::shared_ptr<const CompiledGroups>;
using Names = std::vector<std::string>;

Symbol variable(std::string name, const std::string& shape) {
  return Symbol::variable(std::move(name), {{"shape", shape}, {"dtype", "float32"}});
}

Graph partitioned(const Symbol& symbol, const Names& parameters = {},
                  const std::string& fusion = "nnvm") {
  Graph graph{.outputs = symbol.outputs()};
  graph = apply(apply(std::move(graph), "InferShape"), "InferType");
  graph.attributes["param_name_list"] = parameters;
  graph.attributes["fusion"] = fusion;
  graph.attributes["threads"] = int64_t{1};
  // Whether a weight is packed depends on the processor.
  graph.attributes["target"] = std::string("llvm -mcpu=x86-64-v3");
  return apply(std::move(graph), "GraphFusePartition");
}

Symbol dense(const Symbol& x, const std::string& name, int units) {
  return call("dense", name, {x, variable(name + "_weight", fmt::format("({}, 64)", units))},
              {{"units", fmt::format("{}", units)}, {"use_bias", "False"}});
}

Names functions_of(const Graph& graph) {
  Names names;
  for (const NodeRef& node : nodes_of(graph.outputs)) {
    if (!node->is_variable()) names.push_back(*node->attributes.find("func_name"));
  }
  return names;
}

TEST(GraphFuseCompile, EqualKernelsAreOneFunction) {
  const Symbol x = variable("x", "(8, 64)");
  Symbol z = call("relu", "a", {dense(x, "first", 64)});
  z = call("relu", "b", {dense(z, "second", 64)});
  z = call("relu", "c", {dense(z, "third", 32)});
  const Graph graph = apply(partitioned(z), "GraphFuseCompile");
  EXPECT_THAT(functions_of(graph),
              testing::ElementsAre("fuse_dense_relu", "fuse_dense_relu", "fuse_dense_relu_1"));
  const CompiledGroups& compiled = **graph.find<Compiled>("module");
  ASSERT_EQ(compiled.kernels.size(), 2u);
  EXPECT_EQ(compiled.kernels[0].calls, 2);
  EXPECT_TRUE(compiled.packings.empty());
  EXPECT_THAT(compiled.module->function_names(),
              testing::ElementsAre("fuse_dense_relu", "fuse_dense_relu_1"));
}

TEST(GraphFuseCompile, LeavesWhatTheDocumentsShow) {
  const Symbol x = variable("x", "(8, 64)");
  const Graph graph = apply(partitioned(dense(x, "d", 16)), "GraphFuseCompile");
  Names keys;
  for (const auto& [name, value] : graph.attributes) keys.push_back(name);
  EXPECT_THAT(keys, testing::ElementsAre("dltype", "dtype", "module", "shape", "storage_id"));
  EXPECT_THAT(*graph.find<Names>("dltype"), testing::ElementsAre("float32", "float32", "float32"));
  EXPECT_EQ(*graph.find<std::vector<Shape>>("shape"),
            (std::vector<Shape>{Shape({8, 64}), Shape({16, 64}), Shape({8, 16})}));
}

// Two layers of one shape have one code, each with a packed weight of its own; the third call has
// the first one's weight.
TEST(GraphFuseCompile, LayersOfOneShapeHaveTheirOwnPackedWeights) {
  const Symbol x = variable("x", "(8, 64)"), y = variable("y", "(8, 64)");
  const Symbol first = dense(x, "first", 64), second = dense(y, "second", 64);
  const Symbol weight = Symbol(std::vector<Entry>{first.outputs()[0].node->inputs[1]});
  const Symbol third = call("dense", "third", {call("relu", "r", {y}), weight},
                            {{"units", "64"}, {"use_bias", "False"}});
  const Symbol z = Symbol::group({first, second, third});
  const Graph graph = apply(partitioned(z, {"first_weight", "second_weight"}), "GraphFuseCompile");
  const CompiledGroups& compiled = **graph.find<Compiled>("module");
  ASSERT_EQ(compiled.packings.size(), 2u);
  EXPECT_THAT(
      GraphIndex(graph).input_names(),
      testing::UnorderedElementsAre("x", "y", "first_weight.packed", "second_weight.packed"));
  const NDArray w = NDArray::zeros({64, 64}, float_type(32));
  const Parameters packed =
      pack_parameters(compiled, {{"first_weight", w}, {"second_weight", w}, {"unread", w}},
                      GraphIndex(graph).input_names());
  ASSERT_EQ(packed.size(), 2u);
  EXPECT_TRUE(packed.contains("first_weight.packed"));
  EXPECT_THROW(pack_parameters(compiled, {{"first_weight", w}}, GraphIndex(graph).input_names()),
               Error);
}

TEST(GraphFuseCompile, OnlyNnvmsFusionCopiesToChangeAShape) {
  const Symbol z = call("flatten", "f", {dense(variable("x", "(8, 64)"), "d", 16)});
  EXPECT_THAT(functions_of(apply(partitioned(z), "GraphFuseCompile")),
              testing::ElementsAre("fuse_dense", "fuse_flatten"));
  const Graph graph = apply(partitioned(z, {}, "auto"), "GraphFuseCompile");
  EXPECT_THAT(functions_of(graph), testing::ElementsAre("fuse_dense", "__nop"));
}

// A concatenation of whole blocks of memory, and its parts, are no kernels.
TEST(GraphFuseCompile, WhatIsJoinedIsComputedInItsPlace) {
  const test::WholePrior prior;
  const Symbol x = variable("x", "(16, 64)");
  const auto joined = [&](const char* axis) {
    const Symbol all =
        call("concatenate", "all", {dense(x, "d", 32), dense(x, "e", 32)}, {{"axis", axis}});
    return apply(partitioned(call("softmax", "s", {all}), {}, "auto"), "GraphFuseCompile");
  };
  const Graph outermost = joined("0");
  EXPECT_THAT(functions_of(outermost),
              testing::UnorderedElementsAre("fuse_dense", "fuse_dense", "__nop", "fuse_softmax"));
  EXPECT_NE(outermost.find<std::vector<int64_t>>("storage_offset"), nullptr);
  EXPECT_THAT(functions_of(joined("1")), testing::UnorderedElementsAre("fuse_dense", "fuse_dense",
                                                                       "fuse_concatenate_softmax"));
  // An input of the graph is nowhere else.
  const Symbol with_x = call("concatenate", "c", {dense(x, "d", 64), x}, {{"axis", "0"}});
  EXPECT_THAT(functions_of(apply(partitioned(with_x, {}, "auto"), "GraphFuseCompile")),
              testing::UnorderedElementsAre("fuse_dense", "fuse_concatenate"));
  const Symbol parts =
      call("split", "p", {dense(x, "d", 64)}, {{"indices_or_sections", "2"}, {"axis", "0"}});
  // Products read what was computed before.
  const Symbol sum =
      call("elemwise_add", "sum", {dense(parts.output(0), "f", 8), dense(parts.output(1), "g", 8)});
  EXPECT_THAT(functions_of(apply(partitioned(sum, {}, "auto"), "GraphFuseCompile")),
              testing::UnorderedElementsAre("fuse_dense", "__nop", "fuse_dense_1",
                                            "fuse_dense_elemwise_add"));
}

// x is read by the addition last, and no variable: the sum takes its memory.
TEST(GraphFuseCompile, KernelsWorkInPlace) {
  const Symbol x = dense(variable("x", "(8, 64)"), "d", 64);
  const Symbol e = call("exp", "e", {call("softmax", "s", {x})});
  const Symbol z = call("softmax", "t", {call("broadcast_add", "z", {e, x})});
  const Graph graph = apply(partitioned(z), "GraphFuseCompile");
  const GraphIndex index(graph);
  const auto& storage = *graph.find<std::vector<int64_t>>("storage_id");
  std::map<std::string, int64_t> of;
  for (uint32_t id = 0; id < index.num_nodes(); ++id) {
    of[index.nodes()[id]->name] = storage[index.entry_id(id, 0)];
  }
  EXPECT_TRUE(of.at("z") == of.at("d") || of.at("z") == of.at("s")) << to_text(graph);
}

TEST(GraphFuseCompile, SaysWhatIsMissing) {
  const Symbol z = call("relu", "r", {variable("x", "(2,)")});
  const Graph graph = apply({.outputs = z.outputs()}, "InferShape");
  try {
    apply(graph, "GraphFuseCompile");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::PassRequirement);
    EXPECT_THAT(e.what(), testing::HasSubstr("apply InferType first"));
  }
}

TEST(GraphFuseCompile, ObserversAreToldOfEachKernelOnce) {
  Names told;
  std::string loops;
  observe_kernels([&](const std::string& name, const std::function<std::string()>& text) {
    told.push_back(name);
    loops = text();
  });
  const Symbol x = variable("x", "(8, 64)");
  apply(partitioned(call("relu", "a", {x})), "GraphFuseCompile");
  observe_kernels(nullptr);
  EXPECT_THAT(told, testing::ElementsAre("fuse_relu"));
  EXPECT_THAT(loops, testing::HasSubstr("produce T_relu"));
}

}  // namespace
}  // namespace tw::graph
