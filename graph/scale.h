// SPDX-License-Identifier: Apache-2.0
// How factors along a dimension move through operators: what FoldScaleAxis is told by them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "graph/shape.h"

namespace tw::graph {

struct Node;

// What a factor along a dimension means for one input.
struct ScaledInput {
  enum class Kind : uint8_t {
    Keep,      // nothing
    Pass,      // it has the factor along `axis`: whoever computes it takes it, or gives it
    Multiply,  // it is multiplied by it along `axis`, since it is small, or a parameter
  } kind = Kind::Keep;
  size_t axis = 0;
  // Multiply: the factor is in so many groups along `axis`, one after the other, and each holds for
  // as many elements of the dimension `group_axis`: of weights of a grouped convolution.
  int64_t groups = 1;
  size_t group_axis = 0;
};

// Moving a factor from one side to the other does not change the output.
//   With `output`: a factor along that dimension of the output, or that factor on the inputs.
//   Without: a factor of the inputs that pass it, or of those that are multiplied.
struct ScaleEquation {
  std::optional<size_t> output = {};
  std::vector<ScaledInput> inputs = {};
  bool any_sign = true;  // false: for factors that are 0 or more
};

// The equations of a node of one output, whose shapes are known.
using ScaleRule = std::function<std::vector<ScaleEquation>(
    const Node& node, std::span<const Shape> inputs, const Shape& output)>;

// Rules that operators share: factors along any dimension, on all inputs, where all have the shape
// of the output.
std::vector<ScaleEquation> scales_as_sum(const Node& node, std::span<const Shape> inputs,
                                         const Shape& output);
// The same of the first input alone, for factors that are 0 or more: max(x, 0), and the like.
std::vector<ScaleEquation> scales_as_positive(const Node& node, std::span<const Shape> inputs,
                                              const Shape& output);
// Of either operand of a product.
std::vector<ScaleEquation> scales_as_product(const Node& node, std::span<const Shape> inputs,
                                             const Shape& output);

}  // namespace tw::graph
