// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/nn/pooling.h"

#include <fmt/format.h>

#include "ir/expr.h"
#include "schedule/topi/accumulation.h"
#include "schedule/topi/nn/conv_windows.h"
#include "schedule/topi/nn/pooling_windows.h"
#include "schedule/topi/operator.h"

namespace tw::topi::nn {
namespace {

std::string_view reduction_name(PoolType type, bool adaptive) {
  if (type == PoolType::Max) return adaptive ? "adaptive_pool_max" : "pool_max";
  return adaptive ? "adaptive_pool_sum" : "pool_sum";
}

}  // namespace

Tensor pool(const Tensor& data, size_t spatial, const Pooling& p) {
  const bool adaptive = !p.output_size.empty(), greatest = p.type == PoolType::Max;
  const std::string_view op = adaptive ? "adaptive_pool" : "pool";
  const std::vector<PoolDimension> dimensions = pool_dimensions(op, data, spatial, p);
  if (p.type == PoolType::Average) require_float({op, "data"}, data);
  const Expr identity = greatest ? max_identity(data.dtype()) : make_zero(data.dtype());

  Border border;
  std::vector<Expr> shape = data.shape();
  std::vector<IterVar> axes;
  for (size_t d = 0; d < spatial; ++d) {
    border.before.push_back(dimensions[d].before());
    border.after.push_back(dimensions[d].behind());
    shape[d + 2] = dimensions[d].positions();
    axes.push_back(taps(dimensions[d].taps(), fmt::format("rv{}", d)));
  }
  const Tensor source = pad_images(data, border, identity);
  const DType type = greatest ? data.dtype() : accumulation_type(data.dtype());
  const std::string name(reduction_name(p.type, adaptive));
  const Tensor pooled = te::compute(
      shape,
      [&](const std::vector<Var>& i) {
        std::vector<Expr> position = to_exprs(i), conditions;
        for (size_t d = 0; d < spatial; ++d) {
          const Expr tap = axes[d].var();
          position[d + 2] = dimensions[d].padded_element(i[d + 2], tap);
          const Expr there = dimensions[d].has_padded_element(i[d + 2], tap);
          if (there.defined()) conditions.push_back(there);
        }
        Expr e = source(position);
        if (!conditions.empty()) e = if_then_else(all_of(conditions), e, identity);
        return greatest ? te::max(e, axes) : te::sum(tw::cast(type, e), axes);
      },
      name, name);
  if (p.type != PoolType::Average) return converted(pooled, data.dtype());
  return te::compute(
      shape,
      [&](const std::vector<Var>& i) {
        Expr count = make_const(int_type(32), 1);
        for (size_t d = 0; d < spatial; ++d) {
          count = count * dimensions[d].counted(i[d + 2], p.count_include_pad);
        }
        const bool constant = as_const_int(count).has_value();
        if (!constant) count = tw::max(count, Expr(1));
        return tw::cast(data.dtype(), div(pooled(to_exprs(i)), tw::cast(type, count)));
      },
      adaptive ? "adaptive_pool_avg" : "pool_avg", kElementwise);
}

Tensor pool2d(const Tensor& data, const std::vector<int64_t>& kernel,
              const std::vector<int64_t>& stride, const std::vector<int64_t>& dilation,
              const Padding& padding, PoolType type, Rounding rounding, bool count_include_pad) {
  return pool(data, 2,
              {.kernel = kernel,
               .stride = stride,
               .dilation = dilation,
               .padding = padding,
               .type = type,
               .rounding = rounding,
               .count_include_pad = count_include_pad});
}

Tensor global_pool(const Tensor& data, PoolType type, size_t spatial) {
  return pool(data, spatial, {.type = type, .output_size = {1}});
}

namespace {

using Ints = std::vector<int64_t>;

struct Family {
  size_t spatial;
  std::string_view pool, adaptive, data, layout, layout_text;
};
constexpr Family kFamilies[] = {
    {1, "pool1d", "adaptive_pool1d", "[N, C, W]; floats for a mean", "NCW", "\"NCW\""},
    {2, "pool2d", "adaptive_pool", "[N, C, H, W]; floats for a mean", "NCHW", "\"NCHW\""},
    {3, "pool3d", "adaptive_pool3d", "[N, C, D, H, W]; floats for a mean", "NCDHW", "\"NCDHW\""}};

const ParameterText kType{"pool_type", "\"max\" or \"avg\""};
ParameterText layout_of(const Family& f) {
  return {"layout", f.layout_text, std::string(f.layout)};
}

Operator sliding_row(const Family& f) {
  return make_operator(
      "topi.nn", f.pool,
      [f](const Tensor& x, const Ints& kernel, const Ints& stride, const Ints& dilation,
          const Padding& padding, const std::string& type, bool ceil_mode, const std::string& order,
          bool count_include_pad, const std::string& ceil_rule) {
        require_layout({f.pool, "layout"}, order, f.layout);
        require_rank({f.pool, "data"}, x, static_cast<int>(f.spatial) + 2);
        return pool(x, f.spatial,
                    {.kernel = kernel,
                     .stride = stride,
                     .dilation = dilation,
                     .padding = padding,
                     .type = pool_type_of(f.pool, type),
                     .rounding = rounding_of(ceil_mode, ceil_rule),
                     .count_include_pad = count_include_pad});
      },
      {{"data", f.data},
       {"kernel", "one extent, or one for each spatial dimension"},
       {"stride", "one, or one for each spatial dimension"},
       {"dilation", "distance of taps: one, or one for each spatial dimension"},
       {"padding"},
       kType,
       {"ceil_mode", "a last window that does not fit whole counts too", false},
       layout_of(f),
       {"count_include_pad", "means are over padding too", true},
       {"ceil_rule",
        "what ceil_mode does of a window that begins in the padding behind the data: \"tvm\" "
        "keeps it, \"pytorch\" leaves it out",
        "tvm"}},
      "The greatest element or the mean of each window: [N, C, ...], each spatial extent being (in "
      "+ padding before and behind + (stride - 1 with ceil_mode) - ((kernel - 1) * dilation + 1)) "
      "// stride + 1. A maximum disregards padding, and is minus infinity (the least integer) of a "
      "window without elements; a mean is 0 there. A mean is never over what ceil_mode adds. ONNX "
      "MaxPool and AveragePool.");
}

Operator adaptive_row(const Family& f) {
  return make_operator(
      "topi.nn", f.adaptive,
      [f](const Tensor& x, const Ints& output_size, const std::string& type,
          const std::string& order) {
        require_layout({f.adaptive, "layout"}, order, f.layout);
        require_rank({f.adaptive, "data"}, x, static_cast<int>(f.spatial) + 2);
        return pool(x, f.spatial,
                    {.type = pool_type_of(f.adaptive, type), .output_size = output_size});
      },
      {{"data", f.data},
       {"output_size", "how many windows: one number, or one for each spatial dimension"},
       kType,
       layout_of(f)},
      "The greatest element or the mean of windows that cover the image: window i of n reaches "
      "from floor(i * extent / n) to ceil((i + 1) * extent / n). PyTorch's adaptive pooling.");
}

}  // namespace

std::vector<Operator> pooling_rows() {
  std::vector<Operator> rows;
  for (const Family& f : kFamilies) {
    rows.push_back(sliding_row(f));
    rows.push_back(adaptive_row(f));
  }
  rows.push_back(make_operator(
      "topi.nn", "global_pool",
      [](const Tensor& x, const std::string& type, const std::string& order) {
        for (const Family& f : kFamilies) {
          if (order != f.layout) continue;
          require_rank({"global_pool", "data"}, x, static_cast<int>(f.spatial) + 2);
          return global_pool(x, pool_type_of("global_pool", type), f.spatial);
        }
        bad_argument({"global_pool", "layout"}, fmt::format("unknown layout '{}'", order),
                     "NCW, NCHW, NCDHW");
      },
      {{"data", "[N, C, ...]; floats for a mean"}, kType, {"layout", "\"NCHW\"", "NCHW"}},
      "One window over all of each image: [N, C, 1, 1] of two spatial dimensions. ONNX "
      "GlobalMaxPool and GlobalAveragePool."));
  return rows;
}

}  // namespace tw::topi::nn
