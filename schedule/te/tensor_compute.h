// SPDX-License-Identifier: Apache-2.0
// A tensor that calls of a tensor intrinsic compute, a block of it each.
#pragma once

#include <string>
#include <vector>

#include "schedule/te/compute.h"

namespace tw::te {

// A compute like any other in what its elements are. The last of its data axes and of the axes of
// its reduction are the intrinsic's: a schedule has no loops of them, and what is computed of the
// tensor is whole blocks. Which statements the intrinsic consists of is not known here; that it
// computes these elements is checked when a schedule is lowered.
struct TensorComputeNode : ComputeNode {
  std::string intrin_name;
  std::vector<IterVar> inner_axes;
  size_t inner_data = 0;  // how many of inner_axes are data axes, which stand first

  const std::vector<IterVar>& intrin_axes() const override { return inner_axes; }
  std::string intrin() const override { return intrin_name; }
  Range computed(const IterVar& axis, const Range& needed) const override;
  Expr value_at(int, const std::vector<Expr>&) const override { return {}; }
  void write(Writer& out) const override;

 protected:
  Operation again(std::string name, std::vector<IterVar> axis,
                  std::vector<Expr> body) const override;
};

// The last `inner_data` of the axes are the intrinsic's, and the last `inner_reduction` of those
// that the bodies reduce over.
Operation tensor_compute_op(std::string name, std::string intrin, size_t inner_data,
                            size_t inner_reduction, std::vector<IterVar> axis,
                            std::vector<Expr> body, std::string tag = "",
                            Attributes attributes = {});

}  // namespace tw::te
