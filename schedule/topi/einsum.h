// SPDX-License-Identifier: Apache-2.0
// Einstein's summation convention, as NumPy's einsum reads it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/topi/common.h"

namespace tw::topi {

// The dimensions of operands and result by their labels, a character each. Those of an ellipsis are
// the characters from 1 on, the last dimension first.
struct EinsumEquation {
  std::vector<std::string> inputs;
  std::string output;
  bool operator==(const EinsumEquation&) const = default;
};

// What is wrong with an equation, and what would be legal; does not return.
using EinsumError = std::function<void(std::string what, std::string legal)>;

// Reads "ij,jk->ik", "bij,bjk", "...i,i->...". Without "->" the result has the dimensions of the
// ellipsis, then the labels that stand once, in alphabetical order. `ranks`: those of the operands;
// one that is not known must not have an ellipsis.
EinsumEquation parse_einsum(std::string_view equation,
                            const std::vector<std::optional<size_t>>& ranks,
                            const EinsumError& error);

// The sum over all labels that the result lacks of the product of the operands, whose types are
// one. Extents of 1 are repeated. BadArgument for an equation that is none; BadShape where a label
// has two extents. NumPy einsum, ONNX Einsum, TVM's topi.einsum.
Tensor einsum(const std::string& subscripts, const std::vector<Tensor>& operands);

// Rows of the table in schedule/topi/operator.h.
std::vector<Operator> einsum_rows();

}  // namespace tw::topi
