// SPDX-License-Identifier: Apache-2.0
// Schedules, stages and traces. The methods of the primitives are made in tilewright/te/schedule.py
// from the table that `primitives` gives; `apply_primitive` runs them.
#include "schedule/schedule.h"

#include <fmt/format.h>

#include "ir/print.h"
#include "lower/check_schedule.h"
#include "python/schedule.h"
#include "schedule/primitive.h"
#include "schedule/schedule_data.h"
#include "schedule/show.h"
#include "schedule/symbols.h"
#include "schedule/tensor_intrin.h"
#include "schedule/trace_json.h"
#include "schedule/trace_python.h"

namespace tw::python {
namespace {

// Turns what Python passes into the references that a step records.
class Recorder {
 public:
  Recorder(const PyStage& on, const Primitive& primitive)
      : on_(on), nearest_(on.stage), row_(primitive) {
    step_.primitive = primitive.name;
    step_.version = primitive.version;
    step_.arguments.push_back(on.schedule.ref_of(on.stage));
    step_.where = caller();
  }

  Step record(const py::sequence& arguments) {
    for (size_t k = 0; k < arguments.size(); ++k) {
      TW_CHECK(k + 1 < row_.parameters.size(), row_.name);
      const py::object object = arguments[k];
      if (object.is_none() && row_.parameters[k + 1].optional) {
        step_.arguments.emplace_back(std::monostate());
      } else {
        step_.arguments.push_back(argument(row_.parameters[k + 1], object));
      }
    }
    return std::move(step_);
  }

 private:
  [[noreturn]] void wrong(const Parameter& p, py::handle object, const char* legal) const {
    raise({.code = ErrorCode::BadArgument,
           .what = fmt::format("argument '{}' of '{}' is {}", p.name, row_.name, describe(object)),
           .stage = on_.stage.data().name(),
           .where = step_.where,
           .legal = legal});
  }

  AxisRef axis(const Parameter& p, py::handle object) const {
    if (!py::isinstance<IterVar>(object)) {
      const bool several = py::isinstance<py::list>(object) || py::isinstance<py::tuple>(object);
      wrong(p, object,
            several ? "axes one by one, as in fuse(x, y) or fuse(*axes)" : "an axis of the stage");
    }
    return on_.schedule.ref_of(nearest_, object.cast<const IterVar&>());
  }
  StageRef stage(const Parameter& p, py::handle object) {
    Stage given = named_stage(p, object);
    if (p.type == ParameterType::Stage || p.type == ParameterType::Place) nearest_ = given;
    return on_.schedule.ref_of(given);
  }
  static bool names_stage(py::handle object) {
    return py::isinstance<PyStage>(object) || py::isinstance<te::Tensor>(object) ||
           py::isinstance<te::Operation>(object);
  }
  Stage named_stage(const Parameter& p, py::handle object) const {
    if (py::isinstance<PyStage>(object)) {
      const auto& given = object.cast<const PyStage&>();
      if (&given.schedule.data() != &on_.schedule.data()) {
        wrong(p, object, "a stage of the same schedule");
      }
      return given.stage;
    }
    if (py::isinstance<te::Tensor>(object)) return on_.schedule[object.cast<const te::Tensor&>()];
    if (py::isinstance<te::Operation>(object)) {
      return on_.schedule[object.cast<const te::Operation&>()];
    }
    wrong(p, object, "a stage of the schedule, such as s[C]");
  }
  int64_t integer(const Parameter& p, py::handle object) const {
    if (!PyIndex_Check(object.ptr())) wrong(p, object, "an integer");  // True is 1, for pragmas
    const auto number = py::reinterpret_steal<py::object>(PyNumber_Index(object.ptr()));
    int overflow = 0;
    const int64_t value = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
    if (overflow != 0) wrong(p, object, "an integer of 64 bits");
    return value;
  }

  // A trace says the name alone, so that it must lead back to what is given.
  std::string intrin_name(py::handle object) const {
    if (PyUnicode_Check(object.ptr())) return object.cast<std::string>();
    if (!py::isinstance<TensorIntrin>(object)) {
      raise({.code = ErrorCode::BadArgument,
             .what = fmt::format("{} is no tensor intrinsic", describe(object)),
             .stage = on_.stage.data().name(),
             .where = step_.where,
             .legal = "what te.decl_tensor_intrin gives, or the name of one"});
    }
    const auto& intrin = object.cast<const TensorIntrin&>();
    if (!tensor_intrin(intrin->name, step_.where).same_as(intrin)) {
      raise({.code = ErrorCode::BadIntrinsic,
             .what = fmt::format("another intrinsic was declared as '{}' since", intrin->name),
             .stage = on_.stage.data().name(),
             .where = step_.where,
             .legal = "decl_tensor_intrin(…, name=…) with a name for each"});
    }
    return intrin->name;
  }

