// SPDX-License-Identifier: Apache-2.0
// Hill climbing from several places: the best of a random sample each try one step at a time, and
// the last of them gives up every few rounds. Over 49 workloads and six seeds these 12 climbers
// end, by the prior's own estimate, 4.5 % behind the best that any effort found, and 8.6 % by the
// worst seed; 16 of which one gives up every 8 rounds, over as many points, 5.4 and 9.9 %; three
// times the points 2 %. Half the sample is 7 % behind. Crossing climbers, or trying all steps from
// the best, brings no more than the points that it takes. (All with steps that change each knob
// alike, which is no worse in spaces of that size.)
//
// A step changes one knob, so a space of several tiled reductions, with more knobs, takes as many
// more steps: the gradient of data of a 3x3 convolution with stride 2, four reductions, ended with
// 9.7 ms by the prior's estimate after 1,024 points, and with 3.1 ms after 4,096.
#include "autotune/search/prior_schedule.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <random>

#include "autotune/cost/features.h"
#include "autotune/space/space.h"
#include "runtime/environment.h"
#include "runtime/error.h"
#include "runtime/thread_pool.h"

namespace tw::autotune {
namespace {

// TILEWRIGHT_PRIOR_POINTS: fewer points, where schedules matter less than the time that they take.
constexpr size_t kPoints = 1024, kSketchShare = 4;  // in one sketch this part of them
constexpr size_t kFirst = 16;                       // of the sample
constexpr size_t kClimbersOfOneSketch = 8;
constexpr int kRoundsToLast = 12;  // until the last climber gives up

size_t usual_points() {
  return environment_number("TILEWRIGHT_PRIOR_POINTS", kFirst, kPoints, kPoints);
}

// How long to climb, for so many points.
struct Effort {
  explicit Effort(size_t points)
      : most_points(points),
        sample(std::max(kFirst, points / 8)),
        climbers(std::clamp(points / 64, size_t{1}, size_t{12})),
        most_rounds(static_cast<int>(points * 3 / 5)) {}
  // With up to kUsualKnobs in each sketch, and in proportion more with more:
  size_t most_points, sample, climbers;
  int most_rounds;  // of spaces with fewer points
};
constexpr size_t kUsualKnobs = 10;
constexpr uint64_t kSeed = 2018;
// What a call takes before its kernel begins: one that is as short is not looked at any longer.
constexpr double kShortest = 3e-7;  // seconds
constexpr double kIllegal = std::numeric_limits<double>::infinity();

struct Climber {
  double seconds;
  Point point;
  auto operator<=>(const Climber&) const = default;
};

// How many times as long as in a usual space.
double times_usual(const Space& space) {
  size_t most = kUsualKnobs;
  for (const Sketch& sketch : space.sketches()) most = std::max(most, sketch.knobs.size());
  return double(most) / double(kUsualKnobs);
}

class Climb {
 public:
  // In all sketches, or in one.
  Climb(const Task& task, const Space& space, size_t points, uint64_t seed,
        std::optional<size_t> sketch = {})
      : task_(task), space_(space), effort_(points), sketch_(sketch), rng_(seed) {}

  // Where climbers end or give up, the best of them first. Infinite seconds where nothing legal was
  // met.
  std::vector<Climber> ends() {
    const double times = times_usual(space_);
    const int most_rounds = static_cast<int>(effort_.most_rounds * times),
              rounds_to_last = static_cast<int>(kRoundsToLast * times);
    const auto most_points = static_cast<size_t>(double(effort_.most_points) * times);
    std::vector<Climber> climbers = starts(), ended;
    const auto goes_on = [&] { return known_.size() < most_points && !is_short(climbers); };
    for (int round = 1; round <= most_rounds && goes_on(); ++round) {
      std::vector<Point> steps;
      for (const Climber& c : climbers) steps.push_back(space_.mutate(c.point, rng_));
      const std::vector<Climber> tried = estimate(steps);
      for (size_t i = 0; i < climbers.size(); ++i) climbers[i] = std::min(climbers[i], tried[i]);
      if (round % rounds_to_last == 0 && climbers.size() > 1) {
        const auto last = std::ranges::max_element(climbers);
        ended.push_back(*last);
        climbers.erase(last);
      }
    }
    ended.insert(ended.end(), climbers.begin(), climbers.end());
    std::ranges::sort(ended);
    return ended;
  }

  size_t points() const { return known_.size(); }

 private:
  std::vector<Climber> starts() {
    std::vector<Climber> sample = sampled(kFirst);
    if (!is_short(sample)) {
      const std::vector<Climber> rest = sampled(effort_.sample - kFirst);
      sample.insert(sample.end(), rest.begin(), rest.end());
    }
    std::ranges::sort(sample);
    std::vector<Climber> chosen;
    std::map<size_t, size_t> of_sketch;
    for (const Climber& c : sample) {
      if (chosen.size() < effort_.climbers && of_sketch[c.point.sketch]++ < kClimbersOfOneSketch) {
        chosen.push_back(c);
      }
    }
    return chosen;
  }

  static bool is_short(const std::vector<Climber>& climbers) {
    return std::ranges::min_element(climbers)->seconds <= kShortest;
  }

  std::vector<Climber> sampled(size_t count) {
    std::vector<Point> points;
    for (size_t i = 0; i < count; ++i) {
      points.push_back(sketch_ ? space_.random(*sketch_, rng_) : space_.random(rng_));
    }
    return estimate(points);
  }

  // Each of the points with its seconds, in their order; in parallel those not met before.
  std::vector<Climber> estimate(const std::vector<Point>& points) {
    std::vector<const Point*> missing;
    for (const Point& p : points) {
      if (known_.try_emplace(p, kIllegal).second) missing.push_back(&p);
    }
    std::vector<double> seconds(missing.size(), kIllegal);
    if (!missing.empty()) {  // zero tasks would mean one a thread
      parallel_for(
          {.num_tasks = static_cast<int32_t>(missing.size()), .chunking = Chunking::Dynamic},
          [&](int32_t i, int32_t) {
            const auto k = static_cast<size_t>(i);
            try {
              seconds[k] = prior_seconds(task_, space_.schedule(*missing[k]));
            } catch (const UserError&) {
              // A combination of choices that the schedule refuses is not part of the space.
            }
          });
    }
    for (size_t k = 0; k < missing.size(); ++k) known_[*missing[k]] = seconds[k];
    std::vector<Climber> result;
    for (const Point& p : points) result.push_back({known_.at(p), p});
    return result;
  }

  const Task& task_;
  const Space& space_;
  const Effort effort_;
  std::optional<size_t> sketch_;
  std::mt19937_64 rng_;
  std::map<Point, double> known_;
};

}  // namespace

PriorChoice prior_choice(const Task& task) {
  const Space space(task);
  Climb climb(task, space, usual_points(), kSeed);
  const Climber best = climb.ends().front();
  if (best.seconds == kIllegal) {
    raise({.code = ErrorCode::NoDesignSpace,
           .what = "no legal schedule was found",
           .legal = "write the schedule by hand"});
  }
  return {.trace = space.trace(best.point), .seconds = best.seconds, .points = climb.points()};
}

Trace prior_schedule(const Task& task) { return prior_choice(task).trace; }

std::vector<Point> prior_points(const Task& task, const Space& space, size_t sketch,
                                uint64_t seed) {
  std::vector<Point> points;
  for (const Climber& end :
       Climb(task, space, usual_points() / kSketchShare, seed, sketch).ends()) {
    if (end.seconds != kIllegal) points.push_back(end.point);
  }
  return points;
}

}  // namespace tw::autotune
