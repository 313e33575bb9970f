// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedule/relation.h"
#include "schedule/schedule.h"

namespace tw {

// OutOfBounds when what is computed reads a tensor where it is not, or is not proven not to
// (te/check_bounds.h says what is let pass). Operations are judged as the program has them, over
// all their points: what is inside then is inside in every schedule. Only where that fails the
// stages are judged as they are scheduled, each over the part that its consumers need. The schedule
// must be normalised.
void check_reads(const Schedule& normalized, const DomainMap& domains);

}  // namespace tw
