// SPDX-License-Identifier: Apache-2.0
#include "autotune/search/policies.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <random>

#include "autotune/learn/learning_labels.h"
#include "autotune/task/named_row.h"

namespace tw::autotune {
namespace {

constexpr PolicyRow kPolicies[] = {
    {"evolutionary", "mutations and crossovers of the fastest, chosen by the model",
     [](const PolicyContext& c) -> std::unique_ptr<SearchPolicy> {
       return std::make_unique<Search>(c);
     }},
    {"descent", "the same, and near the end of the budget one knob changed of the fastest",
     [](const PolicyContext& given) -> std::unique_ptr<SearchPolicy> {
       PolicyContext c = given;
       c.options.descent_share = 0.5;
       return std::make_unique<Search>(c);
     }},
    {"annealing", "simulated annealing on the model's scores", make_annealing_policy},
    {"random", "points drawn at random", make_random_policy},
    {"grid", "every point once, evenly spread", make_grid_policy},
};

// Points that are looked at, of those that it takes to find one that is new and legal.
constexpr int kAttempts = 50;

class RandomPolicy : public SearchPolicy {
 public:
  explicit RandomPolicy(const PolicyContext& context) : proposer_(context), rng_(context.seed) {}

  std::vector<Proposal> propose(int count, const CostModel& model) override {
    std::vector<Proposal> result;
    const auto wanted = static_cast<size_t>(std::max(0, count));
    for (int attempt = 0; attempt < kAttempts && result.size() < wanted; ++attempt) {
      std::vector<Point> points;
      while (points.size() < wanted - result.size()) {
        points.push_back(proposer_.context().space.random(rng_));
      }
      std::ranges::move(proposer_.propose(std::move(points), model, Origin::Random),
                        std::back_inserter(result));
    }
    return result;
  }
  void observe(const Point& point, double) override {
    // Walks past what an earlier run with this seed has drawn: it would be met again, each time.
    if (!proposer_.tried(point)) proposer_.context().space.random(rng_);
    proposer_.mark_tried(point);
  }

 private:
  Proposer proposer_;
  std::mt19937_64 rng_;
};

// All points of a sketch, each once: number k is k steps of almost the golden section from the
// first, which leaves no large gaps however many are taken.
class Walk {
 public:
  Walk(const Sketch& sketch, size_t number) : number_(number) {
    for (const Knob& knob : sketch.knobs) {
      sizes_.push_back(knob.size());
      // Of a sketch with more points than can be counted the last knobs keep their first choice.
      if (total_ <= kMost / knob.size())
        total_ *= knob.size();
      else
        sizes_.back() = 1;
    }
    step_ = std::max<uint64_t>(1, static_cast<uint64_t>(static_cast<double>(total_) * kGolden));
    while (std::gcd(step_, total_) != 1) ++step_;
  }
  bool ended() const { return taken_ == total_; }
  Point next() {
    Point point{.sketch = number_};
    uint64_t rest = at_;
    for (const uint64_t size : sizes_) {
      point.choice.push_back(rest % size);
      rest /= size;
    }
    at_ = (at_ + step_) % total_;
    ++taken_;
    return point;
  }

 private:
  static constexpr uint64_t kMost = uint64_t{1} << 62;
  static constexpr double kGolden = 0.6180339887498949;

  size_t number_;
  std::vector<uint64_t> sizes_;
  uint64_t total_ = 1, step_ = 1, at_ = 0, taken_ = 0;
};

class GridPolicy : public SearchPolicy {
 public:
  explicit GridPolicy(const PolicyContext& context) : proposer_(context) {
    for (size_t k = 0; k < context.space.sketches().size(); ++k) {
      walks_.emplace_back(context.space.sketches()[k], k);
    }
  }

  std::vector<Proposal> propose(int count, const CostModel& model) override {
    std::vector<Proposal> result;
    while (static_cast<int>(result.size()) < count && !std::ranges::all_of(walks_, &Walk::ended)) {
      Walk& walk = walks_[turn_++ % walks_.size()];
      if (walk.ended()) continue;
      const Point point = walk.next();
      if (!proposer_.context().space.within_limits(point)) continue;
      std::ranges::move(proposer_.propose({point}, model, Origin::Search),
                        std::back_inserter(result));
    }
    return result;
  }
  void observe(const Point& point, double) override { proposer_.mark_tried(point); }

 private:
  Proposer proposer_;
  std::vector<Walk> walks_;
  size_t turn_ = 0;
};

class AnnealingPolicy : public SearchPolicy {
 public:
  explicit AnnealingPolicy(const PolicyContext& context) : proposer_(context), rng_(context.seed) {}

