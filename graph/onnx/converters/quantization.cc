// SPDX-License-Identifier: Apache-2.0
// Numbers as small integers: what makes them and what computes with them, of ONNX and, as
// quantizers write models, of ONNX Runtime's domain.
#include <algorithm>

#include "graph/onnx/converters/windows.h"

namespace tw::graph::onnx {
namespace {

// Input k as the zero point of data of that type. None where it is left out, and where it is
// constant zeros, as that of weights mostly is: sums that it would be multiplied by need not be
// made.
Value zero_point(Call& c, size_t k, DType type) {
  if (!c.has(k)) return {};
  const Value& point = c.input(k);
  // What does not fit the data is for its operator to refuse.
  const bool fits = point.dtype() == type && type.is_integer() && point.rank() < 2;
  if (!fits || !point.is_constant()) return point;
  const auto is_zero = [](int64_t v) { return v == 0; };
  return std::ranges::all_of(integers_in(point.constant()), is_zero) ? Value() : point;
}

// A scale and zero point for each position along an axis, for each block of them, or one.
Attributes of_scales(Call& c, const Value& zero_point) {
  const int64_t block = c.knows("block_size") ? c.integer("block_size", 0) : 0;
  return {{"axis", text(c.knows("axis") ? c.integer("axis", 1) : 1)},
          {"block_size", text(block)},
          {"use_zero_point", text(static_cast<bool>(zero_point))}};
}

// Data, scale and zero point. One scale and one zero point may be a number and a vector of one;
// those that agree stay the constants that they are, which others may read.
Values with_scales(Call& c, const Value& zero_point) {
  Values inputs{c.input(0), c.input(1)};
  if (!zero_point) return inputs;
  inputs.push_back(zero_point);
  if (c.input(1).elements() == 1 && zero_point.elements() == 1 &&
      c.input(1).rank() != zero_point.rank()) {
    for (size_t k : {1, 2}) inputs[k] = c.reshaped(inputs[k], {});
  }
  return inputs;
}

Values quantize(Call& c) {
  if (c.knows("precision") && c.integer("precision", 0) != 0) c.unsupported("a precision");
  DType type = c.has(2) ? c.input(2).dtype() : uint_type(8);
  if (!c.has(2) && c.knows("output_dtype") && c.integer("output_dtype", 0) != 0)
    type = c.dtype("output_dtype");
  if (type.is_float()) c.unsupported("quantized numbers of " + text(type));
  const Value point = zero_point(c, 2, type);
  Attributes attributes = of_scales(c, point);
  attributes.set("out_dtype", text(type));
  Values inputs = with_scales(c, point);
  const DType scales = c.input(1).dtype();
  inputs[0] = c.cast(inputs[0], scales);
  return {c("quantize", inputs, attributes)};
}

Values dequantize(Call& c) {
  if (c.input(0).dtype().is_float()) c.unsupported("numbers of " + text(c.input(0).dtype()));
  const Value point = zero_point(c, 2, c.input(0).dtype());
  const Value result = c("dequantize", with_scales(c, point), of_scales(c, point));
  const bool typed = c.knows("output_dtype") && c.integer("output_dtype", 0) != 0;
  return {typed ? c.cast(result, c.dtype("output_dtype")) : result};
}

Values dynamic_quantize(Call& c) { return c.all("dynamic_quantize", c.inputs()); }

// A value with its scale and zero point, as they stand side by side among a node's inputs.
Value floats_of(Call& c, size_t k) {
  Values inputs{c.input(k), c.input(k + 1)};
  const Value point = zero_point(c, k + 2, c.input(k).dtype());
  if (point) inputs.push_back(point);
  return c("dequantize", inputs, {{"use_zero_point", text(static_cast<bool>(point))}});
}

// Floats in the scale and with the zero point, if there is one, of inputs k and k + 1.
Value quantized(Call& c, const Value& value, size_t k, DType otherwise) {
  Values inputs{value, c.input(k)};
  const DType type = c.has(k + 1) ? c.input(k + 1).dtype() : otherwise;
  const Value point = zero_point(c, k + 1, type);
  if (point) inputs.push_back(point);
  return c("quantize", inputs,
           {{"out_dtype", text(type)}, {"use_zero_point", text(static_cast<bool>(point))}});
}

// Sums of products along the channels of dimension `axis`, in the scale of input k.
Value requantized(Call& c, const Value& sums, const Value& scale, size_t k, int64_t axis) {
  const DType type = float_type(32);
  const Value factor = c("broadcast_div", {c.cast(scale, type), c.cast(c.input(k), type)});
  Values inputs{sums, factor};
  const DType result = c.has(k + 1) ? c.input(k + 1).dtype() : uint_type(8);
  const Value point = zero_point(c, k + 1, result);
  if (point) inputs.push_back(point);
  return c("requantize", inputs,
           {{"out_dtype", text(result)},
            {"axis", text(axis)},
            {"use_zero_point", text(static_cast<bool>(point))}});
}

// One number; a vector of the last dimension but one, or of the last.
Value point_of(Call& c, const Value& value, bool rows) {
  if (value.elements() == 1) return c.reshaped(value, {});
  if (value.rank() != 1) return value;
  return rows ? c.reshaped(value, {value.extent(0), 1}) : value;
}

// Of a and b, whose zero points are the inputs of those numbers.
Value integer_product(Call& c, const Value& a, const Value& b, size_t a_point, size_t b_point) {
  if (a.rank() < 2 || b.rank() < 2) c.unsupported("products of vectors");
  const Value za = zero_point(c, a_point, a.dtype()), zb = zero_point(c, b_point, b.dtype());
  Values inputs{a, b};
  if (za) inputs.push_back(point_of(c, za, true));
  if (zb) inputs.push_back(point_of(c, zb, false));
  return c("matmul_integer", inputs,
           {{"use_lhs_zero_point", text(static_cast<bool>(za))},
            {"use_rhs_zero_point", text(static_cast<bool>(zb))}});
}

Values matmul_integer(Call& c) { return {integer_product(c, c.input(0), c.input(1), 2, 3)}; }

// a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point
Values qlinear_matmul(Call& c) {
  const Value product = integer_product(c, c.input(0), c.input(3), 2, 5);
  const Value &a_scale = c.input(1), &b_scale = c.input(4), &scale = c.input(6);
  if (a_scale.elements() == 1 && b_scale.rank() < 2 && scale.elements() == 1) {
    return {requantized(c, product,
                        c("broadcast_mul", {c.reshaped(a_scale, {}), point_of(c, b_scale, false)}),
                        6, -1)};
  }
  const DType type = float_type(32);
  const Value factor = c("broadcast_mul", {c.cast(point_of(c, a_scale, true), type),
                                           c.cast(point_of(c, b_scale, false), type)});
  const Value exact = c("broadcast_mul", {c.cast(product, type), factor});
  return {c("quantize",
            {exact, c.cast(point_of(c, scale, false), type), point_of(c, c.input(7), false)},
            {{"out_dtype", text(c.input(7).dtype())}, {"axis", "-1"}})};
}

// Scales and zero points are numbers, or have one for each channel of the output.
Value integer_convolution(Call& c, const Value& weight, size_t of_data, size_t of_weight) {
  const Value data_point = zero_point(c, of_data, c.input(0).dtype()),
              weight_point = zero_point(c, of_weight, weight.dtype());
  Attributes attributes = convolution_of(c, weight);
  attributes.set("use_data_zero_point", text(static_cast<bool>(data_point)));
  attributes.set("use_weight_zero_point", text(static_cast<bool>(weight_point)));
  Values inputs{c.input(0), weight};
  if (data_point) inputs.push_back(data_point);
  if (weight_point) inputs.push_back(weight_point);
  return c(of_dimensions("conv?d_integer", weight.rank() - 2), inputs, attributes);
}

Values conv_integer(Call& c) { return {integer_convolution(c, c.input(1), 2, 3)}; }

// x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, bias in the scale
// x_scale * w_scale
Values qlinear_conv(Call& c) {
  Value sums = integer_convolution(c, c.input(3), 2, 5);
  if (c.has(8)) {
    std::vector<int64_t> shape{c.input(8).elements()};
    shape.resize(static_cast<size_t>(sums.rank()) - 1, 1);
    sums = c("broadcast_add", {sums, c.reshaped(c.input(8), shape)});
  }
  return {requantized(c, sums, c("broadcast_mul", {c.input(1), c.input(4)}), 6, 1)};
}

// a, a_scale, a_zero_point, b, b_scale, b_zero_point, c, y_scale, y_zero_point
Values qgemm(Call& c) {
  if (c.input(0).rank() != 2 || c.input(3).rank() != 2) {
    c.bad("a product of " + text(c.input(0).shape()) + " and " + text(c.input(3).shape()),
          "matrices");
  }
  const auto matrix = [&](size_t k, std::string_view flag) {
    return c.flag(flag, false) ? c.transposed(c.input(k), {1, 0}) : c.input(k);
  };
  Value sums = integer_product(c, matrix(0, "transA"), matrix(3, "transB"), 2, 5);
  if (c.has(6)) sums = c("broadcast_add", {sums, c.input(6)});
  Value scale = c("broadcast_mul", {c.reshaped(c.input(1), {}), c.input(4)});
  const double alpha = c.real("alpha", 1);
  if (alpha != 1) scale = c("__mul_scalar__", {scale}, {{"scalar", text(alpha)}});
  if (c.has(7)) return {requantized(c, sums, scale, 7, -1)};
  return {c("dequantize", {sums, scale}, {{"axis", "-1"}, {"use_zero_point", "False"}})};
}

// Of floats, between integers in their scales.
Values binary(Call& c, std::string_view op) {
  const Value result = c(op, {floats_of(c, 0), floats_of(c, 3)});
  return {quantized(c, result, 6, c.input(0).dtype())};
}
Values unary(Call& c, std::string_view op, const Attributes& attributes) {
  return {quantized(c, c(op, {floats_of(c, 0)}, attributes), 3, c.input(0).dtype())};
}

void require_channels_first(Call& c) {
  if (c.integer("channels_last", 0) != 0) c.unsupported("channels as the last dimension");
}

Values global_average_pool(Call& c) {
  require_channels_first(c);
  std::vector<int64_t> axes;
  for (int64_t k = 2; k < c.input(0).rank(); ++k) axes.push_back(k);
  return unary(c, "mean", {{"axis", text(axes)}, {"keepdims", "True"}});
}

Values average_pool(Call& c) {
  require_channels_first(c);
  const Attributes attributes = pooling_of(c);
  return unary(c, of_dimensions("avg_pool?d", c.input(0).rank() - 2), attributes);
}

// y_scale, y_zero_point, then each with its scale and zero point.
Values concat(Call& c) {
  Values parts;
  for (size_t k = 2; k < c.num_inputs(); k += 3) parts.push_back(floats_of(c, k));
  const int64_t axis = c.axis(c.integer("axis"), parts.at(0).rank());
  return {quantized(c, c("concatenate", parts, {{"axis", text(axis)}}), 0, uint_type(8))};
}

Values softmax(Call& c) {
  if (c.integer("opset") < 13) c.unsupported("softmax over several dimensions");
  return unary(c, "softmax", {{"axis", text(c.integer("axis", -1))}});
}

// Rows of ONNX Runtime's operators, which are of one version.
Converter of_runtime(std::string_view name, int least, int most, std::string_view attributes,
                     std::function<Values(Call&)> convert) {
  return {name, 1, least, most, attributes, std::move(convert), "com.microsoft"};
}

}  // namespace

std::vector<Converter> quantization_converters() {
  constexpr std::string_view kWindows =
      "auto_pad:string dilations:ints group:int kernel_shape:ints pads:ints strides:ints";
  const auto of_two = [](std::string_view op) { return [op](Call& c) { return binary(c, op); }; };
  return {
      {"QuantizeLinear", 10, 2, 3, "", quantize},
      {"QuantizeLinear", 13, 2, 3, "axis:int", quantize},
      {"QuantizeLinear", 19, 2, 3, "axis:int saturate:int", quantize},
      {"QuantizeLinear", 21, 2, 3, "axis:int block_size:int output_dtype:int saturate:int",
       quantize},
      {"QuantizeLinear", 23, 2, 3,
       "axis:int block_size:int output_dtype:int precision:int saturate:int", quantize},
      {"DequantizeLinear", 10, 2, 3, "", dequantize},
      {"DequantizeLinear", 13, 2, 3, "axis:int", dequantize},
      {"DequantizeLinear", 21, 2, 3, "axis:int block_size:int", dequantize},
      {"DequantizeLinear", 23, 2, 3, "axis:int block_size:int output_dtype:int", dequantize},
      {"DynamicQuantizeLinear", 11, 1, 1, "", dynamic_quantize},
      {"MatMulInteger", 10, 2, 4, "", matmul_integer},
      {"QLinearMatMul", 10, 8, 8, "", qlinear_matmul},
      {"ConvInteger", 10, 2, 4, kWindows, conv_integer},
      {"QLinearConv", 10, 8, 9, kWindows, qlinear_conv},
      of_runtime("QuantizeLinear", 2, 3, "axis:int", quantize),
      of_runtime("DequantizeLinear", 2, 3, "axis:int", dequantize),
      of_runtime("QGemm", 6, 9, "alpha:float transA:int transB:int", qgemm),
      of_runtime("QLinearAdd", 7, 8, "", of_two("broadcast_add")),
      of_runtime("QLinearMul", 7, 8, "", of_two("broadcast_mul")),
      of_runtime("QLinearConcat", 5, kAny, "axis:int", concat),
      of_runtime("QLinearGlobalAveragePool", 5, 5, "channels_last:int", global_average_pool),
      of_runtime("QLinearAveragePool", 4, 5,
                 "auto_pad:string ceil_mode:int channels_last:int count_include_pad:int "
                 "kernel_shape:ints pads:ints strides:ints",
                 average_pool),
      of_runtime(
          "QLinearLeakyRelu", 4, 5, "alpha:float",
          [](Call& c) { return unary(c, "leaky_relu", {{"alpha", text(c.real("alpha", 0.01))}}); }),
      of_runtime("QLinearSigmoid", 4, 5, "", [](Call& c) { return unary(c, "sigmoid", {}); }),
      of_runtime("QLinearSoftmax", 5, 5, "axis:int opset:int", softmax),
  };
}

}  // namespace tw::graph::onnx
