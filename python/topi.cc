// SPDX-License-Identifier: Apache-2.0
// The operator library. TVM's signatures are put on top in tilewright/topi.
#include "schedule/topi/topi.h"

#include <fmt/format.h>

#include "python/bind.h"

namespace tw::python {

py::object broadcast_operator(const std::string& name, py::handle a, py::handle b);

namespace {

using te::Tensor;
using Axes = std::vector<int>;
using Ints = std::vector<int64_t>;

std::optional<DType> optional_type(py::object type) {
  if (type.is_none()) return std::nullopt;
  return to_dtype(type);
}
Tensor optional_tensor(py::object tensor) {
  return tensor.is_none() ? Tensor() : tensor.cast<Tensor>();
}

topi::nn::PoolType pool_type(const std::string& name) {
  if (name == "max") return topi::nn::PoolType::Max;
  if (name == "avg") return topi::nn::PoolType::Average;
  raise({.code = ErrorCode::BadArgument,
         .what = fmt::format("unknown pooling '{}'", name),
         .legal = "max, avg"});
}

void bind_tables(py::module_& m) {
  m.def(
      "unary_operators",
      [] {
        std::vector<std::pair<std::string, std::string>> rows;
        for (const auto& row : topi::unary_operators()) rows.emplace_back(row.name, row.doc);
        return rows;
      },
      "Name and documentation of each elementwise operator.");
  m.def(
      "binary_operators",
      [] {
        std::vector<std::pair<std::string, std::string>> rows;
        for (const auto& row : topi::binary_operators()) rows.emplace_back(row.name, row.doc);
        return rows;
      },
      "Name and documentation of each operator on two tensors.");
  m.def("unary", [](const std::string& name, const Tensor& x) {
    return topi::find_unary(name)->apply(x, "T_" + name, topi::kElementwise);
  });
  m.def("binary", &broadcast_operator);
}

void bind_reductions(py::module_& m) {
  m.def("reduction",
        [](const std::string& name, const Tensor& data, const Axes& axis, bool keepdims) {
          if (name == "sum") return topi::sum(data, axis, keepdims);
          if (name == "prod") return topi::prod(data, axis, keepdims);
          if (name == "max") return topi::max(data, axis, keepdims);
          if (name == "min") return topi::min(data, axis, keepdims);
          if (name == "all") return topi::all(data, axis, keepdims);
          if (name == "any") return topi::any(data, axis, keepdims);
          return topi::mean(data, axis, keepdims);
        });
  m.def("argmax", &topi::argmax);
  m.def("argmin", &topi::argmin);
}

void bind_nn(py::module_& m) {
  m.def("relu", [](const Tensor& x) { return topi::nn::relu(x); });
  m.def("leaky_relu", [](const Tensor& x, double alpha) { return topi::nn::leaky_relu(x, alpha); });
  m.def("prelu", [](const Tensor& x, const Tensor& slope, int axis) {
    return topi::nn::prelu(x, slope, axis);
  });
  m.def("gelu", [](const Tensor& x) { return topi::nn::gelu(x); });
  m.def("conv2d", [](const Tensor& data, const Tensor& weight, const Ints& strides,
                     const Ints& padding, const Ints& dilation, int64_t groups, py::object type) {
    return topi::nn::conv2d_nchw(data, weight, strides, padding, dilation, groups,
                                 optional_type(type));
  });
  m.def("conv2d_nchwc", [](const Tensor& data, const Tensor& weight, const Ints& strides,
                           const Ints& padding, const Ints& dilation, py::object type) {
    return topi::nn::conv2d_nchwc(data, weight, strides, padding, dilation, optional_type(type));
  });
  m.def("dense", [](const Tensor& data, const Tensor& weight, py::object bias, py::object type) {
    return topi::nn::dense(data, weight, optional_tensor(bias), optional_type(type));
  });
  m.def("matmul", [](const Tensor& a, const Tensor& b, py::object bias, py::object type,
                     bool transpose_a, bool transpose_b) {
    return topi::nn::matmul(a, b, optional_tensor(bias), optional_type(type), transpose_a,
                            transpose_b);
  });
  m.def("batch_matmul",
        [](const Tensor& a, const Tensor& b, py::object type, bool transpose_a, bool transpose_b) {
          return topi::nn::batch_matmul(a, b, optional_type(type), transpose_a, transpose_b);
        });
  m.def("bias_add", &topi::nn::bias_add);
  m.def("pad", [](const Tensor& data, const std::vector<Expr>& before,
                  const std::vector<Expr>& after, py::object value, const std::string& name) {
    return topi::nn::pad(data, before, after, value.is_none() ? Expr() : to_expr(value), name);
  });
  m.def("pool2d",
        [](const Tensor& data, const Ints& kernel, const Ints& stride, const Ints& dilation,
           const Ints& padding, const std::string& type, bool ceil_mode, bool count_include_pad) {
          return topi::nn::pool2d(data, kernel, stride, dilation, padding, pool_type(type),
                                  ceil_mode, count_include_pad);
        });
  m.def("global_pool", [](const Tensor& data, const std::string& type) {
    return topi::nn::global_pool(data, pool_type(type));
  });
  m.def("softmax", &topi::nn::softmax);
  m.def("log_softmax", &topi::nn::log_softmax);
  m.def("layer_norm", [](const Tensor& data, py::object gamma, py::object beta, const Axes& axis,
                         double epsilon) {
    return topi::nn::layer_norm(data, optional_tensor(gamma), optional_tensor(beta), axis, epsilon);
  });
  m.def("batch_norm", &topi::nn::batch_norm);
  m.def("flatten", [](const Tensor& x) { return topi::nn::flatten(x); });
}

}  // namespace

void bind_topi(py::module_& parent) {
  py::module_ m = parent.def_submodule("topi");
  bind_tables(m);
  bind_reductions(m);
  bind_nn(m);
  m.def("cast", [](const Tensor& x, DType type) { return topi::cast(x, type); });
  m.def("saturating_cast",
        [](const Tensor& x, DType type) { return topi::saturating_cast(x, type); });
  m.def("clip", [](const Tensor& x, double low, double high) { return topi::clip(x, low, high); });
  m.def("full", [](const std::vector<Expr>& shape, DType type, const Expr& value) {
    return topi::full(shape, type, value);
  });
  m.def("full_like", [](const Tensor& x, const Expr& value) { return topi::full_like(x, value); });
  m.def("broadcast_to", [](const Tensor& x, const std::vector<Expr>& shape) {
    return topi::broadcast_to(x, shape);
  });
  m.def("transpose", [](const Tensor& a, const Axes& axes) { return topi::transpose(a, axes); });
  m.def("reshape",
        [](const Tensor& a, const std::vector<Expr>& shape) { return topi::reshape(a, shape); });
  m.def("concatenate", [](const std::vector<Tensor>& tensors, int axis) {
    return topi::concatenate(tensors, axis);
  });
  m.def("squeeze", [](const Tensor& a, const Axes& axis) { return topi::squeeze(a, axis); });
  m.def("expand_dims",
        [](const Tensor& a, int axis, int count) { return topi::expand_dims(a, axis, count); });
}

}  // namespace tw::python
