// SPDX-License-Identifier: Apache-2.0
// Arguments are reduced by whole multiples of ln 2, which become exponents (W. J. Cody and W.
// Waite, Software Manual for the Elementary Functions, 1980); what is left is a polynomial. Those
// are made by `python3 lower/fit_functions.py`.
#include "lower/math_functions.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace tw {
namespace {

// exp r = 1 + r + r² kExp(r), |r| <= ln 2 / 2.
// Within 0.055 * 2^-24 (0.051 before coefficients are rounded).
constexpr double kExp[] = {0x1.fffffcp-2, 0x1.55548ep-3, 0x1.5558a6p-5, 0x1.123bep-7,
                           0x1.6a593ep-10};
// 1 - exp(-r) = r + r² kDecay(r), |r| <= ln 2 / 2.
// Within 0.24 * 2^-24 (0.22 before coefficients are rounded).
constexpr double kDecay[] = {-0x1.fffffep-2, 0x1.5554aep-3, -0x1.555722p-5, 0x1.1228d8p-7,
                             -0x1.6b6574p-10};
// erf x = 1 - exp(-x (1 + kErf(x))), 0 <= x <= 3.95.
// Within 0.075 * 2^-24 (0.067 before coefficients are rounded).
constexpr double kErf[] = {0x1.06eba8p-3,   0x1.45f3p-1,     0x1.a4f8a4p-4,
                           -0x1.39b452p-6,  -0x1.67e08cp-13, 0x1.b7f05cp-10,
                           -0x1.4f011cp-11, 0x1.f4a3p-14,    -0x1.3d0b9ap-17};
// log (1 + f) = f - f²/2 + f³ kLog(f), √½ <= 1 + f <= √2.
// Within 0.11 * 2^-24 (0.098 before coefficients are rounded).
constexpr double kLog[] = {0x1.555554p-2, -0x1.000236p-2, 0x1.999f06p-3, -0x1.546d86p-3,
                           0x1.22f6bp-3,  -0x1.0dd2eep-3, 0x1.049b4p-3,  -0x1.351ab4p-4};

constexpr float kLog2E = 0x1.715476p+0F;
constexpr double kLn2 = 0.693147180559945309417;
constexpr float kLn2High = static_cast<float>(kLn2),
                kLn2Low = static_cast<float>(kLn2 - double{kLn2High});
// Added to a number it rounds that to an integer, which its lowest bits then are.
constexpr double kRound = 0x1.8p23;
constexpr int kExponentBias = 127, kMantissaBits = 23;
// The sum of `kRound` and a bias: shifted left by the bits of a mantissa, the lowest are 2^n.
constexpr double kRoundExponent = kRound + kExponentBias;

// An expression made in steps, each of which is computed once.
class Steps {
 public:
  Steps(DType type, bool scales) : type_(type), scales_(scales) {}

  // Whether the target has an instruction for ldexp.
  bool scales() const { return scales_; }
  Expr number(double value) const { return make_const_float(type_, value); }
  Expr step(const char* name, const Expr& value) {
    lets_.emplace_back(Var(name, value.dtype()), value);
    return lets_.back().first;
  }
  // After all steps.
  Expr result(Expr value) const {
    for (auto let = lets_.rbegin(); let != lets_.rend(); ++let)
      value = make(Let{.var = let->first, .value = let->second, .body = value});
    return value;
  }

  static Expr fma(const Expr& a, const Expr& b, const Expr& c) { return call("fma", {a, b, c}); }
  Expr fma(const Expr& a, const Expr& b, double c) const { return fma(a, b, number(c)); }
  Expr fma(const Expr& a, double b, const Expr& c) const { return fma(a, number(b), c); }
  Expr fma(const Expr& a, double b, double c) const { return fma(a, number(b), number(c)); }

