// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/nn/dense.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/expr.h"
#include "schedule/topi/accumulation.h"
#include "schedule/topi/operator.h"

namespace tw::topi::nn {
namespace {

// sum over k of a(m, k) * b(k, n), operands stored transposed or not.
struct Product {
  std::string_view op;
  std::string name, tag;
  bool transpose_a, transpose_b;

  // In the accumulation type.
  Tensor operator()(const Tensor& a, const Tensor& b, std::optional<DType> out_type) const {
    require_rank({op, "the first operand"}, a, 2);
    require_rank({op, "the second operand"}, b, 2);
    const std::vector<Expr> sa = a.shape(), sb = b.shape();
    const Expr depth = sa[transpose_a ? 0 : 1];
    require_extent({op, "the second operand"}, b, transpose_b ? 1 : 0, depth);
    const DType type = accumulation_type(out_type.value_or(a.dtype()));
    const IterVar k = te::reduce_axis({make_zero(depth.dtype()), depth}, "k");
    return te::compute({sa[transpose_a ? 1 : 0], sb[transpose_b ? 0 : 1]},
                       [&](const std::vector<Var>& i) {
                         const Expr ea = transpose_a ? a(k.var(), i[0]) : a(i[0], k.var());
                         const Expr eb = transpose_b ? b(i[1], k.var()) : b(k.var(), i[1]);
                         return te::sum(tw::cast(type, ea) * tw::cast(type, eb), {k});
                       },
                       name, tag, {}, {"i", "j"});
  }
};

std::string layout(bool transpose_a, bool transpose_b) {
  return std::string(transpose_a ? "T" : "N") + (transpose_b ? "T" : "N");
}

Tensor with_bias(std::string_view op, const Tensor& product, const Tensor& bias) {
  if (!bias.defined()) return product;
  require_rank({op, "bias"}, bias, 1);
  require_extent({op, "bias"}, bias, 0, product.shape()[1]);
  return te::compute(product.shape(),
                     [&](const std::vector<Var>& i) {
                       return product(i[0], i[1]) + tw::cast(product.dtype(), bias(i[1]));
                     },
                     "T_bias", kBroadcast, {}, {"i", "j"});
}

}  // namespace

Tensor dense(const Tensor& data, const Tensor& weight, const Tensor& bias,
             std::optional<DType> out_type) {
  const Product product{"dense", "T_dense", "dense", false, true};
  return converted(with_bias("dense", product(data, weight, out_type), bias),
                   out_type.value_or(data.dtype()));
}

Tensor matmul(const Tensor& a, const Tensor& b, const Tensor& bias, std::optional<DType> out_type,
              bool transpose_a, bool transpose_b) {
  const Product product{"matmul", "T_matmul_" + layout(transpose_a, transpose_b), "matmul",
                        transpose_a, transpose_b};
  return converted(with_bias("matmul", product(a, b, out_type), bias),
                   out_type.value_or(a.dtype()));
}

Tensor batch_matmul(const Tensor& a, const Tensor& b, std::optional<DType> out_type,
                    bool transpose_a, bool transpose_b) {
  constexpr std::string_view op = "batch_matmul";
  const Place first{op, "the first operand"}, second{op, "the second operand"};
  if (a.rank() < 2) require_rank(first, a, 3);
  if (b.rank() < 2) require_rank(second, b, 3);
  const auto before = [](const Tensor& t) { return static_cast<size_t>(t.rank()) - 2; };
  const std::vector<Expr> sa = a.shape(), sb = b.shape();
  const size_t na = before(a), nb = before(b), batch = std::max(na, nb);
  const Expr depth = sa[transpose_a ? na : na + 1];
  require_extent(second, b, static_cast<int>(transpose_b ? nb + 1 : nb), depth);
  std::vector<Expr> shape;
  for (size_t d = 0; d < batch; ++d) {
    // Aligned at the last; an extent of 1 or a missing one is repeated.
    const bool has_a = d + na >= batch && !is_one(sa[d + na - batch]),
               has_b = d + nb >= batch && !is_one(sb[d + nb - batch]);
    if (has_a && has_b) {
      require_extent(second, b, static_cast<int>(d + nb - batch), sa[d + na - batch]);
    }
    shape.push_back(has_a             ? sa[d + na - batch]
                    : d + nb >= batch ? sb[d + nb - batch]
                                      : sa[d + na - batch]);
  }
  shape.push_back(sa[transpose_a ? na + 1 : na]);
  shape.push_back(sb[transpose_b ? nb : nb + 1]);
  const DType result = out_type.value_or(a.dtype()), type = accumulation_type(result);
  const IterVar k = te::reduce_axis({make_zero(depth.dtype()), depth}, "k");
  std::vector<std::string> names;
  for (size_t d = 0; d < batch; ++d) names.push_back(batch == 1 ? "b" : fmt::format("b{}", d));
  names.insert(names.end(), {"i", "j"});
  const Tensor sums = te::compute(
      shape,
      [&](const std::vector<Var>& i) {
        const auto element = [&](const Tensor& t, const std::vector<Expr>& extents, bool transposed,
                                 const Expr& row, const Expr& column) {
          std::vector<Expr> position;
          for (size_t d = 0; d < before(t); ++d) {
            const Var& at = i[batch - before(t) + d];
            position.push_back(is_one(extents[d]) ? make_zero(at.dtype()) : Expr(at));
          }
          position.push_back(transposed ? column : row);
          position.push_back(transposed ? row : column);
          return tw::cast(type, t(position));
        };
        return te::sum(element(a, sa, transpose_a, i[batch], k.var()) *
                           element(b, sb, transpose_b, k.var(), i[batch + 1]),
                       {k});
      },
      "T_batch_matmul_" + layout(transpose_a, transpose_b), "batch_matmul", {}, names);
  return converted(sums, result);
}

Tensor bias_add(const Tensor& data, const Tensor& bias, int axis) {
  const auto along = static_cast<size_t>(normalize_axis({"bias_add", "axis"}, axis, data.rank()));
  require_channels({"bias_add", "bias"}, bias, data, along);
  return te::compute(
      data.shape(),
      [&](const std::vector<Var>& i) { return data(to_exprs(i)) + read_channel(bias, i, along); },
      "T_add", kBroadcast);
}

std::vector<Operator> dense_rows() {
  using Type = std::optional<DType>;
  const ParameterText a{"tensor_a", "[M, K]; transposed [K, M]"},
      b{"tensor_b", "[K, N]; transposed [N, K]"}, bias{"bias", "[N]; None: none", Value()},
      out_dtype{"out_dtype", "of products and sums; None: that of the first operand", Value()};
  return {
      make_operator(
          "topi.nn", "dense",
          [](const Tensor& data, const Tensor& weight, const std::optional<Tensor>& add,
             Type type) { return dense(data, weight, add.value_or(Tensor()), type); },
          {{"data", "[M, K]"}, {"weight", "[N, K]"}, bias, out_dtype},
          "data times the transpose of weight, plus bias: [M, N]. PyTorch Linear."),
      make_operator(
          "topi.nn", "matmul",
          [](const Tensor& x, const Tensor& y, const std::optional<Tensor>& add, Type type,
             bool transpose_a, bool transpose_b) {
            return matmul(x, y, add.value_or(Tensor()), type, transpose_a, transpose_b);
          },
          {a, b, bias, out_dtype, {"transpose_a", "", false}, {"transpose_b", "", false}},
          "The product of two matrices, plus bias: [M, N]. ONNX Gemm with alpha and beta 1."),
      make_operator(
          "topi", "matmul",
          [](const Tensor& x, const Tensor& y, bool transpose_a, bool transpose_b) {
            return topi::matmul(x, y, transpose_a, transpose_b);
          },
          {{"a", a.doc}, {"b", b.doc}, {"transp_a", "", false}, {"transp_b", "", false}},
          "The product of two matrices: [M, N]."),
      make_operator(
          "topi.nn", "batch_matmul",
          [](const Tensor& x, const Tensor& y, std::monostate, Type type, bool transpose_a,
             bool transpose_b) { return batch_matmul(x, y, type, transpose_a, transpose_b); },
          {{"tensor_a", "[B, M, K]; transposed [B, K, M]; any number of dimensions B"},
           {"tensor_b", "[B, K, N]; transposed [B, N, K]; any number of dimensions B"},
           {"oshape", "the shape follows from the operands", Value()},
           out_dtype,
           {"transpose_a", "", false},
           {"transpose_b", "", true}},
          "A product of matrices for each b: [B, M, N]. Dimensions B are aligned at the last; "
          "where "
          "one is 1 or missing it is repeated."),
      make_operator(
          "topi.nn", "bias_add",
          [](const Tensor& data, const Tensor& add, int64_t axis) {
            return bias_add(data, add, static_cast<int>(axis));
          },
          {{"data"}, {"bias", "[C]"}, {"axis", "the dimension of data that has extent C", 1}},
          "data plus bias along axis."),
  };
}

}  // namespace tw::topi::nn

namespace tw::topi {

Tensor matmul(const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b) {
  return nn::matmul(a, b, {}, {}, transpose_a, transpose_b);
}

}  // namespace tw::topi
