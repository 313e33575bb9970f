// SPDX-License-Identifier: Apache-2.0
// Which machine timings are of. Times of machines of different kinds are never compared.
#pragma once

#include <string>
#include <string_view>

namespace tw::autotune {

// The name that the network knows this machine by.
const std::string& host_name();

// Model of the processor and instruction set: "AMD EPYC 9654 …; llvm -mcpu=znver4". Under a
// hypervisor one model comes with different instruction sets.
const std::string& machine_kind();

// The model alone, as early logs have it, is of one kind with each of its instruction sets; what is
// not known ("") is of one kind with everything.
bool same_kind(std::string_view a, std::string_view b);

}  // namespace tw::autotune
