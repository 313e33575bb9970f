// SPDX-License-Identifier: Apache-2.0
// Windows that pooling lays along a dimension of images.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/topi/nn/pooling.h"

namespace tw::topi::nn {

class PoolDimension {
 public:
  // Windows of `kernel` taps that slide.
  struct Slide {
    int64_t kernel, stride, dilation, before, after;  // padding before and behind
  };
  static PoolDimension sliding(const Expr& extent, const Slide& slide, Rounding rounding);
  // So many windows that cover the dimension: window i from floor(i * extent / n) to
  // ceil((i + 1) * extent / n). BadShape unless the extent is constant or n is 1.
  static PoolDimension adaptive(const Expr& extent, int64_t windows);

  const Expr& extent() const { return extent_; }
  const Expr& positions() const { return positions_; }
  // Taps of the largest window.
  const Expr& taps() const { return taps_; }
  // Padding before and behind the data that windows reach, the last one too where it was rounded
  // up.
  int64_t before() const { return slide_.before; }
  int64_t behind() const { return slide_.after + added_; }

  // The element of the data under a tap of a window, and whether there is one.
  Expr element(const Expr& window, const Expr& tap) const;
  Expr has_element(const Expr& window, const Expr& tap) const;
  // The same in padded data: the condition is what padding does not see to, and undefined where
  // nothing is left of it.
  Expr padded_element(const Expr& window, const Expr& tap) const;
  Expr has_padded_element(const Expr& window, const Expr& tap) const;
  // How many elements a mean of the window is over.
  Expr counted(const Expr& window, bool include_pad) const;

  // The windows over an element: candidates, at most so many.
  int64_t overlaps() const;
  Expr window(const Expr& element, const Expr& candidate) const;
  Expr tap(const Expr& element, const Expr& candidate) const;
  // Whether there is that candidate, and it reaches the element.
  Expr has_window(const Expr& element, const Expr& candidate) const;

 private:
  enum class Kind : uint8_t {
    Sliding,
    Even,   // one after the other, of the same size
    Uneven  // adaptive ones of several sizes
  };
  Expr number(int64_t v) const;
  Expr begin(const Expr& window) const;  // of an adaptive one
  Expr end(const Expr& window) const;
  Expr taps_between(const Expr& window, const Expr& low, const Expr& high) const;

  Kind kind_ = Kind::Sliding;
  Expr extent_, positions_, taps_;
  Slide slide_{.kernel = 1, .stride = 1, .dilation = 1, .before = 0, .after = 0};
  int64_t added_ = 0;     // elements behind the padding that the last window reaches
  int64_t overlaps_ = 1;  // of uneven ones
};

// Windows along all spatial dimensions of `data`.
std::vector<PoolDimension> pool_dimensions(std::string_view op, const Tensor& data, size_t spatial,
                                           const Pooling& pooling);

// Arguments of Python: "max" or "avg"; "tvm" or "pytorch".
PoolType pool_type_of(std::string_view op, const std::string& name);
Rounding rounding_of(bool ceil_mode, const std::string& rule);

}  // namespace tw::topi::nn
