// SPDX-License-Identifier: Apache-2.0
// The functions of each row of primitives.def and of primitive_versions.def.
#pragma once

#include <vector>

#include "schedule/primitive.h"

namespace tw {

#define PRIMITIVE(name, version, parameters, results, doc) \
  StepResults apply_##name(const PrimitiveCall& call);
#include "schedule/primitives.def"
#undef PRIMITIVE

#define EARLIER_VERSION(name, version, parameters) \
  std::vector<Argument> upgrade_##name##_##version(std::vector<Argument> arguments);
#include "schedule/primitive_versions.def"
#undef EARLIER_VERSION

}  // namespace tw
