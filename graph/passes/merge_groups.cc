// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/merge_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "autotune/build.h"
#include "autotune/log/log.h"
#include "graph/build.h"
#include "graph/dtypes.h"
#include "graph/group.h"
#include "graph/op.h"
#include "graph/pass.h"
#include "schedule/te/compute.h"
#include "schedule/te/placeholder.h"

namespace tw::graph {
namespace {

// Of one kernel: a layer norm of primitive operators has some ten. The space of a program grows
// with each, and so does the time to look through it.
constexpr size_t kMostNodes = 16;
// Ends that are tried for one beginning, the last first.
constexpr size_t kMostEnds = 3;
// What a call of a kernel costs beside its loops, seconds.
constexpr double kCallSeconds = 1e-6;
// What goes through memory between kernels, in bytes a second of one thread: the machine model's
// 10 bytes a cycle out of the second cache, at its 2.5 GHz.
constexpr double kBytesPerSecond = 25e9;
// The prior says which of two schedules is faster more surely than which of two programs.
constexpr double kPriorMargin = 0.9;

// The part of a partition that ends in one node; what was merged into another has no nodes.
struct Part {
  std::vector<uint32_t> nodes;  // ascending, the root last
  std::set<uint32_t> readers;   // roots
  bool is_output = false;
  bool is_closed = false;  // merged with nothing
  bool has_opaque_loops = false;
  int products = 0;  // operators that read weights again and again
};

class Merger {
 public:
  explicit Merger(Graph& graph)
      : parameters_(parameters_of(graph)),
        builder_(graph, parameters_),
        index_(builder_.index()),
        options_(build_options_of(graph)),
        roots_(std::get<std::vector<int64_t>>(graph.attributes.at("group_root"))),
        reasons_(std::get<std::vector<std::string>>(graph.attributes.at("fusion_reason"))),
        shapes_(list_of<Shape>(graph, "shape", index_.num_entries())),
        types_(list_of<int64_t>(graph, "dtype", index_.num_entries())) {
    if (!options_.log.empty()) log_.emplace(options_.log, autotune::Log::Mode::Read);
    collect();
  }

  void run() {
    for (uint32_t root = 0; root < parts_.size(); ++root) {
      const std::vector<std::vector<uint32_t>> choices = mergeable_from(root);
      for (size_t k = choices.size(); k-- > 0 && choices.size() - k <= kMostEnds;) {
        if (merge_if_faster(choices[k])) break;
      }
    }
  }

 private:
  static std::set<std::string> parameters_of(const Graph& graph) {
    const auto* names = graph.find<std::vector<std::string>>("param_name_list");
    return names ? std::set<std::string>(names->begin(), names->end()) : std::set<std::string>();
  }

  uint32_t root_of(const Node& node) const {
    return static_cast<uint32_t>(roots_[index_.node_id(node)]);
  }

  void collect() {
    parts_.resize(index_.num_nodes());
    for (uint32_t id = 0; id < parts_.size(); ++id) {
      const NodeRef& node = index_.nodes()[id];
      if (node->is_variable()) continue;
      const uint32_t root = root_of(*node);
      Part& part = parts_[root];
      part.nodes.push_back(id);
      const bool is_opaque = node->op->pattern == Pattern::Opaque;
      const bool has_loops = is_opaque && is_loops_over_expressions(node);
      part.has_opaque_loops |= has_loops;
      part.is_closed |= (is_opaque && !has_loops) || !node->op->mutates.empty() ||
                        !node->control_dependencies.empty();
      part.products += node->op->pattern == Pattern::OutEWiseFusable && node->inputs.size() > 1;
      const auto read = [&](const NodeRef& from) {
        if (!from->is_variable() && root_of(*from) != root)
          parts_[root_of(*from)].readers.insert(root);
      };
      for (const Entry& e : node->inputs) read(e.node);
      std::ranges::for_each(node->control_dependencies, read);
    }
    for (const Entry& e : index_.outputs()) {
      if (!e.node->is_variable()) parts_[root_of(*e.node)].is_output = true;
    }
  }

