// SPDX-License-Identifier: Apache-2.0
#include "autotune/search/variants.h"

#include <algorithm>
#include <cmath>

namespace tw::autotune {

void Variants::add_scale(const Features& f) {
  std::vector<float> row;
  f.append_to(row);
  sum_.resize(row.size());
  squares_.resize(row.size());
  ++count_;
  for (size_t c = 0; c < row.size(); ++c) {
    sum_[c] += row[c];
    squares_[c] += double(row[c]) * row[c];
  }
}

bool Variants::is_new(const Features& f) {
  std::vector<float> row;
  f.append_to(row);
  // In units of how far each varies; what does not vary says nothing.
  size_t columns = 0;
  for (size_t c = 0; c < row.size() && c < sum_.size(); ++c) {
    const double mean = sum_[c] / double(count_);
    const double deviation = std::sqrt(std::max(0.0, squares_[c] / double(count_) - mean * mean));
    const bool varies = deviation > 1e-6 * (1 + std::abs(mean));
    columns += varies;
    row[c] = varies ? static_cast<float>(row[c] / deviation) : 0;
  }
  const auto least = static_cast<float>(kLeastDistance * kLeastDistance * double(columns));
  for (const std::vector<float>& other : known_) {
    float apart = 0;
    for (size_t c = 0; c < row.size(); ++c) apart += (row[c] - other[c]) * (row[c] - other[c]);
    if (apart < least) return false;
  }
  known_.push_back(std::move(row));
  return true;
}

}  // namespace tw::autotune
