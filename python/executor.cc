// SPDX-License-Identifier: Apache-2.0
// Running deployed networks; tilewright/contrib/graph_runtime.py gives them TVM's names.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <tuple>

#include "python/array.h"
#include "python/module.h"
#include "runtime/graph_directory.h"
#include "runtime/graph_executor.h"
#include "runtime/region_module.h"
#include "runtime/time_evaluator.h"

namespace tw::python {
namespace {

using NamedArrays = std::vector<NamedArray>;

// An array as it is, anything else as a fresh one.
NDArray to_array(py::handle object) {
  if (is_array(object)) return borrow(object);
  return borrow(py::module_::import("numpy").attr("asarray")(object)).copy();
}

// What is not compact is copied.
NamedArrays to_arrays(const py::dict& parameters) {
  NamedArrays arrays;
  for (const auto& [name, value] : parameters) {
    const NDArray array = to_array(value);
    arrays.push_back({name.cast<std::string>(), array.is_contiguous() ? array : array.copy()});
  }
  return arrays;
}

py::dict to_dict(const NamedArrays& arrays) {
  py::dict dict;
  for (const NamedArray& a : arrays) dict[py::str(a.name)] = a.value;
  return dict;
}

std::string to_path(const py::object& path) {
  return py::module_::import("os").attr("fspath")(path).cast<std::string>();
}

// The executor with what it was made of, for exports.
struct PyExecutor {
  DeployedGraph graph;
  std::unique_ptr<GraphExecutor> executor;
};

PyExecutor make_executor(DeployedGraph graph) {
  PyExecutor made{.graph = std::move(graph)};
  made.executor =
      std::make_unique<GraphExecutor>(made.graph.plan, made.graph.module, made.graph.parameters);
  return made;
}

// Of graphs that call nothing.
class NoFunctions final : public Module {
 public:
  std::vector<std::string> function_names() const override { return {}; }
  Function get_function(std::string_view name) const override {
    raise({.code = ErrorCode::UnknownFunction,
           .what = fmt::format("there is no module, and no function '{}'", name)});
  }
};

PyExecutor create(const std::string& json, const PyModule* module, const py::dict& parameters) {
  DeployedGraph graph{
      .module = module != nullptr ? module->module : std::make_shared<NoFunctions>(),
      .parameters = to_arrays(parameters),
      .json = json};
  py::gil_scoped_release release;
  graph.plan = std::make_shared<const GraphPlan>(read_graph_plan(json));
  return make_executor(std::move(graph));
}

using Fallbacks =
    std::vector<std::tuple<std::string, std::string, std::optional<PyModule>, py::dict>>;

std::vector<FallbackGraph> to_fallbacks(const Fallbacks& given) {
  std::vector<FallbackGraph> fallbacks;
  for (const auto& [region, json, module, parameters] : given) {
    fallbacks.push_back({region, json, module ? module->module : std::make_shared<NoFunctions>(),
                         to_arrays(parameters)});
  }
  return fallbacks;
}

py::tuple to_tuple(const std::vector<int64_t>& shape) { return py::tuple(py::cast(shape)); }

TimeResult time_run(PyExecutor& self, int64_t number, int repeat, double min_repeat_ms) {
  py::gil_scoped_release release;
  return time_evaluator([&] { self.executor->run(); },
                        {.number = number, .repeat = repeat, .min_repeat_ms = min_repeat_ms});
}

// Of each region that another code generator has built its name, its body as JSON, its inputs by
// name with shape and type, and its constants by name.
py::list regions(const Module& module) {
  py::list list;
  for (const BuiltRegion* built : regions_of(module)) {
    py::dict inputs, constants;
    size_t next = 0;
    for (size_t k = 0; k < built->parameters.size(); ++k) {
      const vendor::Value& v = built->region.values[k];
      const py::str name(built->parameters[k]);
      if (v.constant != nullptr) {
        constants[name] = built->constants.at(next++);
      } else {
        inputs[name] = py::make_tuple(to_tuple(v.shape), v.dtype);
      }
    }
    list.append(py::make_tuple(built->region.name, built->body, inputs, constants));
  }
  return list;
}

void bind_profile(py::module_& m) {
  py::class_<NodeProfile>(m, "NodeProfile", "The time of one node, by repetitions.")
      .def_readonly("name", &NodeProfile::name)
      .def_readonly("function", &NodeProfile::function)
      .def_readonly("bytes_in", &NodeProfile::bytes_in)
      .def_readonly("bytes_out", &NodeProfile::bytes_out)
      .def_readonly("start", &NodeProfile::start, "Seconds since the first repetition began.")
      .def_readonly("seconds", &NodeProfile::seconds);
  py::class_<GraphProfile>(m, "GraphProfile", "The time of each node of a network.")
      .def_readonly("nodes", &GraphProfile::nodes)
      .def_readonly("start", &GraphProfile::start)
      .def_readonly("seconds", &GraphProfile::seconds, "Of whole runs.")
      .def("trace_json", &trace_json, "Trace events, for Perfetto.");
}

}  // namespace

void bind_executor(py::module_& m) {
  bind_profile(m);
  const auto unlocked = py::call_guard<py::gil_scoped_release>();
  py::class_<PyExecutor>(m, "GraphExecutor", "One instance of a deployed network.")
      .def(py::init(&create), py::arg("graph_json"), py::arg("module"), py::arg("parameters"))
      .def(
          "clone",
          [](const PyExecutor& self) {
            py::gil_scoped_release release;
            return PyExecutor{self.graph, self.executor->clone()};
          },
          "Another instance, which shares code and parameters.")
      .def_property_readonly("num_inputs",
                             [](const PyExecutor& self) { return self.executor->num_inputs(); })
      .def_property_readonly("num_outputs",
                             [](const PyExecutor& self) { return self.executor->num_outputs(); })
      .def_property_readonly("arena_bytes",
                             [](const PyExecutor& self) { return self.executor->arena_bytes(); })
      .def_property_readonly(
          "workspace_bytes",
          [](const PyExecutor& self) { return self.executor->workspace_bytes(); })
      .def_property_readonly("graph_json", [](const PyExecutor& self) { return self.graph.json; })
      .def_property_readonly("parameters",
                             [](const PyExecutor& self) { return to_dict(self.graph.parameters); })
      .def(
          "input_name",
          [](const PyExecutor& self, int index) { return self.executor->input_name(index); },
          py::arg("index"))
      .def(
          "output_name",
          [](const PyExecutor& self, int index) { return self.executor->output_name(index); },
          py::arg("index"))
      .def(
          "input_index",
          [](const PyExecutor& self, const std::string& name) {
            return self.executor->input_index(name);
          },
          py::arg("name"))
      .def(
          "input_shape",
          [](const PyExecutor& self, int index) {
            return to_tuple(self.executor->input_tensor(index).shape);
          },
          py::arg("index"))
      .def(
          "input_dtype",
          [](const PyExecutor& self, int index) {
            return self.executor->input_tensor(index).dtype;
          },
          py::arg("index"))
      .def(
          "is_set", [](const PyExecutor& self, int index) { return self.executor->is_set(index); },
          py::arg("index"))
      .def(
          "set_input",
          [](PyExecutor& self, int index, py::object value) {
            const NDArray array = to_array(value);
            py::gil_scoped_release release;
            self.executor->set_input(index, array);
          },
          py::arg("index"), py::arg("value"), "Copies the elements.")
      .def(
          "set_input_zero_copy",
          [](PyExecutor& self, int index, py::object value) {
            self.executor->set_input_zero_copy(index, borrow(value));
          },
          py::arg("index"), py::arg("value"), "Uses the memory of the array, and keeps it.")
      .def(
          "input", [](PyExecutor& self, int index) { return self.executor->input(index); },
          py::arg("index"))
      .def(
          "output", [](const PyExecutor& self, int index) { return self.executor->output(index); },
          py::arg("index"), "The memory where each run leaves it.")
      .def(
          "run", [](PyExecutor& self) { self.executor->run(); }, unlocked)
      .def(
          "profile", [](PyExecutor& self, int repeat) { return self.executor->profile(repeat); },
          unlocked, py::arg("repeat"))
      .def("_time", &time_run)
      .def(
          "export",
          [](const PyExecutor& self, py::object directory, const py::dict& parameters,
             const Fallbacks& fallbacks) {
            const std::string path = to_path(directory);
            const auto ours = to_fallbacks(fallbacks);
            NamedArrays arrays = self.graph.parameters;
            for (NamedArray& given : to_arrays(parameters)) {
              std::erase_if(arrays, [&](const NamedArray& a) { return a.name == given.name; });
              arrays.push_back(std::move(given));
            }
            py::gil_scoped_release release;
            export_graph(path, self.graph.json, *self.graph.module, arrays, ours);
          },
          py::arg("directory"), py::arg("parameters"), py::arg("fallbacks"))
      .def_property_readonly("regions",
                             [](const PyExecutor& self) { return regions(*self.graph.module); });
  m.def(
      "load_executor",
      [](py::object directory, bool verify) {
        const std::string path = to_path(directory);
        py::gil_scoped_release release;
        return make_executor(load_graph(path, verify));
      },
      py::arg("directory"), py::arg("verify"));
  m.def(
      "export_graph",
      [](py::object directory, const std::string& json, const PyModule& module,
         const py::dict& parameters, const Fallbacks& fallbacks) {
        const std::string path = to_path(directory);
        const NamedArrays arrays = to_arrays(parameters);
        const auto ours = to_fallbacks(fallbacks);
        py::gil_scoped_release release;
        export_graph(path, json, *module.module, arrays, ours);
      },
      py::arg("directory"), py::arg("graph_json"), py::arg("module"), py::arg("parameters"),
      py::arg("fallbacks"));
  m.def("module_regions", [](const PyModule& m) { return regions(*m.module); }, py::arg("module"));
  m.def(
      "save_param_dict",
      [](const py::dict& parameters) {
        return py::bytes(parameters_to_bytes(to_arrays(parameters)));
      },
      py::arg("parameters"));
  m.def(
      "load_param_dict",
      [](const py::bytes& bytes) {
        return to_dict(parameters_from_bytes(std::string_view(bytes)).arrays);
      },
      py::arg("bytes"));
}

}  // namespace tw::python
