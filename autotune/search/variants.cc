// SPDX-License-Identifier: Apache-2.0
#include "autotune/search/variants.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tw::autotune {
namespace {

std::vector<float> row_of(const Features& f) {
  std::vector<float> row;
  f.append_to(row);
  return row;
}

}  // namespace

Variants::Variants(const std::vector<const Features*>& typical) {
  std::vector<double> sum, squares;
  for (const Features* f : typical) {
    const std::vector<float> row = row_of(*f);
    sum.resize(row.size());
    squares.resize(row.size());
    for (size_t c = 0; c < row.size(); ++c) {
      sum[c] += row[c];
      squares[c] += double(row[c]) * row[c];
    }
  }
  const auto count = double(typical.size());
  for (size_t c = 0; c < sum.size(); ++c) {
    const double mean = sum[c] / count;
    const double deviation = std::sqrt(std::max(0.0, squares[c] / count - mean * mean));
    const bool varies = deviation > 1e-6 * (1 + std::abs(mean));
    scale_.push_back(varies ? 1 / deviation : 0);
    if (varies) least_ += kLeastDistance * kLeastDistance;
  }
}

std::vector<float> Variants::scaled(const Features& f) const {
  std::vector<float> row = row_of(f);
  for (size_t c = 0; c < scale_.size(); ++c) row[c] = static_cast<float>(row[c] * scale_[c]);
  return row;
}

bool Variants::add(const Features& f) {
  std::vector<float> row = scaled(f);
  for (const std::vector<float>& other : known_) {
    float apart = 0;
    for (size_t c = 0; c < row.size(); ++c) apart += (row[c] - other[c]) * (row[c] - other[c]);
    if (apart < static_cast<float>(least_)) return false;
  }
  known_.push_back(std::move(row));
  return true;
}

}  // namespace tw::autotune
