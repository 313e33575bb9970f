// SPDX-License-Identifier: Apache-2.0
// How patterns match: by trying, with what remains to be matched as a continuation, so that an
// alternative that fits here and leaves nothing for the rest gives way to the next.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "graph/byoc/function.h"
#include "graph/byoc/pattern.h"
#include "graph/byoc/readers.h"
#include "graph/byoc/text.h"
#include "graph/op.h"
#include "graph/rewrite.h"

namespace tw::graph {
namespace {

using Next = std::function<bool()>;

bool is_commutative(const Node& node) {
  static constexpr std::array<std::string_view, 6> kNames = {"elemwise_add",  "elemwise_mul",
                                                             "broadcast_add", "broadcast_mul",
                                                             "broadcast_max", "broadcast_min"};
  return std::ranges::find(kNames, node.op->name) != kNames.end();
}

bool is_called(const Node& node, const std::string& name) {
  return node.op->name == name || printed_name(node.op->name) == name ||
         (node.function && text_of(node, "Composite") == name) ||
         std::ranges::find(node.op->aliases, name) != node.op->aliases.end();
}

class Matcher {
 public:
  // Whoever explains keeps the first difference, for which texts are written all the time.
  explicit Matcher(const PatternGraph& graph, bool explains = false)
      : graph_(graph), explains_(explains) {}

  bool matches(const PatternRef& pattern, const Entry& root) {
    place_ = {root.node.get()};
    return visit(*pattern, root, [] { return true; });
  }
  const std::map<const NodePattern*, Entry>& entries() const { return entries_; }
  size_t most() const { return most_; }
  const std::string& difference() const { return difference_; }

 private:
  // The root, or an input of a node.
  struct Place {
    const Node* node = nullptr;
    int64_t input = -1;
  };

  bool visit(const NodePattern& p, const Entry& e, const Next& next) {
    const auto known = entries_.find(&p);
    if (known != entries_.end()) {
      const bool same = known->second.node == e.node && known->second.index == e.index;
      return same ? next()
                  : differs(e,
                            fmt::format("'{}', which the same part of the pattern matched before,",
                                        known->second.node->name));
    }
    const Next bound = [&] {
      entries_[&p] = e;
      if (next()) return true;
      entries_.erase(&p);
      return false;
    };
    using enum NodePattern::Kind;
    switch (p.kind) {
      case Wildcard:
        return bound();
      case Variable:
        if (!e.node->is_variable()) return differs(e, "a variable");
        if (!p.op.empty() && e.node->name != p.op) return differs(e, "'" + p.op + "'");
        return bound();
      case Constant:
        return graph_.is_constant(*e.node) ? bound() : differs(e, "a constant");
      case Call:
        return visit_call(p, e, bound);
      case Output:
        if (e.index != p.index) {
          return differs(e, fmt::format("output {}", p.index), fmt::format("output {}", e.index));
        }
        return visit(*p.parts[0], e, bound);
      case Either:
        return visit(*p.parts[0], e, bound) || visit(*p.parts[1], e, bound);
      case Constrained:
        return visit(*p.parts[0], e, [&, place = place_] {
          const Place inner = std::exchange(place_, place);
          const bool fits = holds(p, e);
          place_ = inner;
          return fits && bound();
        });
      case Dominated:
        return visit(*p.parts[0], e, [&] { return visit_parent(p, e, bound); });
    }
    return false;
  }

  bool visit_call(const NodePattern& p, const Entry& e, const Next& next) {
    if (e.node->is_variable() || !is_called(*e.node, p.op)) return differs(e, p.op);
    if (p.any_inputs) return next();
    if (e.node->inputs.size() != p.parts.size()) {
      const auto inputs = [&](size_t n) { return fmt::format("{} of {} inputs", p.op, n); };
      return differs(e, inputs(p.parts.size()), inputs(e.node->inputs.size()));
    }
    ++calls_;
    const bool found = visit_inputs(p, *e.node, 0, false, next) ||
                       (is_commutative(*e.node) && visit_inputs(p, *e.node, 0, true, next));
    --calls_;
    return found;
  }

  bool visit_inputs(const NodePattern& p, const Node& node, size_t k, bool swapped,
                    const Next& next) {
    if (k == p.parts.size()) return next();
    const size_t input = swapped ? 1 - k : k;
    const Place outer = std::exchange(place_, {&node, static_cast<int64_t>(input)});
    const bool found = visit(*p.parts[k], node.inputs[input],
                             [&] { return visit_inputs(p, node, k + 1, swapped, next); });
    place_ = outer;
    return found;
  }

