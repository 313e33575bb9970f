// SPDX-License-Identifier: Apache-2.0
#include "runtime/thread_placement.h"

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "runtime/machine.h"

namespace tw {
namespace {

bool has(const cpu_set_t& set, int cpu) {
  return cpu >= 0 && cpu < CPU_SETSIZE && CPU_ISSET(static_cast<size_t>(cpu), &set);
}

void add(cpu_set_t& set, int cpu) {
  if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_SET(static_cast<size_t>(cpu), &set);
}

}  // namespace

int CpuClaims::core(int cpu) const {
  const bool known = cpu >= 0 && static_cast<size_t>(cpu) < core_of_.size();
  return known ? core_of_[static_cast<size_t>(cpu)] : cpu;
}

void CpuClaims::take(int cpu) {
  add(cpus_, cpu);
  add(cores_, core(cpu));
}

bool CpuClaims::is_free(const cpu_set_t& allowed, int cpu, bool whole_core) const {
  return has(allowed, cpu) && !has(cpus_, cpu) && !(whole_core && has(cores_, core(cpu)));
}

int CpuClaims::choose(const cpu_set_t& allowed, int last) const {
  for (const bool whole_core : {true, false}) {
    if (is_free(allowed, last, whole_core)) return last;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (is_free(allowed, cpu, whole_core)) return cpu;
    }
  }
  return -1;
}

cpu_set_t room_of(int home, int last, const cpu_set_t& allowed, const CpuClaims& claims) {
  cpu_set_t room;
  CPU_ZERO(&room);
  if (home == last) {
    // What is in `allowed` and not taken.
    CPU_AND(&room, &allowed, &claims.cpus());
    CPU_XOR(&room, &room, &allowed);
  }
  add(room, home);
  return room;
}

const std::vector<int>& cores_of_cpus() {
  static const std::vector<int> cores = [] {
    std::vector<int> result;
    for (const std::vector<int>& core : host().cores) {
      for (const int cpu : core) {
        for (int next = static_cast<int>(result.size()); next <= cpu; ++next) {
          result.push_back(next);
        }
        result[static_cast<size_t>(cpu)] = core.front();
      }
    }
    return result;
  }();
  return cores;
}

void restore_affinity(pid_t thread, const cpu_set_t& allowed) {
  static const int64_t online = sysconf(_SC_NPROCESSORS_ONLN);
  const bool restricted = CPU_COUNT(&allowed) < online;
  if (restricted && sched_setaffinity(thread, sizeof allowed, &allowed) == 0) return;
  if (restricted && errno != EINVAL) return;  // the thread has ended
  // Nothing restricted it, or every CPU that it was allowed has gone away.
  cpu_set_t all;
  std::memset(&all, 0xff, sizeof all);
  sched_setaffinity(thread, sizeof all, &all);
}

}  // namespace tw
