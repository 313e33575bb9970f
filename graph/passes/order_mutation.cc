// SPDX-License-Identifier: Apache-2.0
// OrderMutation: who reads a variable that is written to reads what it is to read. An entry of a
// variable has a version (node.h), from the order of the calls; the pass makes a writer wait for
// those who read the version before, and who reads a version for its writer.
//
//   %1 = relu(%x)                  →  %1 = relu(%x)
//   %2 = _assign(%x, %y)              %2 = _assign(%x, %y, control_deps=[%1])
//   %3 = relu(%x)                     %3 = relu(%x, control_deps=[%2])
//
// What a writer gives lies in the variable's memory. Where the variable is written to once more,
// who reads what the first writer gave reads a copy.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "graph/op.h"
#include "graph/pass.h"
#include "graph/rewrite.h"

namespace tw::graph {
namespace {

[[noreturn]] void refuse(std::string what, const Node& node, std::string legal) {
  raise({.code = ErrorCode::BadGraph,
         .what = std::move(what),
         .where = fmt::format("node '{}'", node.name),
         .legal = std::move(legal)});
}

class Order {
 public:
  explicit Order(const Graph& graph)
      : index_(graph),
        before_(index_.num_nodes()),
        made_(index_.num_nodes()),
        copies_(index_.num_nodes()) {
    for (uint32_t id = 0; id < index_.num_nodes(); ++id) note(id);
    for (const auto& [version, users] : history_) order(version.first, version.second, users);
  }

  Graph run(const Graph& graph) {
    const std::vector<uint32_t> order = sorted();
    for (uint32_t id : order) {
      made_[id] = made(id);
      if (overwritten_.contains(id)) {
        copies_[id] = make_call("__copy", made_[id]->name + "_value", {{made_[id]}}).node;
      }
    }
    std::vector<Entry> outputs;
    for (const Entry& e : graph.outputs) outputs.push_back(entry(e));
    return with_outputs(graph, std::move(outputs));
  }

 private:
  using Version =
      std::pair<uint32_t, uint32_t>;  // a variable's number, and how often it is written
  struct Users {
    std::optional<uint32_t> writer;
    std::vector<uint32_t> readers;
  };

  void note(uint32_t id) {
    const Node& node = *index_.nodes()[id];
    if (node.is_variable()) return;
    for (size_t k = 0; k < node.inputs.size(); ++k) {
      const Entry& e = node.inputs[k];
      const bool writes = std::ranges::find(node.op->mutates, k) != node.op->mutates.end();
      if (writes && (!e.node->is_variable() || e.version == 0)) {
        refuse(
            fmt::format("'{}' writes to '{}', version {}", node.op->name, e.node->name, e.version),
            node, "a variable, whose version counts those who wrote to it with this node");
      }
      if (!e.node->is_variable()) continue;
      Users& users = history_[{index_.node_id(*e.node), e.version}];
      if (!writes) {
        users.readers.push_back(id);
      } else if (std::exchange(users.writer, id)) {
        refuse(fmt::format("version {} of '{}' is written twice", e.version, e.node->name), node,
               "a version for each that writes");
      }
    }
  }

  void order(uint32_t variable, uint32_t version, const Users& users) {
    if (version == 0) return;
    if (!users.writer) {
      refuse(fmt::format("version {} of '{}', which nothing writes in this graph", version,
                         index_.nodes()[variable]->name),
             *index_.nodes()[users.readers.at(0)], "outputs that depend on who writes it");
    }
    for (uint32_t reader : users.readers) before_[reader].insert(*users.writer);
    // All that used the last version that this graph knows.
    auto last = history_.find({variable, version});
    if (last == history_.begin() || (--last)->first.first != variable) return;
    if (last->second.writer) {
      before_[*users.writer].insert(*last->second.writer);
      if (is_read_late(*last->second.writer, *users.writer))
        overwritten_.insert(*last->second.writer);
    }
    before_[*users.writer].insert(last->second.readers.begin(), last->second.readers.end());
    before_[*users.writer].erase(*users.writer);  // one that reads what it writes to
  }

  // The nodes, after all that they depend on.
  std::vector<uint32_t> sorted() const {
    std::vector<std::vector<uint32_t>> readers(index_.num_nodes());
    std::vector<size_t> open(index_.num_nodes(), 0);
    std::set<uint32_t> ready;  // in the graph's order
    for (uint32_t id = 0; id < index_.num_nodes(); ++id) {
      std::set<uint32_t> needed = before_[id];
      for (const Entry& e : index_.nodes()[id]->inputs) needed.insert(index_.node_id(*e.node));
      for (const NodeRef& n : index_.nodes()[id]->control_dependencies) {
        needed.insert(index_.node_id(*n));
      }
      for (uint32_t n : needed) readers[n].push_back(id);
      open[id] = needed.size();
      if (needed.empty()) ready.insert(id);
    }
    std::vector<uint32_t> order;
    while (!ready.empty()) {
      order.push_back(*ready.begin());
      ready.erase(ready.begin());
      for (uint32_t reader : readers[order.back()]) {
        if (--open[reader] == 0) ready.insert(reader);
      }
    }
    if (order.size() == index_.num_nodes()) return order;
    const auto waits = std::ranges::find_if(open, [](size_t n) { return n > 0; });
    refuse("a value of a variable that is written before it can be read",
           *index_.nodes()[static_cast<size_t>(waits - open.begin())],
           "reads that do not depend on who writes after them");
  }

  // Whether somebody reads what a writer gives whom the next writer does not wait for yet.
  bool is_read_late(uint32_t writer, uint32_t next) const {
    const auto reads = [&](const Entry& e) { return index_.node_id(*e.node) == writer; };
    const auto& waits_for = index_.nodes()[next]->control_dependencies;
    return std::ranges::any_of(index_.outputs(), reads) ||
           std::ranges::any_of(index_.nodes(), [&](const NodeRef& node) {
             return std::ranges::any_of(node->inputs, reads) &&
                    std::ranges::find(waits_for, node) == waits_for.end();
           });
  }

  Entry entry(const Entry& e) const {
    const uint32_t id = index_.node_id(*e.node);
    if (copies_[id]) return {copies_[id]};
    return {made_[id], e.index, e.version};
  }

  NodeRef made(uint32_t id) const {
    const NodeRef& node = index_.nodes()[id];
    Node next = *node;
    for (Entry& e : next.inputs) e = entry(e);
    for (NodeRef& n : next.control_dependencies) n = made_[index_.node_id(*n)];
    for (uint32_t n : before_[id]) {
      for (const NodeRef& first : {made_[n], copies_[n]}) {
        const bool known =
            std::ranges::find(next.control_dependencies, first) != next.control_dependencies.end();
        if (first && !known) next.control_dependencies.push_back(first);
      }
    }
    const bool same =
        next.inputs == node->inputs && next.control_dependencies == node->control_dependencies;
    return same ? node : make_node(std::move(next));
  }

  GraphIndex index_;
  std::map<Version, Users> history_;
  std::vector<std::set<uint32_t>> before_;  // what must run before a node
  std::set<uint32_t> overwritten_;          // writers whose output is read, and written over
  std::vector<NodeRef> made_;               // by node
  std::vector<NodeRef> copies_;             // by node, of what overwritten writers give
};

}  // namespace

Graph order_mutation(Graph graph) { return Order(graph).run(graph); }

}  // namespace tw::graph
