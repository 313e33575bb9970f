// SPDX-License-Identifier: Apache-2.0
// Deployed graphs by hand, and the library of their kernels.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "runtime/graph_plan.h"
#include "tests/support/compile_c.h"

namespace tw::test {

// Writes the JSON of a plan, a node a call; each returns the number of the node.
class PlanJson {
 public:
  struct Tensor {
    std::vector<int64_t> shape;
    int64_t storage = -1;
    std::string dtype = "float32";
    int64_t offset = 0;
  };

  int variable(const std::string& name, const Tensor& tensor) {
    inputs_.push_back(count_);
    return add(fmt::format(R"({{"op": "null", "name": "{}", "inputs": []}})", name), {tensor});
  }
  // Inputs are [node, output] pairs.
  int call(const std::string& name, const std::string& function,
           const std::vector<std::pair<int, int>>& inputs, const std::vector<Tensor>& outputs,
           bool flatten = false) {
    return add(
        fmt::format(
            R"({{"op": "tvm_op", "name": "{}", "inputs": [{}], "attrs": {{"func_name": "{}", )"
            R"("num_inputs": "{}", "num_outputs": "{}", "flatten_data": "{}"}}}})",
            name, entries(inputs), function, inputs.size(), outputs.size(), int{flatten}),
        outputs);
  }
  std::string json(const std::vector<std::pair<int, int>>& heads) const {
    return fmt::format(
        R"({{"nodes": [{}], "arg_nodes": [{}], "node_row_ptr": [{}], "heads": [{}], "attrs": {{)"
        R"("shape": ["list_shape", [{}]], "dltype": ["list_str", [{}]], )"
        R"("storage_id": ["list_int", [{}]], "storage_offset": ["list_int", [{}]]}}}})",
        fmt::join(nodes_, ", "), fmt::join(inputs_, ", "), fmt::join(first_, ", "), entries(heads),
        fmt::join(shapes_, ", "), fmt::join(types_, ", "), fmt::join(storage_, ", "),
        fmt::join(offsets_, ", "));
  }

 private:
  static std::string entries(const std::vector<std::pair<int, int>>& list) {
    std::vector<std::string> texts;
    for (const auto& [node, output] : list)
      texts.push_back(fmt::format("[{}, {}, 0]", node, output));
    return fmt::format("{}", fmt::join(texts, ", "));
  }
  int add(std::string node, const std::vector<Tensor>& outputs) {
    nodes_.push_back(std::move(node));
    for (const Tensor& t : outputs) {
      shapes_.push_back(fmt::format("[{}]", fmt::join(t.shape, ", ")));
      types_.push_back(fmt::format("\"{}\"", t.dtype));
      storage_.push_back(t.storage);
      offsets_.push_back(t.offset);
    }
    first_.push_back(static_cast<int>(shapes_.size()));
    return count_++;
  }

  std::vector<std::string> nodes_, shapes_, types_;
  std::vector<int64_t> storage_, offsets_;
  std::vector<int> inputs_, first_ = {0};
  int count_ = 0;
};

// x + w, twice: y = (x + w) + w.
inline PlanJson::Tensor four(int64_t storage = -1) { return {{4}, storage}; }
inline std::string twice_json() {
  PlanJson plan;
  const int x = plan.variable("x", four(0)), w = plan.variable("w", four(1));
  const int sum = plan.call("sum", "add", {{x, 0}, {w, 0}}, {four(2)});
  const int y = plan.call("y", "add", {{sum, 0}, {w, 0}}, {four(2)});
  return plan.json({{y, 0}});
}

// graph_kernels.c, compiled once for a suite.
class WithGraphKernels : public testing::Test {
 protected:
  static void SetUpTestSuite() { path = compile_c("tests/unit/runtime/graph_kernels.c"); }
  static void TearDownTestSuite() { std::remove(path.c_str()); }
  void SetUp() override {
    ASSERT_FALSE(path.empty());
    module = load_library(path);
  }
  static inline std::string path;
  std::shared_ptr<const Module> module;
};

}  // namespace tw::test
