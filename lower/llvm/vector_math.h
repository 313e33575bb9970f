// SPDX-License-Identifier: Apache-2.0
// Mathematics of whole vectors: glibc's libmvec, whose functions are at most 4 ulp from the exact
// result (the library's manual, "Errors in Math Functions"; `./tw bench math` measures it).
#pragma once

#include <string>
#include <string_view>

#include "lower/llvm/target.h"

namespace tw::codegen {

// A function on vectors of `lanes` elements.
struct VectorFunction {
  std::string symbol;
  int lanes = 0;
};
// The function for at least `lanes` elements of 32 or 64 bits, or the widest that the target has;
// no symbol where the machine that compiles has no such function.
VectorFunction find_vector_function(std::string_view name, int bits, int lanes,
                                    const Target& target);
// The address of a vector function; null for any other name.
void* vector_symbol(std::string_view symbol);

}  // namespace tw::codegen
