// SPDX-License-Identifier: Apache-2.0
// Sketch rules: how each operation of a program may be scheduled.
#pragma once

#include <vector>

#include "autotune/space/space.h"

namespace tw::autotune {

// All sketches of a task: consumers first, each operation by the first rule of the table in rules.cc
// that applies to it.
std::vector<Sketch> make_sketches(const Task& task);

}  // namespace tw::autotune
