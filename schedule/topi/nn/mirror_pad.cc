// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/nn/mirror_pad.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/expr.h"
#include "schedule/topi/accumulation.h"
#include "schedule/topi/operator.h"

namespace tw::topi::nn {
namespace {

constexpr std::string_view kOp = "mirror_pad";
using Ints = std::vector<int64_t>;

Expr either(const Expr& x, const Expr& negated) { return tw::max(x, negated); }

// Where position x, counted from the first of n elements, is taken from.
Expr source(const Expr& x, const Expr& n, int64_t before, int64_t after, PadMode mode) {
  const auto number = [&](int64_t v) { return make_const(n.dtype(), v); };
  const Expr last = n - number(1), zero = number(0);
  const auto extent = as_const_int(n);
  if (mode == PadMode::Edge) return tw::max(tw::min(x, last), zero);
  if (mode == PadMode::Wrap || (extent && *extent == 1)) return floor_mod(x, n);
  const int64_t shared = mode == PadMode::Reflect ? 0 : 1;  // whether the border is repeated
  // Turned around once at either end, which needs no division.
  if (extent && std::max(before, after) < *extent + shared) {
    const Expr inner = either(x, number(-shared) - x);
    return tw::min(inner, last + last + number(shared) - inner);
  }
  const Expr period = last + last + number(2 * shared);
  const Expr place = floor_mod(x, period);
  return tw::min(place, period - number(shared) - place);
}

void check(const Tensor& data, const Ints& before, const Ints& after) {
  const std::vector<Expr> shape = data.shape();
  for (const Ints* amounts : {&before, &after}) {
    if (amounts->size() != shape.size() || (!amounts->empty() && std::ranges::min(*amounts) < 0)) {
      bad_shape(
          {kOp, "pad_width"},
          fmt::format("({}) for a tensor of rank {}", fmt::join(*amounts, ", "), shape.size()),
          "an amount of at least 0 for each dimension");
    }
  }
  for (size_t d = 0; d < shape.size(); ++d) {
    const auto extent = as_const_int(shape[d]);
    if (before[d] + after[d] == 0 || !extent || *extent > 0) continue;
    bad_shape({kOp, "data"}, fmt::format("shape {}", shape_text(shape)),
              "elements in each dimension that is padded");
  }
}

// For element j of n, the positions of the result that were taken from it: candidates by number.
class Readers {
 public:
  Readers(int64_t n, int64_t before, int64_t after, PadMode mode)
      : n_(n), before_(before), after_(after), mode_(mode) {
    if (n == 1 && mode == PadMode::Reflect) mode_ = PadMode::Wrap;
    period_ = mode_ == PadMode::Wrap ? n : 2 * n - (mode_ == PadMode::Reflect ? 2 : 0);
    if (mode_ == PadMode::Edge) return;
    first_ = -((before + period_ - 1) / period_);
    last_ = (n + after - 1 + period_) / period_;
  }

  int64_t count() const {
    if (mode_ == PadMode::Edge) return 1 + before_ + after_;
    return (last_ - first_ + 1) * (mode_ == PadMode::Wrap ? 1 : 2);
  }
  // The position, counted from the first of the result, and whether it is one.
  Expr position(const Expr& j, const Expr& k) const {
    if (mode_ == PadMode::Edge) {
      return select(k == number(0), j + number(before_),
                    select(k <= number(before_), k - number(1), k + number(n_ - 1)));
    }
    if (mode_ == PadMode::Wrap) return j + (k + number(first_)) * number(period_) + number(before_);
    const Expr from = (floor_div(k, number(2)) + number(first_)) * number(period_);
    const Expr turned = number(mode_ == PadMode::Reflect ? 0 : -1) - j;
    return from + select(floor_mod(k, number(2)) == number(0), j, turned) + number(before_);
  }
  Expr is_there(const Expr& j, const Expr& k) const {
    if (mode_ == PadMode::Edge) {
      const Expr in_front = k <= number(before_);
      return k == number(0) || (in_front && j == number(0)) || (!in_front && j == number(n_ - 1));
    }
    const Expr p = position(j, k);
    const Expr inside = number(0) <= p && p < number(n_ + before_ + after_);
    if (mode_ != PadMode::Reflect) return inside;
    // The outermost elements are where they are turned to.
    const Expr outermost = j == number(0) || j == number(n_ - 1);
    return inside && (floor_mod(k, number(2)) == number(0) || !outermost);
  }

