// SPDX-License-Identifier: Apache-2.0
#include "autotune/measure/behind.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace tw::autotune {
namespace {

// Times of a kernel, a call each: its median, times what disturbs it.
class MadeTimer {
 public:
  MadeTimer(double median, double spread, uint64_t seed) : noise_(0, spread), random_(seed) {
    median_ = median;
  }
  // Small deviations to both sides.
  double plain() { return median_ * std::exp(noise_(random_)); }
  // The worst that the test allows for: half of the samples exceed f medians with probability f⁻⁸.
  double worst() {
    const double u = std::uniform_real_distribution<>(0, 1)(random_);
    return u < 0.5 ? median_ * 0.99 : median_ * std::pow(2 * (1 - u), -1.0 / 8);
  }

 private:
  double median_;
  std::normal_distribution<> noise_;
  std::mt19937_64 random_;
};

// The share of candidates that are called behind within so many samples.
template <class F>
double share_behind(double error, int samples, F sample) {
  constexpr int kCandidates = 4000;
  int behind = 0;
  for (uint64_t seed = 0; seed < kCandidates; ++seed) {
    BehindTest test(1e-3, error);
    auto timer = sample(seed);
    bool refuted = false;
    for (int i = 0; i < samples && !refuted; ++i) refuted = test.add(timer());
    behind += refuted ? 1 : 0;
  }
  return behind / double{kCandidates};
}

TEST(Behind, WhoIsAsFastIsRarelyCalledBehindHoweverOftenOneLooks) {
  for (double error : {0.1, 0.01}) {
    const auto worst = [](uint64_t seed) {
      return [t = MadeTimer(1e-3, 0, seed)]() mutable { return t.worst(); };
    };
    EXPECT_LE(share_behind(error, 500, worst), error);
    for (double spread : {0.001, 0.02, 0.08}) {
      const auto plain = [spread](uint64_t seed) {
        return [t = MadeTimer(1e-3, spread, seed)]() mutable { return t.plain(); };
      };
      EXPECT_LE(share_behind(error, 500, plain), error) << spread;
    }
  }
}

TEST(Behind, TheFurtherTheFewerSamplesItTakes) {
  const std::pair<double, int> most[] = {{1.06, 14}, {1.2, 11}, {1.5, 5}, {2, 3}, {4, 1}};
  for (const auto& [factor, samples] : most) {
    const auto slow = [factor = factor](uint64_t seed) {
      return [t = MadeTimer(factor * 1e-3, 0.02, seed)]() mutable { return t.plain(); };
    };
    EXPECT_GE(share_behind(0.01, samples, slow), 0.95) << factor;
  }
}

TEST(Behind, OneSlowCallAmongFastOnesSaysNothing) {
  BehindTest test(1e-3, 0.01);
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(test.add(0.99e-3));
  EXPECT_FALSE(test.add(10e-3));
}

TEST(Behind, NothingIsBehindAnUnknownBoundOrWithoutAnError) {
  BehindTest unknown(0, 0.01), never(1e-3, 0);
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(unknown.add(1));
    EXPECT_FALSE(never.add(1));
  }
}

}  // namespace
}  // namespace tw::autotune
