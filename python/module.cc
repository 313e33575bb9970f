// SPDX-License-Identifier: Apache-2.0
// Compiling kernels, modules, and calling what is in them.
#include "python/module.h"

#include <fmt/format.h>

#include <deque>

#include "autotune/build.h"
#include "lower/kernel.h"
#include "lower/llvm/compile.h"
#include "python/array.h"
#include "python/constants.h"
#include "python/lowered.h"
#include "runtime/thread_count.h"
#include "runtime/thread_pool.h"
#include "runtime/time_evaluator.h"

namespace tw::python {
namespace {

// The arguments of one call; holds the arrays until the call is over.
class CallArguments {
 public:
  CallArguments(const PyFunction& f, const py::args& objects) : f_(f) {
    arguments_.reserve(objects.size());
    size_t k = 0;
    for (py::handle object : objects) add(object, k++);
  }
  std::span<const CallArgument> get() const { return arguments_; }
  // Takes all arrays but the first out of the caches.
  void flush_but_first() const {
    for (size_t k = 1; k < arrays_.size(); ++k) flush_from_caches(arrays_[k]);
  }

 private:
  const ArgumentInfo* info(size_t k) const {
    const auto& known = f_.function.info().arguments;
    return k < known.size() ? &known[k] : nullptr;
  }
  std::string place(size_t k) const {
    const ArgumentInfo* known = info(k);
    return known != nullptr
               ? fmt::format("argument {} '{}' of '{}'", k, known->name, f_.function.name())
               : fmt::format("argument {} of '{}'", k, f_.function.name());
  }

  void add(py::handle object, size_t k) {
    const ArgumentInfo* known = info(k);
    const bool number = PyLong_Check(object.ptr()) || PyFloat_Check(object.ptr()) ||
                        (PyIndex_Check(object.ptr()) && !is_array(object));
    if (number) {
      const bool real =
          known != nullptr ? known->kind == ArgumentKind::Float : PyFloat_Check(object.ptr());
      if (real || (PyFloat_Check(object.ptr()) && known == nullptr)) {
        arguments_.emplace_back(
            py::float_(py::reinterpret_borrow<py::object>(object)).cast<double>());
        return;
      }
      if (PyFloat_Check(object.ptr())) {
        arguments_.emplace_back(PyFloat_AsDouble(object.ptr()));  // refused by the kernel
        return;
      }
      arguments_.emplace_back(py::int_(py::reinterpret_borrow<py::object>(object)).cast<int64_t>());
      return;
    }
    try {
      arrays_.push_back(borrow(object));
    } catch (const Error& error) {
      ErrorInfo placed = error.info();
      placed.what = place(k) + ": " + placed.what;
      raise(std::move(placed));
    }
    if (arrays_.back().read_only() && f_.written && k < f_.written->size() && (*f_.written)[k]) {
      raise({.code = ErrorCode::BadArgument,
             .what = place(k) + ": the kernel writes this argument, and the array is read-only",
             .legal = "an array that may be written"});
    }
    arguments_.emplace_back(arrays_.back());
  }