  std::vector<Proposal> propose(int count, const CostModel& model) override {
    const Space& space = proposer_.context().space;
    std::vector<Point> starts;
    for (const auto& [seconds, point] : measured_) {
      if (starts.size() >= kChains / 2) break;
      starts.push_back(point);
    }
    while (starts.size() < kChains) starts.push_back(space.random(rng_));
    std::vector<Proposer::Scored> chains = proposer_.score(starts, model), met = chains;
    const double first = kHottest * spread(chains);
    for (int step = 0; step < kSteps && !chains.empty(); ++step) {
      const double temperature = first * (1 - static_cast<double>(step) / kSteps);
      std::vector<Point> points;
      for (const auto& chain : chains) points.push_back(space.mutate(chain.point, rng_));
      // A neighbour that is not legal is missing in `next`.
      auto next = proposer_.score(points, model);
      size_t k = 0;
      for (size_t i = 0; i < points.size() && k < next.size(); ++i) {
        if (next[k].point != points[i]) continue;
        const double gain = next[k].score - chains[i].score;
        if (gain >= 0 || uniform_(rng_) < std::exp(gain / temperature)) chains[i] = next[k];
        met.push_back(std::move(next[k++]));
      }
    }
    std::ranges::stable_sort(met, std::greater<>(), &Proposer::Scored::score);
    std::vector<Proposal> result;
    for (const auto& scored : met) {
      if (static_cast<int>(result.size()) >= count) break;
      if (!proposer_.tried(scored.point)) {
        result.push_back(proposer_.propose(scored, Origin::Search));
      }
    }
    return result;
  }

  void observe(const Point& point, double seconds) override {
    proposer_.mark_tried(point);
    if (std::isfinite(seconds)) measured_.emplace(seconds, point);
  }

 private:
  static constexpr size_t kChains = 64;
  static constexpr int kSteps = 12;
  static constexpr double kHottest = 0.5;  // first temperature, in standard deviations of scores

  static double spread(const std::vector<Proposer::Scored>& chains) {
    double sum = 0, squares = 0;
    for (const auto& c : chains) {
      sum += c.score;
      squares += c.score * c.score;
    }
    const auto n = static_cast<double>(std::max<size_t>(1, chains.size()));
    return std::sqrt(std::max(squares / n - sum * sum / (n * n), 1e-12));
  }

  Proposer proposer_;
  std::mt19937_64 rng_;
  std::uniform_real_distribution<> uniform_;
  std::multimap<double, Point> measured_;  // by seconds
};

}  // namespace

std::span<const PolicyRow> search_policies() { return kPolicies; }

PolicyFactory search_policy(std::string_view name) {
  return named_row(search_policies(), name, "search policy").make;
}

std::unique_ptr<SearchPolicy> make_random_policy(const PolicyContext& context) {
  return std::make_unique<RandomPolicy>(context);
}
std::unique_ptr<SearchPolicy> make_grid_policy(const PolicyContext& context) {
  return std::make_unique<GridPolicy>(context);
}
std::unique_ptr<SearchPolicy> make_annealing_policy(const PolicyContext& context) {
  return std::make_unique<AnnealingPolicy>(context);
}

std::vector<Proposer::Scored> Proposer::score(const std::vector<Point>& points,
                                              const CostModel& model) const {
  std::vector<const Point*> pointers;
  for (const Point& p : points) pointers.push_back(&p);
  const auto features =
      extract_features(context_.task, context_.space, pointers, context_.features);
  std::vector<Scored> result;
  std::vector<const Features*> rows;
  for (size_t k = 0; k < points.size(); ++k) {
    if (features[k] == nullptr) continue;
    rows.push_back(features[k].get());
    result.push_back({points[k], prior_score(*features[k]), features[k]});
  }
  if (!model.trained() || rows.empty()) return result;
  const Opinion opinion = model.opinion(rows);
  for (size_t k = 0; k < result.size(); ++k) {
    result[k].score = opinion.score[k];
    if (!opinion.deviation.empty()) result[k].deviation = opinion.deviation[k];
  }
  return result;
}

Proposal Proposer::propose(const Scored& scored, Origin origin) {
  tried_.insert(scored.point);
  return {.point = scored.point,
          .candidate = {.trace = context_.space.trace(scored.point),
                        .origin = origin,
                        .predicted = scored.score},
          .features = scored.features};
}

std::vector<Proposal> Proposer::propose(std::vector<Point> points, const CostModel& model,
                                        Origin origin) {
  std::erase_if(points, [&](const Point& p) { return tried(p); });
  std::vector<Proposal> result;
  for (const Scored& s : score(points, model)) {
    if (!tried(s.point)) result.push_back(propose(s, origin));
  }
  return result;
}

}  // namespace tw::autotune
