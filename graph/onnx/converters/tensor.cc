// SPDX-License-Identifier: Apache-2.0
// Functions of mathematics, bits and truths of elements; elements at places that tensors name; sums
// along a dimension; matrices.
#include <algorithm>

#include "graph/onnx/converter.h"

namespace tw::graph::onnx {
namespace {

// Ours gives 1 or 0 in the type of the input.
Converter test(std::string_view name, std::string_view op) {
  return {name, 1,  1,
          1,    "", [op](Call& c) { return Values{c.cast(c(op, c.inputs()), bool_type())}; }};
}

Values is_infinite(Call& c) {
  const Value& data = c.input(0);
  const bool negative = c.flag("detect_negative", true), positive = c.flag("detect_positive", true);
  const Value infinite = c("isinf", {data});
  if (!negative && !positive) return {c.cast(c("zeros_like", {data}), bool_type())};
  if (negative && positive) return {c.cast(infinite, bool_type())};
  const Value side =
      c(positive ? "__greater_scalar__" : "__less_scalar__", {data}, {{"scalar", "0"}});
  return {c.cast(c("logical_and", {infinite, side}), bool_type())};
}

Values remainder(Call& c) {
  return {c(c.flag("fmod", false) ? "broadcast_mod" : "broadcast_floor_mod", c.inputs())};
}

Values shifted(Call& c) {
  const std::string direction = c.string("direction", "");
  if (direction != "LEFT" && direction != "RIGHT")
    c.bad("direction '" + direction + "'", "LEFT, RIGHT");
  const Value &data = c.input(0), &count = c.input(1);
  const int bits = data.dtype().bits;
  // By as many bits as there are, or more, or fewer than none: nothing but the sign is left.
  const Value over =
      c("logical_or", {c("__less_scalar__", {count}, {{"scalar", "0"}}),
                       c("__greater_equal_scalar__", {count}, {{"scalar", text(bits)}})});
  if (direction == "RIGHT" && data.dtype().is_int()) {
    const Value all = c("full_like", {count}, {{"fill_value", text(bits - 1)}});
    return {c("broadcast_right_shift", {data, c("where", {over, all, count})})};
  }
  const Value moved =
      c(direction == "LEFT" ? "broadcast_left_shift" : "broadcast_right_shift", {data, count});
  return {c("where", {over, c("zeros_like", {moved}), moved})};
}

Values gather_elements(Call& c) {
  const int64_t axis = c.axis(c.integer("axis", 0), c.input(0).rank());
  return {c("gather", c.inputs(), {{"axis", text(axis)}})};
}

// Our columns of indices are the first dimension.
Value columns_first(Call& c, const Value& indices) {
  if (indices.rank() == 0) c.bad("indices of rank 0", "rank 1 or more");
  Extents axes = {indices.rank() - 1};
  for (int64_t k = 0; k + 1 < indices.rank(); ++k) axes.push_back(k);
  return c.transposed(indices, axes);
}

Values gather_nd(Call& c) {
  const int64_t batch = c.opset() >= 12 ? c.integer("batch_dims", 0) : 0;
  return {
      c("gather_nd", {c.input(0), columns_first(c, c.input(1))}, {{"batch_dims", text(batch)}})};
}

std::string reduction_of(Call& c) {
  const std::string name = c.knows("reduction") ? c.string("reduction", "none") : "none";
  return name == "none" ? "update" : name;
}

Values scatter_elements(Call& c) {
  const int64_t axis = c.axis(c.integer("axis", 0), c.input(0).rank());
  return {
      c("scatter_elements", c.inputs(), {{"axis", text(axis)}, {"reduction", reduction_of(c)}})};
}

Values scatter_nd(Call& c) {
  return {c("scatter_nd", {c.input(0), columns_first(c, c.input(1)), c.input(2)},
            {{"mode", reduction_of(c)}})};
}

Values one_hot(Call& c) {
  const std::vector<double> values = c.reals_of(2);
  if (values.size() != 2) c.bad("values of " + text(values.size()) + " elements", "off and on");
  const DType type = c.input(2).dtype();
  const auto depth = static_cast<int64_t>(c.number_of(1));
  const int64_t axis = c.axis(c.integer("axis", -1), c.input(0).rank() + 1);
  Value indices = c.input(0);
  if (!indices.dtype().is_integer()) indices = c.cast(indices, int_type(64));
  return {c("one_hot", {indices},
            {{"depth", text(depth)},
             {"axis", text(axis)},
             {"off_value", text(values[0])},
             {"on_value", text(values[1])},
             {"dtype", text(type)}})};
}

Values cumulative(Call& c, std::string_view op) {
  const Extents axis = c.integers_of(1);
  if (axis.size() != 1) c.bad("an axis of " + text(axis), "one");
  return {c(op, {c.input(0)},
            {{"axis", text(c.axis(axis[0], c.input(0).rank()))},
             {"exclusive", text(c.flag("exclusive", false))},
             {"reverse", text(c.flag("reverse", false))}})};
}

Values compress(Call& c) {
  const Value& data = c.input(0);
  Extents condition = c.integers_of(1);
  const bool whole = !c.has_attribute("axis");
  const int64_t axis = whole ? 0 : c.axis(c.integer("axis"), data.rank());
  const int64_t extent = whole ? data.elements() : data.extent(static_cast<size_t>(axis));
  if (static_cast<int64_t>(condition.size()) > extent) {
    c.bad(text(condition.size()) + " conditions for " + text(extent) + " elements",
          "at most one for each");
  }
  return {c("compress", {data},
            {{"condition", text(condition)}, {"axis", whole ? "None" : text(axis)}})};
}

Values reverse_sequence(Call& c) {
  const int64_t rank = c.input(0).rank();
  return {c("reverse_sequence", c.inputs(),
            {{"batch_axis", text(c.axis(c.integer("batch_axis", 1), rank))},
             {"seq_axis", text(c.axis(c.integer("time_axis", 0), rank))}})};
}

Values triangle(Call& c) {
  int64_t k = 0;
  if (c.has(1)) {
    const Extents given = c.integers_of(1);
    if (given.size() != 1) c.bad("k of " + text(given), "one number");
    // Beyond all diagonals one is as good as another.
    k = std::clamp<int64_t>(given[0], -INT32_MAX, INT32_MAX);
  }
  return {c("trilu", {c.input(0)}, {{"k", text(k)}, {"upper", text(c.flag("upper", true))}})};
}

}  // namespace

std::vector<Converter> tensor_converters() {
  std::vector<Converter> rows;
  constexpr std::pair<std::string_view, std::string_view> kFunctions[] = {
      {"Sin", "sin"},     {"Cos", "cos"},        {"Tan", "tan"},     {"Asin", "asin"},
      {"Acos", "acos"},   {"Atan", "atan"},      {"Sinh", "sinh"},   {"Cosh", "cosh"},
      {"Asinh", "asinh"}, {"Acosh", "acosh"},    {"Atanh", "atanh"}, {"Erf", "erf"},
      {"Sign", "sign"},   {"Not", "logical_not"}};
  for (const auto& [name, op] : kFunctions) rows.push_back({name, 1, 1, 1, "", same(op)});
  rows.push_back({"BitwiseNot", 18, 1, 1, "", same("bitwise_not")});
  constexpr std::pair<std::string_view, std::string_view> kTruths[] = {
      {"And", "logical_and"}, {"Or", "logical_or"}, {"Xor", "logical_xor"}};
  for (const auto& [name, op] : kTruths) rows.push_back({name, 1, 2, 2, "", same(op)});
  constexpr std::pair<std::string_view, std::string_view> kBits[] = {
      {"BitwiseAnd", "bitwise_and"}, {"BitwiseOr", "bitwise_or"}, {"BitwiseXor", "bitwise_xor"}};
  for (const auto& [name, op] : kBits) rows.push_back({name, 18, 2, 2, "", same(op)});
  const std::vector<Converter> others = {
      test("IsNaN", "isnan"),
      {"IsInf", 10, 1, 1, "detect_negative:int detect_positive:int", is_infinite},
      {"Mod", 10, 2, 2, "fmod:int", remainder},
      {"BitShift", 11, 2, 2, "direction:string", shifted},
      {"Where", 9, 3, 3, "", same("where")},
      {"OneHot", 9, 3, 3, "axis:int", one_hot},
      {"GatherElements", 11, 2, 2, "axis:int", gather_elements},
      {"GatherND", 11, 2, 2, "", gather_nd},
      {"GatherND", 12, 2, 2, "batch_dims:int", gather_nd},
      {"Scatter", 9, 3, 3, "axis:int", scatter_elements},
      {"ScatterElements", 11, 3, 3, "axis:int", scatter_elements},
      {"ScatterElements", 16, 3, 3, "axis:int reduction:string", scatter_elements},
      {"ScatterND", 11, 3, 3, "", scatter_nd},
      {"ScatterND", 16, 3, 3, "reduction:string", scatter_nd},
      {"CumSum", 11, 2, 2, "exclusive:int reverse:int",
       [](Call& c) { return cumulative(c, "cumsum"); }},
      {"CumProd", 26, 2, 2, "exclusive:int reverse:int",
       [](Call& c) { return cumulative(c, "cumprod"); }},
      {"Compress", 9, 2, 2, "axis:int", compress},
      {"ReverseSequence", 10, 2, 2, "batch_axis:int time_axis:int", reverse_sequence},
      {"Trilu", 14, 1, 2, "upper:int", triangle},
  };
  rows.insert(rows.end(), others.begin(), others.end());
  return rows;
}

}  // namespace tw::graph::onnx
