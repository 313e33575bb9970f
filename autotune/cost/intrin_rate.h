// SPDX-License-Identifier: Apache-2.0
// How fast the tensor intrinsics are that sketches use: what the prior cannot tell from the loops
// they stand for.
#pragma once

#include <string_view>

namespace tw::autotune {

// Cycles of one of its tiles, where those before it need not be waited for.
struct IntrinRate {
  double arithmetic = 0;  // of the unit that multiplies
  double moves = 0;       // of load and store slots that nothing else takes
  double latency = 0;     // until the sums can be added to again
};

// Of the intrinsic's statement, or, where it resets sums, of that. Null for one without a row, of
// which only the loops are known.
const IntrinRate* intrin_rate(std::string_view name, bool resets);

}  // namespace tw::autotune
