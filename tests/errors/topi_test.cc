// SPDX-License-Identifier: Apache-2.0
// One bad call of an operator each.
#include <gtest/gtest.h>

#include "ir/expr.h"
#include "schedule/topi/topi.h"
#include "tests/support/expect_error.h"

namespace tw::topi {
namespace {

using test::expect_error;

Tensor tensor(const std::vector<Expr>& shape, DType type = float_type(32)) {
  return te::placeholder(shape, type, "x");
}

TEST(TopiErrors, ShapesThatDoNotBroadcast) {
  const ErrorInfo e =
      expect_error(ErrorCode::BadShape, [] { add(tensor({2, 3}), tensor({2, 4})); });
  EXPECT_EQ(e.what, "add: shapes [2, 3] and [2, 4] do not go together");
  // Two variables, or a variable and a number, may differ at run time.
  const Var n = te::var("n"), m = te::var("m");
  expect_error(ErrorCode::BadShape, [&] { add(tensor({n}), tensor({m})); });
  expect_error(ErrorCode::BadShape, [&] { add(tensor({n}), tensor({4})); });
  expect_error(ErrorCode::BadShape, [] { broadcast_to(tensor({2, 3}), {3}); });
  expect_error(ErrorCode::BadShape, [] { broadcast_to(tensor({3}), {1}); });
}

TEST(TopiErrors, ElementsOfTheWrongKind) {
  expect_error(ErrorCode::TypeMismatch, [] { exp(tensor({2}, int_type(32))); });
  expect_error(ErrorCode::TypeMismatch, [] { negative(tensor({2}, bool_type())); });
  expect_error(ErrorCode::TypeMismatch, [] { nn::leaky_relu(tensor({2}, int_type(32)), 0.1); });
  expect_error(ErrorCode::TypeMismatch, [] { nn::mish(tensor({2}, int_type(32))); });
  expect_error(ErrorCode::TypeMismatch, [] { nn::rms_norm(tensor({2}, int_type(32)), {}); });
  expect_error(ErrorCode::TypeMismatch, [] { nn::l2_normalize(tensor({2}, int_type(32)), 1); });
  expect_error(ErrorCode::TypeMismatch, [] { logical_not(tensor({2})); });
  expect_error(ErrorCode::TypeMismatch,
               [] { add(tensor({2}, int_type(32)), tensor({2}, uint_type(32))); });
  expect_error(ErrorCode::TypeMismatch, [] { sum(tensor({2}, bool_type())); });
  expect_error(ErrorCode::TypeMismatch, [] { mean(tensor({2}, int_type(32))); });
  expect_error(ErrorCode::TypeMismatch, [] { nn::softmax(tensor({2}, int_type(32))); });
  expect_error(ErrorCode::TypeMismatch,
               [] { concatenate({tensor({2}), tensor({2}, int_type(32))}); });
}

TEST(TopiErrors, AxesThatAreNotThere) {
  const ErrorInfo e = expect_error(ErrorCode::BadArgument, [] { sum(tensor({2, 3}), {2}); });
  EXPECT_EQ(e.what, "sum, axis: axis 2 of a tensor of rank 2");
  EXPECT_EQ(e.legal, "axes from -2 to 1");
  expect_error(ErrorCode::BadArgument, [] { sum(tensor({2, 3}), {1, -1}); });
  expect_error(ErrorCode::BadShape, [] { sum(tensor({})); });
  expect_error(ErrorCode::BadShape, [] { argmax(tensor({3, 0}), {1}); });
  expect_error(ErrorCode::BadShape, [] { argmin(tensor({0})); });
  expect_error(ErrorCode::BadArgument, [] { transpose(tensor({2, 3}), {0}); });
  expect_error(ErrorCode::BadArgument, [] { transpose(tensor({2, 3}), {0, 0}); });
  expect_error(ErrorCode::BadArgument, [] { nn::softmax(tensor({2, 3}), 2); });
  expect_error(ErrorCode::BadArgument, [] { expand_dims(tensor({2}), 3); });
  expect_error(ErrorCode::BadArgument, [] { nn::bias_add(tensor({2}), tensor({2}), 1); });
}

TEST(TopiErrors, ShapesThatDoNotHoldTheElements) {
  expect_error(ErrorCode::BadShape, [] { reshape(tensor({2, 3}), {7}); });
  expect_error(ErrorCode::BadShape, [] { reshape(tensor({2, 3}), {-1, 4}); });
  expect_error(ErrorCode::BadShape, [] { reshape(tensor({2, 3}), {-1, -1}); });
  expect_error(ErrorCode::BadShape, [] { squeeze(tensor({2, 1}), {0}); });
  expect_error(ErrorCode::BadShape, [] { concatenate({tensor({2, 3}), tensor({2, 4})}, 0); });
  expect_error(ErrorCode::BadArgument, [] { concatenate({}); });
  expect_error(ErrorCode::BadShape, [] { nn::flatten(tensor({})); });
}

TEST(TopiErrors, WhatCannotBeSorted) {
  expect_error(ErrorCode::BadShape, [] { sort(tensor({})); });
  expect_error(ErrorCode::BadShape, [] { sort(te::placeholder({te::var("n")})); });
  expect_error(ErrorCode::BadArgument, [] { argsort(tensor({2, 3}), {}, 2); });
  expect_error(ErrorCode::BadArgument, [] { argsort(tensor({300}), {}, 0, true, int_type(8)); });
  expect_error(ErrorCode::TypeMismatch, [] { argsort(tensor({2, 3}), tensor({2})); });
  expect_error(ErrorCode::BadShape, [] { argsort(tensor({2, 3}), tensor({3}, int_type(32))); });
  const ErrorInfo e = expect_error(ErrorCode::BadArgument, [] { topk(tensor({2, 3}), 4); });
  EXPECT_EQ(e.what, "topk, k: 4 of 3 elements");
  EXPECT_EQ(e.legal, "at most 3, or 0 for all");
  expect_error(ErrorCode::BadArgument, [] { topk(tensor({3}), 1, 0, "all"); });
}

TEST(TopiErrors, BoxesAndRegionsThatAreNone) {
  using namespace vision;
  const Tensor counts = tensor({2}, int_type(32)), boxes = tensor({2, 5, 6});
  expect_error(ErrorCode::TypeMismatch,
               [] { get_valid_counts(tensor({2, 5, 6}, int_type(32)), 0); });
  expect_error(ErrorCode::BadArgument, [&] { get_valid_counts(boxes, 0, 6); });
  expect_error(ErrorCode::BadArgument,
               [&] { non_max_suppression(boxes, counts, {.coord_start = 3}); });
  expect_error(ErrorCode::TypeMismatch, [&] { non_max_suppression(boxes, tensor({2}), {}); });
  expect_error(ErrorCode::BadShape, [&] { non_max_suppression(tensor({3, 5, 6}), counts, {}); });
  expect_error(ErrorCode::BadArgument, [] { multibox_prior(tensor({1, 2, 3, 3}), {}); });
  expect_error(ErrorCode::BadArgument, [] { multibox_prior(tensor({1, 2, 3, 3}), {1}, {0}); });
  expect_error(ErrorCode::BadShape, [] {
    multibox_transform_loc(tensor({1, 3, 5}), tensor({1, 19}), tensor({1, 5, 4}));
  });
  expect_error(ErrorCode::BadShape, [] { reorg(tensor({1, 6, 4, 4}), 2); });
  expect_error(ErrorCode::BadShape, [] { region(tensor({1, 7, 2, 2}), 2, 1, 4, false); });
  expect_error(ErrorCode::BadShape,
               [] { roi_pool_nchw(tensor({1, 2, 4, 4}), tensor({3, 4}), {2}, 1); });
  expect_error(ErrorCode::BadArgument,
               [] { roi_align_nchw(tensor({1, 2, 4, 4}), tensor({3, 5}), {{0}}); });
}

TEST(TopiErrors, PartsThatAreNotThere) {
  expect_error(ErrorCode::BadArgument, [] { split(tensor({6}), int64_t{4}); });
  expect_error(ErrorCode::BadArgument, [] { split(tensor({6}), int64_t{0}); });
  expect_error(ErrorCode::BadArgument, [] { split(tensor({6}), std::vector<int64_t>{4, 2}); });
  expect_error(ErrorCode::BadArgument, [] { split(tensor({6}), std::vector<int64_t>{7}); });
  expect_error(ErrorCode::BadArgument, [] { split(tensor({6}), std::vector<int64_t>{-1}); });
  expect_error(ErrorCode::BadShape, [] { split(te::placeholder({te::var("n")}), int64_t{2}); });
  expect_error(ErrorCode::BadArgument, [] { strided_slice(tensor({6}), {0, 0}, {1, 1}); });
  expect_error(ErrorCode::BadArgument, [] { strided_slice(tensor({6}), {0}, {}); });
  expect_error(ErrorCode::BadArgument, [] { strided_slice(tensor({6}), {0}, {1}, {0}); });
  expect_error(ErrorCode::BadArgument, [] { strided_slice(tensor({6}), {0}, {1}, {1, 1}); });
  expect_error(ErrorCode::BadShape,
               [] { strided_slice(te::placeholder({te::var("n")}), {0}, {1}); });
  expect_error(ErrorCode::BadArgument, [] { flip(tensor({}), 0); });
  expect_error(ErrorCode::BadShape, [] { nn::upsampling(tensor({2, 3}), {2, 2}); });
  expect_error(ErrorCode::BadArgument, [] { nn::upsampling(tensor({1, 1, 2, 3}), {0, 2}); });
}

TEST(TopiErrors, ConvolutionsThatDoNotFit) {
  const Tensor x = tensor({1, 4, 8, 8}), w = tensor({6, 4, 3, 3});
  const auto conv = [](const Tensor& data, const Tensor& weight, std::vector<int64_t> stride,
                       std::vector<int64_t> padding, std::vector<int64_t> dilation = {1},
                       int64_t groups = 1) {
    return [=] { nn::conv2d_nchw(data, weight, stride, padding, dilation, groups); };
  };
  const ErrorInfo e = expect_error(ErrorCode::BadShape, conv(x, tensor({6, 3, 3, 3}), {1}, {0}));
  EXPECT_EQ(e.where, "");
  EXPECT_EQ(e.what, "conv2d_nchw, weight: dimension 1 of shape [6, 3, 3, 3] is 3");
  expect_error(ErrorCode::BadShape, conv(tensor({4, 8, 8}), w, {1}, {0}));
  expect_error(ErrorCode::BadShape, conv(x, tensor({6, 4, 9, 3}), {1}, {0}));
  expect_error(ErrorCode::BadShape, conv(x, tensor({6, 2, 3, 3}), {1}, {0}, {1}, 3));
  expect_error(ErrorCode::BadShape, conv(x, tensor({5, 2, 3, 3}), {1}, {0}, {1}, 2));
  expect_error(ErrorCode::BadArgument, conv(x, w, {0}, {0}));
  expect_error(ErrorCode::BadArgument, conv(x, w, {1, 1, 1}, {0}));
  expect_error(ErrorCode::BadArgument, conv(x, w, {1}, {-1}));
  expect_error(ErrorCode::BadArgument, conv(x, w, {1}, {1, 1, 1}));
  expect_error(ErrorCode::BadArgument, conv(x, w, {1}, {1}, {0}));
  expect_error(ErrorCode::BadArgument, conv(x, w, {1}, {1}, {1}, 0));
  const Tensor symbolic = tensor({6, 4, te::var("k"), 3});
  expect_error(ErrorCode::BadShape,
               [&] { nn::conv2d_nchw(x, symbolic, {1}, Padding::Name::Same); });
}

TEST(TopiErrors, ConvolutionsOfOtherDimensionsThatDoNotFit) {
  const Tensor line = tensor({1, 4, 8}), w = tensor({4, 2, 3}), volume = tensor({1, 4, 5, 6, 7});
  expect_error(ErrorCode::BadShape, [&] { nn::conv(tensor({4, 8}), w); });
  expect_error(ErrorCode::BadShape, [&] { nn::conv(line, tensor({4, 4, 3, 3})); });
  expect_error(ErrorCode::BadArgument, [&] { nn::conv(volume, tensor({2, 4, 1, 1, 1}), {1, 1}); });
  const auto transposed = [&](std::vector<int64_t> stride, std::vector<int64_t> padding,
                              std::vector<int64_t> more, int64_t groups = 1) {
    return [=, &line, &w] { nn::conv_transpose(line, w, stride, padding, more, {1}, groups); };
  };
  expect_error(ErrorCode::BadArgument, transposed({2}, {0}, {2}));
  expect_error(ErrorCode::BadArgument, transposed({0}, {0}, {0}));
  expect_error(ErrorCode::BadArgument, transposed({1}, {0}, {0}, 0));
  expect_error(ErrorCode::BadShape, transposed({1}, {5}, {0}));
  expect_error(ErrorCode::BadShape, transposed({1}, {0}, {0}, 3));
  expect_error(ErrorCode::BadShape, [&] { nn::conv_transpose(tensor({1, 3, 8}), w); });
  expect_error(ErrorCode::BadShape,
               [&] { nn::conv_transpose(line, tensor({4, 2, te::var("k")})); });
  expect_error(ErrorCode::BadShape,
               [&] { nn::conv_weight_gradient(tensor({2, 4, 6}), line, {3}); });
  expect_error(ErrorCode::BadShape,
               [&] { nn::conv_weight_gradient(tensor({1, 4, 6}), line, {3}, {1}, {0}, {1}, 3); });
}

TEST(TopiErrors, ConvolutionsOfBlocksThatDoNotFit) {
  const Tensor x = tensor({1, 2, 8, 8, 4}), w = tensor({3, 2, 3, 3, 4, 2});
  const auto conv = [](const Tensor& data, const Tensor& weight) {
    return [=] { nn::conv2d_nchwc(data, weight); };
  };
  const ErrorInfo e = expect_error(ErrorCode::BadShape, conv(x, tensor({3, 2, 3, 3, 8, 2})));
  EXPECT_EQ(e.what, "conv2d_NCHWc, weight: dimension 4 of shape [3, 2, 3, 3, 8, 2] is 8");
  expect_error(ErrorCode::BadShape, conv(x, tensor({3, 1, 3, 3, 4, 2})));
  expect_error(ErrorCode::BadShape, conv(tensor({1, 8, 8, 8}), w));
  expect_error(ErrorCode::BadShape, conv(x, tensor({6, 8, 3, 3})));
  expect_error(ErrorCode::BadShape, conv(x, tensor({3, 2, 9, 3, 4, 2})));
  const auto depthwise = [](const Tensor& data, const Tensor& weight) {
    return [=] { nn::depthwise_conv2d_nchwc(data, weight); };
  };
  expect_error(ErrorCode::BadShape, depthwise(x, w));
  expect_error(ErrorCode::BadShape, depthwise(x, tensor({3, 1, 3, 3, 1, 4})));
  expect_error(ErrorCode::BadShape, depthwise(tensor({1, 8, 8, 8}), tensor({2, 1, 3, 3, 1, 4})));
  expect_error(ErrorCode::BadShape, depthwise(x, tensor({2, 1, 9, 3, 1, 4})));
}

TEST(TopiErrors, VectorsOfChannelsThatDoNotFit) {
  const Tensor x = tensor({1, 2, 8, 8, 4}), c = tensor({2, 4});
  expect_error(ErrorCode::BadShape, [&] { nn::bias_add(x, tensor({2, 3})); });
  expect_error(ErrorCode::BadShape, [&] { nn::bias_add(x, tensor({4, 2})); });
  expect_error(ErrorCode::BadShape, [&] { nn::bias_add(x, c, 4); });
  expect_error(ErrorCode::BadShape, [&] { nn::prelu(x, tensor({2, 4, 1})); });
  expect_error(ErrorCode::BadShape, [&] { nn::batch_norm(x, c, c, tensor({2}), c); });
  expect_error(ErrorCode::BadShape,
               [] { nn::pool2d(tensor({8, 8, 8}), {2}, {2}, {1}, {0}, nn::PoolType::Max); });
}

TEST(TopiErrors, ProductsThatDoNotFit) {
  expect_error(ErrorCode::BadShape, [] { nn::dense(tensor({2, 3}), tensor({4, 5})); });
  expect_error(ErrorCode::BadShape, [] { nn::dense(tensor({2}), tensor({4, 2})); });
  expect_error(ErrorCode::BadShape, [] { nn::dense(tensor({2, 3}), tensor({4, 3}), tensor({3})); });
  expect_error(ErrorCode::BadShape, [] { matmul(tensor({2, 3}), tensor({4, 3})); });
  expect_error(ErrorCode::BadShape, [] { nn::batch_matmul(tensor({2, 3, 4}), tensor({3, 5, 4})); });
  expect_error(ErrorCode::BadShape, [] { nn::bias_add(tensor({2, 3}), tensor({2})); });
}

TEST(TopiErrors, PaddingAndPoolingThatDoNotFit) {
  expect_error(ErrorCode::BadShape, [] { nn::pad(tensor({2, 3}), {1}); });
  expect_error(ErrorCode::BadShape, [] { nn::pad(tensor({2}), {-1}); });
  const auto pool = [](const Tensor& x, int64_t kernel, int64_t stride) {
    return [=] { nn::pool2d(x, {kernel}, {stride}, {1}, {0}, nn::PoolType::Average); };
  };
  expect_error(ErrorCode::BadShape, pool(tensor({4, 8, 8}), 2, 1));
  expect_error(ErrorCode::BadShape, pool(tensor({1, 4, 8, 8}), 9, 1));
  expect_error(ErrorCode::BadArgument, pool(tensor({1, 4, 8, 8}), 0, 1));
  expect_error(ErrorCode::BadArgument, pool(tensor({1, 4, 8, 8}), 2, 0));
  expect_error(ErrorCode::TypeMismatch, pool(tensor({1, 4, 8, 8}, int_type(32)), 2, 1));
  expect_error(ErrorCode::BadShape, [] { nn::global_pool(tensor({4}), nn::PoolType::Max); });
  expect_error(ErrorCode::BadArgument,
               [] { nn::pool(tensor({1, 4, 8}), 1, {.output_size = {0}}); });
  expect_error(ErrorCode::BadShape,
               [] { nn::pool(tensor({1, 4, te::var("n")}), 1, {.output_size = {2}}); });
  expect_error(ErrorCode::BadArgument,
               [] { nn::pool(tensor({1, 4, 8, 8, 8}), 3, {.kernel = {2, 2}}); });
}

TEST(TopiErrors, StatisticsThatDoNotFit) {
  const Tensor x = tensor({2, 3, 4}), three = tensor({3}), four = tensor({4});
  expect_error(ErrorCode::BadShape, [&] { nn::layer_norm(x, three, four); });
  expect_error(ErrorCode::BadShape, [&] { nn::layer_norm(x, four, four, {1, 2}); });
  expect_error(ErrorCode::BadShape, [&] { nn::batch_norm(x, three, four, three, three); });
  expect_error(ErrorCode::BadShape, [&] { nn::prelu(x, four); });
}

TEST(TopiErrors, PlacesThatAreNotThere) {
  const Tensor x = tensor({3, 4}), at = tensor({2}, int_type(32));
  const ErrorInfo e = expect_error(ErrorCode::TypeMismatch, [&] { take(x, tensor({2}), 0); });
  EXPECT_EQ(e.what, "take: indices are float32");
  expect_error(ErrorCode::BadArgument, [&] { take(x, at, 2); });
  expect_error(ErrorCode::BadArgument, [&] { take(x, at, 0, 1); });
  expect_error(ErrorCode::BadArgument, [&] { take(x, at, 0, 0, "raise"); });
  expect_error(ErrorCode::BadShape, [&] { take(x, at, 1, 1); });
  expect_error(ErrorCode::BadShape, [&] { take(tensor({0, 4}), at, 0); });
  expect_error(ErrorCode::BadShape, [&] { gather(x, 0, at); });
  expect_error(ErrorCode::BadShape, [&] { gather(x, 0, tensor({2, 5}, int_type(32))); });
  expect_error(ErrorCode::BadShape, [&] { gather_nd(x, tensor({}, int_type(32))); });
  expect_error(ErrorCode::BadShape, [&] { gather_nd(x, tensor({3, 2}, int_type(32))); });
  expect_error(ErrorCode::BadArgument, [&] { gather_nd(x, at, 1); });
  expect_error(ErrorCode::BadArgument, [&] { one_hot(at, 1, 0, -1, 0, float_type(32)); });
  expect_error(ErrorCode::TypeMismatch, [&] { where(x, x, tensor({3, 4}, int_type(32))); });
  expect_error(ErrorCode::BadShape, [&] { where(tensor({5}), x, x); });
  expect_error(ErrorCode::BadArgument, [&] { unravel_index(at, {2, 0}); });
}

TEST(TopiErrors, UpdatesThatDoNotFit) {
  const Tensor x = tensor({3, 4}), at = tensor({2, 4}, int_type(32)), updates = tensor({2, 4});
  const ErrorInfo e =
      expect_error(ErrorCode::BadShape, [&] { scatter_elements(x, at, tensor({2, 3})); });
  EXPECT_EQ(e.what, "scatter_elements, updates: shape [2, 3] for indices of shape [2, 4]");
  expect_error(ErrorCode::BadShape, [&] { scatter_elements(tensor({3, 3}), at, updates); });
  expect_error(ErrorCode::BadArgument, [&] { scatter_elements(x, at, updates, 2); });
  expect_error(ErrorCode::BadArgument, [&] { scatter_elements(x, at, updates, 0, "sub"); });
  expect_error(ErrorCode::TypeMismatch, [&] { scatter_elements(x, updates, updates); });
  expect_error(ErrorCode::TypeMismatch,
               [&] { scatter_elements(x, at, tensor({2, 4}, int_type(8))); });
  expect_error(ErrorCode::BadShape,
               [&] { scatter_elements(tensor({te::var("n"), 4}), at, updates); });
  expect_error(ErrorCode::BadShape, [&] { scatter_elements(tensor({0, 4}), at, updates); });
  expect_error(ErrorCode::BadShape, [&] { scatter_nd(x, at, tensor({4, 1})); });
  expect_error(ErrorCode::BadShape, [&] { scatter_nd(x, tensor({3, 2}, int_type(32)), updates); });
}

TEST(TopiErrors, WalksThatCannotBe) {
  const Tensor x = tensor({3, 4});
  expect_error(ErrorCode::BadArgument, [&] { cumsum(x, 2); });
  expect_error(ErrorCode::TypeMismatch, [] { cumsum(tensor({2}, bool_type()), 0); });
  expect_error(ErrorCode::BadShape, [] { cumprod(tensor({te::var("n")}), 0); });
  expect_error(ErrorCode::BadShape, [&] { linear_recurrence(x, tensor({3, 5}), 0); });
  expect_error(ErrorCode::TypeMismatch,
               [&] { linear_recurrence(x, tensor({3, 4}, int_type(32)), 0); });
  expect_error(ErrorCode::BadArgument,
               [] { recurrence_named({"linear_recurrence", "form"}, "x"); });
}

TEST(TopiErrors, ElementsThatCannotMove) {
  const Tensor x = tensor({3, 4}), images = tensor({1, 6, 4, 4});
  expect_error(ErrorCode::BadArgument, [&] { tile(x, {-1}); });
  expect_error(ErrorCode::BadArgument, [&] { repeat(x, -1); });
  expect_error(ErrorCode::BadArgument, [&] { repeat(x, 2, 2); });
  expect_error(ErrorCode::BadArgument, [] { stack({}); });
  expect_error(ErrorCode::BadShape, [&] { stack({x, tensor({3, 5})}); });
  expect_error(ErrorCode::TypeMismatch, [&] { stack({x, tensor({3, 4}, int_type(8))}); });
  expect_error(ErrorCode::BadArgument, [&] { roll(x, {1}, {0, 1}); });
  expect_error(ErrorCode::BadArgument,
               [&] { reverse_sequence(x, tensor({3}, int_type(32)), 0, 0); });
  expect_error(ErrorCode::BadShape, [&] { reverse_sequence(x, tensor({4}, int_type(32))); });
  expect_error(ErrorCode::BadArgument, [&] { compress(x, {1, 0, 0, 1}, 0); });
  expect_error(ErrorCode::BadArgument, [] {
    std::vector<int64_t> every_other(2050);
    for (size_t k = 0; k < every_other.size(); k += 2) every_other[k] = 1;
    compress(tensor({2050}), every_other, 0);
  });
  expect_error(ErrorCode::BadShape, [&] { nn::depth_to_space(images, 2); });
  expect_error(ErrorCode::BadShape, [&] { nn::space_to_depth(images, 3); });
  expect_error(ErrorCode::BadArgument, [&] { nn::space_to_depth(images, 0); });
  expect_error(ErrorCode::BadArgument, [&] { nn::space_to_depth(images, 2, "NCWH"); });
  expect_error(ErrorCode::BadArgument, [&] { nn::space_to_depth(images, 2, "NCHW", "RCD"); });
}

TEST(TopiErrors, MatricesThatCannotBe) {
  expect_error(ErrorCode::BadArgument, [] { arange(0, 1, 0, float_type(32)); });
  expect_error(ErrorCode::BadArgument, [] { arange(0, 1e12, 1, float_type(32)); });
  expect_error(ErrorCode::BadArgument, [] { eye(-1, 2, 0, float_type(32)); });
  expect_error(ErrorCode::BadShape, [] { diag(tensor({})); });
  expect_error(ErrorCode::BadShape, [] { trilu(tensor({3})); });
  expect_error(ErrorCode::BadShape, [] { matrix_set_diag(tensor({3, 4}), tensor({4})); });
  expect_error(ErrorCode::BadShape, [] { meshgrid({tensor({2, 3})}); });
  expect_error(ErrorCode::BadArgument, [] { meshgrid({tensor({2})}, "ji"); });
  expect_error(ErrorCode::TypeMismatch, [] { logsumexp(tensor({2}, int_type(32))); });
  expect_error(ErrorCode::TypeMismatch, [] { variance(tensor({2}, int_type(32))); });
  expect_error(ErrorCode::BadArgument, [] { norm(tensor({2}), 3); });
}

TEST(TopiErrors, NonlinearitiesNormsAndEinsum) {
  expect_error(ErrorCode::BadArgument, [] { nn::celu(tensor({2}), 0); });
  expect_error(ErrorCode::BadArgument, [] { nn::softplus(tensor({2}), 0); });
  expect_error(ErrorCode::BadArgument, [] { nn::gelu(tensor({2}), "sigmoid"); });
  expect_error(ErrorCode::BadArgument, [] { nn::hardmax(tensor({2}), 1); });
  expect_error(ErrorCode::BadArgument, [] { nn::l2_normalize(tensor({2}), 1, {1}); });
  expect_error(ErrorCode::BadShape, [] { nn::rms_norm(tensor({2, 3}), tensor({2})); });
  expect_error(ErrorCode::BadArgument, [] { einsum("ij->k", {tensor({2, 3})}); });
  expect_error(ErrorCode::BadArgument, [] { einsum("i", {}); });
  expect_error(ErrorCode::BadShape, [] { einsum("ij,jk", {tensor({2, 3}), tensor({4, 5})}); });
  expect_error(ErrorCode::BadShape, [] { nn::batch_matmul(tensor({2, 3, 4}), tensor({5, 6, 4})); });
  expect_error(ErrorCode::BadShape, [] { nn::batch_matmul(tensor({4}), tensor({2, 4})); });
}

TEST(TopiErrors, PositionsThatNoImageIsReadAt) {
  const Tensor images = tensor({2, 3, 5, 4}), grid = tensor({2, 2, 7, 7});
  const auto sampled = [&](const Tensor& x, const Tensor& at, const image::GridSample& how) {
    return [=] { image::grid_sample(x, at, how); };
  };
  expect_error(ErrorCode::BadArgument, sampled(images, grid, {.method = "cubic"}));
  expect_error(ErrorCode::BadArgument, sampled(images, grid, {.padding = "wrap"}));
  expect_error(ErrorCode::BadArgument,
               sampled(tensor({2, 3, 5, 4, 6}), tensor({2, 3, 1, 1, 1}), {.method = "bicubic"}));
  expect_error(ErrorCode::BadShape, sampled(tensor({3, 5, 4}), grid, {}));
  expect_error(ErrorCode::BadShape, sampled(images, tensor({2, 3, 7, 7}), {}));
  expect_error(ErrorCode::BadShape, sampled(images, tensor({1, 2, 7, 7}), {}));
  expect_error(ErrorCode::BadShape, sampled(tensor({2, 3, 0, 4}), grid, {}));
  expect_error(ErrorCode::TypeMismatch, sampled(tensor({2, 3, 5, 4}, int_type(32)), grid, {}));
  expect_error(ErrorCode::BadArgument, [] { image::affine_grid(tensor({1, 2, 3}), {4}); });
  expect_error(ErrorCode::BadArgument, [] { image::affine_grid(tensor({1, 2, 3}), {4, -1}); });
  expect_error(ErrorCode::BadShape, [] { image::affine_grid(tensor({1, 3, 4}), {4, 4}); });
}

TEST(TopiErrors, BoxesAndScoresThatDoNotGoTogether) {
  const auto suppressed = [](const Tensor& boxes, const Tensor& scores) {
    return [=] { vision::all_class_non_max_suppression(boxes, scores, {}); };
  };
  expect_error(ErrorCode::BadShape, suppressed(tensor({2, 9, 5}), tensor({2, 3, 9})));
  expect_error(ErrorCode::BadShape, suppressed(tensor({2, 9, 4}), tensor({1, 3, 9})));
  expect_error(ErrorCode::BadShape, suppressed(tensor({2, 9, 4}), tensor({2, 3, 8})));
  expect_error(ErrorCode::TypeMismatch,
               suppressed(tensor({2, 9, 4}), tensor({2, 3, 9}, int_type(32))));
}

}  // namespace
}  // namespace tw::topi
