// SPDX-License-Identifier: Apache-2.0
#include "autotune/cost_model.h"

#include <fmt/format.h>
#include <xgboost/c_api.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "runtime/error.h"

namespace tw::autotune {
namespace {

constexpr size_t kLeastSamples = 8;  // fewer teach nothing
constexpr int kMembers = 4, kRounds = 30;
// What the trees miss of log throughput anyway, which timings have to be worse than to count less;
// and how far from one the slope of the prior is before it is measured (a standard deviation).
constexpr double kMisfit = 0.1, kSlopeDoubt = 0.3;
// A failure counts as so many times slower than the slowest that ran.
constexpr double kFailureFactor = 2;

void check(int status, std::string_view what) {
  if (status == 0) return;
  raise({.code = ErrorCode::CostModel, .what = fmt::format("{}: {}", what, XGBGetLastError())});
}

// Rows of all candidates one below the other.
struct Matrix {
  DMatrixHandle handle = nullptr;
  explicit Matrix(const std::vector<float>& rows) {
    const size_t columns = feature_names().size();
    check(XGDMatrixCreateFromMat(rows.data(), rows.size() / columns, columns, NAN, &handle),
          "making a matrix of features");
  }
  ~Matrix() { XGDMatrixFree(handle); }
  Matrix(const Matrix&) = delete;
};

double prior_score(const Features& f) { return -std::log(std::max(f.prior_seconds, 1e-12)); }

// log throughput of each sample and what the prior thinks of it, both less their task's mean, since
// tasks are not compared; and how much each counts.
struct Labels {
  std::vector<double> speed, prior, weight;
  explicit Labels(const std::vector<Sample>& samples) {
    std::map<int, double> slowest;
    for (const Sample& s : samples) {
      if (s.throughput <= 0) continue;
      const auto known = slowest.try_emplace(s.task, s.throughput).first;
      known->second = std::min(known->second, s.throughput);
    }
    for (const Sample& s : samples) {
      const double least = slowest.contains(s.task) ? slowest.at(s.task) / kFailureFactor : 1;
      speed.push_back(std::log(s.throughput > 0 ? s.throughput : least));
      prior.push_back(prior_score(*s.features));
      const double noise = s.spread / kMisfit;
      weight.push_back(1 / (1 + noise * noise));
    }
    center(samples, speed);
    center(samples, prior);
  }

  // How much of a difference that the prior expects there is. One, until samples say otherwise.
  double prior_slope() const {
    constexpr double kNone = 1e-12;
    double own = kNone, both = kNone, error = kNone;
    for (size_t i = 0; i < speed.size(); ++i) {
      own += prior[i] * prior[i];
      both += prior[i] * speed[i];
    }
    const double fitted = both / own;
    for (size_t i = 0; i < speed.size(); ++i) {
      const double miss = speed[i] - fitted * prior[i];
      error += miss * miss / double(speed.size());
    }
    const double doubt = error / own;  // variance of the fitted slope
    const double trust = kSlopeDoubt * kSlopeDoubt / (kSlopeDoubt * kSlopeDoubt + doubt);
    return std::max(0.0, 1 + trust * (fitted - 1));
  }

 private:
  void center(const std::vector<Sample>& samples, std::vector<double>& values) const {
    std::map<int, std::pair<double, double>> sums;  // of weights and of values, by task
    for (size_t i = 0; i < samples.size(); ++i) {
      auto& [n, sum] = sums[samples[i].task];
      n += weight[i];
      sum += weight[i] * values[i];
    }
    for (size_t i = 0; i < samples.size(); ++i) {
      const auto& [n, sum] = sums[samples[i].task];
      values[i] -= sum / n;
    }
  }
};

// Boosted trees that learn, by squared errors, what is left of log throughput when the prior's part
// is taken off.
class Member {
 public:
  Member(const Matrix& matrix, const std::vector<double>& label, const std::vector<double>& weight,
         uint64_t seed) {
    check(XGBoosterCreate(&matrix.handle, 1, &booster_), "creating the model");
    const std::pair<const char*, std::string> parameters[] = {
        {"tree_method", "hist"},
        {"max_bin", "64"},
        {"max_depth", "4"},
        {"eta", "0.25"},
        {"lambda", "1"},
        {"min_child_weight", "0.5"},
        {"subsample", "0.8"},
        {"colsample_bytree", "0.4"},
        {"base_score", "0"},
        {"verbosity", "0"},
        {"seed", std::to_string(seed % 100000)},
        // A few hundred rows: threads would spend their time waiting for each other.
        {"nthread", "1"},
        {"disable_default_eval_metric", "1"}};
    for (const auto& [name, value] : parameters) {
      check(XGBoosterSetParam(booster_, name, value.c_str()), name);
    }
    std::vector<float> gradient(label.size()), curvature(label.size());
    for (int round = 0; round < kRounds; ++round) {
      const std::vector<float> score = predict(matrix);
      for (size_t i = 0; i < label.size(); ++i) {
        gradient[i] = float(weight[i] * (double(score[i]) - label[i]));
        curvature[i] = float(weight[i]);
      }
      check(XGBoosterBoostOneIter(booster_, matrix.handle, gradient.data(), curvature.data(),
                                  gradient.size()),
            "boosting");
    }
  }
  ~Member() { XGBoosterFree(booster_); }
  Member(const Member&) = delete;

