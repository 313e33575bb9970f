// SPDX-License-Identifier: Apache-2.0
#include "graph/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "graph/build.h"
#include "graph/byoc/annotation.h"
#include "graph/byoc/function.h"
#include "graph/op.h"
#include "runtime/error.h"

namespace tw::graph {
namespace {

using Json = nlohmann::ordered_json;

// How variables are called where operators have their name.
constexpr std::string_view kNull = "null";

Json of_shape(const Shape& shape) {
  return shape.has_rank() ? Json(*shape.extents) : Json(nullptr);
}

Json value_of(const GraphAttribute& attribute) {
  return std::visit(
      [](const auto& v) -> Json {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::vector<Shape>>) {
          Json list = Json::array();
          for (const Shape& s : v) list.push_back(of_shape(s));
          return list;
        } else if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::vector<Entry>>) {
          return v.size();  // entries have numbers in the file of their own graph only
        } else if constexpr (std::is_same_v<std::decay_t<decltype(v)>,
                                            std::shared_ptr<const CompiledGroups>>) {
          return v->module->function_names();
        } else {
          return v;
        }
      },
      attribute);
}

bool is_in_files(const GraphAttribute& attribute) {
  return !std::holds_alternative<std::vector<Entry>>(attribute) &&
         !std::holds_alternative<std::shared_ptr<const CompiledGroups>>(attribute);
}

Json of_attribute(const GraphAttribute& attribute) {
  return Json::array({kind_of(attribute), value_of(attribute)});
}

Json of_entry(const GraphIndex& index, const Entry& e) {
  return Json::array({index.node_id(*e.node), e.index, e.version});
}

Json of_function(const GraphFunction& function);

Json of_node(const GraphIndex& index, const Node& node) {
  Json json;
  json["op"] = node.is_variable() ? kNull : node.op->name;
  json["name"] = node.name;
  if (!node.attributes.empty()) {
    Json& attributes = json["attrs"] = Json::object();
    for (const auto& [name, text] : node.attributes) attributes[name] = text;
  }
  json["inputs"] = Json::array();
  for (const Entry& e : node.inputs) json["inputs"].push_back(of_entry(index, e));
  if (!node.control_dependencies.empty()) {
    Json& before = json["control_deps"] = Json::array();
    for (const NodeRef& n : node.control_dependencies) before.push_back(index.node_id(*n));
  }
  if (node.function) json["function"] = of_function(*node.function);
  return json;
}

Json of_function(const GraphFunction& function) {
  const Graph body{.outputs = function.outputs};
  const GraphIndex index(body);
  Json json;
  json["nodes"] = Json::array();
  for (const NodeRef& node : index.nodes()) json["nodes"].push_back(of_node(index, *node));
  json["parameters"] = Json::array();
  for (const NodeRef& p : function.parameters) json["parameters"].push_back(index.node_id(*p));
  json["heads"] = Json::array();
  for (const Entry& e : function.outputs) json["heads"].push_back(of_entry(index, e));
  return json;
}

// Reads what may be anything.
class Reader {
 public:
  Graph graph(std::string_view text) {
    const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (json.is_discarded()) fail("this is no JSON", "a file that graph.save_json made");
    if (!json.is_object()) fail("the text is no object", "an object with nodes and heads");
    for (const Json& node : list(member(json, "nodes", "the graph"), "nodes")) read_node(node);
    Graph graph;
    for (const Json& head : list(member(json, "heads", "the graph"), "heads")) {
      graph.outputs.push_back(entry(head, "heads"));
    }
    if (json.contains("attrs")) read_attributes(json["attrs"], graph);
    keep_unread_ends(graph);
    return graph;
  }

  GraphFunction function(const Json& json) {
    const std::string where = "a function";
    if (!json.is_object()) fail("this is no object", "nodes, parameters and heads", where);
    for (const Json& node : list(member(json, "nodes", where), "nodes")) read_node(node);
    GraphFunction function;
    for (const Json& p : list(member(json, "parameters", where), "parameters"))
      function.parameters.push_back(node(p, "parameters"));
    for (const Json& head : list(member(json, "heads", where), "heads"))
      function.outputs.push_back(entry(head, "heads"));
    return function;
  }

