// SPDX-License-Identifier: Apache-2.0
// What schedules and printed IR see of topi: stages, names, axes, conditions, shapes.
#include <gtest/gtest.h>

#include "ir/arithmetic/analyzer.h"
#include "ir/expr.h"
#include "ir/print.h"
#include "schedule/te/compute.h"
#include "schedule/te/text.h"
#include "schedule/topi/topi.h"

namespace tw::topi {
namespace {

Tensor tensor(const std::vector<Expr>& shape, const std::string& name = "x",
              DType type = float_type(32)) {
  return te::placeholder(shape, type, name);
}
const te::ComputeNode& node(const Tensor& t) { return *te::as_op<te::ComputeNode>(t.op()); }
std::string body(const Tensor& t) { return to_string(node(t).body[0]); }
std::string axes(const Tensor& t) {
  std::string names;
  for (const IterVar& a : node(t).all_axes) names += (names.empty() ? "" : " ") + a.name();
  return names;
}
// Names of the computes behind `t`, producers first.
std::string stages(const Tensor& t) {
  std::string names;
  for (const te::Operation& op : te::operations({t})) {
    if (te::as_op<te::ComputeNode>(op)) names += (names.empty() ? "" : " ") + op.name();
  }
  return names;
}

TEST(TopiStructure, PaddedConvolutionReadsAsInTheSeeds) {
  const Tensor data = tensor({7, 3, 7, 9}, "input0"), weight = tensor({3, 3, 5, 5}, "input1");
  const Tensor conv = nn::conv2d_nchw(data, weight, {1, 1}, {2, 2});
  EXPECT_EQ(stages(conv), "pad_temp compute");
  EXPECT_EQ(axes(conv), "nn ff yy xx rc ry rx");
  EXPECT_EQ(shape_text(conv.shape()), "[7, 3, 7, 9]");
  EXPECT_EQ(node(conv).tag, "conv2d_nchw");
  const Tensor pad = conv.op()->input_tensors()[0];
  EXPECT_EQ(shape_text(pad.shape()), "[7, 3, 11, 13]");
  EXPECT_EQ(axes(pad), "i0 i1 i2 i3");
  EXPECT_EQ(body(pad),
            "tvm_if_then_else(((((2 <= i2) && (i2 < 9)) && (2 <= i3)) && (i3 < 11)), "
            "input0(i0, i1, (i2 - 2), (i3 - 2)), 0.000000f)");
  const Expr condition = as<Call>(node(pad).body[0])->args[0];
  EXPECT_EQ(to_string(simplify(condition)), to_string(condition));
  EXPECT_EQ(to_string(as<Reduce>(node(conv).body[0])->source[0]),
            "(pad_temp(nn, rc, (yy + ry), (xx + rx))*input1(ff, rc, ry, rx))");
}

TEST(TopiStructure, ConvolutionWithoutPaddingHasNoPadStage) {
  EXPECT_EQ(stages(nn::conv2d_nchw(tensor({1, 3, 7, 7}), tensor({4, 3, 3, 3}))), "compute");
}

TEST(TopiStructure, ConvolutionShapes) {
  const auto shape = [](std::vector<int64_t> stride, std::vector<int64_t> padding,
                        std::vector<int64_t> dilation) {
    const Tensor data = tensor({1, 3, 224, 112}), weight = tensor({64, 3, 7, 3});
    return shape_text(nn::conv2d_nchw(data, weight, stride, padding, dilation).shape());
  };
  EXPECT_EQ(shape({2}, {3}, {1}), "[1, 64, 112, 58]");
  EXPECT_EQ(shape({1, 2}, {3, 1}, {1}), "[1, 64, 224, 56]");
  EXPECT_EQ(shape({1}, {0, 1, 2, 3}, {2, 1}), "[1, 64, 214, 114]");
}

TEST(TopiStructure, ConvolutionOfChannelsInBlocks) {
  const Tensor data = tensor({1, 4, 9, 9, 16}, "x"), weight = tensor({2, 4, 3, 3, 16, 8}, "w");
  const Tensor conv = nn::conv2d_nchwc(data, weight, {2}, {1});
  EXPECT_EQ(stages(conv), "pad_temp conv2d_NCHWc");
  EXPECT_EQ(axes(conv), "nn ff yy xx fb rc ry rx rb");
  EXPECT_EQ(shape_text(conv.shape()), "[1, 2, 5, 5, 8]");
  EXPECT_EQ(node(conv).tag, "conv2d_NCHWc");
  EXPECT_EQ(to_string(as<Reduce>(node(conv).body[0])->source[0]),
            "(pad_temp(nn, rc, ((yy*2) + ry), ((xx*2) + rx), rb)*w(ff, rc, ry, rx, rb, fb))");
}

TEST(TopiStructure, ConvolutionOfSymbolicBatchAndWiderSums) {
  const Var n = te::var("n");
  const Tensor conv =
      nn::conv2d_nchw(tensor({n, 3, 7, 7}, "x", int_type(8)),
                      tensor({4, 3, 3, 3}, "w", int_type(8)), {1}, {1}, {1}, 1, int_type(32));
  EXPECT_EQ(shape_text(conv.shape()), "[n, 4, 7, 7]");
  EXPECT_EQ(conv.dtype(), int_type(32));
}

TEST(TopiStructure, BroadcastShapes) {
  const Var n = te::var("n");
  const auto shape = [](const std::vector<Expr>& a, const std::vector<Expr>& b) {
    return shape_text(broadcast_shape(a, b));
  };
  EXPECT_EQ(shape({2, 3}, {2, 3}), "[2, 3]");
  EXPECT_EQ(shape({2, 1, 4}, {3, 1}), "[2, 3, 4]");
  EXPECT_EQ(shape({}, {3}), "[3]");
  EXPECT_EQ(shape({n, 1}, {1, 5}), "[n, 5]");
  EXPECT_EQ(shape({n * 2}, {n * 2}), "[(n*2)]");
  const Tensor sum = add(tensor({n, 1}, "a"), tensor({4, 1, 5}, "b"));
  EXPECT_EQ(body(sum), "(a(i1, 0) + b(i0, 0, i2))");
}

TEST(TopiStructure, PaddingByName) {
  using Name = Padding::Name;
  const auto shape = [](const Expr& kernel, const Padding& padding, int64_t dilation) {
    return shape_text(
        nn::conv2d_nchw(tensor({1, 4, 9, 8}), tensor({6, 4, kernel, 3}), {1}, padding, {dilation})
            .shape());
  };
  EXPECT_EQ(shape(3, Name::Same, 1), "[1, 6, 9, 8]");
  EXPECT_EQ(shape(3, Name::Same, 2), "[1, 6, 9, 8]");
  EXPECT_EQ(shape(3, Name::Valid, 1), "[1, 6, 7, 6]");
  EXPECT_EQ(shape(3, {1, 0}, 1), "[1, 6, 9, 6]");
  EXPECT_EQ(shape(3, {1, 0, 0, 2}, 1), "[1, 6, 8, 8]");
  // Where it is odd, the top and the left have one more.
  const Border border = normalize_padding({"", ""}, Name::Same, {4, 2});
  EXPECT_EQ(border.before, (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(border.after, (std::vector<int64_t>{1, 0}));
}

TEST(TopiStructure, ElementwiseFamiliesAreTables) {
  EXPECT_EQ(find_unary("tanh")->apply(tensor({4}), "mine", "tag").name(), "mine");
  EXPECT_EQ(find_unary("unknown"), nullptr);
  EXPECT_EQ(find_binary("maximum")->doc, "the greater, NaN where one is; NumPy maximum");
  EXPECT_EQ(exp(tensor({4})).name(), "T_exp");
  EXPECT_EQ(node(exp(tensor({4}))).tag, "elemwise");
  EXPECT_EQ(node(add(tensor({4}), tensor({4}))).tag, "broadcast");
  EXPECT_GE(unary_operators().size(), 20u);
  EXPECT_GE(binary_operators().size(), 20u);
}

TEST(TopiStructure, SoftmaxIsFourStages) {
  const Tensor s = nn::softmax(tensor({2, 3, 4}), 1);
  EXPECT_EQ(stages(s), "T_softmax_maxelem T_softmax_exp T_softmax_expsum T_softmax_norm");
  EXPECT_EQ(std::get<int64_t>(node(s).attributes.at("axis")), 1);
  EXPECT_EQ(body(s), "(T_softmax_exp(i0, i1, i2)*(1.000000f/T_softmax_expsum(i0, i2)))");
}

TEST(TopiStructure, ReductionsKeepOrDropDimensions) {
  const Tensor x = tensor({2, 3, 4});
  EXPECT_EQ(shape_text(sum(x).shape()), "[]");
  EXPECT_EQ(shape_text(sum(x, {1}).shape()), "[2, 4]");
  EXPECT_EQ(shape_text(sum(x, {-1, 0}, true).shape()), "[1, 3, 1]");
  EXPECT_EQ(sum(x, {1}).name(), "x_red");
  EXPECT_EQ(axes(sum(x, {1})), "i0 i1 k1");
  EXPECT_EQ(stages(argmax(x, {1})), "x_red_temp x_red");
  EXPECT_EQ(argmax(x, {1}).dtype(), int_type(32));
}

TEST(TopiStructure, ReshapeFindsTheOpenExtent) {
  const Var n = te::var("n");
  EXPECT_EQ(shape_text(reshape(tensor({2, 3, 4}), {-1, 6}).shape()), "[4, 6]");
  EXPECT_EQ(shape_text(nn::flatten(tensor({n, 3, 4})).shape()), "[n, 12]");
  EXPECT_EQ(shape_text(squeeze(tensor({1, 3, 1})).shape()), "[3]");
  EXPECT_EQ(shape_text(expand_dims(tensor({3}), -1, 2).shape()), "[3, 1, 1]");
}

TEST(TopiStructure, PoolingShapes) {
  const auto shape = [](std::vector<int64_t> kernel, std::vector<int64_t> stride,
                        std::vector<int64_t> padding, nn::Rounding rounding) {
    const Tensor x = tensor({1, 8, 10, 7});
    return shape_text(
        nn::pool2d(x, kernel, stride, {1}, padding, nn::PoolType::Max, rounding).shape());
  };
  using enum nn::Rounding;
  EXPECT_EQ(shape({2}, {2}, {0}, Down), "[1, 8, 5, 3]");
  EXPECT_EQ(shape({2}, {2}, {0}, Up), "[1, 8, 5, 4]");
  EXPECT_EQ(shape({3}, {2}, {1}, Down), "[1, 8, 5, 4]");
  EXPECT_EQ(shape({3, 1}, {1, 3}, {1, 0}, Down), "[1, 8, 10, 3]");
  EXPECT_EQ(shape({1}, {3}, {0}, Up), "[1, 8, 4, 3]");
  EXPECT_EQ(shape({1}, {4}, {0}, Up), "[1, 8, 4, 3]");
  // The fourth row of windows would begin behind the data.
  EXPECT_EQ(shape({1}, {4}, {0}, UpInside), "[1, 8, 3, 2]");
}

}  // namespace
}  // namespace tw::topi
