// SPDX-License-Identifier: Apache-2.0
// The table of operators, and calls of its rows: here alone arguments of Python become those of
// operators. tilewright/topi makes the functions.
#include <fmt/format.h>

#include <cmath>

#include "ir/expr.h"
#include "python/bind.h"
#include "runtime/nearest_word.h"
#include "schedule/topi/operator.h"

namespace tw::python {
namespace {

using topi::Operator;
using topi::Parameter;
using topi::ParameterType;
using topi::Value;

bool is_list(py::handle object) {
  return py::isinstance<py::tuple>(object) || py::isinstance<py::list>(object);
}

// An integer of Python or NumPy, or a constant expression such as an extent of a shape.
std::optional<int64_t> to_int(py::handle object) {
  if (PyBool_Check(object.ptr()) || PyFloat_Check(object.ptr())) return std::nullopt;
  const auto e = try_expr(object);
  return e && e->dtype().is_integer() ? as_const_int(*e) : std::nullopt;
}

// What `convert` makes of one object, or of each of a list; nothing where it makes nothing of one.
template <class T>
std::optional<std::vector<T>> one_or_several(py::handle object,
                                             std::optional<T> (*convert)(py::handle)) {
  std::vector<T> values;
  const auto add = [&](py::handle h) {
    auto value = convert(h);
    if (value) values.push_back(*std::move(value));
    return value.has_value();
  };
  if (!is_list(object)) return add(object) ? std::optional(std::move(values)) : std::nullopt;
  for (py::handle h : object) {
    if (!add(h)) return std::nullopt;
  }
  return values;
}
std::optional<std::vector<int64_t>> to_ints(py::handle object) {
  return one_or_several(object, to_int);
}

std::optional<double> to_float(py::handle object) {
  if (PyFloat_Check(object.ptr())) return PyFloat_AsDouble(object.ptr());
  if (const auto value = to_int(object)) return static_cast<double>(*value);
  const auto e = try_expr(object);
  const FloatImm* real = e ? as<FloatImm>(*e) : nullptr;
  return real != nullptr ? std::optional(real->value) : std::nullopt;
}

std::optional<std::vector<double>> to_floats(py::handle object) {
  return one_or_several(object, to_float);
}

std::optional<bool> to_bool(py::handle object) {
  const auto e = py::isinstance<te::Tensor>(object) ? std::nullopt : try_expr(object);
  const auto value = e ? as_const_int(*e) : std::nullopt;
  return value ? std::optional(*value != 0) : std::nullopt;
}

// An extent; N / 32 of integers is a float in Python 3, and scripts mean the number.
std::optional<Expr> to_extent(py::handle object) {
  if (PyFloat_Check(object.ptr())) {
    const double value = PyFloat_AsDouble(object.ptr());
    if (!(std::abs(value) <= INT32_MAX) || value != std::trunc(value)) return std::nullopt;
    return Expr(static_cast<int>(value));
  }
  return try_expr(object);
}
std::optional<std::vector<Expr>> to_shape(py::handle object) {
  return one_or_several(object, to_extent);
}

std::optional<std::vector<te::Tensor>> to_tensors(py::handle object) {
  std::vector<te::Tensor> tensors;
  if (!is_list(object)) return std::nullopt;
  for (py::handle h : object) {
    if (!py::isinstance<te::Tensor>(h)) return std::nullopt;
    tensors.push_back(h.cast<te::Tensor>());
  }
  return tensors;
}

std::optional<topi::Padding> to_padding(py::handle object) {
  if (py::isinstance<py::str>(object)) {
    const auto name = object.cast<std::string>();
    if (name == "SAME") return topi::Padding(topi::Padding::Name::Same);
    if (name == "VALID") return topi::Padding(topi::Padding::Name::Valid);
    return std::nullopt;
  }
  const auto amounts = to_ints(object);
  return amounts ? std::optional(topi::Padding(*amounts)) : std::nullopt;
}

template <class T>
std::optional<Value> value_of(const std::optional<T>& v) {
  return v ? std::optional<Value>(*v) : std::nullopt;
}

// Nothing when the object is none of the type's.
std::optional<Value> to_value(ParameterType type, py::handle object) {
  const bool tensor = py::isinstance<te::Tensor>(object);
  switch (type) {
    case ParameterType::Tensor:
      return tensor ? std::optional<Value>(object.cast<te::Tensor>()) : std::nullopt;
    case ParameterType::Tensors:
      return value_of(to_tensors(object));
    case ParameterType::Operand:
      if (tensor) return object.cast<te::Tensor>();
      return value_of(try_expr(object));
    case ParameterType::Scalar:
      return value_of(try_expr(object));
    case ParameterType::Shape:
      return value_of(to_shape(object));
    case ParameterType::Int:
      return value_of(to_int(object));
    case ParameterType::Ints:
      return value_of(to_ints(object));
    case ParameterType::Sections:
      if (const auto parts = to_int(object)) return *parts;
      return value_of(to_ints(object));
    case ParameterType::Axes: {
      if (object.is_none()) return std::vector<int>();
      const auto axes = to_ints(object);
      if (!axes) return std::nullopt;
      return std::vector<int>(axes->begin(), axes->end());
    }
    case ParameterType::Float:
      return value_of(to_float(object));
    case ParameterType::Floats:
      return value_of(to_floats(object));
    case ParameterType::Bool:
      return value_of(to_bool(object));
    case ParameterType::Type:
      return to_dtype(object);
    case ParameterType::Padding:
      return value_of(to_padding(object));
    case ParameterType::Text:
      return py::isinstance<py::str>(object) ? std::optional<Value>(object.cast<std::string>())
                                             : std::nullopt;
    case ParameterType::Nothing:
      return object.is_none() ? std::optional<Value>(std::monostate()) : std::nullopt;
  }
  return std::nullopt;
}

Value argument(const Operator& op, const Parameter& parameter, py::handle object) {
  if (parameter.optional && object.is_none()) return std::monostate();
  if (auto value = to_value(parameter.type, object)) return *std::move(value);
  raise({.code = ErrorCode::TypeMismatch,
         .what = fmt::format("{}, {}: {}", op.name, parameter.name, describe(object)),
         .legal =
             fmt::format("{}{}", legal_of(parameter.type), parameter.optional ? ", or None" : "")});
}

py::object call(const std::string& name, const py::sequence& arguments) {
  const Operator* op = topi::find_operator(name);
  if (op == nullptr || arguments.size() != op->parameters.size()) {
    std::vector<std::string> names;
    for (const Operator& row : topi::operators()) names.push_back(row.full_name());
    const std::vector<std::string_view> words(names.begin(), names.end());
    raise({.code = ErrorCode::BadArgument,
           .what = fmt::format("no operator '{}' of {} arguments{}", name, arguments.size(),
                               suggestion(nearest_word(name, words))),
           .legal = "the operators of docs/operators.md"});
  }
  std::vector<Value> values;
  for (size_t k = 0; k < arguments.size(); ++k) {
    values.push_back(argument(*op, op->parameters[k], py::object(arguments[k])));
  }
  return std::visit([](const auto& result) { return py::cast(result); }, op->apply(values));
}

py::object to_python(const Value& value) {
  return std::visit(
      [](const auto& v) -> py::object {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return py::none();
        } else if constexpr (std::is_same_v<T, topi::Padding>) {
          return py::cast(v.amounts);
        } else {
          return py::cast(v);
        }
      },
      value);
}

py::list table() {
  py::list rows;
  for (const Operator& op : topi::operators()) {
    py::list parameters;
    for (const Parameter& p : op.parameters) {
      std::string annotation(annotation_of(p.type));
      if (p.optional) annotation += " | None";
      parameters.append(py::make_tuple(
          std::string(p.name), annotation, std::string(p.doc),
          p.initial ? py::tuple(py::make_tuple(to_python(*p.initial))) : py::tuple()));
    }
    rows.append(py::make_tuple(std::string(op.module), std::string(op.name), parameters,
                               std::string(op.doc)));
  }
  return rows;
}

}  // namespace

void bind_topi(py::module_& parent) {
  py::module_ m = parent.def_submodule("topi");
  m.def("operators", &table,
        "Rows of (module, name, parameters, documentation); a parameter is (name, annotation, "
        "documentation, default or nothing).");
  m.def("call", &call, py::arg("name"), py::arg("arguments"),
        "The operator of a full name, such as \"topi.nn.relu\".");
}

}  // namespace tw::python
