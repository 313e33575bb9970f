// SPDX-License-Identifier: Apache-2.0
// Calls that find their constants cold: each reads others, which lie somewhere else in memory, so
// that before one is read again as much has passed through the caches as the weights of a network.
//
// That is how a network's kernels find their weights, of which there are tens of megabytes. Inputs
// and outputs stay where they are: in a network the kernel before has just written the one, and an
// earlier one has used the memory of the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/module.h"
#include "runtime/ndarray.h"

namespace tw::autotune {

// What stands for the weights of a network: bytes that are harmless numbers of any floating-point
// type, positive and not too small.
NDArray cold_memory(int64_t bytes);

class ArgumentRotation {
 public:
  // The arrays of a call; those whose `rotates` says so change from call to call. Floating-point
  // ones lie in `memory`, with the numbers found there: what is computed takes as long. Others may
  // be indices, and are copied. The first call has the arrays as they are, and so has every call
  // where `memory` is undefined or nothing rotates.
  ArgumentRotation(std::vector<NDArray> arrays, const std::vector<bool>& rotates,
                   const NDArray& memory);
  // The arguments of the next call.
  const std::vector<CallArgument>& next();
  size_t size() const { return calls_.size(); }

 private:
  std::vector<NDArray> held_;
  std::vector<std::vector<CallArgument>> calls_;  // one list for each place of the constants
  size_t next_ = 0;
};

}  // namespace tw::autotune
