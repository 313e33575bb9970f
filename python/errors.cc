// SPDX-License-Identifier: Apache-2.0
// C++ errors as Python exceptions, and where in a script things were asked for.
#include <atomic>

#include "python/bind.h"
#include "schedule/schedule_error.h"

namespace tw::python {
namespace {

// Files below it are ours; with a '/' at the end.
std::string& package_directory() {
  static std::string* directory = new std::string;
  return *directory;
}

// Off while a command runs: whoever types it has no script.
std::atomic<bool> names_callers = true;

// Names of files may be any bytes, and are then no UTF-8; "\\xfc" is what shows of them.
std::string utf8(py::handle text) {
  const py::object bytes = py::reinterpret_steal<py::object>(
      PyUnicode_AsEncodedString(text.ptr(), "utf-8", "backslashreplace"));
  if (!bytes) throw py::error_already_set();
  return bytes.cast<std::string>();
}
// Of Python's own: its frames stand between a script's `with` and what we do there.
bool is_contextlib(const std::string& file) {
  static const std::string* path = new std::string(utf8(py::module_::import("contextlib")
                                                            .attr("contextmanager")
                                                            .attr("__code__")
                                                            .attr("co_filename")));
  return file == *path;
}

py::object shown(const std::string& bytes) {
  py::object text = py::reinterpret_steal<py::object>(PyUnicode_DecodeUTF8(
      bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "backslashreplace"));
  if (!text) throw py::error_already_set();
  return text;
}

const char* class_name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::User:
      return "UserError";
    case ErrorKind::Internal:
      return "InternalError";
    case ErrorKind::Measure:
      return "MeasureError";
  }
  return "InternalError";
}

// The loops that an error is about, with the culprit marked; empty where there are none.
std::string nest_of(const Error& error) {
  const auto* about = dynamic_cast<const ScheduleError*>(&error);
  return about == nullptr ? "" : about->nest();
}

}  // namespace

void raise_in_python(const Error& error) {
  ErrorInfo info = error.info();
  if (info.where.empty() && kind_of(info.code) == ErrorKind::User) info.where = caller();
  const Error placed(info);
  const py::object type =
      py::module_::import("tilewright.error").attr(class_name(kind_of(info.code)));
  const py::object exception =
      type(shown(placed.what()), py::arg("code") = std::string(to_string(info.code)),
           py::arg("stage") = shown(info.stage), py::arg("axis") = shown(info.axis),
           py::arg("where") = shown(info.where), py::arg("what") = shown(info.what),
           py::arg("legal") = shown(info.legal), py::arg("nest") = shown(nest_of(error)));
  PyErr_SetObject(type.ptr(), exception.ptr());
}

std::string caller() {
  if (!names_callers) return "";
  const std::string& ours = package_directory();
  py::object frame =
      py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  while (frame) {
    auto* f = reinterpret_cast<PyFrameObject*>(frame.ptr());
    const py::object code =
        py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyFrame_GetCode(f)));
    const std::string file = utf8(code.attr("co_filename"));
    if (ours.empty() || !(file.starts_with(ours) || is_contextlib(file))) {
      return file.substr(file.rfind('/') + 1) + ":" + std::to_string(PyFrame_GetLineNumber(f));
    }
    frame = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyFrame_GetBack(f)));
  }
  return "";
}

void bind_errors(py::module_& m) {
  m.def(
      "set_package_directory", [](const py::str& path) { package_directory() = utf8(path) + "/"; },
      "Frames of files below it are not a script's.");
  m.def(
      "name_callers", [](bool on) { return names_callers.exchange(on); },
      "Whether errors and traces name lines of scripts; gives what it was.");
  m.def("caller", &caller, "The line of the script that is running: \"conv.py:12\".");
  m.def(
      "error_codes",
      [] {
        std::vector<std::pair<std::string, std::string>> codes;
#define ERROR_CODE(Name, Kind, Text) codes.emplace_back(Text, class_name(ErrorKind::Kind));
#include "runtime/error_codes.def"
#undef ERROR_CODE
        return codes;
      },
      "Every code with the name of its exception class.");
  m.def("describe", &describe, py::arg("value"), "An object as messages show it: \"str 'x'\".");
  // Raises a typed error from Python code.
  m.def(
      "raise_error",
      [](const std::string& code, const py::str& what, const py::str& legal, const py::str& where) {
        ErrorCode found = ErrorCode::Internal;
#define ERROR_CODE(Name, Kind, Text) \
  if (code == Text) found = ErrorCode::Name;
#include "runtime/error_codes.def"
#undef ERROR_CODE
        raise({.code = found, .what = utf8(what), .where = utf8(where), .legal = utf8(legal)});
      },
      py::arg("code"), py::arg("what"), py::arg("legal") = "", py::arg("where") = "");
  py::register_local_exception_translator([](std::exception_ptr p) {
    try {
      if (p) std::rethrow_exception(p);
    } catch (const Error& error) {
      raise_in_python(error);
    }
  });
}

}  // namespace tw::python
