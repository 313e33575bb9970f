// SPDX-License-Identifier: Apache-2.0
// Functions of each element, and of the elements of tensors that broadcast.
#include <limits>

#include "graph/onnx/converter.h"

namespace tw::graph::onnx {
namespace {

// Comparisons of ours are 1 or 0 in the type of the operands.
Converter comparison(std::string_view name, std::string_view op) {
  return {name, 1, 2, 2, "", [op](Call& c) {
            Value a = c.input(0), b = c.input(1);
            if (a.dtype().is_bool()) {
              a = c.cast(a, int_type(32));
              b = c.cast(b, int_type(32));
            }
            return Values{c.cast(c(op, {a, b}), bool_type())};
          }};
}

// Of one or more inputs, one after the other.
Converter folded(std::string_view name, std::string_view op) {
  return {name, 1, 1, kAny, "", [op](Call& c) {
            Value total = c.input(0);
            for (size_t k = 1; k < c.num_inputs(); ++k) total = c(op, {total, c.input(k)});
            return Values{total};
          }};
}

Values mean(Call& c) {
  Value total = c.input(0);
  for (size_t k = 1; k < c.num_inputs(); ++k) total = c("broadcast_add", {total, c.input(k)});
  const auto count = static_cast<double>(c.num_inputs());
  return {c("__div_scalar__", {total}, {{"scalar", text(count)}})};
}

// In the type of the base; of an integer to a floating exponent in float64, towards zero.
Values power(Call& c) {
  const Value &base = c.input(0), &exponent = c.input(1);
  const bool mixed = base.dtype().is_integer() && exponent.dtype().is_float();
  const DType type = mixed ? float_type(64) : base.dtype();
  const Value result = c("broadcast_pow", {c.cast(base, type), c.cast(exponent, type)});
  return {c.cast(result, base.dtype())};
}

Values divide(Call& c) {
  // Integers go towards zero.
  return {c("broadcast_div", c.inputs())};
}

Values clip_by_attributes(Call& c) {
  constexpr double kMost = std::numeric_limits<float>::max();
  return {c("clip", {c.input(0)},
            {{"a_min", text(c.real("min", -kMost))}, {"a_max", text(c.real("max", kMost))}})};
}

// Limits are constants, or tensors of one element.
Values clip(Call& c) {
  Value data = c.input(0);
  const auto limit = [&](size_t k, std::string_view op, std::string_view by_number) {
    if (!c.has(k)) return;
    const bool known = data.dtype().is_float() && c.input(k).is_constant();
    data = known ? c(by_number, {data}, {{"scalar", text(c.number_of(k))}})
                 : c(op, {data, c.reshaped(c.input(k), {})});
  };
  const bool constant =
      (!c.has(1) || c.input(1).is_constant()) && (!c.has(2) || c.input(2).is_constant());
  if (constant && data.dtype().is_float() && c.has(1) && c.has(2)) {
    return {c("clip", {data}, {{"a_min", text(c.number_of(1))}, {"a_max", text(c.number_of(2))}})};
  }
  limit(1, "broadcast_max", "__max_scalar__");
  limit(2, "broadcast_min", "__min_scalar__");
  return {data.is(c.input(0)) ? c("copy", {data}) : data};
}

Values leaky_relu(Call& c) {
  return {c("leaky_relu", c.inputs(), {{"alpha", text(c.real("alpha", 0.01))}})};
}

// A slope for each element that it broadcasts to.
Values prelu(Call& c) {
  const Value &x = c.input(0), &slope = c.input(1);
  const Value negative = c("elemwise_sub", {x, c("relu", {x})});  // min(x, 0)
  return {c("elemwise_add", {c("relu", {x}), c("broadcast_mul", {negative, slope})})};
}

Values cast(Call& c) { return {c.cast(c.input(0), c.dtype("to"))}; }
Values cast_like(Call& c) { return {c.cast(c.input(0), c.input(1).dtype())}; }

Values bit_cast(Call& c) {
  const DType to = c.dtype("to"), from = c.input(0).dtype();
  const auto bytes = [](DType type) { return type.is_bool() ? 1 : type.bits / 8; };
  if (bytes(to) != bytes(from)) {
    c.bad("the bits of " + to_string(from) + " as " + to_string(to), "types of one size");
  }
  return {c("reinterpret", {c.input(0)}, {{"dtype", text(to)}})};
}

Values first(Call& c) { return {c.input(0)}; }

// In inference nothing is dropped.
Values dropout(Call& c) {
  if (c.has(2)) {
    if (!c.input(2).is_constant()) c.unsupported("training_mode is not constant");
    const bool is_ratio_zero = c.has(1) && c.input(1).is_constant() && c.number_of(1) == 0;
    if (c.number_of(2) != 0 && !is_ratio_zero) c.unsupported("training");
  }
  Values outputs{c.input(0)};
  if (c.wants(1)) outputs.push_back(c.cast(c("ones_like", {c.input(0)}), bool_type()));
  return outputs;
}

}  // namespace

std::vector<Converter> elementwise_converters() {
  return {
      {"Add", 1, 2, 2, "", same("broadcast_add")},
      {"Sub", 1, 2, 2, "", same("broadcast_sub")},
      {"Mul", 1, 2, 2, "", same("broadcast_mul")},
      {"Div", 1, 2, 2, "", divide},
      {"Pow", 1, 2, 2, "", power},
      folded("Sum", "broadcast_add"),
      folded("Max", "broadcast_max"),
      folded("Min", "broadcast_min"),
      {"Mean", 1, 1, kAny, "", mean},
      comparison("Equal", "broadcast_equal"),
      comparison("Greater", "broadcast_greater"),
      comparison("GreaterOrEqual", "broadcast_greater_equal"),
      comparison("Less", "broadcast_less"),
      comparison("LessOrEqual", "broadcast_less_equal"),
      {"Relu", 1, 1, 1, "", same("relu")},
      {"Sigmoid", 1, 1, 1, "", same("sigmoid")},
      {"Tanh", 1, 1, 1, "", same("tanh")},
      {"Exp", 1, 1, 1, "", same("exp")},
      {"Log", 1, 1, 1, "", same("log")},
      {"Sqrt", 1, 1, 1, "", same("sqrt")},
      {"Neg", 1, 1, 1, "", same("negative")},
      {"Abs", 1, 1, 1, "", same("abs")},
      {"Floor", 1, 1, 1, "", same("floor")},
      {"Ceil", 1, 1, 1, "", same("ceil")},
      {"Round", 11, 1, 1, "", same("rint")},
      {"Reciprocal", 1, 1, 1, "", same("__rdiv_scalar__", {{"scalar", "1"}})},
      {"LeakyRelu", 1, 1, 1, "alpha:float", leaky_relu},
      {"PRelu", 1, 2, 2, "", prelu},
      {"Clip", 1, 1, 1, "min:float max:float", clip_by_attributes},
      {"Clip", 11, 1, 3, "", clip},
      {"Cast", 1, 1, 1, "to:int", cast},
      {"Cast", 19, 1, 1, "to:int saturate:int", cast},
      // How to round to types of eight bits, which we do not have.
      {"Cast", 24, 1, 1, "to:int saturate:int round_mode:string", cast},
      {"CastLike", 15, 2, 2, "", cast_like},
      {"CastLike", 19, 2, 2, "saturate:int", cast_like},
      {"CastLike", 24, 2, 2, "saturate:int round_mode:string", cast_like},
      {"BitCast", 26, 1, 1, "to:int", bit_cast},
      {"Identity", 1, 1, 1, "", first},
      {"Dropout", 1, 1, 1, "ratio:float", dropout},
      {"Dropout", 12, 1, 3, "seed:int", dropout},
  };
}

}  // namespace tw::graph::onnx
