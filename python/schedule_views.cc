// SPDX-License-Identifier: Apache-2.0
// What a schedule consists of, for scripts that look into it: how axes come from one another, what
// is marked on them, and what they run over.
#include "python/bind.h"
#include "schedule/infer_bound.h"
#include "schedule/normalize.h"
#include "schedule/schedule_data.h"
#include "schedule/schedule_ops.h"

namespace tw::python {
namespace {

py::object optional(const Expr& e) { return e.defined() ? wrap(e) : py::none(); }

py::object view(const RelationRef& relation) {
  if (const auto* split = dynamic_cast<const SplitRelation*>(relation.get()))
    return py::cast(*split);
  if (const auto* fuse = dynamic_cast<const FuseRelation*>(relation.get())) return py::cast(*fuse);
  if (const auto* single = dynamic_cast<const SingletonRelation*>(relation.get()))
    return py::cast(*single);
  return py::cast(dynamic_cast<const RebaseRelation&>(*relation));
}

py::dict infer_bound_of(const Schedule& schedule) {
  const Schedule normal = normalize(schedule);
  const DomainMap domains = infer_bound(normal);
  py::dict result;
  for (const Stage& stage : normal.stages()) {
    for (const IterVar& axis : stage.data().all_axes) {
      const auto domain = domains.find(axis->var);
      if (domain != domains.end()) result[py::cast(axis)] = domain->second;
    }
  }
  return result;
}

}  // namespace

py::list relations_of(const StageData& stage) {
  py::list result;
  for (const RelationRef& relation : stage.relations) result.append(view(relation));
  return result;
}

py::dict axis_attributes_of(const StageData& stage) {
  py::dict result;
  for (const IterVar& axis : stage.all_axes) {
    const AxisAttributes* marks = stage.attributes_of(axis);
    if (marks != nullptr) result[py::cast(axis)] = *marks;
  }
  return result;
}

void bind_schedule_views(py::module_& m) {
  py::class_<SplitRelation>(m, "Split", "An axis in two.")
      .def_readonly("parent", &SplitRelation::parent)
      .def_readonly("outer", &SplitRelation::outer)
      .def_readonly("inner", &SplitRelation::inner)
      .def_property_readonly("factor", [](const SplitRelation& r) { return optional(r.factor); })
      .def_property_readonly("nparts", [](const SplitRelation& r) { return optional(r.nparts); });
  py::class_<FuseRelation>(m, "Fuse", "Two axes in one.")
      .def_readonly("outer", &FuseRelation::outer)
      .def_readonly("inner", &FuseRelation::inner)
      .def_readonly("fused", &FuseRelation::fused);
  py::class_<SingletonRelation>(m, "Singleton", "A loop of one iteration around a stage.")
      .def_readonly("iter", &SingletonRelation::axis);
  py::class_<RebaseRelation>(m, "Rebase", "An axis from zero; lowering makes it.")
      .def_readonly("parent", &RebaseRelation::parent)
      .def_readonly("rebased", &RebaseRelation::rebased);
  py::class_<AxisAttributes>(m, "IterVarAttr", "What is marked on an axis.")
      .def_property_readonly(
          "iter_type",
          [](const AxisAttributes& a) {
            return a.intrin.defined() ? std::string("tensorized")
                                      : std::string(to_string(a.for_kind));
          },
          "How its loop runs: for, parallel, vectorized, unrolled, tensorized.")
      .def_property_readonly("bind_thread",
                             [](const AxisAttributes& a) -> py::object {
                               return a.thread.empty() ? py::none() : py::cast(a.thread);
                             })
      .def_property_readonly("tensor_intrin",
                             [](const AxisAttributes& a) -> py::object {
                               return a.intrin.defined() ? py::cast(a.intrin) : py::none();
                             })
      .def_property_readonly("pragma_keys",
                             [](const AxisAttributes& a) {
                               std::vector<std::string> keys;
                               for (const auto& [key, value] : a.pragmas) keys.push_back(key);
                               return keys;
                             })
      .def_property_readonly("pragma_values", [](const AxisAttributes& a) {
        std::vector<Expr> values;
        for (const auto& [key, value] : a.pragmas) values.push_back(value);
        return values;
      });
  m.def("infer_bound", &infer_bound_of);
  m.def("schedule_ops", [](const Schedule& schedule, bool keep_trivial_loops) {
    const Schedule normal = normalize(schedule);
    return schedule_ops(normal, infer_bound(normal), {.keep_trivial_loops = keep_trivial_loops});
  });
}

}  // namespace tw::python
