// SPDX-License-Identifier: Apache-2.0
// Candidates that differ in what hardly matters: measuring one of them tells of all.
#pragma once

#include <vector>

#include "autotune/cost/features.h"

namespace tw::autotune {

class Variants {
 public:
  // How far each feature varies is taken from these candidates.
  explicit Variants(const std::vector<const Features*>& typical);
  // False for a variant of one added before: its features lie nearer to that one's than
  // `kLeastDistance`, root mean square over those that vary, each in parts of how far.
  bool add(const Features& f);

  static constexpr double kLeastDistance = 0.5;

 private:
  std::vector<float> scaled(const Features& f) const;

  std::vector<double> scale_;  // by column; 0 for those that do not vary
  double least_ = 0;           // of sums of squares
  std::vector<std::vector<float>> known_;
};

}  // namespace tw::autotune