  const PyFunction& f_;
  std::deque<NDArray> arrays_;  // addresses stay
  std::vector<CallArgument> arguments_;
};

void call(const PyFunction& f, const py::args& objects) {
  const CallArguments arguments(f, objects);
  py::gil_scoped_release release;
  f.function.call(arguments.get());
}

PyFunction get_function(const PyModule& m, const std::string& name) {
  const auto written = m.written.find(name);
  return {m.module->get_function(name), written == m.written.end() ? nullptr : written->second};
}
// The function that the module itself stands for: its only one, or its first.
PyFunction entry(const PyModule& m) {
  const std::vector<std::string> names = m.module->function_names();
  if (names.empty()) {
    raise({.code = ErrorCode::UnknownFunction,
           .what = "the module does not say which functions it has",
           .legal = "module[\"name\"]"});
  }
  return get_function(m, names.front());
}

PyModule compile_kernels(const std::vector<LoweredFunc>& functions, const Target& target,
                         bool cross) {
  PyModule result;
  KernelModule kernels;
  for (const LoweredFunc& function : functions) {
    const Kernel& kernel = function.kernel();
    std::ranges::copy(function.module.kernels, std::back_inserter(kernels.kernels));
    std::vector<bool> written;
    for (const KernelArgument& a : kernel.arguments) written.push_back(a.is_output);
    const bool fresh =
        result.written
            .emplace(kernel.name, std::make_shared<const std::vector<bool>>(std::move(written)))
            .second;
    if (!fresh) {
      raise({.code = ErrorCode::BadArgument,
             .what = fmt::format("two functions are called '{}'", kernel.name),
             .legal = "a name for each: tw.lower(..., name=...)"});
    }
  }
  py::gil_scoped_release release;
  result.module = compile(kernels, target, {.cross = cross});
  return result;
}

// The best record's schedule where a log is given, else the prior's.
PyModule build_program(const te::Program& program, const Target& target, const std::string& name,
                       const py::list& constants, const py::object& log, int threads, bool cross) {
  autotune::BuildOptions options = {
      .name = name, .threads = threads, .constants = to_constants(constants), .cross = cross};
  if (!log.is_none()) options.log = log.cast<const autotune::Log*>();
  PyModule result;
  py::gil_scoped_release release;
  autotune::BuiltProgram built = autotune::build(program, target, options);
  result.module = std::move(built.module);
  result.written[name] = std::make_shared<const std::vector<bool>>(std::move(built.written));
  result.origin = to_string(built.origin);
  return result;
}

TimeResult time_call(const PyFunction& f, int64_t number, int repeat, double min_repeat_ms,
                     bool cold, const py::args& objects) {
  const CallArguments arguments(f, objects);
  TimeOptions options = {.number = number, .repeat = repeat, .min_repeat_ms = min_repeat_ms};
  if (cold) options.before_sample = [&] { arguments.flush_but_first(); };
  py::gil_scoped_release release;
  return time_evaluator(f.function, arguments.get(), options);
}

std::string source(const PyModule& m, const std::string& format) {
  py::gil_scoped_release release;
  return m.module->source(format.empty() ? "ll" : format);
}

void export_library(const PyModule& m, py::object path) {
  const auto text = py::module_::import("os").attr("fspath")(path).cast<std::string>();
  py::gil_scoped_release release;
  m.module->export_library(text);
}

void bind_function(py::module_& m) {
  py::class_<PyFunction>(m, "Function", "A compiled kernel; keeps its code alive.")
      .def("__call__", &call, "Runs the kernel on NDArrays, NumPy arrays, or DLPack objects.")
      .def_property_readonly("name", [](const PyFunction& f) { return f.function.name(); })
      .def_property_readonly(
          "unchecked",
          [](const PyFunction& f) { return PyFunction{f.function.unchecked(), f.written}; },
          "The same kernel without the checks of its arguments, for arguments that have passed "
          "them "
          "in a call: types, shapes and strides must be the same, addresses as aligned and as "
          "disjoint. With anything else its behaviour is undefined.")
      .def_property_readonly(
          "workspace",
          [](const PyFunction& f) {
            const WorkspaceSize& size = f.function.info().workspace;
            return py::make_tuple(size.call, size.thread);
          },
          "Bytes of scratch memory that a call takes outside parallel regions, and each thread "
          "inside of them; None where it depends on the arguments.")
      .def_property_readonly(
          "may_share",
          [](const PyFunction& f) {
            py::dict result;
            const auto& arguments = f.function.info().arguments;
            for (size_t k = 0; k < arguments.size(); ++k) {
              if (!arguments[k].may_share.empty()) result[py::int_(k)] = arguments[k].may_share;
            }
            return result;
          },
          "{output: inputs}, by position: the inputs that may be the same memory as the output, "
          "from the first element on.")
      .def_property_readonly("signature",
                             [](const PyFunction& f) { return to_string(f.function.info()); })
      .def("_time", &time_call)
      .def("__repr__", [](const PyFunction& f) { return to_string(f.function.info()); });
}

}  // namespace

void bind_module(py::module_& m) {
  py::class_<TimeResult>(m, "BenchmarkResult",
                         "Seconds of one run, as samples and their statistics.")
      .def_readonly("results", &TimeResult::seconds, "A sample each, in the order taken.")
      .def_readonly("mean", &TimeResult::mean)
      .def_readonly("median", &TimeResult::median)
      .def_readonly("min", &TimeResult::min)
      .def_readonly("max", &TimeResult::max)
      .def_readonly("std", &TimeResult::standard_deviation)
      .def_property_readonly(
          "interval",
          [](const TimeResult& r) { return std::make_pair(r.interval_low, r.interval_high); },
          "Bounds of the median at 95 % confidence.")
      .def("__repr__", [](const TimeResult& r) {
        return fmt::format("BenchmarkResult(min={:g}, mean={:g}, median={:g}, max={:g}, std={:g})",
                           r.min, r.mean, r.median, r.max, r.standard_deviation);
      });
  m.def("summarize", &summarize, py::arg("seconds"), "The statistics of samples.");
  bind_function(m);
  py::class_<PyModule>(m, "Module", "Functions that were compiled together.")
      .def(
          "__call__",
          [](const PyModule& self, const py::args& objects) { call(entry(self), objects); },
          "Calls the entry function.")
      .def("__getitem__", &get_function, py::arg("name"))
      .def("get_function", &get_function, py::arg("name"))
      .def_property_readonly("entry_func", &entry)
      .def_property_readonly("entry_name",
                             [](const PyModule& self) { return entry(self).function.name(); })
      .def_property_readonly("function_names",
                             [](const PyModule& self) { return self.module->function_names(); })
      .def_readonly("schedule_origin", &PyModule::origin,
                    "Of tensors built without a schedule: \"record\", \"prior\", or "
                    "\"unscheduled\" where they have no design space. Else \"\".")
      .def("get_source", &source, py::arg("fmt") = "",
           "Text in format \"ll\" (LLVM, the default), \"asm\" or \"ir\".")
      .def(
          "export_library", &export_library, py::arg("file_name"),
          "Writes a shared library (.so), an object (.o) or a C header (.h). Large constants go to "
          "a file beside the library (.params), which loading maps into memory; an object holds "
          "them itself.");
  m.def("compile", &compile_kernels, py::arg("kernels"), py::arg("target"), py::arg("cross"));
  m.def("build_program", &build_program, py::arg("program"), py::arg("target"), py::arg("name"),
        py::arg("constants"), py::arg("log"), py::arg("threads"), py::arg("cross"),
        "threads 0: those of the thread pool. log: a LogFile or None.");
  m.def(
      "load_module",
      [](py::object path) {
        const auto text = py::module_::import("os").attr("fspath")(path).cast<std::string>();
        py::gil_scoped_release release;
        return PyModule{.module = load_library(text), .written = {}};
      },
      py::arg("path"));
  m.def("num_threads", [] { return ThreadPool::global().num_threads(); });
  m.def(
      "set_num_threads",
      [](int n) {
        py::gil_scoped_release release;
        return set_thread_count(n);
      },
      py::arg("num_threads"),
      "Kernels run on this many threads, the calling one included, and so do the OpenMP, OpenBLAS "
      "and MKL libraries that are loaded, whose file names it returns. Call it again after "
      "importing another library; OpenMP keeps the number by calling thread.");
  m.def(
      "configure_threads",
      [](std::optional<double> spin_microseconds, std::optional<bool> pin) {
        py::gil_scoped_release release;
        if (spin_microseconds) ThreadPool::global().set_spin_microseconds(*spin_microseconds);
        if (pin) ThreadPool::global().set_pinned(*pin);
      },
      py::arg("spin_microseconds") = py::none(), py::arg("pin") = py::none(),
      "How long waiting threads spin before they sleep, and whether each worker stays on a CPU of "
      "its own. None leaves it as it is.");
  m.def(
      "park_threads", [] { ThreadPool::global().park(); }, py::call_guard<py::gil_scoped_release>(),
      "Puts the waiting threads to sleep until the next kernel that is parallel.");
}

}  // namespace tw::python
