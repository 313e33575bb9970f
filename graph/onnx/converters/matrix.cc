// SPDX-License-Identifier: Apache-2.0
// Products of matrices.
#include "graph/onnx/converter.h"

namespace tw::graph::onnx {
namespace {

Value scaled(Call& c, const Value& value, double factor) {
  return factor == 1 ? value : c("__mul_scalar__", {value}, {{"scalar", text(factor)}});
}

// alpha * A * B + beta * C
Values gemm(Call& c) {
  const Value &a = c.input(0), &b = c.input(1);
  const bool turn_a = c.flag("transA", false), turn_b = c.flag("transB", false);
  const double alpha = c.real("alpha", 1), beta = c.real("beta", 1);
  if (a.rank() != 2 || b.rank() != 2) {
    c.bad("a product of " + text(a.shape()) + " and " + text(b.shape()), "matrices");
  }
  const bool has_bias = c.has(2);
  const int64_t units = b.extent(turn_b ? 0 : 1);
  const bool is_vector = has_bias && c.input(2).rank() == 1 && c.input(2).extent(0) == units;
  if (!turn_a && turn_b && alpha == 1 && beta == 1 && (!has_bias || is_vector)) {
    Attributes attributes{{"units", text(units)}, {"use_bias", text(has_bias)}};
    return {c("dense", c.inputs(), attributes)};
  }
  const Value product =
      scaled(c, c("matmul", {a, b}, {{"transpose_a", text(turn_a)}, {"transpose_b", text(turn_b)}}),
             alpha);
  if (!has_bias || beta == 0) return {product};
  const Value total = c("broadcast_add", {product, scaled(c, c.input(2), beta)});
  if (total.shape() != product.shape()) {
    c.bad("C of " + text(c.input(2).shape()),
          "a shape that broadcasts to " + text(product.shape()));
  }
  return {total};
}

// Of two matrices; a vector is a row on the left, a column on the right.
Values matmul(Call& c) {
  const Value &a = c.input(0), &b = c.input(1);
  if (a.rank() == 0 || b.rank() == 0) c.bad("a product with a number", "vectors or matrices");
  return {c("matmul", {a, b})};
}

}  // namespace

std::vector<Converter> matrix_converters() {
  constexpr std::string_view kGemm = "alpha:float beta:float transA:int transB:int";
  return {
      {"Gemm", 1, 3, 3, kGemm, gemm},
      {"Gemm", 11, 2, 3, kGemm, gemm},
      {"MatMul", 1, 2, 2, "", matmul},
      {"Det", 11, 1, 1, "", same("det")},
  };
}

}  // namespace tw::graph::onnx
