// SPDX-License-Identifier: Apache-2.0
// Loops of a reduction that are of another length for each element (te/ragged.h), once the stage
// has loops: its elements are positions of those then.
#pragma once

#include "schedule/schedule_data.h"

namespace tw {

// The axis's domain at an element of the stage, whose root axes have these values. What it reads is
// read where the element is one of the tensor's only; elsewhere it is empty.
Range domain_at(const StageData& stage, const IterVar& axis, const VarMap& roots,
                Analyzer& analyzer);

// The domain in terms of the loops outside those of the axis itself: the least that holds all
// domains of the data loops inside. `exact`: these do not move it. LoopOrder where they do, and
// nothing says how far.
struct RaggedDomain {
  Range range;
  bool exact;
};
RaggedDomain ragged_domain(const StageData& stage, const IterVar& axis, const DomainMap& domains,
                           Analyzer& analyzer);

}  // namespace tw
