// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/nn/pool_grad.h"

#include <fmt/format.h>

#include "ir/expr.h"
#include "schedule/topi/accumulation.h"
#include "schedule/topi/nn/conv_windows.h"
#include "schedule/topi/nn/pooling_windows.h"
#include "schedule/topi/operator.h"

namespace tw::topi::nn {
namespace {

constexpr std::string_view kOp = "pool_grad";
using Exprs = std::vector<Expr>;

// The windows of images that are pooled.
class Windows {
 public:
  Windows(const Tensor& data, size_t spatial, const Pooling& p)
      : dimensions_(pool_dimensions(kOp, data, spatial, p)), shape_(data.shape()) {}
  size_t spatial() const { return dimensions_.size(); }
  const PoolDimension& operator[](size_t d) const { return dimensions_[d]; }

  std::vector<Expr> pooled_shape() const {
    std::vector<Expr> shape = shape_;
    for (size_t d = 0; d < spatial(); ++d) shape[d + 2] = dimensions_[d].positions();
    return shape;
  }
  std::vector<IterVar> tap_axes() const {
    std::vector<IterVar> axes;
    for (size_t d = 0; d < spatial(); ++d) {
      axes.push_back(taps(dimensions_[d].taps(), fmt::format("rv{}", d)));
    }
    return axes;
  }
  // Taps by number, row-major.
  Expr tap_number(const std::vector<Expr>& tap) const {
    Expr result = tap[0];
    for (size_t d = 1; d < spatial(); ++d) result = result * dimensions_[d].taps() + tap[d];
    return result;
  }
  // Where the taps of window i lie in the data, and whether there is an element.
  std::vector<Expr> element(const std::vector<Var>& i, const std::vector<IterVar>& tap) const {
    std::vector<Expr> at = to_exprs(i);
    for (size_t d = 0; d < spatial(); ++d) {
      at[d + 2] = dimensions_[d].element(i[d + 2], tap[d].var());
    }
    return at;
  }
  Expr has_element(const std::vector<Var>& i, const std::vector<IterVar>& tap) const {
    std::vector<Expr> conditions;
    for (size_t d = 0; d < spatial(); ++d) {
      conditions.push_back(dimensions_[d].has_element(i[d + 2], tap[d].var()));
    }
    return all_of(conditions);
  }

