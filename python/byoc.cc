// SPDX-License-Identifier: Apache-2.0
// Partitions of graphs; tilewright/byoc.py gives them their names.
#include "graph/byoc/annotation.h"
#include "graph/byoc/function.h"
#include "graph/byoc/text.h"
#include "python/bind.h"

namespace tw::python {
namespace {

using graph::Graph;

py::list check_annotations(const Graph& g) {
  const graph::GraphIndex index(g);
  py::list list;
  for (const graph::AnnotationFault& f : graph::find_annotations(index).faults) {
    list.append(
        py::make_tuple(to_string(f.kind), f.from, f.to, f.what, f.repair, f.source, f.path));
  }
  return list;
}

// Of each function of a graph its node, and its body as a graph.
py::list functions(const Graph& g) {
  py::list list;
  for (const graph::NodeRef& node : graph::nodes_of(g.outputs)) {
    if (node->function)
      list.append(py::make_tuple(node->name, Graph{.outputs = node->function->outputs}));
  }
  return list;
}

}  // namespace

void bind_byoc(py::module_& m) {
  m.def("graph_functional_text", &graph::to_functional_text);
  m.def("graph_printed_name", &graph::printed_name);
  m.def("check_graph_annotations", &check_annotations);
  m.def("graph_functions", &functions);
}

}  // namespace tw::python
