// SPDX-License-Identifier: Apache-2.0
// What tw.lower returns, and tw.build takes.
#pragma once

#include "lower/kernel.h"

namespace tw::python {

// A kernel, and behind it the device kernels that it launches.
struct LoweredFunc {
  KernelModule module;
  const Kernel& kernel() const { return module.kernels.at(0); }
};

}  // namespace tw::python