  // Of an operator whose pattern says nothing, as softmax: whether te does, whose loops go with
  // others. Statements, as those of a sort, do not.
  bool is_loops_over_expressions(const NodeRef& node) const {
    if (node->num_outputs() != 1) return false;
    const Group alone = builder_.group({node});
    if (alone.is_external || alone.program.outputs.empty()) return false;
    const std::vector<te::Operation> operations = te::operations(alone.program.outputs);
    return std::ranges::all_of(operations, [](const te::Operation& op) {
      return te::as_op<te::ComputeNode>(op) != nullptr ||
             te::as_op<te::PlaceholderNode>(op) != nullptr;
    });
  }

  // A view costs nothing by itself.
  bool is_view(const Part& part) const {
    return std::ranges::all_of(part.nodes,
                               [&](uint32_t id) { return index_.nodes()[id]->op->is_reshape; });
  }

  // The roots of parts that may become one, beginning with this: up to each part that all ways from
  // it lead through, the nearest first. Nothing inside is read outside, as parts are taken in the
  // order of their roots until none is open but one.
  std::vector<std::vector<uint32_t>> mergeable_from(uint32_t first) const {
    std::vector<std::vector<uint32_t>> result;
    const Part& begin = parts_[first];
    if (begin.nodes.empty() || begin.is_output || begin.is_closed || is_view(begin)) return result;
    std::vector<uint32_t> members = {first};
    std::set<uint32_t> open = begin.readers;
    size_t nodes = begin.nodes.size();
    int products = begin.products;
    while (!open.empty()) {
      const uint32_t root = *open.begin();
      open.erase(open.begin());
      const Part& part = parts_[root];
      members.push_back(root);
      nodes += part.nodes.size();
      products += part.products;
      // A product reads what came before it from memory, again and again.
      if (part.is_closed || part.products > 0 || products > 1 || nodes > kMostNodes) break;
      // Behind a product, what puts its result beside others is not its epilogue, nor are the loops
      // of a softmax.
      if (products > 0 && (joins(part) || part.has_opaque_loops)) break;
      if (open.empty() && !is_view(part)) result.push_back(members);
      if (part.is_output) break;
      open.insert(part.readers.begin(), part.readers.end());
    }
    return result;
  }

  bool joins(const Part& part) const {
    return std::ranges::any_of(part.nodes, [&](uint32_t id) {
      const Node& node = *index_.nodes()[id];
      return node.op->pattern == Pattern::Injective && node.inputs.size() > 1;
    });
  }

  std::vector<uint32_t> nodes_of(const std::vector<uint32_t>& members) const {
    std::vector<uint32_t> nodes;
    for (uint32_t root : members)
      nodes.insert(nodes.end(), parts_[root].nodes.begin(), parts_[root].nodes.end());
    std::ranges::sort(nodes);
    return nodes;
  }

  // Seconds of a call, nothing where they are not known.
  std::optional<double> seconds(const std::vector<uint32_t>& nodes, bool from_log) const {
    std::vector<NodeRef> members;
    for (uint32_t id : nodes) members.push_back(index_.nodes()[id]);
    const Group group = builder_.group(std::move(members));
    if (group.is_view()) return 0;
    const autotune::BuildOptions options{
        .threads = options_.threads, .log = log_ ? &*log_ : nullptr, .needs_record = false};
    const auto loops = from_log
                           ? autotune::measured_seconds(group.program, options_.target, options)
                           : autotune::estimated_seconds(group.program, options_.target, options);
    return loops ? std::optional(*loops + kCallSeconds) : std::nullopt;
  }

  // The sum over the parts; nothing where one is not known.
  std::optional<double> apart(const std::vector<uint32_t>& members, bool from_log) const {
    double sum = 0;
    for (uint32_t root : members) {
      const auto one = seconds(parts_[root].nodes, from_log);
      if (!one) return std::nullopt;
      sum += *one;
    }
    return sum;
  }

