// SPDX-License-Identifier: Apache-2.0
// Ranks candidates before they are measured.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "autotune/cost/features.h"

namespace tw::autotune {

// A measured candidate. `throughput` is relative to the best of its task: 1 is the fastest seen, 0
// a failure. Samples of different tasks are never compared with each other.
struct Sample {
  std::shared_ptr<const Features> features;
  double throughput = 0;
  int task = 0;
  // How far its own timings lie apart, in parts of their median; what varies much teaches less.
  double spread = 0;
};

// Scores of candidates, larger is better.
struct Opinion {
  std::vector<double> score;
  // How far the true ones may be from them, a standard deviation each.
  std::vector<double> deviation = {};
  // Of a model that has one: the scores without what the task's own trials taught of its
  // candidates. Trials of a few alike ones teach the wrong thing of others.
  std::vector<double> base = {};
};

class CostModel {
 public:
  virtual ~CostModel();
  // Trains from scratch on all samples.
  virtual void train(const std::vector<Sample>& samples) = 0;
  // Larger is better; only the order within a task means anything.
  virtual std::vector<double> predict(const std::vector<const Features*>& candidates) const = 0;
  // The same with what is not sure about it: without deviations, as here, of a model that cannot
  // tell. Policies use such a model as one that is sure of all it says.
  virtual Opinion opinion(const std::vector<const Features*>& candidates) const;
  // Whether opinions have a base.
  virtual bool has_base() const { return false; }
  // False until there was something to learn from; the prior ranks until then.
  virtual bool trained() const = 0;
};

class Experience;

// The rows of the table in cost_models.cc. Log throughput by the prior, by what other tasks teach
// (null: nothing), and by an ensemble of XGBoost's boosted trees, which learn what both miss;
// `shuffled` trains it on shuffled labels.
std::unique_ptr<CostModel> make_xgboost_model(bool shuffled, uint64_t seed,
                                              std::shared_ptr<const Experience> experience = {});
// Scores drawn at random.
std::unique_ptr<CostModel> make_random_model(uint64_t seed);
// The analytical prior alone.
std::unique_ptr<CostModel> make_prior_model();

}  // namespace tw::autotune