 private:
  [[noreturn]] static void fail(std::string what, std::string legal, std::string where = {}) {
    raise({.code = ErrorCode::BadGraph,
           .what = std::move(what),
           .where = std::move(where),
           .legal = std::move(legal)});
  }
  static const Json& member(const Json& object, const char* name, const std::string& where) {
    if (!object.contains(name)) fail(fmt::format("'{}' is missing", name), "a value", where);
    return object[name];
  }
  static const Json& list(const Json& json, const std::string& where) {
    if (!json.is_array()) fail("this is no list", "a list", where);
    return json;
  }
  static std::string text(const Json& json, const std::string& where) {
    if (!json.is_string()) fail("this is no text", "text", where);
    return json.get<std::string>();
  }
  static int64_t integer(const Json& json, const std::string& where) {
    const bool fits = json.is_number_integer() &&
                      (!json.is_number_unsigned() || json.get<uint64_t>() <= INT64_MAX);
    if (!fits) fail("this is no integer", "an integer of 64 bits", where);
    return json.get<int64_t>();
  }

  // Of a node that stands before: so there are no cycles.
  NodeRef node(const Json& json, const std::string& where) const {
    const int64_t id = integer(json, where);
    if (id < 0 || static_cast<size_t>(id) >= nodes_.size()) {
      fail(fmt::format("node {}, which does not stand before this one", id),
           fmt::format("a number below {}", nodes_.size()), where);
    }
    return nodes_[static_cast<size_t>(id)];
  }

  Entry entry(const Json& json, const std::string& where) const {
    // Old files leave out the version.
    if (list(json, where).size() < 2 || json.size() > 3) {
      fail(fmt::format("{} numbers for an entry", json.size()), "[node, output, version]", where);
    }
    const NodeRef from = node(json[0], where);
    const int64_t index = integer(json[1], where);
    const int64_t version = json.size() == 3 ? integer(json[2], where) : 0;
    if (index < 0 || index >= from->num_outputs() || version < 0 || version > UINT32_MAX) {
      fail(fmt::format("output {} of '{}', version {}", index, from->name, version),
           fmt::format("an output below {}", from->num_outputs()), where);
    }
    return {from, static_cast<uint32_t>(index), static_cast<uint32_t>(version)};
  }

  void read_node(const Json& json) {
    const std::string number = fmt::format("node {}", nodes_.size());
    if (!json.is_object()) fail("this is no object", "an object with op, name and inputs", number);
    Node next;
    next.name = text(member(json, "name", number), number + ", name");
    const std::string where = fmt::format("{} '{}'", number, next.name);
    const std::string op = text(member(json, "op", where), where + ", op");
    if (op != kNull) next.op = &get_op(op);
    if (json.contains("attrs")) {
      if (!json["attrs"].is_object())
        fail("this is no object", "names and texts", where + ", attrs");
      for (const auto& [name, value] : json["attrs"].items()) {
        next.attributes.set(name, text(value, where + ", attrs"));
      }
    }
    for (const Json& input : list(member(json, "inputs", where), where + ", inputs")) {
      next.inputs.push_back(entry(input, where + ", inputs"));
      Node& from = *next.inputs.back().node;
      from.writes = std::max(from.writes, next.inputs.back().version);
    }
    if (json.contains("control_deps")) {
      for (const Json& before : list(json["control_deps"], where + ", control_deps")) {
        next.control_dependencies.push_back(node(before, where + ", control_deps"));
      }
    }
    if (json.contains("function"))
      next.function = std::make_shared<const GraphFunction>(Reader().function(json["function"]));
    require_arity(next, where);
    verify_function(next);
    nodes_.push_back(make_node(std::move(next)));
  }

