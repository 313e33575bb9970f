// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unordered_map>

#include "ir/node.h"

namespace tw {

// What variables run over.
using DomainMap = std::unordered_map<Var, Range, IdentityHash, IdentityEqual>;

}  // namespace tw
