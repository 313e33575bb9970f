// SPDX-License-Identifier: Apache-2.0
// What an operator is told that may put another in its place, which computes in other layouts
// (Op::alter_layout).
#pragma once

#include <span>

#include "autotune/log/log.h"
#include "graph/inference.h"
#include "graph/layout.h"
#include "graph/node.h"
#include "lower/llvm/target.h"

namespace tw::graph {

struct AlterCandidate {
  const NodeRef& node;
  const AttributeValues& attributes;
  std::span<const Layout> layouts;  // of the inputs, as the network was written
  std::span<const Shape> shapes;    // of the inputs in these layouts
  std::span<const KnownType> types;
  const Target& target;
  int threads;
  const autotune::Log* log;  // null: none
};

}  // namespace tw::graph
