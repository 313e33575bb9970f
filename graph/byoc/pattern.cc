// SPDX-License-Identifier: Apache-2.0
#include "graph/byoc/pattern.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/byoc/text.h"
#include "graph/dtypes.h"
#include "graph/op.h"
#include "graph/shape.h"

namespace tw::graph {
namespace {

PatternRef make(NodePattern pattern) {
  return std::make_shared<const NodePattern>(std::move(pattern));
}

std::string listed(const std::vector<PatternRef>& parts) {
  std::string text;
  for (const PatternRef& p : parts) text += (text.empty() ? "" : ", ") + to_string(*p);
  return text;
}

// The operators that have one name in functional text are one to patterns.
void require_operator(const std::string& name) {
  for (const Op& op : operators()) {
    if (printed_name(op.name) == name) return;
  }
  get_op(name);
}

}  // namespace

PatternRef wildcard() { return make({}); }
PatternRef is_var(std::string name) {
  return make({.kind = NodePattern::Kind::Variable, .op = std::move(name)});
}
PatternRef is_constant() { return make({.kind = NodePattern::Kind::Constant}); }
PatternRef is_op(std::string op) {
  require_operator(op);
  return make({.kind = NodePattern::Kind::Call, .op = std::move(op), .any_inputs = true});
}
PatternRef is_op(std::string op, std::vector<PatternRef> inputs) {
  require_operator(op);
  return make({.kind = NodePattern::Kind::Call, .parts = std::move(inputs), .op = std::move(op)});
}
PatternRef is_tuple_get_item(PatternRef tuple, uint32_t index) {
  return make({.kind = NodePattern::Kind::Output, .parts = {std::move(tuple)}, .index = index});
}
PatternRef either(PatternRef first, PatternRef second) {
  return make({.kind = NodePattern::Kind::Either, .parts = {std::move(first), std::move(second)}});
}
PatternRef optional(PatternRef pattern, const std::function<PatternRef(PatternRef)>& f) {
  return either(f(pattern), pattern);
}
PatternRef has_attr(PatternRef pattern, Attributes attributes) {
  return make({.kind = NodePattern::Kind::Constrained,
               .parts = {std::move(pattern)},
               .attributes = std::move(attributes)});
}
PatternRef has_dtype(PatternRef pattern, DType dtype) {
  return make(
      {.kind = NodePattern::Kind::Constrained, .parts = {std::move(pattern)}, .dtype = dtype});
}
PatternRef has_shape(PatternRef pattern, std::vector<int64_t> shape) {
  return make({.kind = NodePattern::Kind::Constrained,
               .parts = {std::move(pattern)},
               .shape = std::move(shape)});
}
PatternRef dominates(PatternRef parent, PatternRef child, PatternRef path) {
  return make({.kind = NodePattern::Kind::Dominated,
               .parts = {std::move(child), std::move(parent), std::move(path)}});
}
PatternRef named(PatternRef pattern, std::string name) {
  NodePattern copy = *pattern;
  copy.name = std::move(name);
  return make(std::move(copy));
}

std::string to_string(const NodePattern& p) {
  using enum NodePattern::Kind;
  switch (p.kind) {
    case Wildcard:
      return "*";
    case Variable:
      return p.op.empty() ? "var" : fmt::format("var('{}')", p.op);
    case Constant:
      return "constant";
    case Call:
      return p.any_inputs ? fmt::format("{}(...)", p.op)
                          : fmt::format("{}({})", p.op, listed(p.parts));
    case Output:
      return fmt::format("{}.{}", to_string(*p.parts[0]), p.index);
    case Either:
      return fmt::format("({} | {})", to_string(*p.parts[0]), to_string(*p.parts[1]));
    case Dominated:
      return fmt::format("{}.dominates({}, {})", to_string(*p.parts[1]), to_string(*p.parts[0]),
                         to_string(*p.parts[2]));
    case Constrained:
      break;
  }
  std::string text = to_string(*p.parts[0]);
  for (const auto& [name, value] : p.attributes)
    text += fmt::format(".has_attr({}={})", name, value);
  if (p.dtype) text += fmt::format(".has_dtype({})", to_string(*p.dtype));
  if (p.shape) text += fmt::format(".has_shape{}", to_string(Shape(*p.shape)));
  return text;
}

PatternGraph::PatternGraph(const Graph& graph) : index_(graph), graph_(graph) {
  is_read_.resize(index_.num_entries(), false);
  for (const NodeRef& node : index_.nodes()) {
    for (const Entry& e : node->inputs) is_read_[index_.entry_id(e)] = true;
  }
  for (const Entry& e : index_.outputs()) is_read_[index_.entry_id(e)] = true;
  if (const auto* names = graph.find<std::vector<std::string>>("param_name_list"))
    constants_.insert(names->begin(), names->end());
  for (const Node* written : written_variables(index_.nodes())) constants_.erase(written->name);
  shapes_ = graph_.find<std::vector<Shape>>("shape");
  if (shapes_ != nullptr && shapes_->size() != index_.num_entries()) shapes_ = nullptr;
  types_ = graph_.find<std::vector<int64_t>>("dtype");
  if (types_ != nullptr && types_->size() != index_.num_entries()) types_ = nullptr;
}

const Shape* PatternGraph::shape(const Entry& e) const {
  return shapes_ == nullptr ? nullptr : &(*shapes_)[index_.entry_id(e)];
}

std::optional<DType> PatternGraph::dtype(const Entry& e) const {
  if (types_ == nullptr) return std::nullopt;
  return type_of_number(static_cast<int>((*types_)[index_.entry_id(e)]));
}

}  // namespace tw::graph
