// SPDX-License-Identifier: Apache-2.0
// Misbehaviour on demand, for tests of the measurer: TILEWRIGHT_WORKER_FAULT is a comma-separated
// list of kind@k, k counting the candidates of a measurer from 0.
#pragma once

#include <cstdint>
#include <string_view>

namespace tw::autotune {

enum class FaultPoint : uint8_t { Compile, Compiled, Run };

// While a candidate compiles: compile-crash, compile-hang, compile-exit, compile-memory. After its
// reply: lost. While it runs: crash, hang, exit, kill, memory.
void maybe_fail(FaultPoint point, int64_t candidate);
// Whether what this candidate leaves is to be spoilt: wrong, unwritten (an element of the result
// keeps what was there before), overwrite (an element of the first input changes), slow (visits say
// a second more).
bool has_fault(std::string_view kind, int64_t candidate);

}  // namespace tw::autotune
