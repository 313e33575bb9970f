// SPDX-License-Identifier: Apache-2.0
// What trials of other tasks teach about a new one: where the prior misjudges a kind of loop nest,
// it does so in many tasks. Features are relative to the machine, so that this carries over.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "autotune/learn/boosted_trees.h"
#include "autotune/learn/cost_model.h"

namespace tw::autotune {

class Experience {
 public:
  // Of samples of several tasks; null where they are of fewer than two. Each of its members learns
  // from half of the tasks, so that what one task alone teaches does not decide.
  static std::shared_ptr<const Experience> learn(const std::vector<Sample>& samples, uint64_t seed);

  // In log throughput, to be added to the prior's; what the members say on average, and how far
  // they are apart.
  Opinion opinion(const std::vector<const Features*>& candidates) const;

  // Bytes that `load` takes back. Equal samples give equal bytes with one version of XGBoost.
  std::string save() const;
  // CostModel where the bytes are of other features than this version's, or damaged.
  static std::shared_ptr<const Experience> load(std::string_view bytes);

 private:
  std::vector<std::unique_ptr<const BoostedTrees>> members_;
};

// The one that comes with the library, made by ./tw bench model --pretrain; null, and why, where it
// is of other features.
struct ShippedExperience {
  std::shared_ptr<const Experience> experience;
  std::string refusal;
};
const ShippedExperience& shipped_experience();

}  // namespace tw::autotune
