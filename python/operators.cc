// SPDX-License-Identifier: Apache-2.0
// Operators of Python on expressions and, elementwise, on tensors; both read topi's tables.
#include <fmt/format.h>

#include "ir/expr.h"
#include "ir/print.h"
#include "python/bind.h"
#include "schedule/topi/broadcast.h"
#include "schedule/topi/elementwise.h"

namespace tw::python {
namespace {

struct Row {
  const char* name;
  te::Tensor (*tensors)(const te::Tensor&, const te::Tensor&);
  te::Tensor (*tensor_scalar)(const te::Tensor&, const Expr&);
  te::Tensor (*scalar_tensor)(const Expr&, const te::Tensor&);
  Expr (*scalars)(const Expr&, const Expr&);
};

const Row kRows[] = {
#define BINARY(name, expression, doc)                                                \
  {#name, [](const te::Tensor& a, const te::Tensor& b) { return topi::name(a, b); }, \
   [](const te::Tensor& a, const Expr& b) { return topi::name(a, b); },              \
   [](const Expr& a, const te::Tensor& b) { return topi::name(a, b); },              \
   [](const Expr& a, const Expr& b) -> Expr { return expression; }},
#include "schedule/topi/broadcast.def"
#undef BINARY
};

const Row* find_row(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

// What `a op b` gives; nothing when an operand is neither tensor nor expression.
std::optional<py::object> apply(const Row& row, py::handle a, py::handle b) {
  const bool a_tensor = py::isinstance<te::Tensor>(a), b_tensor = py::isinstance<te::Tensor>(b);
  if (a_tensor && b_tensor) {
    return py::cast(row.tensors(a.cast<const te::Tensor&>(), b.cast<const te::Tensor&>()));
  }
  const auto x = a_tensor ? Expr() : try_expr(a), y = b_tensor ? Expr() : try_expr(b);
  if (!x || !y) return std::nullopt;
  if (a_tensor) return py::cast(row.tensor_scalar(a.cast<const te::Tensor&>(), *y));
  if (b_tensor) return py::cast(row.scalar_tensor(*x, b.cast<const te::Tensor&>()));
  return wrap(row.scalars(*x, *y));
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

const Row& row_for(const Operator& op, py::handle a, py::handle b) {
  const std::string_view row = op.row;
  if (row == "divide" && is_integer(a) && is_integer(b)) {
    raise({.code = ErrorCode::TypeMismatch,
           .what = "'/' of integers could mean several roundings",
           .legal = "a // b, te.floordiv, te.truncdiv, te.indexdiv, or operands of a float type"});
  }
  if (is_bool(a) && is_bool(b)) {
    if (row == "bitwise_and") return *find_row("logical_and");
    if (row == "bitwise_or") return *find_row("logical_or");
    if (row == "bitwise_xor") return *find_row("logical_xor");
  }
  return *find_row(row);
}

py::object not_implemented() { return py::reinterpret_borrow<py::object>(Py_NotImplemented); }

py::object unary(std::string_view name, py::handle a) {
  if (py::isinstance<te::Tensor>(a)) {
    const topi::UnaryOperator* row = topi::find_unary(name);
    return py::cast(
        row->apply(a.cast<const te::Tensor&>(), fmt::format("T_{}", name), topi::kElementwise));
  }
  const Expr x = to_expr(a);
  if (name == "negative") return wrap(-x);
  if (name == "logical_not") return wrap(!x);
  return wrap(x.dtype().is_uint() ? x : call("fabs", {x}));
}

}  // namespace

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

// Used by topi's bindings too.
py::object broadcast_operator(const std::string& name, py::handle a, py::handle b) {
  if (auto result = apply(*find_row(name), a, b)) return *result;
  to_expr(py::isinstance<te::Tensor>(a) || try_expr(a) ? b : a);  // says which one it is
  return py::none();
}

}  // namespace tw::python
