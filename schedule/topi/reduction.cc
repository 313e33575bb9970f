// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/reduction.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/expr.h"
#include "schedule/topi/accumulation.h"
#include "schedule/topi/broadcast.h"
#include "schedule/topi/operator.h"

namespace tw::topi {
namespace {

// Which dimensions are reduced, and how positions of data and result belong together.
class Reduction {
 public:
  Reduction(std::string_view op, const Tensor& data, const std::vector<int>& axis, bool keepdims)
      : shape_(data.shape()), keepdims_(keepdims) {
    if (data.rank() == 0) {
      bad_shape({op, "data"}, "there is nothing to reduce in a tensor of rank 0",
                "a tensor of rank 1 or more");
    }
    axes_ = normalize_axes({op, "axis"}, axis, data.rank());
    for (int a : axes_) {
      const Expr& extent = shape_[static_cast<size_t>(a)];
      reduce_axes_.push_back(
          te::reduce_axis({make_zero(extent.dtype()), extent}, fmt::format("k{}", a)));
    }
  }

  bool reduces(size_t dimension) const {
    return std::find(axes_.begin(), axes_.end(), static_cast<int>(dimension)) != axes_.end();
  }
  const std::vector<IterVar>& reduce_axes() const { return reduce_axes_; }
  std::vector<Expr> result_shape() const {
    std::vector<Expr> shape;
    for (size_t d = 0; d < shape_.size(); ++d) {
      if (!reduces(d)) shape.push_back(shape_[d]);
      if (reduces(d) && keepdims_) shape.push_back(make_const(shape_[d].dtype(), 1));
    }
    return shape;
  }
  // Where in the data the element for `position` of the result and the reduce axes is.
  std::vector<Expr> source(const std::vector<Var>& position) const {
    std::vector<Expr> indices;
    size_t next = 0, reduced = 0;
    for (size_t d = 0; d < shape_.size(); ++d) {
      if (!reduces(d)) {
        indices.push_back(position[next++]);
      } else {
        indices.push_back(reduce_axes_[reduced++].var());
        if (keepdims_) ++next;
      }
    }
    return indices;
  }
  // Row-major position in the reduced dimensions, int32.
  Expr reduced_position() const {
    Expr flat = 0;
    for (size_t r = 0; r < axes_.size(); ++r) {
      flat = flat * tw::cast(int_type(32), shape_[static_cast<size_t>(axes_[r])]) +
             tw::cast(int_type(32), reduce_axes_[r].var());
    }
    return flat;
  }
  Expr count() const {
    std::vector<Expr> extents;
    for (int a : axes_) extents.push_back(shape_[static_cast<size_t>(a)]);
    return product(extents);
  }

