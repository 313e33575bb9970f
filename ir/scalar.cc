// SPDX-License-Identifier: Apache-2.0
#include "ir/scalar.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "runtime/error.h"

namespace tw::scalar {
namespace {

Scalar of_bool(bool v) { return of_int(v ? 1 : 0); }

Scalar binary_float(NodeKind kind, DType type, double a, double b) {
  switch (kind) {
    case NodeKind::Add:
      return of_float(round(type, a + b));
    case NodeKind::Sub:
      return of_float(round(type, a - b));
    case NodeKind::Mul:
      return of_float(round(type, a * b));
    case NodeKind::Div:
      return of_float(round(type, a / b));
    case NodeKind::Mod:
      return of_float(round(type, std::fmod(a, b)));
    case NodeKind::FloorDiv:
      return of_float(round(type, std::floor(a / b)));
    case NodeKind::FloorMod:
      return of_float(round(type, a - std::floor(a / b) * b));
    case NodeKind::Min:
      return of_float(a < b ? a : b);
    case NodeKind::Max:
      return of_float(a > b ? a : b);
    case NodeKind::Equal:
      return of_bool(a == b);
    case NodeKind::NotEqual:
      return of_bool(a != b);
    case NodeKind::Less:
      return of_bool(a < b);
    case NodeKind::LessEqual:
      return of_bool(a <= b);
    case NodeKind::Greater:
      return of_bool(a > b);
    case NodeKind::GreaterEqual:
      return of_bool(a >= b);
    default:
      break;
  }
  raise({.code = ErrorCode::Internal, .what = fmt::format("{} of floats", to_string(kind))});
}

// x/0 and x%0 are 0; the result for INT64_MIN / -1 wraps.
template <class T>
int64_t divide(NodeKind kind, T a, T b) {
  if (b == 0) return 0;
  const bool by_minus_one = std::is_signed_v<T> && b == static_cast<T>(-1);
  const T q = by_minus_one ? static_cast<T>(uint64_t{0} - static_cast<uint64_t>(a)) : a / b;
  const T r = by_minus_one ? 0 : a % b;
  const bool adjust = std::is_signed_v<T> && r != 0 && ((r < 0) != (b < 0));
  switch (kind) {
    case NodeKind::Div:
      return static_cast<int64_t>(q);
    case NodeKind::Mod:
      return static_cast<int64_t>(r);
    case NodeKind::FloorDiv:
      return static_cast<int64_t>(adjust ? q - 1 : q);
    default:
      return static_cast<int64_t>(adjust ? r + b : r);
  }
}

template <class T>
Scalar binary_integer(NodeKind kind, DType type, T a, T b) {
  const auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  const auto wrapped = [&](uint64_t v) { return of_int(wrap(type, static_cast<int64_t>(v))); };
  switch (kind) {
    case NodeKind::Add:
      return wrapped(ua + ub);
    case NodeKind::Sub:
      return wrapped(ua - ub);
    case NodeKind::Mul:
      return wrapped(ua * ub);
    case NodeKind::Div:
    case NodeKind::FloorDiv:
    case NodeKind::Mod:
    case NodeKind::FloorMod:
      return of_int(wrap(type, divide(kind, a, b)));
    case NodeKind::Min:
      return of_int(static_cast<int64_t>(a < b ? a : b));
    case NodeKind::Max:
      return of_int(static_cast<int64_t>(a > b ? a : b));
    case NodeKind::Equal:
      return of_bool(a == b);
    case NodeKind::NotEqual:
      return of_bool(a != b);
    case NodeKind::Less:
      return of_bool(a < b);
    case NodeKind::LessEqual:
      return of_bool(a <= b);
    case NodeKind::Greater:
      return of_bool(a > b);
    case NodeKind::GreaterEqual:
      return of_bool(a >= b);
    case NodeKind::And:
      return of_bool(a != 0 && b != 0);
    case NodeKind::Or:
      return of_bool(a != 0 || b != 0);
    default:
      break;
  }
  raise({.code = ErrorCode::Internal, .what = fmt::format("{} is not binary", to_string(kind))});
}

Scalar reinterpret(DType from, DType to, Scalar v) {
  unsigned char bytes[8] = {};
  if (from.is_float()) {
    store_double(bytes, from.element(), v.f);
  } else {
    store_int(bytes, from.is_handle() ? int_type(64) : from.element(), v.i);
  }
  return to.is_float() ? of_float(load_as_double(bytes, to.element()))
                       : of_int(load_as_int(bytes, to.is_handle() ? int_type(64) : to.element()));
}

int64_t shift(bool left, DType type, int64_t value, int64_t amount) {
  if (amount < 0 || amount >= type.bits) {
    raise({.code = ErrorCode::BadArgument,
           .what = fmt::format("shift of {} by {}", to_string(type.element()), amount),
           .legal = fmt::format("0 to {}", type.bits - 1)});
  }
  if (left) return wrap(type, static_cast<int64_t>(static_cast<uint64_t>(value) << amount));
  return type.is_int() ? value >> amount
                       : static_cast<int64_t>(static_cast<uint64_t>(value) >> amount);
}

int64_t integer_power(DType type, int64_t base, int64_t exponent) {
  if (type.is_int() && exponent < 0 && base != 1 && base != -1) return 0;
  uint64_t result = 1, factor = static_cast<uint64_t>(base);
  for (auto e = static_cast<uint64_t>(exponent); e != 0; e >>= 1) {
    if (e & 1) result *= factor;
    factor *= factor;
  }
  return wrap(type, static_cast<int64_t>(result));
}

// The row numbers of ir/intrinsics.def.
enum class Id {
#define INTRINSIC(Name, Arity, Kind, Printed, Doc) Name,
#include "ir/intrinsics.def"
#undef INTRINSIC
};

Id id_of(const Intrinsic& intrinsic) {
  static const Intrinsic* const first = find_intrinsic("exp");
  return static_cast<Id>(&intrinsic - first);
}

Scalar apply_float(Id id, DType type, const Scalar* args) {
  const double x = args[0].f;
  const auto rounded = [&](double v) { return of_float(round(type, v)); };
  switch (id) {
    case Id::exp:
      return rounded(std::exp(x));
    case Id::exp2:
      return rounded(std::exp2(x));
    case Id::log:
      return rounded(std::log(x));
    case Id::log2:
      return rounded(std::log2(x));
    case Id::log10:
      return rounded(std::log10(x));
    case Id::sin:
      return rounded(std::sin(x));
    case Id::cos:
      return rounded(std::cos(x));
    case Id::tan:
      return rounded(std::tan(x));
    case Id::sinh:
      return rounded(std::sinh(x));
    case Id::cosh:
      return rounded(std::cosh(x));
    case Id::tanh:
      return rounded(std::tanh(x));
    case Id::asin:
      return rounded(std::asin(x));
    case Id::acos:
      return rounded(std::acos(x));
    case Id::atan:
      return rounded(std::atan(x));
    case Id::atan2:
      return rounded(std::atan2(x, args[1].f));
    case Id::sqrt:
      return rounded(std::sqrt(x));
    case Id::rsqrt:
      return rounded(1.0 / std::sqrt(x));
    case Id::sigmoid:
      return rounded(1.0 / (1.0 + std::exp(-x)));
    case Id::erf:
      return rounded(std::erf(x));
    case Id::pow:
      return rounded(std::pow(x, args[1].f));
    case Id::fmod:
      return rounded(std::fmod(x, args[1].f));
    case Id::fabs:
      return of_float(std::fabs(x));
    case Id::floor:
      return rounded(std::floor(x));
    case Id::ceil:
      return rounded(std::ceil(x));
    case Id::trunc:
      return rounded(std::trunc(x));
    case Id::round:
      return rounded(std::round(x));
    case Id::nearbyint:
      return rounded(std::nearbyint(x));
    case Id::fma:
      // A float product and sum rounded through double would be rounded twice.
      if (type.bits == 32) {
        return of_float(static_cast<double>(std::fma(
            static_cast<float>(x), static_cast<float>(args[1].f), static_cast<float>(args[2].f))));
      }
      return rounded(std::fma(x, args[1].f, args[2].f));
    case Id::ldexp:
      // Far beyond all exponents, where it makes no difference any more.
      if (std::isnan(args[1].f)) return args[1];
      return rounded(std::ldexp(x, static_cast<int>(std::clamp(args[1].f, -5000.0, 5000.0))));
    case Id::isnan:
      return of_bool(std::isnan(x));
    case Id::isinf:
      return of_bool(std::isinf(x));
    default:
      break;
  }
  raise({.code = ErrorCode::TypeMismatch, .what = "bit operation on a floating type"});
}

Scalar apply_integer(const Intrinsic& intrinsic, Id id, DType type, const Scalar* args) {
  const int64_t x = args[0].i;
  const auto wrapped = [&](uint64_t v) { return of_int(wrap(type, static_cast<int64_t>(v))); };
  const auto second = [&] { return static_cast<uint64_t>(args[1].i); };
  const auto bits = static_cast<uint64_t>(x);
  switch (id) {
    case Id::fabs:
      return type.is_int() && x < 0 ? wrapped(uint64_t{0} - bits) : of_int(x);
    case Id::floor:
    case Id::ceil:
    case Id::trunc:
    case Id::round:
    case Id::nearbyint:
      return of_int(x);
    case Id::pow:
      return of_int(integer_power(type, x, args[1].i));
    case Id::fma:
      return wrapped(bits * second() + static_cast<uint64_t>(args[2].i));
    case Id::isnan:
    case Id::isinf:
      return of_bool(false);
    case Id::bitwise_and:
      return of_int(x & args[1].i);
    case Id::bitwise_or:
      return of_int(x | args[1].i);
    case Id::bitwise_xor:
      return of_int(x ^ args[1].i);
    case Id::bitwise_not:
      return type.is_bool() ? of_bool(x == 0) : wrapped(~bits);
    case Id::shift_left:
      return of_int(shift(true, type, x, args[1].i));
    case Id::shift_right:
      return of_int(shift(false, type, x, args[1].i));
    case Id::popcount: {
      const uint64_t mask = type.bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << type.bits) - 1;
      return of_int(std::popcount(bits & mask));
    }
    default:
      break;
  }
  raise({.code = ErrorCode::TypeMismatch,
         .what = fmt::format("{} of {}", intrinsic.name, to_string(type)),
         .legal = "a floating type"});
}

}  // namespace

