// SPDX-License-Identifier: Apache-2.0
#include "graph/op.h"

#include <fmt/format.h>

#include <map>

#include "graph/node.h"
#include "graph/ops/families.h"
#include "runtime/nearest_word.h"

namespace tw::graph {
namespace {

const std::map<std::string_view, const Op*>& by_name() {
  static const auto names = [] {
    std::map<std::string_view, const Op*> result;
    for (const Op& op : operators()) {
      TW_CHECK(result.emplace(op.name, &op).second, op.name);
      for (std::string_view alias : op.aliases) TW_CHECK(result.emplace(alias, &op).second, alias);
    }
    return result;
  }();
  return names;
}

}  // namespace

std::string_view to_string(Pattern pattern) {
  static constexpr std::string_view kNames[] = {"ElemWise",   "Broadcast",       "Injective",
                                                "CommReduce", "OutEWiseFusable", "Opaque"};
  return kNames[static_cast<size_t>(pattern)];
}

std::string place_of(const Node& node, bool input, size_t k) {
  if (!input) {
    return node.num_outputs() == 1 ? fmt::format("node '{}', its output", node.name)
                                   : fmt::format("node '{}', output {}", node.name, k);
  }
  if (node.op == nullptr || k >= node.inputs.size()) return fmt::format("node '{}'", node.name);
  const auto names = input_names(*node.op, node.attributes);
  if (k < names.size()) return fmt::format("node '{}', input '{}'", node.name, names[k]);
  return fmt::format("node '{}', input {}", node.name, k);
}

std::vector<std::string_view> input_names(const Op& op, const Attributes& attributes) {
  std::vector<std::string_view> names;
  if (op.variadic) return names;
  for (const InputSpec& input : op.inputs) {
    if (!input.flag.empty()) {
      const AttributeValues values(op.attributes, attributes, op.name);
      if (!values.flag(input.flag)) continue;
    }
    names.push_back(input.name);
  }
  return names;
}

std::string wrong_number_of_inputs(const Node& call) {
  const size_t given = call.inputs.size();
  if (call.op->variadic) {
    return given >= call.op->least_inputs ? "" : fmt::format("at least {}", call.op->least_inputs);
  }
  const size_t wanted = input_names(*call.op, call.attributes).size();
  return given == wanted ? "" : fmt::format("{}", wanted);
}

Entry make_call(std::string_view op, std::string name, std::vector<Entry> inputs,
                Attributes attributes) {
  Node node;
  node.op = &get_op(op);
  node.name = std::move(name);
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  return {.node = make_node(std::move(node))};
}

std::set<const Node*> written_variables(std::span<const NodeRef> nodes) {
  std::set<const Node*> written;
  for (const NodeRef& node : nodes) {
    if (node->is_variable()) continue;
    for (size_t k : node->op->mutates) written.insert(node->inputs[k].node.get());
  }
  return written;
}

const std::vector<Op>& operators() {
  static const auto all = [] {
    std::vector<Op> ops;
#define OPERATOR_FAMILY(name) \
  for (Op & op : name()) ops.push_back(std::move(op));
#include "graph/ops.def"
#undef OPERATOR_FAMILY
    return ops;
  }();
  return all;
}

const Op* find_op(std::string_view name) {
  const auto it = by_name().find(name);
  return it == by_name().end() ? nullptr : it->second;
}

const Op& get_op(std::string_view name) {
  if (const Op* op = find_op(name)) return *op;
  std::vector<std::string_view> names;
  for (const auto& [known, op] : by_name()) names.push_back(known);
  raise({.code = ErrorCode::UnknownOperator,
         .what = fmt::format("there is no operator '{}'{}", name,
                             suggestion(nearest_word(name, names))),
         .legal = "those that graph.operators() lists"});
}

void same_shape(ShapeInference& s) {
  Shape all;
  const auto add = [&](const Shape& shape) {
    if (auto both = unify(all, shape)) all = *both;  // contradictions show below, by place
  };
  for (size_t k = 0; k < s.num_inputs(); ++k) add(s.input(k));
  for (size_t k = 0; k < s.num_outputs(); ++k) add(s.output(k));
  for (size_t k = 0; k < s.num_inputs(); ++k) s.narrow_input(k, all);
  for (size_t k = 0; k < s.num_outputs(); ++k) s.narrow_output(k, all);
}

void same_type(TypeInference& t) {
  KnownType all;
  for (size_t k = 0; k < t.num_inputs() && !all; ++k) all = t.input(k);
  for (size_t k = 0; k < t.num_outputs() && !all; ++k) all = t.output(k);
  for (size_t k = 0; k < t.num_inputs(); ++k) t.narrow_input(k, all);
  for (size_t k = 0; k < t.num_outputs(); ++k) t.narrow_output(k, all);
}

}  // namespace tw::graph
