// SPDX-License-Identifier: Apache-2.0
// How much scratch memory a kernel takes.
#pragma once

#include <span>

#include "lower/kernel.h"
#include "runtime/module_metadata.h"

namespace tw {

// Of a kernel as place_allocations leaves it: the most that its buffers in workspace take at a
// time, each rounded up to 64 bytes, outside parallel regions and in one task, those of the device
// kernels that it launches included, which are among `module`. Nothing where the size of a buffer
// is known in a call only.
WorkspaceSize workspace_size(const Kernel& kernel, std::span<const Kernel> module = {});

}  // namespace tw
