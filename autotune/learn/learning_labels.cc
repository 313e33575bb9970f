// SPDX-License-Identifier: Apache-2.0
#include "autotune/learn/learning_labels.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace tw::autotune {
namespace {

// What the trees miss of log throughput anyway, which timings have to be worse than to count less;
// and how far from one a slope is before it is measured (a standard deviation).
constexpr double kMisfit = 0.1, kSlopeDoubt = 0.5;
// A failure counts as so many times slower than the slowest that ran.
constexpr double kFailureFactor = 2;
// What is far from the best of its task counts so much at least, where the best counts 1 more.
constexpr double kLeastAttention = 0.1;

void center(const std::vector<Sample>& samples, const std::vector<double>& weight,
            std::vector<double>& values) {
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

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Of two slopes by least squares, each drawn towards one by `pull`.
Slopes fitted(const Labels& l, double pull) {
  const double pp = dot(l.prior, l.prior) + pull, ee = dot(l.experience, l.experience) + pull;
  const double pe = dot(l.prior, l.experience);
  const double py = dot(l.prior, l.speed) + pull, ey = dot(l.experience, l.speed) + pull;
  const double determinant = pp * ee - pe * pe;
  return {.prior = (py * ee - ey * pe) / determinant,
          .experience = (ey * pp - py * pe) / determinant};
}

}  // namespace

double prior_score(const Features& f) { return -std::log(std::max(f.prior_seconds, 1e-12)); }

Labels::Labels(const std::vector<Sample>& samples, const std::vector<double>& given)
    : experience(given) {
  experience.resize(samples.size());
  std::map<int, double> slowest;
  for (const Sample& s : samples) {
    if (s.throughput <= 0) continue;
    const auto known = slowest.try_emplace(s.task, s.throughput).first;
    known->second = std::min(known->second, s.throughput);
  }
  for (const Sample& s : samples) {
    const double least = slowest.contains(s.task) ? slowest.at(s.task) / kFailureFactor : 1;
    const double throughput = s.throughput > 0 ? s.throughput : least;
    speed.push_back(std::log(throughput));
    prior.push_back(prior_score(*s.features));
    const double noise = s.spread / kMisfit;
    weight.push_back((kLeastAttention + throughput) / (1 + noise * noise));
  }
  for (auto* values : {&speed, &prior, &experience}) center(samples, weight, *values);
}

Slopes Labels::slopes() const {
  constexpr double kNone = 1e-9;
  const Slopes free = fitted(*this, kNone);
  const std::vector<double> miss = residual(free);
  const double error = dot(miss, miss) / double(std::max<size_t>(1, miss.size()));
  const Slopes held = fitted(*this, kNone + error / (kSlopeDoubt * kSlopeDoubt));
  return {.prior = std::max(0.0, held.prior), .experience = std::max(0.0, held.experience)};
}

std::vector<double> Labels::residual(const Slopes& slopes) const {
  std::vector<double> rest;
  for (size_t i = 0; i < speed.size(); ++i) {
    rest.push_back(speed[i] - slopes.prior * prior[i] - slopes.experience * experience[i]);
  }
  return rest;
}

}  // namespace tw::autotune