  // What te.thread_axis gives, as text: its tag, and its extent where it has one.
  std::string thread(const Parameter& p, py::handle object) const {
    if (PyUnicode_Check(object.ptr())) return object.cast<std::string>();  // as in a trace
    if (!py::hasattr(object, "thread_tag")) {
      wrong(p, object, "a thread axis, such as te.thread_axis(\"threadIdx.x\")");
    }
    return py::str(object.attr("_text")).cast<std::string>();
  }

  Argument argument(const Parameter& p, py::handle object) {
    const auto list = [&](const char* legal) {
      if (!py::isinstance<py::tuple>(object) && !py::isinstance<py::list>(object)) {
        wrong(p, object, legal);
      }
      return py::reinterpret_borrow<py::sequence>(object);
    };
    switch (p.type) {
      case ParameterType::Stage:
      case ParameterType::Producer:
      case ParameterType::Place:
        return stage(p, object);
      case ParameterType::Axis:
        return axis(p, object);
      case ParameterType::Axes: {
        std::vector<AxisRef> refs;
        for (py::handle a : list("axes of the stage")) refs.push_back(axis(p, a));
        return refs;
      }
      case ParameterType::Stages: {
        std::vector<StageRef> refs;
        const Stage kept = nearest_;
        if (names_stage(object)) {  // as TVM has it, one reader needs no list
          refs.push_back(stage(p, object));
        } else {
          for (py::handle s : list("stages of the schedule")) refs.push_back(stage(p, s));
        }
        nearest_ = kept;
        return refs;
      }
      case ParameterType::Int:
        return integer(p, object);
      case ParameterType::Ints: {
        std::vector<int64_t> values;
        for (py::handle v : list("integers")) values.push_back(integer(p, v));
        return values;
      }
      case ParameterType::Float: {
        const double value = PyFloat_AsDouble(object.ptr());
        if (PyErr_Occurred()) {
          PyErr_Clear();
          wrong(p, object, "a number");
        }
        return value;
      }
      case ParameterType::Str: {
        if (!PyUnicode_Check(object.ptr())) wrong(p, object, "a string");
        return object.cast<std::string>();
      }
      case ParameterType::Intrin:
        return intrin_name(object);
      case ParameterType::Size:
      case ParameterType::Condition: {
        if (PyIndex_Check(object.ptr()) && p.type == ParameterType::Size) return integer(p, object);
        if (PyUnicode_Check(object.ptr())) return object.cast<std::string>();  // as in a trace
        const std::optional<Expr> e = try_expr(object);
        const bool fits =
            e && (p.type == ParameterType::Size ? e->dtype().is_int() : e->dtype().is_bool());
        if (!fits) wrong(p, object, p.type == ParameterType::Size ? "an integer" : "a condition");
        if (const auto constant = as_const_int(*e); constant && p.type == ParameterType::Size) {
          return *constant;
        }
        const SourceScope here(step_.where);
        ScheduleData& schedule = on_.schedule.data();
        return p.type == ParameterType::Size ? size_text(schedule, *e)
                                             : condition_text(schedule, *e);
      }
      case ParameterType::Thread:
        return thread(p, object);
      case ParameterType::Threads: {
        std::vector<std::string> texts;
        for (py::handle t : list("thread axes")) texts.push_back(thread(p, t));
        return texts;
      }
      case ParameterType::Group:
        break;
    }
    return {};
  }

