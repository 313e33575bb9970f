// SPDX-License-Identifier: Apache-2.0
// What is linear in the result of a convolution: the gradient of its data, which a transposed
// convolution is too. An element of the data meets, in each dimension, the taps of the kernel that
// leave the same rest as it does when divided by the stride. So elements with one rest, a phase,
// are a plain convolution with some of the taps.
#include <fmt/format.h>

#include <array>
#include <numeric>

#include "ir/expr.h"
#include "schedule/topi/accumulation.h"
#include "schedule/topi/nn/conv.h"
#include "schedule/topi/nn/conv_windows.h"
#include "schedule/topi/nn/pad.h"
#include "schedule/topi/operator.h"

namespace tw::topi::nn {
namespace {

// The taps of a kernel that one phase meets: `count` of them, `step` apart from `first` on. Tap k
// of them meets, for element q of the phase, the result at q + shift - k * spread.
struct Phase {
  int64_t count = 0, first = 0, step = 1, shift = 0, spread = 1;
};

struct Dimension {
  int64_t kernel, stride, dilation, before;
  Expr extent;     // of the data, which is computed
  Expr positions;  // of the kernel, the extent of the result

  Phase phase(int64_t rest) const {
    for (int64_t tap = 0; tap < std::min(kernel, stride); ++tap) {
      const int64_t distance = rest + before - tap * dilation;
      if (distance % stride != 0) continue;
      const int64_t common = std::gcd(dilation, stride), step = stride / common;
      return {.count = (kernel - 1 - tap) / step + 1,
              .first = tap,
              .step = step,
              .shift = distance / stride,
              .spread = dilation / common};
    }
    return {};
  }
  Expr elements_of_phase() const { return floor_div(extent + number(stride - 1), number(stride)); }
};

// grad and weight, and how weight slides over what is computed.
struct Transposed {
  Tensor grad, weight;
  std::vector<Dimension> dimensions;
  int64_t groups;
  DType type;

