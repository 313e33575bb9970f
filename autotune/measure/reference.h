// SPDX-License-Identifier: Apache-2.0
// What is right: the inputs that every candidate of a task is run on, and how far from the
// reference result each element of its output may lie.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autotune/task/positions.h"
#include "lower/kernel.h"
#include "lower/llvm/target.h"
#include "runtime/ndarray.h"
#include "schedule/te/text.h"

namespace tw::autotune {

// Deterministic in seed and argument, on every machine: floats uniform in [-1, 1), signed integers
// in [-4, 4], unsigned in [0, 8], bool either; positions as they may be.
void fill_input(const NDArray& array, uint64_t seed, size_t argument, Positions positions = {});
// Bytes that no right result leaves as they are: NaN for floats, 0xa5 for the rest.
void fill_garbage(const NDArray& array);
// Of the bytes of a contiguous array; tells whether a kernel wrote to its input.
uint64_t checksum(const NDArray& array);

// A bound for the rounding error of each output element, to first order: the element of `program`
// in the output's place, times `factor`. `program` is the given one with every operation replaced
// by how errors pass through it: |x| for a value, sums for sums and differences, products for
// products, greatest for choices, f and f' for functions (after Higham, "Accuracy and Stability of
// Numerical Algorithms", chapter 3), so for a matrix product the sum of |a||b|. It computes in
// float64.
//
// `factor` is ε·K, K the product of the reduction extents on the way, with two constants: for K up
// to 64 the bound of the worst case, K + 8; beyond it (64 + 8 + (K - 64) / 64), because that many
// roundings do not all have one sign and the worst case would hide real errors.
struct ErrorBound {
  te::Program program;          // placeholders of the given program, and outputs of float64
  std::vector<int> outputs;     // for each output of the given program: which here, or -1: exact
  std::vector<double> factors;  // for each output of the given program
};
ErrorBound error_bound(const te::Program& program);
double rounding_factor(double reduction, double epsilon);

// An unscheduled program, lowered with every optional pass off.
Kernel lower_unscheduled(const te::Program& program, const Target& target, const std::string& name);

// The first element of `got` that is further from `expected` than `tolerance` (one float an
// element; null: must be equal). NaN and infinities must be met by their like.
struct Mismatch {
  int64_t index = 0;
  int64_t count = 0;  // of all elements that are wrong
  double expected = 0, got = 0, tolerance = 0;
};
std::optional<Mismatch> compare(const void* expected, const void* got, const float* tolerance,
                                int64_t size, DType type);

}  // namespace tw::autotune
