// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/nn/nonlinearity.h"

#include <fmt/format.h>

#include "ir/expr.h"
#include "schedule/topi/operator.h"
#include "schedule/topi/reduction.h"

namespace tw::topi::nn {
namespace {

// f of each element and of what makes numbers of its type.
template <class F>
Tensor of_elements(std::string_view op, const Tensor& x, const F& f) {
  require_float({op, "x"}, x);
  const auto number = [&](double v) { return make_const_float(x.dtype(), v); };
  return te::compute(
      x.shape(), [&](const std::vector<Var>& i) { return f(x(to_exprs(i)), number); },
      "T_" + std::string(op), kElementwise);
}

void require_not_zero(const Place& place, double value) {
  if (value == 0) bad_argument(place, "0", "a number other than 0");
}

// scale * (x where positive, else alpha * (exp(x / bend) - 1)).
Tensor exponential_unit(std::string_view op, const Tensor& x, double alpha, double bend,
                        double scale) {
  return of_elements(op, x, [&](const Expr& e, const auto& number) {
    const Expr zero = number(0);
    // Of positive ones the exponential is not read, and must not be infinite.
    const Expr below = call("exp", {tw::min(zero, e) * number(1 / bend)}) - number(1);
    const Expr curve = select(e > zero, e, below * number(alpha));
    return scale == 1 ? curve : curve * number(scale);
  });
}

}  // namespace

Tensor elu(const Tensor& x, double alpha) { return exponential_unit("elu", x, alpha, 1, 1); }

Tensor selu(const Tensor& x, double alpha, double gamma) {
  return exponential_unit("selu", x, alpha, 1, gamma);
}

Tensor celu(const Tensor& x, double alpha) {
  require_not_zero({"celu", "alpha"}, alpha);
  return exponential_unit("celu", x, alpha, alpha, 1);
}

Tensor gelu(const Tensor& x, const std::string& approximate) {
  const bool exact = approximate == "none";
  if (!exact && approximate != "tanh") {
    bad_argument({"gelu", "approximate"}, fmt::format("'{}'", approximate), "none or tanh");
  }
  return of_elements("gelu", x, [&](const Expr& e, const auto& number) {
    if (exact) {
      const Expr share = number(1) + call("erf", {e * number(0.70710678118654752)});
      return e * number(0.5) * share;
    }
    const Expr cubic = e * (number(1) + number(0.044715) * e * e);
    return e * number(0.5) * (number(1) + call("tanh", {cubic * number(0.79788456080286536)}));
  });
}

Tensor silu(const Tensor& x) {
  return of_elements("silu", x,
                     [](const Expr& e, const auto&) { return e * call("sigmoid", {e}); });
}

// tanh(log(1 + t)) is n / (n + 2) with n = t (t + 2). From `most` on that is 1 in the type, and n
// would be infinite at some point behind.
Tensor mish(const Tensor& x) {
  const double most = x.dtype() == float_type(16) ? 5 : 20;
  return of_elements("mish", x, [&](const Expr& e, const auto& number) {
    const Expr t = call("exp", {tw::min(e, number(most))});
    const Expr n = t * (t + number(2));
    return e * div(n, n + number(2));
  });
}

// max(x, 0) + log(1 + t) with t = exp(-|x|). Where 1 + t rounds, its logarithm is off by as much;
// the quotient of t and what is left of it mends that (Kahan's log1p).
Tensor softplus(const Tensor& x, double beta) {
  require_not_zero({"softplus", "beta"}, beta);
  return of_elements("softplus", x, [&](const Expr& element, const auto& number) {
    const Expr e = beta == 1 ? element : element * number(beta);
    const Expr one = number(1), t = call("exp", {-call("fabs", {e})}), sum = one + t;
    const Expr rounded = sum - one;
    const Expr logarithm = select(
        rounded > number(0), call("log", {sum}) * div(t, tw::max(rounded, t * number(0.5))), t);
    const Expr curve = tw::max(e, number(0)) + logarithm;
    return beta == 1 ? curve : curve * number(1 / beta);
  });
}

Tensor softsign(const Tensor& x) {
  return of_elements("softsign", x, [](const Expr& e, const auto& number) {
    return div(e, number(1) + call("fabs", {e}));
  });
}

Tensor relu6(const Tensor& x) {
  return of_elements("relu6", x, [](const Expr& e, const auto& number) {
    return tw::max(number(0), tw::min(number(6), e));
  });
}

Tensor hard_sigmoid(const Tensor& x, double alpha, double beta) {
  return of_elements("hard_sigmoid", x, [&](const Expr& e, const auto& number) {
    return tw::max(number(0), tw::min(number(1), e * number(alpha) + number(beta)));
  });
}

Tensor hard_swish(const Tensor& x) {
  return of_elements("hard_swish", x, [](const Expr& e, const auto& number) {
    const Expr share = e * number(1.0 / 6) + number(0.5);
    return e * tw::max(number(0), tw::min(number(1), share));
  });
}

Tensor thresholded_relu(const Tensor& x, double alpha) {
  return of_elements("thresholded_relu", x, [&](const Expr& e, const auto& number) {
    return select(e <= number(alpha), number(0), e);
  });
}

Tensor shrink(const Tensor& x, double bias, double lambd) {
  return of_elements("shrink", x, [&](const Expr& e, const auto& number) {
    return select(e < number(-lambd), e + number(bias),
                  select(e > number(lambd), e - number(bias), number(0)));
  });
}

Tensor hardmax(const Tensor& x, int axis) {
  const int along = normalize_axis({"hardmax", "axis"}, axis, x.rank());
  const Tensor position = argmax(x, {along});
  return te::compute(
      x.shape(),
      [&](const std::vector<Var>& i) {
        std::vector<Expr> rest = to_exprs(i);
        const Expr own = rest[static_cast<size_t>(along)];
        rest.erase(rest.begin() + along);
        return tw::cast(x.dtype(), tw::cast(position.dtype(), own) == position(rest));
      },
      "T_hardmax", kBroadcast);
}

std::vector<Operator> nonlinearity_rows() {
  const ParameterText x{"x", "floats"};
  const auto plain = [&](std::string_view name, Tensor (*f)(const Tensor&), std::string_view doc) {
    return make_operator("topi.nn", name, [f](const Tensor& t) { return f(t); }, {x}, doc);
  };
  return {
      make_operator(
          "topi.nn", "elu", [](const Tensor& t, double alpha) { return elu(t, alpha); },
          {x, {"alpha", "what it approaches is -alpha", 1.0}},
          "x where positive, else alpha * (exp(x) - 1). ONNX Elu."),
      make_operator(
          "topi.nn", "selu",
          [](const Tensor& t, double alpha, double gamma) { return selu(t, alpha, gamma); },
          {x,
           {"alpha", "what it approaches is -alpha * gamma", 1.67326319217681884765625},
           {"gamma", "the slope above 0", 1.05070102214813232421875}},
          "gamma * (x where positive, else alpha * (exp(x) - 1)). ONNX Selu."),
      make_operator(
          "topi.nn", "celu", [](const Tensor& t, double alpha) { return celu(t, alpha); },
          {x, {"alpha", "what it approaches is -alpha; not 0", 1.0}},
          "x where positive, else alpha * (exp(x / alpha) - 1). ONNX Celu."),
      make_operator(
          "topi.nn", "gelu",
          [](const Tensor& t, const std::string& approximate) { return gelu(t, approximate); },
          {x, {"approximate", "none, or tanh for the form with the hyperbolic tangent", "none"}},
          "x / 2 * (1 + erf(x / sqrt(2))); Hendrycks and Gimpel, \"Gaussian Error Linear Units\". "
          "ONNX Gelu."),
      plain("silu", silu, "x * sigmoid(x). ONNX Swish."),
      plain("mish", mish, "x * tanh(log(1 + exp(x))). ONNX Mish."),
      make_operator(
          "topi.nn", "softplus", [](const Tensor& t, double beta) { return softplus(t, beta); },
          {x, {"beta", "how sharp it bends; not 0", 1.0}},
          "log(1 + exp(beta * x)) / beta. ONNX Softplus."),
      plain("softsign", softsign, "x / (1 + |x|). ONNX Softsign."),
      plain("relu6", relu6, "max(0, min(x, 6))."),
      make_operator(
          "topi.nn", "hard_sigmoid",
          [](const Tensor& t, double alpha, double beta) { return hard_sigmoid(t, alpha, beta); },
          {x, {"alpha", "the slope", 0.2}, {"beta", "the value at 0", 0.5}},
          "max(0, min(alpha * x + beta, 1)). ONNX HardSigmoid."),
      plain("hard_swish", hard_swish, "x * max(0, min(x + 3, 6)) / 6. ONNX HardSwish."),
      make_operator(
          "topi.nn", "thresholded_relu",
          [](const Tensor& t, double alpha) { return thresholded_relu(t, alpha); },
          {x, {"alpha", "the threshold", 1.0}},
          "x where it is above alpha, else 0. ONNX ThresholdedRelu."),
      make_operator(
          "topi.nn", "shrink",
          [](const Tensor& t, double bias, double lambd) { return shrink(t, bias, lambd); },
          {x, {"bias", "is taken towards 0", 0.0}, {"lambd", "the threshold", 0.5}},
          "x + bias below -lambd, x - bias above lambd, else 0. ONNX Shrink."),
      make_operator(
          "topi.nn", "hardmax",
          [](const Tensor& t, int64_t axis) { return hardmax(t, static_cast<int>(axis)); },
          {{"x"}, {"axis", "a dimension", -1}},
          "1 at the greatest element along axis, the first of equals, else 0. ONNX Hardmax (opset "
          "13)."),
  };
}

}  // namespace tw::topi::nn
