// SPDX-License-Identifier: Apache-2.0
// The rate that arithmetic can reach on this machine: what "% of peak" refers to.
#pragma once

#include "lower/llvm/target.h"

namespace tw::autotune {

// Fused multiply-adds of f32 between registers, as wide as the target's vectors (no wider than what
// this machine has), on `threads` cores at once. FLOP/s, an fma counted as two: the fastest of the
// runs that fit into `seconds`, and of twenty times as many while the three fastest differ, as on a
// machine that is busy. A target without fma multiplies and adds apart.
double measure_fma_peak(const Target& target, int threads, double seconds = 0.05);

}  // namespace tw::autotune
