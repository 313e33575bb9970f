// SPDX-License-Identifier: Apache-2.0
#include "autotune/space/space.h"

#include <algorithm>
#include <cmath>

#include "autotune/space/rules.h"
#include "runtime/error.h"

namespace tw::autotune {
namespace {

constexpr int kMostAttempts = 200;

size_t pick(std::mt19937_64& rng, size_t count) {
  return std::uniform_int_distribution<size_t>(0, count - 1)(rng);
}
// What std::uniform_real_distribution gives, which computes two logarithms for each number.
double uniform(std::mt19937_64& rng) {
  return std::min(static_cast<double>(rng()) * 0x1p-64, 1 - 0x1p-53);
}

// A knob, the likelier the more bits its choice has: a tile has hundreds of ways and a limit of
// unrolling has four, which are soon all known. Where each was as likely, climbers in the eight
// sketches of attention, of some 20 knobs, ended 10 % higher by the prior's estimate after as many
// steps (12 seeds); over 58 programs, most of ten knobs or fewer, it is alike.
size_t pick_knob(const Sketch& sketch, std::mt19937_64& rng) {
  double at = uniform(rng) * sketch.log_size();
  for (size_t k = 0; k + 1 < sketch.knobs.size(); ++k) {
    at -= sketch.knobs[k].bits();
    if (at < 0) return k;
  }
  return sketch.knobs.size() - 1;
}

// How far two choices of a knob are apart: the sum of the factors' ratios, in doublings.
double distance(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  double d = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    d += std::fabs(std::log2(double(a[i] + 1)) - std::log2(double(b[i] + 1)));
  }
  return d;
}

// Another choice of the knob: the nearest of a few drawn at random, so that near ones are likelier
// without any being out of reach.
size_t neighbour(const Knob& knob, size_t current, std::mt19937_64& rng) {
  constexpr int kDraws = 4;
  size_t best = current;
  double best_distance = 0;
  const int draws = uniform(rng) < 0.3 ? 1 : kDraws;
  for (int i = 0; i < draws; ++i) {
    const size_t c = pick(rng, knob.size());
    if (c == current) continue;
    const double d = distance(knob.choices[c], knob.choices[current]);
    if (best == current || d < best_distance) {
      best = c;
      best_distance = d;
    }
  }
  return best;
}

// Whether the trace holds choice c at the knob's places.
bool chosen(const Knob& knob, size_t c, const Trace& trace) {
  if (!knob.steps.empty()) {
    return trace.steps[knob.places[0].step] == knob.steps[c];
  }
  for (size_t i = 0; i < knob.places.size(); ++i) {
    const Step& step = trace.steps[knob.places[i].step];
    if (knob.places[i].argument >= step.arguments.size()) return false;
    const auto* value = std::get_if<int64_t>(&step.arguments[knob.places[i].argument]);
    if (value == nullptr || *value != knob.values[c][i]) return false;
  }
  return true;
}

// The loop that the point places a nest's stage in; -1 at the root.
int place_of(const Nest& nest, const Point& p) {
  if (nest.knob < 0) return -1;
  const size_t choice = p.choice[static_cast<size_t>(nest.knob)];
  return choice < nest.places.size() ? static_cast<int>(nest.places[choice]) : -1;
}

// Whether the stage of `reader` stands inside the loop, or has it.
bool sees(const Sketch& sketch, const Nest& reader, size_t loop, const Point& p) {
  if (std::ranges::find(reader.loops, loop) != reader.loops.end()) return true;
  int around = place_of(reader, p);
  while (around >= 0 && around != static_cast<int>(loop)) {
    const SketchLoop& l = sketch.loops[static_cast<size_t>(around)];
    around = l.outer >= 0 ? l.outer : place_of(sketch.nests[l.nest], p);
  }
  return around >= 0;
}

bool places_are_legal(const Sketch& sketch, const Point& p) {
  return std::ranges::all_of(sketch.nests, [&](const Nest& nest) {
    const int place = place_of(nest, p);
    return place < 0 ||
           std::ranges::all_of(
               nest.readers,
               [&](size_t reader) {
                 return sees(sketch, sketch.nests[reader], static_cast<size_t>(place), p);
               });
  });
}

// How many steps stand before the first that a knob changes.
size_t fixed_steps(const Sketch& sketch) {
  size_t first = sketch.skeleton.steps.size();
  for (const Knob& knob : sketch.knobs) {
    for (const Knob::Place& place : knob.places) first = std::min(first, place.step);
  }
  return first;
}

}  // namespace

double Knob::bits() const { return std::log2(double(size())); }

double Sketch::log_size() const {
  double total = 0;
  for (const Knob& k : knobs) total += k.bits();
  return total;
}

Space::Space(const Task& task, std::span<const UserRule> own)
    : sketches_(make_sketches(task, own)) {
  TW_CHECK(!sketches_.empty());
  for (const Sketch& sketch : sketches_) {
    begun_.push_back(Schedule::create(task.program.outputs));
    const size_t fixed = fixed_steps(sketch);
    for (size_t k = 0; k < fixed; ++k) begun_.back().apply(sketch.skeleton.steps[k]);
  }
}

