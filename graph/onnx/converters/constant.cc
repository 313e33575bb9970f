// SPDX-License-Identifier: Apache-2.0
// Values that stand in the model, or follow from shapes.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "graph/onnx/converter.h"

namespace tw::graph::onnx {
namespace {

// What is filled at import; larger ones are left to the kernels.
constexpr int64_t kSmall = 4096;
// What is written out at most.
constexpr int64_t kLarge = 1 << 24;

int64_t count_of(Call& c, const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (int64_t extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(count, extent, &count)) {
      c.bad("a shape of " + text(shape), "extents of 0 or more, that fit into memory");
    }
  }
  return count;
}

Values constant(Call& c) {
  if (c.has_attribute("value")) return {c.constant(c.tensor("value"))};
  const auto length = [](const auto& v) {
    return std::vector<int64_t>{static_cast<int64_t>(v.size())};
  };
  if (c.has_attribute("value_float")) {
    return {c.constant(c.real("value_float", 0), float_type(32))};
  }
  if (c.has_attribute("value_floats")) {
    const std::vector<double> v = c.reals("value_floats");
    return {c.constant(array_of_reals(v, length(v), float_type(32)))};
  }
  if (c.has_attribute("value_int")) {
    return {c.constant(array_of({c.integer("value_int")}, {}, int_type(64)))};
  }
  if (c.has_attribute("value_ints")) {
    const std::vector<int64_t> v = c.integers("value_ints");
    return {c.constant(array_of(v, length(v), int_type(64)))};
  }
  c.unsupported("a constant of strings or a sparse tensor");
}

Values shape(Call& c) {
  const std::vector<int64_t>& extents = c.input(0).shape();
  const int64_t rank = c.input(0).rank();
  int64_t start = 0, end = rank;
  if (c.opset() >= 15) {
    const auto place = [&](std::string_view name, int64_t otherwise) {
      const int64_t k = c.integer(name, otherwise);
      return std::clamp(k < 0 ? k + rank : k, int64_t{0}, rank);
    };
    start = place("start", 0);
    end = std::max(start, place("end", rank));
  }
  const std::vector<int64_t> part(extents.begin() + start, extents.begin() + end);
  return {c.constant(array_of(part, {end - start}, int_type(64)))};
}

Values size(Call& c) { return {c.constant(array_of({c.input(0).elements()}, {}, int_type(64)))}; }

Values constant_of_shape(Call& c) {
  const std::vector<int64_t> extents = c.integers_of(0);
  Value value = c.constant(0, float_type(32));
  if (c.has_attribute("value")) value = c.constant(c.tensor("value"));
  if (value.elements() != 1) c.bad("a value of " + text(value.elements()) + " elements", "one");
  const int64_t count = count_of(c, extents);
  value = c.reshaped(value, {});
  if (count >= kSmall) return {c.broadcast(value, extents)};
  if (value.dtype().is_float()) {
    return {c.constant(reals_in(value.constant())[0], value.dtype(), extents)};
  }
  const std::vector<int64_t> all(static_cast<size_t>(count), integers_in(value.constant())[0]);
  return {c.constant(array_of(all, extents, value.dtype()))};
}

Values range(Call& c) {
  const DType type = c.input(0).dtype();
  const auto check = [&](double count) {
    if (!(count < static_cast<double>(kLarge))) c.unsupported("a range of more than 2^24 numbers");
    return std::max(int64_t{0}, static_cast<int64_t>(count));
  };
  if (type.is_float()) {
    const double start = c.number_of(0), limit = c.number_of(1), step = c.number_of(2);
    if (step == 0) c.bad("a step of 0", "another");
    const int64_t count = check(std::ceil((limit - start) / step));
    std::vector<double> values;
    for (int64_t k = 0; k < count; ++k) values.push_back(start + static_cast<double>(k) * step);
    return {c.constant(array_of_reals(values, {count}, type))};
  }
  const auto number = [&](size_t k) {
    const std::vector<int64_t> v = c.integers_of(k);
    if (v.size() != 1) c.bad("numbers that are tensors", "numbers");
    return v[0];
  };
  const int64_t start = number(0), limit = number(1), step = number(2);
  if (step == 0) c.bad("a step of 0", "another");
  const double span = static_cast<double>(limit) - static_cast<double>(start);
  const int64_t count = check(std::ceil(span / static_cast<double>(step)));
  std::vector<int64_t> values;
  for (int64_t k = 0; k < count; ++k) values.push_back(start + k * step);
  return {c.constant(array_of(values, {count}, type))};
}

// Ones on a diagonal.
Values eye_like(Call& c) {
  const Value& data = c.input(0);
  if (data.rank() != 2) c.bad("a diagonal of " + text(data.shape()), "a matrix");
  const DType type = c.has_attribute("dtype") ? c.dtype("dtype") : data.dtype();
  if (data.elements() > kLarge) c.unsupported("a matrix of more than 2^24 elements");
  const int64_t rows = data.extent(0), columns = data.extent(1), k = c.integer("k", 0);
  std::vector<int64_t> elements(static_cast<size_t>(rows * columns), 0);
  for (int64_t i = 0; i < rows; ++i) {
    int64_t j = 0;
    if (!__builtin_add_overflow(i, k, &j) && j >= 0 && j < columns) {
      elements[static_cast<size_t>(i * columns + j)] = 1;
    }
  }
  return {c.constant(array_of(elements, data.shape(), type))};
}

// A cosine window of three terms, over `size` places or, where it is no period, one less.
Converter window(std::string_view name, double a, double b, double d) {
  return {name, 17, 1, 1, "output_datatype:int periodic:int", [=](Call& c) {
            const std::vector<int64_t> size = c.integers_of(0);
            if (size.size() != 1 || size[0] < 0 || size[0] > kLarge) {
              c.bad("a window of " + text(size), "a number up to 2^24");
            }
            const DType type = c.dtype("output_datatype", 1);
            const auto span = static_cast<double>(c.flag("periodic", true) ? size[0] : size[0] - 1);
            std::vector<double> values;
            for (int64_t k = 0; k < size[0]; ++k) {
              const double angle = 2 * std::numbers::pi * static_cast<double>(k) / span;
              values.push_back(a - b * std::cos(angle) + d * std::cos(2 * angle));
            }
            return Values{c.constant(array_of_reals(values, size, type))};
          }};
}

}  // namespace

std::vector<Converter> constant_converters() {
  constexpr std::string_view kValues =
      "value:tensor sparse_value:sparse_tensor value_float:float value_floats:floats value_int:int "
      "value_ints:ints value_string:string value_strings:strings";
  return {
      {"Constant", 1, 0, 0, "value:tensor", constant},
      {"Constant", 11, 0, 0, "value:tensor sparse_value:sparse_tensor", constant},
      {"Constant", 12, 0, 0, kValues, constant},
      {"Shape", 1, 1, 1, "", shape},
      {"Shape", 15, 1, 1, "start:int end:int", shape},
      {"Size", 1, 1, 1, "", size},
      {"ConstantOfShape", 9, 1, 1, "value:tensor", constant_of_shape},
      {"Range", 11, 3, 3, "", range},
      {"EyeLike", 9, 1, 1, "dtype:int k:int", eye_like},
      window("HannWindow", 0.5, 0.5, 0),
      window("HammingWindow", 25.0 / 46, 21.0 / 46, 0),
      window("BlackmanWindow", 0.42, 0.5, 0.08),
      {"Range", 27, 3, 3, "stash_type:int", range},
  };
}

}  // namespace tw::graph::onnx
