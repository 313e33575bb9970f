// SPDX-License-Identifier: Apache-2.0
// A kernel at all its positions over padded images, whatever the number of spatial dimensions.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/topi/common.h"

namespace tw::topi::nn {

// Names of the spatial axes of a stage, "xx" of one dimension and "zz", "yy", "xx" of three, and of
// the axes that are summed over, "rz", "ry", "rx".
std::vector<std::string> spatial_names(size_t spatial);
std::vector<std::string> tap_names(size_t spatial);
// "NCW", "NCHW", "NCDHW".
std::string image_layout_text(size_t spatial);

// Spatial dimensions are those from 2 on, of data and weight alike.
class ConvWindows {
 public:
  // Pads data in a stage "pad_temp" where there is padding. Raises what conv.h says, in the name of
  // `op`.
  ConvWindows(std::string_view op, const Tensor& data, const Tensor& weight, size_t spatial,
              const std::vector<int64_t>& strides, const Padding& padding,
              const std::vector<int64_t>& dilation);

  const Tensor& padded() const { return padded_; }
  const std::vector<Expr>& positions() const { return positions_; }
  // What the tap of a kernel sees at a position, of spatial dimension d.
  Expr element(size_t d, const Expr& position, const IterVar& tap) const;

 private:
  std::vector<int64_t> strides_, dilation_;
  Tensor padded_;
  std::vector<Expr> positions_;
};

// `extent` taps of a kernel, or channels, to be summed over.
IterVar taps(const Expr& extent, const std::string& name);
// `data` with amounts around its spatial dimensions; data itself where there are none.
Tensor pad_images(const Tensor& data, const Border& border, const Expr& value = {});
// Extent `value` divided into groups; BadShape when it is known not to divide.
Expr per_group(const Place& place, const Expr& value, int64_t groups);

}  // namespace tw::topi::nn
