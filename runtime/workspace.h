// SPDX-License-Identifier: Apache-2.0
// Scratch memory of kernels. Each thread keeps the blocks that it freed and gives them out again,
// so that a kernel's second call asks the system for nothing and finds its pages mapped.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/api.h"

namespace tw {

// At least `bytes` bytes, uninitialised, aligned to `alignment` (a power of two) and to 64. Null
// when there is no memory or an argument makes no sense.
TW_API void* workspace_alloc(int64_t bytes, int64_t alignment = 64);
// Any thread may free; the block then belongs to that thread's pool. Null is allowed.
TW_API void workspace_free(void* block);
// Gives what this thread's pool keeps back to the system.
TW_API void workspace_trim();
// Bytes that this thread's pool keeps.
TW_API size_t workspace_kept_bytes();

}  // namespace tw
