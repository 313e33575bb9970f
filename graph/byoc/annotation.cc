// SPDX-License-Identifier: Apache-2.0
#include "graph/byoc/annotation.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "graph/byoc/function.h"
#include "graph/byoc/units.h"
#include "graph/op.h"
#include "graph/rewrite.h"
#include "runtime/error.h"

namespace tw::graph {
namespace {

class Finder {
 public:
  Finder(const Graph& graph, const GraphIndex& index)
      : index_(index), parent_(index.num_nodes()), compiler_(index.num_nodes()) {
    std::iota(parent_.begin(), parent_.end(), 0U);
    for (uint32_t id = 0; id < index.num_nodes(); ++id) place(id);
    number_regions();
    for (uint32_t id = 0; id < index.num_nodes(); ++id) check(id);
    for (size_t k = 0; k < index.outputs().size(); ++k) {
      const uint32_t from = index.node_id(*index.outputs()[k].node);
      if (is_inside(from)) missing_end(from, nullptr, k);
    }
    check_use();
    check_unread(graph);
    check_convex();
  }

  Annotations result() { return std::move(result_); }

 private:
  const Node& node(uint32_t id) const { return *index_.nodes()[id]; }
  uint32_t from(const Entry& e) const { return index_.node_id(*e.node); }
  // Of a node of a region the region's compiler.
  bool is_inside(uint32_t id) const { return !compiler_[id].empty() && !is_mark(node(id)); }
  static bool is_mark(const Node& n) { return is_begin(n) || is_end(n); }

  uint32_t root(uint32_t id) {
    while (parent_[id] != id) id = parent_[id] = parent_[parent_[id]];
    return id;
  }

  // A node is in a region that one of its inputs comes from, or begins.
  void place(uint32_t id) {
    if (is_mark(node(id))) return;
    for (const Entry& e : node(id).inputs) {
      const uint32_t input = from(e);
      const bool begins = is_begin(*e.node);
      if (!begins && !is_inside(input)) continue;
      const std::string& compiler = begins ? text_of(*e.node, "compiler") : compiler_[input];
      if (compiler_[id].empty()) compiler_[id] = compiler;
      if (!begins && compiler_[id] == compiler) parent_[root(input)] = root(id);
    }
  }

  void number_regions() {
    std::map<uint32_t, uint32_t> last;  // node of each region, by its root
    for (uint32_t id = 0; id < index_.num_nodes(); ++id) {
      if (is_inside(id)) last[root(id)] = id;
    }
    std::vector<std::pair<uint32_t, uint32_t>> order;
    for (const auto& [root, id] : last) order.emplace_back(id, root);
    std::ranges::sort(order);
    std::map<uint32_t, int64_t> number;
    for (const auto& [id, root] : order) {
      number[root] = static_cast<int64_t>(result_.regions.size());
      result_.regions.push_back({.compiler = compiler_[id]});
    }
    result_.region_of.assign(index_.num_nodes(), kNoRegion);
    for (uint32_t id = 0; id < index_.num_nodes(); ++id) {
      if (!is_inside(id)) continue;
      result_.region_of[id] = number.at(root(id));
      result_.regions[static_cast<size_t>(result_.region_of[id])].nodes.push_back(id);
    }
  }

  std::string region_text(int64_t number) const {
    const AnnotatedRegion& r = result_.regions[static_cast<size_t>(number)];
    const std::string &first = node(r.nodes.front()).name, &last = node(r.nodes.back()).name;
    return fmt::format("region {} of {} ({})", number, r.compiler,
                       r.nodes.size() == 1 ? fmt::format("'{}'", first)
                                           : fmt::format("'{}' to '{}'", first, last));
  }

  // The region in front of a compiler_end.
  int64_t left_region(const Entry& e) const {
    return is_end(*e.node) ? result_.region_of[from(e.node->inputs[0])] : kNoRegion;
  }

  void check(uint32_t id) {
    const Node& n = node(id);
    if (is_begin(n)) {
      if (is_inside(from(n.inputs[0]))) missing_end(from(n.inputs[0]), &n, 0);
      check_same_compiler(n);
    } else if (is_end(n)) {
      check_end(n);
    } else if (is_inside(id)) {
      for (size_t k = 0; k < n.inputs.size(); ++k) check_input(id, k);
    }
  }

  // Of a mark that reads a begin.
  void check_same_compiler(const Node& n) {
    const Node& before = *n.inputs[0].node;
    if (!is_begin(before)) return;
    const std::string &outer = text_of(before, "compiler"), &inner = text_of(n, "compiler");
    if (outer == inner) return;
    fault({.kind = FaultKind::TwoCompilers,
           .from = before.name,
           .to = n.name,
           .what = fmt::format("'{}' begins a region of {}, and '{}' behind it is of {}",
                               before.name, outer, n.name, inner),
           .repair = "one compiler for all marks on an edge"},
          n, before);
  }

