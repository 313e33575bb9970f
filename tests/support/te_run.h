// SPDX-License-Identifier: Apache-2.0
// Runs te programs on small arrays through te/evaluate.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ir/expr.h"
#include "schedule/te/evaluate.h"

namespace tw::test {

// A row-major array of numbers. Integers beyond 2⁵³ do not fit.
struct Array {
  std::vector<int64_t> shape;
  std::vector<double> data;

  Array() = default;
  Array(std::vector<int64_t> s, std::vector<double> d) : shape(std::move(s)), data(std::move(d)) {}
  // f(flat position) for each element.
  Array(std::vector<int64_t> s, const std::function<double(int64_t)>& f) : shape(std::move(s)) {
    int64_t size = 1;
    for (int64_t extent : shape) size *= extent;
    for (int64_t i = 0; i < size; ++i) data.push_back(f(i));
  }
  double operator()(const std::vector<int64_t>& position) const {
    int64_t flat = 0;
    for (size_t d = 0; d < shape.size(); ++d) flat = flat * shape[d] + position[d];
    return data.at(static_cast<size_t>(flat));
  }
};

// Small integers of both signs that repeat late: products and sums of them are exact in float32.
inline Array sample(const std::vector<int64_t>& shape, int64_t salt = 0) {
  return Array(shape, [salt](int64_t i) {
    return static_cast<double>((i * 37 + salt * 11 + i / 7) % 19 - 9);
  });
}

inline te::Tensor placeholder_like(const Array& a, DType type = float_type(32),
                                   const std::string& name = "A") {
  std::vector<Expr> shape;
  for (int64_t extent : a.shape) shape.push_back(static_cast<int>(extent));
  return te::placeholder(shape, type, name);
}

inline InterpreterBuffer to_buffer(const std::vector<double>& data, DType type) {
  InterpreterBuffer buffer(type, static_cast<int64_t>(data.size()));
  for (size_t i = 0; i < data.size(); ++i) {
    buffer.set(static_cast<int64_t>(i), {.type = float_type(64), .f = data[i]});
  }
  return buffer;
}

inline std::vector<double> from_buffer(const InterpreterBuffer& buffer) {
  std::vector<double> data;
  for (int64_t i = 0; i < buffer.size(); ++i) {
    const Value v = buffer.at(i);
    data.push_back(v.type.is_float() ? v.f : static_cast<double>(v.i));
  }
  return data;
}

// Outputs of `outputs` for values of the program's placeholders in order of first use. Shapes are
// constant, or come from `scalars`.
inline std::vector<Array> run(const std::vector<te::Tensor>& outputs,
                              const std::vector<Array>& inputs,
                              const InterpreterScope& scalars = {}) {
  const te::Program program = te::make_program(outputs);
  std::vector<InterpreterBuffer> buffers;
  std::vector<std::vector<int64_t>> shapes;
  for (size_t k = 0; k < program.arguments.size(); ++k) {
    const te::Tensor& t = program.arguments[k];
    std::vector<int64_t> shape;
    int64_t size = 1;
    for (const Expr& extent : t.shape()) {
      shape.push_back(evaluate(extent, scalars).i);
      size *= shape.back();
    }
    shapes.push_back(shape);
    buffers.push_back(k < inputs.size() ? to_buffer(inputs[k].data, t.dtype())
                                        : InterpreterBuffer(t.dtype(), size));
  }
  std::vector<InterpreterBuffer*> pointers;
  for (InterpreterBuffer& b : buffers) pointers.push_back(&b);
  te::evaluate(program, pointers, scalars);
  std::vector<Array> results;
  for (size_t k = program.arguments.size() - outputs.size(); k < buffers.size(); ++k) {
    results.emplace_back(shapes[k], from_buffer(buffers[k]));
  }
  return results;
}

inline Array run(const te::Tensor& output, const std::vector<Array>& inputs,
                 const InterpreterScope& scalars = {}) {
  return run(std::vector<te::Tensor>{output}, inputs, scalars)[0];
}

}  // namespace tw::test