Scalar convert(DType from, DType to, Scalar v) {
  if (to.is_float()) {
    if (from.is_float()) return of_float(round(to, v.f));
    if (from.is_uint() && from.bits == 64 && v.i < 0) {
      // Through double, except for float32, which would be rounded twice.
      const auto u = static_cast<uint64_t>(v.i);
      return of_float(to.bits == 32 ? static_cast<double>(static_cast<float>(u))
                                    : round(to, static_cast<double>(u)));
    }
    return of_float(to.bits == 32 ? static_cast<double>(static_cast<float>(v.i))
                                  : round(to, static_cast<double>(v.i)));
  }
  if (to.is_bool()) return of_int(from.is_float() ? v.f != 0 : v.i != 0);
  if (!from.is_float()) return of_int(wrap(to, v.i));
  if (to.is_uint() && to.bits == 64 && v.f >= 9223372036854775808.0) {
    return of_int(v.f >= 18446744073709551616.0 ? -1
                                                : static_cast<int64_t>(static_cast<uint64_t>(v.f)));
  }
  if (std::isnan(v.f)) return of_int(0);
  const double limit = 9223372036854774784.0;  // the greatest double inside int64
  return of_int(wrap(to, static_cast<int64_t>(std::clamp(v.f, -9223372036854775808.0, limit))));
}

