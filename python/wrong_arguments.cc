// SPDX-License-Identifier: Apache-2.0
// Functions of the extension module answer arguments of wrong types with typed errors.
//
// pybind11 enters all its functions through one C function, and answers arguments that no signature
// takes with a TypeError. Ours stands before it, in every function of the module, and says the same
// as a UserError: what was given, and the signatures. Other exceptions, and those of functions that
// a script has handed in, pass.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <functional>

#include "python/bind.h"

namespace tw::python {
namespace {

using Positional = PyObject* (*)(PyObject* self, PyObject* args, PyObject* named);
using Fast = PyObject* (*)(PyObject* self, PyObject* const* args, Py_ssize_t count,
                           PyObject* names);

// pybind11's own entry: the same for all its functions. Which of the two forms it has depends on
// pybind11's version.
PyCFunction original = nullptr;

template <class F>
F entry_as() {
  return reinterpret_cast<F>(reinterpret_cast<void (*)()>(original));
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

// A signature as a person reads it: "split(parent: IterVar, factor: int)".
std::string readable(std::string signature) {
  const size_t self = signature.find("(self: ");
  if (self != std::string::npos) {
    const size_t end = signature.find_first_of(",)", self);
    signature.erase(self + 1, (signature[end] == ',' ? end + 2 : end) - self - 1);
  }
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kShorter = {{
      {"tilewright._core.", ""},
      {"collections.abc.", ""},
      {"typing.", ""},
      {"SupportsInt | SupportsIndex", "int"},
      {"SupportsFloat | SupportsIndex", "float"},
      {"SupportsInt", "int"},
      {" -> None", ""},
  }};
  for (const auto& [from, to] : kShorter) replace_all(signature, from, to);
  return signature;
}

// The lines "    1. name(parameters) -> result" of pybind11's message.
std::vector<std::string> signatures(const std::string& message, const std::string& name) {
  std::vector<std::string> found;
  for (size_t line = message.find('\n'); line != std::string::npos;
       line = message.find('\n', line + 1)) {
    const size_t end = message.find('\n', line + 1);
    const std::string text = message.substr(line + 1, end - line - 1);
    const size_t dot = text.find(". ");
    if (!text.starts_with("    ") || dot == std::string::npos) break;
    const std::string signature = readable(text.substr(dot + 2));
    found.push_back(signature.starts_with("(") ? name + signature : signature);
  }
  return found;
}

// Arguments as messages show them. Of a method `self` is left out: that of a constructor is nothing
// yet that could be shown.
using Describe = std::function<std::vector<std::string>(bool method)>;

// Raises what `message` says as ours.
[[noreturn]] void refuse(const std::string& message, const Describe& describe_arguments) {
  const std::string function = message.substr(0, message.find("():"));
  const std::vector<std::string> legal = signatures(message, function);
  // A constructor is called by the name of its class.
  const bool constructs = function == "__init__" && !legal.empty();
  const std::string name = constructs ? legal[0].substr(0, legal[0].find('(')) : function;
  const bool method = constructs || message.find("(self: ") != std::string::npos;
  const std::vector<std::string> given = describe_arguments(method);
  raise({.code = ErrorCode::TypeMismatch,
         .what = fmt::format("{} does not take ({})", name, fmt::join(given, ", ")),
         .legal = fmt::format("{}", fmt::join(legal, "; "))});
}

// A call has failed: when no signature takes its arguments, replaces the exception.
PyObject* checked(const Describe& describe_arguments) {
  if (!PyErr_ExceptionMatches(PyExc_TypeError)) return nullptr;
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  const std::string message = value == nullptr ? "" : py::str(py::handle(value));
  const bool ours =
      message.find("(): incompatible ") != std::string::npos &&
      message.find("arguments. The following argument types are supported:") != std::string::npos;
  if (!ours) {
    PyErr_Restore(type, value, trace);
    return nullptr;
  }
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
  try {
    refuse(message, describe_arguments);
  } catch (const Error& error) {
    raise_in_python(error);
  }
  return nullptr;
}

std::string described(PyObject* object) { return describe(object); }
std::string described(PyObject* name, PyObject* object) {
  return fmt::format("{}={}", py::str(name).cast<std::string>(), describe(object));
}

PyObject* enter_fast(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  PyObject* result = entry_as<Fast>()(self, args, count, names);
  if (result != nullptr) return result;
  return checked([&](bool method) {
    std::vector<std::string> given;
    const Py_ssize_t positional = PyVectorcall_NARGS(static_cast<size_t>(count));
    for (Py_ssize_t k = method; k < positional; ++k) given.push_back(described(args[k]));
    const Py_ssize_t named = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
    for (Py_ssize_t k = 0; k < named; ++k) {
      given.push_back(described(PyTuple_GET_ITEM(names, k), args[positional + k]));
    }
    return given;
  });
}

PyObject* enter_positional(PyObject* self, PyObject* args, PyObject* named) {
  PyObject* result = entry_as<Positional>()(self, args, named);
  if (result != nullptr) return result;
  return checked([&](bool method) {
    std::vector<std::string> given;
    for (Py_ssize_t k = method; k < PyTuple_GET_SIZE(args); ++k) {
      given.push_back(described(PyTuple_GET_ITEM(args, k)));
    }
    if (named == nullptr) return given;
    for (const auto& [name, object] : py::reinterpret_borrow<py::dict>(named)) {
      given.push_back(described(name.ptr(), object.ptr()));
    }
    return given;
  });
}

template <class F>
PyCFunction as_entry(F function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef* definition(py::handle function) {
  PyObject* object = function.ptr();
  if (PyInstanceMethod_Check(object)) object = PyInstanceMethod_GET_FUNCTION(object);
  if (!PyCFunction_Check(object)) return nullptr;
  return reinterpret_cast<PyCFunctionObject*>(object)->m_ml;
}

void guard(py::handle function) {
  PyMethodDef* def = definition(function);
  if (def == nullptr || def->ml_meth != original) return;
  const bool fast = (def->ml_flags & METH_FASTCALL) != 0;
  def->ml_meth = fast ? as_entry(&enter_fast) : as_entry(&enter_positional);
}

}  // namespace

void guard_functions(py::handle scope) {
  original = definition(py::cpp_function([] {}))->ml_meth;
  const std::string module = py::str(scope.attr("__name__"));
  for (const auto& [name, value] : py::dict(scope.attr("__dict__"))) {
    if (PyModule_Check(value.ptr())) {
      guard_functions(value);
    } else if (PyType_Check(value.ptr())) {
      for (const auto& [member, attribute] : py::dict(value.attr("__dict__"))) {
        const bool is_static = py::isinstance<py::staticmethod>(attribute);
        guard(is_static ? py::object(attribute.attr("__func__"))
                        : py::reinterpret_borrow<py::object>(attribute));
      }
    } else {
      guard(value);
    }
  }
}

}  // namespace tw::python
