// SPDX-License-Identifier: Apache-2.0
#include "graph/group_view.h"

#include <algorithm>
#include <unordered_set>

#include "graph/dtypes.h"
#include "graph/op.h"
#include "runtime/ndarray.h"

namespace tw::graph {
namespace {

class Parts {
 public:
  Parts(const GraphIndex& index, const std::vector<Shape>& shapes,
        const std::vector<int64_t>& types)
      : index_(index), shapes_(shapes), types_(types) {}

  std::vector<Entry> of(const std::vector<NodeRef>& nodes) const {
    const std::unordered_set<NodeRef> members(nodes.begin(), nodes.end());
    const NodeRef& root = nodes.back();
    std::vector<Entry> parts, open = {{root}};
    bool is_reshape = root->num_outputs() == 1;
    while (!open.empty()) {
      const Entry e = open.back();
      open.pop_back();
      if (!members.contains(e.node)) {
        parts.push_back(e);
      } else if (e.node->op->is_reshape) {
        open.push_back(e.node->inputs[0]);
      } else if (keeps_order(*e.node) && (e.node == root || e.node->num_outputs() == 1)) {
        open.insert(open.end(), e.node->inputs.rbegin(), e.node->inputs.rend());
        is_reshape = false;
      } else {
        return {};
      }
    }
    if (!is_reshape && !may_share(parts, root)) return {};
    return parts;
  }

 private:
  // Whether PlanMemory can have the parts in the memory of the outputs; what it cannot is copied on
  // one thread, where a kernel would do it better.
  bool may_share(const std::vector<Entry>& parts, const NodeRef& root) const {
    const auto is_aligned = [&, at = int64_t{0}](const Entry& e) mutable {
      const bool aligned = at % static_cast<int64_t>(NDArray::kAlignment) == 0;
      const size_t id = index_.entry_id(e);
      const auto type = type_of_number(static_cast<int>(types_[id]));
      if (!shapes_[id].known() || !type) return false;
      at += shapes_[id].elements() * type->element_bytes() * type->lanes;
      return aligned;
    };
    const auto is_free = [&](const Entry& e) {
      return !e.node->is_variable() && std::ranges::count(parts, e) == 1 &&
             std::ranges::find(index_.outputs(), e) == index_.outputs().end();
    };
    const std::vector<Entry> outputs = entries_of(root);
    return std::ranges::all_of(parts, is_free) &&
           std::all_of(parts.begin(), parts.end(), is_aligned) &&
           std::all_of(outputs.begin(), outputs.end(), is_aligned);
  }

  bool keeps_order(const Node& node) const {
    if (!node.op->keeps_order) return false;
    std::vector<Shape> shapes;
    for (const Entry& e : node.inputs) shapes.push_back(shapes_[index_.entry_id(e)]);
    return node.op->keeps_order(AttributeValues(node.op->attributes, node.attributes, node.name),
                                shapes);
  }

  const GraphIndex& index_;
  const std::vector<Shape>& shapes_;
  const std::vector<int64_t>& types_;
};

}  // namespace

std::vector<Entry> parts_of(const std::vector<NodeRef>& nodes, const GraphIndex& index,
                            const std::vector<Shape>& shapes, const std::vector<int64_t>& types) {
  return Parts(index, shapes, types).of(nodes);
}

}  // namespace tw::graph
