// SPDX-License-Identifier: Apache-2.0
// Regions as text, for the program that tries to build them. Constants go as what they are called,
// not with their elements.
#pragma once

#include <string>

#include "graph/byoc/codegen.h"

namespace tw::vendor {

std::string to_json(const Region& region);
// Constants are the bytes at `constants`, all of them, which the caller keeps. Throws a
// std::exception for text that is no region.
Region from_json(const std::string& text, const void* constants);

}  // namespace tw::vendor