  size_t spatial() const { return dimensions.size(); }
  Expr in_group() const { return weight.shape()[1]; }  // channels of what is computed
  Expr channels() const { return in_group() * number(groups); }
  IterVar reduced_channels() const {
    return taps(floor_div(weight.shape()[0], number(groups)), "rc");
  }
};

// A convolution of `grad`, padded, with `weight`: its reads are given for each dimension, by where
// the windows begin and by how far taps are from each other.
struct Reads {
  Tensor grad, weight;
  std::vector<Expr> begin;                          // of the window of element 0, in `grad`
  std::vector<int64_t> spread, count, first, step;  // of taps: in `grad`; how many; in `weight`
};

// Sums over channels and taps for an element; `element` and `more` are its position in each
// dimension and what is added to the place of a tap there.
Expr sum_of_taps(const Transposed& t, const Reads& r, const Expr& image, const Expr& channel,
                 const std::vector<Expr>& element, const std::vector<Expr>& more) {
  std::vector<IterVar> axes = {t.reduced_channels()};
  for (size_t d = 0; d < t.spatial(); ++d) {
    axes.push_back(taps(number(r.count[d]), tap_names(t.spatial())[d]));
  }
  Expr of_group = channel, reduced = axes[0].var();
  if (t.groups != 1) {
    reduced = floor_div(channel, t.in_group()) * axes[0]->domain.extent + reduced;
    of_group = floor_mod(channel, t.in_group());
  }
  std::vector<Expr> read = {image, reduced}, tap = {reduced, of_group};
  for (size_t d = 0; d < t.spatial(); ++d) {
    const Expr k = axes[d + 1].var();
    read.push_back(element[d] + k * number(r.spread[d]) + r.begin[d]);
    tap.push_back((number(r.count[d] - 1) - k) * number(r.step[d]) + number(r.first[d]) + more[d]);
  }
  return te::sum(tw::cast(t.type, r.grad(read)) * tw::cast(t.type, r.weight(tap)), axes);
}

Tensor padded(const Tensor& grad, const std::vector<Expr>& before, const std::vector<Expr>& after) {
  std::vector<Expr> in_front(grad.shape().size(), 0), behind = in_front;
  bool any = false;
  for (size_t d = 0; d < before.size(); ++d) {
    in_front[d + 2] = before[d];
    behind[d + 2] = after[d];
    any = any || !is_zero(before[d]) || !is_zero(after[d]);
  }
  return any ? pad(grad, in_front, behind, {}, "pad_temp") : grad;
}

// All phases, the last dimension's next to each other: the rests of their elements.
std::vector<std::vector<int64_t>> all_phases(const std::vector<Dimension>& dimensions) {
  std::vector<std::vector<int64_t>> phases = {{}};
  for (const Dimension& d : dimensions) {
    std::vector<std::vector<int64_t>> longer;
    for (const auto& phase : phases) {
      for (int64_t rest = 0; rest < d.stride; ++rest) {
        longer.push_back(phase);
        longer.back().push_back(rest);
      }
    }
    phases = std::move(longer);
  }
  return phases;
}

std::vector<std::string> axis_names(size_t spatial) {
  std::vector<std::string> names = {"nn", "ff"};
  for (const std::string& name : spatial_names(spatial)) names.push_back(name);
  return names;
}

// A convolution for each phase, and their elements in turn. All phases are as long as the longest:
// so the stage that takes them in turn reads without a condition.
Tensor by_phases(const Transposed& t) {
  std::vector<Expr> before, after, shape = {t.grad.shape()[0], t.channels()}, whole = shape;
  for (const Dimension& d : t.dimensions) {
    int64_t lowest = 0;
    Expr highest = d.positions;
    for (int64_t rest = 0; rest < d.stride; ++rest) {
      const Phase p = d.phase(rest);
      if (p.count == 0) continue;
      lowest = std::min(lowest, p.shift - (p.count - 1) * p.spread);
      highest = tw::max(highest, d.elements_of_phase() + number(p.shift));
    }
    before.push_back(number(-lowest));
    after.push_back(highest - d.positions);
    shape.push_back(d.elements_of_phase());
    whole.push_back(d.extent);
  }
  const Tensor grad = padded(t.grad, before, after);
  const auto phases = all_phases(t.dimensions);
  std::vector<Tensor> parts;  // undefined: all zero
  for (const auto& rests : phases) {
    Reads reads{.grad = grad, .weight = t.weight};
    bool any = true;
    for (size_t d = 0; d < t.spatial(); ++d) {
      const Phase p = t.dimensions[d].phase(rests[d]);
      any = any && p.count > 0;
      reads.begin.push_back(before[d] + number(p.shift - (p.count - 1) * p.spread));
      reads.spread.push_back(p.spread);
      reads.count.push_back(p.count);
      reads.first.push_back(p.first);
      reads.step.push_back(p.step);
    }
    if (!any) {
      parts.emplace_back();
      continue;
    }
    parts.push_back(te::compute(
        shape,
        [&](const std::vector<Var>& i) {
          const std::vector<Expr> element(i.begin() + 2, i.end());
          return sum_of_taps(t, reads, i[0], i[1], element, std::vector<Expr>(t.spatial(), 0));
        },
        phases.size() == 1 ? "conv_transpose" : fmt::format("phase{}", fmt::join(rests, "")), {},
        {}, axis_names(t.spatial())));
  }
  if (phases.size() == 1) return parts[0];
  return te::compute(
      whole,
      [&](const std::vector<Var>& i) {
        std::vector<Expr> at = to_exprs(i);
        for (size_t d = 0; d < t.spatial(); ++d) {
          at[d + 2] = floor_div(i[d + 2], number(t.dimensions[d].stride));
        }
        Expr value = make_zero(t.type);
        for (size_t k = phases.size(); k-- > 0;) {
          if (!parts[k].defined()) continue;
          std::vector<Expr> conditions;
          for (size_t d = 0; d < t.spatial(); ++d) {
            const int64_t stride = t.dimensions[d].stride;
            if (stride == 1) continue;
            conditions.push_back(floor_mod(i[d + 2], number(stride)) == number(phases[k][d]));
          }
          value = select(all_of(conditions), parts[k](at), value);
        }
        return value;
      },
      "conv_transpose", kInjective, {}, axis_names(t.spatial()));
}

// The kernel with zeros between its taps and behind them, so that each phase has as many.
Tensor with_all_taps(const Transposed& t, const std::vector<int64_t>& count) {
  std::vector<Expr> shape = {t.weight.shape()[0], t.weight.shape()[1]};
  bool as_it_is = true;
  for (size_t d = 0; d < t.spatial(); ++d) {
    const Dimension& dim = t.dimensions[d];
    shape.push_back(number(count[d] * dim.stride));
    as_it_is = as_it_is && dim.dilation == 1 && count[d] * dim.stride == dim.kernel;
  }
  if (as_it_is) return t.weight;
  return te::compute(
      shape,
      [&](const std::vector<Var>& i) {
        std::vector<Expr> at = to_exprs(i), conditions;
        for (size_t d = 0; d < t.spatial(); ++d) {
          const Dimension& dim = t.dimensions[d];
          at[d + 2] = floor_div(i[d + 2], number(dim.dilation));
          conditions.push_back(floor_mod(i[d + 2], number(dim.dilation)) == number(0));
          conditions.push_back(at[d + 2] < number(dim.kernel));
        }
        return if_then_else(all_of(conditions), t.weight(at), make_zero(t.weight.dtype()));
      },
      "kernel_pad", kInjective);
}

// One stage for all phases, with the rest of each dimension as an axis of its own; each has
// `taps_of_phase` of the taps.
Tensor all_phases_at_once(const Transposed& t, const std::vector<int64_t>& taps_of_phase) {
  std::vector<Expr> before, after, shape = {t.grad.shape()[0], t.channels()}, whole = shape;
  Reads reads{.grad = {}, .weight = with_all_taps(t, taps_of_phase)};
  for (size_t d = 0; d < t.spatial(); ++d) {
    const Dimension& dim = t.dimensions[d];
    const int64_t first = dim.before / dim.stride, count = taps_of_phase[d];
    const Expr end = floor_div(dim.extent + number(dim.before - 1), number(dim.stride)) + 1;
    before.push_back(number(std::max<int64_t>(0, count - 1 - first)));
    after.push_back(tw::max(end, dim.positions) - dim.positions);
    shape.push_back(end - number(first));
    shape.push_back(number(dim.stride));
    whole.push_back(dim.extent);
    reads.begin.push_back(before[d] + number(first - (count - 1)));
    reads.spread.push_back(1);
    reads.count.push_back(count);
    reads.first.push_back(0);
    reads.step.push_back(dim.stride);
  }
  reads.grad = padded(t.grad, before, after);
  const Tensor phases = te::compute(
      shape,
      [&](const std::vector<Var>& i) {
        std::vector<Expr> element, rest;
        for (size_t d = 0; d < t.spatial(); ++d) {
          element.emplace_back(i[2 * d + 2]);
          rest.emplace_back(i[2 * d + 3]);
        }
        return sum_of_taps(t, reads, i[0], i[1], element, rest);
      },
      "phases");
  return te::compute(
      whole,
      [&](const std::vector<Var>& i) {
        std::vector<Expr> at = {i[0], i[1]};
        for (size_t d = 0; d < t.spatial(); ++d) {
          const Dimension& dim = t.dimensions[d];
          const Expr place = i[d + 2] + number(dim.before % dim.stride);
          at.push_back(floor_div(place, number(dim.stride)));
          at.push_back(floor_mod(place, number(dim.stride)));
        }
        return phases(at);
      },
      "conv_transpose", kInjective, {}, axis_names(t.spatial()));
}

// Each phase is a stage, with no tap too many, unless none is where all have the same number, or
// there are more phases than programs should have stages.
constexpr size_t kMostPhases = 16;

Tensor transposed(const Transposed& t) {
  std::vector<int64_t> count;
  int64_t phases = 1;
  bool even = true;
  for (const Dimension& d : t.dimensions) {
    const int64_t span = (d.kernel - 1) * d.dilation + 1;
    count.push_back((span + d.stride - 1) / d.stride);
    phases *= d.stride;
    even = even && d.dilation == 1 && d.kernel % d.stride == 0;
  }
  const bool at_once = phases > 1 && (even || phases > static_cast<int64_t>(kMostPhases));
  return at_once ? all_phases_at_once(t, count) : by_phases(t);
}

// What the arguments mean, checked in the name of `op`.
Transposed arguments(std::string_view op, std::string_view data, const Tensor& grad,
                     const Tensor& weight, const std::vector<int64_t>& strides,
                     const Padding& padding, const std::vector<int64_t>& dilation, int64_t groups,
                     std::optional<DType> out_type) {
  if (grad.rank() < 3 || grad.rank() > 5) {
    bad_shape({op, data}, fmt::format("shape {}", shape_text(grad.shape())),
              "images, channels, and one to three spatial dimensions");
  }
  require_rank({op, "weight"}, weight, grad.rank());
  if (groups < 1) bad_argument({op, "groups"}, fmt::format("{}", groups), "at least 1");
  per_group({op, "weight"}, weight.shape()[0], groups);
  require_extent({op, data}, grad, 1, weight.shape()[0]);
  const size_t spatial = grad.shape().size() - 2;
  const std::vector<int64_t> step = normalize_steps({op, "strides"}, strides, spatial, 1),
                             spread = normalize_steps({op, "dilation"}, dilation, spatial, 1);
  std::vector<Expr> spans;
  for (size_t d = 0; d < spatial; ++d) {
    spans.push_back(window_span(weight.shape()[d + 2], spread[d]));
    if (as_const_int(spans[d])) continue;
    bad_shape({op, "weight"}, fmt::format("shape {}", shape_text(weight.shape())),
              "a kernel of constant extents");
  }
  const Border border = normalize_padding({op, "padding"}, padding, spans);
  Transposed t{.grad = grad,
               .weight = weight,
               .dimensions = {},
               .groups = groups,
               .type = accumulation_type(out_type.value_or(grad.dtype()))};
  for (size_t d = 0; d < spatial; ++d) {
    const Expr positions = grad.shape()[d + 2];
    const Expr whole = (positions - number(1)) * number(step[d]) + spans[d];
    t.dimensions.push_back({.kernel = *as_const_int(weight.shape()[d + 2]),
                            .stride = step[d],
                            .dilation = spread[d],
                            .before = border.before[d],
                            .extent = whole - number(border.before[d] + border.after[d]),
                            .positions = positions});
  }
  return t;
}

}  // namespace

Tensor conv_transpose(const Tensor& data, const Tensor& weight, const std::vector<int64_t>& strides,
                      const Padding& padding, const std::vector<int64_t>& output_padding,
                      const std::vector<int64_t>& dilation, int64_t groups,
                      std::optional<DType> out_type) {
  constexpr std::string_view kOp = "conv_transpose";
  Transposed t = arguments(kOp, "data", data, weight, strides, padding, dilation, groups, out_type);
  const std::vector<int64_t> more =
      normalize_steps({kOp, "output_padding"}, output_padding, t.spatial(), 0);
  for (size_t d = 0; d < t.spatial(); ++d) {
    Dimension& dim = t.dimensions[d];
    if (more[d] >= std::max(dim.stride, dim.dilation)) {
      bad_argument(
          {kOp, "output_padding"}, fmt::format("{}", more[d]),
          fmt::format("less than the stride {} or the dilation {}", dim.stride, dim.dilation));
    }
    dim.extent = dim.extent + number(more[d]);
    const auto constant = as_const_int(dim.extent);
    if (constant && *constant < 1) {
      bad_shape({kOp, "padding"}, fmt::format("an extent of {}", *constant),
                "padding that leaves elements");
    }
  }
  return converted(transposed(t), out_type.value_or(data.dtype()));
}

Tensor conv_data_gradient(const Tensor& grad, const Tensor& weight,
                          const std::vector<Expr>& extents, const std::vector<int64_t>& strides,
                          const Padding& padding, const std::vector<int64_t>& dilation,
                          int64_t groups, std::optional<DType> out_type) {
  Transposed t = arguments("conv_data_gradient", "grad", grad, weight, strides, padding, dilation,
                           groups, out_type);
  for (size_t d = 0; d < t.spatial(); ++d) t.dimensions[d].extent = extents[d];
  return converted(transposed(t), out_type.value_or(grad.dtype()));
}

std::vector<Operator> conv_transpose_rows() {
  using Ints = std::vector<int64_t>;
  using Type = std::optional<DType>;
  struct Family {
    int rank;
    std::string_view name, data, weight;
  };
  constexpr Family kFamilies[] = {
      {3, "conv1d_transpose_ncw", "[N, C, W]", "[C, F / groups, KW]"},
      {4, "conv2d_transpose_nchw", "[N, C, H, W]", "[C, F / groups, KH, KW]"},
      {5, "conv3d_transpose_ncdhw", "[N, C, D, H, W]", "[C, F / groups, KD, KH, KW]"}};
  std::vector<Operator> rows;
  for (const Family& f : kFamilies) {
    rows.push_back(make_operator(
        "topi.nn", f.name,
        [f](const Tensor& data, const Tensor& weight, const Ints& strides, const Padding& padding,
            Type type, const Ints& output_padding, const Ints& dilation, int64_t groups) {
          require_rank({f.name, "data"}, data, f.rank);
          return conv_transpose(data, weight, strides, padding, output_padding, dilation, groups,
                                type);
        },
        {{f.rank == 3 ? "data" : "Input", f.data},
         {f.rank == 3 ? "kernel" : "Filter", f.weight},
         {"stride", "one, or one for each spatial dimension"},
         {"padding", "is taken off the result"},
         {"out_dtype", "of products and sums; None: that of the data", Value()},
         {"output_padding", "more elements at the end of each dimension", Ints{0}},
         {"dilation", "distance of taps: one, or one for each spatial dimension", Ints{1}},
         {"groups", "divide C and F; a group of F is made of a group of C", 1}},
        "Each element of data, times the kernel, added to the window that a convolution would have "
        "computed it from: [N, F, ...], each spatial extent being (in - 1) * stride + (kernel - 1) "
        "* dilation + 1 + output_padding - padding before and behind. Kernels have constant "
        "extents. ONNX ConvTranspose."));
  }
  return rows;
}

}  // namespace tw::topi::nn
