// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/nn/conv2d.h"

#include <fmt/format.h>

#include "ir/expr.h"
#include "ir/print.h"
#include "schedule/topi/nn/pad.h"
#include "schedule/topi/operator.h"

namespace tw::topi::nn {
namespace {

// Extent `value` divided into groups; BadShape when it is known not to divide.
Expr per_group(const Place& place, const Expr& value, int64_t groups) {
  const auto constant = as_const_int(value);
  if (constant && *constant % groups != 0) {
    bad_shape(place, fmt::format("{} channels in {} groups", *constant, groups),
              "a number of channels that the groups divide");
  }
  return floor_div(value, make_const(value.dtype(), groups));
}

IterVar reduce_axis(const Expr& extent, const char* name) {
  return te::reduce_axis({make_zero(extent.dtype()), extent}, name);
}

// A kernel at all its positions over an image; rows and columns are dimensions 2 and 3 of both.
class Windows {
 public:
  // Raises what conv2d.h says, in the name of `op`.
  Windows(std::string_view op, const Tensor& data, const Tensor& weight,
          const std::vector<int64_t>& strides, const Padding& padding,
          const std::vector<int64_t>& dilation)
      : stride_(normalize_pair({op, "strides"}, strides, 1)),
        spread_(normalize_pair({op, "dilation"}, dilation, 1)),
        padded_(data) {
    const std::vector<Expr> in = data.shape(), kernel = weight.shape();
    const Expr rows = window_span(kernel[2], spread_.h),
               columns = window_span(kernel[3], spread_.w);
    const Border border = normalize_padding({op, "padding"}, padding, rows, columns);
    height_ = window_positions(in[2], rows, stride_.h, border.top + border.bottom);
    width_ = window_positions(in[3], columns, stride_.w, border.left + border.right);
    for (const Expr& extent : {height_, width_}) {
      const auto constant = as_const_int(extent);
      if (!constant || *constant > 0) continue;
      bad_shape({op, "data"},
                fmt::format("a window of {} over shape {}", shape_text(kernel), shape_text(in)),
                "a kernel no larger than the padded data");
    }
    if (!border.any()) return;
    std::vector<Expr> before(in.size(), 0), after(in.size(), 0);
    before[2] = static_cast<int>(border.top);
    before[3] = static_cast<int>(border.left);
    after[2] = static_cast<int>(border.bottom);
    after[3] = static_cast<int>(border.right);
    padded_ = pad(data, before, after, {}, "pad_temp");
  }

  const Tensor& padded() const { return padded_; }
  const Expr& height() const { return height_; }
  const Expr& width() const { return width_; }
  // What the tap ry, or rx, of the kernel sees at position y, or x.
  Expr row(const Var& y, const IterVar& ry) const { return at(y, stride_.h, ry, spread_.h); }
  Expr column(const Var& x, const IterVar& rx) const { return at(x, stride_.w, rx, spread_.w); }

 private:
  static Expr at(const Var& position, int64_t step, const IterVar& tap, int64_t distance) {
    return position * make_const(position.dtype(), step) +
           tap.var() * make_const(tap.var().dtype(), distance);
  }

  Pair stride_, spread_;
  Tensor padded_;
  Expr height_, width_;
};

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

Tensor conv2d_nchw(const Tensor& data, const Tensor& weight, const std::vector<int64_t>& strides,
                   const Padding& padding, const std::vector<int64_t>& dilation, int64_t groups,
                   std::optional<DType> out_type) {
  constexpr std::string_view kOp = "conv2d_nchw";
  require_rank({kOp, "data"}, data, 4);
  require_rank({kOp, "weight"}, weight, 4);
  if (groups < 1) bad_argument({kOp, "groups"}, fmt::format("{}", groups), "at least 1");
  const std::vector<Expr> in = data.shape(), kernel = weight.shape();
  const Expr group_channels = per_group({kOp, "data"}, in[1], groups);
  const Expr group_filters = per_group({kOp, "weight"}, kernel[0], groups);
  require_extent({kOp, "weight"}, weight, 1, group_channels);
  const Windows windows(kOp, data, weight, strides, padding, dilation);

  const DType type = out_type.value_or(data.dtype());
  const IterVar rc = reduce_axis(group_channels, "rc"), ry = reduce_axis(kernel[2], "ry"),
                rx = reduce_axis(kernel[3], "rx");
  return te::compute(
      {in[0], kernel[0], windows.height(), windows.width()},
      [&](const std::vector<Var>& i) {
        const Var &nn = i[0], &ff = i[1], &yy = i[2], &xx = i[3];
        const Expr channel =
            groups == 1 ? Expr(rc.var()) : floor_div(ff, group_filters) * group_channels + rc.var();
        const Expr element =
            windows.padded()(nn, channel, windows.row(yy, ry), windows.column(xx, rx));
        const Expr tap = weight(ff, rc.var(), ry.var(), rx.var());
        return te::sum(tw::cast(type, element) * tw::cast(type, tap), {rc, ry, rx});
      },
      "compute", groups == 1 ? "conv2d_nchw" : "group_conv2d_nchw", {}, {"nn", "ff", "yy", "xx"});
}

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
  const Windows windows(kOp, data, weight, strides, padding, dilation);

