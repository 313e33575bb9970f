// SPDX-License-Identifier: Apache-2.0
#include "graph/byoc/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <tuple>
#include <unordered_map>

#include "graph/byoc/function.h"
#include "graph/byoc/known_types.h"
#include "graph/dtypes.h"
#include "graph/op.h"
#include "graph/pass.h"

namespace tw::graph {
namespace {

struct PrintedName {
  std::string_view name, attributes;
  bool tuple = false;
};

const PrintedName* find_printed(std::string_view op) {
  static const std::map<std::string_view, PrintedName> kNames = {
#define PRINTED_NAME(op, name, attributes, tuple) {#op, {name, attributes, tuple}},
#include "graph/byoc/printed_names.def"
#undef PRINTED_NAME
  };
  const auto it = kNames.find(op);
  return it == kNames.end() ? nullptr : &it->second;
}

std::string value_text(const AttributeValue& value) {
  return std::visit(
      [](const auto& v) -> std::string {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return "None";
        } else if constexpr (std::is_same_v<T, bool>) {
          return v ? "True" : "False";
        } else if constexpr (std::is_same_v<T, DType>) {
          return fmt::format("\"{}\"", to_string(v));
        } else if constexpr (std::is_same_v<T, std::string>) {
          return fmt::format("\"{}\"", v);
        } else if constexpr (std::is_same_v<T, std::vector<int64_t>>) {
          return fmt::format("[{}]", fmt::join(v, ", "));
        } else if constexpr (std::is_same_v<T, std::vector<std::vector<int64_t>>>) {
          std::string text;
          for (const auto& part : v)
            text += fmt::format("{}[{}]", text.empty() ? "" : ", ", fmt::join(part, ", "));
          return "[" + text + "]";
        } else {
          return fmt::format("{}", v);
        }
      },
      value);
}

// ", padding=[1, 1]" of one attribute, where it is not what it would be anyway.
std::string attribute_text(const Node& node, std::string_view name, std::string_view printed) {
  for (const AttributeSpec& spec : node.op->attributes) {
    if (spec.name != name) continue;
    const std::string* text = node.attributes.find(name);
    if (text == nullptr) return "";
    const auto value = read_attribute(spec.type, *text);
    if (!value || (spec.initial && value == read_attribute(spec.type, *spec.initial))) return "";
    return fmt::format(", {}={}", printed, value_text(*value));
  }
  return "";
}

std::string attributes_text(const Node& node) {
  std::string text;
  const PrintedName* row = find_printed(node.op->name);
  if (row == nullptr) {
    for (const AttributeSpec& spec : node.op->attributes)
      text += attribute_text(node, spec.name, spec.name);
    return text;
  }
  for (std::string_view rest = row->attributes; !rest.empty();) {
    const std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    const size_t colon = word.find(':');
    text += attribute_text(node, word.substr(0, colon),
                           colon == std::string_view::npos ? word : word.substr(colon + 1));
  }
  return text;
}

struct EntryType {
  Shape shape;
  KnownType type;
};
using NodeTypes = std::unordered_map<const Node*, std::vector<EntryType>>;  // look-ups only

std::string type_text(const std::vector<EntryType>& types) {
  std::string text;
  for (const EntryType& t : types)
    text += (text.empty() ? "" : ", ") + graph::type_text(t.shape, t.type);
  return types.size() == 1 ? text : "(" + text + ")";
}

// Adds the types of the nodes of a graph, and of its functions' bodies.
void find_types(const Graph& graph, NodeTypes& types) {
  const GraphIndex index(graph);
  const auto& shapes = list_of<Shape>(graph, "shape", index.num_entries());
  const auto& numbers = list_of<int64_t>(graph, "dtype", index.num_entries());
  for (uint32_t id = 0; id < index.num_nodes(); ++id) {
    const Node& node = *index.nodes()[id];
    std::vector<EntryType> own;
    for (size_t e = index.first_entries()[id]; e < index.first_entries()[id + 1]; ++e)
      own.push_back({shapes[e], type_of_number(static_cast<int>(numbers[e]))});
    types[&node] = std::move(own);
  }
  for (const NodeRef& node : index.nodes()) {
    if (!node->function) continue;
    // A parameter that the body does not read has the type of what is given, too.
    for (size_t k = 0; k < node->inputs.size(); ++k) {
      const Entry& e = node->inputs[k];
      types[node->function->parameters[k].get()] = {types.at(e.node.get())[e.index]};
    }
    Graph body{.outputs = node->function->outputs};
    std::vector<Shape> shape_inputs;
    std::vector<int64_t> type_inputs;
    for (const NodeRef& inner : nodes_of(body.outputs)) {
      if (!inner->is_variable()) continue;
      const EntryType& given = types.at(inner.get())[0];
      shape_inputs.push_back(given.shape);
      type_inputs.push_back(given.type ? number_of(*given.type) : -1);
    }
    body.attributes["shape_inputs"] = std::move(shape_inputs);
    body.attributes["dtype_inputs"] = std::move(type_inputs);
    find_types(infer_type(infer_shape(std::move(body))), types);
  }
}

// What has a number of its own: a call, one of its several outputs, the tuple of its inputs, or the
// function that it calls.
enum class Kind : uint8_t { Call, Output, Inputs, Function };
struct Item {
  const Node* node;
  Kind kind = Kind::Call;
  uint32_t output = 0;
  auto operator<=>(const Item&) const = default;  // for look-ups only
};

class Printer {
 public:
  explicit Printer(const Graph& graph) { find_types(graph, types_); }

