// SPDX-License-Identifier: Apache-2.0
// One statement of a loop nest as numbers that mean the same on every machine: shares of the
// prior's cycles, vectors and registers of the target, sizes of its caches.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "autotune/cost/loop_nest.h"
#include "autotune/cost/prior.h"

namespace tw::autotune {

// Names of the columns, in order.
const std::vector<std::string>& statement_feature_names();

// `cycles`: the prior's for the whole nest, of which the statement takes shares. Sizes are log2 of
// ratios. All reads of the statement are pooled.
std::vector<double> statement_features(const NestStatement& s, const StatementCost& cost,
                                       const MachineModel& machine, double cycles);

// log2 of a ratio, as far as it matters: 2^-10 stands for all that is less.
double log_ratio(double x, double of);

}  // namespace tw::autotune