  const PyStage& on_;
  Stage nearest_;  // that axes belong to
  const Primitive& row_;
  Step step_;
};

py::object apply_primitive(const PyStage& on, const std::string& name,
                           const py::sequence& arguments) {
  const Primitive* primitive = find_primitive(name);
  if (primitive == nullptr) raise_unknown_primitive(name, caller());
  const StepResults& results =
      apply_step(on.schedule.data(), Recorder(on, *primitive).record(arguments));
  py::list objects;
  for (const StepResult& r : results) {
    if (r.stage == nullptr) {
      objects.append(py::cast(r.axis));
      continue;
    }
    if (r.stage->is_group()) {
      objects.append(py::cast(PyStage{on.schedule, Stage(&on.schedule.data(), r.stage)}));
      continue;
    }
    for (int k = 0; k < r.stage->op->num_outputs(); ++k) objects.append(r.stage->op.output(k));
  }
  if (objects.empty()) return py::none();
  if (objects.size() == 1) return objects[0];
  return py::tuple(objects);
}

py::list primitive_table() {
  py::list rows;
  for (const Primitive& p : primitives()) {
    py::list parameters;
    for (const Parameter& q : p.parameters) {
      parameters.append(
          py::make_tuple(std::string(q.name), std::string(to_string(q.type)), q.optional));
    }
    py::list results;
    for (ParameterType r : p.results) results.append(std::string(to_string(r)));
    rows.append(
        py::make_tuple(std::string(p.name), p.version, parameters, results, std::string(p.doc)));
  }
  return rows;
}

PyStage stage_of(const Schedule& schedule, py::handle key) {
  if (py::isinstance<te::Tensor>(key)) return {schedule, schedule[key.cast<const te::Tensor&>()]};
  if (py::isinstance<te::Operation>(key))
    return {schedule, schedule[key.cast<const te::Operation&>()]};
  raise({.code = ErrorCode::UnknownStage,
         .what = fmt::format("{} names no stage", describe(key)),
         .where = caller(),
         .legal = "a tensor or an operation of the program"});
}

std::vector<te::Tensor> all_outputs(const py::sequence& operations) {
  std::vector<te::Tensor> outputs;
  for (py::handle object : operations) {
    if (py::isinstance<te::Tensor>(object)) {
      outputs.push_back(object.cast<te::Tensor>());
    } else if (py::isinstance<te::Operation>(object)) {
      std::ranges::copy(object.cast<const te::Operation&>().outputs(), std::back_inserter(outputs));
    } else {
      raise({.code = ErrorCode::BadArgument,
             .what = fmt::format("cannot schedule {}", describe(object)),
             .legal = "operations or tensors"});
    }
  }
  if (outputs.empty()) {
    raise({.code = ErrorCode::BadArgument,
           .what = "no operation to schedule",
           .legal = "at least one"});
  }
  return outputs;
}

const char* attach_name(AttachType type) {
  switch (type) {
    case AttachType::GroupRoot:
      return "root";
    case AttachType::Inline:
    case AttachType::InlinedAlready:
      return "inline";
    case AttachType::Scope:
      return "scope";
    case AttachType::ScanInit:
      return "scan_init";
    case AttachType::ScanUpdate:
      return "scan_update";
  }
  return "";
}

// A trace that knows what program it is of.
struct ScheduleTrace : Trace {
  Schedule schedule;
};

void bind_trace(py::module_& m) {
  py::class_<Trace>(m, "Trace",
                    "Every primitive applied to a schedule, as data; its text replays it.")
      .def(py::init([](const std::string& text) { return parse_trace(text); }), py::arg("text"))
      .def_property_readonly("text", [](const Trace& t) { return to_text(t); })
      .def_property_readonly("steps",
                             [](const Trace& t) {
                               std::vector<std::string> lines;
                               for (const Step& s : t.steps) lines.push_back(to_text(s));
                               return lines;
                             })
      .def(
          "as_python",
          [](const Trace& t, const Schedule& schedule) { return to_python(schedule, t); },
          py::arg("schedule"),
          "A Python function `apply(s)` that applies this trace to a fresh schedule of the program "
          "that `schedule` is of.")
      .def("as_json", &to_json, "The steps as JSON; the inverse of from_json.")
      .def_static("from_json", &trace_from_json, py::arg("text"),
                  "The trace that as_json gave; UserError with the place for what is none.")
      .def("__str__", [](const Trace& t) { return to_text(t); })
      .def("__repr__",
           [](const Trace& t) {
             return fmt::format("Trace({} steps, {:016x})", t.steps.size(), trace_hash(t));
           })
      .def("__len__", [](const Trace& t) { return t.steps.size(); })
      .def("__eq__", [](const Trace& a, const Trace& b) { return a == b; })
      .def("__hash__", &trace_hash);
  py::class_<ScheduleTrace, Trace>(m, "ScheduleTrace", "The trace of a schedule.")
      .def(
          "as_python", [](const ScheduleTrace& t) { return to_python(t.schedule, t); },
          "A Python function `apply(s)` that applies this trace to a fresh schedule of the "
          "program.");
}

void bind_findings(py::module_& m) {
  const auto text = [](std::string ErrorInfo::* field) {
    return [field](const Finding& f) { return f.error.*field; };
  };
  py::class_<Finding>(m, "Finding", "One thing that is wrong with a schedule.")
      .def_property_readonly("code",
                             [](const Finding& f) { return std::string(to_string(f.error.code)); })
      .def_property_readonly("stage", text(&ErrorInfo::stage))
      .def_property_readonly("axis", text(&ErrorInfo::axis))
      .def_property_readonly("where", text(&ErrorInfo::where),
                             "The line of the script that did it.")
      .def_property_readonly("what", text(&ErrorInfo::what))
      .def_property_readonly("legal", text(&ErrorInfo::legal))
      .def_readonly("nest", &Finding::nest, "The loops that it is about, with the culprit marked.")
      .def("__str__", [](const Finding& f) { return std::string(Error(f.error).what()); })
      .def("__repr__", [](const Finding& f) {
        return fmt::format("Finding({}: {})", to_string(f.error.code), Error(f.error).what());
      });
}

py::object op_or_none(const te::Operation& op) { return op.defined() ? wrap(op) : py::none(); }

}  // namespace

void bind_schedule(py::module_& m) {
  py::list tags;
  for (const std::string_view tag : thread_tags()) tags.append(py::str(std::string(tag)));
  m.attr("thread_tags") = py::tuple(tags);
  py::class_<Schedule> schedule(m, "Schedule",
                                "A stage for each operation, and the trace that shaped them.");
  bind_trace(m);
  bind_findings(m);
  bind_schedule_views(m);
  py::class_<PyStage>(m, "Stage", "How one operation is computed; s[C] of a schedule s.")
      .def_property_readonly(
          "op", [](const PyStage& s) { return op_or_none(s.stage.op()); }, "None of a group.")
      .def_property_readonly("origin_op",
                             [](const PyStage& s) { return op_or_none(s.stage.data().origin_op); })
      .def_property_readonly("name", [](const PyStage& s) { return s.stage.data().name(); })
      .def_property_readonly("scope", [](const PyStage& s) { return s.stage.data().storage.scope; })
      .def_property_readonly("is_output", [](const PyStage& s) { return s.stage.data().is_output; })
      .def_property_readonly("leaf_iter_vars", [](const PyStage& s) { return s.stage.leaf_axes(); })
      .def_property_readonly("all_iter_vars",
                             [](const PyStage& s) { return s.stage.data().all_axes; })
      .def_property_readonly(
          "relations", [](const PyStage& s) { return relations_of(s.stage.data()); },
          "How its axes come from one another: Split, Fuse, … in the order they were made.")
      .def_property_readonly(
          "iter_var_attrs", [](const PyStage& s) { return axis_attributes_of(s.stage.data()); },
          "What is marked on axes, by axis.")
      .def_property_readonly(
          "attach_type", [](const PyStage& s) { return attach_name(s.stage.data().attach_type); })
      .def_property_readonly("attach_ivar",
                             [](const PyStage& s) -> py::object {
                               const IterVar& axis = s.stage.data().attach_axis;
                               return axis.defined() ? py::cast(axis) : py::none();
                             })
      .def("_apply", &apply_primitive)
      .def("__repr__",
           [](const PyStage& s) { return fmt::format("stage({})", s.stage.data().name()); });

  schedule.def("__getitem__", &stage_of, py::arg("key"))
      .def_property_readonly("stages",
                             [](const Schedule& s) {
                               std::vector<PyStage> stages;
                               for (const Stage& stage : s.stages()) stages.push_back({s, stage});
                               return stages;
                             })
      .def_property_readonly(
          "stage_map",
          [](const Schedule& s) {
            py::dict map;
            for (const Stage& stage : s.stages()) {
              const te::Operation& origin = stage.data().origin_op;
              map[wrap(origin.defined() ? origin : stage.op())] = PyStage{s, stage};
            }
            return map;
          },
          "The stage of each operation.")
      .def_property_readonly("outputs", [](const Schedule& s) { return s.outputs(); })
      .def_property_readonly(
          "parameters", [](const Schedule& s) { return s.data().parameters; },
          "Variables of the sizes of splits that are in no shape, p0 first: arguments of what is "
          "built.")
      .def_property_readonly("trace", [](const Schedule& s) { return ScheduleTrace{s.trace(), s}; })
      .def(
          "apply", [](const Schedule& s, const Trace& trace) { s.apply(trace); }, py::arg("trace"),
          "Applies a trace recorded on an equal program.")
      .def(
          "check",
          [](const Schedule& s, const std::vector<te::Tensor>& stored) {
            const py::gil_scoped_release released;
            return check_lowered(s, stored);
          },
          py::arg("stored") = std::vector<te::Tensor>{},
          "All that is wrong with the schedule; an empty list for one that can be lowered. "
          "`stored` "
          "are tensors between inputs and outputs that lowering gets as arguments.")
      .def(
          "show",
          [](const Schedule& s, size_t width) {
            py::print(to_text(nest_rows(s), std::max<size_t>(width, 20)), py::arg("end") = "");
          },
          py::arg("width") = 80,
          "Prints the stages as a nest of loops, with what is marked on them, in lines of at most "
          "`width` columns.")
      .def(
          "_repr_html_", [](const Schedule& s) { return to_html(nest_rows(s)); },
          "What a notebook shows: the nest of loops.")
      .def("copy", &Schedule::copy, "An independent schedule in the same state.")
      .def("__repr__", [](const Schedule& s) {
        return fmt::format("Schedule({} stages, {} steps)", s.stages().size(),
                           s.trace().steps.size());
      });
  m.def("create_schedule",
        [](const py::sequence& operations) { return Schedule::create(all_outputs(operations)); });
  m.def("primitives", &primitive_table,
        "Rows of (name, version, [(parameter, type, optional)], [result types], documentation).");
}

}  // namespace tw::python