  std::string function(const std::vector<NodeRef>& parameters, const std::vector<Entry>& outputs,
                       const std::string& attributes, const std::string& indent) {
    std::string text;
    std::vector<EntryType> result;
    for (const NodeRef& p : parameters) {
      const EntryType& t = types_.at(p.get())[0];
      text += fmt::format("{}%{}: {}", text.empty() ? "" : ", ", p->name,
                          graph::type_text(t.shape, t.type));
    }
    for (const Entry& e : outputs) result.push_back(types_.at(e.node.get())[e.index]);
    return fmt::format("fn ({}{}) -> {} {{\n{}{}}}", text, attributes, type_text(result),
                       body(outputs, indent + "  "), indent);
  }

  std::string meta_data() const {
    if (marks_.empty()) return "";
    std::string text;
    for (const std::string& compiler : marks_) {
      text += fmt::format("{}{{\"compiler\": \"{}\"}}", text.empty() ? "" : ", ", compiler);
    }
    return fmt::format("#[metadata]\n{{\"relay.attrs.CompilerAttrs\": [{}]}}", text);
  }
  bool has_meta_data() const { return !marks_.empty(); }

 private:
  static Item item_of(const Entry& e) {
    return e.node->num_outputs() == 1 ? Item{e.node.get()}
                                      : Item{e.node.get(), Kind::Output, e.index};
  }

  static std::vector<Item> parts(const Item& item) {
    std::vector<Item> result;
    const auto add_inputs = [&] {
      for (const Entry& e : item.node->inputs) {
        if (!e.node->is_variable()) result.push_back(item_of(e));
      }
    };
    switch (item.kind) {
      case Kind::Call:
        takes_tuple(*item.node) ? result.push_back({item.node, Kind::Inputs}) : add_inputs();
        if (item.node->function) result.push_back({item.node, Kind::Function});
        break;
      case Kind::Output:
        result.push_back({item.node});
        break;
      case Kind::Inputs:
        add_inputs();
        break;
      case Kind::Function:
        break;
    }
    return result;
  }

  static bool takes_tuple(const Node& node) {
    const PrintedName* row = find_printed(node.op->name);
    return row != nullptr && row->tuple;
  }

