// SPDX-License-Identifier: Apache-2.0
// Do the reads of an operation stay inside the tensors that it reads?
//
// An index of axes of constant extent is followed exactly where that is cheap: by the ends of sums
// of multiples, by the bounds and conditions that the analyzer knows, and at last point by point.
// What depends on values that only a call has (elements of tensors, symbolic extents) is judged
// where it is provably inside or outside, and let pass otherwise. A read that a condition on its
// variables guards (select, if_then_else, the condition of a reduction) is let pass too, unless a
// point is found where the condition holds and the index is outside.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/substitute.h"
#include "runtime/error.h"
#include "schedule/te/operation.h"

namespace tw::te {

enum class Reach : uint8_t {
  Unproven,  // no proof that it stays inside
  Outside,   // a point is known that is read outside
};
struct DoubtfulRead {
  Reach reach = Reach::Unproven;
  ErrorInfo error;  // OutOfBounds: the stage, the index, its values and the legal ones
};
// The first read that is outside, otherwise the first that is not proven; nothing when all are
// inside, guarded, or up to the call. `ranges`: what the root axes run over, independently of each
// other; axes that are not in it run over their domains. `values`: what some data axes are, in
// terms of other variables that `ranges` has; points outside their domains are not computed.
std::optional<DoubtfulRead> doubtful_read(const Operation& op, const DomainMap& ranges = {},
                                          const VarMap& values = {});

}  // namespace tw::te
