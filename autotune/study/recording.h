// SPDX-License-Identifier: Apache-2.0
// Candidates of a task that were measured once and for all, as a design space that holds nothing
// else. Search over it needs no machine: see simulation.h.
#pragma once

#include <map>
#include <memory>
#include <random>
#include <vector>

#include "autotune/cost/features.h"
#include "autotune/space/space.h"
#include "autotune/task/record.h"

namespace tw::autotune {

struct RecordedCandidate {
  Point point;
  Trace trace;
  Origin origin = Origin::Random;
  std::vector<double> visits;  // median seconds of each record; none for a failure
  double seconds = 0;          // lower quartile of the visits; infinity for a failure
  std::shared_ptr<const Features> features;
};

// A step goes to one of the recorded points nearest to where the whole space would have led, so
// that a policy walks as it does there, and is never told of what it did not ask for.
class Recording : public Space {
 public:
  // `records` are those of the task, several of one candidate being visits to it. Records whose
  // trace is no point of the task's space today are left out. NoRecord where none is left.
  Recording(const Task& task, const std::vector<Record>& records);

  // In order of appearance.
  const std::vector<RecordedCandidate>& candidates() const { return candidates_; }
  // Its index; candidates().size() for a point that was not recorded.
  size_t index(const Point& p) const;
  // The fastest by all visits, seconds.
  double best_seconds() const;

  Point random(std::mt19937_64& rng) const override;
  Point random(size_t sketch, std::mt19937_64& rng) const override;
  Point mutate(const Point& p, std::mt19937_64& rng) const override;
  std::vector<Point> neighbours(const Point& p) const override;
  Point crossover(const Point& a, const Point& b, std::mt19937_64& rng) const override;
  std::shared_ptr<const Features> known_features(const Point& p) const override;

 private:
  std::vector<RecordedCandidate> candidates_;
  std::map<Point, size_t> index_;
  std::vector<std::vector<size_t>> of_sketch_;
  std::vector<std::vector<size_t>> nearest_;  // of each candidate, nearest first
};

}  // namespace tw::autotune
