// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/nn/conv_windows.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/expr.h"
#include "schedule/topi/nn/pad.h"

namespace tw::topi::nn {
namespace {

// The last of `count` letters, each in a name.
std::vector<std::string> last_of(std::string_view pattern, size_t count) {
  constexpr std::string_view kLetters = "zyx";
  std::vector<std::string> names;
  for (char letter : kLetters.substr(kLetters.size() - count)) {
    std::string name(pattern);
    std::ranges::replace(name, '?', letter);
    names.push_back(name);
  }
  return names;
}

}  // namespace

std::vector<std::string> spatial_names(size_t spatial) { return last_of("??", spatial); }
std::vector<std::string> tap_names(size_t spatial) { return last_of("r?", spatial); }

std::string image_layout_text(size_t spatial) {
  return "NC" + std::string("DHW").substr(3 - spatial);
}

IterVar taps(const Expr& extent, const std::string& name) {
  return te::reduce_axis({make_zero(extent.dtype()), extent}, name);
}

Expr per_group(const Place& place, const Expr& value, int64_t groups) {
  const auto constant = as_const_int(value);
  if (constant && *constant % groups != 0) {
    bad_shape(place, fmt::format("{} channels in {} groups", *constant, groups),
              "a number of channels that the groups divide");
  }
  return floor_div(value, make_const(value.dtype(), groups));
}

Tensor pad_images(const Tensor& data, const Border& border, const Expr& value) {
  if (!border.any()) return data;
  std::vector<Expr> before(data.shape().size(), 0), after = before;
  for (size_t d = 0; d < border.before.size(); ++d) {
    before[d + 2] = static_cast<int>(border.before[d]);
    after[d + 2] = static_cast<int>(border.after[d]);
  }
  return pad(data, before, after, value, "pad_temp");
}

ConvWindows::ConvWindows(std::string_view op, const Tensor& data, const Tensor& weight,
                         size_t spatial, const std::vector<int64_t>& strides,
                         const Padding& padding, const std::vector<int64_t>& dilation)
    : strides_(normalize_steps({op, "strides"}, strides, spatial, 1)),
      dilation_(normalize_steps({op, "dilation"}, dilation, spatial, 1)) {
  const std::vector<Expr> in = data.shape(), kernel = weight.shape();
  std::vector<Expr> spans;
  for (size_t d = 0; d < spatial; ++d) spans.push_back(window_span(kernel[d + 2], dilation_[d]));
  const Border border = normalize_padding({op, "padding"}, padding, spans);
  for (size_t d = 0; d < spatial; ++d) {
    positions_.push_back(
        window_positions(in[d + 2], spans[d], strides_[d], border.before[d] + border.after[d]));
    const auto constant = as_const_int(positions_[d]);
    if (!constant || *constant > 0) continue;
    bad_shape({op, "data"},
              fmt::format("a window of {} over shape {}", shape_text(kernel), shape_text(in)),
              "a kernel no larger than the padded data");
  }
  padded_ = pad_images(data, border);
}

Expr ConvWindows::element(size_t d, const Expr& position, const IterVar& tap) const {
  return position * make_const(position.dtype(), strides_[d]) +
         tap.var() * make_const(tap.var().dtype(), dilation_[d]);
}

}  // namespace tw::topi::nn
