// SPDX-License-Identifier: Apache-2.0
// What sketch rules ask of a program. Everything is read off the expressions; no operator has a
// name here.
#pragma once

#include <vector>

#include "schedule/te/compute.h"
#include "schedule/te/text.h"

namespace tw::autotune {

struct OperationFacts {
  te::Operation op;
  const te::ComputeNode* compute = nullptr;  // null for placeholders
  bool is_output = false;
  bool is_reduction = false;
  // A reduction whose inputs are each read for several points: tiling pays.
  bool has_reuse = false;
  bool has_condition = false;  // if_then_else or select: padding and the like
  bool has_math = false;       // calls exp, tanh, …
  std::vector<size_t> consumers;
  // The only consumer, when it reads this at its own position, point for point.
  int elementwise_consumer = -1;
  // Read by one operation only, at positions that move with each of its data axes: nothing but
  // overlapping windows reads an element twice.
  bool read_anew = false;
  std::vector<int64_t> extents;  // of the data axes
  std::vector<int64_t> reduce_extents;
};

// In the program's canonical order of operations. NoDesignSpace when an extent is symbolic.
std::vector<OperationFacts> analyze(const te::Program& program);

}  // namespace tw::autotune
