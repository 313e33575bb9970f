// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/nn/pool_grad.h"

#include "ir/expr.h"
#include "schedule/topi/nn/pooling_windows.h"
#include "schedule/topi/operator.h"

namespace tw::topi::nn {
namespace {

constexpr std::string_view kOp = "pool_grad";

Expr number(int64_t n) { return make_const(int_type(32), n); }

// A dimension of images of which windows are pooled.
class Dimension {
 public:
  Dimension(const Expr& extent, int64_t kernel, int64_t stride, int64_t before, int64_t after,
            Rounding rounding)
      : windows_({.extent = extent,
                  .kernel = kernel,
                  .stride = stride,
                  .dilation = 1,
                  .before = before,
                  .after = after}) {
    windows_.place(rounding);
  }
  const PoolWindows& windows() const { return windows_; }

  IterVar taps(const std::string& name) const {
    return te::reduce_axis({0, number(windows_.kernel)}, name);
  }
  // The element under a tap of a window, and whether there is one.
  Expr element(const Expr& window, const Expr& tap) const {
    return window * number(windows_.stride) + tap - number(windows_.before);
  }
  Expr has_element(const Expr& element) const {
    return Expr(0) <= element && element < windows_.extent;
  }

  // The windows over an element: the last of them, and those that overlap it.
  IterVar overlaps(const std::string& name) const {
    const int64_t most = (windows_.kernel + windows_.stride - 1) / windows_.stride;
    return te::reduce_axis({0, number(most)}, name);
  }
  Expr window(const Expr& element, const Expr& overlap) const {
    return floor_div(element + number(windows_.before), number(windows_.stride)) - overlap;
  }
  // Whether there is that window, and it reaches the element.
  Expr has_window(const Expr& element, const Expr& window) const {
    return Expr(0) <= window && window < windows_.positions &&
           tap(element, window) < number(windows_.kernel);
  }
  Expr tap(const Expr& element, const Expr& window) const {
    return element + number(windows_.before) - window * number(windows_.stride);
  }

 private:
  PoolWindows windows_;
};

struct Images {
  Dimension rows, columns;

  static Images of(const Tensor& data, const Pooling& p) {
    require_images({kOp, "data"}, data);
    const Pair kernel = normalize_pair({kOp, "kernel"}, p.kernel, 1),
               stride = normalize_pair({kOp, "stride"}, p.stride, 1);
    const Border border =
        normalize_padding({kOp, "padding"}, p.padding, number(kernel.h), number(kernel.w));
    const std::vector<Expr> shape = data.shape();
    return {.rows = {shape[2], kernel.h, stride.h, border.top, border.bottom, p.rounding},
            .columns = {shape[3], kernel.w, stride.w, border.left, border.right, p.rounding}};
  }
  Expr tap(const Expr& row, const Expr& column) const {
    return row * number(columns.windows().kernel) + column;
  }
  std::vector<Expr> pooled_shape(const Tensor& data) const {
    std::vector<Expr> shape = data.shape();
    shape[2] = rows.windows().positions;
    shape[3] = columns.windows().positions;
    return shape;
  }
};

// The indices with others for rows and columns.
std::vector<Expr> at(const std::vector<Var>& i, const Expr& row, const Expr& column) {
  std::vector<Expr> indices = to_exprs(i);
  indices[2] = row;
  indices[3] = column;
  return indices;
}

// For each window the first tap that lies on its greatest element, row-major.
Tensor first_greatest(const Tensor& data, const Images& images, const Pooling& p) {
  const Tensor greatest =
      pool2d(data, p.kernel, p.stride, {1}, p.padding, PoolType::Max, p.rounding);
  const IterVar ky = images.rows.taps("rv0"), kx = images.columns.taps("rv1");
  return te::compute(
      images.pooled_shape(data),
      [&](const std::vector<Var>& i) {
        const Expr y = images.rows.element(i[2], ky.var()),
                   x = images.columns.element(i[3], kx.var());
        const Expr none = number(INT32_MAX);
        const Expr found = select(data(at(i, y, x)) == greatest(to_exprs(i)),
                                  images.tap(ky.var(), kx.var()), none);
        return te::min(
            if_then_else(images.rows.has_element(y) && images.columns.has_element(x), found, none),
            {ky, kx});
      },
      "pool_first");
}

// Adds up, for each element of the data, what `of_window` gives for the windows over it: indices of
// a window and the tap that lies on the element.
template <class F>
Tensor total_of_windows(const Tensor& data, const Images& images, const F& of_window) {
  const IterVar ry = images.rows.overlaps("rv0"), rx = images.columns.overlaps("rv1");
  return te::compute(
      data.shape(),
      [&](const std::vector<Var>& i) {
        const Expr oy = images.rows.window(i[2], ry.var()),
                   ox = images.columns.window(i[3], rx.var());
        const Expr there = images.rows.has_window(i[2], oy) && images.columns.has_window(i[3], ox);
        const Expr tap = images.tap(images.rows.tap(i[2], oy), images.columns.tap(i[3], ox));
        return te::sum(if_then_else(there, of_window(at(i, oy, ox), tap), make_zero(data.dtype())),
                       {ry, rx});
      },
      "pool_grad");
}

}  // namespace

Tensor pool_grad(const Tensor& grad, const Tensor& data, const Pooling& p) {
  const Images images = Images::of(data, p);
  require_images({kOp, "grads"}, grad);
  if (p.type == PoolType::Max) {
    const Tensor first = first_greatest(data, images, p);
    return total_of_windows(data, images, [&](const std::vector<Expr>& window, const Expr& tap) {
      return select(first(window) == tap, grad(window), make_zero(data.dtype()));
    });
  }
  require_float({kOp, "data"}, data);
  const Tensor share = te::compute(
      grad.shape(),
      [&](const std::vector<Var>& i) {
        const Expr count = images.rows.windows().counted(i[2], p.count_include_pad) *
                           images.columns.windows().counted(i[3], p.count_include_pad);
        return div(grad(to_exprs(i)), tw::cast(data.dtype(), tw::max(count, Expr(1))));
      },
      "pool_share", kElementwise);
  return total_of_windows(
      data, images, [&](const std::vector<Expr>& window, const Expr&) { return share(window); });
}

Tensor pool_select(const Tensor& values, const Tensor& data, const Pooling& p) {
  const Images images = Images::of(data, p);
  const Tensor first = first_greatest(data, images, p);
  const IterVar ky = images.rows.taps("rv0"), kx = images.columns.taps("rv1");
  return te::compute(
      images.pooled_shape(data),
      [&](const std::vector<Var>& i) {
        const Expr y = images.rows.element(i[2], ky.var()),
                   x = images.columns.element(i[3], kx.var());
        const Expr none = make_zero(values.dtype());
        const Expr chosen =
            select(first(to_exprs(i)) == images.tap(ky.var(), kx.var()), values(at(i, y, x)), none);
        return te::sum(
            if_then_else(images.rows.has_element(y) && images.columns.has_element(x), chosen, none),
            {ky, kx});
      },
      "pool_select");
}

std::vector<Operator> pool_grad_rows() {
  using Ints = std::vector<int64_t>;
  return {make_operator(
      "topi.nn", "pool_grad",
      [](const Tensor& grads, const Tensor& data, const Ints& kernel, const Ints& stride,
         const Padding& padding, const std::string& type, bool ceil_mode, bool count_include_pad,
         const std::string& order) {
        require_nchw({kOp, "layout"}, order);
        require_rank({kOp, "data"}, data, 4);
        require_rank({kOp, "grads"}, grads, 4);
        return pool_grad(grads, data,
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
