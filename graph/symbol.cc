// SPDX-License-Identifier: Apache-2.0
#include "graph/symbol.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "graph/op.h"
#include "runtime/error.h"
#include "runtime/nearest_word.h"

namespace tw::graph {
namespace {

[[noreturn]] void bad(std::string what, std::string legal) {
  raise({.code = ErrorCode::BadArgument, .what = std::move(what), .legal = std::move(legal)});
}

// An input must be one tensor.
const Entry& single(const Symbol& symbol, std::string_view what) {
  if (symbol.outputs().size() == 1) return symbol.outputs()[0];
  bad(fmt::format("{} is a symbol of {} outputs", what, symbol.outputs().size()),
      "one output, as symbol[0] is");
}

template <class Names>
std::string listed(const Names& names) {
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

// What a call binds to the inputs of an operator, in their order; missing ones are undefined.
std::vector<Entry> bound_inputs(const Op& op, std::string_view node,
                                const std::vector<std::string_view>& names,
                                const std::vector<Symbol>& inputs, const Symbol::Named& named) {
  if (inputs.size() > names.size()) {
    bad(fmt::format("{} inputs of '{}', which is a {}", inputs.size(), node, op.name),
        fmt::format("{}: {}", names.size(), listed(names)));
  }
  std::vector<Entry> entries(names.size());
  for (size_t k = 0; k < inputs.size(); ++k) {
    entries[k] = single(inputs[k], fmt::format("input '{}' of '{}'", names[k], node));
  }
  for (const auto& [name, symbol] : named) {
    const auto at = std::ranges::find(names, name);
    if (at == names.end()) {
      bad(fmt::format("{} has no input '{}'{}", op.name, name,
                      suggestion(nearest_word(name, names))),
          listed(names));
    }
    Entry& entry = entries[static_cast<size_t>(at - names.begin())];
    if (entry.node) bad(fmt::format("input '{}' of '{}' is given twice", name, node), "one value");
    entry = single(symbol, fmt::format("input '{}' of '{}'", name, node));
  }
  return entries;
}

// Which value of its variables the call means: what was written by all calls before.
void count_writes(Node& node) {
  for (Entry& e : node.inputs) {
    if (e.node->is_variable()) e.version = e.node->writes;
  }
  for (size_t k : node.op->mutates) {
    Entry& e = node.inputs[k];
    if (!e.node->is_variable()) {
      bad(fmt::format("'{}' writes to '{}', which is no variable", node.op->name, e.node->name),
          "a variable");
    }
    e.version = ++e.node->writes;
  }
}

}  // namespace

std::string output_name(const Entry& entry) {
  if (entry.node->is_variable()) return entry.node->name;
  const bool only = entry.node->num_outputs() == 1;
  return only ? entry.node->name + "_output"
              : fmt::format("{}_output{}", entry.node->name, entry.index);
}

Symbol Symbol::variable(std::string name, Attributes attributes) {
  if (name.empty()) bad("a variable without a name", "a name");
  return Symbol({{.node = make_variable(std::move(name), std::move(attributes))}});
}

Symbol Symbol::group(const std::vector<Symbol>& symbols) {
  std::vector<Entry> outputs;
  for (const Symbol& s : symbols) {
    outputs.insert(outputs.end(), s.outputs_.begin(), s.outputs_.end());
  }
  return Symbol(std::move(outputs));
}

Symbol Symbol::call(std::string_view op_name, std::string name, const std::vector<Symbol>& inputs,
                    const Named& named_inputs, Attributes attributes) {
  const Op& op = get_op(op_name);
  check_attributes(op.name, op.attributes, attributes);
  Node node;
  node.op = &op;
  node.name = std::move(name);
  if (op.variadic) {
    if (!named_inputs.empty()) {
      bad(fmt::format("{} takes no input by name", op.name), "inputs by position");
    }
    for (const Symbol& s : inputs) {  // a group is as many inputs
      node.inputs.insert(node.inputs.end(), s.outputs_.begin(), s.outputs_.end());
    }
    node.attributes = std::move(attributes);
    const std::string wanted = wrong_number_of_inputs(node);
    if (!wanted.empty()) {
      bad(fmt::format("{} inputs of a {}", node.inputs.size(), op.name), wanted);
    }
  } else {
    AttributeValues(op.attributes, attributes, node.name);  // those that must be given are there
    const auto names = input_names(op, attributes);
    node.inputs = bound_inputs(op, node.name, names, inputs, named_inputs);
    node.attributes = std::move(attributes);
    // The shape and type that a call names are those of its output.
    Attributes of_variables = node.attributes;
    of_variables.erase("shape");
    of_variables.erase("dtype");
    for (size_t k = 0; k < names.size(); ++k) {
      if (node.inputs[k].node) continue;
      node.inputs[k].node = make_variable(fmt::format("{}_{}", node.name, names[k]), of_variables);
    }
  }
  count_writes(node);
  const NodeRef made = make_node(std::move(node));
  std::vector<Entry> outputs;
  const int visible = op.visible_outputs != 0 ? op.visible_outputs : made->num_outputs();
  for (int k = 0; k < visible; ++k) {
    outputs.push_back({.node = made, .index = static_cast<uint32_t>(k)});
  }
  return Symbol(std::move(outputs));
}

Symbol Symbol::compose(const std::vector<Symbol>& inputs, const Named& named_inputs) const {
  const std::vector<std::string> names = list_input_names();
  if (inputs.size() > names.size()) {
    bad(fmt::format("{} inputs for a symbol of {}", inputs.size(), names.size()), listed(names));
  }
  std::unordered_map<std::string, Entry> replaced;
  for (size_t k = 0; k < inputs.size(); ++k) {
    replaced[names[k]] = single(inputs[k], fmt::format("input '{}'", names[k]));
  }
  for (const auto& [name, symbol] : named_inputs) {
    if (std::ranges::find(names, name) == names.end()) {
      const std::vector<std::string_view> views(names.begin(), names.end());
      bad(fmt::format("the symbol has no input '{}'{}", name,
                      suggestion(nearest_word(name, views))),
          listed(names));
    }
    replaced[name] = single(symbol, fmt::format("input '{}'", name));
  }
  std::unordered_map<const Node*, NodeRef> rebuilt;  // without those that stay
  const auto entry_of = [&](const Entry& e) {
    if (e.node->is_variable()) {
      const auto by = replaced.find(e.node->name);
      return by == replaced.end() ? e : by->second;
    }
    const auto node = rebuilt.find(e.node.get());
    return node == rebuilt.end() ? e : Entry{node->second, e.index, e.version};
  };
  for (const NodeRef& node : nodes_of(outputs_)) {
    if (node->is_variable()) continue;
    Node next = *node;
    for (Entry& e : next.inputs) e = entry_of(e);
    for (NodeRef& n : next.control_dependencies) n = entry_of({n}).node;
    if (next.inputs != node->inputs || next.control_dependencies != node->control_dependencies) {
      rebuilt[node.get()] = make_node(std::move(next));
    }
  }
  std::vector<Entry> outputs;
  for (const Entry& e : outputs_) outputs.push_back(entry_of(e));
  return Symbol(std::move(outputs));
}

Symbol Symbol::output(int64_t index) const {
  const auto count = static_cast<int64_t>(outputs_.size());
  if (index < -count || index >= count) {
    bad(fmt::format("output {} of a symbol of {}", index, count),
        fmt::format("0 to {}", count - 1));
  }
  return Symbol({outputs_[static_cast<size_t>(index < 0 ? index + count : index)]});
}

Symbol Symbol::output(std::string_view name) const {
  const std::vector<std::string> names = list_output_names();
  const auto at = std::ranges::find(names, name);
  if (at != names.end()) return output(at - names.begin());
  const std::vector<std::string_view> views(names.begin(), names.end());
  bad(fmt::format("the symbol has no output '{}'{}", name, suggestion(nearest_word(name, views))),
      names.size() > 20 ? "one of list_output_names()" : listed(names));
}

Symbol Symbol::internals() const {
  std::vector<Entry> all;
  for (const NodeRef& node : nodes_of(outputs_)) {
    for (int k = 0; k < node->num_outputs(); ++k) all.push_back({node, static_cast<uint32_t>(k)});
  }
  return Symbol(std::move(all));
}

Symbol Symbol::children() const { return Symbol(only_node().inputs); }

std::vector<std::string> Symbol::list_input_names() const {
  std::vector<std::string> names;
  for (const NodeRef& node : nodes_of(outputs_)) {
    if (node->is_variable()) names.push_back(node->name);
  }
  return names;
}

std::vector<std::string> Symbol::list_written_names() const {
  const std::vector<NodeRef> nodes = nodes_of(outputs_);
  const std::set<const Node*> written = written_variables(nodes);
  std::vector<std::string> names;
  for (const NodeRef& node : nodes) {
    if (node->is_variable() && written.contains(node.get())) names.push_back(node->name);
  }
  return names;
}

std::vector<std::string> Symbol::list_output_names() const {
  std::vector<std::string> names;
  for (const Entry& e : outputs_) names.push_back(output_name(e));
  return names;
}

Node& Symbol::only_node() const {
  const bool one = !outputs_.empty() && std::ranges::all_of(outputs_, [&](const Entry& e) {
    return e.node == outputs_[0].node;
  });
  if (!one) bad("a group of symbols is no node", "a symbol of one node");
  return *outputs_[0].node;
}

const Attributes& Symbol::attributes() const { return only_node().attributes; }
std::string Symbol::name() const { return only_node().name; }

void Symbol::set_attributes(const Attributes& attributes) {
  Node& node = only_node();
  for (const auto& [name, text] : attributes) node.attributes.set(name, text);
}

Attributes Symbol::all_attributes() const {
  Attributes all;
  for (const NodeRef& node : nodes_of(outputs_)) {
    for (const auto& [name, text] : node->attributes) {
      all.set(fmt::format("{}${}", node->name, name), text);
    }
  }
  return all;
}

}  // namespace tw::graph
