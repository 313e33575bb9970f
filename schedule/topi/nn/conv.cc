// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/nn/conv.h"

#include <fmt/format.h>

#include "ir/expr.h"
#include "schedule/topi/accumulation.h"
#include "schedule/topi/nn/conv_windows.h"
#include "schedule/topi/operator.h"

namespace tw::topi::nn {
namespace {

// "conv2d_nchw" of two spatial dimensions: TVM's names.
constexpr std::string_view kNames[] = {"conv1d_ncw", "conv2d_nchw", "conv3d_ncdhw"};

}  // namespace

Tensor conv(const Tensor& data, const Tensor& weight, const std::vector<int64_t>& strides,
            const Padding& padding, const std::vector<int64_t>& dilation, int64_t groups,
            std::optional<DType> out_type) {
  if (data.rank() < 3 || data.rank() > 5) {
    bad_shape({"conv", "data"}, fmt::format("shape {}", shape_text(data.shape())),
              "images, channels, and one to three spatial dimensions");
  }
  const size_t spatial = data.shape().size() - 2;
  const std::string_view op = kNames[spatial - 1];
  require_rank({op, "weight"}, weight, data.rank());
  if (groups < 1) bad_argument({op, "groups"}, fmt::format("{}", groups), "at least 1");
  const std::vector<Expr> in = data.shape(), kernel = weight.shape();
  const Expr group_channels = per_group({op, "data"}, in[1], groups);
  const Expr group_filters = per_group({op, "weight"}, kernel[0], groups);
  require_extent({op, "weight"}, weight, 1, group_channels);
  const ConvWindows windows(op, data, weight, spatial, strides, padding, dilation);

  const DType result = out_type.value_or(data.dtype()), type = accumulation_type(result);
  std::vector<std::string> names = {"nn", "ff"};
  std::vector<IterVar> axes = {taps(group_channels, "rc")};
  std::vector<Expr> shape = {in[0], kernel[0]};
  for (size_t d = 0; d < spatial; ++d) {
    names.push_back(spatial_names(spatial)[d]);
    axes.push_back(taps(kernel[d + 2], tap_names(spatial)[d]));
    shape.push_back(windows.positions()[d]);
  }
  const Tensor sums = te::compute(
      shape,
      [&](const std::vector<Var>& i) {
        const Var& channel = axes[0].var();
        std::vector<Expr> element = {i[0], channel}, tap = {i[1], channel};
        if (groups != 1) element[1] = floor_div(i[1], group_filters) * group_channels + channel;
        for (size_t d = 0; d < spatial; ++d) {
          element.push_back(windows.element(d, i[d + 2], axes[d + 1]));
          tap.emplace_back(axes[d + 1].var());
        }
        return te::sum(tw::cast(type, windows.padded()(element)) * tw::cast(type, weight(tap)),
                       axes);
      },
      "compute", groups == 1 ? std::string(op) : "group_" + std::string(op), {}, names);
  return converted(sums, result);
}

Tensor conv2d_nchw(const Tensor& data, const Tensor& weight, const std::vector<int64_t>& strides,
                   const Padding& padding, const std::vector<int64_t>& dilation, int64_t groups,
                   std::optional<DType> out_type) {
  require_rank({"conv2d_nchw", "data"}, data, 4);
  return conv(data, weight, strides, padding, dilation, groups, out_type);
}

namespace {

using Ints = std::vector<int64_t>;
using Type = std::optional<DType>;

struct Texts {
  ParameterText stride{"stride", "one, or one for each spatial dimension"}, padding{"padding"},
      dilation{"dilation", "distance of taps: one, or one for each spatial dimension"},
      groups{"groups", "divide C and F; a group of F reads a group of C"},
      out_dtype{"out_dtype", "of products and sums; None: that of the data", Value()};
};

struct Family {
  size_t spatial;
  std::string_view data, weight, grouped_weight;  // shapes
  std::string_view plain, group;                  // names
};
constexpr Family kFamilies[] = {
    {1, "[N, C, W]", "[F, C, KW]", "[F, C / groups, KW]", "conv1d_ncw", "group_conv1d_ncw"},
    {2, "[N, C, H, W]", "[F, C, KH, KW]", "[F, C / groups, KH, KW]", "conv2d_nchw",
     "group_conv2d_nchw"},
    {3, "[N, C, D, H, W]", "[F, C, KD, KH, KW]", "[F, C / groups, KD, KH, KW]", "conv3d_ncdhw",
     "group_conv3d_ncdhw"},
};
constexpr std::string_view kDoc =
    "Cross-correlation: [N, F, ...], each spatial extent being (in + padding before and behind - "
    "((kernel - 1) * dilation + 1)) // stride + 1. With padding a stage pad_temp stands before. "
    "ONNX Conv.";

Operator plain(const Family& f) {
  return make_operator(
      "topi.nn", f.plain,
      [f](const Tensor& data, const Tensor& weight, const Ints& strides, const Padding& border,
          const Ints& dilation, Type type) {
        require_rank({f.plain, "data"}, data, static_cast<int>(f.spatial) + 2);
        return conv(data, weight, strides, border, dilation, 1, type);
      },
      {{f.spatial == 1 ? "data" : "Input", f.data},
       {f.spatial == 1 ? "kernel" : "Filter", f.weight},
       Texts().stride,
       Texts().padding,
       Texts().dilation,
       Texts().out_dtype},
      kDoc);
}

Operator grouped(const Family& f) {
  return make_operator(
      "topi.nn", f.group,
      [f](const Tensor& data, const Tensor& weight, const Ints& strides, const Padding& border,
          const Ints& dilation, int64_t groups, Type type) {
        require_rank({f.group, "data"}, data, static_cast<int>(f.spatial) + 2);
        return conv(data, weight, strides, border, dilation, groups, type);
      },
      {{"Input", f.data},
       {"Filter", f.grouped_weight},
       Texts().stride,
       Texts().padding,
       Texts().dilation,
       Texts().groups,
       Texts().out_dtype},
      kDoc);
}

}  // namespace

std::vector<Operator> conv_rows() {
  std::vector<Operator> rows;
  for (const Family& f : kFamilies) {
    rows.push_back(plain(f));
    rows.push_back(grouped(f));
  }
  rows.push_back(make_operator(
      "topi.nn", "conv2d",
      [](const Tensor& data, const Tensor& weight, const Ints& strides, const Padding& border,
         const Ints& dilation, const std::string& layout, Type type,
         const std::string& data_layout) {
        require_layout({"conv2d", "layout"}, layout, "NCHW");
        require_layout({"conv2d", "data_layout"}, data_layout, "NCHW");
        return conv2d_nchw(data, weight, strides, border, dilation, 1, type);
      },
      {{"input", "[N, C, H, W]"},
       {"filter", "[F, C, KH, KW]"},
       {"strides", Texts().stride.doc},
       Texts().padding,
       Texts().dilation,
       {"layout", "\"NCHW\"", "NCHW"},
       Texts().out_dtype,
       {"data_layout", "what later TVM calls layout", "NCHW"}},
      kDoc));
  return rows;
}

}  // namespace tw::topi::nn
