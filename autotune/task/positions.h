// SPDX-License-Identifier: Apache-2.0
// Inputs that say where others are read: columns of a sparse matrix, and where its rows end. No
// kernel may be measured on other numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/te/text.h"

namespace tw::autotune {

struct Positions {
  int64_t count = 0;       // positions are 0 … count - 1, ends 0 … count; 0: any numbers will do
  bool ascending = false;  // ends of rows, each behind the one before it
};

// For each argument.
std::vector<Positions> positions_of(const te::Program& program);

}  // namespace tw::autotune
