// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/nn/pooling_windows.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ir/expr.h"

namespace tw::topi::nn {

namespace {

// Of `elements` that `windows` cover, the two having no common divisor: how many the largest window
// has. Window w begins at floor(w * elements / windows), whose remainder takes every value, so it
// has ceil((remainder + elements) / windows). Seen from an element, the same is true of windows.
int64_t most_covered(int64_t elements, int64_t windows) {
  return (windows - 1 + elements + windows - 1) / windows;
}

}  // namespace

Expr PoolDimension::number(int64_t v) const { return make_const(extent_.dtype(), v); }

PoolDimension PoolDimension::sliding(const Expr& extent, const Slide& slide, Rounding rounding) {
  PoolDimension d;
  d.extent_ = extent;
  d.slide_ = slide;
  d.added_ = rounding == Rounding::Down ? 0 : slide.stride - 1;
  d.taps_ = d.number(slide.kernel);
  d.positions_ = window_positions(extent, window_span(d.taps_, slide.dilation), slide.stride,
                                  slide.before + slide.after + d.added_);
  if (rounding == Rounding::UpInside) {
    // A window begins before the end of the data.
    const Expr begins =
        floor_div(extent + d.number(slide.before - 1), d.number(slide.stride)) + d.number(1);
    d.positions_ = tw::min(d.positions_, begins);
  }
  const auto count = as_const_int(d.positions_);
  if (count && *count <= 0) {
    bad_shape(
        {"pool", "kernel"},
        fmt::format("a window of {} taps over {} elements", slide.kernel, *as_const_int(extent)),
        "a kernel no larger than the padded data");
  }
  return d;
}

PoolDimension PoolDimension::adaptive(const Expr& extent, int64_t windows) {
  PoolDimension d;
  d.extent_ = extent;
  d.positions_ = d.number(windows);
  const auto constant = as_const_int(extent);
  if (windows < 1 || windows > INT32_MAX) {
    bad_argument({"adaptive_pool", "output_size"}, fmt::format("{}", windows),
                 fmt::format("1 to {}", INT32_MAX));
  }
  if (!constant && windows != 1) {
    bad_shape({"adaptive_pool", "data"}, fmt::format("{} windows over a symbolic extent", windows),
              "a constant extent, or one window");
  }
  if (windows == 1 || *constant % windows == 0) {
    d.kind_ = Kind::Even;
    d.taps_ = windows == 1 ? extent : d.number(*constant / windows);
    return d;
  }
  d.kind_ = Kind::Uneven;
  const int64_t common = std::gcd(*constant, windows);
  d.taps_ = d.number(most_covered(*constant / common, windows / common));
  d.overlaps_ = most_covered(windows / common, *constant / common);
  return d;
}

Expr PoolDimension::begin(const Expr& window) const {
  if (is_one(positions_)) return number(0);  // the one window, of all elements
  if (kind_ == Kind::Even) return window * taps_;
  return floor_div(window * extent_, positions_);
}

Expr PoolDimension::end(const Expr& window) const {
  if (kind_ == Kind::Even) return (window + number(1)) * taps_;
  return floor_div((window + number(1)) * extent_ + positions_ - number(1), positions_);
}

Expr PoolDimension::padded_element(const Expr& window, const Expr& tap) const {
  if (kind_ != Kind::Sliding) return begin(window) + tap;
  return window * number(slide_.stride) + tap * number(slide_.dilation);
}

Expr PoolDimension::element(const Expr& window, const Expr& tap) const {
  return padded_element(window, tap) - number(slide_.before);
}

Expr PoolDimension::has_element(const Expr& window, const Expr& tap) const {
  if (kind_ == Kind::Even) return make_bool(true);
  if (kind_ == Kind::Uneven) return element(window, tap) < end(window);
  const Expr e = element(window, tap);
  return number(0) <= e && e < extent_;
}

Expr PoolDimension::has_padded_element(const Expr& window, const Expr& tap) const {
  return kind_ == Kind::Uneven ? has_element(window, tap) : Expr();
}

// How many taps of a sliding window lie on elements [low, high) of the data.
Expr PoolDimension::taps_between(const Expr& window, const Expr& low, const Expr& high) const {
  const Expr start = window * number(slide_.stride) - number(slide_.before);
  const auto first_from = [&](const Expr& bound) {  // first tap at or behind `bound`
    return floor_div(bound - start + number(slide_.dilation - 1), number(slide_.dilation));
  };
  return tw::min(first_from(high), taps_) - tw::max(first_from(low), number(0));
}

Expr PoolDimension::counted(const Expr& window, bool include_pad) const {
  if (kind_ == Kind::Even) return taps_;
  if (kind_ == Kind::Uneven) return end(window) - begin(window);
  if (include_pad) {
    if (added_ == 0) return taps_;
    return taps_between(window, number(-slide_.before), extent_ + number(slide_.after));
  }
  if (slide_.before == 0 && slide_.after == 0 && added_ == 0) return taps_;
  return taps_between(window, number(0), extent_);
}

int64_t PoolDimension::overlaps() const {
  if (kind_ != Kind::Sliding) return overlaps_;
  // Taps apart from each other: a candidate for each of them.
  if (slide_.dilation != 1) return slide_.kernel;
  return (slide_.kernel + slide_.stride - 1) / slide_.stride;
}

Expr PoolDimension::window(const Expr& element, const Expr& candidate) const {
  if (kind_ == Kind::Even) return floor_div(element, taps_);
  if (kind_ == Kind::Uneven) return floor_div(element * positions_, extent_) + candidate;
  const Expr from_padding = element + number(slide_.before);
  if (slide_.dilation == 1) return floor_div(from_padding, number(slide_.stride)) - candidate;
  return floor_div(from_padding - candidate * number(slide_.dilation), number(slide_.stride));
}

Expr PoolDimension::tap(const Expr& element, const Expr& candidate) const {
  if (kind_ != Kind::Sliding) return element - begin(window(element, candidate));
  if (slide_.dilation != 1) return candidate;
  return element + number(slide_.before) - window(element, candidate) * number(slide_.stride);
}

Expr PoolDimension::has_window(const Expr& element, const Expr& candidate) const {
  if (kind_ == Kind::Even) return make_bool(true);
  const Expr w = window(element, candidate);
  if (kind_ == Kind::Uneven) return w < positions_ && begin(w) <= element;
  const Expr there = number(0) <= w && w < positions_;
  if (slide_.dilation == 1) return there && tap(element, candidate) < taps_;
  const Expr distance = element + number(slide_.before) - candidate * number(slide_.dilation);
  return there && floor_mod(distance, number(slide_.stride)) == number(0);
}

std::vector<PoolDimension> pool_dimensions(std::string_view op, const Tensor& data, size_t spatial,
                                           const Pooling& p) {
  require_images({op, "data"}, data, spatial);
  const std::vector<Expr> shape = data.shape();
  std::vector<PoolDimension> dimensions;
  if (!p.output_size.empty()) {
    const auto windows = normalize_steps({op, "output_size"}, p.output_size, spatial, 1);
    for (size_t d = 0; d < spatial; ++d) {
      dimensions.push_back(PoolDimension::adaptive(shape[d + 2], windows[d]));
    }
    return dimensions;
  }
  const auto kernel = normalize_steps({op, "kernel"}, p.kernel, spatial, 1),
             stride = normalize_steps({op, "stride"}, p.stride, spatial, 1),
             dilation = normalize_steps({op, "dilation"}, p.dilation, spatial, 1);
  std::vector<Expr> spans;
  for (size_t d = 0; d < spatial; ++d) {
    spans.push_back(window_span(make_const(shape[d + 2].dtype(), kernel[d]), dilation[d]));
  }
  const Border border = normalize_padding({op, "padding"}, p.padding, spans);
  for (size_t d = 0; d < spatial; ++d) {
    dimensions.push_back(PoolDimension::sliding(shape[d + 2],
                                                {.kernel = kernel[d],
                                                 .stride = stride[d],
                                                 .dilation = dilation[d],
                                                 .before = border.before[d],
                                                 .after = border.after[d]},
                                                p.rounding));
  }
  return dimensions;
}

PoolType pool_type_of(std::string_view op, const std::string& name) {
  if (name == "max") return PoolType::Max;
  if (name == "avg") return PoolType::Average;
  bad_argument({op, "pool_type"}, fmt::format("unknown pooling '{}'", name), "max, avg");
}

Rounding rounding_of(bool ceil_mode, const std::string& rule) {
  if (rule != "tvm" && rule != "pytorch") {
    bad_argument({"pool", "ceil_rule"}, fmt::format("unknown rule '{}'", rule), "tvm, pytorch");
  }
  if (!ceil_mode) return Rounding::Down;
  return rule == "tvm" ? Rounding::Up : Rounding::UpInside;
}

}  // namespace tw::topi::nn
