// SPDX-License-Identifier: Apache-2.0
#include "autotune/study/recording.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/error.h"
#include "runtime/thread_pool.h"

namespace tw::autotune {
namespace {

constexpr size_t kNearest = 24;  // candidates that a step may lead to

// Knobs that are set differently, of two points of one sketch.
size_t distance(const Point& a, const Point& b) {
  size_t n = 0;
  for (size_t k = 0; k < a.choice.size(); ++k) n += a.choice[k] != b.choice[k];
  return n;
}

size_t pick(std::mt19937_64& rng, size_t count) {
  return std::uniform_int_distribution<size_t>(0, count - 1)(rng);
}

// The lower quartile: what disturbs a visit only makes it slower.
double undisturbed(std::vector<double> visits) {
  if (visits.empty()) return std::numeric_limits<double>::infinity();
  std::ranges::sort(visits);
  return visits[(visits.size() - 1) / 4];
}

}  // namespace

Recording::Recording(const Task& task, const std::vector<Record>& records) : Space(task) {
  std::map<std::string, size_t> of_trace;
  for (const Record& r : records) {
    const auto [at, is_new] = of_trace.try_emplace(r.trace, candidates_.size());
    if (is_new) {
      Trace trace;
      try {
        trace = parse_trace(r.trace);
      } catch (const UserError&) {  // by a version with other primitives
      }
      const auto point = find(trace);
      if (!point || index_.contains(*point)) {
        at->second = std::numeric_limits<size_t>::max();
        continue;
      }
      index_[*point] = candidates_.size();
      candidates_.push_back({.point = *point, .trace = std::move(trace), .origin = r.origin});
    }
    if (r.ok() && at->second < candidates_.size()) {
      candidates_[at->second].visits.push_back(r.median());
    }
  }
  if (candidates_.empty()) {
    raise({.code = ErrorCode::NoRecord,
           .what = "no trial is a point of the task's design space",
           .where = task.name,
           .legal = "records of this workload, target and number of threads"});
  }
  const auto count = static_cast<int32_t>(candidates_.size());
  parallel_for({.num_tasks = count, .chunking = Chunking::Dynamic}, [&](int32_t i, int32_t) {
    RecordedCandidate& c = candidates_[static_cast<size_t>(i)];
    c.seconds = undisturbed(c.visits);
    c.features = std::make_shared<Features>(extract_features(task, schedule(c.point)));
  });
  of_sketch_.resize(sketches().size());
  for (size_t i = 0; i < candidates_.size(); ++i) {
    of_sketch_[candidates_[i].point.sketch].push_back(i);
  }
  for (size_t i = 0; i < candidates_.size(); ++i) {
    std::vector<std::pair<size_t, size_t>> others;
    for (const size_t k : of_sketch_[candidates_[i].point.sketch]) {
      if (k != i) others.emplace_back(distance(candidates_[i].point, candidates_[k].point), k);
    }
    const size_t near = std::min(kNearest, others.size());
    std::ranges::partial_sort(others, others.begin() + static_cast<std::ptrdiff_t>(near));
    std::vector<size_t>& list = nearest_.emplace_back();
    for (size_t k = 0; k < near; ++k) list.push_back(others[k].second);
  }
}

size_t Recording::index(const Point& p) const {
  const auto found = index_.find(p);
  return found == index_.end() ? candidates_.size() : found->second;
}

double Recording::best_seconds() const {
  return std::ranges::min(candidates_, {}, &RecordedCandidate::seconds).seconds;
}

Point Recording::random(std::mt19937_64& rng) const {
  return candidates_[pick(rng, candidates_.size())].point;
}

Point Recording::random(size_t sketch, std::mt19937_64& rng) const {
  const std::vector<size_t>& own = of_sketch_[sketch];
  return own.empty() ? random(rng) : candidates_[own[pick(rng, own.size())]].point;
}

// Nearer ones more often.
Point Recording::mutate(const Point& p, std::mt19937_64& rng) const {
  const std::vector<size_t>& near = nearest_[index_.at(p)];
  if (near.empty()) return p;
  const double u = std::uniform_real_distribution<>(0, 1)(rng);
  return candidates_[near[static_cast<size_t>(u * u * double(near.size()))]].point;
}

// The nearest ones: of all that differ in one knob few were recorded.
std::vector<Point> Recording::neighbours(const Point& p) const {
  std::vector<Point> result;
  for (const size_t k : nearest_[index_.at(p)]) result.push_back(candidates_[k].point);
  return result;
}

Point Recording::crossover(const Point& a, const Point& b, std::mt19937_64& rng) const {
  const Point child = Space::crossover(a, b, rng);
  const std::vector<size_t>& own = of_sketch_[child.sketch];
  const size_t nearest = *std::ranges::min_element(
      own, {}, [&](size_t k) { return distance(child, candidates_[k].point); });
  return candidates_[nearest].point;
}

std::shared_ptr<const Features> Recording::known_features(const Point& p) const {
  return candidates_[index_.at(p)].features;
}

}  // namespace tw::autotune
