// SPDX-License-Identifier: Apache-2.0
// AlterOpLayout: operators that compute faster in other layouts give their place to others
// (Op::alter_layout). On a target with registers of 16 floats:
//
//   %3 = conv2d(%x, %w, channels='32', …)
//
//   %3 = _contrib_conv2d_NCHWc(%x, %w, channels='32', …, layout='NCHW16c', out_layout='NCHW16c',
//                              kernel_layout='OIHW16i16o')
//
// The graph is consistent only after CorrectLayout, which brings inputs into these layouts. For it
// the attributes 'layout' and 'natural_shape' keep what layouts and shapes entries had.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <unordered_map>

#include "graph/alter_layout.h"
#include "graph/build.h"
#include "graph/dtypes.h"
#include "graph/op.h"
#include "graph/pass.h"
#include "graph/passes/layout_sweep.h"
#include "runtime/thread_pool.h"

namespace tw::graph {
namespace {

class Alteration {
 public:
  explicit Alteration(const Graph& graph)
      : sweep_(graph),
        index_(sweep_.index()),
        shapes_(list_of<Shape>(graph, "shape", index_.num_entries())),
        types_(list_of<int64_t>(graph, "dtype", index_.num_entries())),
        options_(build_options_of(graph)),
        rebuilt_(index_.num_nodes()) {
    if (options_.threads <= 0) options_.threads = ThreadPool::global().num_threads();
    if (!options_.log.empty()) log_.emplace(options_.log, autotune::Log::Mode::Read);
    sweep_.find_natural_layouts();
  }

  Graph run(const Graph& graph) {
    for (uint32_t id = 0; id < index_.num_nodes(); ++id) rebuild(id);
    Graph result{.outputs = {}, .attributes = rewritten_attributes(graph)};
    for (const Entry& e : index_.outputs()) result.outputs.push_back(entry_of(e));
    // Nodes are as many as before, but those that nothing but an order of evaluation holds may
    // stand elsewhere.
    std::vector<std::string> layouts;
    std::vector<Shape> shapes;
    for (const NodeRef& node : nodes_of(result.outputs)) {
      const uint32_t id = origin_.at(node.get());
      for (size_t e = index_.first_entries()[id]; e < index_.first_entries()[id + 1]; ++e) {
        layouts.push_back(sweep_.natural(e).text());
        shapes.push_back(shapes_[e]);
      }
    }
    result.attributes["layout"] = std::move(layouts);
    result.attributes["natural_shape"] = std::move(shapes);
    return result;
  }

 private:
  Entry entry_of(Entry e) const {
    e.node = rebuilt_[index_.node_id(*e.node)];
    return e;
  }

  NodeRef altered(const NodeRef& node) const {
    if (node->is_variable() || !node->op->alter_layout) return node;
    std::vector<Layout> layouts;
    std::vector<Shape> shapes;
    std::vector<KnownType> types;
    for (const Entry& e : node->inputs) {
      const size_t entry = index_.entry_id(e);
      layouts.push_back(sweep_.natural(entry));
      shapes.push_back(shapes_[entry]);
      types.push_back(type_of_number(static_cast<int>(types_[entry])));
    }
    const AttributeValues attributes(node->op->attributes, node->attributes, node->name);
    const NodeRef other = node->op->alter_layout({.node = node,
                                                  .attributes = attributes,
                                                  .layouts = layouts,
                                                  .shapes = shapes,
                                                  .types = types,
                                                  .target = options_.target,
                                                  .threads = options_.threads,
                                                  .log = log_ ? &*log_ : nullptr});
    return other ? other : node;
  }

  void rebuild(uint32_t id) {
    const NodeRef& node = index_.nodes()[id];
    NodeRef next = altered(node);
    TW_CHECK(next->num_outputs() == node->num_outputs(), node->op->name);
    bool moved = false;
    Node copy = *next;
    for (Entry& e : copy.inputs) {
      const Entry other = entry_of(e);
      moved = moved || !(other == e);
      e = other;
    }
    for (NodeRef& n : copy.control_dependencies) {
      const NodeRef& other = rebuilt_[index_.node_id(*n)];
      moved = moved || other != n;
      n = other;
    }
    rebuilt_[id] = moved ? make_node(std::move(copy)) : std::move(next);
    origin_[rebuilt_[id].get()] = id;
  }

  LayoutSweep sweep_;
  const GraphIndex& index_;
  const std::vector<Shape>& shapes_;
  const std::vector<int64_t>& types_;
  GroupBuildOptions options_;
  std::optional<autotune::Log> log_;
  std::vector<NodeRef> rebuilt_;                      // by node
  std::unordered_map<const Node*, uint32_t> origin_;  // of rebuilt ones; look-ups only
};

}  // namespace

Graph alter_op_layout(Graph graph) { return Alteration(graph).run(graph); }

}  // namespace tw::graph
