// SPDX-License-Identifier: Apache-2.0
#include "autotune/learn/cost_model.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "autotune/learn/boosted_trees.h"
#include "autotune/learn/experience.h"
#include "autotune/learn/learning_labels.h"

namespace tw::autotune {
namespace {

constexpr size_t kLeastSamples = 8;  // fewer teach nothing
constexpr int kMembers = 4;

// The prior and what other tasks teach, each by a slope that is measured, plus the mean of a few
// members that each saw another part of the samples and of the columns. Where they differ, the
// model does not know.
class ResidualModel : public CostModel {
 public:
  ResidualModel(bool shuffled, uint64_t seed, std::shared_ptr<const Experience> experience)
      : shuffled_(shuffled), seed_(seed), experience_(std::move(experience)) {}

  bool trained() const override { return experience_ != nullptr || !members_.empty(); }

  bool has_base() const override { return true; }

  void train(const std::vector<Sample>& given) override {
    if (given.size() < kLeastSamples) return;
    std::vector<Sample> samples = given;
    if (shuffled_) shuffle(samples);
    std::vector<const Features*> rows;
    for (const Sample& s : samples) rows.push_back(s.features.get());
    const Labels labels(samples, taught(rows).score);
    slopes_ = labels.slopes();
    const std::vector<double> residual = labels.residual(slopes_);
    const FeatureMatrix matrix(rows);
    members_.clear();
    for (int m = 0; m < kMembers; ++m) {
      const uint64_t seed = seed_ * kMembers + static_cast<uint64_t>(m);
      members_.push_back(std::make_unique<BoostedTrees>(matrix, residual, labels.weight,
                                                        BoostingOptions{.seed = seed}));
    }
  }

  std::vector<double> predict(const std::vector<const Features*>& candidates) const override {
    return opinion(candidates).score;
  }

  Opinion opinion(const std::vector<const Features*>& candidates) const override {
    Opinion result = taught(candidates);
    for (size_t i = 0; i < candidates.size(); ++i) {
      result.score[i] =
          slopes_.prior * prior_score(*candidates[i]) + slopes_.experience * result.score[i];
    }
    result.base = result.score;
    if (members_.empty() || candidates.empty()) return result;
    const FeatureMatrix matrix(candidates);
    std::vector<double> sum(candidates.size()), squares(candidates.size());
    for (const auto& member : members_) {
      const std::vector<float> own = member->predict(matrix);
      for (size_t i = 0; i < own.size(); ++i) {
        sum[i] += double(own[i]) / kMembers;
        squares[i] += double(own[i]) * double(own[i]) / kMembers;
      }
    }
    for (size_t i = 0; i < sum.size(); ++i) {
      result.score[i] += sum[i];
      result.deviation[i] = std::sqrt(std::max(0.0, squares[i] - sum[i] * sum[i]));
    }
    return result;
  }

 private:
  // By other tasks; zeros where nothing is known of them.
  Opinion taught(const std::vector<const Features*>& candidates) const {
    if (experience_ != nullptr) return experience_->opinion(candidates);
    return {std::vector<double>(candidates.size()), std::vector<double>(candidates.size())};
  }

  void shuffle(std::vector<Sample>& samples) const {
    std::mt19937_64 rng(seed_);
    std::vector<double> throughput;
    for (const Sample& s : samples) throughput.push_back(s.throughput);
    std::shuffle(throughput.begin(), throughput.end(), rng);
    for (size_t i = 0; i < samples.size(); ++i) samples[i].throughput = throughput[i];
  }

  bool shuffled_;
  uint64_t seed_;
  std::shared_ptr<const Experience> experience_;
  Slopes slopes_;
  std::vector<std::unique_ptr<BoostedTrees>> members_;
};

// Scores that need no learning.
class RandomModel : public CostModel {
 public:
  explicit RandomModel(uint64_t seed) : rng_(seed) {}
  void train(const std::vector<Sample>&) override {}
  bool trained() const override { return true; }
  std::vector<double> predict(const std::vector<const Features*>& candidates) const override {
    std::vector<double> score(candidates.size());
    for (double& s : score) s = std::uniform_real_distribution<>(0, 1)(rng_);
    return score;
  }

 private:
  mutable std::mt19937_64 rng_;
};

class PriorModel : public CostModel {
 public:
  void train(const std::vector<Sample>&) override {}
  bool trained() const override { return false; }
  std::vector<double> predict(const std::vector<const Features*>& candidates) const override {
    std::vector<double> score;
    for (const Features* f : candidates) score.push_back(prior_score(*f));
    return score;
  }
};

}  // namespace

CostModel::~CostModel() = default;

Opinion CostModel::opinion(const std::vector<const Features*>& candidates) const {
  return {.score = predict(candidates)};
}

std::unique_ptr<CostModel> make_xgboost_model(bool shuffled, uint64_t seed,
                                              std::shared_ptr<const Experience> experience) {
  return std::make_unique<ResidualModel>(shuffled, seed, std::move(experience));
}
std::unique_ptr<CostModel> make_random_model(uint64_t seed) {
  return std::make_unique<RandomModel>(seed);
}
std::unique_ptr<CostModel> make_prior_model() { return std::make_unique<PriorModel>(); }

}  // namespace tw::autotune
