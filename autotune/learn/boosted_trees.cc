// SPDX-License-Identifier: Apache-2.0
#include "autotune/learn/boosted_trees.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <xgboost/c_api.h>

#include <cmath>
#include <utility>

#include "runtime/error.h"

namespace tw::autotune {
namespace {

// For a few hundred rows threads would spend their time waiting for each other, and for ours.
constexpr int kThreads = 1;

// While it lives, XGBoost's parallel regions that this thread enters have so many threads. What
// reads a model has one that no parameter counts the threads of; with two of them on two cores,
// where one waits busily until the system moves the other, it takes 7 ms. The functions are of the
// OpenMP that XGBoost was built with, which only the dynamic linker knows.
class OpenMpThreads {
 public:
  explicit OpenMpThreads(int threads) { set(threads); }
  ~OpenMpThreads() { set(before_); }
  OpenMpThreads(const OpenMpThreads&) = delete;
  OpenMpThreads& operator=(const OpenMpThreads&) = delete;

 private:
  template <class F>
  static F* find(const char* name) {
    return reinterpret_cast<F*>(dlsym(RTLD_DEFAULT, name));
  }
  static void set(int threads) {
    static const auto function = find<void(int)>("omp_set_num_threads");
    if (function != nullptr && threads > 0) function(threads);
  }
  static int most() {
    static const auto function = find<int()>("omp_get_max_threads");
    return function != nullptr ? function() : 0;
  }

  const int before_ = most();
};

void check(int status, std::string_view what) {
  if (status == 0) return;
  raise({.code = ErrorCode::CostModel, .what = fmt::format("{}: {}", what, XGBGetLastError())});
}

}  // namespace

FeatureMatrix::FeatureMatrix(const std::vector<const Features*>& candidates) {
  std::vector<float> rows;
  for (const Features* f : candidates) f->append_to(rows);
  const size_t columns = feature_names().size();
  check(XGDMatrixCreateFromMat_omp(rows.data(), rows.size() / columns, columns, NAN, &handle_,
                                   kThreads),
        "making a matrix of features");
}

FeatureMatrix::~FeatureMatrix() { XGDMatrixFree(handle_); }

BoostedTrees::BoostedTrees(const FeatureMatrix& matrix, const std::vector<double>& label,
                           const std::vector<double>& weight, const BoostingOptions& options) {
  check(XGBoosterCreate(&matrix.handle_, 1, &booster_), "creating the model");
  const std::pair<const char*, std::string> parameters[] = {
      {"tree_method", "hist"},
      {"max_bin", "64"},
      {"max_depth", std::to_string(options.depth)},
      {"eta", std::to_string(options.learning_rate)},
      {"lambda", "1"},
      {"min_child_weight", std::to_string(options.least_weight)},
      {"subsample", "0.8"},
      {"colsample_bytree", std::to_string(options.column_share)},
      {"base_score", "0"},
      {"verbosity", "0"},
      {"seed", std::to_string(options.seed % 100000)},
      {"nthread", std::to_string(kThreads)},
      {"disable_default_eval_metric", "1"}};
  for (const auto& [name, value] : parameters) {
    check(XGBoosterSetParam(booster_, name, value.c_str()), name);
  }
  std::vector<float> gradient(label.size()), curvature(label.size());
  for (int round = 0; round < options.rounds; ++round) {
    const std::vector<float> score = predict(matrix);
    for (size_t i = 0; i < label.size(); ++i) {
      gradient[i] = float(weight[i] * (double(score[i]) - label[i]));
      curvature[i] = float(weight[i]);
    }
    check(XGBoosterBoostOneIter(booster_, matrix.handle_, gradient.data(), curvature.data(),
                                gradient.size()),
          "boosting");
  }
}

BoostedTrees::BoostedTrees(std::string_view saved) {
  check(XGBoosterCreate(nullptr, 0, &booster_), "creating the model");
  const OpenMpThreads threads(kThreads);
  check(XGBoosterLoadModelFromBuffer(booster_, saved.data(), saved.size()), "reading a model");
  check(XGBoosterSetParam(booster_, "nthread", std::to_string(kThreads).c_str()),
        "reading a model");
}

BoostedTrees::~BoostedTrees() { XGBoosterFree(booster_); }

std::vector<float> BoostedTrees::predict(const FeatureMatrix& matrix) const {
  constexpr char kMargin[] =
      R"({"type":1,"training":false,"iteration_begin":0,"iteration_end":0,"strict_shape":false})";
  const bst_ulong* shape = nullptr;
  bst_ulong dimensions = 0;
  const float* values = nullptr;
  check(
      XGBoosterPredictFromDMatrix(booster_, matrix.handle_, kMargin, &shape, &dimensions, &values),
      "predicting");
  return {values, values + shape[0]};
}

std::string BoostedTrees::save() const {
  const char* bytes = nullptr;
  bst_ulong size = 0;
  check(XGBoosterSaveModelToBuffer(booster_, R"({"format":"ubj"})", &size, &bytes),
        "saving the model");
  return {bytes, size};
}

}  // namespace tw::autotune
