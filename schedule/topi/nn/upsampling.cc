// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/nn/upsampling.h"

#include <fmt/format.h>

#include "ir/expr.h"
#include "schedule/topi/image/resize.h"
#include "schedule/topi/operator.h"

namespace tw::topi::nn {

Tensor upsampling(const Tensor& data, const std::vector<int64_t>& scales, const std::string& name,
                  const std::string& tag) {
  require_images({"upsampling", "data"}, data, scales.size());
  std::vector<Expr> shape = data.shape();
  for (size_t d = 0; d < scales.size(); ++d) {
    if (scales[d] < 1) {
      bad_argument({"upsampling", "scale"}, fmt::format("({})", fmt::join(scales, ", ")),
                   "at least 1");
    }
    shape[d + 2] = shape[d + 2] * make_const(shape[d + 2].dtype(), scales[d]);
  }
  return te::compute(
      shape,
      [&](const std::vector<Var>& i) {
        std::vector<Expr> position = to_exprs(i);
        for (size_t d = 0; d < scales.size(); ++d) {
          position[d + 2] = floor_div(i[d + 2], make_const(i[d + 2].dtype(), scales[d]));
        }
        return data(position);
      },
      name, tag);
}

namespace {

// Pixels as they are, or between them; in the latter case extents are constant.
Tensor scaled(std::string_view op, const Tensor& data, const std::vector<int64_t>& scales,
              const std::string& method, std::string_view linear, const std::string& coordinates) {
  if (method == "nearest_neighbor") return upsampling(data, scales);
  if (method != linear) {
    bad_argument({op, "method"}, fmt::format("unknown method '{}'", method),
                 fmt::format("nearest_neighbor, {}", linear));
  }
  std::vector<int64_t> size;
  for (size_t d = 0; d < scales.size(); ++d) {
    const auto extent = as_const_int(data.shape()[d + 2]);
    if (!extent) {
      bad_shape({op, "data"}, fmt::format("shape {}", shape_text(data.shape())),
                "constant spatial extents");
    }
    size.push_back(*extent * scales[d]);
  }
  return image::resize(data, size, {.coordinates = coordinates});
}

}  // namespace

std::vector<Operator> upsampling_rows() {
  return {
      make_operator(
          "topi.nn", "upsampling",
          [](const Tensor& data, int64_t scale_h, int64_t scale_w, const std::string& layout,
             const std::string& method, bool align_corners) {
            require_layout({"upsampling", "layout"}, layout, "NCHW");
            require_rank({"upsampling", "data"}, data, 4);
            return scaled("upsampling", data, {scale_h, scale_w}, method, "bilinear",
                          align_corners ? "align_corners" : "asymmetric");
          },
          {{"data", "[N, C, H, W]"},
           {"scale_h", "1 or more"},
           {"scale_w", "1 or more"},
           {"layout", "\"NCHW\"", "NCHW"},
           {"method", "\"nearest_neighbor\" or \"bilinear\"", "nearest_neighbor"},
           {"align_corners", "whether the outermost pixels of both images lie on each other",
            false}},
          "Each pixel scale_h times below itself and scale_w times beside: [N, C, H * scale_h, W * "
          "scale_w]. ONNX Resize, nearest."),
      make_operator(
          "topi.nn", "upsampling3d",
          [](const Tensor& data, int64_t scale_d, int64_t scale_h, int64_t scale_w,
             const std::string& layout, const std::string& method, const std::string& coordinates) {
            require_layout({"upsampling3d", "layout"}, layout, "NCDHW");
            require_rank({"upsampling3d", "data"}, data, 5);
            return scaled("upsampling3d", data, {scale_d, scale_h, scale_w}, method, "trilinear",
                          coordinates);
          },
          {{"data", "[N, C, D, H, W]"},
           {"scale_d", "1 or more"},
           {"scale_h", "1 or more"},
           {"scale_w", "1 or more"},
           {"layout", "\"NCDHW\"", "NCDHW"},
           {"method", "\"nearest_neighbor\" or \"trilinear\"", "nearest_neighbor"},
           {"coordinate_transformation_mode", "of trilinear: as resize3d has it", "half_pixel"}},
          "Each element so many times along each spatial dimension."),
  };
}

}  // namespace tw::topi::nn
