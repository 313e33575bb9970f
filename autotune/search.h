// SPDX-License-Identifier: Apache-2.0
// Evolutionary search over a space, guided by a cost model.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "autotune/cost_model.h"
#include "autotune/measure.h"
#include "autotune/space/space.h"

namespace tw::autotune {

struct SearchOptions {
  int population = 96;
  int generations = 3;
  double mutation_share = 0.85;  // of offspring; the rest are crossovers
  double neighbour_share = 0.3;  // of each batch: one step from the fastest measured points
  double random_share = 0.06;    // of each batch, chosen blindly to keep exploring
};

struct Proposal {
  Point point;
  Candidate candidate;
  std::shared_ptr<const Features> features;
};

class Search {
 public:
  Search(const Task& task, const Space& space, const SearchOptions& options, uint64_t seed);
  ~Search();
  // The next `count` distinct candidates never proposed before, best first; fewer when the space is
  // exhausted. The prior ranks until the model is trained.
  std::vector<Proposal> propose(int count, const CostModel& model);
  // What measuring a point gave, which replaces what it gave before; the fastest become parents.
  void observe(const Point& point, double seconds);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tw::autotune
