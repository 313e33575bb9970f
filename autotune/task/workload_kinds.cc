// SPDX-License-Identifier: Apache-2.0
#include "autotune/task/workload_kinds.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ir/expr.h"
#include "schedule/topi/topi.h"

namespace tw::autotune {
namespace {

using te::Tensor;

constexpr DType kU8 = uint_type(8), kS8 = int_type(8), kS32 = int_type(32);
constexpr DType kF32 = float_type(32), kF64 = float_type(64), kF16 = float_type(16);
constexpr DType kBf16 = bfloat_type(16);
// Those of several types are called as oneDNN calls them.
struct TypesRow {
  TypeChoice choice;  // the narrowest that has it
  ElementTypes types;
};
constexpr TypesRow kTypes[] = {
    {TypeChoice::Floats, {"float32", kF32, kF32, kF32}},
    {TypeChoice::Floats, {"float64", kF64, kF64, kF64}},
    {TypeChoice::Floats, {"float16", kF16, kF16, kF16}},
    {TypeChoice::Floats, {"bfloat16", kBf16, kBf16, kBf16}},
    {TypeChoice::Numbers, {"int32", kS32, kS32, kS32}},
    {TypeChoice::Products, {"u8s8s32", kU8, kS8, kS32}},
    {TypeChoice::Products, {"s8s8s32", kS8, kS8, kS32}},
    {TypeChoice::Products, {"bf16bf16f32", kBf16, kBf16, kF32}},
    {TypeChoice::Requantized, {"u8s8u8", kU8, kS8, kU8}},
    {TypeChoice::Requantized, {"s8s8s8", kS8, kS8, kS8}},
};

Expr extent(int64_t value) { return {static_cast<int>(value)}; }
Tensor tensor(const std::vector<int64_t>& shape, DType type, const char* name, bool constant) {
  std::vector<Expr> extents;
  for (int64_t value : shape) extents.push_back(extent(value));
  return te::placeholder(extents, type, name, constant);
}
Tensor input(const Sizes& sizes, const std::vector<int64_t>& shape, const char* name) {
  return tensor(shape, sizes.types.data, name, false);
}
// Known when the kernel is built, as in a network that has been trained.
Tensor weights(const Sizes& sizes, const std::vector<int64_t>& shape, const char* name,
               bool constant = true) {
  return tensor(shape, sizes.types.weights, name, constant);
}

std::optional<SizeProblem> nothing(const Sizes&) { return {}; }

std::optional<SizeProblem> check_gemm(const Sizes& s) {
  if (s["w"] <= 1) return {};
  return SizeProblem{fmt::format("size 'w' is {}", s["w"]), "0 or 1"};
}
te::Program gemm(const Sizes& s) {
  const Tensor a = input(s, {s["m"], s["k"]}, "A");
  const Tensor b = weights(s, {s["k"], s["n"]}, "B", s["w"] == 1);
  return te::make_program({topi::nn::matmul(a, b, {}, s.types.result)});
}
te::Program dense(const Sizes& s) {
  const Tensor data = input(s, {s["m"], s["k"]}, "data");
  const Tensor weight = weights(s, {s["n"], s["k"]}, "weight");
  return te::make_program({topi::nn::dense(data, weight, {}, s.types.result)});
}
te::Program batch_gemm(const Sizes& s) {
  const Tensor a = input(s, {s["b"], s["m"], s["k"]}, "A");
  const Tensor b = weights(s, {s["b"], s["k"], s["n"]}, "B", false);
  return te::make_program({topi::nn::batch_matmul(a, b, s.types.result, false, false)});
}

std::optional<SizeProblem> check_window(const Sizes& s) {
  const int64_t reach = (s["k"] - 1) * s["d"] + 1;
  for (const char* side : {"h", "w"}) {
    const int64_t padded = s[side] + 2 * s["p"];
    if (reach > padded) {
      return SizeProblem{
          fmt::format("a kernel that reaches over {} does not fit into {}={} with padding {}",
                      reach, side, s[side], s["p"]),
          fmt::format("k such that (k-1)*d+1 is at most {}", padded)};
    }
  }
  if (s["p"] >= reach) {
    return SizeProblem{fmt::format("size 'p' is {}, so that some windows see padding only", s["p"]),
                       fmt::format("0 to {}", reach - 1)};
  }
  return {};
}
std::optional<SizeProblem> check_planar_conv2d(const Sizes& s) {
  if (s["ci"] % s["g"] != 0 || s["co"] % s["g"] != 0) {
    return SizeProblem{
        fmt::format("{} groups do not divide ci={} and co={}", s["g"], s["ci"], s["co"]),
        "g that divides both channel counts"};
  }
  return check_window(s);
}
std::optional<SizeProblem> check_conv2d(const Sizes& s) {
  if (s["b"] != 0 && s["g"] != 1) {
    return SizeProblem{fmt::format("channels in blocks (b={}) and in {} groups", s["b"], s["g"]),
                       "one of the two"};
  }
  return check_planar_conv2d(s);
}
// Channels in a block: the most that divide them, up to size 'b'.
int64_t channel_block(const Sizes& s, std::string_view channels) {
  int64_t block = std::min(s["b"], s[channels]);
  while (s[channels] % block != 0) --block;
  return block;
}
Tensor blocked_convolution(const Sizes& s) {
  const int64_t c = channel_block(s, "ci"), f = channel_block(s, "co");
  const Tensor data = input(s, {s["n"], s["ci"] / c, s["h"], s["w"], c}, "data");
  const Tensor weight = weights(s, {s["co"] / f, s["ci"] / c, s["k"], s["k"], c, f}, "weight");
  return topi::nn::conv2d_nchwc(data, weight, {s["s"]}, {s["p"]}, {s["d"]}, s.types.sums());
}
// What there is one of for each channel of the result.
Tensor by_channel(const Sizes& s, DType type, const char* name) {
  if (s["b"] == 0) return tensor({s["co"], 1, 1}, type, name, true);
  const int64_t f = channel_block(s, "co");
  return tensor({s["co"] / f, 1, 1, f}, type, name, true);
}
Tensor convolution(const Sizes& s) {
  if (s["b"] != 0) return blocked_convolution(s);
  const Tensor data = input(s, {s["n"], s["ci"], s["h"], s["w"]}, "data");
  const Tensor weight = weights(s, {s["co"], s["ci"] / s["g"], s["k"], s["k"]}, "weight");
  return topi::nn::conv2d_nchw(data, weight, {s["s"]}, {s["p"]}, {s["d"]}, s["g"], s.types.sums());
}
te::Program conv2d(const Sizes& s) { return te::make_program({convolution(s)}); }
Tensor with_bias(const Sizes& s) {
  if (s["b"] != 0) return topi::add(convolution(s), by_channel(s, s.types.sums(), "bias"));
  return topi::nn::bias_add(convolution(s), tensor({s["co"]}, s.types.sums(), "bias", true));
}
te::Program conv2d_bias_relu(const Sizes& s) {
  const Tensor sums = with_bias(s);
  if (s.types.result == s.types.sums()) return te::make_program({topi::nn::relu(sums)});
  const Tensor scale = by_channel(s, kF32, "scale");
  const Tensor scaled = topi::nn::relu(topi::multiply(topi::cast(sums, kF32), scale));
  const auto nearest = [&](const std::vector<Var>& i) {
    const Expr value = scaled({i.begin(), i.end()});
    const Expr whole = call(kF32, "nearbyint", {value}, CallKind::PureIntrinsic);
    return saturating_cast(s.types.result, whole);
  };
  return te::make_program({te::compute(scaled.shape(), nearest, "requantized")});
}
int64_t windows(const Sizes& s, std::string_view side) {
  return (s[side] + 2 * s["p"] - ((s["k"] - 1) * s["d"] + 1)) / s["s"] + 1;
}
Tensor gradient_of_result(const Sizes& s) {
  return input(s, {s["n"], s["co"], windows(s, "h"), windows(s, "w")}, "grad");
}
te::Program conv2d_data_gradient(const Sizes& s) {
  const Tensor weight = weights(s, {s["co"], s["ci"] / s["g"], s["k"], s["k"]}, "weight");
  return te::make_program(
      {topi::nn::conv_data_gradient(gradient_of_result(s), weight, {extent(s["h"]), extent(s["w"])},
                                    {s["s"]}, {s["p"]}, {s["d"]}, s["g"])});
}
te::Program conv2d_weight_gradient(const Sizes& s) {
  const Tensor data = input(s, {s["n"], s["ci"], s["h"], s["w"]}, "data");
  return te::make_program(
      {topi::nn::conv_weight_gradient(gradient_of_result(s), data, {extent(s["k"]), extent(s["k"])},
                                      {s["s"]}, {s["p"]}, {s["d"]}, s["g"])});
}
te::Program depthwise_conv2d(const Sizes& s) {
  const Tensor data = input(s, {s["n"], s["c"], s["h"], s["w"]}, "data");
  const Tensor weight = weights(s, {s["c"], 1, s["k"], s["k"]}, "weight");
  return te::make_program(
      {topi::nn::conv2d_nchw(data, weight, {s["s"]}, {s["p"]}, {s["d"]}, s["c"])});
}
te::Program separable_conv2d(const Sizes& s) {
  const Tensor data = input(s, {s["n"], s["ci"], s["h"], s["w"]}, "data");
  const Tensor depthwise = weights(s, {s["ci"], 1, s["k"], s["k"]}, "depthwise");
  const Tensor pointwise = weights(s, {s["co"], s["ci"], 1, 1}, "pointwise");
  const Tensor inner =
      topi::nn::relu(topi::nn::conv2d_nchw(data, depthwise, {s["s"]}, {s["p"]}, {s["d"]}, s["ci"]));
  return te::make_program({topi::nn::relu(topi::nn::conv2d_nchw(inner, pointwise))});
}
te::Program attention(const Sizes& s) {
  const Tensor queries = input(s, {s["b"], s["m"], s["k"]}, "queries");
  const Tensor keys = input(s, {s["b"], s["n"], s["k"]}, "keys");
  const Tensor values = input(s, {s["b"], s["n"], s["k"]}, "values");
  const Tensor scores = topi::nn::softmax(topi::nn::batch_matmul(queries, keys));
  return te::make_program({topi::nn::batch_matmul(scores, values, {}, false, false)});
}
te::Program softmax(const Sizes& s) {
  return te::make_program({topi::nn::softmax(input(s, {s["m"], s["n"]}, "data"))});
}
te::Program layer_norm(const Sizes& s) {
  return te::make_program(
      {topi::nn::layer_norm(input(s, {s["m"], s["n"]}, "data"), weights(s, {s["n"]}, "gamma"),
                            weights(s, {s["n"]}, "beta"))});
}
te::Program transpose(const Sizes& s) {
  return te::make_program({topi::transpose(input(s, {s["m"], s["n"]}, "data"))});
}
te::Program row_sum(const Sizes& s) {
  return te::make_program({topi::sum(input(s, {s["m"], s["n"]}, "data"), {1})});
}
te::Program column_sum(const Sizes& s) {
  return te::make_program({topi::sum(input(s, {s["m"], s["n"]}, "data"), {0})});
}
te::Program elementwise(const Sizes& s) {
  const Tensor x = input(s, {s["m"], s["n"]}, "x"),
               residual = input(s, {s["m"], s["n"]}, "residual");
  const Tensor scale = input(s, {s["m"], 1}, "scale"), shift = input(s, {s["m"], 1}, "shift");
  const Tensor scaled = topi::add(topi::multiply(x, scale), shift);
  return te::make_program({topi::nn::relu(topi::add(scaled, residual))});
}

std::string gemm_shape(const Sizes& s) { return fmt::format("{}x{}x{}", s["m"], s["n"], s["k"]); }
std::string batch_shape(const Sizes& s) { return fmt::format("{}x {}", s["b"], gemm_shape(s)); }
std::string matrix_shape(const Sizes& s) { return fmt::format("{}x{}", s["m"], s["n"]); }
std::string window(const Sizes& s) {
  std::string text = fmt::format("{0}x{0}", s["k"]);
  if (s["s"] != 1) text += fmt::format("/{}", s["s"]);
  if (s["d"] != 1) text += fmt::format(" dilated {}", s["d"]);
  return text;
}
std::string batch_prefix(const Sizes& s) {
  return s["n"] == 1 ? std::string() : fmt::format("{}x ", s["n"]);
}
std::string planar_conv2d_shape(const Sizes& s) {
  std::string text = fmt::format("{}{}->{} at {}x{}, {}", batch_prefix(s), s["ci"], s["co"], s["h"],
                                 s["w"], window(s));
  if (s["g"] != 1) text += fmt::format(", {} groups", s["g"]);
  return text;
}
std::string conv2d_shape(const Sizes& s) {
  std::string text = planar_conv2d_shape(s);
  if (s["b"] != 0) text += fmt::format(", NCHW{}c", s["b"]);
  return text;
}
std::string data_gradient_shape(const Sizes& s) { return "data, " + planar_conv2d_shape(s); }
std::string weight_gradient_shape(const Sizes& s) { return "weight, " + planar_conv2d_shape(s); }
std::string separable_shape(const Sizes& s) {
  return fmt::format("{}{}->{} at {}x{}, {} by channel, 1x1", batch_prefix(s), s["ci"], s["co"],
                     s["h"], s["w"], window(s));
}
std::string depthwise_shape(const Sizes& s) {
  return fmt::format("{}{} at {}x{}, {}", batch_prefix(s), s["c"], s["h"], s["w"], window(s));
}

const SizeName kM = {"m", "rows"}, kN = {"n", "columns"}, kK = {"k", "terms of each sum"};
const SizeName kBatch = {"n", "images", 1}, kHeight = {"h", "height"};
const SizeName kWidth = {"w", "width; h unless given", {}, "h"};
const SizeName kStride = {"s", "stride", 1}, kDilation = {"d", "dilation", 1, "", 1, false};
const SizeName kPadding = {"p", "padding on each side", 0, "", 0};
const std::vector<SizeName> kPlanarConv2d = {kBatch,
                                             {"ci", "input channels"},
                                             kHeight,
                                             kWidth,
                                             {"co", "output channels"},
                                             {"k", "kernel height and width"},
                                             kStride,
                                             kPadding,
                                             kDilation,
                                             {"g", "groups", 1, "", 1, false}};
const std::vector<SizeName> kConv2d = [] {
  std::vector<SizeName> sizes = kPlanarConv2d;
  sizes.push_back(
      {"b", "channels in a block, of image, kernel and result; 0: NCHW", 0, "", 0, false});
  return sizes;
}();
const std::vector<SizeName> kSeparable = {kBatch,
                                          {"ci", "input channels"},
                                          kHeight,
                                          kWidth,
                                          {"co", "output channels"},
                                          {"k", "kernel height and width", 3},
                                          kStride,
                                          {"p", "padding on each side", 1, "", 0},
                                          kDilation};
const std::vector<SizeName> kDepthwise = {kBatch,
                                          {"c", "channels"},
                                          kHeight,
                                          kWidth,
                                          {"k", "kernel height and width", 3},
                                          kStride,
                                          {"p", "padding on each side", 1, "", 0},
                                          kDilation};

}  // namespace

const ElementTypes* find_types(TypeChoice choice, std::string_view name) {
  for (const TypesRow& row : kTypes) {
    if (row.choice <= choice && row.types.name == name) return &row.types;
  }
  return nullptr;
}

std::string type_names(TypeChoice choice) {
  std::vector<std::string_view> names;
  for (const TypesRow& row : kTypes) {
    if (row.choice <= choice) names.push_back(row.types.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::span<const WorkloadKind> workload_kinds() {
  static const std::vector<WorkloadKind> kinds = {
      {"gemm",
       "C[m,n] = A[m,k] B[k,n]",
       {kM, kN, kK, {"w", "1: B is weights, known when the kernel is built", 0, "", 0, false}},
       TypeChoice::Products,
       check_gemm,
       gemm,
       gemm_shape},
      {"dense",
       "C[m,n] = A[m,k] weight[n,k]",
       {kM, kN, kK},
       TypeChoice::Products,
       nothing,
       dense,
       gemm_shape},
      {"batch_gemm",
       "C[b,m,n] = A[b,m,k] B[b,k,n]",
       {{"b", "products"}, kM, kN, kK},
       TypeChoice::Products,
       nothing,
       batch_gemm,
       batch_shape},
      {"conv2d", "convolution, NCHW", kConv2d, TypeChoice::Products, check_conv2d, conv2d,
       conv2d_shape},
      {"conv2d_bias_relu",
       "convolution, bias and relu, NCHW; to bytes scaled by channel before relu", kConv2d,
       TypeChoice::Requantized, check_conv2d, conv2d_bias_relu, conv2d_shape},
      {"conv2d_data_gradient", "the gradient of a convolution's data, from its result's; NCHW",
       kPlanarConv2d, TypeChoice::Floats, check_planar_conv2d, conv2d_data_gradient,
       data_gradient_shape, "conv2d_bias_relu"},
      {"conv2d_weight_gradient", "the gradient of a convolution's weight, from its result's; NCHW",
       kPlanarConv2d, TypeChoice::Floats, check_planar_conv2d, conv2d_weight_gradient,
       weight_gradient_shape, "conv2d_bias_relu"},
      {"depthwise_conv2d", "convolution of each channel by itself, NCHW", kDepthwise,
       TypeChoice::Numbers, check_window, depthwise_conv2d, depthwise_shape},
      {"separable_conv2d",
       "convolution of each channel by itself, relu, 1x1 convolution, relu, NCHW", kSeparable,
       TypeChoice::Floats, check_window, separable_conv2d, separable_shape},
      {"attention",
       "C[b,m,k] = softmax over n of (Q[b,m,k] K[b,n,k]), times V[b,n,k]",
       {{"b", "heads"}, {"m", "queries"}, {"n", "keys"}, {"k", "width of a head"}},
       TypeChoice::Floats,
       nothing,
       attention,
       batch_shape},
      {"softmax",
       "softmax of each row",
       {kM, kN},
       TypeChoice::Floats,
       nothing,
       softmax,
       matrix_shape},
      {"layer_norm",
       "layer normalization of each row",
       {kM, kN},
       TypeChoice::Floats,
       nothing,
       layer_norm,
       matrix_shape},
      {"transpose",
       "B[n,m] = A[m,n]",
       {kM, kN},
       TypeChoice::Numbers,
       nothing,
       transpose,
       matrix_shape},
      {"row_sum", "sum of each row", {kM, kN}, TypeChoice::Numbers, nothing, row_sum, matrix_shape},
      {"column_sum",
       "sum of each column",
       {kM, kN},
       TypeChoice::Numbers,
       nothing,
       column_sum,
       matrix_shape},
      {"elementwise",
       "relu(x[m,n] * scale[m] + shift[m] + residual[m,n])",
       {kM, kN},
       TypeChoice::Numbers,
       nothing,
       elementwise,
       matrix_shape},
  };
  return kinds;
}

}  // namespace tw::autotune
