// SPDX-License-Identifier: Apache-2.0
// Evolutionary search over a space, guided by a cost model.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "autotune/cost_model.h"
#include "autotune/measure.h"
#include "autotune/space/space.h"

namespace tw::autotune {

struct SearchOptions {
  int population = 256;
  int generations = 4;
  double mutation_share = 0.85;   // of offspring; the rest are crossovers
  double random_share = 0.05;     // of each batch, chosen blindly to keep exploring
  int threads = 0;                // for feature extraction; 0: all cores
};

struct Proposal {
  Point point;
  Candidate candidate;
  Features features;
};

class Search {
 public:
  Search(const Task& task, const Space& space, const SearchOptions& options, uint64_t seed);
  ~Search();
  // The next `count` distinct candidates never proposed before, best first; fewer when the space is
  // exhausted. `model` ranks once trained, the prior until then.
  std::vector<Proposal> propose(int count, const CostModel& model);
  // What measuring a proposal gave; the best become parents.
  void observe(const Proposal& proposal, double seconds, bool ok);
  // Marks a trace (of an earlier run) as tried, so that --resume does not measure it again.
  void mark_tried(uint64_t trace_hash);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The best of a few thousand points by the analytical prior: what an untuned build uses.
// Deterministic.
Trace prior_schedule(const Task& task);

}  // namespace tw::autotune
