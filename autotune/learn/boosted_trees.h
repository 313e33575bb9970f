// SPDX-License-Identifier: Apache-2.0
// Gradient-boosted regression trees over rows of features: XGBoost, the only source that includes
// it. Chen and Guestrin, "XGBoost: A Scalable Tree Boosting System" (2016).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "autotune/cost/features.h"

namespace tw::autotune {

// Rows of candidates one below the other, as the trees read them.
class FeatureMatrix {
 public:
  explicit FeatureMatrix(const std::vector<const Features*>& candidates);
  ~FeatureMatrix();
  FeatureMatrix(const FeatureMatrix&) = delete;

 private:
  friend class BoostedTrees;
  void* handle_ = nullptr;
};

struct BoostingOptions {
  int rounds = 30, depth = 4;
  double learning_rate = 0.25;
  double column_share = 0.4;  // of the columns, drawn anew for each tree
  double least_weight = 0.5;  // of the samples in a leaf
  uint64_t seed = 0;
};

// Errors of the library are raised as CostModel.
class BoostedTrees {
 public:
  // Learns the labels by squared errors, each of its weight. Equal arguments make equal trees.
  BoostedTrees(const FeatureMatrix& matrix, const std::vector<double>& label,
               const std::vector<double>& weight, const BoostingOptions& options);
  // Of what `save` gave.
  explicit BoostedTrees(std::string_view saved);
  ~BoostedTrees();
  BoostedTrees(const BoostedTrees&) = delete;

  // A number for each row.
  std::vector<float> predict(const FeatureMatrix& matrix) const;
  // In XGBoost's UBJSON, which later versions of it read too.
  std::string save() const;

 private:
  void* booster_ = nullptr;
};

}  // namespace tw::autotune
