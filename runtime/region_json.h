// SPDX-License-Identifier: Apache-2.0
// Regions as text, for the program that tries to build them and for exported networks. Of constants
// it says that they are, not their elements.
#pragma once

#include <functional>
#include <string>

#include "runtime/api.h"
#include "runtime/codegen.h"

namespace tw::vendor {

TW_API std::string to_json(const Region& region);
// `constant` says where the elements of a value are; the caller keeps them. Throws a std::exception
// for text that is no region.
TW_API Region from_json(const std::string& text,
                        const std::function<const void*(size_t value)>& constant);

}  // namespace tw::vendor
