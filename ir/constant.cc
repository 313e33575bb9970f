// SPDX-License-Identifier: Apache-2.0
#include "ir/constant.h"

#include <array>
#include <limits>

namespace tw {
namespace {

Expr lanes_of(Expr scalar, int lanes) {
  return lanes == 1 ? scalar : Expr(make(Broadcast{.value = scalar, .lanes = lanes}));
}

std::optional<double> fold_floats(NodeKind kind, double a, double b) {
  switch (kind) {
    case NodeKind::Add:
      return a + b;
    case NodeKind::Sub:
      return a - b;
    case NodeKind::Mul:
      return a * b;
    case NodeKind::Div:
      return b == 0 ? std::optional<double>() : a / b;
    // The second of two zeros and of NaNs, as interpreter and machine have it; fmin and fmax take
    // either zero.
    case NodeKind::Min:
      return a < b ? a : b;
    case NodeKind::Max:
      return a > b ? a : b;
    case NodeKind::Equal:
      return a == b;
    case NodeKind::NotEqual:
      return a != b;
    case NodeKind::Less:
      return a < b;
    case NodeKind::LessEqual:
      return a <= b;
    case NodeKind::Greater:
      return a > b;
    case NodeKind::GreaterEqual:
      return a >= b;
    default:
      return std::nullopt;
  }
}

// Half of the nodes that scheduling makes are small numbers: each thread makes those of int32 once.
constexpr int64_t kLeastKept = -16, kKept = 280;

Expr kept_number(int64_t value) {
  thread_local std::array<Expr, kKept> numbers;
  Expr& number = numbers[static_cast<size_t>(value - kLeastKept)];
  if (!number.defined()) number = make(IntImm{.type = int_type(32), .value = value});
  return number;
}

}  // namespace

Expr make_const(DType type, int64_t value) {
  if (type == int_type(32) && value >= kLeastKept && value < kLeastKept + kKept) {
    return kept_number(value);
  }
  if (type.is_float()) return make_const_float(type, static_cast<double>(value));
  return lanes_of(make(IntImm{.type = type.element(), .value = value}), type.lanes);
}

Expr make_const_float(DType type, double value) {
  return lanes_of(make(FloatImm{.type = type.element(), .value = value}), type.lanes);
}

Expr make_zero(DType type) { return make_const(type, 0); }
Expr make_bool(bool value) { return make_const(bool_type(), value); }

std::optional<int64_t> as_const_int(const Expr& e) {
  if (const IntImm* i = as<IntImm>(e)) return i->value;
  if (const Broadcast* b = as<Broadcast>(e)) return as_const_int(b->value);
  return std::nullopt;
}

bool is_const_int(const Expr& e, int64_t value) {
  auto v = as_const_int(e);
  return v && *v == value;
}

bool is_const(const Expr& e) {
  if (const Broadcast* b = as<Broadcast>(e)) return is_const(b->value);
  return is<IntImm>(e) || is<FloatImm>(e);
}

Expr min_value(DType type) {
  if (type.code == TypeCode::BFloat) return make_const_float(type, -3.3895313892515355e38);
  if (type.is_float()) {
    const double least = type.bits == 16   ? -65504.0
                         : type.bits == 32 ? double(std::numeric_limits<float>::lowest())
                                           : std::numeric_limits<double>::lowest();
    return make_const_float(type, least);
  }
  if (!type.is_int()) return make_const(type, 0);
  return make_const(type, std::numeric_limits<int64_t>::min() >> (64 - type.bits));
}

Expr max_value(DType type) {
  if (type.is_float()) {
    const double least = *as_const_float(min_value(type));
    return make_const_float(type, -least);
  }
  if (type.is_int()) {
    return make_const(type, std::numeric_limits<int64_t>::max() >> (64 - type.bits));
  }
  return make_const(type, -1);  // `make` wraps: all ones
}

Expr max_identity(DType type) {
  if (!type.is_float()) return min_value(type);
  return make_const_float(type, -std::numeric_limits<double>::infinity());
}

Expr min_identity(DType type) {
  if (!type.is_float()) return max_value(type);
  return make_const_float(type, std::numeric_limits<double>::infinity());
}

std::optional<double> as_const_float(const Expr& e) {
  if (const FloatImm* f = as<FloatImm>(e)) return f->value;
  if (const Broadcast* b = as<Broadcast>(e)) return as_const_float(b->value);
  return std::nullopt;
}

bool is_value(const Expr& e, int value) {
  return e.dtype().is_float() ? as_const_float(e) == value : is_const_int(e, value);
}

bool is_comparison(NodeKind kind) {
  return kind >= NodeKind::Equal && kind <= NodeKind::GreaterEqual;
}

int64_t floor_quotient(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return (a % b != 0 && ((a < 0) != (b < 0))) ? q - 1 : q;
}

std::optional<int64_t> fold_integers(NodeKind kind, DType type, int64_t a, int64_t b) {
  // A signed result that does not fit is undefined in the IR, hence left alone here.
  const auto fits = [&](__int128 v) -> std::optional<int64_t> {
    if (type.is_bool()) return v != 0;
    if (type.is_uint()) {
      const auto mask = type.bits == 64 ? ~uint64_t{0} : (uint64_t{1} << type.bits) - 1;
      return static_cast<int64_t>(static_cast<uint64_t>(v) & mask);
    }
    const __int128 limit = __int128{1} << (type.bits - 1);
    if (v < -limit || v >= limit) return std::nullopt;
    return static_cast<int64_t>(v);
  };
  const bool u = type.is_uint();
  const auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  const __int128 wa = u ? __int128{ua} : __int128{a}, wb = u ? __int128{ub} : __int128{b};
  switch (kind) {
    case NodeKind::Add:
      return fits(wa + wb);
    case NodeKind::Sub:
      return fits(wa - wb);
    case NodeKind::Mul:
      // The product of two 64-bit values may not fit 128 signed bits; unsigned wraps anyway.
      return u ? fits(static_cast<__int128>(ua * ub)) : fits(wa * wb);
    // Division by zero gives 0, and its only overflow, the least number by -1, wraps.
    case NodeKind::Div:
    case NodeKind::FloorDiv:
      if (b == 0) return 0;
      if (u) return fits(wa / wb);
      if (b == -1) return fits(-wa).value_or(a);
      return fits(kind == NodeKind::Div ? a / b : floor_quotient(a, b));
    case NodeKind::Mod:
      return b == 0 ? 0 : fits(wa % wb);
    case NodeKind::FloorMod:
      if (b == 0) return 0;
      if (u) return fits(wa % wb);
      return b == -1 ? 0 : fits(wa - __int128{floor_quotient(a, b)} * wb);
    case NodeKind::Min:
      return wa < wb ? a : b;
    case NodeKind::Max:
      return wa > wb ? a : b;
    case NodeKind::Equal:
      return wa == wb;
    case NodeKind::NotEqual:
      return wa != wb;
    case NodeKind::Less:
      return wa < wb;
    case NodeKind::LessEqual:
      return wa <= wb;
    case NodeKind::Greater:
      return wa > wb;
    case NodeKind::GreaterEqual:
      return wa >= wb;
    case NodeKind::And:
      return a && b;
    case NodeKind::Or:
      return a || b;
    default:
      return std::nullopt;
  }
}

Expr fold(NodeKind kind, const Expr& a, const Expr& b) {
  if (!is_const(a) || !is_const(b)) return {};
  const DType type = a.dtype();
  const DType result = is_comparison(kind) ? bool_type(type.lanes) : type;
  if (type.is_float()) {
    auto v = fold_floats(kind, *as_const_float(a), *as_const_float(b));
    if (!v) return {};
    return is_comparison(kind) ? make_const(result, *v != 0) : make_const_float(result, *v);
  }
  auto v = fold_integers(kind, type.element(), *as_const_int(a), *as_const_int(b));
  return v ? make_const(result, *v) : Expr();
}

}  // namespace tw