  // The most that one kernel may save: calls, and what lies in memory between them.
  double most_saved(const std::vector<uint32_t>& members) const {
    double saved = 0;
    for (uint32_t root : members) {
      if (root == members.back()) continue;
      const size_t entry = index_.entry_id(root, 0);
      double bytes = type_of_number(static_cast<int>(types_[entry]))->element_bytes();
      for (int64_t extent : *shapes_[entry].extents) bytes *= static_cast<double>(extent);
      const auto passes = static_cast<double>(1 + parts_[root].readers.size());
      saved += kCallSeconds + passes * bytes / kBytesPerSecond;
    }
    return saved;
  }

  // What was tuned one way is built that way: a log that knows one side alone decides.
  bool merge_if_faster(const std::vector<uint32_t>& members) {
    if (log_) {
      const auto one = seconds(nodes_of(members), true), several = apart(members, true);
      if (one && (!several || *one < *several)) {
        merge(members, *one, several, "the log");
        return true;
      }
      if (several) return false;
    }
    const auto several = apart(members, false);
    if (!several) return false;
    const double wanted = kPriorMargin * *several, saved = most_saved(members);
    if (*several - saved > wanted) {
      explain(members, fmt::format("would save {} of {} at most", microseconds(saved),
                                   microseconds(*several)));
      return false;
    }
    const auto one = seconds(nodes_of(members), false);
    if (!one) return false;
    if (*one > wanted) {
      explain(members, fmt::format("should take {}, and several {}, by the prior",
                                   microseconds(*one), microseconds(*several)));
      return false;
    }
    merge(members, *one, several, "the prior");
    return true;
  }

  static std::string microseconds(double seconds) {
    return fmt::format("{:.3g} us", seconds * 1e6);
  }
  const std::string& name(uint32_t id) const { return index_.nodes()[id]->name; }

  // Why the parts stay: of the longest chain that was looked at.
  void explain(const std::vector<uint32_t>& members, const std::string& why) {
    std::string& reason = reasons_[members.front()];
    if (!explained_.insert(members.front()).second) return;
    reason += fmt::format("{}one kernel up to '{}' {}", reason.empty() ? "" : "; ",
                          name(members.back()), why);
  }

  void merge(const std::vector<uint32_t>& members, double one, std::optional<double> several,
             std::string_view judge) {
    const uint32_t root = members.back();
    const std::string than =
        several ? fmt::format("and {} kernels {}", members.size(), microseconds(*several))
                : "and does not know the parts";
    std::vector<uint32_t> nodes = nodes_of(members);
    for (uint32_t id : nodes) roots_[id] = root;
    for (uint32_t member : members) {
      if (member == root) continue;
      reasons_[member] = fmt::format("computed in one kernel with '{}', which takes {} by {}, {}",
                                     name(root), microseconds(one), judge, than);
      parts_[root].products += parts_[member].products;
      parts_[member] = {};
    }
    parts_[root].nodes = std::move(nodes);
    for (Part& part : parts_) {
      size_t merged = 0;
      for (uint32_t member : members) merged += member != root ? part.readers.erase(member) : 0;
      if (merged > 0) part.readers.insert(root);
    }
  }

  std::set<std::string> parameters_;
  GroupBuilder builder_;
  const GraphIndex& index_;
  GroupBuildOptions options_;
  std::optional<autotune::Log> log_;
  std::vector<int64_t>& roots_;
  std::vector<std::string>& reasons_;
  const std::vector<Shape>& shapes_;
  const std::vector<int64_t>& types_;
  std::vector<Part> parts_;  // by root
  std::set<uint32_t> explained_;
};

bool is_described(const Graph& graph) {
  const auto* shapes = graph.find<std::vector<Shape>>("shape");
  const auto* types = graph.find<std::vector<int64_t>>("dtype");
  return shapes != nullptr && types != nullptr && shapes->size() == types->size() &&
         std::ranges::all_of(*shapes, &Shape::known) &&
         std::ranges::none_of(*types, [](int64_t type) { return type < 0; });
}

}  // namespace

void merge_groups(Graph& graph) {
  if (is_described(graph)) Merger(graph).run();
}

}  // namespace tw::graph
