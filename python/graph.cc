// SPDX-License-Identifier: Apache-2.0
// Symbols, graphs and passes; tilewright/symbol.py and tilewright/graph.py give them NNVM's names.
#include <algorithm>
#include <map>

#include "graph/dtypes.h"
#include "graph/group.h"
#include "graph/json.h"
#include "graph/op.h"
#include "graph/pass.h"
#include "graph/rewrite.h"
#include "graph/symbol.h"
#include "python/bind.h"

namespace tw::python {
namespace {

using graph::Attributes;
using graph::Graph;
using graph::Symbol;

Attributes to_attributes(const py::dict& dict) {
  Attributes attributes;
  for (const auto& [name, text] : dict) {
    attributes.set(name.cast<std::string>(), text.cast<std::string>());
  }
  return attributes;
}

py::dict to_dict(const Attributes& attributes) {
  py::dict dict;
  for (const auto& [name, text] : attributes) dict[py::str(name)] = text;
  return dict;
}

Symbol::Named to_named(const py::dict& dict) {
  Symbol::Named named;
  for (const auto& [name, symbol] : dict) {
    named.emplace_back(name.cast<std::string>(), symbol.cast<Symbol>());
  }
  return named;
}

py::list operators() {
  py::list list;
  for (const graph::Op& op : graph::operators()) {
    py::list inputs, attributes;
    for (const graph::InputSpec& in : op.inputs) {
      inputs.append(py::make_tuple(in.name, in.doc, in.flag));
    }
    for (const graph::AttributeSpec& a : op.attributes) {
      attributes.append(py::make_tuple(a.name, graph::legal_of(a.type), a.initial, a.doc));
    }
    py::dict row;
    row["name"] = op.name;
    row["aliases"] = op.aliases;
    row["doc"] = op.doc;
    row["inputs"] = inputs;
    row["variadic"] = op.variadic;
    row["attributes"] = attributes;
    row["pattern"] = graph::to_string(op.pattern);
    row["has_layout"] = op.layout != nullptr;
    row["is_expression"] = op.expand && !op.compute;
    row["has_gradient"] = op.gradient != nullptr || op.expand != nullptr;
    list.append(row);
  }
  return list;
}

// Of each group its name, the numbers of its nodes, its inputs as [node, output], the arguments of
// its program, and whether it is a view.
py::list groups(const Graph& graph, const std::set<std::string>& parameters) {
  const graph::GraphIndex index(graph);
  py::list list;
  for (const graph::Group& group : graph::groups_of(graph, parameters)) {
    if (group.is_external) continue;
    std::vector<uint32_t> nodes;
    std::vector<std::pair<uint32_t, uint32_t>> inputs;
    for (const graph::NodeRef& node : group.nodes) nodes.push_back(index.node_id(*node));
    for (const graph::Entry& e : group.inputs) {
      inputs.emplace_back(index.node_id(*e.node), e.index);
    }
    list.append(
        py::make_tuple(group.name, nodes, inputs, group.program.arguments, group.is_view()));
  }
  return list;
}

py::list passes() {
  py::list list;
  for (const graph::Pass& pass : graph::passes()) {
    list.append(py::make_tuple(pass.name, pass.needs, pass.gives, pass.doc));
  }
  return list;
}

// `replace` is given of each node its number, operator, name, attributes, inputs as symbols,
// outputs as symbols, and inputs as [node, output, version] of the graph as it was; it gives a
// symbol or None.
Graph rewrite(const Graph& graph, const py::function& replace) {
  const graph::GraphIndex index(graph);
  return graph::rewrite(graph, [&](size_t id, const graph::NodeRef& node) -> graph::Replacement {
    std::vector<Symbol> inputs, outputs;
    std::vector<graph::Entry> own;
    py::list entries;
    for (const graph::Entry& e : node->inputs) inputs.push_back(Symbol({e}));
    for (const graph::Entry& e : index.nodes()[id]->inputs) {
      entries.append(py::make_tuple(index.node_id(*e.node), e.index, e.version));
    }
    for (int k = 0; k < node->num_outputs(); ++k) {
      own.push_back({node, static_cast<uint32_t>(k)});
      outputs.push_back(Symbol({own.back()}));
    }
    const py::object by = replace(id, node->is_variable() ? "null" : std::string(node->op->name),
                                  node->name, to_dict(node->attributes), inputs, outputs, entries);
    if (by.is_none()) return std::nullopt;
    const auto symbol = by.cast<Symbol>();
    if (symbol.outputs().size() > own.size()) {
      raise({.code = ErrorCode::BadArgument,
             .what = fmt::format("{} outputs in the place of '{}'", symbol.outputs().size(),
                                 node->name),
             .legal = fmt::format("at most {}", own.size())});
    }
    std::ranges::copy(symbol.outputs(), own.begin());
    return own;
  });
}

// The function is kept for good: passes have no end.
void register_pass(const std::string& name, const py::function& function,
                   const std::vector<std::string>& needs, const std::vector<std::string>& gives,
                   const std::string& doc) {
  auto* const kept = new py::function(function);
  graph::register_pass({.name = name,
                        .function =
                            [kept](Graph graph) {
                              const py::gil_scoped_acquire lock;
                              return (*kept)(std::move(graph)).cast<Graph>();
                            },
                        .needs = needs,
                        .gives = gives,
                        .doc = doc});
}

}  // namespace

void bind_graph(py::module_& m) {
  py::class_<Symbol>(m, "GraphSymbol")
      .def_static("variable",
                  [](const std::string& name, const py::dict& attributes) {
                    return Symbol::variable(name, to_attributes(attributes));
                  })
      .def_static("group", &Symbol::group)
      .def_static(
          "call",
          [](const std::string& op, const std::string& name, const std::vector<Symbol>& inputs,
             const py::dict& named, const py::dict& attributes) {
            Symbol made =
                Symbol::call(op, name, inputs, to_named(named), to_attributes(attributes));
            if (!made.outputs().empty()) made.outputs()[0].node->source = caller();
            return made;
          })
      .def("compose", [](const Symbol& s, const std::vector<Symbol>& inputs,
                         const py::dict& named) { return s.compose(inputs, to_named(named)); })
      .def("output", py::overload_cast<int64_t>(&Symbol::output, py::const_))
      .def("output", py::overload_cast<std::string_view>(&Symbol::output, py::const_))
      .def("internals", &Symbol::internals)
      .def("children", &Symbol::children)
      .def("list_input_names", &Symbol::list_input_names)
      .def("list_written_names", &Symbol::list_written_names)
      .def("list_output_names", &Symbol::list_output_names)
      .def("attributes", [](const Symbol& s) { return to_dict(s.attributes()); })
      .def("set_attributes",
           [](Symbol& s, const py::dict& dict) { s.set_attributes(to_attributes(dict)); })
      .def("all_attributes", [](const Symbol& s) { return to_dict(s.all_attributes()); })
      .def("name", &Symbol::name)
      // Of the node of the first output: its operator ("null": a variable), an identity for as long
      // as the symbol lives, which output it is of how many, and another output.
      .def("op",
           [](const Symbol& s) {
             const graph::Node& node = *s.outputs().at(0).node;
             return node.is_variable() ? "null" : std::string(node.op->name);
           })
      .def(
          "node_key",
          [](const Symbol& s) { return reinterpret_cast<uintptr_t>(s.outputs().at(0).node.get()); })
      .def("output_index", [](const Symbol& s) { return s.outputs().at(0).index; })
      .def("num_outputs", [](const Symbol& s) { return s.outputs().at(0).node->num_outputs(); })
      .def("node_output",
           [](const Symbol& s, uint32_t k) { return Symbol({{s.outputs().at(0).node, k}}); })
      .def("__len__", [](const Symbol& s) { return s.outputs().size(); });
  py::class_<Graph>(m, "NativeGraph")
      .def(py::init([](const Symbol& s) { return Graph{.outputs = s.outputs()}; }))
      .def("symbol", [](const Graph& g) { return Symbol(g.outputs); })
      .def(
          "inputs",
          [](const Graph& g) {
            py::list list;
            for (const graph::NodeRef& node : graph::nodes_of(g.outputs)) {
              if (node->is_variable())
                list.append(py::make_tuple(node->name, to_dict(node->attributes)));
            }
            return list;
          },
          "Of each variable, in order, its name and its attributes.")
      .def(
          "apply", [](const Graph& g, const std::string& pass) { return graph::apply(g, pass); },
          py::call_guard<py::gil_scoped_release>())
      .def("attribute_names",
           [](const Graph& g) {
             std::vector<std::string> names;
             for (const auto& [name, value] : g.attributes) names.push_back(name);
             return names;
           })
      .def("attribute_json",
           [](const Graph& g, const std::string& name) -> std::optional<std::string> {
             const auto it = g.attributes.find(name);
             if (it == g.attributes.end()) return std::nullopt;
             return graph::attribute_json(it->second);
           })
      .def("erase_attribute", [](Graph& g, const std::string& name) { g.attributes.erase(name); })
      .def("symbols",
           [](const Graph& g, const std::string& name) -> std::optional<Symbol> {
             const auto* outputs = g.find<std::vector<graph::Entry>>(name);
             return outputs == nullptr ? std::nullopt : std::optional(Symbol(*outputs));
           })
      .def("set_symbols", [](Graph& g, const std::string& name,
                             const Symbol& s) { g.attributes[name] = s.outputs(); })
      .def("set_attribute",
           [](Graph& g, const std::string& name, const std::string& kind, const std::string& json) {
             g.attributes[name] = graph::read_attribute_json(kind, json);
           });
  m.def("graph_operators", &operators);
  m.def("graph_groups", &groups);
  m.def("graph_passes", &passes);
  m.def("graph_compute", [](const Symbol& s, const std::map<std::string, te::Tensor>& variables) {
    return graph::computations(s.outputs(), variables);
  });
  m.def("rewrite_graph", &rewrite);
  m.def("register_graph_pass", &register_pass);
  m.def("load_graph_json", [](const std::string& text) { return graph::load_json(text); });
  m.def("graph_dtypes", [] {
    py::dict types;
    for (const graph::NumberedType& t : graph::numbered_types()) {
      types[py::int_(t.number)] = to_string(t.type);
    }
    return types;
  });
}

}  // namespace tw::python
