// SPDX-License-Identifier: Apache-2.0
// Reads and writes one scalar element of any type in memory, and rounds a value to a type. This is
// what an interpreter, a reference or a test uses; speed is not its point.
#pragma once

#include <cstdint>

#include "runtime/api.h"
#include "runtime/dtype.h"

namespace tw {

// The element as a double: exact for every type but int64 and uint64 beyond 2⁵³.
TW_API double load_as_double(const void* element, DType type);
// The element as an integer: exact for integers and bool (uint64 wraps), floats are truncated
// and must lie in the range of int64.
TW_API int64_t load_as_int(const void* element, DType type);

// Floats are rounded to nearest even; integers take the truncated value modulo 2^bits; bool is
// value != 0.
TW_API void store_double(void* element, DType type, double value);
// Integers wrap modulo 2^bits; floats are rounded once; bool is value != 0.
TW_API void store_int(void* element, DType type, int64_t value);

// What `value` becomes when it is stored as the float type `type` and read back.
TW_API double round_to(DType type, double value);
// What `value` becomes in the integer type `type`: wrapped modulo 2^bits, sign extended for int.
// A uint64 comes back as the int64 of the same bits.
TW_API int64_t wrap_to(DType type, int64_t value);

}  // namespace tw
