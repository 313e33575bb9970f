// SPDX-License-Identifier: Apache-2.0
// What GraphFuseCompile built; tilewright/compiler gives it NNVM's names.
#include "graph/build.h"
#include "graph/graph.h"
#include "python/array.h"
#include "python/module.h"

namespace tw::python {
namespace {

using Compiled = std::shared_ptr<const graph::CompiledGroups>;

PyModule module_of(const Compiled& compiled) {
  PyModule result{.module = compiled->module};
  for (const graph::BuiltKernel& kernel : compiled->kernels) {
    result.written[kernel.name] = std::make_shared<const std::vector<bool>>(kernel.built.written);
  }
  return result;
}

// Of each kernel its name, how often it is called, where its schedule came from, the record's
// number, and its program.
py::list kernels_of(const Compiled& compiled) {
  py::list list;
  for (const graph::BuiltKernel& k : compiled->kernels) {
    list.append(py::make_tuple(k.name, k.calls, autotune::to_string(k.built.origin), k.built.record,
                               k.program));
  }
  return list;
}

// The kernels that GraphFuseCompile would make of a partitioned graph: names, numbers of calls and
// programs.
py::list kernels_to_be(const graph::Graph& graph, const std::set<std::string>& parameters) {
  std::vector<graph::Group> groups = graph::groups_of(graph, parameters);
  std::erase_if(groups,
                [](const graph::Group& group) { return group.is_view() || group.is_external; });
  py::list list;
  for (const graph::BuiltKernel& k : graph::different_kernels(groups).kernels)
    list.append(py::make_tuple(k.name, k.calls, k.program));
  return list;
}

// The function is told the names of kernels, and functions that give their loops as text; it is
// kept for good, as programs may end while kernels are built.
void observe(const py::function& function) {
  auto* const kept = new py::function(function);
  graph::observe_kernels(
      [kept](const std::string& name, const std::function<std::string()>& loops) {
        const py::gil_scoped_acquire lock;
        (*kept)(name, py::cpp_function([&] {
                  const py::gil_scoped_release release;
                  return loops();
                }));
      });
}

}  // namespace

void bind_compiler(py::module_& m) {
  m.def("graph_module", [](const graph::Graph& g) -> std::optional<PyModule> {
    const auto* compiled = g.find<Compiled>("module");
    return compiled == nullptr ? std::nullopt : std::optional(module_of(*compiled));
  });
  m.def("graph_kernels", [](const graph::Graph& g) {
    const auto* compiled = g.find<Compiled>("module");
    return compiled == nullptr ? py::list() : kernels_of(*compiled);
  });
  m.def("graph_kernels_to_be", &kernels_to_be);
  // Empties the dict, so that an array can go when it is packed.
  m.def("graph_pack", [](const graph::Graph& g, py::dict dict) {  // NOLINT: it is another's
    auto parameters = dict.cast<graph::Parameters>();
    dict.clear();
    const auto* compiled = g.find<Compiled>("module");
    if (compiled == nullptr) return parameters;
    const py::gil_scoped_release release;
    return graph::pack_parameters(**compiled, std::move(parameters),
                                  graph::GraphIndex(g).input_names());
  });
  m.def("observe_graph_kernels", &observe);
}

}  // namespace tw::python
