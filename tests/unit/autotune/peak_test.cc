// SPDX-License-Identifier: Apache-2.0
#include "autotune/measure/peak.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tw::autotune {
namespace {

TEST(Peak, IsARateForEveryVectorWidth) {
  Target target = Target::host();
  for (const int bits : {128, 256, 512, 4096}) {
    target.vector_bits = bits;
    for (const bool fma : {false, true}) {
      target.has_fma = fma;
      const double peak = measure_fma_peak(target, 1, 1e-3);
      EXPECT_TRUE(std::isfinite(peak));
      EXPECT_GT(peak, 0);
    }
  }
}

TEST(Peak, TakesSeveralThreads) { EXPECT_GT(measure_fma_peak(Target::host(), 2, 1e-3), 0); }

}  // namespace
}  // namespace tw::autotune
