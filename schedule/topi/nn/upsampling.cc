// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/nn/upsampling.h"

#include <fmt/format.h>

#include "ir/expr.h"
#include "schedule/topi/operator.h"

namespace tw::topi::nn {

Tensor upsampling(const Tensor& data, int64_t scale_h, int64_t scale_w, const std::string& name,
                  const std::string& tag) {
  require_images({"upsampling", "data"}, data);
  if (scale_h < 1 || scale_w < 1) {
    bad_argument({"upsampling", "scale"}, fmt::format("({}, {})", scale_h, scale_w), "at least 1");
  }
  const auto scale = [&](size_t d, const Expr& like) {
    return make_const(like.dtype(), d == 2 ? scale_h : scale_w);
  };
  std::vector<Expr> shape = data.shape();
  for (size_t d : {2u, 3u}) shape[d] = shape[d] * scale(d, shape[d]);
  return te::compute(
      shape,
      [&](const std::vector<Var>& i) {
        std::vector<Expr> position = to_exprs(i);
        for (size_t d : {2u, 3u}) position[d] = floor_div(i[d], scale(d, i[d]));
        return data(position);
      },
      name, tag);
}

std::vector<Operator> upsampling_rows() {
  return {make_operator(
      "topi.nn", "upsampling",
      [](const Tensor& data, int64_t scale_h, int64_t scale_w, const std::string& layout,
         const std::string& method) {
        require_nchw({"upsampling", "layout"}, layout);
        require_rank({"upsampling", "data"}, data, 4);
        if (method != "nearest_neighbor") {
          bad_argument({"upsampling", "method"}, fmt::format("unknown method '{}'", method),
                       "nearest_neighbor");
        }
        return upsampling(data, scale_h, scale_w);
      },
      {{"data", "[N, C, H, W]"},
       {"scale_h", "1 or more"},
       {"scale_w", "1 or more"},
       {"layout", "\"NCHW\"", "NCHW"},
       {"method", "\"nearest_neighbor\"", "nearest_neighbor"}},
      "Each pixel scale_h times below itself and scale_w times beside: [N, C, H * scale_h, W * "
      "scale_w]. ONNX Resize, nearest.")};
}

}  // namespace tw::topi::nn
