// SPDX-License-Identifier: Apache-2.0
// The reducers that have names: sum, prod, max, min.
#pragma once

#include <string_view>

#include "ir/node.h"

namespace tw::te {

// The name under which te text and reports know a combiner, or "" for any other.
std::string_view reducer_name(const CommReducer& combiner);

}  // namespace tw::te
