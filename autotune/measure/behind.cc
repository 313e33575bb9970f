// SPDX-License-Identifier: Apache-2.0
#include "autotune/measure/behind.h"

#include <cmath>

namespace tw::autotune {
namespace {

// What a sample above the bound, and one below it, multiplies the half that bets on signs by.
constexpr double kSignAbove = 1.7, kSignBelow = 0.3;
static_assert(kSignAbove + kSignBelow <= 2);

// What a sample of f times the bound multiplies the other half by: kBelow where f is at most 1,
// else kAbove f⁴. Half of the samples lie below the median; the other half have, at worst, f with
// the density 8 f⁻⁹, under which f⁴ has the mean 2. So the mean payoff is at most ½ kBelow + ½ · 2
// kAbove = 1.
constexpr double kBelow = 0.2, kAbove = 0.9;
static_assert(0.5 * kBelow + kAbove <= 1);

}  // namespace

BehindTest::BehindTest(double bound, double error) : bound_(bound), error_(error) {}

bool BehindTest::add(double seconds) {
  if (!(bound_ > 0)) return false;
  const double f = seconds / bound_;
  signs_ *= f > 1 ? kSignAbove : kSignBelow;
  distance_ *= f > 1 ? kAbove * std::pow(f, 4) : kBelow;
  return error_ > 0 && capital() >= 1 / error_;
}

}  // namespace tw::autotune
