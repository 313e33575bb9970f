// SPDX-License-Identifier: Apache-2.0
#include "autotune/cost_model.h"

#include <fmt/format.h>
#include <xgboost/c_api.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "runtime/error.h"

namespace tw::autotune {
namespace {

constexpr int kRounds = 40;
constexpr size_t kPartners = 48;      // samples that each sample is compared with in a round
constexpr double kPriorWeight = 1.0;  // of -log(prior seconds) in the score
constexpr size_t kLeastSamples = 8;   // fewer teach nothing

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

double prior_score(const Features& f) {
  return -kPriorWeight * std::log(std::max(f.prior_seconds, 1e-12));
}

// Gradient and curvature, by candidate, of the pairwise logistic loss: of two candidates of a task
// the faster should score higher, the more so the larger the gap. After RankNet (Burges 2005).
class PairwiseLoss {
 public:
  PairwiseLoss(const std::vector<double>& throughput, const std::vector<int>& task, uint64_t seed)
      : throughput_(throughput), rng_(seed) {
    int tasks = 0;
    for (int t : task) tasks = std::max(tasks, t + 1);
    groups_.resize(static_cast<size_t>(tasks));
    for (size_t i = 0; i < task.size(); ++i) groups_[static_cast<size_t>(task[i])].push_back(i);
  }

  void gradient(const std::vector<double>& score, std::vector<double>& g, std::vector<double>& h) {
    std::fill(g.begin(), g.end(), 0.0);
    std::fill(h.begin(), h.end(), 0.0);
    for (const std::vector<size_t>& group : groups_) {
      const size_t n = group.size();
      if (n < 2) continue;
      const size_t partners = std::min(kPartners, n - 1);
      const double share = 1.0 / double(partners);
      for (size_t a = 0; a < n; ++a) {
        for (size_t p = 0; p < partners; ++p) {
          // All others while there are few; a fresh draw otherwise.
          const size_t b = partners == n - 1 ? (a + 1 + p) % n : rng_() % n;
          add_pair(group[a], group[b], share, score, g, h);
        }
      }
    }
  }

 private:
  void add_pair(size_t i, size_t j, double share, const std::vector<double>& score,
                std::vector<double>& g, std::vector<double>& h) const {
    if (throughput_[i] < throughput_[j]) std::swap(i, j);
    const double gap = throughput_[i] - throughput_[j];
    if (gap <= 0.005) return;
    const double weight = share * gap * throughput_[i];
    const double p = 1 / (1 + std::exp(score[i] - score[j]));  // how wrong the order is
    g[i] -= weight * p;
    g[j] += weight * p;
    h[i] += weight * p * (1 - p);
    h[j] += weight * p * (1 - p);
  }

  const std::vector<double>& throughput_;
  std::vector<std::vector<size_t>> groups_;
  std::mt19937_64 rng_;
};

class XGBoostModel : public CostModel {
 public:
  XGBoostModel(bool shuffled, uint64_t seed) : shuffled_(shuffled), seed_(seed) {}
  ~XGBoostModel() override {
    if (booster_ != nullptr) XGBoosterFree(booster_);
  }

  bool trained() const override { return booster_ != nullptr; }

  void train(const std::vector<Sample>& samples) override {
    if (samples.size() < kLeastSamples) return;
    std::vector<float> rows;
    std::vector<size_t> owner;
    std::vector<double> throughput, base;
    std::vector<int> task;
    for (size_t i = 0; i < samples.size(); ++i) {
      const Features& f = *samples[i].features;
      f.append_to(rows);
      owner.insert(owner.end(), f.num_rows(), i);
      throughput.push_back(samples[i].throughput);
      task.push_back(samples[i].task);
      base.push_back(prior_score(f));
    }
    if (rows.empty()) return;
    if (shuffled_) {
      std::mt19937_64 rng(seed_);
      std::shuffle(throughput.begin(), throughput.end(), rng);
    }
    const Matrix matrix(rows);
    reset(matrix);
    PairwiseLoss loss(throughput, task, seed_);
    std::vector<double> g(samples.size()), h(samples.size());
    std::vector<float> row_g(owner.size()), row_h(owner.size());
    for (int round = 0; round < kRounds; ++round) {
      std::vector<double> score = base;
      add_rows(matrix, owner, score);
      loss.gradient(score, g, h);
      for (size_t r = 0; r < owner.size(); ++r) {
        row_g[r] = float(g[owner[r]]);
        row_h[r] = float(std::max(h[owner[r]], 1e-6));
      }
      check(
          XGBoosterBoostOneIter(booster_, matrix.handle, row_g.data(), row_h.data(), row_g.size()),
          "boosting");
    }
  }

  std::vector<double> predict(const std::vector<const Features*>& candidates) const override {
    std::vector<double> score;
    std::vector<float> rows;
    std::vector<size_t> owner;
    for (const Features* f : candidates) {
      owner.insert(owner.end(), f->num_rows(), score.size());
      f->append_to(rows);
      score.push_back(prior_score(*f));
    }
    if (booster_ != nullptr && !rows.empty()) add_rows(Matrix(rows), owner, score);
    return score;
  }

 private:
  void reset(const Matrix& matrix) {
    if (booster_ != nullptr) XGBoosterFree(booster_);
    booster_ = nullptr;
    check(XGBoosterCreate(&matrix.handle, 1, &booster_), "creating the model");
    const std::pair<const char*, std::string> parameters[] = {
        {"tree_method", "hist"},
        {"max_depth", "5"},
        {"eta", "0.25"},
        {"lambda", "0.05"},
        {"gamma", "0.0005"},
        {"min_child_weight", "0"},
        {"base_score", "0"},
        {"verbosity", "0"},
        {"seed", std::to_string(seed_ % 100000)},
        // A few thousand rows: threads would spend their time waiting for each other.
        {"nthread", "1"},
        {"disable_default_eval_metric", "1"}};
    for (const auto& [name, value] : parameters) {
      check(XGBoosterSetParam(booster_, name, value.c_str()), name);
    }
  }

  // score[owner of row r] += the trees' value of row r
  void add_rows(const Matrix& matrix, const std::vector<size_t>& owner,
                std::vector<double>& score) const {
    constexpr char kMargin[] =
        R"({"type":1,"training":false,"iteration_begin":0,"iteration_end":0,"strict_shape":false})";
    const bst_ulong* shape = nullptr;
    bst_ulong dimensions = 0;
    const float* values = nullptr;
    check(
        XGBoosterPredictFromDMatrix(booster_, matrix.handle, kMargin, &shape, &dimensions, &values),
        "predicting");
    for (size_t r = 0; r < owner.size(); ++r) score[owner[r]] += double(values[r]);
  }

  bool shuffled_;
  uint64_t seed_;
  BoosterHandle booster_ = nullptr;
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

std::unique_ptr<CostModel> make_xgboost_model(bool shuffled, uint64_t seed) {
  return std::make_unique<XGBoostModel>(shuffled, seed);
}
std::unique_ptr<CostModel> make_random_model(uint64_t seed) {
  return std::make_unique<RandomModel>(seed);
}
std::unique_ptr<CostModel> make_prior_model() { return std::make_unique<PriorModel>(); }

}  // namespace tw::autotune