  // By Horner's rule: least operations, and the later ones, which are rounded most, weigh most.
  Expr polynomial(std::span<const double> coefficients, const Expr& x) const {
    Expr sum = number(coefficients.back());
    for (size_t k = coefficients.size() - 1; k-- > 0;) sum = fma(sum, x, coefficients[k]);
    return sum;
  }
  // In pairs, which do not wait for one another: for long ones.
  Expr polynomial_of_pairs(std::span<const double> coefficients, const Expr& x,
                           const Expr& x_squared) const {
    const size_t count = coefficients.size();
    Expr sum;
    for (size_t k = (count - 1) / 2 * 2;; k -= 2) {
      const Expr pair =
          k + 1 < count ? fma(x, coefficients[k + 1], coefficients[k]) : number(coefficients[k]);
      sum = sum.defined() ? fma(sum, x_squared, pair) : pair;
      if (k == 0) return sum;
    }
  }

  DType bits_type() const { return uint_type(32, type_.lanes); }
  Expr bits(const Expr& x) const { return reinterpret(bits_type(), x); }
  Expr of_bits(const Expr& bits) const { return reinterpret(type_, bits); }
  Expr constant_bits(uint32_t value) const { return make_const(bits_type(), int64_t{value}); }
  // 2^n of a sum with kRoundExponent, given as bits.
  Expr power_of_two(const Expr& bits) const {
    return of_bits(call("shift_left", {bits, make_const(bits.dtype(), kMantissaBits)}));
  }
  // `magnitude` with the sign of `x`.
  Expr with_sign_of(const Expr& x, const Expr& magnitude) const {
    const Expr sign = call("bitwise_and", {bits(x), constant_bits(0x80000000U)});
    return of_bits(call("bitwise_or", {bits(magnitude), sign}));
  }
  // The lesser, and `x` where that is no number.
  Expr at_most(double limit, const Expr& x) const { return make(Min{.a = number(limit), .b = x}); }
  static Expr reinterpret(DType type, const Expr& x) {
    return call(type, "reinterpret", {x}, CallKind::PureIntrinsic);
  }

