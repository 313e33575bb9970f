// SPDX-License-Identifier: Apache-2.0
// The function of each row of primitives.def.
#pragma once

#include "schedule/primitive.h"

namespace tw {

#define PRIMITIVE(name, version, parameters, results, doc) \
  StepResults apply_##name(const PrimitiveCall& call);
#include "schedule/primitives.def"
#undef PRIMITIVE

}  // namespace tw
