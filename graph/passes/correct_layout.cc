// SPDX-License-Identifier: Apache-2.0
// CorrectLayout: each node computes in the layouts that its operator chooses (layout_choice.h), and
// where an input comes in another one, a __layout_transform__ stands before it. With
// 'layout_inputs' NCHW16c of x, or after AlterOpLayout has put a blocked convolution there:
//
//   %1 = max_pool2d(%x, pool_size='2')         %1 = max_pool2d(%x, pool_size='2', layout='NCHW16c')
//   %2 = flatten(%1)                           %2 = __layout_transform__(%1, src_layout='NCHW16c',
//   …
//                                              %3 = flatten(%2)
//
// First it finds out the natural layout of each entry, that is, the names of its dimensions in the
// network as it was written: those that an earlier CorrectLayout left in 'layout', else what
// producers give and, backward, what readers want. Then it rebuilds the nodes. An entry is
// transformed into a layout once, however many read it; a transform of what a transform gives
// begins at the latter's input, so that opposite ones cancel. Outputs keep the layout they had.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "graph/op.h"
#include "graph/pass.h"
#include "graph/passes/layout_sweep.h"
#include "runtime/error.h"

namespace tw::graph {
namespace {

class Correction {
 public:
  explicit Correction(const Graph& graph) : sweep_(graph), index_(sweep_.index()) {}

  Graph run(const Graph& graph) {
    sweep_.find_natural_layouts();
    const bool had_layouts = graph.attributes.contains("layout");
    for (uint32_t id = 0; id < index_.num_nodes(); ++id) rebuild(id);
    Graph result{.outputs = {}, .attributes = rewritten_attributes(graph)};
    for (const Entry& e : index_.outputs()) {
      const size_t entry = index_.entry_id(e);
      const Layout& natural = sweep_.natural(entry);
      const Layout& wanted = had_layouts ? natural : sweep_.given(entry);
      result.outputs.push_back(in_layout(e, wanted));
    }
    result.attributes.erase("layout_inputs");
    result.attributes["layout"] = layouts_of(result);
    return result;
  }

 private:
  // Where the elements of an entry come from, before any transform.
  struct Source {
    size_t entry;
    uint32_t version;
    Layout layout;
  };
  using Key = std::tuple<size_t, uint32_t, std::string>;  // a source, and a layout to bring it into
  static Key key_of(const Source& source, const Layout& to) {
    return {source.entry, source.version, to.text()};
  }

  void rebuild(uint32_t id) {
    const NodeRef& node = index_.nodes()[id];
    const auto outputs = static_cast<uint32_t>(node->num_outputs());
    if (node->is_variable()) {
      place(id, node, {sweep_.given(index_.entry_id(id, 0))});
      return;
    }
    const LayoutChoice choice = sweep_.choose(id);
    if (node->op == &get_op("__layout_transform__") &&
        choice.given(0).convertible(choice.gives()[0])) {
      rebuild_transform(id, choice);
      return;
    }
    Node next = *node;
    next.attributes = choice.texts();
    for (size_t k = 0; k < node->inputs.size(); ++k) {
      next.inputs[k] = in_layout(node->inputs[k], choice.wanted()[k]);
    }
    for (NodeRef& n : next.control_dependencies) n = entries_[index_.entry_id({n})].node;
    const bool same = next.inputs == node->inputs && next.attributes == node->attributes &&
                      next.control_dependencies == node->control_dependencies;
    std::vector<Layout> layouts;
    for (uint32_t k = 0; k < outputs; ++k) layouts.push_back(sweep_.given(index_.entry_id(id, k)));
    place(id, same ? node : make_node(std::move(next)), std::move(layouts));
  }

  void place(uint32_t id, const NodeRef& node, std::vector<Layout> layouts) {
    const size_t first = index_.entry_id(id, 0);
    for (uint32_t k = 0; k < layouts.size(); ++k) {
      entries_[first + k] = {.node = node, .index = k};
      sources_[first + k] = {first + k, 0, layouts[k]};
    }
    layouts_[node.get()] = std::move(layouts);
  }

  Source source_of(const Entry& e) const {
    Source source = sources_[index_.entry_id(e)];
    source.version = std::max(source.version, e.version);
    return source;
  }

  // A transform of the graph stays itself where its input comes as it says.
  void rebuild_transform(uint32_t id, const LayoutChoice& choice) {
    const NodeRef& node = index_.nodes()[id];
    const Source source = source_of(node->inputs[0]);
    const Layout &from = choice.wanted()[0], &to = choice.gives()[0];
    if (source.layout == from && to != from && !made_.contains(key_of(source, to))) {
      Node next = *node;
      next.inputs = {entry_of(source)};
      for (NodeRef& n : next.control_dependencies) n = entries_[index_.entry_id({n})].node;
      const bool same =
          next.inputs == node->inputs && next.control_dependencies == node->control_dependencies;
      remember(source, to, same ? node : make_node(std::move(next)));
    }
    const size_t own = index_.entry_id(id, 0);
    entries_[own] = in_layout(node->inputs[0], to);
    sources_[own] = source;
  }

  Entry entry_of(const Source& source) const {
    Entry e = entries_[source.entry];
    e.version = source.version;
    return e;
  }

  Entry in_layout(const Entry& e, const Layout& wanted) {
    const size_t entry = index_.entry_id(e);
    const Layout& given = sweep_.given(entry);
    if (!wanted.known() || !given.known() || wanted == given) {
      Entry same = entries_[entry];
      same.version = std::max(same.version, e.version);
      return same;
    }
    const Source source = source_of(e);
    if (wanted == source.layout) return entry_of(source);
    const auto known = made_.find(key_of(source, wanted));
    if (known != made_.end()) return known->second;
    const Entry from = entry_of(source);
    const std::string output = from.index == 0 ? "" : fmt::format("{}", from.index);
    return remember(
        source, wanted,
        make_call("__layout_transform__",
                  fmt::format("{}{}_{}", from.node->name, output, wanted.text()), {from},
                  {{"src_layout", source.layout.text()}, {"dst_layout", wanted.text()}})
            .node);
  }

  Entry remember(const Source& source, const Layout& to, NodeRef transform) {
    layouts_[transform.get()] = {to};
    return made_[key_of(source, to)] = {std::move(transform)};
  }

  std::vector<std::string> layouts_of(const Graph& graph) const {
    std::vector<std::string> texts;
    for (const NodeRef& node : nodes_of(graph.outputs)) {
      for (const Layout& layout : layouts_.at(node.get())) texts.push_back(layout.text());
    }
    return texts;
  }

  LayoutSweep sweep_;
  const GraphIndex& index_;
  std::vector<Entry> entries_{index_.num_entries()};  // what stands for each of the graph's
  std::vector<Source> sources_{index_.num_entries()};
  std::map<Key, Entry> made_;                                     // transforms
  std::unordered_map<const Node*, std::vector<Layout>> layouts_;  // of new nodes; look-ups only
};

}  // namespace

Graph correct_layout(Graph graph) { return Correction(graph).run(graph); }

}  // namespace tw::graph
