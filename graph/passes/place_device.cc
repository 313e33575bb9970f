// SPDX-License-Identifier: Apache-2.0
// PlaceDevice: which device computes which node. Nodes may name a group of devices in an attribute,
// whose key is the graph attribute 'device_group_attr_key'; 'device_assign_map' says which device
// each group is. A node that names none is where its first input is, or else where it is read
// first. Between devices values are copied, once for all readers on a device.
//
//   %1 = exp(%x, device_group='a')            →  %1 = exp(%x, device_group='a')
//   %2 = tanh(%1, device_group='b')              %2 = __copy(%1)
//                                                %3 = tanh(%2, device_group='b')
#include <algorithm>
#include <map>

#include "graph/op.h"
#include "graph/pass.h"
#include "graph/rewrite.h"

namespace tw::graph {
namespace {

constexpr int64_t kNone = -1;

class Placement {
 public:
  explicit Placement(const Graph& graph)
      : index_(graph), devices_(index_.num_nodes(), kNone), groups_(groups_of(graph)) {
    const auto* key = graph.find<std::string>("device_group_attr_key");
    if (key == nullptr) {
      raise({.code = ErrorCode::BadArgument,
             .what = "the graph attribute 'device_group_attr_key' is no text",
             .legal = "the name of the attribute in which nodes name their group"});
    }
    if (const auto* copy = graph.find<std::string>("device_copy_op")) copy_ = *copy;
    for (size_t id = 0; id < devices_.size(); ++id) {
      const Node& node = *index_.nodes()[id];
      if (const std::string* group = node.attributes.find(*key)) {
        devices_[id] = device_of(*group, node);
        continue;
      }
      for (const Entry& e : node.inputs) {
        if (devices_[id] == kNone) devices_[id] = devices_[index_.node_id(*e.node)];
      }
    }
    const std::vector<int64_t> known = devices_;
    for (size_t id = devices_.size(); id-- > 0;) {  // so that the first reader decides
      for (const Entry& e : index_.nodes()[id]->inputs) {
        const uint32_t input = index_.node_id(*e.node);
        if (known[input] == kNone) devices_[input] = devices_[id];
      }
    }
    std::ranges::replace(devices_, kNone, int64_t{0});
  }

  Graph run(const Graph& graph) {
    Graph result = rewrite(graph, [&](size_t id, const NodeRef& node) -> Replacement {
      const int64_t device = devices_[id];
      Node next = *node;
      bool changed = false;
      for (size_t k = 0; k < next.inputs.size(); ++k) {
        Entry& e = next.inputs[k];
        if (placed_.at(e.node.get()) == device) continue;
        if (std::ranges::find(next.op->mutates, k) != next.op->mutates.end()) {
          raise(
              {.code = ErrorCode::BadGraph,
               .what = fmt::format("'{}' is on another device than who writes to it", e.node->name),
               .where = fmt::format("node '{}'", node->name),
               .legal = "a variable in the group of the node"});
        }
        e = copied(e, device);
        changed = true;
      }
      const NodeRef made = changed ? make_node(std::move(next)) : node;
      place(made, device);
      if (!changed) return std::nullopt;
      return entries_of(made);
    });
    std::vector<int64_t> devices;
    for (const NodeRef& node : nodes_of(result.outputs)) devices.push_back(placed_.at(node.get()));
    result.attributes["device"] = std::move(devices);
    return result;
  }

 private:
  using Groups = std::map<std::string, int64_t>;

  // "name:device" each.
  static Groups groups_of(const Graph& graph) {
    Groups groups;
    const auto* list = graph.find<std::vector<std::string>>("device_assign_map");
    if (list == nullptr) {
      raise({.code = ErrorCode::BadArgument,
             .what = "the graph attribute 'device_assign_map' is no list of texts",
             .legal = "group:device for each group, such as stage1:0"});
    }
    for (const std::string& text : *list) {
      const size_t colon = std::min(text.rfind(':'), text.size());
      const auto device =
          read_attribute(AttributeType::Int, text.substr(std::min(colon + 1, text.size())));
      if (!device || std::get<int64_t>(*device) < 0) {
        raise({.code = ErrorCode::BadArgument,
               .what = fmt::format("'{}' in the graph attribute 'device_assign_map'", text),
               .legal = "group:device, such as stage1:0"});
      }
      groups[text.substr(0, colon)] = std::get<int64_t>(*device);
    }
    return groups;
  }

  int64_t device_of(const std::string& group, const Node& node) const {
    const auto known = groups_.find(group);
    if (known != groups_.end()) return known->second;
    std::vector<std::string> names;
    for (const auto& [name, device] : groups_) names.push_back(name);
    raise({.code = ErrorCode::BadArgument,
           .what = fmt::format("the group '{}', which 'device_assign_map' does not know", group),
           .where = fmt::format("node '{}'", node.name),
           .legal = fmt::format("{}", fmt::join(names, ", "))});
  }

  Entry copied(const Entry& e, int64_t device) {
    const auto [copy, fresh] = copies_.try_emplace({e.node.get(), e.index, device});
    if (fresh) {
      const std::string output = e.node->num_outputs() > 1 ? fmt::format("_output{}", e.index) : "";
      copy->second =
          make_call(copy_, fmt::format("{}{}_copy{}", e.node->name, output, device), {e});
      place(copy->second.node, device);
    }
    return copy->second;
  }

  void place(const NodeRef& node, int64_t device) {
    placed_[node.get()] = device;
    alive_.push_back(node);
  }

  GraphIndex index_;
  std::vector<int64_t> devices_;  // by node
  Groups groups_;
  std::string copy_ = "__copy";
  std::map<std::tuple<const Node*, uint32_t, int64_t>, Entry> copies_;  // look-ups only
  std::map<const Node*, int64_t> placed_;  // of new nodes; look-ups only
  std::vector<NodeRef> alive_;             // so that no two have one address
};

}  // namespace

Graph place_device(Graph graph) { return Placement(graph).run(graph); }

}  // namespace tw::graph
