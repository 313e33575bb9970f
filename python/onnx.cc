// SPDX-License-Identifier: Apache-2.0
// ONNX models as networks; tilewright/frontend gives it its signature.
#include <filesystem>

#include "graph/onnx/converter.h"
#include "graph/onnx/import.h"
#include "python/onnx.h"

namespace tw::python {
namespace {

namespace onnx = graph::onnx;

// The memory of a bytes object, which is kept as long as arrays point into it.
onnx::Memory memory_of(const py::bytes& file) {
  char* data = nullptr;
  Py_ssize_t size = 0;
  if (PyBytes_AsStringAndSize(file.ptr(), &data, &size) != 0) throw py::error_already_set();
  const auto give_back = [](PyObject* object) {
    if (!Py_IsInitialized()) return;  // after its end there is nobody to give it back to
    const py::gil_scoped_acquire hold;
    Py_XDECREF(object);
  };
  PyObject* kept = py::reinterpret_borrow<py::object>(file).release().ptr();
  return {.bytes = {reinterpret_cast<const uint8_t*>(data), static_cast<size_t>(size)},
          .owner = std::shared_ptr<const void>(
              data, [kept, give_back](const void*) { give_back(kept); })};
}

py::tuple import(const std::function<onnx::Memory()>& file, const onnx::ImportOptions& options) {
  const onnx::Imported imported = [&] {
    const py::gil_scoped_release free;
    return onnx::import_model(file(), options);
  }();
  py::dict parameters;
  for (const auto& [name, array] : imported.parameters) parameters[py::str(name)] = array;
  return py::make_tuple(imported.symbol, parameters);
}

using Shapes = std::map<std::string, std::vector<int64_t>>;
using Types = std::map<std::string, DType>;
using Arrays = std::map<std::string, NDArray>;

}  // namespace

void bind_onnx(py::module_& m) {
  m.def("import_onnx_file", [](const std::string& path, const Shapes& shapes, const Types& types,
                               const Arrays& values) {
    const std::filesystem::path file(path);
    const auto folder = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
    return import([&] { return onnx::map_file(file); },
                  {.shapes = shapes, .types = types, .values = values, .folder = folder});
  });
  m.def("import_onnx_bytes", [](const py::bytes& file, const Shapes& shapes, const Types& types,
                                const Arrays& values) {
    const onnx::Memory memory = memory_of(file);
    return import([&] { return memory; }, {.shapes = shapes, .types = types, .values = values});
  });
  // Of each input its name, its element type, and its shape: numbers, names of extents, None; None
  // where even the rank is open.
  m.def("onnx_inputs", [](const std::string& path) {
    const onnx::Memory file = onnx::map_file(path);
    py::list inputs;
    for (const onnx::ValueInfo& v : onnx::inputs_of(file)) {
      py::object shape = py::none();
      if (v.shape) {
        py::list extents;
        for (const onnx::Dimension& d : *v.shape) {
          if (d.extent) {
            extents.append(*d.extent);
          } else {
            extents.append(d.name.empty() ? py::object(py::none()) : py::str(std::string(d.name)));
          }
        }
        shape = py::tuple(extents);
      }
      inputs.append(py::make_tuple(v.name, onnx::type_name(v.type), shape));
    }
    return inputs;
  });
  // Rows as (domain, operator, since, least inputs, most inputs, attributes).
  m.def("onnx_converters", [] {
    py::list rows;
    for (const onnx::Converter& c : onnx::converters()) {
      rows.append(
          py::make_tuple(c.domain, c.op, c.since, c.least_inputs, c.most_inputs, c.attributes));
    }
    return rows;
  });
  m.def("onnx_opsets", [] { return py::make_tuple(onnx::kOldestOpset, onnx::kNewestOpset); });
}

}  // namespace tw::python