  void check_end(const Node& n) {
    const Node& before = *n.inputs[0].node;
    const std::string& compiler = text_of(n, "compiler");
    if (is_begin(before)) return check_same_compiler(n);
    const int64_t region = result_.region_of[from(n.inputs[0])];
    if (region == kNoRegion) {
      fault({.kind = FaultKind::EndWithoutBegin,
             .from = before.name,
             .to = n.name,
             .what = fmt::format("'{}' ends a region of {} behind '{}', which is in none", n.name,
                                 compiler, before.name),
             .repair = fmt::format("compiler_begin(..., compiler='{}') on the inputs of '{}'",
                                   compiler, before.name)},
            n, before);
    } else if (result_.regions[static_cast<size_t>(region)].compiler != compiler) {
      fault({.kind = FaultKind::TwoCompilers,
             .from = before.name,
             .to = n.name,
             .what = fmt::format("'{}', of {}, ends {}", n.name, compiler, region_text(region)),
             .repair = "a compiler_end of the region's compiler"},
            n, before);
    }
  }

  void check_input(uint32_t id, size_t k) {
    const Node& n = node(id);
    const Entry& e = n.inputs[k];
    const std::string& compiler = compiler_[id];
    const bool begins = is_begin(*e.node);
    if (begins || is_inside(from(e))) {
      const std::string& other = begins ? text_of(*e.node, "compiler") : compiler_[from(e)];
      if (other == compiler) return;
      fault({.kind = FaultKind::TwoCompilers,
             .from = e.node->name,
             .to = n.name,
             .what = fmt::format("input {} of '{}' begins a region of {}, and another input one of "
                                 "{}",
                                 k, n.name, other, compiler),
             .repair = "one compiler for all inputs of a node"},
            n, *e.node);
      return;
    }
    const int64_t left = left_region(e);
    fault({.kind = FaultKind::MissingBegin,
           .from = e.node->name,
           .to = n.name,
           .what = fmt::format("the edge from '{}' to input {} of '{}' {}enters {} without a begin",
                               e.node->name, k, n.name,
                               left == kNoRegion ? "" : "leaves " + region_text(left) + " and ",
                               region_text(result_.region_of[id])),
           .repair = fmt::format("compiler_begin({}, compiler='{}') as input {} of '{}'",
                                 e.node->name, compiler, k, n.name),
           .reader = &n,
           .input = k,
           .compiler = compiler},
          n, *e.node);
  }

  void missing_end(uint32_t id, const Node* reader, size_t input) {
    const Node& n = node(id);
    const std::string to = reader == nullptr ? fmt::format("output {} of the graph", input)
                                             : fmt::format("'{}'", reader->name);
    fault({.kind = FaultKind::MissingEnd,
           .from = n.name,
           .to = reader == nullptr ? "" : reader->name,
           .what = fmt::format("the edge from '{}' to {} leaves {} without an end", n.name, to,
                               region_text(result_.region_of[id])),
           .repair = fmt::format("compiler_end({}, compiler='{}') as {}", n.name, compiler_[id],
                                 reader == nullptr ? to : "input 0 of " + to),
           .reader = reader,
           .input = input,
           .compiler = compiler_[id]},
          n, n);
  }

  void check_use() {
    std::set<uint32_t> read;
    for (const NodeRef& n : index_.nodes()) {
      for (const Entry& e : n->inputs) read.insert(from(e));
    }
    for (const Entry& e : index_.outputs()) read.insert(from(e));
    for (uint32_t id = 0; id < index_.num_nodes(); ++id) {
      if (!is_end(node(id)) || read.contains(id)) continue;
      const Node& n = node(id);
      const int64_t region = left_region({index_.nodes()[id]});
      fault({.kind = FaultKind::UnusedRegion,
             .from = n.name,
             .to = {},
             .what = fmt::format("nobody reads '{}', which {} gives", n.name,
                                 region == kNoRegion ? "no region" : region_text(region)),
             .repair = "a region without it"},
            n, n);
    }
  }

  // What a file had and no output of its graph needed is not in the graph.
  void check_unread(const Graph& graph) {
    const auto* names = graph.find<std::vector<std::string>>(kUnreadEnds);
    if (names == nullptr) return;
    for (const std::string& name : *names) {
      result_.faults.push_back({.kind = FaultKind::UnusedRegion,
                                .from = name,
                                .to = {},
                                .what = fmt::format("nobody reads '{}', which ends a region", name),
                                .repair = "a file without it, or an output that needs it",
                                .source = {}});
    }
  }