 private:
  int64_t n_, before_, after_, period_ = 1, first_ = 0, last_ = 0;
  PadMode mode_;
};

}  // namespace

PadMode pad_mode_of(const std::string& word) {
  if (word == "edge") return PadMode::Edge;
  if (word == "reflect") return PadMode::Reflect;
  if (word == "symmetric") return PadMode::Symmetric;
  if (word == "wrap") return PadMode::Wrap;
  bad_argument({kOp, "mode"}, fmt::format("unknown mode '{}'", word),
               "edge, reflect, symmetric, wrap");
}

Tensor pad_by_elements(const Tensor& data, const Ints& before, const Ints& after, PadMode mode) {
  check(data, before, after);
  const std::vector<Expr> inside = data.shape();
  std::vector<Expr> shape;
  for (size_t d = 0; d < inside.size(); ++d) {
    shape.push_back(inside[d] + make_const(inside[d].dtype(), before[d] + after[d]));
  }
  return te::compute(
      shape,
      [&](const std::vector<Var>& i) {
        std::vector<Expr> at;
        for (size_t d = 0; d < inside.size(); ++d) {
          const Expr x = i[d] - make_const(i[d].dtype(), before[d]);
          const bool whole = before[d] + after[d] == 0;
          at.push_back(whole ? Expr(i[d]) : source(x, inside[d], before[d], after[d], mode));
        }
        return data(at);
      },
      "MirrorPadInput", "injective,pad");
}

Tensor pad_by_elements_gradient(const Tensor& grad, const Tensor& data, const Ints& before,
                                const Ints& after, PadMode mode) {
  check(data, before, after);
  Tensor x = converted(grad, accumulation_type(grad.dtype()));
  for (size_t d = 0; d < before.size(); ++d) {
    if (before[d] + after[d] == 0) continue;
    const auto n = as_const_int(data.shape()[d]);
    if (!n) {
      bad_shape({kOp, "data"}, fmt::format("shape {}", shape_text(data.shape())),
                "constant extents");
    }
    const Readers readers(*n, before[d], after[d], mode);
    const IterVar k = te::reduce_axis({Expr(0), make_const(int_type(32), readers.count())}, "rk");
    std::vector<Expr> shape = x.shape();
    shape[d] = data.shape()[d];
    x = te::compute(
        shape,
        [&](const std::vector<Var>& i) {
          std::vector<Expr> at = to_exprs(i);
          at[d] = readers.position(i[d], k.var());
          return te::sum(if_then_else(readers.is_there(i[d], k.var()), x(at), make_zero(x.dtype())),
                         {k});
        },
        fmt::format("pad_grad{}", d));
  }
  return converted(x, grad.dtype());
}

std::vector<Operator> mirror_pad_rows() {
  return {make_operator(
      "topi.nn", "mirror_pad",
      [](const Tensor& data, const Ints& before, const std::optional<Ints>& after,
         const std::string& mode) {
        std::string word = mode;
        std::ranges::transform(word, word.begin(),
                               [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        return pad_by_elements(data, before, after.value_or(before), pad_mode_of(word));
      },
      {{"data"},
       {"pad_before", "elements before each dimension"},
       {"pad_after", "elements after each dimension; None: as before", Value()},
       {"mode", "\"SYMMETRIC\", \"REFLECT\", \"EDGE\" or \"WRAP\"", "SYMMETRIC"}},
      "data with elements of its own around it, as NumPy's pad has them. ONNX Pad.")};
}

}  // namespace tw::topi::nn
