// SPDX-License-Identifier: Apache-2.0
// Made times of candidates, for tests of what ranks and searches them: nothing is compiled or run.
#pragma once

#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <ranges>
#include <vector>

#include "autotune/cost/features.h"
#include "autotune/learn/cost_model.h"
#include "autotune/space/space.h"
#include "runtime/error.h"

namespace tw::autotune::made {

// Legal points of a space drawn at random, with what is known of them.
struct Drawn {
  std::vector<Point> points;
  std::vector<std::shared_ptr<const Features>> features;
  std::vector<const Features*> all() const {
    std::vector<const Features*> result;
    for (const auto& f : features) result.push_back(f.get());
    return result;
  }
};
inline Drawn draw(const Task& task, const Space& space, size_t count, uint64_t seed) {
  std::mt19937_64 rng(seed);
  Drawn drawn;
  while (drawn.points.size() < count) {
    const Point point = space.random(rng);
    try {
      drawn.features.push_back(
          std::make_shared<Features>(extract_features(task, space.schedule(point))));
      drawn.points.push_back(point);
    } catch (const UserError&) {
      continue;  // not legal: no part of the space
    }
  }
  return drawn;
}

// Seconds that are a smooth function of a candidate's features and have nothing to do with the
// prior's: a random direction through the features, of which most points lie within a factor of e.
class MadeTimes {
 public:
  MadeTimes(const Drawn& typical, uint64_t seed) {
    std::mt19937_64 rng(seed);
    for (size_t c = 0; c < feature_names().size(); ++c) {
      direction_.push_back(std::normal_distribution<>()(rng));
    }
    double sum = 0, squares = 0;
    for (const auto& f : typical.features) {
      const double along = project(*f);
      sum += along;
      squares += along * along;
    }
    const auto n = static_cast<double>(typical.features.size());
    mean_ = sum / n;
    deviation_ = std::sqrt(squares / n - mean_ * mean_);
  }
  double seconds(const Features& f) const {
    return 1e-3 * std::exp((project(f) - mean_) / deviation_);
  }

 private:
  double project(const Features& f) const {
    std::vector<float> rows;
    f.append_to(rows);
    double sum = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      sum += direction_[i % direction_.size()] * static_cast<double>(rows[i]);
    }
    return sum / static_cast<double>(f.num_rows());
  }

  std::vector<double> direction_;
  double mean_ = 0, deviation_ = 1;
};

// Knows the made times, and keeps what it was asked for.
class Oracle : public CostModel {
 public:
  explicit Oracle(const MadeTimes& times) : times_(times) {}
  void train(const std::vector<Sample>&) override {}
  bool trained() const override { return true; }
  std::vector<double> predict(const std::vector<const Features*>& candidates) const override {
    std::vector<double> scores;
    for (const Features* f : candidates) {
      scores.push_back(-std::log(times_.seconds(*f)));
      asked_[f] = scores.back();
    }
    return scores;
  }
  // Takes the scores of all candidates that it was asked for since the last time.
  std::vector<double> take() {
    const auto scores = asked_ | std::views::values;
    std::vector<double> taken(scores.begin(), scores.end());
    asked_.clear();
    return taken;
  }

 private:
  mutable std::map<const Features*, double> asked_;
  const MadeTimes& times_;
};

// Seconds that grow with the distance from the features of one of the points drawn, each column in
// parts of how far it varies.
class Planted {
 public:
  Planted(const Drawn& typical, size_t planted) {
    const std::vector<float> goal = row(*typical.features.at(planted));
    goal_.assign(goal.begin(), goal.end());
    std::vector<double> squares(goal.size());
    for (const auto& f : typical.features) {
      const std::vector<float> own = row(*f);
      for (size_t c = 0; c < own.size(); ++c) {
        const double off = static_cast<double>(own[c]) - goal_[c];
        squares[c] += off * off / static_cast<double>(typical.features.size());
      }
    }
    for (const double s : squares) scale_.push_back(s > 0 ? 1 / s : 0);
  }
  double least() const { return 1e-3; }
  double seconds(const Features& f) const {
    const std::vector<float> own = row(f);
    double sum = 0;
    for (size_t c = 0; c < own.size(); ++c) {
      const double off = static_cast<double>(own[c]) - goal_[c];
      sum += scale_[c] * off * off;
    }
    return least() * std::exp(2 * std::sqrt(sum / static_cast<double>(own.size())));
  }

 private:
  static std::vector<float> row(const Features& f) {
    std::vector<float> values;
    f.append_to(values);
    return values;
  }
  std::vector<double> goal_, scale_;
};

}  // namespace tw::autotune::made
