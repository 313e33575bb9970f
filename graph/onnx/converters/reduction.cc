// SPDX-License-Identifier: Apache-2.0
// Sums and the like over dimensions, positions of extremes, and softmax.
#include <algorithm>
#include <numeric>

#include "graph/onnx/converter.h"

namespace tw::graph::onnx {
namespace {

struct Reduced {
  Extents axes;
  bool keep;
};

// Axes are an attribute, and from opset `inputs` on an input; none: all, or nothing is reduced.
Reduced reduced_of(Call& c, int inputs) {
  const int64_t rank = c.input(0).rank();
  Extents axes;
  if (c.opset() < inputs) {
    axes = c.integers("axes");
  } else if (c.has(1)) {
    axes = c.integers_of(1);
  }
  const bool keep = c.flag("keepdims", true);
  if (axes.empty() && c.opset() >= inputs && c.flag("noop_with_empty_axes", false))
    return {{}, keep};
  if (axes.empty()) {
    axes.resize(static_cast<size_t>(rank));
    std::iota(axes.begin(), axes.end(), 0);
  }
  return {c.axes(axes, rank), keep};
}

Value reduce(Call& c, std::string_view op, const Value& data, const Reduced& r) {
  if (r.axes.empty()) return data;
  // The greatest of truth values is whether one is true.
  if (data.dtype().is_bool())
    return c.cast(reduce(c, op, c.cast(data, uint_type(8)), r), bool_type());
  return c(op, {data}, {{"axis", text(r.axes)}, {"keepdims", text(r.keep)}});
}

using Step = Value (*)(Call&, const Value&);
Value unchanged(Call&, const Value& v) { return v; }
Value squared(Call& c, const Value& v) { return c("elemwise_mul", {v, v}); }
Value magnitude(Call& c, const Value& v) { return c("abs", {v}); }
Value logarithm(Call& c, const Value& v) { return c("log", {v}); }
Value root(Call& c, const Value& v) { return c("sqrt", {v}); }

// `before` on each element, the reduction, `after` on each sum.
void add(std::vector<Converter>& rows, std::string_view name, std::string_view op, int inputs,
         Step before = unchanged, Step after = unchanged) {
  const auto convert = [=](Call& c) {
    const Reduced r = reduced_of(c, inputs);
    return Values{after(c, reduce(c, op, before(c, c.input(0)), r))};
  };
  rows.push_back({name, 1, 1, 1, "axes:ints keepdims:int", convert});
  rows.push_back({name, inputs, 1, 2, "keepdims:int noop_with_empty_axes:int", convert});
}

// log(sum(exp(x - greatest))) + greatest, so that nothing overflows.
Values log_sum_exp(Call& c) {
  const Reduced r = reduced_of(c, 18);
  const Value& data = c.input(0);
  if (r.axes.empty()) return {data};
  const Value greatest = c("max", {data}, {{"axis", text(r.axes)}, {"keepdims", "True"}});
  const Value powers = c("exp", {c("broadcast_sub", {data, greatest})});
  const Value sum = c("log", {c("sum", {powers}, {{"axis", text(r.axes)}, {"keepdims", "True"}})});
  const Value total = c("elemwise_add", {sum, greatest});
  if (r.keep) return {total};
  Extents shape;
  for (int64_t k = 0; k < data.rank(); ++k) {
    if (std::ranges::find(r.axes, k) == r.axes.end())
      shape.push_back(data.extent(static_cast<size_t>(k)));
  }
  return {c.reshaped(total, shape)};
}

// The first of equals, or the last: then from the other end.
Converter position(std::string_view name, std::string_view op, int since) {
  const std::string_view attributes =
      since == 1 ? "axis:int keepdims:int" : "axis:int keepdims:int select_last_index:int";
  return {name, since, 1, 1, attributes, [op, since](Call& c) {
            Value data = c.input(0);
            const int64_t axis = c.axis(c.integer("axis", 0), data.rank());
            const bool last = since > 1 && c.flag("select_last_index", false);
            const Attributes along{{"axis", text(axis)}};
            if (last) data = c("flip", {data}, along);
            Value place =
                c(op, {data},
                  {{"axis", text(Extents{axis})}, {"keepdims", text(c.flag("keepdims", true))}});
            if (last) {
              const int64_t end = data.extent(static_cast<size_t>(axis)) - 1;
              place = c("__rsub_scalar__", {place}, {{"scalar", text(end)}});
            }
            return Values{c.cast(place, int_type(64))};
          }};
}

// Before opset 13 over all dimensions from the axis on.
Converter softmax(std::string_view name, std::string_view op, int since) {
  return {name, since, 1, 1, "axis:int", [op](Call& c) {
            const Value& data = c.input(0);
            if (c.opset() >= 13) {
              const int64_t axis = c.axis(c.integer("axis", -1), data.rank());
              return Values{c(op, {data}, {{"axis", text(axis)}})};
            }
            const int64_t given = c.integer("axis", 1), rank = data.rank();
            const int64_t axis = given == rank ? rank : c.axis(given, rank);
            if (axis == rank - 1) return Values{c(op, {data}, {{"axis", text(axis)}})};
            int64_t rows = 1, columns = 1;
            for (int64_t k = 0; k < rank; ++k) {
              (k < axis ? rows : columns) *= data.extent(static_cast<size_t>(k));
            }
            const Value flat = c.reshaped(data, {rows, columns});
            return Values{c.reshaped(c(op, {flat}, {{"axis", "1"}}), data.shape())};
          }};
}

}  // namespace

std::vector<Converter> reduction_converters() {
  std::vector<Converter> rows = {
      position("ArgMax", "argmax", 1),
      position("ArgMax", "argmax", 12),
      position("ArgMin", "argmin", 1),
      position("ArgMin", "argmin", 12),
      softmax("Softmax", "softmax", 1),
      softmax("LogSoftmax", "log_softmax", 1),
      {"ReduceLogSumExp", 1, 1, 1, "axes:ints keepdims:int", log_sum_exp},
      {"ReduceLogSumExp", 18, 1, 2, "keepdims:int noop_with_empty_axes:int", log_sum_exp},
  };
  add(rows, "ReduceSum", "sum", 13);
  add(rows, "ReduceMean", "mean", 18);
  add(rows, "ReduceMax", "max", 18);
  add(rows, "ReduceMin", "min", 18);
  add(rows, "ReduceProd", "prod", 18);
  add(rows, "ReduceL1", "sum", 18, magnitude);
  add(rows, "ReduceL2", "sum", 18, squared, root);
  add(rows, "ReduceSumSquare", "sum", 18, squared);
  add(rows, "ReduceLogSum", "sum", 18, unchanged, logarithm);
  return rows;
}

}  // namespace tw::graph::onnx