Schedule Space::schedule(const Point& p) const {
  Schedule schedule = begun_[p.sketch].copy();
  for (const Step& step : steps_from(schedule.trace().steps.size(), p)) schedule.apply(step);
  return schedule;
}

Trace Space::trace(const Point& p) const { return {.steps = steps_from(0, p)}; }

std::vector<Step> Space::steps_from(size_t first, const Point& p) const {
  const Sketch& sketch = sketches_[p.sketch];
  const std::vector<Step>& skeleton = sketch.skeleton.steps;
  std::vector<Step> steps(skeleton.begin() + static_cast<std::ptrdiff_t>(first), skeleton.end());
  for (size_t k = 0; k < sketch.knobs.size(); ++k) {
    const Knob& knob = sketch.knobs[k];
    const size_t c = p.choice[k];
    if (!knob.steps.empty()) {
      steps[knob.places[0].step - first] = knob.steps[c];
      continue;
    }
    for (size_t i = 0; i < knob.places.size(); ++i) {
      steps[knob.places[i].step - first].arguments[knob.places[i].argument] = knob.values[c][i];
    }
  }
  return steps;
}

std::optional<Point> Space::find(const Trace& trace) const {
  for (size_t k = 0; k < sketches_.size(); ++k) {
    const Sketch& sketch = sketches_[k];
    if (trace.steps.size() != sketch.skeleton.steps.size()) continue;
    Point p{.sketch = k};
    for (const Knob& knob : sketch.knobs) {
      size_t c = 0;
      while (c < knob.size() && !chosen(knob, c, trace)) ++c;
      if (c == knob.size()) break;
      p.choice.push_back(c);
    }
    if (p.choice.size() == sketch.knobs.size() && this->trace(p) == trace) return p;
  }
  return std::nullopt;
}

bool Space::within_limits(const Point& p) const {
  for (const Limit& limit : sketches_[p.sketch].limits) {
    int64_t product = 1;
    for (size_t i = 0; i < limit.knobs.size(); ++i) {
      product *= limit.weights[i][p.choice[limit.knobs[i]]];
      if (product > limit.greatest) return false;
    }
  }
  return places_are_legal(sketches_[p.sketch], p);
}

Point Space::random(std::mt19937_64& rng) const { return random(pick(rng, sketches_.size()), rng); }

Point Space::random(size_t number, std::mt19937_64& rng) const {
  Point p{.sketch = number};
  const Sketch& sketch = sketches_[number];
  p.choice.assign(sketch.knobs.size(), 0);
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    for (size_t k = 0; k < p.choice.size(); ++k) p.choice[k] = pick(rng, sketch.knobs[k].size());
    if (within_limits(p)) return p;
  }
  // Rare: limits leave little. Start from the first choices, the smallest tiles, and from stages at
  // the root, which they allow.
  for (size_t k = 0; k < p.choice.size(); ++k) {
    const bool place = sketch.knobs[k].kind == Knob::Kind::Location;
    p.choice[k] = place ? sketch.knobs[k].size() - 1 : 0;
  }
  for (int i = 0; i < kMostAttempts; ++i) {
    Point next = p;
    const size_t k = pick(rng, p.choice.size());
    next.choice[k] = pick(rng, sketch.knobs[k].size());
    if (within_limits(next)) p = next;
  }
  return p;
}

Point Space::mutate(const Point& p, std::mt19937_64& rng) const {
  const Sketch& sketch = sketches_[p.sketch];
  if (sketch.knobs.empty()) return p;
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    Point next = p;
    const int changes = uniform(rng) < 0.3 ? 2 : 1;
    for (int i = 0; i < changes; ++i) {
      const size_t k = pick_knob(sketch, rng);
      next.choice[k] = neighbour(sketch.knobs[k], p.choice[k], rng);
    }
    if (!(next == p) && within_limits(next)) return next;
  }
  return p;
}

std::vector<Point> Space::neighbours(const Point& p) const {
  const Sketch& sketch = sketches_[p.sketch];
  std::vector<Point> result;
  for (size_t k = 0; k < sketch.knobs.size(); ++k) {
    for (size_t c = 0; c < sketch.knobs[k].size(); ++c) {
      Point next = p;
      next.choice[k] = c;
      if (c != p.choice[k] && within_limits(next)) result.push_back(std::move(next));
    }
  }
  return result;
}

Point Space::crossover(const Point& a, const Point& b, std::mt19937_64& rng) const {
  TW_CHECK(a.sketch == b.sketch);
  Point child = a;
  for (size_t k = 0; k < child.choice.size(); ++k) {
    if (uniform(rng) < 0.5) child.choice[k] = b.choice[k];
  }
  return within_limits(child) ? child : a;
}

}  // namespace tw::autotune