 private:
  std::vector<Expr> shape_;
  bool keepdims_;
  std::vector<int> axes_;
  std::vector<IterVar> reduce_axes_;
};

using ReduceFunction = Expr (*)(const Expr&, const std::vector<IterVar>&, const Expr&);

Tensor reduce_with(std::string_view op, ReduceFunction f, const Tensor& data,
                   const std::vector<int>& axis, bool keepdims, DType type) {
  const Reduction r(op, data, axis, keepdims);
  return te::compute(
      r.result_shape(),
      [&](const std::vector<Var>& i) {
        return f(tw::cast(type, data(r.source(i))), r.reduce_axes(), {});
      },
      data.name() + "_red", kReduction);
}

Tensor reduce_with(std::string_view op, ReduceFunction f, const Tensor& data,
                   const std::vector<int>& axis, bool keepdims) {
  return reduce_with(op, f, data, axis, keepdims, data.dtype());
}

// The result is of the accumulation type.
Tensor accumulate(std::string_view op, ReduceFunction f, const Tensor& data,
                  const std::vector<int>& axis, bool keepdims) {
  return reduce_with(op, f, data, axis, keepdims, accumulation_type(data.dtype()));
}

Expr reduce_bools(const Expr& source, const std::vector<IterVar>& axes, bool conjunction) {
  const Var x("x", bool_type()), y("y", bool_type());
  const CommReducer combiner{.lhs = {x},
                             .rhs = {y},
                             .result = {conjunction ? x && y : x || y},
                             .identity = {make_bool(conjunction)}};
  return te::reduce(combiner, {source}, axes)[0];
}

Expr reduce_all(const Expr& source, const std::vector<IterVar>& axes, const Expr&) {
  return reduce_bools(tw::cast(bool_type(), source), axes, true);
}
Expr reduce_any(const Expr& source, const std::vector<IterVar>& axes, const Expr&) {
  return reduce_bools(tw::cast(bool_type(), source), axes, false);
}

// Combines (index, value) pairs. NaN is beyond every number, as NumPy has it, and equal values are
// decided by index, so that any order of reduction gives the same result; the identity loses
// against every element.
CommReducer extreme_reducer(DType type, bool greatest, bool last) {
  const DType index = int_type(32);
  const Var li("lhs_index", index), ri("rhs_index", index);
  const Var lv("lhs_value", type), rv("rhs_value", type);
  const Expr beyond = greatest ? lv > rv : lv < rv;
  const Expr wins = last ? li > ri : li < ri;
  Expr keeps = beyond || (lv == rv && wins);
  if (type.is_float()) keeps = keeps || (call("isnan", {lv}) && (!call("isnan", {rv}) || wins));
  return {.lhs = {li, lv},
          .rhs = {ri, rv},
          .result = {select(keeps, li, ri), select(keeps, lv, rv)},
          .identity = {last ? make_const(index, -1) : max_value(index),
                       greatest ? max_identity(type) : min_identity(type)}};
}

Tensor extreme_position(std::string_view op, const Tensor& data, const std::vector<int>& axis,
                        bool keepdims, bool greatest, bool last) {
  const Reduction r(op, data, axis, keepdims);
  if (is_zero(r.count())) {
    bad_shape({op, "data"}, fmt::format("a position in none of shape {}", shape_text(data.shape())),
              "at least one element to choose from");
  }
  const CommReducer combiner = extreme_reducer(data.dtype(), greatest, last);
  const std::vector<Tensor> pair = te::compute_many(
      r.result_shape(),
      [&](const std::vector<Var>& i) {
        return te::reduce(combiner, {r.reduced_position(), data(r.source(i))}, r.reduce_axes());
      },
      data.name() + "_red_temp", kIndexReduction);
  return te::compute(
      r.result_shape(), [&](const std::vector<Var>& i) { return pair[0](to_exprs(i)); },
      data.name() + "_red", kIndexReduction);
}

}  // namespace

Tensor sum(const Tensor& data, const std::vector<int>& axis, bool keepdims) {
  return converted(accumulate("sum", &te::sum, data, axis, keepdims), data.dtype());
}
Tensor prod(const Tensor& data, const std::vector<int>& axis, bool keepdims) {
  return converted(accumulate("prod", &te::prod, data, axis, keepdims), data.dtype());
}
Tensor max(const Tensor& data, const std::vector<int>& axis, bool keepdims) {
  return reduce_with("max", &te::max, data, axis, keepdims);
}
Tensor min(const Tensor& data, const std::vector<int>& axis, bool keepdims) {
  return reduce_with("min", &te::min, data, axis, keepdims);
}
Tensor all(const Tensor& data, const std::vector<int>& axis, bool keepdims) {
  return reduce_with("all", &reduce_all, data, axis, keepdims);
}
Tensor any(const Tensor& data, const std::vector<int>& axis, bool keepdims) {
  return reduce_with("any", &reduce_any, data, axis, keepdims);
}

Tensor mean(const Tensor& data, const std::vector<int>& axis, bool keepdims) {
  require_float({"mean", "data"}, data);
  const Expr count = Reduction("mean", data, axis, keepdims).count();
  const Tensor total = accumulate("mean", &te::sum, data, axis, keepdims);
  return converted(divide(total, tw::cast(total.dtype(), count), "T_mean"), data.dtype());
}

Tensor argmax(const Tensor& data, const std::vector<int>& axis, bool keepdims,
              bool select_last_index) {
  return extreme_position("argmax", data, axis, keepdims, true, select_last_index);
}
Tensor argmin(const Tensor& data, const std::vector<int>& axis, bool keepdims,
              bool select_last_index) {
  return extreme_position("argmin", data, axis, keepdims, false, select_last_index);
}

std::vector<Operator> reduction_rows() {
  const ParameterText axis{"axis", "dimensions, from the end where negative; None: all", Value()};
  const ParameterText keepdims{"keepdims", "reduced dimensions stay, with extent 1", false};
  const ParameterText last{"select_last_index", "of equal elements the last", false};
  using Axes = std::vector<int>;
  std::vector<Operator> rows;
  const auto add = [&](std::string_view name, std::string_view data, auto* reduce,
                       std::string_view doc) {
    rows.push_back(make_operator(
        "topi", name,
        [reduce](const Tensor& x, const Axes& axes, bool keep) { return reduce(x, axes, keep); },
        {{"data", data}, axis, keepdims}, doc));
  };
  add("sum", "numbers", &sum,
      "The sum, in the type of the elements; of 16 bits rounded once. ONNX ReduceSum.");
  add("prod", "numbers", &prod,
      "The product, in the type of the elements; of 16 bits rounded once. ONNX ReduceProd.");
  add("max", "numbers", &max,
      "The greatest element; of none minus infinity, or the least integer; a NaN may be lost. "
      "ONNX ReduceMax.");
  add("min", "numbers", &min,
      "The least element; of none infinity, or the greatest integer; a NaN may be lost. ONNX "
      "ReduceMin.");
  add("mean", "floats", &mean, "The sum divided by the number of elements. ONNX ReduceMean.");
  add("all", "bool", &all, "Whether all elements are true. NumPy all.");
  add("any", "bool", &any, "Whether one element is true. NumPy any.");
  const auto add_position = [&](std::string_view name, auto* reduce, std::string_view doc) {
    rows.push_back(make_operator(
        "topi", name,
        [reduce](const Tensor& x, const Axes& axes, bool keep, bool select_last) {
          return reduce(x, axes, keep, select_last);
        },
        {{"data", "numbers"}, axis, keepdims, last}, doc));
  };
  add_position(
      "argmax", &argmax,
      "Row-major position of the greatest element, int32; NaN is beyond all. ONNX ArgMax.");
  add_position("argmin", &argmin,
               "Row-major position of the least element, int32; NaN is before all. ONNX ArgMin.");
  return rows;
}

}  // namespace tw::topi
