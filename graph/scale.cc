// SPDX-License-Identifier: Apache-2.0
#include "graph/scale.h"

#include <algorithm>

namespace tw::graph {
namespace {

using Kind = ScaledInput::Kind;

// Whether a tensor that is broadcast to a shape has elements along one of its dimensions alone, as
// many as that has.
bool is_along(const Shape& values, const Shape& shape, size_t axis) {
  const size_t missing = shape.rank() - values.rank();
  if (axis < missing || values[axis - missing] != shape[axis]) return false;
  return values.elements() == shape[axis];
}

}  // namespace

std::vector<ScaleEquation> scales_as_sum(const Node&, std::span<const Shape> inputs,
                                         const Shape& output) {
  std::vector<ScaleEquation> equations;
  for (size_t axis = 0; axis < output.rank(); ++axis) {
    ScaleEquation equation{.output = axis};
    for (const Shape& input : inputs) {
      if (input == output) {
        equation.inputs.push_back({Kind::Pass, axis});
      } else if (is_along(input, output, axis)) {
        equation.inputs.push_back({Kind::Multiply, axis - (output.rank() - input.rank())});
      }
    }
    const bool passes = std::ranges::find(inputs, output) != inputs.end();
    if (passes && equation.inputs.size() == inputs.size()) equations.push_back(std::move(equation));
  }
  return equations;
}

std::vector<ScaleEquation> scales_as_positive(const Node&, std::span<const Shape> inputs,
                                              const Shape& output) {
  std::vector<ScaleEquation> equations;
  for (size_t axis = 0; axis < output.rank(); ++axis) {
    ScaleEquation equation{.output = axis, .any_sign = false};
    equation.inputs.resize(inputs.size());
    equation.inputs[0] = {Kind::Pass, axis};
    equations.push_back(std::move(equation));
  }
  return equations;
}

std::vector<ScaleEquation> scales_as_product(const Node&, std::span<const Shape> inputs,
                                             const Shape& output) {
  std::vector<ScaleEquation> equations;
  for (size_t axis = 0; axis < output.rank(); ++axis) {
    for (size_t k = 0; k < inputs.size(); ++k) {
      if (inputs[k] != output) continue;
      ScaleEquation equation{.output = axis};
      equation.inputs.resize(inputs.size());
      equation.inputs[k] = {Kind::Pass, axis};
      equations.push_back(std::move(equation));
    }
  }
  return equations;
}

}  // namespace tw::graph
