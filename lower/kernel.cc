// SPDX-License-Identifier: Apache-2.0
#include "lower/kernel.h"

#include <algorithm>

#include "runtime/error.h"

namespace tw {

const Kernel& KernelModule::entry() const {
  TW_CHECK(std::ranges::count(kernels, KernelRole::Entry, &Kernel::role) == 1,
           "a module with one entry");
  return *std::ranges::find(kernels, KernelRole::Entry, &Kernel::role);
}

const Kernel* KernelModule::preparation() const {
  const auto it = std::ranges::find(kernels, KernelRole::Preparation, &Kernel::role);
  return it == kernels.end() ? nullptr : &*it;
}

}  // namespace tw
