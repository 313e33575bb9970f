// SPDX-License-Identifier: Apache-2.0
// Operators of Python on expressions and, elementwise, on tensors, by topi's tables.
#include <fmt/format.h>

#include "ir/expr.h"
#include "ir/print.h"
#include "python/bind.h"
#include "schedule/topi/broadcast.h"
#include "schedule/topi/elementwise.h"

namespace tw::python {
namespace {

using topi::BinaryOperator;

// A tensor or an expression; nothing when the object is neither.
std::optional<topi::Operand> try_operand(py::handle object) {
  if (py::isinstance<te::Tensor>(object)) return object.cast<te::Tensor>();
  const auto e = try_expr(object);
  return e ? std::optional<topi::Operand>(*e) : std::nullopt;
}

// What `a op b` gives; nothing when an operand is neither tensor nor expression.
std::optional<py::object> apply(const BinaryOperator& row, py::handle a, py::handle b) {
  const auto x = try_operand(a), y = try_operand(b);
  if (!x || !y) return std::nullopt;
  return std::visit([](const auto& result) { return py::cast(result); }, row.apply(*x, *y));
}

bool is_integer(py::handle object) {
  if (py::isinstance<te::Tensor>(object))
    return object.cast<const te::Tensor&>().dtype().is_integer();
  const auto e = try_expr(object);
  return e && e->dtype().is_integer();
}
bool is_bool(py::handle object) {
  if (py::isinstance<te::Tensor>(object)) return object.cast<const te::Tensor&>().dtype().is_bool();
  const auto e = try_expr(object);
  return e && e->dtype().is_bool();
}

struct Operator {
  const char* method;
  const char* reflected;  // null: none
  const char* row;
};
const Operator kOperators[] = {
    {"__add__", "__radd__", "add"},
    {"__sub__", "__rsub__", "subtract"},
    {"__mul__", "__rmul__", "multiply"},
    {"__truediv__", "__rtruediv__", "divide"},
    {"__floordiv__", "__rfloordiv__", "floor_divide"},
    {"__mod__", "__rmod__", "floor_mod"},
    {"__pow__", "__rpow__", "power"},
    {"__and__", "__rand__", "bitwise_and"},
    {"__or__", "__ror__", "bitwise_or"},
    {"__xor__", "__rxor__", "bitwise_xor"},
    {"__lshift__", "__rlshift__", "left_shift"},
    {"__rshift__", "__rrshift__", "right_shift"},
    {"__eq__", nullptr, "equal"},
    {"__ne__", nullptr, "not_equal"},
    {"__lt__", nullptr, "less"},
    {"__le__", nullptr, "less_equal"},
    {"__gt__", nullptr, "greater"},
    {"__ge__", nullptr, "greater_equal"},
};

const BinaryOperator& row_for(const Operator& op, py::handle a, py::handle b) {
  const std::string_view row = op.row;
  if (row == "divide" && is_integer(a) && is_integer(b)) {
    raise({.code = ErrorCode::TypeMismatch,
           .what = "'/' of integers could mean several roundings",
           .legal = "a // b, te.floordiv, te.truncdiv, te.indexdiv, or operands of a float type"});
  }
  if (is_bool(a) && is_bool(b)) {
    if (row == "bitwise_and") return *topi::find_binary("logical_and");
    if (row == "bitwise_or") return *topi::find_binary("logical_or");
    if (row == "bitwise_xor") return *topi::find_binary("logical_xor");
  }
  return *topi::find_binary(row);
}

py::object not_implemented() { return py::reinterpret_borrow<py::object>(Py_NotImplemented); }

}  // namespace

py::object unary(std::string_view name, py::handle a) {
  const topi::UnaryOperator& row = *topi::find_unary(name);
  if (!py::isinstance<te::Tensor>(a)) return wrap(row.of(to_expr(a)));
  return py::cast(
      row.apply(a.cast<const te::Tensor&>(), fmt::format("T_{}", name), topi::kElementwise));
}

void bind_operators(py::object cls) {
  const auto def = [&cls](const char* name, auto f) {
    cls.attr(name) = py::cpp_function(f, py::name(name), py::is_method(cls), py::arg("other"));
  };
  for (const Operator& op : kOperators) {
    // The tables are static: references to their rows stay good.
    def(op.method, [&op](py::handle a, py::handle b) {
      return apply(row_for(op, a, b), a, b).value_or(not_implemented());
    });
    if (op.reflected == nullptr) continue;
    def(op.reflected, [&op](py::handle b, py::handle a) {
      return apply(row_for(op, a, b), a, b).value_or(not_implemented());
    });
  }
  const auto def_unary = [&cls](const char* name, const char* row) {
    cls.attr(name) = py::cpp_function([row](py::handle a) { return unary(row, a); }, py::name(name),
                                      py::is_method(cls));
  };
  def_unary("__neg__", "negative");
  def_unary("__abs__", "abs");
  cls.attr("__invert__") = py::cpp_function(
      [](py::handle a) {
        return is_bool(a) ? unary("logical_not", a) : wrap(call("bitwise_not", {to_expr(a)}));
      },
      py::name("__invert__"), py::is_method(cls));
}

}  // namespace tw::python
