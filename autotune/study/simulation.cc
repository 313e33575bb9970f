// SPDX-License-Identifier: Apache-2.0
#include "autotune/study/simulation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace tw::autotune {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t i) { return values[i]; });
  std::vector<double> result(values.size());
  for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (size_t k = begin; k < end; ++k) result[order[k]] = 0.5 * double(begin + end - 1);
  }
  return result;
}

class Run {
 public:
  Run(const Task& task, const Recording& recording, CostModel& model,
      const SimulationOptions& options)
      : recording_(recording),
        model_(model),
        options_(options),
        search_(options.policy({.task = task,
                                .space = recording,
                                .options = options.search,
                                .seed = options.seed,
                                .budget = [this] { return budget(); }})),
        rng_(options.seed) {}

  Simulation run() {
    const auto trials = static_cast<size_t>(options_.trials);
    const auto& all = recording_.candidates();
    const auto prior = std::ranges::find(all, Origin::Prior, &RecordedCandidate::origin);
    if (prior != all.end()) measure(static_cast<size_t>(prior - all.begin()));
    while (result_.asked.size() < trials) {
      const size_t room = trials - result_.asked.size();
      const auto count = std::min(room, static_cast<size_t>(options_.batch));
      const auto proposals = search_->propose(static_cast<int>(count), model_);
      if (proposals.empty()) break;
      for (const Proposal& p : proposals) measure(recording_.index(p.point));
      train();
    }
    return std::move(result_);
  }

 private:
  void measure(size_t candidate) {
    const RecordedCandidate& c = recording_.candidates()[candidate];
    const double shown = c.visits.empty() ? kNever : c.visits[rng_() % c.visits.size()];
    result_.asked.push_back(candidate);
    result_.shown.push_back(shown);
    if (shown < best_shown_) {
      best_shown_ = shown;
      best_ = c.seconds;
    }
    result_.regret.push_back(best_ / recording_.best_seconds() - 1);
    search_->observe(c.point, shown);
    samples_.push_back({.features = c.features});
  }

  Budget budget() const {
    const auto done = static_cast<int>(result_.asked.size());
    return {.trials_left = options_.trials - done, .spent = double(done) / options_.trials};
  }

  void train() {
    for (size_t i = 0; i < samples_.size(); ++i) {
      samples_[i].throughput = best_shown_ < kNever ? best_shown_ / result_.shown[i] : 0;
    }
    model_.train(samples_);
    if (options_.trained) options_.trained(samples_.size(), model_);
  }

  const Recording& recording_;
  CostModel& model_;
  const SimulationOptions& options_;
  std::unique_ptr<SearchPolicy> search_;
  std::mt19937_64 rng_;  // of the visits that are shown
  std::vector<Sample> samples_;
  double best_shown_ = kNever, best_ = kNever;  // what looked fastest, and what that truly takes
  Simulation result_;
};

}  // namespace

Simulation simulate(const Task& task, const Recording& recording, CostModel& model,
                    const SimulationOptions& options) {
  return Run(task, recording, model, options).run();
}

double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const std::vector<double> x = ranks(a), y = ranks(b);
  const double middle = 0.5 * double(x.size()) - 0.5;
  double xy = 0, xx = 0, yy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - middle) * (y[i] - middle);
    xx += (x[i] - middle) * (x[i] - middle);
    yy += (y[i] - middle) * (y[i] - middle);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

}  // namespace tw::autotune
