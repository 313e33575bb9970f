// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/nn/conv2d_blocked.h"

#include <fmt/format.h>

#include "ir/expr.h"
#include "ir/print.h"
#include "schedule/topi/accumulation.h"
#include "schedule/topi/nn/conv_windows.h"
#include "schedule/topi/operator.h"

namespace tw::topi::nn {
namespace {

// Refuses a layout that does not name the blocks in this dimension.
void require_blocks(std::string_view op, std::string_view argument, const std::string& layout,
                    const Tensor& t, size_t dimension) {
  const std::vector<Expr> shape = t.shape();
  const std::string legal =
      fmt::format("NCHW{}c", dimension < shape.size() ? to_string(shape[dimension]) : "[x]");
  if (layout == legal) return;
  bad_argument({op, argument}, fmt::format("layout '{}' for shape {}", layout, shape_text(shape)),
               legal);
}

}  // namespace

Tensor conv2d_nchwc(const Tensor& data, const Tensor& weight, const std::vector<int64_t>& strides,
                    const Padding& padding, const std::vector<int64_t>& dilation,
                    std::optional<DType> out_type) {
  constexpr std::string_view kOp = "conv2d_NCHWc";
  const bool blocks = data.rank() != 4;  // of input channels
  if (blocks) require_rank({kOp, "data"}, data, 5);
  require_rank({kOp, "weight"}, weight, blocks ? 6 : 5);
  const std::vector<Expr> in = data.shape(), kernel = weight.shape();
  require_extent({kOp, "weight"}, weight, 1, in[1]);
  if (blocks) require_extent({kOp, "weight"}, weight, 4, in[4]);
  const ConvWindows windows(kOp, data, weight, 2, strides, padding, dilation);

  const DType result = out_type.value_or(data.dtype()), type = accumulation_type(result);
  const IterVar rc = taps(in[1], "rc"), ry = taps(kernel[2], "ry"), rx = taps(kernel[3], "rx");
  std::vector<IterVar> axes{rc, ry, rx};
  if (blocks) axes.push_back(taps(in[4], "rb"));
  const Tensor sums = te::compute(
      {in[0], kernel[0], windows.positions()[0], windows.positions()[1], kernel.back()},
      [&](const std::vector<Var>& i) {
        const Var &nn = i[0], &ff = i[1], &yy = i[2], &xx = i[3], &fb = i[4];
        std::vector<Expr> element{nn, rc.var(), windows.element(0, yy, ry),
                                  windows.element(1, xx, rx)};
        std::vector<Expr> tap{ff, rc.var(), ry.var(), rx.var()};
        if (blocks) element.emplace_back(axes[3].var());
        if (blocks) tap.emplace_back(axes[3].var());
        tap.emplace_back(fb);
        return te::sum(tw::cast(type, windows.padded()(element)) * tw::cast(type, weight(tap)),
                       axes);
      },
      "conv2d_NCHWc", "conv2d_NCHWc", {}, {"nn", "ff", "yy", "xx", "fb"});
  return converted(sums, result);
}

Tensor depthwise_conv2d_nchwc(const Tensor& data, const Tensor& weight,
                              const std::vector<int64_t>& strides, const Padding& padding,
                              const std::vector<int64_t>& dilation, std::optional<DType> out_type) {
  constexpr std::string_view kOp = "depthwise_conv2d_NCHWc";
  require_rank({kOp, "data"}, data, 5);
  require_rank({kOp, "weight"}, weight, 6);
  require_extent({kOp, "weight"}, weight, 1, 1);
  require_extent({kOp, "weight"}, weight, 4, 1);
  const std::vector<Expr> in = data.shape(), kernel = weight.shape();
  // As many filters as channels, in the same blocks: each reads the channel at its own place.
  const bool in_place = same_extent(in[1], kernel[0]) && same_extent(in[4], kernel[5]);
  int64_t filters_per_channel = 1;
  if (!in_place) {
    const auto channels = as_const_int(in[1] * in[4]),
               filters = as_const_int(kernel[0] * kernel[5]);
    if (!channels || !filters || *filters % *channels != 0) {
      bad_shape({kOp, "weight"},
                fmt::format("shape {} for data of shape {}", shape_text(kernel), shape_text(in)),
                "a multiple of the channels of data");
    }
    filters_per_channel = *filters / *channels;
  }
  const ConvWindows windows(kOp, data, weight, 2, strides, padding, dilation);

  const DType result = out_type.value_or(data.dtype()), type = accumulation_type(result);
  const IterVar ry = taps(kernel[2], "ry"), rx = taps(kernel[3], "rx");
  const Tensor sums = te::compute(
      {in[0], kernel[0], windows.positions()[0], windows.positions()[1], kernel[5]},
      [&](const std::vector<Var>& i) {
        const Var &nn = i[0], &ff = i[1], &yy = i[2], &xx = i[3], &fb = i[4];
        Expr block = ff, place = fb;
        if (!in_place) {
          const Expr filter = ff * kernel[5] + fb;
          const Expr channel = floor_div(filter, make_const(filter.dtype(), filters_per_channel));
          block = floor_div(channel, in[4]);
          place = floor_mod(channel, in[4]);
        }
        const Expr element = windows.padded()(nn, block, windows.element(0, yy, ry),
                                              windows.element(1, xx, rx), place);
        const Expr tap = weight(ff, 0, ry.var(), rx.var(), 0, fb);
        return te::sum(tw::cast(type, element) * tw::cast(type, tap), {ry, rx});
      },
      "depthwise_conv2d_NCHWc", "depthwise_conv2d_NCHWc", {}, {"nn", "ff", "yy", "xx", "fb"});
  return converted(sums, result);
}

std::vector<Operator> conv2d_blocked_rows() {
  using Ints = std::vector<int64_t>;
  using Type = std::optional<DType>;
  const ParameterText stride{"stride", "one, or (vertical, horizontal)"}, padding{"padding"},
      dilation{"dilation", "distance of taps: one, or (vertical, horizontal)"},
      out_dtype{"out_dtype", "of products and sums; None: that of the data", Value()};
  return {
      make_operator(
          "topi.nn", "conv2d_NCHWc",
          [](const Tensor& data, const Tensor& weight, const Ints& strides, const Padding& border,
             const Ints& spread, const std::string& layout, const std::string& out_layout,
             Type type) {
            require_rank({"conv2d_NCHWc", "data"}, data, 5);
            require_blocks("conv2d_NCHWc", "layout", layout, data, 4);
            require_blocks("conv2d_NCHWc", "out_layout", out_layout, weight, 5);
            return conv2d_nchwc(data, weight, strides, border, spread, type);
          },
          {{"data", "[N, C / c, H, W, c]"},
           {"kernel", "[F / f, C / c, KH, KW, c, f]"},
           stride,
           padding,
           dilation,
           {"layout", "\"NCHW16c\" where c is 16"},
           {"out_layout", "\"NCHW16c\" where f is 16"},
           out_dtype},
          "conv2d_nchw with channels in blocks, as oneDNN keeps images: [N, F / f, OH, OW, f]."),
      make_operator(
          "topi.nn", "depthwise_conv2d_NCHWc",
          [](const Tensor& data, const Tensor& weight, const Ints& strides, const Padding& border,
             const Ints& spread, const std::string& layout, const std::string& out_layout,
             Type type) {
            require_blocks("depthwise_conv2d_NCHWc", "layout", layout, data, 4);
            require_blocks("depthwise_conv2d_NCHWc", "out_layout", out_layout, weight, 5);
            return depthwise_conv2d_nchwc(data, weight, strides, border, spread, type);
          },
          {{"Input", "[N, C / c, H, W, c]"},
           {"Filter", "[F / f, 1, KH, KW, 1, f], F a multiple of C"},
           stride,
           padding,
           dilation,
           {"layout", "\"NCHW16c\" where c is 16"},
           {"out_layout", "\"NCHW16c\" where f is 16"},
           out_dtype},
          "Each channel with filters of its own, channels in blocks: [N, F / f, OH, OW, f]."),
  };
}

}  // namespace tw::topi::nn
