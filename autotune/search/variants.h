// SPDX-License-Identifier: Apache-2.0
// Candidates that differ in what hardly matters: measuring one of them tells of all.
#pragma once

#include <cstddef>
#include <vector>

#include "autotune/cost/features.h"

namespace tw::autotune {

class Variants {
 public:
  // How far each feature varies is taken from these candidates, all added before others are asked
  // for.
  void add_scale(const Features& f);
  // Whether the candidate is no variant of those that were new before: its features lie as far from
  // theirs, root mean square over columns in parts of how far these vary, as `kLeastDistance`.
  bool is_new(const Features& f);

  static constexpr double kLeastDistance = 0.5;

 private:
  size_t count_ = 0;
  std::vector<double> sum_, squares_;
  std::vector<std::vector<float>> known_;
};

}  // namespace tw::autotune