  // What a constraint says, of one entry alone.
  bool holds(const NodePattern& p, const Entry& e) {
    for (const auto& [name, text] : p.attributes) {
      if (has_attribute(*e.node, name, text)) continue;
      return differs(e, fmt::format("{}={}", name, text), attribute_text(*e.node, name));
    }
    if (p.dtype) {
      const auto type = graph_.dtype(e);
      if (type != p.dtype)
        return differs(e, to_string(*p.dtype),
                       type ? "of " + to_string(*type) : "of a type that is not known");
    }
    if (!p.shape) return true;
    const Shape* shape = graph_.shape(e);
    const bool is_known = shape != nullptr && shape->has_rank();
    bool same = is_known && shape->rank() == p.shape->size();
    for (size_t d = 0; same && d < p.shape->size(); ++d)
      same = (*p.shape)[d] == Shape::kUnknown || (*p.shape)[d] == (*shape)[d];
    return same ||
           differs(e, "shape " + to_string(Shape(*p.shape)),
                   is_known ? "of shape " + to_string(*shape) : "of a shape that is not known");
  }

  // "of channels=4".
  static std::string attribute_text(const Node& node, const std::string& name) {
    const std::string* text = node.attributes.find(name);
    if (text != nullptr) return fmt::format("of {}={}", name, *text);
    if (!node.is_variable()) {
      for (const AttributeSpec& spec : node.op->attributes) {
        if (spec.name == name) return fmt::format("of {}={}", name, spec.initial.value_or("None"));
      }
    }
    return fmt::format("{} without '{}'", kind_of(node), name);
  }

  // Texts are compared as the operator reads them; what is not given has its initial value.
  static bool has_attribute(const Node& node, const std::string& name, const std::string& wanted) {
    const std::string* text = node.attributes.find(name);
    if (node.is_variable()) return text != nullptr && *text == wanted;
    for (const AttributeSpec& spec : node.op->attributes) {
      if (spec.name != name) continue;
      const auto value =
          read_attribute(spec.type, text != nullptr ? *text : spec.initial.value_or(""));
      return value && value == read_attribute(spec.type, wanted);
    }
    return text != nullptr && *text == wanted;
  }

  // Candidates for the parent are what the child depends on.
  bool visit_parent(const NodePattern& p, const Entry& child, const Next& next) {
    std::vector<Entry> candidates;
    std::vector<Entry> open = child.node->inputs;
    while (!open.empty()) {
      const Entry e = open.back();
      open.pop_back();
      const bool known = std::ranges::any_of(
          candidates, [&](const Entry& c) { return c.node == e.node && c.index == e.index; });
      if (known) continue;
      candidates.push_back(e);
      open.insert(open.end(), e.node->inputs.begin(), e.node->inputs.end());
    }
    for (const Entry& parent : candidates) {
      const bool found = visit(*p.parts[1], parent,
                               [&] { return all_through(*p.parts[2], child, parent) && next(); });
      if (found) return true;
    }
    return differs(child, to_string(*p.parts[1]) + " alone behind it");
  }

  // Whether all ways from the child down lead through the parent, over entries of the path.
  bool all_through(const NodePattern& path, const Entry& child, const Entry& parent) {
    std::vector<Entry> open = child.node->inputs;
    if (open.empty()) return false;
    std::set<std::pair<const Node*, uint32_t>> seen;  // look-ups only
    while (!open.empty()) {
      const Entry e = open.back();
      open.pop_back();
      if (e.node == parent.node && e.index == parent.index) continue;
      if (!seen.emplace(e.node.get(), e.index).second) continue;
      if (e.node->inputs.empty()) return false;
      Matcher alone(graph_);
      if (!alone.visit(path, e, [] { return true; })) return false;
      open.insert(open.end(), e.node->inputs.begin(), e.node->inputs.end());
    }
    return true;
  }

  static std::string kind_of(const Node& node) {
    return node.is_variable() ? "a variable" : std::string(printed_name(node.op->name));
  }

