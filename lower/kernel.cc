// SPDX-License-Identifier: Apache-2.0
#include "lower/kernel.h"

#include <algorithm>
#include <set>

#include "ir/visit.h"
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

KernelModule KernelModule::with_devices(const Kernel& kernel) const {
  KernelModule result = kernel;
  if (std::ranges::find(kernels, KernelRole::Device, &Kernel::role) == kernels.end()) return result;
  std::set<std::string_view> launched;
  for_each_expr(kernel.body, [&](const Expr& e) { launched.insert(launched_kernel(e)); });
  for (const Kernel& k : kernels) {
    if (k.role == KernelRole::Device && launched.contains(k.name)) result.kernels.push_back(k);
  }
  return result;
}

std::string_view launched_kernel(const Expr& e) {
  const Call* call = as<Call>(e);
  if (call == nullptr || call->call_kind != CallKind::Intrinsic || call->name != "launch")
    return {};
  return as<StringImm>(call->args[0])->value;
}

}  // namespace tw
