// SPDX-License-Identifier: Apache-2.0
// Partitions of graphs; tilewright/byoc.py gives them their names.
#include "graph/byoc/annotation.h"
#include "graph/byoc/build_regions.h"
#include "graph/byoc/codegens.h"
#include "graph/byoc/function.h"
#include "graph/byoc/text.h"
#include "python/array.h"
#include "python/bind.h"
#include "runtime/thread_pool.h"

namespace tw::python {
namespace {

using graph::Graph;

py::list check_annotations(const Graph& g) {
  const graph::GraphIndex index(g);
  py::list list;
  for (const graph::AnnotationFault& f : graph::find_annotations(g, index).faults) {
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

// The graph with code for its functions, and a line for each that has none.
py::tuple build_regions(const Graph& g, const graph::Parameters& parameters, int threads) {
  graph::BuiltRegions built;
  {
    const py::gil_scoped_release release;
    built = graph::build_regions(g, parameters,
                                 threads > 0 ? threads : ThreadPool::global().num_threads());
  }
  return py::make_tuple(built.graph, built.refused);
}

}  // namespace

void bind_byoc(py::module_& m) {
  m.def("graph_functional_text", &graph::to_functional_text);
  m.def("graph_printed_name", &graph::printed_name);
  m.def("check_graph_annotations", &check_annotations);
  m.def("graph_functions", &functions);
  m.def("build_graph_regions", &build_regions);
  m.def("graph_codegens", [] {
    std::vector<std::string> names;
    for (const graph::Codegen& c : graph::codegens()) names.push_back(c.name);
    return names;
  });
  m.def("register_graph_codegen", [](const std::string& name, const std::string& library) {
    graph::register_codegen({name, library});
  });
}

}  // namespace tw::python
