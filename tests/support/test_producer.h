// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ir/node.h"

namespace tw::test {

// A producer that is nothing but its outputs.
struct TestProducer : Producer {
  std::vector<std::pair<DType, std::vector<Expr>>> outputs;
  int num_outputs() const override { return static_cast<int>(outputs.size()); }
  DType output_dtype(int k) const override { return outputs[static_cast<size_t>(k)].first; }
  std::vector<Expr> output_shape(int k) const override {
    return outputs[static_cast<size_t>(k)].second;
  }
};

inline ProducerRef producer(std::string name,
                            std::vector<std::pair<DType, std::vector<Expr>>> outputs) {
  auto* p = new TestProducer;
  p->name = std::move(name);
  p->outputs = std::move(outputs);
  return ProducerRef(p);
}

}  // namespace tw::test
