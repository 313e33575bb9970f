// SPDX-License-Identifier: Apache-2.0
// When a candidate's first timings show that it is no contender: a decision taken as samples come
// in, so that the time of a tuning run goes to candidates that may be the best.
#pragma once

namespace tw::autotune {

// A test by betting (Shafer, "Testing by betting", 2021; Ramdas et al., "Game-theoretic statistics
// and safe anytime-valid inference", 2023) of the claim that a kernel's median time is at most
// `bound`. A bettor's capital starts at 1 and is multiplied at each sample; while the claim holds
// it cannot be expected to grow, so the probability that it ever reaches 1 / error is at most
// `error`, at whatever sample one looks. Half of the capital bets on signs, which takes some ten
// samples however close they lie to the bound, and half on how far they are above it, which takes
// few where that is much.
//
// What is assumed of the noise: samples are independent, and one exceeds f times the median, f > 1,
// with a probability of at most ½ f⁻⁸ (0.04 at 1.5 times, 0.002 at twice).
class BehindTest {
 public:
  // A bound that is not more than 0 is not known, and an error of 0 lets nothing be refuted.
  BehindTest(double bound, double error);
  // Takes the seconds of one more sample; whether the claim is refuted now.
  bool add(double seconds);
  double capital() const { return (signs_ + distance_) / 2; }

 private:
  double bound_, error_;
  double signs_ = 1, distance_ = 1;
};

}  // namespace tw::autotune
