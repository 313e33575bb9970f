// SPDX-License-Identifier: Apache-2.0
// The design space of a task: sketches, each a trace with knobs, derived from the expression alone.
// A knob is a place in a trace (or several that move together) and the values it may take.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "autotune/task/task.h"
#include "schedule/schedule.h"
#include "schedule/trace.h"

namespace tw::autotune {

struct Knob {
  enum class Kind : uint8_t {
    Tile,      // extents of the nested tiles of one axis, outer to inner
    Unroll,    // auto_unroll_max_step
    Location,  // where a stage is computed
    Store,     // whether lines that are stored are fetched before, or passed by
    Fetch,     // how far ahead constants are fetched
    Parallel,  // whether threads share a loop of a scan's step
  };
  // An integer argument of a step: argument `argument` of step `step`.
  struct Place {
    size_t step;
    size_t argument;
  };
  Kind kind = Kind::Tile;
  std::string label;                          // "compute.ff", for people
  std::vector<std::vector<int64_t>> choices;  // for people and for distances between choices
  // With steps, step `places[0].step` becomes steps[c]. Without, values[c][p] goes to places[p].
  std::vector<Place> places;
  std::vector<std::vector<int64_t>> values;
  std::vector<Step> steps;
  size_t size() const { return choices.size(); }
  double bits() const;  // log2 of the number of choices
};

// The product of weight[knob][choice] over some knobs must not exceed `greatest`; keeps register
// tiles within the register file.
struct Limit {
  std::vector<size_t> knobs;
  std::vector<std::vector<int64_t>> weights;
  int64_t greatest;
};

// A loop of some operation's stage that others may be computed in.
struct SketchLoop {
  int outer = -1;  // the loop around it in the same nest; -1: the nest's own place
  size_t nest;     // whose stage has it
};

// Where an operation's stage may stand, and what its own loops offer to others.
struct Nest {
  int knob = -1;                // decides the place; -1: at the root
  std::vector<size_t> places;   // loops of other stages, by the knob's choice; those after: root
  std::vector<size_t> loops;    // of its own, outermost first
  std::vector<size_t> readers;  // nests of the operations that read it
};

struct Sketch {
  std::string description;  // rule and stage, in the order they were applied
  Trace skeleton;           // with each knob's first choice
  std::vector<Knob> knobs;
  std::vector<Limit> limits;
  std::vector<Nest> nests;  // an entry an operation
  std::vector<SketchLoop> loops;
  double log_size() const;  // bits of all knobs, limits aside
};

// A point of the space.
struct Point {
  size_t sketch = 0;
  std::vector<size_t> choice;  // one index a knob
  auto operator<=>(const Point&) const = default;
};

struct Features;
struct UserRule;

class Space {
 public:
  // NoDesignSpace for programs that cannot be tuned (symbolic extents), saying why.
  // `own` rules are asked before ours; see rules.h.
  explicit Space(const Task& task, std::span<const UserRule> own = {});
  virtual ~Space() = default;
  const std::vector<Sketch>& sketches() const { return sketches_; }

  Trace trace(const Point& p) const;
  // The trace applied to the program. Throws what the schedule throws for a point that is not
  // legal. Steps that no knob changes and that stand before those that one does were applied once
  // for all points: copies of tensors and layouts are the costly ones, and most come first.
  Schedule schedule(const Point& p) const;
  // The point that gives this trace, if one does: how an earlier run's log becomes parents.
  std::optional<Point> find(const Trace& trace) const;
  // Register tiles fit, and every stage stands where all who read it can see it.
  bool within_limits(const Point& p) const;
  // A point within the limits.
  virtual Point random(std::mt19937_64& rng) const;
  virtual Point random(size_t sketch, std::mt19937_64& rng) const;
  // A knob or two changed, the likelier the more bits they have and more often to a near value than
  // to a far one; within the limits.
  virtual Point mutate(const Point& p, std::mt19937_64& rng) const;
  // Every point with one knob set differently, within the limits.
  virtual std::vector<Point> neighbours(const Point& p) const;
  // Knob by knob from either parent, both of one sketch; `a` when that breaks a limit.
  virtual Point crossover(const Point& a, const Point& b, std::mt19937_64& rng) const;
  // What the cost model sees of the point, where that is known beforehand; null: it is extracted.
  virtual std::shared_ptr<const Features> known_features(const Point&) const { return nullptr; }

 private:
  // The trace's steps but for the first few, which no knob changes.
  std::vector<Step> steps_from(size_t first, const Point& p) const;

  std::vector<Sketch> sketches_;
  std::vector<Schedule> begun_;  // of each sketch, with the steps that are the same for all points
};

}  // namespace tw::autotune