  static void require_arity(const Node& node, const std::string& where) {
    if (node.is_variable()) {
      if (!node.inputs.empty()) fail("a variable with inputs", "none", where);
      return;
    }
    AttributeValues(node.op->attributes, node.attributes, where);  // readable
    const std::string wanted = wrong_number_of_inputs(node);
    if (!wanted.empty()) {
      fail(fmt::format("{} inputs of a {}", node.inputs.size(), node.op->name), wanted, where);
    }
  }

  static Shape shape(const Json& json, const std::string& where) {
    if (json.is_null()) return {};
    std::vector<int64_t> extents;
    for (const Json& e : list(json, where)) {
      extents.push_back(integer(e, where));
      if (extents.back() < Shape::kUnknown) fail("an extent below 0", "0 or more", where);
    }
    return extents;
  }

  // Nodes that no output needs are left out; of the end of a region that is a fault.
  void keep_unread_ends(Graph& graph) const {
    if (std::ranges::none_of(nodes_, [](const NodeRef& n) { return is_end(*n); })) return;
    const std::vector<NodeRef> needed = nodes_of(graph.outputs);
    const std::set<NodeRef> read(needed.begin(), needed.end());  // look-ups only
    std::vector<std::string> names;
    for (const NodeRef& n : nodes_) {
      if (is_end(*n) && !read.contains(n)) names.push_back(n->name);
    }
    if (!names.empty()) graph.attributes[kUnreadEnds] = std::move(names);
  }

  static void read_attributes(const Json& json, Graph& graph) {
    if (!json.is_object()) fail("this is no object", "names and [kind, value]", "attrs");
    for (const auto& [name, value] : json.items()) {
      const std::string where = fmt::format("attrs, '{}'", name);
      if (list(value, where).size() != 2) fail("this is no pair", "[kind, value]", where);
      graph.attributes[name] = attribute(text(value[0], where), value[1], where);
    }
  }

 public:
  static GraphAttribute attribute(const std::string& kind, const Json& value,
                                  const std::string& where) {
    // The names that NNVM has for the same.
    if (kind == "int" || kind == "size_t") return integer(value, where);
    if (kind == "str") return text(value, where);
    if (kind == "list_int") {
      std::vector<int64_t> values;
      for (const Json& v : list(value, where)) values.push_back(integer(v, where));
      return values;
    }
    if (kind == "list_str" || kind == "list_layout") {
      std::vector<std::string> values;
      for (const Json& v : list(value, where)) values.push_back(text(v, where));
      return values;
    }
    if (kind == "list_shape") {
      std::vector<Shape> values;
      for (const Json& v : list(value, where)) values.push_back(shape(v, where));
      return values;
    }
    fail(fmt::format("'{}' is no kind of attribute", kind),
         "int, str, list_int, list_str, list_shape", where);
  }

 private:
  std::vector<NodeRef> nodes_;
};

}  // namespace

std::string save_json(const Graph& graph) {
  const GraphIndex index(graph);
  Json json;
  json["nodes"] = Json::array();
  for (const NodeRef& node : index.nodes()) json["nodes"].push_back(of_node(index, *node));
  json["arg_nodes"] = index.inputs();
  json["node_row_ptr"] = index.first_entries();
  json["heads"] = Json::array();
  for (const Entry& e : graph.outputs) json["heads"].push_back(of_entry(index, e));
  if (!graph.attributes.empty()) {
    Json& attributes = json["attrs"] = Json::object();
    for (const auto& [name, value] : graph.attributes) {
      if (is_in_files(value)) attributes[name] = of_attribute(value);
    }
  }
  return json.dump(2);
}

Graph load_json(std::string_view text) { return Reader().graph(text); }

std::string attribute_json(const GraphAttribute& attribute) { return value_of(attribute).dump(); }

GraphAttribute read_attribute_json(const std::string& kind, std::string_view text) {
  return Reader::attribute(kind, Json::parse(text, nullptr, /*allow_exceptions=*/false), "a value");
}

}  // namespace tw::graph
