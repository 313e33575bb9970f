// SPDX-License-Identifier: Apache-2.0
// GraphFusePartition: which nodes become one kernel. The rules are NNVM's, by the patterns of
// operators (op.h; "TVM: An Automated End-to-End Optimizing Compiler for Deep Learning", OSDI 2018,
// section 3): elementwise and broadcasting operators, and those that move elements, are computed
// where they are read; into the loops of a convolution or product go the elementwise operators that
// follow it, where nothing changes its shape. A value that several nodes read, or the graph gives,
// is stored.
//
// Where the attribute 'fusion' is "auto", groups then become one as merge_groups.h says.
//
// The root of a group is its last node, whose output is stored. Its master is the node whose loops
// the group has: the convolution or reduction, if there is one.
#include <fmt/format.h>

#include <algorithm>

#include "graph/op.h"
#include "graph/pass.h"
#include "graph/passes/merge_groups.h"
#include "runtime/error.h"

namespace tw::graph {
namespace {

constexpr int64_t kNone = -1;

class Partition {
 public:
  explicit Partition(const Graph& graph)
      : index_(graph),
        shapes_(list_of<Shape>(graph, "shape", index_.num_entries())),
        readers_(index_.num_nodes(), 0),
        groups_(index_.num_nodes()) {
    if (const auto* level = graph.find<int64_t>("opt_level")) fuses_ = *level >= 1;
    for (const NodeRef& node : index_.nodes()) {
      for (const Entry& e : node->inputs) ++readers_[index_.node_id(*e.node)];
      for (const NodeRef& n : node->control_dependencies) ++readers_[index_.node_id(*n)];
    }
    for (const Entry& e : index_.outputs()) {
      const uint32_t id = index_.node_id(*e.node);
      ++readers_[id];
      groups_[id].is_output = true;
    }
  }

  bool fuses() const { return fuses_; }

  Graph run(Graph graph) {
    for (uint32_t id = 0; id < groups_.size(); ++id) {
      if (!index_.nodes()[id]->is_variable()) place(id);
    }
    std::vector<int64_t> roots(groups_.size(), kNone), masters, patterns;
    std::vector<std::string> reasons;
    for (size_t id = groups_.size(); id-- > 0;) {
      if (roots[id] == kNone) roots[id] = static_cast<int64_t>(id);
      for (const Entry& e : index_.nodes()[id]->inputs) {
        const uint32_t from = index_.node_id(*e.node);
        if (groups_[from].fate == Fate::Fused) roots[from] = roots[id];
      }
    }
    for (const Member& m : groups_) {
      masters.push_back(m.master);
      patterns.push_back(static_cast<int64_t>(m.pattern));
      reasons.push_back(m.reason);
    }
    graph.attributes["group_root"] = std::move(roots);
    graph.attributes["group_master"] = std::move(masters);
    graph.attributes["pattern"] = std::move(patterns);
    graph.attributes["fusion_reason"] = std::move(reasons);
    return graph;
  }

 private:
  enum class Fate : uint8_t { Open, Fused, Stored };
  struct Member {
    Pattern pattern = Pattern::Opaque;  // of what ends in this node
    int64_t master = kNone;
    Fate fate = Fate::Open;  // whether it is computed within its reader
    bool is_output = false;
    std::string reason;  // of its fate, for people
  };

  const std::string& name(uint32_t id) const { return index_.nodes()[id]->name; }
  const Shape& shape(const Entry& e) const { return shapes_[index_.entry_id(e)]; }

  void fuse(uint32_t id, uint32_t reader) {
    groups_[id].fate = Fate::Fused;
    groups_[id].reason =
        fmt::format("computed within '{}', the only node that reads it", name(reader));
  }
  void store(uint32_t id, std::string reason) {
    groups_[id].fate = Fate::Stored;
    groups_[id].reason = std::move(reason);
  }

