// SPDX-License-Identifier: Apache-2.0
// Functions of mathematics and tests of elements, and operators with a number: a row each.
#include "graph/ops/element_rows.h"
#include "graph/ops/families.h"
#include "ir/expr.h"
#include "schedule/topi/topi.h"

namespace tw::graph {
namespace {

// Expressions of gradients.
Entry scaled(const GradientOf& n, const Entry& x, const char* scalar) {
  return n("__mul_scalar__", {x}, {{"scalar", scalar}});
}
Entry plus(const GradientOf& n, const Entry& x, const char* scalar) {
  return n("__add_scalar__", {x}, {{"scalar", scalar}});
}
Entry minus_from(const GradientOf& n, const char* scalar, const Entry& x) {
  return n("__rsub_scalar__", {x}, {{"scalar", scalar}});
}
Entry quotient(const GradientOf& n, const Entry& a, const Entry& b) {
  return n("elemwise_div", {a, b});
}
Entry squared(const GradientOf& n, const Entry& x) { return n("square", {x}); }

constexpr const char* kLogOf2 = "0.69314718055994530942";
constexpr const char* kLogOf10 = "2.30258509299404568402";
constexpr const char* kTwoByRootOfPi = "1.12837916709551257390";

// 1 where a bool holds, else 0, in the type of x.
te::Tensor mask_like(const te::Tensor& holds, const te::Tensor& x) {
  return mask(holds, x.dtype());
}

// Of a test of x and a number: 1 where it holds.
using Test = te::Tensor (*)(const te::Tensor&, const Expr&, const std::string&, const std::string&);
template <Test test>
te::Tensor tested(const te::Tensor& x, const Expr& c) {
  return mask_like(test(x, c, "T_test", topi::kElementwise), x);
}

// The gradient where a test of data and the number holds, and half of it where they are equal.
Entry passed(const GradientOf& n, const Entry& g, const std::string& scalar,
             std::string_view test) {
  const Attributes number{{"scalar", scalar}};
  const Entry half = scaled(n, n("__equal_scalar__", {n.input(0)}, number), "0.5");
  return n.product(g, n("elemwise_add", {n(test, {n.input(0)}, number), half}));
}

}  // namespace

std::vector<Op> math_ops() {
  using T = te::Tensor;
  using N = GradientOf;
  static const Unary kUnary[] = {
      {"rsqrt",
       {},
       "1 / sqrt(x)",
       [](const T& x) { return topi::rsqrt(x); },
       [](const N& n, const Entry& g) {
         return scaled(n, n.product(g, quotient(n, n.output(), n.input(0))), "-0.5");
       }},
      {"square",
       {},
       "x * x",
       [](const T& x) { return topi::square(x); },
       [](const N& n, const Entry& g) { return n.product(g, scaled(n, n.input(0), "2")); }},
      {"reciprocal",
       {},
       "1 / x",
       [](const T& x) { return topi::reciprocal(x); },
       [](const N& n, const Entry& g) {
         return n("negative", {n.product(g, squared(n, n.output()))});
       }},
      {"sin",
       {},
       "sine of x radians",
       [](const T& x) { return topi::sin(x); },
       [](const N& n, const Entry& g) { return n.product(g, n("cos", {n.input(0)})); }},
      {"cos",
       {},
       "cosine of x radians",
       [](const T& x) { return topi::cos(x); },
       [](const N& n, const Entry& g) {
         return n("negative", {n.product(g, n("sin", {n.input(0)}))});
       }},
      {"tan",
       {},
       "tangent of x radians",
       [](const T& x) { return topi::tan(x); },
       [](const N& n, const Entry& g) {
         return n.product(g, plus(n, squared(n, n.output()), "1"));
       }},
      {"asin",
       {"arcsin"},
       "arc sine, radians",
       [](const T& x) { return topi::asin(x); },
       [](const N& n, const Entry& g) {
         return n.product(g, n("rsqrt", {minus_from(n, "1", squared(n, n.input(0)))}));
       }},
      {"acos",
       {"arccos"},
       "arc cosine, radians",
       [](const T& x) { return topi::acos(x); },
       [](const N& n, const Entry& g) {
         const Entry slope = n("rsqrt", {minus_from(n, "1", squared(n, n.input(0)))});
         return n("negative", {n.product(g, slope)});
       }},
      {"atan",
       {"arctan"},
       "arc tangent, radians",
       [](const T& x) { return topi::atan(x); },
       [](const N& n, const Entry& g) {
         return quotient(n, g, plus(n, squared(n, n.input(0)), "1"));
       }},
      {"sinh",
       {},
       "hyperbolic sine",
       [](const T& x) { return topi::sinh(x); },
       [](const N& n, const Entry& g) { return n.product(g, n("cosh", {n.input(0)})); }},
      {"cosh",
       {},
       "hyperbolic cosine",
       [](const T& x) { return topi::cosh(x); },
       [](const N& n, const Entry& g) { return n.product(g, n("sinh", {n.input(0)})); }},
      {"asinh",
       {"arcsinh"},
       "inverse hyperbolic sine",
       [](const T& x) { return topi::asinh(x); },
       [](const N& n, const Entry& g) {
         return n.product(g, n("rsqrt", {plus(n, squared(n, n.input(0)), "1")}));
       }},
      {"acosh",
       {"arccosh"},
       "inverse hyperbolic cosine",
       [](const T& x) { return topi::acosh(x); },
       [](const N& n, const Entry& g) {
         return n.product(g, n("rsqrt", {plus(n, squared(n, n.input(0)), "-1")}));
       }},
      {"atanh",
       {"arctanh"},
       "inverse hyperbolic tangent",
       [](const T& x) { return topi::atanh(x); },
       [](const N& n, const Entry& g) {
         return quotient(n, g, minus_from(n, "1", squared(n, n.input(0))));
       }},
      {"exp2",
       {},
       "2 to the x",
       [](const T& x) { return topi::exp2(x); },
       [](const N& n, const Entry& g) { return n.product(g, scaled(n, n.output(), kLogOf2)); }},
      {"expm1",
       {},
       "exp(x) - 1, exact near 0",
       [](const T& x) { return topi::expm1(x); },
       [](const N& n, const Entry& g) { return n.product(g, plus(n, n.output(), "1")); }},
      {"log1p",
       {},
       "log(1 + x), exact near 0",
       [](const T& x) { return topi::log1p(x); },
       [](const N& n, const Entry& g) { return quotient(n, g, plus(n, n.input(0), "1")); }},
      {"log2",
       {},
       "logarithm to base 2",
       [](const T& x) { return topi::log2(x); },
       [](const N& n, const Entry& g) { return quotient(n, g, scaled(n, n.input(0), kLogOf2)); }},
      {"log10",
       {},
       "logarithm to base 10",
       [](const T& x) { return topi::log10(x); },
       [](const N& n, const Entry& g) { return quotient(n, g, scaled(n, n.input(0), kLogOf10)); }},
      {"erf",
       {},
       "error function",
       [](const T& x) { return topi::erf(x); },
       [](const N& n, const Entry& g) {
         const Entry bell = n("exp", {n("negative", {squared(n, n.input(0))})});
         return n.product(g, scaled(n, bell, kTwoByRootOfPi));
       }},
      {"isnan",
       {},
       "1 where x is not a number, else 0, in the type of x",
       [](const T& x) { return mask_like(topi::isnan(x), x); },
       flat_in_one},
      {"isinf",
       {},
       "1 where x is an infinity, else 0, in the type of x",
       [](const T& x) { return mask_like(topi::isinf(x), x); },
       flat_in_one},
      {"isfinite",
       {},
       "1 where x is a number and no infinity, else 0, in the type of x",
       [](const T& x) { return mask_like(topi::isfinite(x), x); },
       flat_in_one},
      {"logical_not",
       {},
       "1 where x is 0, else 0, in the type of x",
       [](const T& x) { return mask_like(topi::logical_not(as_bool(x)), x); },
       flat_in_one},
      {"bitwise_not",
       {},
       "the bits of integers turned over",
       [](const T& x) { return topi::bitwise_not(x); }},
  };
  static const Binary kBinary[] = {
      {"elemwise_mod",
       {},
       "remainder of a / b with the sign of a",
       [](const T& a, const T& b) { return topi::fmod(a, b); },
       [](const N& n, const Entry& g) {
         const Entry steps = n("trunc", {quotient(n, n.input(0), n.input(1))});
         return Entries{g, n("negative", {n.product(g, steps)})};
       }},
      {"elemwise_pow",
       {},
       "a to the b; of integers 1 / a towards zero where b is below 0",
       [](const T& a, const T& b) { return topi::power(a, b); },
       // As that of broadcast_pow: b a^(b - 1), which is 0 where b is, and y log(a), 0 where a is.
       [](const N& n, const Entry& g) {
         const auto is_zero = [&](size_t k) {
           return n("broadcast_equal", {n.input(k), n.zeros(k)});
         };
         const Entry less = plus(n, n("elemwise_add", {n.input(1), is_zero(1)}), "-1");
         const Entry slope = n.product(n("elemwise_pow", {n.input(0), less}), n.input(1));
         const Entry logarithm = n("log", {n("elemwise_add", {n.input(0), is_zero(0)})});
         return Entries{n.product(g, slope), n.product(g, n.product(n.output(), logarithm))};
       }},
  };
  static const WithScalar kWithScalar[] = {
      {"__mod_scalar__", "remainder of data / scalar with the sign of data",
       [](const T& x, const Expr& c) { return topi::fmod(x, c); },
       [](const N&, const Entry& g, const std::string&) { return g; }},
      {"__rmod_scalar__", "remainder of scalar / data with the sign of scalar",
       [](const T& x, const Expr& c) { return topi::fmod(c, x); },
       [](const N& n, const Entry& g, const std::string& c) {
         const Entry steps = n("trunc", {n("__rdiv_scalar__", {n.input(0)}, {{"scalar", c}})});
         return n("negative", {n.product(g, steps)});
       }},
      {"__lshift_scalar__", "data << scalar; integers",
       [](const T& x, const Expr& c) {
         topi::require_integers({"__lshift_scalar__", "data"}, x);
         return topi::left_shift(x, c);
       },
       nullptr},
      {"__rshift_scalar__", "data >> scalar, arithmetic for signed integers; integers",
       [](const T& x, const Expr& c) {
         topi::require_integers({"__rshift_scalar__", "data"}, x);
         return topi::right_shift(x, c);
       },
       nullptr},
      {.name = "__max_scalar__",
       .doc = "the greater of data and scalar",
       .compute = [](const T& x, const Expr& c) { return topi::maximum(x, c); },
       .gradient = [](const N& n, const Entry& g,
                      const std::string& c) { return passed(n, g, c, "__greater_scalar__"); },
       .aliases = {"_maximum_scalar"}},
      {.name = "__min_scalar__",
       .doc = "the lesser of data and scalar",
       .compute = [](const T& x, const Expr& c) { return topi::minimum(x, c); },
       .gradient = [](const N& n, const Entry& g,
                      const std::string& c) { return passed(n, g, c, "__less_scalar__"); },
       .aliases = {"_minimum_scalar"}},
      {.name = "__equal_scalar__",
       .doc = "1 where data == scalar, else 0, in the type of data",
       .compute = tested<topi::equal>,
       .gradient = flat_beside,
       .aliases = {"_equal_scalar"}},
      {.name = "__not_equal_scalar__",
       .doc = "1 where data != scalar, else 0, in the type of data",
       .compute = tested<topi::not_equal>,
       .gradient = flat_beside,
       .aliases = {"_not_equal_scalar"}},
      {.name = "__greater_scalar__",
       .doc = "1 where data > scalar, else 0, in the type of data",
       .compute = tested<topi::greater>,
       .gradient = flat_beside,
       .aliases = {"_greater_scalar"}},
      {.name = "__greater_equal_scalar__",
       .doc = "1 where data >= scalar, else 0, in the type of data",
       .compute = tested<topi::greater_equal>,
       .gradient = flat_beside,
       .aliases = {"_greater_equal_scalar"}},
      {.name = "__less_scalar__",
       .doc = "1 where data < scalar, else 0, in the type of data",
       .compute = tested<topi::less>,
       .gradient = flat_beside,
       .aliases = {"_lesser_scalar"}},
      {.name = "__less_equal_scalar__",
       .doc = "1 where data <= scalar, else 0, in the type of data",
       .compute = tested<topi::less_equal>,
       .gradient = flat_beside,
       .aliases = {"_lesser_equal_scalar"}},
  };
  std::vector<Op> ops;
  append(ops, kUnary);
  append(ops, kBinary);
  append(ops, kWithScalar);
  return ops;
}

}  // namespace tw::graph
