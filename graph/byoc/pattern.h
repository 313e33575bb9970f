// SPDX-License-Identifier: Apache-2.0
// Patterns of networks: what tvm.relay.dataflow_pattern describes, on entries of graphs.
//
//   const PatternRef conv = is_op("nn.conv2d", {wildcard(), is_constant()});
//   const PatternRef block = is_op("nn.relu", {optional(conv, [](auto x) {
//     return is_op("add", {x, is_constant()}); })});
//
// A pattern that occurs twice inside another matches one entry both times.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "graph/inference.h"

namespace tw::graph {

struct NodePattern;
using PatternRef = std::shared_ptr<const NodePattern>;

struct NodePattern {
  enum class Kind : uint8_t {
    Wildcard,     // anything
    Variable,     // a variable, of that name where there is one
    Constant,     // a variable whose value is known
    Call,         // an operator, on `parts` unless any inputs will do
    Output,       // output `index` of a node that parts[0] matches
    Either,       // parts[0], else parts[1]
    Constrained,  // parts[0], where the rest holds
    Dominated,    // parts[0] behind parts[1]: see dominates
  };
  Kind kind = Kind::Wildcard;
  std::string name = {};  // under which a match is captured; empty: it is not
  std::vector<PatternRef> parts = {};
  std::string op = {};                             // Call: in either name; Variable: its name
  bool any_inputs = false;                         // Call
  uint32_t index = 0;                              // Output
  Attributes attributes = {};                      // Constrained: texts that mean these values
  std::optional<DType> dtype = {};                 // Constrained
  std::optional<std::vector<int64_t>> shape = {};  // Constrained; Shape::kUnknown: any extent
};

PatternRef wildcard();
PatternRef is_var(std::string name = {});
PatternRef is_constant();
// A call of an operator, whose name may be ours or the one that functional text has: "add" is
// elemwise_add and broadcast_add. Operands of commutative ones match in either order.
// UnknownOperator where there is none.
PatternRef is_op(std::string op);  // any inputs
PatternRef is_op(std::string op, std::vector<PatternRef> inputs);
PatternRef is_tuple_get_item(PatternRef tuple, uint32_t index);
PatternRef either(PatternRef first, PatternRef second);
// f(pattern), or the pattern alone.
PatternRef optional(PatternRef pattern, const std::function<PatternRef(PatternRef)>& f);
PatternRef has_attr(PatternRef pattern, Attributes attributes);
PatternRef has_dtype(PatternRef pattern, DType dtype);
PatternRef has_shape(PatternRef pattern, std::vector<int64_t> shape);
// What matches `child` and depends on one node that matches `parent` alone: every way from it to
// variables leads through that node, and through entries that match `path` before.
PatternRef dominates(PatternRef parent, PatternRef child, PatternRef path);
PatternRef named(PatternRef pattern, std::string name);

// "nn.relu(nn.conv2d(*, constant))".
std::string to_string(const NodePattern& pattern);

// What patterns are matched against.
class PatternGraph {
 public:
  // Constants are the variables that the attribute 'param_name_list' names. Types and shapes are
  // unknown where the graph has none.
  explicit PatternGraph(const Graph& graph);

  const GraphIndex& index() const { return index_; }
  bool is_constant(const Node& node) const {
    return node.is_variable() && constants_.contains(node.name);
  }
  // Whether a node reads it, or it is an output of the graph.
  bool is_read(const Entry& e) const { return is_read_[index_.entry_id(e)]; }
  // Null where they are not known.
  const Shape* shape(const Entry& e) const;
  std::optional<DType> dtype(const Entry& e) const;

 private:
  GraphIndex index_;
  std::set<std::string> constants_;
  std::vector<bool> is_read_;  // of entries
  const std::vector<Shape>* shapes_;
  const std::vector<int64_t>* types_;
  Graph graph_;
};

// What a pattern matches: of each part of the pattern its entry, the first alternative that fits.
struct Match {
  Entry root;
  std::map<const NodePattern*, Entry> entries;  // look-ups only
  std::map<std::string, Entry> captures;
  std::vector<uint32_t> nodes;  // what calls in the pattern matched, in the graph's order
};
std::optional<Match> match(const PatternRef& pattern, const Entry& root, const PatternGraph& graph);

// How far a pattern came that did not match.
struct NearestMatch {
  std::string at;          // the entry that it was tried on
  size_t matched = 0;      // parts of the pattern that fitted before the first difference
  std::string difference;  // "input 0 of 'relu0': nn.conv2d is wanted, and 'dense0' is nn.dense"
};
// The entry of the graph where most parts fit. Nothing where the pattern matches one.
std::optional<NearestMatch> nearest_match(const PatternRef& pattern, const PatternGraph& graph);
NearestMatch explain_match(const PatternRef& pattern, const Entry& root, const PatternGraph& graph);

// Matches that share no node which calls matched, and from whose inside nothing is read, the last
// ones of the graph first.
std::vector<Match> matches(const PatternRef& pattern, const PatternGraph& graph);

// The graph in which `replace` gives what stands in the place of each of `matches`; nothing leaves
// it. Its argument has the entries of the new graph.
Graph rewrite_matches(const Graph& graph, const PatternRef& pattern,
                      const std::function<std::optional<Entry>(const Match&)>& replace);

}  // namespace tw::graph
