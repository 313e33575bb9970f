// SPDX-License-Identifier: Apache-2.0
// How much walks do: for tests that state how work grows with a program, whatever the machine.
#pragma once

#include <cstdint>

namespace tw {

// The nodes that walks have met on this thread: those of ir/visit.h, simplification, comparison and
// hashing, and code generation. A walk reports when it is destroyed.
uint64_t nodes_visited();
void count_visits(uint64_t nodes);

}  // namespace tw
