// SPDX-License-Identifier: Apache-2.0
// What must hold of the IR at each stage of lowering. The pass runner calls this after each pass.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ir/node.h"

namespace tw {

// A property of a whole statement, ensured by one pass and relied on by later ones.
enum class Property : uint8_t {
  WellFormed,       // each variable bound once and used in scope only; types agree
  Flat,             // no Provide, Realize, ProducerLoad, Prefetch, Reduce; memory is Load/Store
  NoVectorLoops,    // no For of kind Vectorized
  NoUnrollLoops,    // no For of kind Unrolled
  NoParallelLoops,  // no For of kind Parallel
  HoistedStorage,   // no Allocate of constant size inside a serial loop that could stand outside
  KernelSignature,  // argument unpacking is there (make_api): no free variables
  Legalised,        // only intrinsics that code generation knows
};
std::string_view to_string(Property p);

// Throws InternalError (MalformedIr) naming the property, the node in IR text and what is wrong.
// `free_vars` may be used without a binding.
void verify(const Stmt& s, const std::vector<Property>& properties,
            const std::vector<Var>& free_vars = {});

}  // namespace tw