  std::vector<float> predict(const Matrix& matrix) const {
    constexpr char kMargin[] =
        R"({"type":1,"training":false,"iteration_begin":0,"iteration_end":0,"strict_shape":false})";
    const bst_ulong* shape = nullptr;
    bst_ulong dimensions = 0;
    const float* values = nullptr;
    check(
        XGBoosterPredictFromDMatrix(booster_, matrix.handle, kMargin, &shape, &dimensions, &values),
        "predicting");
    return {values, values + shape[0]};
  }

 private:
  BoosterHandle booster_ = nullptr;
};

// The prior, by a slope that is measured, plus the mean of a few members that each saw another part
// of the samples and of the columns. Where they differ, the model does not know.
class ResidualModel : public CostModel {
 public:
  ResidualModel(bool shuffled, uint64_t seed) : shuffled_(shuffled), seed_(seed) {}

  bool trained() const override { return !members_.empty(); }

  void train(const std::vector<Sample>& given) override {
    if (given.size() < kLeastSamples) return;
    std::vector<Sample> samples = given;
    if (shuffled_) shuffle(samples);
    const Labels labels(samples);
    slope_ = labels.prior_slope();
    std::vector<double> residual;
    std::vector<float> rows;
    for (size_t i = 0; i < samples.size(); ++i) {
      samples[i].features->append_to(rows);
      residual.push_back(labels.speed[i] - slope_ * labels.prior[i]);
    }
    const Matrix matrix(rows);
    members_.clear();
    for (int m = 0; m < kMembers; ++m) {
      members_.push_back(std::make_unique<Member>(matrix, residual, labels.weight,
                                                  seed_ * kMembers + static_cast<uint64_t>(m)));
    }
  }

  std::vector<double> predict(const std::vector<const Features*>& candidates) const override {
    return ask(candidates).mean;
  }

  std::vector<double> uncertainty(const std::vector<const Features*>& candidates) const override {
    return ask(candidates).deviation;
  }

 private:
  struct Answers {
    std::vector<double> mean, deviation;
  };

  Answers ask(const std::vector<const Features*>& candidates) const {
    Answers result{.deviation = std::vector<double>(candidates.size())};
    std::vector<float> rows;
    for (const Features* f : candidates) {
      f->append_to(rows);
      result.mean.push_back(slope_ * prior_score(*f));
    }
    if (members_.empty() || candidates.empty()) return result;
    const Matrix matrix(rows);
    std::vector<double> sum(candidates.size()), squares(candidates.size());
    for (const auto& member : members_) {
      const std::vector<float> own = member->predict(matrix);
      for (size_t i = 0; i < own.size(); ++i) {
        sum[i] += double(own[i]) / kMembers;
        squares[i] += double(own[i]) * double(own[i]) / kMembers;
      }
    }
    for (size_t i = 0; i < sum.size(); ++i) {
      result.mean[i] += sum[i];
      result.deviation[i] = std::sqrt(std::max(0.0, squares[i] - sum[i] * sum[i]));
    }
    return result;
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
  double slope_ = 1;
  std::vector<std::unique_ptr<Member>> members_;
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

std::vector<double> CostModel::uncertainty(const std::vector<const Features*>& candidates) const {
  return std::vector<double>(candidates.size());
}

std::unique_ptr<CostModel> make_xgboost_model(bool shuffled, uint64_t seed) {
  return std::make_unique<ResidualModel>(shuffled, seed);
}
std::unique_ptr<CostModel> make_random_model(uint64_t seed) {
  return std::make_unique<RandomModel>(seed);
}
std::unique_ptr<CostModel> make_prior_model() { return std::make_unique<PriorModel>(); }

}  // namespace tw::autotune
