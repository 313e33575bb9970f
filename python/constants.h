// SPDX-License-Identifier: Apache-2.0
// Values of constant placeholders, as Python gives them.
#pragma once

#include <vector>

#include "lower/pipeline.h"
#include "python/bind.h"

namespace tw::python {

// From pairs (placeholder, array). The arrays are copied: what a kernel is built with must not
// change. Throws BadArgument for what is no tensor, and what `borrow` throws.
std::vector<ConstantValue> to_constants(const py::list& pairs);

}  // namespace tw::python
