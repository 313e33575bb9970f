// SPDX-License-Identifier: Apache-2.0
// Facts about the computer we run on: processor, caches, and how many CPUs we may use. What the
// instruction set offers is asked of LLVM, elsewhere.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/api.h"

namespace tw {

struct Machine {
  std::string cpu_name;       // "Intel(R) Xeon(R) …", or "unknown"
  std::vector<int> affinity;  // CPUs that the asking thread may run on, ascending
  double cgroup_cpus = 0;     // CPU time quota as a number of CPUs; 0: unlimited
  int usable_cpus = 1;        // size of `affinity`, bounded by the quota rounded up
  int usable_cores = 1;       // the same, hardware threads of one core counted once
  int64_t memory_bytes = 0;   // physical memory, or what control groups leave of it; 0: unknown
  // Data or unified caches as seen from one CPU, in bytes; 0 where there is none or it is unknown.
  int64_t l1_bytes = 0, l2_bytes = 0, l3_bytes = 0;
  int l3_sharing = 1;  // how many CPUs share one L3
  int cache_line_bytes = 64;
  // The hardware threads of each core that has any of `affinity`, ascending.
  std::vector<std::vector<int>> cores;
};

// Reads the facts; `root` is put before /proc and /sys, for tests. Never fails: what cannot be
// read keeps its default.
TW_API Machine read_machine(const std::string& root = {});
// read_machine(), read once at the first call.
TW_API const Machine& host();

// The CPUs of a kernel list such as "0-3,8,10-11"; empty when it is none.
TW_API std::vector<int> parse_cpu_list(const std::string& text);

}  // namespace tw
