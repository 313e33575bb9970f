// SPDX-License-Identifier: Apache-2.0
// What buffers that are declared for whole tensors leave open, and whether the rest is true.
#pragma once

#include <string>
#include <vector>

#include "schedule/tensor_intrin.h"

namespace tw {

// The statements of `stage`, with what stands in memory in place of the variables of their buffers:
// buffer k is that of a tensor of shape k, which is row-major without gaps and begins where its
// memory does. BadArgument for an extent, stride or offset that is declared otherwise, or of which
// that cannot be proven. What a buffer says of its address (data_alignment) is tested when they
// run: ArgumentAlignment with the buffer's name.
Stmt settled(const std::vector<IntrinBuffer>& buffers, const std::vector<std::vector<Expr>>& shapes,
             const Stmt& statements, const std::string& stage);

// The statements, which run where the buffer's memory is aligned as it says (data_alignment) and
// count on that; where it is not, ArgumentAlignment with the names of the buffer and of `function`.
Stmt aligned(const IntrinBuffer& buffer, const Stmt& statements, const std::string& function);

}  // namespace tw
