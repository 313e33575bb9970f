// SPDX-License-Identifier: Apache-2.0
// Patterns and their tables; tilewright/dataflow_pattern.py and byoc.py give them TVM's names.
#include "graph/byoc/pattern.h"

#include "graph/byoc/pattern_table.h"
#include "graph/symbol.h"
#include "python/bind.h"

namespace tw::python {
namespace {

using graph::Graph;
using graph::Match;
using graph::NodePattern;
using graph::PatternGraph;
using graph::PatternRef;
using graph::Symbol;

struct PyPattern {
  PatternRef p;
};

graph::Attributes to_attributes(const py::dict& dict) {
  graph::Attributes attributes;
  for (const auto& [name, text] : dict)
    attributes.set(name.cast<std::string>(), text.cast<std::string>());
  return attributes;
}

// The root, captures, and of each capture ("": the root) its shape and type as far as known.
py::tuple facts(const Match& m, const PatternGraph* graph) {
  py::dict captures, shapes, types;
  const auto know = [&](const std::string& name, const graph::Entry& e) {
    if (graph == nullptr) return;
    const graph::Shape* shape = graph->shape(e);
    if (shape != nullptr && shape->known())
      shapes[py::str(name)] = py::tuple(py::cast(*shape->extents));
    if (const auto type = graph->dtype(e)) types[py::str(name)] = to_string(*type);
  };
  know("", m.root);
  for (const auto& [name, e] : m.captures) {
    captures[py::str(name)] = Symbol({e});
    know(name, e);
  }
  return py::make_tuple(Symbol({m.root}), captures, shapes, types);
}

// Rows are (name, pattern, predicate or None, priority); predicates are kept for good.
void register_table(const std::string& compiler, const py::list& rows) {
  graph::PatternTable table{.compiler = compiler};
  for (const py::handle row : rows) {
    const auto [name, pattern, predicate, priority] =
        row.cast<std::tuple<std::string, PyPattern, py::object, int>>();
    graph::TablePattern& added = table.patterns.emplace_back();
    added.name = name;
    added.pattern = pattern.p;
    added.priority = priority;
    if (predicate.is_none()) continue;
    auto* const kept = new py::object(predicate);
    added.refusal = [kept](const Match& m, const PatternGraph& g) {
      const py::gil_scoped_acquire lock;
      return (*kept)(*facts(m, &g)).cast<bool>() ? "" : "its predicate refuses it";
    };
  }
  graph::register_pattern_table(std::move(table));
}

}  // namespace

void bind_patterns(py::module_& m) {
  py::class_<PyPattern>(m, "NativePattern")
      .def("__str__", [](const PyPattern& p) { return to_string(*p.p); })
      .def("call", [](const PyPattern& p, const std::vector<PyPattern>& inputs) {
        if (p.p->kind != NodePattern::Kind::Call) {
          raise({.code = ErrorCode::BadArgument,
                 .what = fmt::format("inputs of the pattern {}", to_string(*p.p)),
                 .legal = "those of is_op"});
        }
        std::vector<PatternRef> parts;
        for (const PyPattern& in : inputs) parts.push_back(in.p);
        return PyPattern{graph::is_op(p.p->op, std::move(parts))};
      });
  m.def("pattern_wildcard", [] { return PyPattern{graph::wildcard()}; });
  m.def("pattern_is_var", [](const std::string& name) { return PyPattern{graph::is_var(name)}; });
  m.def("pattern_is_constant", [] { return PyPattern{graph::is_constant()}; });
  m.def("pattern_is_op", [](const std::string& op) { return PyPattern{graph::is_op(op)}; });
  m.def("pattern_output", [](const PyPattern& p, uint32_t index) {
    return PyPattern{graph::is_tuple_get_item(p.p, index)};
  });
  m.def("pattern_either",
        [](const PyPattern& a, const PyPattern& b) { return PyPattern{graph::either(a.p, b.p)}; });
  m.def("pattern_has_attr", [](const PyPattern& p, const py::dict& attributes) {
    return PyPattern{graph::has_attr(p.p, to_attributes(attributes))};
  });
  m.def("pattern_has_dtype", [](const PyPattern& p, const py::object& type) {
    return PyPattern{graph::has_dtype(p.p, to_dtype(type))};
  });
  m.def("pattern_has_shape", [](const PyPattern& p, const std::vector<int64_t>& shape) {
    return PyPattern{graph::has_shape(p.p, shape)};
  });
  m.def("pattern_named", [](const PyPattern& p, const std::string& name) {
    return PyPattern{graph::named(p.p, name)};
  });
  m.def("pattern_dominates",
        [](const PyPattern& parent, const PyPattern& child, const PyPattern& path) {
          return PyPattern{graph::dominates(parent.p, child.p, path.p)};
        });
  m.def("match_pattern", [](const PyPattern& p, const Graph& g) -> py::object {
    const PatternGraph patterns(g);
    const auto found = graph::match(p.p, g.outputs.at(0), patterns);
    return found ? py::object(facts(*found, &patterns)) : py::none();
  });
  m.def("nearest_pattern_match", [](const PyPattern& p, const Graph& g) -> py::object {
    const auto found = graph::nearest_match(p.p, PatternGraph(g));
    if (!found) return py::none();
    return py::make_tuple(found->at, found->matched, found->difference);
  });
  m.def("rewrite_pattern", [](const PyPattern& p, const py::function& replace, const Graph& g) {
    return graph::rewrite_matches(g, p.p, [&](const Match& found) -> std::optional<graph::Entry> {
      const py::object by = replace(*facts(found, nullptr));
      if (by.is_none()) return std::nullopt;
      return by.cast<Symbol>().outputs().at(0);
    });
  });
  m.def("register_pattern_table", &register_table);
  m.def("pattern_table_names", &graph::pattern_table_names);
  m.def("explain_graph_partition", [](const Graph& g, const std::string& compiler) {
    py::list list;
    for (const graph::PartitionNote& n :
         graph::explain_partition(g, graph::find_pattern_table(compiler)))
      list.append(py::make_tuple(n.node, n.text));
    return list;
  });
}

}  // namespace tw::python