 private:
  std::vector<PoolDimension> dimensions_;
  std::vector<Expr> shape_;
};

std::vector<Expr> vars_of(const std::vector<IterVar>& axes) {
  std::vector<Expr> vars;
  for (const IterVar& axis : axes) vars.emplace_back(axis.var());
  return vars;
}

// For each window what `reduce` makes of of_tap(element, number) over its taps, where those lie on
// an element; `none` elsewhere.
template <class F, class Reduce>
Tensor over_taps(const Windows& windows, const Expr& none, const F& of_tap, const Reduce& reduce,
                 const std::string& name) {
  const std::vector<IterVar> axes = windows.tap_axes();
  return te::compute(
      windows.pooled_shape(),
      [&](const std::vector<Var>& i) {
        const Expr value =
            of_tap(to_exprs(i), windows.element(i, axes), windows.tap_number(vars_of(axes)));
        return reduce(if_then_else(windows.has_element(i, axes), value, none), axes);
      },
      name);
}

// For each window the first tap that lies on its greatest element, row-major.
Tensor first_greatest(const Tensor& data, const Windows& windows, Pooling p) {
  p.type = PoolType::Max;
  const Tensor greatest = pool(data, windows.spatial(), p);
  const Expr none = number(INT32_MAX);
  const auto found = [&](const Exprs& window, const Exprs& element, const Expr& tap) {
    return select(data(element) == greatest(window), tap, none);
  };
  const auto least = [](const Expr& e, const std::vector<IterVar>& axes) {
    return te::min(e, axes);
  };
  return over_taps(windows, none, found, least, "pool_first");
}

// Adds up, for each element of the data, what `of_window` gives for the windows over it: indices of
// a window and the tap that lies on the element.
template <class F>
Tensor total_of_windows(const Tensor& data, const Windows& windows, const F& of_window) {
  std::vector<IterVar> axes;
  for (size_t d = 0; d < windows.spatial(); ++d) {
    axes.push_back(taps(number(windows[d].overlaps()), fmt::format("rv{}", d)));
  }
  const DType type = accumulation_type(data.dtype());
  const Tensor sums = te::compute(
      data.shape(),
      [&](const std::vector<Var>& i) {
        std::vector<Expr> at = to_exprs(i), conditions, tap;
        for (size_t d = 0; d < windows.spatial(); ++d) {
          const Expr candidate = axes[d].var();
          at[d + 2] = windows[d].window(i[d + 2], candidate);
          tap.push_back(windows[d].tap(i[d + 2], candidate));
          conditions.push_back(windows[d].has_window(i[d + 2], candidate));
        }
        const Expr share = tw::cast(type, of_window(at, windows.tap_number(tap)));
        return te::sum(if_then_else(all_of(conditions), share, make_zero(type)), axes);
      },
      "pool_grad");
  return converted(sums, data.dtype());
}

}  // namespace

Tensor pool_grad(const Tensor& grad, const Tensor& data, size_t spatial, const Pooling& p) {
  const Windows windows(data, spatial, p);
  require_images({kOp, "grads"}, grad, spatial);
  if (p.type == PoolType::Max) {
    const Tensor first = first_greatest(data, windows, p);
    return total_of_windows(data, windows, [&](const std::vector<Expr>& window, const Expr& tap) {
      return select(first(window) == tap, grad(window), make_zero(data.dtype()));
    });
  }
  Tensor share = grad;
  if (p.type == PoolType::Average) {
    require_float({kOp, "data"}, data);
    share = te::compute(
        grad.shape(),
        [&](const std::vector<Var>& i) {
          Expr count = number(1);
          for (size_t d = 0; d < spatial; ++d) {
            count = count * windows[d].counted(i[d + 2], p.count_include_pad);
          }
          return div(grad(to_exprs(i)), tw::cast(data.dtype(), tw::max(count, Expr(1))));
        },
        "pool_share", kElementwise);
  }
  return total_of_windows(
      data, windows, [&](const std::vector<Expr>& window, const Expr&) { return share(window); });
}

Tensor pool_select(const Tensor& values, const Tensor& data, size_t spatial, const Pooling& p) {
  const Windows windows(data, spatial, p);
  const Tensor first = first_greatest(data, windows, p);
  const Expr none = make_zero(values.dtype());
  const auto chosen = [&](const Exprs& window, const Exprs& element, const Expr& tap) {
    return select(first(window) == tap, values(element), none);
  };
  const auto sum = [](const Expr& e, const std::vector<IterVar>& axes) { return te::sum(e, axes); };
  return over_taps(windows, none, chosen, sum, "pool_select");
}

Tensor pool_places(const Tensor& data, size_t spatial, const Pooling& p) {
  // Counted from 1 on, since windows without elements select 0.
  const Tensor places = te::compute(
      data.shape(),
      [&](const std::vector<Var>& i) {
        Expr place = number(0);
        for (size_t d = 2; d < spatial + 2; ++d) place = place * data.shape()[d] + i[d];
        return place + number(1);
      },
      "pool_place", kInjective);
  const Tensor chosen = pool_select(places, data, spatial, p);
  return te::compute(
      chosen.shape(), [&](const std::vector<Var>& i) { return chosen(to_exprs(i)) - number(1); },
      "pool_places", kElementwise);
}

std::vector<Operator> pool_grad_rows() {
  using Ints = std::vector<int64_t>;
  return {make_operator(
      "topi.nn", "pool_grad",
      [](const Tensor& grads, const Tensor& data, const Ints& kernel, const Ints& stride,
         const Padding& padding, const std::string& type, bool ceil_mode, bool count_include_pad,
         const std::string& order) {
        require_layout({kOp, "layout"}, order, "NCHW");
        require_rank({kOp, "data"}, data, 4);
        require_rank({kOp, "grads"}, grads, 4);
        return pool_grad(grads, data, 2,
                         {.kernel = kernel,
                          .stride = stride,
                          .padding = padding,
                          .type = pool_type_of(kOp, type),
                          .rounding = rounding_of(ceil_mode, "tvm"),
                          .count_include_pad = count_include_pad});
      },
      {{"grads", "the gradient of the result, of its shape"},
       {"data", "[N, C, H, W], what was pooled"},
       {"kernel", "one extent, or (vertical, horizontal)"},
       {"stride", "one, or (vertical, horizontal)"},
       {"padding"},
       {"pool_type", "\"max\" or \"avg\""},
       {"ceil_mode", "a last window that does not fit whole counts too", false},
       {"count_include_pad", "means are over padding too", true},
       {"layout", "\"NCHW\"", "NCHW"}},
      "The gradient of pool2d's data: [N, C, H, W]. Of equal elements of a window the first in "
      "row-major order is the greatest, as in PyTorch.")};
}

}  // namespace tw::topi::nn