  // Decides for the node's inputs, whose groups end here or go on, and says what pattern the group
  // has that ends in this node.
  void place(uint32_t id) {
    Member& member = groups_[id];
    const Op& op = *index_.nodes()[id]->op;
    switch (op.pattern) {
      case Pattern::ElementWise:
      case Pattern::Broadcast:
        place_elementwise(id);
        break;
      case Pattern::Injective:
      case Pattern::CommReduce:
        place_mover(id);
        break;
      case Pattern::OutEWiseFusable:
      case Pattern::Opaque:
        member.pattern = op.pattern;
        member.master = id;
        for_each_open(id, [&](uint32_t from, const Entry&) {
          store(from, fmt::format("'{}', a {}, reads its inputs from memory", name(id), op.name));
          if (groups_[from].master == kNone) groups_[from].master = from;
        });
        break;
    }
    // A value that nobody reads again is computed once only where it is stored.
    if (readers_[id] > 1 || !fuses_) {
      store(id, !fuses_            ? "opt_level 0 fuses nothing"
                : member.is_output ? "it is an output of the graph, and is read besides"
                                   : fmt::format("{} inputs read it", readers_[id]));
      if (member.master == kNone) member.master = id;
    } else if (member.is_output) {
      member.reason = "it is an output of the graph";
    }
  }

  template <class F>
  void for_each_open(uint32_t id, F f) {
    for (const Entry& e : index_.nodes()[id]->inputs) {
      const uint32_t from = index_.node_id(*e.node);
      const bool open = groups_[from].fate == Fate::Open && !e.node->is_variable();
      if (open) f(from, e);
    }
  }

  void place_elementwise(uint32_t id) {
    Member& member = groups_[id];
    const Entry own{index_.nodes()[id]};
    bool elementwise =
        own.node->op->pattern == Pattern::ElementWise && own.node->num_outputs() == 1;
    bool moves = false;
    for_each_open(id, [&](uint32_t from, const Entry& e) {
      const Member& input = groups_[from];
      const bool same = shape(e) == shape(own);
      switch (input.pattern) {
        case Pattern::ElementWise:
        case Pattern::Broadcast:
        case Pattern::Injective:
          elementwise = elementwise && input.pattern == Pattern::ElementWise && same;
          moves = moves || input.pattern == Pattern::Injective;
          fuse(from, id);
          break;
        case Pattern::OutEWiseFusable:
          if (member.master == kNone && same) {
            member.master = input.master;
            fuse(from, id);
          } else {
            store(from, same ? fmt::format("the group of '{}' has the loops of '{}' already",
                                           name(id), name(static_cast<uint32_t>(member.master)))
                             : fmt::format("'{}' changes its shape from {} to {}", name(id),
                                           to_string(shape(e)), to_string(shape(own))));
          }
          break;
        case Pattern::CommReduce:
        case Pattern::Opaque:
          store(from, fmt::format("nothing follows in the loops of a {}",
                                  index_.nodes()[from]->op->name));
          break;
      }
    });
    for (const Entry& e : own.node->inputs) elementwise = elementwise && shape(e) == shape(own);
    member.pattern = member.master != kNone ? Pattern::OutEWiseFusable
                     : moves                ? Pattern::Injective
                     : elementwise          ? Pattern::ElementWise
                                            : Pattern::Broadcast;
  }

  void place_mover(uint32_t id) {
    Member& member = groups_[id];
    member.pattern = index_.nodes()[id]->op->pattern;
    if (member.pattern == Pattern::CommReduce) member.master = id;
    for_each_open(id, [&](uint32_t from, const Entry&) {
      if (groups_[from].pattern <= Pattern::Injective) {
        fuse(from, id);
      } else {
        store(from, fmt::format("'{}', a {}, does not follow in the loops of a {}", name(id),
                                index_.nodes()[id]->op->name, index_.nodes()[from]->op->name));
      }
    });
  }

  GraphIndex index_;
  const std::vector<Shape>& shapes_;
  std::vector<int> readers_;  // inputs and outputs of the graph that read a node
  std::vector<Member> groups_;
  bool fuses_ = true;
};

}  // namespace

Graph fuse_partition(Graph graph) {
  const auto* fusion = graph.find<std::string>("fusion");
  if (fusion != nullptr && *fusion != "auto" && *fusion != "nnvm") {
    raise({.code = ErrorCode::BadArgument,
           .what = fmt::format("the graph attribute 'fusion' is '{}'", *fusion),
           .legal = "auto, nnvm"});
  }
  Partition partition(graph);
  graph = partition.run(std::move(graph));
  fusion = graph.find<std::string>("fusion");
  if (fusion != nullptr && *fusion == "auto" && partition.fuses()) merge_groups(graph);
  return graph;
}

}  // namespace tw::graph
