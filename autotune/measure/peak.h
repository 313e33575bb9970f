// SPDX-License-Identifier: Apache-2.0
// The rate that arithmetic can reach on this machine: what "% of peak" refers to.
#pragma once

#include <cstdint>

#include "lower/llvm/target.h"

namespace tw {
class ThreadPool;
}

namespace tw::autotune {

// Fused multiply-adds of f32 between registers, as wide as the target's vectors (no wider than what
// this machine has), on all threads of a pool at once. A target without fma multiplies and adds
// apart.
class FmaLoop {
 public:
  explicit FmaLoop(const Target& target);
  // FLOP of a round, each thread's; an fma counts as two.
  double operations() const;
  void run(ThreadPool& pool, int64_t rounds) const;

 private:
  float (*loop_)(int64_t rounds);
  int lanes_;
};

// The rate of that loop on `threads` cores, FLOP/s: the fastest of the runs that fit into
// `seconds`, and of twenty times as many while the three fastest differ, as on a busy machine.
double measure_fma_peak(const Target& target, int threads, double seconds = 0.05);

}  // namespace tw::autotune