  // `is`: what the entry is instead; by default its operator.
  bool differs(const Entry& e, const std::string& wanted, const std::string& is = {}) {
    if (!explains_ || (!difference_.empty() && entries_.size() + calls_ <= most_)) return false;
    most_ = entries_.size() + calls_;
    const std::string where =
        place_.input < 0 ? fmt::format("'{}'", place_.node->name)
                         : fmt::format("input {} of '{}'", place_.input, place_.node->name);
    difference_ = fmt::format("{}: {} is wanted, and '{}' is {}", where, wanted, e.node->name,
                              is.empty() ? kind_of(*e.node) : is);
    return false;
  }
  const PatternGraph& graph_;
  std::map<const NodePattern*, Entry> entries_;  // look-ups only
  bool explains_;
  Place place_;
  std::string difference_;
  size_t calls_ = 0;  // whose operator fits, and whose inputs are being matched
  size_t most_ = 0;
};

// Nodes that calls of the pattern matched.
void take_nodes(const NodePattern& p, Match& match, const GraphIndex& index,
                std::set<uint32_t>& nodes) {
  const auto entry = match.entries.find(&p);
  if (entry == match.entries.end()) return;  // of the alternative that was not taken
  if (p.kind == NodePattern::Kind::Call) nodes.insert(index.node_id(*entry->second.node));
  if (!p.name.empty()) match.captures[p.name] = entry->second;
  for (const PatternRef& part : p.parts) take_nodes(*part, match, index, nodes);
}

}  // namespace

std::optional<Match> match(const PatternRef& pattern, const Entry& root,
                           const PatternGraph& graph) {
  Matcher matcher(graph);
  if (!matcher.matches(pattern, root)) return std::nullopt;
  Match result{.root = root, .entries = matcher.entries()};
  std::set<uint32_t> nodes;
  take_nodes(*pattern, result, graph.index(), nodes);
  result.nodes.assign(nodes.begin(), nodes.end());
  return result;
}

NearestMatch explain_match(const PatternRef& pattern, const Entry& root,
                           const PatternGraph& graph) {
  Matcher matcher(graph, /*explains=*/true);
  if (matcher.matches(pattern, root)) return {.at = root.node->name};
  return {.at = root.node->name, .matched = matcher.most(), .difference = matcher.difference()};
}

std::optional<NearestMatch> nearest_match(const PatternRef& pattern, const PatternGraph& graph) {
  std::optional<NearestMatch> best;
  for (const NodeRef& node : graph.index().nodes()) {
    for (uint32_t k = 0; k < static_cast<uint32_t>(node->num_outputs()); ++k) {
      NearestMatch found = explain_match(pattern, {node, k}, graph);
      if (found.difference.empty()) return std::nullopt;
      if (!best || found.matched >= best->matched) best = std::move(found);
    }
  }
  return best;
}

std::vector<Match> matches(const PatternRef& pattern, const PatternGraph& graph) {
  const GraphIndex& index = graph.index();
  std::vector<Match> found;
  const Readers readers(index);
  std::vector<bool> taken(index.num_nodes(), false);
  for (size_t id = index.num_nodes(); id-- > 0;) {
    const NodeRef& node = index.nodes()[id];
    if (taken[id] || node->is_variable()) continue;
    for (uint32_t k = 0; k < static_cast<uint32_t>(node->num_outputs()); ++k) {
      auto m = match(pattern, {node, k}, graph);
      const bool free = m && !m->nodes.empty() &&
                        std::ranges::none_of(m->nodes, [&](uint32_t n) { return taken[n]; }) &&
                        readers.is_closed(m->nodes, static_cast<uint32_t>(id));
      if (!free) continue;
      for (uint32_t n : m->nodes) taken[n] = true;
      found.push_back(*std::move(m));
      break;
    }
  }
  return found;
}

Graph rewrite_matches(const Graph& graph, const PatternRef& pattern,
                      const std::function<std::optional<Entry>(const Match&)>& replace) {
  const PatternGraph patterns(graph);
  const GraphIndex& index = patterns.index();
  std::map<uint32_t, Match> by_root;
  for (Match& m : matches(pattern, patterns)) {
    const uint32_t root = index.node_id(*m.root.node);
    by_root.emplace(root, std::move(m));
  }
  // What stands for each old entry: nodes come in order, so their inputs are known.
  std::vector<std::vector<Entry>> now(index.num_nodes());
  return rewrite(graph, [&](size_t id, const NodeRef& node) -> Replacement {
    std::vector<Entry>& own = now[id] = entries_of(node);
    const auto at = by_root.find(static_cast<uint32_t>(id));
    if (at == by_root.end()) return std::nullopt;
    const auto moved = [&](Entry& e) {
      const Entry& by = now[index.node_id(*e.node)][e.index];
      e = {by.node, by.index, e.version};
    };
    Match m = at->second;
    const uint32_t output = m.root.index;
    moved(m.root);
    for (auto& [part, e] : m.entries) moved(e);
    for (auto& [name, e] : m.captures) moved(e);
    const auto by = replace(m);
    if (!by) return std::nullopt;
    own[output] = *by;
    return own;
  });
}

}  // namespace tw::graph