  void check_convex() {
    const Units units(index_, result_.region_of);
    for (size_t r = 0; r < result_.regions.size(); ++r) {
      const std::vector<uint32_t> path = units.way_back(static_cast<int64_t>(r));
      if (path.empty()) continue;
      std::vector<std::string> names;
      for (uint32_t id : path) {
        if (!is_mark(node(id))) names.push_back(node(id).name);
      }
      fault({.kind = FaultKind::NotConvex,
             .from = names.front(),
             .to = names.back(),
             .what = fmt::format("a path leaves {} and comes back: {}",
                                 region_text(static_cast<int64_t>(r)), fmt::join(names, " -> ")),
             .repair = "what lies between on the path in the region too, or two regions",
             .path = names},
            node(path.back()), node(path.front()));
    }
  }

  void fault(AnnotationFault f, const Node& first, const Node& second) {
    f.source = first.source.empty() ? second.source : first.source;
    result_.faults.push_back(std::move(f));
  }

  const GraphIndex& index_;
  std::vector<uint32_t> parent_;       // of a union-find over nodes
  std::vector<std::string> compiler_;  // of nodes in regions
  Annotations result_;
};

Entry make_mark(std::string_view op, const Entry& entry, const std::string& compiler) {
  return make_call(op, fmt::format("{}_{}", entry.node->name, op.substr(op.find('_') + 1)), {entry},
                   {{"compiler", compiler}});
}

}  // namespace

std::string_view to_string(FaultKind kind) {
  static constexpr std::string_view kTexts[] = {
#define ANNOTATION_FAULT(name, text, doc) text,
#include "graph/byoc/annotation_faults.def"
#undef ANNOTATION_FAULT
  };
  return kTexts[static_cast<size_t>(kind)];
}

bool is_begin(const Node& node) { return !node.is_variable() && node.op->name == "compiler_begin"; }
bool is_end(const Node& node) { return !node.is_variable() && node.op->name == "compiler_end"; }
Entry make_begin(const Entry& entry, const std::string& compiler) {
  return make_mark("compiler_begin", entry, compiler);
}
Entry make_end(const Entry& entry, const std::string& compiler) {
  return make_mark("compiler_end", entry, compiler);
}

Annotations find_annotations(const Graph& graph, const GraphIndex& index) {
  return Finder(graph, index).result();
}

Graph repair_annotations(Graph graph, std::vector<std::string>& inserted) {
  const GraphIndex index(graph);
  const Annotations found = find_annotations(graph, index);
  std::map<std::pair<uint32_t, size_t>, const AnnotationFault*> at_inputs;
  std::map<size_t, const AnnotationFault*> at_outputs;
  for (const AnnotationFault& f : found.faults) {
    if (!f.is_repairable()) continue;
    if (f.reader != nullptr) {
      at_inputs[{index.node_id(*f.reader), f.input}] = &f;
    } else {
      at_outputs[f.input] = &f;
    }
    inserted.push_back(fmt::format("{}: inserted {}", f.what, f.repair));
  }
  if (at_inputs.empty() && at_outputs.empty()) return graph;
  const auto marked = [](const Entry& e, const AnnotationFault& f) {
    return f.kind == FaultKind::MissingBegin ? make_begin(e, f.compiler) : make_end(e, f.compiler);
  };
  graph = rewrite(graph, [&](size_t id, const NodeRef& node) -> Replacement {
    Node next = *node;
    bool changed = false;
    for (size_t k = 0; k < next.inputs.size(); ++k) {
      const auto f = at_inputs.find({static_cast<uint32_t>(id), k});
      if (f == at_inputs.end()) continue;
      next.inputs[k] = marked(next.inputs[k], *f->second);
      changed = true;
    }
    if (!changed) return std::nullopt;
    return entries_of(make_node(std::move(next)));
  });
  for (const auto& [k, f] : at_outputs) graph.outputs[k] = marked(graph.outputs[k], *f);
  return graph;
}

void require_no_faults(const Annotations& annotations) {
  if (annotations.faults.empty()) return;
  const AnnotationFault& f = annotations.faults.front();
  const size_t others = annotations.faults.size() - 1;
  raise({.code = ErrorCode::BadGraph,
         .what = fmt::format("{}: {}{}", to_string(f.kind), f.what,
                             others == 0 ? "" : fmt::format(" ({} further faults)", others)),
         .where =
             f.source.empty() ? fmt::format("node '{}'", f.to.empty() ? f.from : f.to) : f.source,
         .legal = f.repair});
}

}  // namespace tw::graph
