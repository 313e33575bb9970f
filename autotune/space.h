// SPDX-License-Identifier: Apache-2.0
// The design space of a task: sketches, each a trace with knobs, derived from the expression alone.
// A knob is a place in a trace (or several that move together) and the values it may take.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "autotune/task.h"
#include "schedule/trace.h"

namespace tw::autotune {

struct Knob {
  enum class Kind : uint8_t {
    Tile,      // factors of nested splits of one axis: one value a split, inner to outer
    Location,  // where a stage is computed
    Unroll,    // auto_unroll_max_step
    Parallel,  // how many outer loops are fused and run in parallel
  };
  Kind kind;
  std::string label;                     // "C.i", for people
  std::vector<std::vector<int64_t>> choices;
  // Choice c writes steps: replacements[c] are whole steps for the places `steps`.
  std::vector<size_t> steps;
  std::vector<std::vector<Step>> replacements;
};

struct Sketch {
  std::string description;  // the rules that made it, outermost first
  Trace skeleton;           // with each knob's first choice
  std::vector<Knob> knobs;
  // log2 of the number of points.
  double log_size() const;
};

// A point of the space.
struct Point {
  int sketch = 0;
  std::vector<int> choice;  // one index a knob
  bool operator==(const Point&) const = default;
};

class Space {
 public:
  // NoDesignSpace when the program cannot be tuned (symbolic extents).
  explicit Space(const Task& task);
  const std::vector<Sketch>& sketches() const { return sketches_; }
  Trace trace(const Point& p) const;
  Point random(std::mt19937_64& rng) const;
  // One knob changed, to a near value more often than to a far one.
  Point mutate(const Point& p, std::mt19937_64& rng) const;
  // Knob by knob from either parent; of one sketch.
  Point crossover(const Point& a, const Point& b, std::mt19937_64& rng) const;

 private:
  std::vector<Sketch> sketches_;
};

}  // namespace tw::autotune
