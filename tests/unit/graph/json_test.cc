// SPDX-License-Identifier: Apache-2.0
#include "graph/json.h"

#include <gmock/gmock.h>

#include <random>

#include "graph/pass.h"
#include "graph/symbol.h"
#include "runtime/error.h"
#include "tests/support/fuzz.h"

namespace tw::graph {
namespace {

Graph network() {
  Symbol z = Symbol::variable("x", {{"shape", "(1, 13, 100, 100)"}, {"dtype", "1"}});
  const Symbol x = z;
  z = Symbol::call("conv2d", "conv2d2", {z}, {},
                   {{"channels", "13"}, {"kernel_size", "(3, 3)"}, {"padding", "[1, 1]"}});
  z = Symbol::call("relu", "relu0", {z}, {}, {});
  z = Symbol::call("broadcast_add", "__add_symbol__1", {x, z}, {}, {});
  z = Symbol::call("flatten", "flatten0", {z}, {}, {});
  z = Symbol::call("dense", "dense0", {z}, {}, {{"units", "10"}});
  z = Symbol::call("softmax", "softmax0", {z}, {}, {});
  z = Symbol::call("sum", "sum0", {z}, {}, {{"keepdims", "True"}});
  return {.outputs = z.outputs()};
}

TEST(GraphJson, RoundTrips) {
  Graph graph = apply(apply(network(), "InferShape"), "InferType");
  graph.attributes["target"] = std::string("llvm");
  const std::string text = save_json(graph);
  const Graph read = load_json(text);
  EXPECT_EQ(save_json(read), text);
  EXPECT_EQ(to_text(read), to_text(graph));
  EXPECT_EQ(read.attributes, graph.attributes);
}

TEST(GraphJson, WritesWhatNNVMWrites) {
  const std::string text = save_json(network());
  EXPECT_THAT(text, testing::HasSubstr("\"op\": \"null\""));
  EXPECT_THAT(text, testing::HasSubstr("\"arg_nodes\""));
  EXPECT_THAT(text, testing::HasSubstr("\"node_row_ptr\""));
  EXPECT_THAT(text, testing::HasSubstr("\"heads\""));
}

struct Wrong {
  const char* text;
  ErrorCode code;
};

TEST(GraphJson, WhatIsNoGraphIsRefused) {
  const Wrong kWrong[] = {
      {"", ErrorCode::BadGraph},
      {"[]", ErrorCode::BadGraph},
      {R"({"nodes": []})", ErrorCode::BadGraph},
      {R"({"nodes": [{"op": "null"}], "heads": []})", ErrorCode::BadGraph},
      {R"({"nodes": [{"op": "nul", "name": "x", "inputs": []}], "heads": []})",
       ErrorCode::UnknownOperator},
      // A cycle would need a node that stands behind.
      {R"({"nodes": [{"op": "relu", "name": "a", "inputs": [[0, 0, 0]]}], "heads": [[0, 0, 0]]})",
       ErrorCode::BadGraph},
      {R"({"nodes": [{"op": "null", "name": "x", "inputs": []}], "heads": [[0, 1, 0]]})",
       ErrorCode::BadGraph},
      {R"({"nodes": [{"op": "null", "name": "x", "inputs": []}], "heads": [[1, 0, 0]]})",
       ErrorCode::BadGraph},
      {R"({"nodes": [{"op": "null", "name": "x", "inputs": []},
                     {"op": "relu", "name": "r", "inputs": []}], "heads": [[1, 0, 0]]})",
       ErrorCode::BadGraph},
      {R"({"nodes": [{"op": "null", "name": "x", "inputs": []},
                     {"op": "dense", "name": "d", "attrs": {"units": "x"},
                      "inputs": [[0, 0], [0, 0], [0, 0]]}], "heads": [[1, 0, 0]]})",
       ErrorCode::BadAttribute},
      {R"({"nodes": [], "heads": [], "attrs": {"shape": ["list_shapes", []]}})",
       ErrorCode::BadGraph},
  };
  for (const Wrong& wrong : kWrong) {
    try {
      load_json(wrong.text);
      ADD_FAILURE() << wrong.text;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), wrong.code) << wrong.text << "\n" << e.what();
    }
  }
}

// Texts that were damaged are read as another graph or refused; whatever is read can be used.
TEST(GraphJson, DamagedTextsEndInTypedErrors) {
  const std::string whole = save_json(apply(apply(network(), "InferShape"), "InferType"));
  test::FuzzCases cases(2000, 0.01);
  while (cases.next()) {
    std::mt19937_64 rng(cases.seed());
    std::string text = whole;
    for (uint64_t edits = 1 + rng() % 3; edits > 0; --edits) {
      const size_t at = rng() % text.size();
      switch (rng() % 4) {
        case 0:
          text.erase(at, 1 + rng() % 20);
          break;
        case 1:
          text.insert(at, text.substr(rng() % text.size(), rng() % 30));
          break;
        case 2:
          text[at] = "0123456789-[]{}\",:"[rng() % 18];
          break;
        default:
          if (const size_t digit = text.find_first_of("0123456789", at); digit < text.size()) {
            text[digit] = static_cast<char>('0' + rng() % 10);
          }
      }
    }
    try {
      const Graph graph = load_json(text);
      to_text(graph);
      apply(apply(graph, "InferShape"), "InferType");
    } catch (const UserError&) {
      cases.refuse();
    }
  }
}

}  // namespace
}  // namespace tw::graph
