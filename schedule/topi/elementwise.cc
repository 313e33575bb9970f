// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/elementwise.h"

#include <fmt/format.h>

#include <cmath>

#include "ir/expr.h"
#include "runtime/error.h"
#include "schedule/topi/operator.h"

namespace tw::topi {
namespace {

enum class Elements : uint8_t { Any, Number, Float, Integer, Bool };

void check_elements(std::string_view op, Elements wanted, DType type) {
  const bool fits = wanted == Elements::Any ||
                    (wanted == Elements::Number && (type.is_integer() || type.is_float())) ||
                    (wanted == Elements::Float && type.is_float()) ||
                    (wanted == Elements::Integer && type.is_integer()) ||
                    (wanted == Elements::Bool && type.is_bool());
  if (fits) return;
  raise({.code = ErrorCode::TypeMismatch,
         .what = fmt::format("{} of {}", op, to_string(type)),
         .legal = wanted == Elements::Bool      ? "bool elements; compare first"
                  : wanted == Elements::Float   ? "floating elements; cast the tensor"
                  : wanted == Elements::Integer ? "integer elements; cast the tensor"
                                                : "integer or floating elements; cast the tensor"});
}

std::string_view elements_text(Elements elements) {
  switch (elements) {
    case Elements::Any:
      return "of any shape and type";
    case Elements::Number:
      return "integers or floats";
    case Elements::Float:
      return "floats";
    case Elements::Integer:
      return "integers";
    case Elements::Bool:
      return "bool";
  }
  return "";
}

Expr sign_of(const Expr& x) {
  const Expr zero = make_zero(x.dtype()), one = make_const(x.dtype(), 1);
  const Expr not_positive =
      x.dtype().is_uint() ? zero : select(x < zero, make_const(x.dtype(), -1), zero);
  return select(x > zero, one, not_positive);
}

// Functions that would lose digits if they were written as they are defined: what is added to a 1
// is gone where it is small, and a square may be infinite where the result is not.

Expr one(const Expr& x) { return make_const(x.dtype(), 1); }
Expr half(const Expr& x) { return make_const_float(x.dtype(), 0.5); }
Expr magnitude(const Expr& x) { return call("fabs", {x}); }
Expr with_sign_of(const Expr& x, const Expr& value) {
  return select(x < make_zero(x.dtype()), -value, value);
}

// 2 t / (1 - t) with t = tanh(x / 2), which has no difference of equals near 0.
Expr expm1_of(const Expr& x) {
  const Expr t = call("tanh", {x * half(x)});
  return select(magnitude(x) < half(x), div(t + t, one(x) - t), call("exp", {x}) - one(x));
}

// log(u) x / (u - 1) with u = 1 + x, whose rounding the quotient undoes (W. Kahan, in Goldberg,
// "What every computer scientist should know about floating-point arithmetic", 1991, theorem 4).
Expr log1p_of(const Expr& x) {
  const Expr u = one(x) + x;
  const Expr logarithm = call("log", {u});
  const Expr corrected = select(u == one(x), x, logarithm * div(x, u - one(x)));
  return select(magnitude(x) < half(x), corrected, logarithm);
}

// From here on 1 is nothing beside a square: 2 to the half of the digits of a float and a bit.
Expr large(DType type) {
  const int digits = type.bits == 64 ? 53 : type.bits == 32 ? 24 : 11;
  return make_const_float(type, std::ldexp(1, digits / 2 + 1));
}
Expr log_of_twice(const Expr& x) {
  return call("log", {x}) + make_const_float(x.dtype(), 0.69314718055994530942);
}

Expr asinh_of(const Expr& x) {
  const Expr a = magnitude(x), square = a * a;
  const Expr near = log1p_of(a + div(square, one(x) + call("sqrt", {one(x) + square})));
  return with_sign_of(x, select(a > large(x.dtype()), log_of_twice(a), near));
}

Expr acosh_of(const Expr& x) {
  const Expr above = x - one(x);
  // The product of the roots: below 1 one of them is NaN, also where their product is infinite.
  const Expr root = call("sqrt", {above}) * call("sqrt", {x + one(x)});
  const Expr near = log1p_of(above + root);
  return select(x > large(x.dtype()), log_of_twice(x), near);
}

Expr atanh_of(const Expr& x) {
  const Expr a = magnitude(x);
  return with_sign_of(x, half(x) * log1p_of(div(a + a, one(x) - a)));
}

template <class F>
Tensor map(const Tensor& x, const std::string& label, const std::string& tag, F f) {
  return te::compute(
      x.shape(), [&](const std::vector<Var>& i) { return f(x(to_exprs(i))); }, label, tag);
}

}  // namespace

#define UNARY(name, elements, expression, doc)                                     \
  Tensor name(const Tensor& t, const std::string& label, const std::string& tag) { \
    check_elements(#name, Elements::elements, t.dtype());                          \
    return map(t, label, tag, [](const Expr& x) -> Expr { return expression; });   \
  }
#include "schedule/topi/elementwise.def"
#undef UNARY

const std::vector<UnaryOperator>& unary_operators() {
  static const std::vector<UnaryOperator> rows = {
#define UNARY(name, elements, expression, doc)             \
  {#name, #elements, doc, &topi::name, [](const Expr& x) { \
     check_elements(#name, Elements::elements, x.dtype()); \
     return Expr(expression);                              \
   }},
#include "schedule/topi/elementwise.def"
#undef UNARY
  };
  return rows;
}

const UnaryOperator* find_unary(std::string_view name) {
  for (const UnaryOperator& row : unary_operators()) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

Tensor cast(const Tensor& x, DType type, const std::string& label, const std::string& tag) {
  return map(x, label, tag, [&](const Expr& e) { return tw::cast(type, e); });
}

Tensor saturating_cast(const Tensor& x, DType type, const std::string& label,
                       const std::string& tag) {
  return map(x, label, tag, [&](const Expr& e) { return tw::saturating_cast(type, e); });
}

Tensor clip(const Tensor& x, double low, double high, const std::string& label,
            const std::string& tag) {
  check_elements("clip", Elements::Number, x.dtype());
  // Between integers lie bounds that are none; beyond the type's there is nothing to cut off.
  const bool whole = x.dtype().is_integer();
  const auto bound = [&](double v) {
    return tw::saturating_cast(x.dtype(), make_const_float(float_type(64), v));
  };
  const Expr least = bound(whole ? std::ceil(low) : low);
  const Expr greatest = bound(whole ? std::floor(high) : high);
  return map(x, label, tag, [&](const Expr& e) { return max(least, min(greatest, e)); });
}

Tensor full(const std::vector<Expr>& shape, DType type, const Expr& value, const std::string& label,
            const std::string& tag) {
  return te::compute(
      shape, [&](const std::vector<Var>&) { return tw::cast(type, value); }, label, tag);
}

Tensor full_like(const Tensor& x, const Expr& value, const std::string& label,
                 const std::string& tag) {
  return full(x.shape(), x.dtype(), value, label, tag);
}

std::vector<Operator> elementwise_rows() {
  std::vector<Operator> rows;
#define UNARY(name, elements, expression, doc)                      \
  rows.push_back(make_operator(                                     \
      "topi", #name, [](const Tensor& x) { return topi::name(x); }, \
      {{"x", elements_text(Elements::elements)}}, doc));
#include "schedule/topi/elementwise.def"
#undef UNARY
  rows.push_back(make_operator(
      "topi", "cast",
      [](const Operand& x, DType dtype, std::monostate) -> Result {
        if (const Expr* e = std::get_if<Expr>(&x)) return tw::cast(dtype, *e);
        return cast(std::get<Tensor>(x), dtype);
      },
      {{"x"}, {"dtype", "the type of the result"}, {"span", "not used", Value()}},
      "x converted to a type: integers wrap, floats round to nearest even, floats to integers go "
      "towards zero. Of an expression: an expression. ONNX Cast."));
  rows.push_back(make_operator(
      "topi", "saturating_cast",
      [](const Operand& x, DType dtype) -> Result {
        if (const Expr* e = std::get_if<Expr>(&x)) return tw::saturating_cast(dtype, *e);
        return saturating_cast(std::get<Tensor>(x), dtype);
      },
      {{"x", "numbers"}, {"dtype", "the type of the result, of numbers"}},
      "x converted to a type: what lies beyond an integer type becomes its nearest limit, NaN "
      "becomes 0. Of an expression: an expression."));
  rows.push_back(make_operator(
      "topi", "clip", [](const Tensor& x, double low, double high) { return clip(x, low, high); },
      {{"x", elements_text(Elements::Number)}, {"a_min"}, {"a_max"}},
      "max(a_min, min(x, a_max)), of NaN NaN; bounds beyond an integer type cut off nothing. ONNX "
      "Clip."));
  rows.push_back(make_operator(
      "topi", "full",
      [](const std::vector<Expr>& shape, DType dtype, const Expr& value) {
        return full(shape, dtype, value);
      },
      {{"shape"}, {"dtype"}, {"fill_value", "is converted to dtype"}},
      "A tensor of one value. NumPy full."));
  rows.push_back(make_operator(
      "topi", "full_like", [](const Tensor& x, const Expr& value) { return full_like(x, value); },
      {{"x"}, {"fill_value", "is converted to the type of x"}},
      "A tensor of one value, with the shape and type of x. NumPy full_like."));
  return rows;
}

}  // namespace tw::topi