  const DType type = out_type.value_or(data.dtype());
  const IterVar rc = reduce_axis(in[1], "rc"), ry = reduce_axis(kernel[2], "ry"),
                rx = reduce_axis(kernel[3], "rx");
  std::vector<IterVar> axes{rc, ry, rx};
  if (blocks) axes.push_back(reduce_axis(in[4], "rb"));
  return te::compute(
      {in[0], kernel[0], windows.height(), windows.width(), kernel.back()},
      [&](const std::vector<Var>& i) {
        const Var &nn = i[0], &ff = i[1], &yy = i[2], &xx = i[3], &fb = i[4];
        std::vector<Expr> element{nn, rc.var(), windows.row(yy, ry), windows.column(xx, rx)};
        std::vector<Expr> tap{ff, rc.var(), ry.var(), rx.var()};
        if (blocks) element.emplace_back(axes[3].var());
        if (blocks) tap.emplace_back(axes[3].var());
        tap.emplace_back(fb);
        return te::sum(tw::cast(type, windows.padded()(element)) * tw::cast(type, weight(tap)),
                       axes);
      },
      "conv2d_NCHWc", "conv2d_NCHWc", {}, {"nn", "ff", "yy", "xx", "fb"});
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
  const Windows windows(kOp, data, weight, strides, padding, dilation);

  const DType type = out_type.value_or(data.dtype());
  const IterVar ry = reduce_axis(kernel[2], "ry"), rx = reduce_axis(kernel[3], "rx");
  return te::compute(
      {in[0], kernel[0], windows.height(), windows.width(), kernel[5]},
      [&](const std::vector<Var>& i) {
        const Var &nn = i[0], &ff = i[1], &yy = i[2], &xx = i[3], &fb = i[4];
        Expr block = ff, place = fb;
        if (!in_place) {
          const Expr filter = ff * kernel[5] + fb;
          const Expr channel = floor_div(filter, make_const(filter.dtype(), filters_per_channel));
          block = floor_div(channel, in[4]);
          place = floor_mod(channel, in[4]);
        }
        const Expr element =
            windows.padded()(nn, block, windows.row(yy, ry), windows.column(xx, rx), place);
        const Expr tap = weight(ff, 0, ry.var(), rx.var(), 0, fb);
        return te::sum(tw::cast(type, element) * tw::cast(type, tap), {ry, rx});
      },
      "depthwise_conv2d_NCHWc", "depthwise_conv2d_NCHWc", {}, {"nn", "ff", "yy", "xx", "fb"});
}

std::vector<Operator> conv2d_rows() {
  using Ints = std::vector<int64_t>;
  using Type = std::optional<DType>;
  const ParameterText stride{"stride", "one, or (vertical, horizontal)"}, padding{"padding"},
      dilation{"dilation", "distance of taps: one, or (vertical, horizontal)"},
      out_dtype{"out_dtype", "of products and sums; None: that of the data", Value()};
  constexpr std::string_view kDoc =
      "Two-dimensional cross-correlation: [N, F, OH, OW] with OH = (H + top + bottom - ((KH - 1) * "
      "dilation + 1)) // stride + 1, and OW likewise. With padding a stage pad_temp stands before. "
      "ONNX Conv.";
  return {
      make_operator(
          "topi.nn", "conv2d_nchw",
          [](const Tensor& data, const Tensor& weight, const Ints& strides, const Padding& border,
             const Ints& spread,
             Type type) { return conv2d_nchw(data, weight, strides, border, spread, 1, type); },
          {{"Input", "[N, C, H, W]"},
           {"Filter", "[F, C, KH, KW]"},
           stride,
           padding,
           dilation,
           out_dtype},
          kDoc),
      make_operator(
          "topi.nn", "group_conv2d_nchw",
          [](const Tensor& data, const Tensor& weight, const Ints& strides, const Padding& border,
             const Ints& spread, int64_t groups, Type type) {
            return conv2d_nchw(data, weight, strides, border, spread, groups, type);
          },
          {{"Input", "[N, C, H, W]"},
           {"Filter", "[F, C / groups, KH, KW]"},
           stride,
           padding,
           dilation,
           {"groups", "divide C and F; a group of F reads a group of C"},
           out_dtype},
          kDoc),
      make_operator(
          "topi.nn", "conv2d",
          [](const Tensor& data, const Tensor& weight, const Ints& strides, const Padding& border,
             const Ints& spread, const std::string& layout, Type type,
             const std::string& data_layout) {
            require_nchw({"conv2d", "layout"}, layout);
            require_nchw({"conv2d", "data_layout"}, data_layout);
            return conv2d_nchw(data, weight, strides, border, spread, 1, type);
          },
          {{"input", "[N, C, H, W]"},
           {"filter", "[F, C, KH, KW]"},
           {"strides", stride.doc},
           padding,
           dilation,
           {"layout", "\"NCHW\"", "NCHW"},
           out_dtype,
           {"data_layout", "what later TVM calls layout", "NCHW"}},
          kDoc),
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
