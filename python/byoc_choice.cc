// SPDX-License-Identifier: Apache-2.0
// Choices between our kernels and another code generator's; tilewright/vendor_choice.py makes them.
#include "autotune/log/log.h"
#include "autotune/log/vendor_choice.h"
#include "autotune/measure/race.h"
#include "autotune/task/machine_kind.h"
#include "graph/byoc/choice.h"
#include "python/bind.h"

namespace tw::python {
namespace {

using autotune::Race;
using autotune::VendorChoice;
using autotune::VendorKey;
using Seconds = std::map<std::string, std::vector<double>>;
using Kernels = std::map<std::string, int64_t>;

py::object ratio(const VendorChoice& choice, const std::string& way, const std::string& base) {
  const auto found = ratio_of(choice, way, base);
  if (!found) return py::none();
  return py::make_tuple(found->median, found->low, found->high);
}

// Made here and now.
VendorChoice make_choice(const VendorKey& key, const std::string& name, const Kernels& kernels,
                         const Seconds& seconds, const std::string& message) {
  VendorChoice choice{.key = key,
                      .name = name,
                      .seconds = seconds,
                      .kernels = kernels,
                      .message = message,
                      .host = autotune::host_name(),
                      .kind = autotune::machine_kind()};
  choice.chosen = choose_way(choice);
  return choice;
}

// The choice, or None, and a line for each damaged one that was passed over.
py::tuple find(const autotune::Log& log, const VendorKey& key, const Kernels& kernels) {
  std::vector<std::string> damaged;
  std::optional<VendorChoice> choice;
  {
    const py::gil_scoped_release release;
    choice = log.choice(key, kernels, &damaged);
  }
  return py::make_tuple(choice, damaged);
}

}  // namespace

// After autotune, whose log it reads and writes.
void bind_byoc_choice(py::module_& m) {
  py::class_<VendorKey>(m, "VendorKey")
      .def(py::init([](const std::string& program, const std::string& codegen,
                       const std::string& version, const std::string& target, int threads) {
        return VendorKey{program, codegen, version, target, threads};
      }))
      .def_readonly("program", &VendorKey::program);
  py::class_<VendorChoice>(m, "VendorChoice")
      .def(py::init(&make_choice), py::arg("key"), py::arg("name"), py::arg("kernels"),
           py::arg("seconds"), py::arg("message") = "")
      .def_readonly("name", &VendorChoice::name)
      .def_readonly("seconds", &VendorChoice::seconds)
      .def_readonly("message", &VendorChoice::message)
      .def_property_readonly("chosen", [](const VendorChoice& c) { return std::string(c.chosen); })
      .def("ratio", &ratio, py::arg("way"), py::arg("base"));
  m.def("find_vendor_choice", &find);
  m.def("append_vendor_choice", [](autotune::Log& log, const VendorChoice& choice) {
    const py::gil_scoped_release release;
    log.append(choice);
  });
  py::class_<Race>(m, "Race")
      .def(py::init([](size_t contenders) { return Race(contenders); }))
      .def_property_readonly("running", &Race::running)
      .def("add", &Race::add)
      .def("seconds", &Race::seconds);
  m.def("graph_pieces", &graph::pieces_of);
  m.def("keep_composites", &graph::keep_composites);
  m.def("graph_of_part",
        [](const graph::Graph& merged, const graph::Part& part, const std::set<uint32_t>& kept) {
          return graph::graph_of_part(merged, part, kept);
        });
  m.def("graph_part_hash", &graph::part_hash);
  m.def("codegen_version",
        [](const std::string& name) { return graph::codegen_version(graph::find_codegen(name)); });
}

}  // namespace tw::python
