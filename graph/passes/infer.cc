// SPDX-License-Identifier: Apache-2.0
// InferShape and InferType. Rules of operators narrow what is known of entries, forward over the
// nodes and backward, until no rule says anything new. Each round but the last narrows an entry, so
// there is an end; most graphs need two rounds.
#include <fmt/format.h>

#include <ranges>

#include "graph/dtypes.h"
#include "graph/op.h"
#include "graph/pass.h"

namespace tw::graph {
namespace {

struct ShapeKind {
  using Value = Shape;
  static constexpr std::string_view kAttribute = "shape";
  static constexpr ErrorCode kConflict = ErrorCode::ShapeConflict;
  static constexpr std::string_view kLegal = "a tuple of integers such as (1, 3, 224, 224)";
  static auto& rule(const Op& op) { return op.infer_shape; }
  static bool is_known(const Value& v) { return v.known(); }
  static std::optional<Value> read(std::string_view text) {
    const auto value = read_attribute(AttributeType::Tuple, text);
    if (!value) return std::nullopt;
    return Shape(std::get<std::vector<int64_t>>(*value));
  }
  static std::vector<Value> values_of(const Graph& graph, const std::string& attribute) {
    const auto* list = graph.find<std::vector<Shape>>(attribute);
    return list ? *list : std::vector<Value>();
  }
  static GraphAttribute attribute(const std::vector<Value>& values) { return values; }
};

struct TypeKind {
  using Value = KnownType;
  static constexpr std::string_view kAttribute = "dtype";
  static constexpr ErrorCode kConflict = ErrorCode::TypeConflict;
  static constexpr std::string_view kLegal = "an element type, or its number in graph.dtypes()";
  static auto& rule(const Op& op) { return op.infer_type; }
  static bool is_known(const Value& v) { return v.has_value(); }
  static std::optional<Value> read(std::string_view text) {
    const auto value = read_attribute(AttributeType::Type, text);
    if (!value) return std::nullopt;
    return std::get<DType>(*value);
  }
  static std::vector<Value> values_of(const Graph& graph, const std::string& attribute) {
    std::vector<Value> types;
    if (const auto* list = graph.find<std::vector<int64_t>>(attribute)) {
      for (int64_t number : *list) types.push_back(type_of_number(static_cast<int>(number)));
    }
    return types;
  }
  static GraphAttribute attribute(const std::vector<Value>& values) {
    std::vector<int64_t> numbers;
    for (const Value& v : values) numbers.push_back(v ? number_of(*v) : -1);
    return numbers;
  }
};

template <class Kind>
class Engine {
 public:
  using Value = typename Kind::Value;

  explicit Engine(const Graph& graph) : index_(graph), values_(index_.num_entries()) {
    read_variables();
    const std::string attribute(Kind::kAttribute), inputs = attribute + "_inputs";
    if (graph.attributes.contains(inputs)) {
      read_given(Kind::values_of(graph, inputs));
    } else {
      read_known(Kind::values_of(graph, attribute));
    }
    for (const NodeRef& node : index_.nodes()) {
      if (node->is_variable()) {
        attributes_.emplace_back();
        continue;
      }
      attributes_.emplace_back(AttributeValues(node->op->attributes, node->attributes, node->name));
    }
  }

  std::vector<Value> run() {
    const auto nodes = static_cast<uint32_t>(index_.num_nodes());
    for (bool changed = true; changed;) {
      changed = false;
      for (uint32_t id = 0; id < nodes; ++id) changed |= apply_rule(id);
      if (!changed) break;
      for (uint32_t id = nodes; id-- > 0;) changed |= apply_rule(id);
    }
    return std::move(values_);
  }

 private:
  // What stands in the attribute of a variable itself; one that an operator made has the
  // operator's attributes, none of which is called so.
  void read_variables() {
    for (uint32_t id : index_.inputs()) {
      const Node& node = *index_.nodes()[id];
      const std::string* text = node.attributes.find(Kind::kAttribute);
      if (text == nullptr) continue;
      const auto value = Kind::read(*text);
      if (!value) {
        raise({.code = ErrorCode::BadAttribute,
               .what = fmt::format("the {} of variable '{}' is '{}'", Kind::kAttribute, node.name,
                                   *text),
               .legal = std::string(Kind::kLegal)});
      }
      values_[index_.entry_id(id, 0)] = *value;
    }
  }

  void read_given(const std::vector<Value>& given) {
    if (given.size() > index_.inputs().size()) {
      raise({.code = ErrorCode::BadArgument,
             .what = fmt::format("{} values in {}_inputs of a graph of {} inputs", given.size(),
                                 Kind::kAttribute, index_.inputs().size()),
             .legal = "one for each input, in their order"});
    }
    for (size_t k = 0; k < given.size(); ++k) {
      const uint32_t id = index_.inputs()[k];
      Value& known = values_[index_.entry_id(id, 0)];
      const auto both = unify(known, given[k]);
      if (!both) {
        raise({.code = Kind::kConflict,
               .what = fmt::format("input '{}' is given as {}, and its attribute says {}",
                                   index_.nodes()[id]->name, to_string(given[k]), to_string(known)),
               .legal = "the same in both"});
      }
      known = *both;
    }
  }

  // What was found out before, where nobody gives anything new.
  void read_known(const std::vector<Value>& known) {
    if (known.size() != values_.size()) return;
    for (size_t k = 0; k < known.size(); ++k) {
      if (auto both = unify(values_[k], known[k])) values_[k] = *std::move(both);
    }
  }

  bool apply_rule(uint32_t id) {
    const Node& node = *index_.nodes()[id];
    if (node.is_variable() || !Kind::rule(*node.op)) return false;
    std::vector<Value> inputs;
    for (const Entry& e : node.inputs) inputs.push_back(values_[index_.entry_id(e)]);
    const size_t first = index_.entry_id(id, 0);
    const std::span outputs(values_.data() + first, index_.first_entries()[id + 1] - first);
    Inference<Value> inference(node, *attributes_[id], inputs, outputs, Kind::kConflict);
    Kind::rule (*node.op)(inference);
    // One entry may be several inputs, and each may have learned something else.
    for (size_t k = 0; k < inputs.size(); ++k) {
      Value& known = values_[index_.entry_id(node.inputs[k])];
      auto both = unify(known, inputs[k]);
      if (!both) {
        raise({.code = Kind::kConflict,
               .what = fmt::format("{} is {} and {} at once", place_of(node, true, k),
                                   to_string(known), to_string(inputs[k])),
               .legal = "inputs that agree"});
      }
      known = *std::move(both);
    }
    return inference.changed();
  }

  GraphIndex index_;
  std::vector<Value> values_;  // by entry
  std::vector<std::optional<AttributeValues>> attributes_;
};

template <class Kind>
Graph infer(Graph graph) {
  const auto values = Engine<Kind>(graph).run();
  const std::string name(Kind::kAttribute);
  graph.attributes[name + "_num_unknown_nodes"] = static_cast<int64_t>(
      std::ranges::count_if(values, [](const auto& v) { return !Kind::is_known(v); }));
  graph.attributes[name] = Kind::attribute(values);
  graph.attributes.erase(name + "_inputs");
  return graph;
}

}  // namespace

Graph infer_shape(Graph graph) { return infer<ShapeKind>(std::move(graph)); }
Graph infer_type(Graph graph) { return infer<TypeKind>(std::move(graph)); }

}  // namespace tw::graph
