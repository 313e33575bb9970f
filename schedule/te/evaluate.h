// SPDX-License-Identifier: Apache-2.0
// The first oracle: each point of each output from its definition, knowing nothing of schedules,
// bounds or lowering.
#pragma once

#include <vector>

#include "ir/interpret.h"
#include "schedule/te/text.h"

namespace tw::te {

// `arguments` match program.arguments; the buffers of outputs are written. `scalars` binds symbolic
// extents. Reading outside a tensor is OutOfBounds, naming tensor, position and shape.
void evaluate(const Program& program, const std::vector<InterpreterBuffer*>& arguments,
              const InterpreterScope& scalars = {});

}  // namespace tw::te
