// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/conv2d_gradient.h"

#include "ir/expr.h"

namespace tw::graph {
namespace {

IterVar loop(const Expr& extent, const std::string& name) {
  return te::reduce_axis({Expr(0), extent}, name);
}

Expr inside(const Expr& x, const Expr& extent) { return Expr(0) <= x && x < extent; }

Expr number(int64_t n) { return make_const(int_type(32), n); }

}  // namespace

te::Tensor conv2d_data_gradient(const te::Tensor& grad, const te::Tensor& weight, const Expr& rows,
                                const Expr& columns, const Convolution& conv) {
  const Expr out_rows = grad.shape()[2], out_columns = grad.shape()[3];
  const Expr in_group = weight.shape()[1];  // channels of data
  const Expr outputs = floor_div(weight.shape()[0], number(conv.groups));
  const Expr channels = in_group * number(conv.groups);
  return te::compute(
      {grad.shape()[0], channels, rows, columns},
      [&](const std::vector<Var>& i) {
        const IterVar o = loop(outputs, "ro"), ry = loop(weight.shape()[2], "ry"),
                      rx = loop(weight.shape()[3], "rx");
        // The position of the kernel whose tap (ry, rx) lies on this element, times the stride.
        const Expr y = i[2] + number(conv.top) - ry->var * number(conv.dilation.h);
        const Expr x = i[3] + number(conv.left) - rx->var * number(conv.dilation.w);
        const Expr at_y = floor_div(y, number(conv.stride.h)),
                   at_x = floor_div(x, number(conv.stride.w));
        const Expr lies = floor_mod(y, number(conv.stride.h)) == Expr(0) &&
                          floor_mod(x, number(conv.stride.w)) == Expr(0) &&
                          inside(at_y, out_rows) && inside(at_x, out_columns);
        const Expr channel = floor_div(i[1], in_group) * outputs + o->var;
        const Expr term = grad({i[0], channel, at_y, at_x}) *
                          weight({channel, floor_mod(i[1], in_group), ry->var, rx->var});
        return te::sum(if_then_else(lies, term, make_zero(term.dtype())), {o, ry, rx});
      },
      "conv2d_data_grad");
}

te::Tensor conv2d_weight_gradient(const te::Tensor& grad, const te::Tensor& data,
                                  const Expr& kernel_rows, const Expr& kernel_columns,
                                  const Convolution& conv) {
  const Expr in_group = floor_div(data.shape()[1], number(conv.groups));
  const Expr outputs = floor_div(grad.shape()[1], number(conv.groups));
  return te::compute(
      {grad.shape()[1], in_group, kernel_rows, kernel_columns},
      [&](const std::vector<Var>& i) {
        const IterVar n = loop(grad.shape()[0], "rn"), ry = loop(grad.shape()[2], "ry"),
                      rx = loop(grad.shape()[3], "rx");
        const Expr y =
            ry->var * number(conv.stride.h) + i[2] * number(conv.dilation.h) - number(conv.top);
        const Expr x =
            rx->var * number(conv.stride.w) + i[3] * number(conv.dilation.w) - number(conv.left);
        const Expr channel = floor_div(i[0], outputs) * in_group + i[1];
        const Expr term = grad({n->var, i[0], ry->var, rx->var}) * data({n->var, channel, y, x});
        const Expr lies = inside(y, data.shape()[2]) && inside(x, data.shape()[3]);
        return te::sum(if_then_else(lies, term, make_zero(term.dtype())), {n, ry, rx});
      },
      "conv2d_weight_grad");
}

}  // namespace tw::graph
