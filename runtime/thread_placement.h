// SPDX-License-Identifier: Apache-2.0
// On which CPU a thread shall wake up. The system often wakes a thread where the one that calls it
// runs, or where another one runs already, and takes milliseconds to move it away.
#pragma once

#include <sched.h>

#include <span>
#include <vector>

#include "runtime/api.h"

namespace tw {

// CPUs that threads of one region have. Knows which CPUs are hardware threads of one core.
class TW_API CpuClaims {
 public:
  // core_of[cpu] is equal for the hardware threads of one core; a CPU beyond its end is a core of
  // its own. Must outlive the object.
  explicit CpuClaims(std::span<const int> core_of) : core_of_(core_of) {
    CPU_ZERO(&cpus_);
    CPU_ZERO(&cores_);
  }
  void take(int cpu);
  // A CPU of `allowed` that nobody has, preferably on a core that nobody has, then preferably
  // `last`. -1 when there is none.
  int choose(const cpu_set_t& allowed, int last) const;
  const cpu_set_t& cpus() const { return cpus_; }

 private:
  int core(int cpu) const;
  bool is_free(const cpu_set_t& allowed, int cpu, bool whole_core) const;

  std::span<const int> core_of_;
  cpu_set_t cpus_, cores_;
};

// The CPUs that a thread with this home may wake up on, of `allowed`: where it ran last its caches
// are warm, and the system may still prefer a CPU that nobody has taken; elsewhere home alone.
TW_API cpu_set_t room_of(int home, int last, const cpu_set_t& allowed, const CpuClaims& claims);

// For each CPU of this machine the least CPU of its core; empty when unknown. Read once.
TW_API const std::vector<int>& cores_of_cpus();

// Lets a thread run on `allowed` again. A set of all CPUs there are becomes one of all that there
// may be, as threads have that nobody restricted.
TW_API void restore_affinity(pid_t thread, const cpu_set_t& allowed);

}  // namespace tw
