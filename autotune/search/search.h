// SPDX-License-Identifier: Apache-2.0
// What proposes candidates of a space: the interface, and evolutionary search guided by a cost
// model.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "autotune/cost/feature_set.h"
#include "autotune/learn/cost_model.h"
#include "autotune/space/space.h"
#include "autotune/task/record.h"

namespace tw::autotune {

struct SearchOptions {
  int population = 96;
  int generations = 3;
  double mutation_share = 0.85;  // of offspring; the rest are crossovers
  double neighbour_share = 0.3;  // of each batch: one step from the fastest measured points
  double hope_share = 0.125;     // of each batch: what may be fastest though the model doubts it
  double base_share = 0.25;      // of each batch: what the model's base holds for fastest
  double rival_share = 0.25;     // of each batch after one that brought nothing: of another sketch
  double random_share = 0.06;    // of each batch, chosen blindly to keep exploring
  // From this share of the budget on, so much of each batch is one knob changed of the few fastest.
  // None unless asked for: in the study it was neither better nor worse (README.md).
  double descent_from = 0.75, descent_share = 0;
  bool distinct_programs = true;  // of points that lower to one program only the first is proposed
};

struct Proposal {
  Point point;
  Candidate candidate;
  std::shared_ptr<const Features> features;
};

// Of one task. Proposals may be asked for while earlier ones are still being measured.
class SearchPolicy {
 public:
  virtual ~SearchPolicy();
  // The next `count` distinct candidates never proposed before, best first; fewer when the space is
  // exhausted. The prior ranks until the model is trained.
  virtual std::vector<Proposal> propose(int count, const CostModel& model) = 0;
  // What measuring a point gave; infinity for a failure.
  virtual void observe(const Point& point, double seconds) = 0;
};

// Of a run, over all its tasks.
struct Budget {
  int trials_left = 0;
  double spent = 0;  // share of the trials or of the time, whichever is nearer to its end: 0 … 1
};

// What a policy is made for; all but the numbers outlives it.
struct PolicyContext {
  const Task& task;
  const Space& space;
  SearchOptions options = {};
  uint64_t seed = 0;
  const FeatureSet* features = nullptr;  // columns of the user's own; null: none
  std::function<Budget()> budget = {};   // as it stands when asked; empty: no end is known
};

// The fastest of what was measured become parents.
class Search : public SearchPolicy {
 public:
  explicit Search(const PolicyContext& context);
  Search(const Task& task, const Space& space, const SearchOptions& options, uint64_t seed)
      : Search(PolicyContext{task, space, options, seed}) {}
  ~Search() override;
  std::vector<Proposal> propose(int count, const CostModel& model) override;
  void observe(const Point& point, double seconds) override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tw::autotune
