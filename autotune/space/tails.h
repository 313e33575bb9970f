// SPDX-License-Identifier: Apache-2.0
// Which tiled reduction computes which elementwise operations behind it; part of the analysis.
#pragma once

#include <vector>

#include "autotune/space/analysis.h"

namespace tw::autotune {

// `elementwise[p]`: all that read operation p do so at their own position, point for point. Fills
// tail_owner, tail, company and what follows in another order.
void assign_tails(std::vector<OperationFacts>& facts, const std::vector<bool>& elementwise);

}  // namespace tw::autotune
