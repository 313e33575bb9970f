// SPDX-License-Identifier: Apache-2.0
// The tuner, its log, and building from records.
#include <fmt/format.h>

#include <atomic>
#include <cmath>
#include <memory>

#include "autotune/build.h"
#include "autotune/log/log.h"
#include "autotune/log/replay.h"
#include "autotune/measure/peak.h"
#include "autotune/task/workload_kinds.h"
#include "autotune/task/workloads.h"
#include "autotune/tuner.h"
#include "python/bind.h"
#include "python/seams.h"
#include "schedule/te/text.h"

namespace tw::python {
namespace {

using namespace tw::autotune;

// Ends a tuning run from another thread or a signal's handler.
struct StopFlag {
  std::shared_ptr<std::atomic<bool>> flag = std::make_shared<std::atomic<bool>>(false);
};

std::string error_text(const Record& r) { return r.error ? std::string(to_string(*r.error)) : ""; }

void bind_records(py::module_& m) {
  py::class_<Record>(m, "Record", "One trial: what was tried and what came of it.")
      .def_readonly("id", &Record::id)
      .def_readonly("workload", &Record::workload)
      .def_readonly("target", &Record::target)
      .def_readonly("threads", &Record::threads)
      .def_readonly("trace", &Record::trace)
      .def_property_readonly("ok", &Record::ok)
      .def_property_readonly("error", &error_text, "Class of the failure, \"\" for none.")
      .def_readonly("message", &Record::message)
      .def_readonly("seconds", &Record::seconds, "Every raw timing.")
      .def_property_readonly("median", &Record::median, "Seconds; infinity for failures.")
      .def_readonly("compile_seconds", &Record::compile_seconds)
      .def_readonly("elapsed_seconds", &Record::elapsed_seconds)
      .def_readonly("ir_hash", &Record::ir_hash)
      .def_readonly("seed", &Record::seed)
      .def_property_readonly("origin",
                             [](const Record& r) { return std::string(to_string(r.origin)); })
      .def_readonly("predicted", &Record::predicted)
      .def_property_readonly("caches",
                             [](const Record& r) { return std::string(to_string(r.caches)); })
      .def_readonly("race_seconds", &Record::race_seconds,
                    "Its median in the last race that it won; 0: it won none.")
      .def_readonly("run", &Record::run)
      .def_readonly("host", &Record::host, "The machine that measured it.")
      .def_readonly("kind", &Record::kind, "Of that machine: processor and instruction set.")
      .def_readonly("created", &Record::created)
      .def("__repr__", [](const Record& r) {
        return r.ok() ? fmt::format("Record({}: {}, {:.4g} s)", r.id, r.workload, r.median())
                      : fmt::format("Record({}: {}, {})", r.id, r.workload, error_text(r));
      });
}

void bind_log(py::module_& m) {
  py::class_<Log>(m, "LogFile")
      .def(py::init([](const std::string& path, bool write) {
             py::gil_scoped_release release;
             return std::make_unique<Log>(path, write ? Log::Mode::Write : Log::Mode::Read);
           }),
           py::arg("path"), py::arg("write"))
      .def(
          "best",
          [](const Log& log, const std::string& workload, const std::string& target, int threads,
             const std::string& caches) {
            return log.best(workload, target, threads, parse_cache_state(caches));
          },
          py::arg("workload"), py::arg("target"), py::arg("threads"), py::arg("caches"),
          py::call_guard<py::gil_scoped_release>())
      .def("records", &Log::records, py::arg("workload"), py::arg("target"), py::arg("threads"),
           py::call_guard<py::gil_scoped_release>())
      .def("workloads", [](const Log& log) {
        py::list rows;
        for (const Log::Workload& w : log.workloads())
          rows.append(py::make_tuple(w.id, w.name, w.te_text));
        return rows;
      });
}

void bind_tasks(py::module_& m) {
  py::class_<Task>(m, "Task", "A te program for a target and a number of threads: what is tuned.")
      .def_readonly("name", &Task::name)
      .def_readonly("te_text", &Task::te_text)
      .def_readonly("program", &Task::program)
      .def_readonly("workload", &Task::workload)
      .def_readonly("target", &Task::target_text)
      .def_readonly("threads", &Task::threads)
      .def_property_readonly("caches",
                             [](const Task& t) { return std::string(to_string(t.caches)); })
      .def_readonly("operations", &Task::operations, "Floating-point operations of one run.")
      .def("__repr__", [](const Task& t) {
        return fmt::format("Task({}, {} threads, {})", t.name, t.threads, t.target_text);
      });
  m.def("make_task", [](const te::Program& program, const Target& target, int threads,
                        const std::string& name, const std::string& caches) {
    return make_task(program, target, threads, name, parse_cache_state(caches));
  });

  py::class_<TaskSummary>(m, "TaskSummary", "What a tuning run found out about one task.")
      .def_readonly("name", &TaskSummary::name)
      .def_readonly("workload", &TaskSummary::workload)
      .def_readonly("untuned_seconds", &TaskSummary::untuned_seconds)
      .def_readonly("best_seconds", &TaskSummary::best_seconds, "0: no verified schedule.")
      .def_readonly("best_trace", &TaskSummary::best_trace)
      .def_readonly("trials", &TaskSummary::trials)
      .def_readonly("failures", &TaskSummary::failures, "Number by class.")
      .def_readonly("transfer", &TaskSummary::transfer,
                    "What taught the model before the first trial; \"\": nothing.")
      .def("__repr__", [](const TaskSummary& s) {
        return fmt::format("TaskSummary({}: {:.4g} s untuned, {:.4g} s best, {} trials)", s.name,
                           s.untuned_seconds, s.best_seconds, s.trials);
      });
  py::class_<TunerReport>(m, "TunerReport", "The outcome of a tuning run; times in seconds.")
      .def_readonly("tasks", &TunerReport::tasks)
      .def_readonly("seconds", &TunerReport::seconds)
      .def_readonly("search_seconds", &TunerReport::search_seconds)
      .def_readonly("train_seconds", &TunerReport::train_seconds)
      .def_property_readonly("compile_wall_seconds",
                             [](const TunerReport& r) { return r.timings.compile_wall; })
      .def_property_readonly("compile_cpu_seconds",
                             [](const TunerReport& r) { return r.timings.compile_cpu; })
      .def_property_readonly("run_seconds", [](const TunerReport& r) { return r.timings.run; })
      .def_property_readonly("reference_seconds",
                             [](const TunerReport& r) { return r.timings.reference; })
      .def_property_readonly("race_seconds", [](const TunerReport& r) { return r.timings.race; })
      .def_readonly("stopped", &TunerReport::stopped, "By the stop flag or the time limit.")
      .def_readonly("notes", &TunerReport::notes, "What was refused and done without, a line each.")
      .def("__repr__", [](const py::object& self) {
        return fmt::format("TunerReport({:.3g} s, {})", self.cast<const TunerReport&>().seconds,
                           std::string(py::repr(self.attr("tasks"))));
      });
}

void bind_workloads(py::module_& m) {
  py::class_<Workload>(m, "Workload", "A workload of the command line.")
      .def_readonly("text", &Workload::text)
      .def_readonly("label", &Workload::label)
      .def_readonly("shape", &Workload::shape)
      .def_readonly("program", &Workload::program);
  m.def("parse_workload", [](const std::string& text) { return parse_workload(text); });
  m.def("default_workloads", &default_workloads);
  m.def(
      "named_workloads",
      [] {
        py::list rows;
        for (const NamedWorkload& w : named_workloads()) {
          rows.append(py::make_tuple(fmt::format("{}:{}", w.kind, w.name), std::string(w.sizes),
                                     std::string(w.source), w.in_default_set));
        }
        return rows;
      },
      "Rows of (name, sizes, source, whether in the default set).");
  m.def(
      "workload_kinds",
      [] {
        py::list rows;
        for (const WorkloadKind& k : workload_kinds()) {
          py::list sizes;
          for (const SizeName& s : k.sizes) {
            sizes.append(
                py::make_tuple(std::string(s.name), std::string(s.meaning), py::cast(s.otherwise)));
          }
          rows.append(
              py::make_tuple(std::string(k.name), std::string(k.doc), sizes, type_names(k.types)));
        }
        return rows;
      },
      "Rows of (kind, documentation, [(size, meaning, default or None)], values of dtype).");
}

TunerReport run_tuner(const std::vector<Task>& tasks, Log& log, const TunerOptions& options,
                      py::object callback, const StopFlag& stop) {
  std::function<void(const TunerEvent&)> on_event;
  if (!callback.is_none()) {
    on_event = [&callback](const TunerEvent& event) {
      py::gil_scoped_acquire hold;
      callback(event.task, event.record != nullptr ? py::cast(*event.record) : py::none(),
               event.trial, event.trials, py::cast(*event.summary));
    };
  }
  py::gil_scoped_release release;
  return tune(tasks, log, options, on_event, stop.flag.get());
}

Schedule untuned_schedule(const te::Program& program, const Target& target, int threads) {
  return choose_schedule(program, target, {.threads = threads}).schedule;
}

void bind_tuner(py::module_& m) {
  py::class_<StopFlag>(m, "StopFlag", "set() ends a tuning run; every trial made so far is kept.")
      .def(py::init<>())
      .def("set", [](StopFlag& s) { s.flag->store(true); })
      .def("is_set", [](const StopFlag& s) { return s.flag->load(); });
  py::class_<TunerOptions>(m, "TunerOptions")
      .def(py::init<>())
      .def_readwrite("trials", &TunerOptions::trials)
      .def_readwrite("time_limit", &TunerOptions::time_limit)
      .def_readwrite("batch", &TunerOptions::batch)
      .def_readwrite("seed", &TunerOptions::seed)
      .def_readwrite("resume", &TunerOptions::resume)
      .def_readwrite("transfer", &TunerOptions::transfer)
      .def_readwrite("command", &TunerOptions::command)
      .def_readwrite("task_weights", &TunerOptions::task_weights)
      .def_property(
          "task_policy", [](const TunerOptions&) { return ""; },
          [](TunerOptions& o, const std::string& name) { o.task_policy = parse_task_policy(name); })
      .def_property(
          "model", [](const TunerOptions&) { return ""; },
          [](TunerOptions& o, const py::object& given) { o.model = model_factory(given); })
      .def_property(
          "policy", [](const TunerOptions&) { return ""; },
          [](TunerOptions& o, const py::object& given) { o.policy = policy_factory(given); })
      .def_property(
          "features", [](const TunerOptions&) { return ""; },
          [](TunerOptions& o, const py::object& given) { o.features = feature_set(given); })
      .def_property(
          "rules", [](const TunerOptions&) { return ""; },
          [](TunerOptions& o, const py::sequence& given) { o.rules = user_rules(given); })
      .def_property(
          "measurer", [](const TunerOptions&) { return ""; },
          [](TunerOptions& o, const py::object& given) { o.measurer = user_measurer(given); })
      .def_property(
          "workers", [](const TunerOptions& o) { return o.measure.workers; },
          [](TunerOptions& o, int n) { o.measure.workers = n; })
      .def_property(
          "timeout", [](const TunerOptions& o) { return o.measure.run_timeout; },
          [](TunerOptions& o, double s) { o.measure.compile_timeout = o.measure.run_timeout = s; })
      .def_property(
          "run_budget", [](const TunerOptions& o) { return o.measure.run_budget; },
          [](TunerOptions& o, double s) { o.measure.run_budget = s; })
      .def_property(
          "worker_path", [](const TunerOptions& o) { return o.measure.worker_path; },
          [](TunerOptions& o, std::string path) { o.measure.worker_path = std::move(path); });
  m.def("tune", &run_tuner);
  m.def("best_schedule", &best_schedule, py::call_guard<py::gil_scoped_release>());
  m.def("untuned_schedule", &untuned_schedule, py::call_guard<py::gil_scoped_release>());
  m.def("replay", &replay);
  m.def(
      "ir_hash",
      [](const te::Program& program, const Schedule& schedule, const Target& target,
         const std::string& caches) {
        return ir_hash(
            lower_candidate(program, schedule, target, parse_cache_state(caches)).entry());
      },
      "What a record of candidates timed with such caches holds as its ir_hash.",
      py::call_guard<py::gil_scoped_release>());
  m.def(
      "fma_peak",
      [](const Target& target, int threads, double seconds) {
        return measure_fma_peak(target, threads, seconds);
      },
      py::arg("target"), py::arg("threads"), py::arg("seconds") = 0.05,
      py::call_guard<py::gil_scoped_release>());
}

}  // namespace

void bind_autotune(py::module_& parent) {
  py::module_ m = parent.def_submodule("autotune");
  bind_records(m);
  bind_log(m);
  bind_tasks(m);
  bind_workloads(m);
  bind_seams(m);
  bind_tuner(m);
}

}  // namespace tw::python
