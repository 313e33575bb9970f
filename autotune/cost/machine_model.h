// SPDX-License-Identifier: Apache-2.0
// What the analytical prior knows of the machine that code is made for: caches, and what a core
// does in a cycle. It belongs to the target and never depends on the machine that compiles.
//
// A number comes from a document, which is named, or was fitted to measured schedules by
// `./tw bench calibrate`. Cycles are those of the core at `clock`. Only ratios of estimates are
// meant.
#pragma once

#include <span>
#include <string_view>

#include "lower/llvm/target.h"

namespace tw::autotune {

// Per core unless said otherwise.
struct MachineModel {
  int vector_bits = 128, vector_registers = 16;
  int threads = 1;
  bool fma = false;  // of one rounding: some functions are arithmetic then (math_cost.h)
  bool int8_dot = false, bf16_dot = false;  // adds groups of narrow products at once
  double clock = 2.5e9;                     // Hz, nominal

  // Caches, from the rows in machine_model.cc.
  double cache_bytes[3] = {32 << 10, 1 << 20, 8 << 20};  // L1, L2, share of L3
  double ways[3] = {8, 16, 16};
  double page_entries = 64;        // of the first-level translation buffer of loads
  double store_page_entries = 16;  // and of stores
  double far_page_entries = 1536;  // of the second-level one

  // The rest has a row of machine_constants() each, which says the unit and where it is from.
  double bytes_per_cycle[3] = {32, 10, 4};  // into L1, into L2, into L3
  double usable_cache = 0.75;
  double page_cycles = 7, walk_cycles = 30;
  double arithmetic_per_cycle = 2, loads_per_cycle = 2;
  double chain = 8, window = 96;
  double divide_cycles = 8, half_divide_share = 0.5, math_cycles = 20;
  double bfloat_dot_slots = 4;
  double loop_cycles = 2, condition_cycles = 1;
  double hand_over_cycles = 40, fork_cycles = 5000;
  double spill_cycles = 2, shuffled_share = 1;
  double shuffle_cycles = 1.5, gather_cycles = 1.5;
  double fetched_share = 0.4;
  double port_overlap = 0.2, level_overlap = 0.25;
};

MachineModel machine_model(const Target& target, int threads);

// A number that prior and calibration share.
struct MachineConstant {
  std::string_view name, unit, meaning;
  std::string_view source;  // a document, or "fit"
  double& (*of)(MachineModel& model);
  double least, most;  // between which calibration looks
};
std::span<const MachineConstant> machine_constants();

}  // namespace tw::autotune
