// SPDX-License-Identifier: Apache-2.0
// The text of a graph. It has the spaces and line breaks of NNVM's PrintGraphIR.
#include <fmt/format.h>

#include "graph/graph.h"
#include "graph/op.h"

namespace tw::graph {
namespace {

constexpr size_t kInputsOnALine = 3;

class Printer {
 public:
  explicit Printer(const Graph& graph) : graph_(graph), index_(graph) {}

  std::string text() {
    std::string out = "Graph(" + inputs() + ") {\n";
    for (const NodeRef& node : index_.nodes()) {
      if (!node->is_variable()) out += line(*node);
    }
    out += "  ret ";
    for (size_t k = 0; k < graph_.outputs.size(); ++k) {
      out += (k > 0 ? ", " : "") + name(graph_.outputs[k]);
    }
    out += "\n}";
    if (graph_.attributes.empty()) return out;
    std::vector<std::string_view> keys;
    for (const auto& [key, value] : graph_.attributes) keys.push_back(key);
    return out + fmt::format("\ngraph_attr_keys = [{}]\n", fmt::join(keys, ", "));
  }

 private:
  std::string inputs() const {
    const std::vector<std::string> names = index_.input_names();
    const std::string_view between = names.size() <= kInputsOnALine ? ", " : ",\n      ";
    std::string out;
    for (size_t k = 0; k < names.size(); ++k)
      out += fmt::format("{}%{}", k > 0 ? between : "", names[k]);
    return out;
  }

  std::string name(const Entry& e) const {
    if (e.node->is_variable()) return "%" + e.node->name;
    const uint32_t id = index_.node_id(*e.node);
    return e.node->num_outputs() == 1 ? fmt::format("%{}", id) : fmt::format("%{}.{}", id, e.index);
  }

  std::string line(const Node& node) const {
    std::string out = fmt::format("  %{} = {}(", index_.node_id(node), node.op->name);
    bool first = true;
    const auto add = [&](const std::string& text) {
      out += (first ? "" : ", ") + text;
      first = false;
    };
    for (const Entry& e : node.inputs) add(name(e));
    for (const auto& [key, text] : node.attributes) add(fmt::format("{}='{}'", key, text));
    std::vector<std::string> before;
    for (const NodeRef& n : node.control_dependencies) before.push_back(name({n}));
    if (!before.empty()) add(fmt::format("control_deps=[{}]", fmt::join(before, ", ")));
    return out + ")\n";
  }

  const Graph& graph_;
  GraphIndex index_;
};

}  // namespace

std::string to_text(const Graph& graph) { return Printer(graph).text(); }

}  // namespace tw::graph
