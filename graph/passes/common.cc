// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/common.h"

#include "graph/op.h"

namespace tw::graph {

std::set<const Node*> written_variables(const std::vector<NodeRef>& nodes) {
  std::set<const Node*> written;
  for (const NodeRef& node : nodes) {
    if (node->is_variable()) continue;
    for (size_t k : node->op->mutates) written.insert(node->inputs[k].node.get());
  }
  return written;
}

}  // namespace tw::graph