Scalar saturate(DType from, DType to, Scalar v) {
  if (!to.is_integer()) return convert(from, to, v);
  // The greatest value is 2ⁿ - 1.
  const int magnitude_bits = to.is_int() ? to.bits - 1 : to.bits;
  const int64_t least = to.is_int() ? static_cast<int64_t>(~uint64_t{0} << magnitude_bits) : 0;
  const auto greatest = static_cast<int64_t>(~uint64_t{0} >> (64 - magnitude_bits));
  if (from.is_float()) {
    const double whole = std::trunc(v.f);
    if (std::isnan(whole)) return of_int(0);
    if (whole >= std::ldexp(1.0, magnitude_bits)) return of_int(greatest);
    if (whole <= static_cast<double>(least)) return of_int(least);
    return of_int(to.is_uint() ? static_cast<int64_t>(static_cast<uint64_t>(whole))
                               : static_cast<int64_t>(whole));
  }
  const bool negative = from.is_int() && v.i < 0;
  if (negative) return of_int(std::max(v.i, least));
  return of_int(
      static_cast<int64_t>(std::min(static_cast<uint64_t>(v.i), static_cast<uint64_t>(greatest))));
}

Scalar binary(NodeKind kind, DType type, Scalar a, Scalar b) {
  if (type.is_float()) return binary_float(kind, type, a.f, b.f);
  if (type.is_int()) return binary_integer<int64_t>(kind, type, a.i, b.i);
  return binary_integer<uint64_t>(kind, type, static_cast<uint64_t>(a.i),
                                  static_cast<uint64_t>(b.i));
}

bool is_argument(const Intrinsic& intrinsic) {
  const Id id = id_of(intrinsic);
  return (id >= Id::argument_int && id <= Id::address_bits) || id == Id::num_threads;
}

Scalar apply(const Intrinsic& intrinsic, DType result, const Scalar* args, const DType* types,
             int count) {
  const Id id = id_of(intrinsic);
  if (is_argument(intrinsic) || intrinsic.kind == CallKind::Intrinsic || id == Id::if_then_else ||
      count < 1) {
    raise({.code = ErrorCode::UnknownIntrinsic,
           .what = fmt::format("'{}' is not a function of scalars", intrinsic.name)});
  }
  if (id == Id::likely) return args[0];
  if (id == Id::saturating_cast) return saturate(types[0], result, args[0]);
  if (id == Id::reinterpret) return reinterpret(types[0], result, args[0]);
  return types[0].is_float() ? apply_float(id, types[0], args)
                             : apply_integer(intrinsic, id, types[0], args);
}

}  // namespace tw::scalar