  // Lines for what the outputs depend on; the last one is the value.
  std::string body(const std::vector<Entry>& outputs, const std::string& indent) {
    struct Visit {
      Item item;
      std::vector<Item> parts;
      size_t next = 0;
    };
    std::string text, last;
    std::vector<Visit> stack;
    const auto enter = [&](const Item& item) {
      if (!names_.contains(item)) stack.push_back({item, parts(item)});
    };
    for (const Entry& output : outputs) {
      if (output.node->is_variable()) continue;
      enter(item_of(output));
      while (!stack.empty()) {
        Visit& top = stack.back();
        if (top.next < top.parts.size()) {
          enter(top.parts[top.next++]);
          continue;
        }
        const Item item = top.item;
        stack.pop_back();
        last = expression(item, indent);
        if (stack.empty() && outputs.size() == 1) break;  // the value has no name
        names_[item] = fmt::format("%{}", count_++);
        text += fmt::format("{}{} = {};\n", indent, names_[item], last);
      }
    }
    if (outputs.size() != 1) {
      last.clear();
      for (const Entry& e : outputs) last += (last.empty() ? "" : ", ") + name(e);
      last = "(" + last + ")";
    } else if (outputs[0].node->is_variable()) {
      last = name(outputs[0]);
    }
    return text + indent + last + "\n";
  }

  std::string name(const Entry& e) const {
    return e.node->is_variable() ? "%" + e.node->name : names_.at(item_of(e));
  }

  std::string inputs(const Node& node) const {
    std::string text;
    for (const Entry& e : node.inputs) text += (text.empty() ? "" : ", ") + name(e);
    return text;
  }

  std::string expression(const Item& item, const std::string& indent) {
    const Node& node = *item.node;
    switch (item.kind) {
      case Kind::Output:
        return fmt::format("{}.{}", names_.at({item.node}), item.output);
      case Kind::Inputs:
        return fmt::format("({}{})", inputs(node), node.inputs.size() == 1 ? "," : "");
      case Kind::Function:
        return function(node.function->parameters, node.function->outputs, function_head(node),
                        indent);
      case Kind::Call:
        break;
    }
    const std::string type = fmt::format(" /* ty={} */", type_text(types_.at(&node)));
    if (node.function) {
      return fmt::format("{}({}){}", names_.at({&node, Kind::Function}), inputs(node), type);
    }
    std::string rest = attributes_text(node);
    if (node.op->name == "compiler_begin" || node.op->name == "compiler_end") {
      rest = fmt::format(", meta[relay.attrs.CompilerAttrs][{}]", marks_.size());
      marks_.push_back(text_of(node, "compiler"));
    }
    const std::string arguments =
        takes_tuple(node) ? names_.at({&node, Kind::Inputs}) : inputs(node);
    if (arguments.empty() && !rest.empty()) rest = rest.substr(2);
    return fmt::format("{}({}{}){}", printed_name(node.op->name), arguments, rest, type);
  }

  // Attributes of a function stand behind its parameters.
  static std::string function_head(const Node& node) {
    std::string text;
    for (const AttributeSpec& spec : node.op->attributes)
      text += attribute_text(node, spec.name, spec.name);
    return text;
  }

  NodeTypes types_;
  std::map<Item, std::string> names_;
  std::vector<std::string> marks_;  // compilers of annotations, in the order of the text
  int count_ = 0;
};

}  // namespace

std::string_view printed_name(std::string_view op) {
  const PrintedName* row = find_printed(op);
  return row == nullptr ? op : row->name;
}

std::string type_text(const Shape& shape, const KnownType& type) {
  const std::string element = type ? to_string(*type) : "?";
  if (!shape.has_rank()) return fmt::format("Tensor[?, {}]", element);
  if (shape.rank() == 0) return element;
  std::string extents;
  for (int64_t extent : *shape.extents) {
    extents += extents.empty() ? "" : ", ";
    extents += extent == Shape::kUnknown ? "?" : fmt::format("{}", extent);
  }
  return fmt::format("Tensor[({}), {}]", extents, element);
}

std::string to_functional_text(const Graph& graph, bool show_meta_data) {
  const Graph typed = known_types(graph);
  const GraphIndex index(graph);
  std::vector<NodeRef> variables;
  for (uint32_t id : index.inputs()) variables.push_back(index.nodes()[id]);
  Printer printer(typed);
  std::string text = "v0.0.4\n" + printer.function(variables, graph.outputs, "", "");
  if (!printer.has_meta_data()) return text;
  return text + "\n" +
         (show_meta_data ? printer.meta_data()
                         : "// meta data omitted. you can use show_meta_data=True to include meta "
                           "data");
}

}  // namespace tw::graph
