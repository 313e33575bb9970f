// SPDX-License-Identifier: Apache-2.0
// The analytical prior: what a loop nest should cost on a target, from issue slots, register
// pressure, cache footprints and balance, before anything was measured. In the tradition of
// roofline (Williams, Waterman, Patterson 2009) with per-level traffic. Only ratios are meant.
#pragma once

#include <array>
#include <vector>

#include "autotune/cost/loop_nest.h"
#include "autotune/cost/machine_model.h"

namespace tw::autotune {

// Cycles of one statement's whole nest, and what they come from; all in core cycles of one thread,
// `total` after division by the threads that can work.
struct StatementCost {
  double arithmetic = 0;    // floating issue slots, dependency chains included
  double loads = 0;         // load and store slots
  double spills = 0;        // register pressure beyond the file
  double overhead = 0;      // loop control
  double traffic[3] = {};   // bytes into L1, L2, L3
  double pages = 0;         // translations that miss the first-level buffer
  double walks = 0;         // those that miss the second-level one
  double cold = 0;          // bytes of constants that come from memory and are waited for
  double accumulators = 0;  // vector registers that the register tile needs
  double speedup = 1;       // from the parallel loop
  double total = 0;
};
// Of each cache, by access, whether what the access touches is in it already.
using Warm = std::vector<std::array<bool, 3>>;
// By statement: what statements before it left there, as far as loops around both of them go, and
// buffers that every iteration of such a loop fills anew.
std::vector<Warm> warm_accesses(const std::vector<NestStatement>& nest,
                                const MachineModel& machine);
StatementCost statement_cost(const NestStatement& s, const MachineModel& machine, const Warm& warm);

struct NestCost {
  std::vector<StatementCost> statements;
  double cycles = 0;   // of all statements
  double seconds = 0;  // at the model's clock, with what it takes to start threads
};
NestCost nest_cost(const std::vector<NestStatement>& nest, const MachineModel& machine);
// The same, where nothing else of it is wanted.
double nest_seconds(const std::vector<NestStatement>& nest, const MachineModel& machine);

}  // namespace tw::autotune