 private:
  DType type_;
  bool scales_;
  std::vector<std::pair<Var, Expr>> lets_;
};

// exp x is power · 2^n. Of an x between `kLeastExp` and `limit`, at most 89.
struct ExpParts {
  Expr power, whole, n;  // n + 2 kExponentBias in the bits of `whole`
};
constexpr double kLeastExp = -104;  // of less, exp rounds to 0
ExpParts exp_parts(Steps& s, const Expr& x, double limit) {
  constexpr double kTwice = kRoundExponent + kExponentBias;
  const Expr a = s.step("a", s.at_most(limit, x));
  const Expr whole = s.step("whole", s.fma(a, kLog2E, kTwice));
  const Expr n = s.step("n", whole - s.number(kTwice));
  const Expr r = s.step("r", s.fma(n, -kLn2Low, s.fma(n, -kLn2High, a)));
  return {s.fma(s.fma(s.polynomial(kExp, r), r, 1), r, 1), whole, n};
}

// Without an instruction the power of two is taken in halves, as it may be greater than the
// greatest number or less than the least. The last product is a sum with nothing: a product would
// be contracted with a sum of the program's, here and not there.
Expr scaled(Steps& s, const ExpParts& e) {
  if (s.scales()) return call("ldexp", {e.power, e.n});
  const Expr both = s.step("both", s.bits(e.whole));
  const Expr half = s.step("half", call("shift_right", {both, make_const(both.dtype(), 1)}));
  return s.fma(e.power * s.power_of_two(half), s.power_of_two(both - half), -0.0);
}

Expr exp(const Expr& x, Steps& s) {
  const Expr value = scaled(s, exp_parts(s, x, 89));
  return select(x < s.number(kLeastExp), s.number(0), value);
}

// e / (1 + e), e = exp x: where e is great its error does not matter, up to the greatest.
Expr sigmoid(const Expr& x, Steps& s) {
  const Expr e = s.step("e", scaled(s, exp_parts(s, x, 88)));
  return select(x < s.number(kLeastExp), s.number(0), div(e, s.number(1) + e));
}

// exp(-g) = scale · (1 - gone), of a g of 0 to 20. ln 2 takes one step: what that is wrong grows
// with n, and the result falls as 2^-n.
struct DecayParts {
  Expr scale, gone;
};
DecayParts decay_parts(Steps& s, const Expr& g) {
  const Expr whole = s.step("whole", s.fma(g, -kLog2E, kRoundExponent));
  const Expr n = s.step("n", whole - s.number(kRoundExponent));
  const Expr r = s.step("r", s.fma(n, kLn2High, g));
  const Expr gone = s.step("gone", Steps::fma(s.polynomial(kDecay, r), r * r, r));
  return {s.step("scale", s.power_of_two(s.bits(whole))), gone};
}

// (1 - e) / (1 + e), e = exp(-2|x|), each side rounded once.
Expr tanh(const Expr& x, Steps& s) {
  const Expr a = s.step("a", s.at_most(10, call("fabs", {x})));
  const DecayParts e = decay_parts(s, s.step("g", a + a));
  const Expr one = s.number(1);
  return s.with_sign_of(x, div(Steps::fma(e.scale, e.gone, one - e.scale),
                               Steps::fma(-e.scale, e.gone, one + e.scale)));
}

Expr erf(const Expr& x, Steps& s) {
  const Expr a = s.step("a", s.at_most(3.95, call("fabs", {x})));
  const Expr rate = s.polynomial_of_pairs(kErf, a, s.step("square", a * a));
  const DecayParts e = decay_parts(s, s.step("g", Steps::fma(rate, a, a)));
  return s.with_sign_of(x, Steps::fma(e.scale, e.gone, s.number(1) - e.scale));
}

// n ln 2 + log(1 + f), x = 2^n (1 + f), after subnormal numbers were made normal.
Expr log(const Expr& x, Steps& s) {
  constexpr uint32_t kRootOfHalf = 0x3f3504f3;  // as bits
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Expr zero = s.number(0);
  const Expr small = s.step("small", x < s.number(0x1p-126));
  const Expr bits = s.step("bits", s.bits(select(small, x * s.number(0x1p23), x)));
  const DType integer = int_type(32, x.dtype().lanes);
  const Expr exponent =
      s.step("exponent",
             call("shift_right", {Steps::reinterpret(integer, bits - s.constant_bits(kRootOfHalf)),
                                  make_const(integer, kMantissaBits)}));
  const Expr moved = call("shift_left", {Steps::reinterpret(s.bits_type(), exponent),
                                         make_const(s.bits_type(), kMantissaBits)});
  const Expr f = s.step("f", s.of_bits(bits - moved) - s.number(1));
  const Expr square = s.step("square", f * f);
  const Expr tail = s.fma(s.polynomial_of_pairs(kLog, f, square), f, -0.5);
  const Expr n = s.step("n", cast(x.dtype(), exponent));
  const Expr finite =
      s.fma(select(small, n - s.number(23), n), kLn2High, Steps::fma(tail, square, f));
  return select(
      x > zero, select(x < s.number(kInfinity), finite, x),
      select(x == zero, s.number(-kInfinity), s.number(std::numeric_limits<double>::quiet_NaN())));
}

constexpr std::string_view kNames[] = {"exp", "log", "sigmoid", "tanh", "erf"};
constexpr Expr (*kFunctions[])(const Expr& x, Steps& s) = {exp, log, sigmoid, tanh, erf};

}  // namespace

std::span<const std::string_view> math_functions() { return kNames; }

bool is_arithmetic(DType type) { return type.is_float() && type.bits <= 32; }

Expr math_function(std::string_view name, const Expr& x, bool scales) {
  const auto* found = std::ranges::find(kNames, name);
  if (found == std::end(kNames) || !is_arithmetic(x.dtype())) return {};
  const DType type = x.dtype(), wide = float_type(32, type.lanes);
  Steps s(wide, scales);
  const Expr value = kFunctions[found - kNames](s.step("x", cast(wide, x)), s);
  return cast(type, s.result(value));
}

}  // namespace tw
