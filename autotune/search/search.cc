// SPDX-License-Identifier: Apache-2.0
#include "autotune/search/search.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <ranges>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "autotune/learn/learning_labels.h"
#include "autotune/search/distinct_programs.h"
#include "autotune/search/prior_schedule.h"
#include "autotune/search/variants.h"

namespace tw::autotune {
namespace {

constexpr size_t kParents = 32;       // fastest measured points that seed a population
constexpr size_t kClimbed = 4;        // fastest measured points whose neighbours are tried,
constexpr size_t kOfOneSketch = 2;    // so many of one sketch
constexpr int kNeighbours = 24;       // neighbours of each that the model chooses from
constexpr size_t kSpareShare = 4;     // one more for so many, whose programs are looked at together
constexpr size_t kDescended = 3;      // fastest measured points whose knobs are changed one by one
constexpr size_t kCacheLimit = 1000;  // points, about 2 kB each
// Before anything is measured sketches are tried in turn, those whose fittest point the prior holds
// for at most so many times slower than the fittest of all; of each so many are looked at.
constexpr double kPlausible = 2;
constexpr size_t kLeastOfSketch = 24;
// Each way of doing a thing, which is a choice of a knob that has few, is tried where the prior
// holds its fittest point for at most so many times slower.
constexpr size_t kFewChoices = 3;
constexpr double kConceivable = 4;
// Another sketch than that of the fastest is a rival while its fastest took at most so many times
// as long. Rivals are looked at in turns, one for each batch after one that brought less than so
// much.
constexpr double kRival = 1.3;
constexpr double kGain = 0.01;
constexpr size_t kUnsurveyed = 1;  // measured points: the prior's own choice

struct PointHash {
  size_t operator()(const Point& p) const noexcept {
    uint64_t h = p.sketch + 0x9e3779b97f4a7c15ull;
    for (size_t c : p.choice) h = (h ^ c) * 0x100000001b3ull + (h >> 29);
    return h;
  }
};

// Of what a model says, which part ranks: all, or what it held before the task's own trials.
enum class View { Model, Base };

struct Individual {
  Point point;
  double score = 0;      // in the view that ranks
  double predicted = 0;  // by the model
  double hope = 0;       // how fast it may turn out, as far as the model knows
};

// Fitter first; equal scores keep a fixed order, so that a seed gives one result.
bool fitter(const Individual& a, const Individual& b) {
  if (a.score != b.score) return a.score > b.score;
  return std::tie(a.point.sketch, a.point.choice) < std::tie(b.point.sketch, b.point.choice);
}

}  // namespace

struct Search::State {
  const Task& task;
  const Space& space;
  SearchOptions options;
  std::mt19937_64 rng;
  std::unordered_set<Point, PointHash> tried;
  std::vector<std::pair<double, Point>> measured;  // seconds, ascending
  // Features do not change; a point that comes back in a later round costs nothing. Null: illegal.
  std::unordered_map<Point, std::shared_ptr<const Features>, PointHash> features;
  const FeatureSet* own;
  std::function<Budget()> budget;
  double best_before = INFINITY;  // when the last batch was proposed
  size_t rival = 0;               // the sketch that was looked at last
  std::vector<std::shared_ptr<const Features>> proposed = {};
  // Those that were proposed. Different points often lower to the same one: loops that are too long
  // to unroll by one limit are by the next, and packed constants are no part of it.
  DistinctPrograms programs{task, space};

  // Whether the point's program was proposed before; it is remembered as proposed now.
  bool repeats(const Point& p) { return options.distinct_programs && !programs.add(p); }

  // Prepares the programs of the next points that may be taken, some more than are wanted, since
  // some will repeat others. Gives how far it looked.
  size_t look_ahead(const std::vector<Individual>& ranked, size_t from, size_t wanted) {
    if (!options.distinct_programs) return ranked.size();
    std::vector<Point> next;
    size_t k = from;
    for (; k < ranked.size() && next.size() < wanted + wanted / kSpareShare; ++k) {
      if (!tried.contains(ranked[k].point)) next.push_back(ranked[k].point);
    }
    programs.prepare(next);
    return k;
  }

  // Features of those points that have none yet, in parallel.
  void prepare(const std::vector<Point>& points) {
    std::vector<const Point*> missing;
    std::unordered_set<Point, PointHash> seen;
    for (const Point& p : points) {
      if (!features.contains(p) && seen.insert(p).second) missing.push_back(&p);
    }
    auto result = extract_features(task, space, missing, own);
    for (size_t i = 0; i < missing.size(); ++i) features[*missing[i]] = std::move(result[i]);
  }

  // Legal points with their scores, fittest first, each once.
  std::vector<Individual> score(std::vector<Point> points, const CostModel& model,
                                View view = View::Model) {
    prepare(points);
    std::vector<Individual> result;
    std::vector<const Features*> rows;
    std::unordered_set<Point, PointHash> seen;
    for (Point& p : points) {
      const auto& f = features.at(p);
      if (f == nullptr || !seen.insert(p).second) continue;
      rows.push_back(f.get());
      result.push_back({std::move(p)});
    }
    if (result.empty()) return result;
    if (model.trained()) {
      const Opinion opinion = model.opinion(rows);
      const std::vector<double>& ranks = view == View::Model ? opinion.score : opinion.base;
      for (size_t i = 0; i < result.size(); ++i) {
        result[i].score = ranks[i];
        result[i].predicted = opinion.score[i];
        const double doubt = opinion.deviation.empty() ? 0 : opinion.deviation[i];
        result[i].hope = opinion.score[i] + doubt;
      }
    } else {
      for (size_t i = 0; i < result.size(); ++i) {
        result[i].score = prior_score(*rows[i]);
        result[i].predicted = result[i].hope = result[i].score;
      }
    }
    std::sort(result.begin(), result.end(), fitter);
    return result;
  }

  // By rank: the fittest is chosen several times as often as the last.
  const Point& parent(const std::vector<Individual>& population) {
    const double u = std::uniform_real_distribution<>(0, 1)(rng);
    return population[size_t(u * u * double(population.size()))].point;
  }

  std::vector<Point> first_generation(size_t size) {
    std::vector<Point> points;
    for (const auto& [seconds, p] : measured) {
      if (points.size() >= kParents) break;
      points.push_back(p);
    }
    const size_t parents = points.size();
    for (size_t i = 0; i < parents && points.size() < size / 2; ++i) {
      points.push_back(space.mutate(points[i], rng));
    }
    while (points.size() < size) points.push_back(space.random(rng));
    return points;
  }

  // Those points of the sketch, and others drawn at random.
  std::vector<Point> first_generation_of(size_t sketch, std::vector<Point> points, size_t size) {
    while (points.size() < size) points.push_back(space.random(sketch, rng));
    return points;
  }

  std::vector<Point> offspring(const std::vector<Individual>& population, size_t size) {
    std::vector<Point> points;
    for (size_t i = 0; i < size; ++i) {
      const Point& a = parent(population);
      if (std::uniform_real_distribution<>(0, 1)(rng) < options.mutation_share) {
        points.push_back(space.mutate(a, rng));
        continue;
      }
      const Point& b = parent(population);
      points.push_back(a.sketch == b.sketch ? space.crossover(a, b, rng) : space.mutate(a, rng));
    }
    return points;
  }

  // Fittest first, each once.
  static void rank(std::vector<Individual>& all) {
    std::sort(all.begin(), all.end(), fitter);
    const auto same = [](const auto& a, const auto& b) { return a.point == b.point; };
    all.erase(std::unique(all.begin(), all.end(), same), all.end());
  }

  // Every legal point met, fittest first.
  std::vector<Individual> evolve(std::vector<Point> first, const CostModel& model,
                                 View view = View::Model) {
    const size_t size = first.size();
    std::vector<Individual> population = score(std::move(first), model, view);
    std::vector<Individual> all = population;
    for (int g = 0; g < options.generations && !population.empty(); ++g) {
      std::vector<Individual> children = score(offspring(population, size), model, view);
      all.insert(all.end(), children.begin(), children.end());
      population.insert(population.end(), children.begin(), children.end());
      rank(population);
      population.resize(std::min(population.size(), size));
    }
    rank(all);
    return all;
  }

  // For the first batch, when nothing of this task is known: what a model with doubts learned from
  // other tasks, what the prior holds for fastest, and each way of doing a thing, in turns, since
  // any of them may be wrong about a whole class.
  std::vector<Individual> survey(const CostModel& model) {
    std::vector<std::vector<Point>> starts;  // by sketch
    for (size_t k = 0; k < space.sketches().size(); ++k) {
      starts.push_back(prior_points(task, space, k, rng()));
    }
    std::vector<std::vector<Individual>> rankings{survey_by(model, starts)};
    const auto doubted = [](const Individual& i) { return i.hope != i.score; };
    if (std::ranges::any_of(rankings[0], doubted)) {
      rankings.push_back(survey_by(*make_prior_model(), starts));
    }
    rankings.push_back(each_way(rankings.back()));
    std::vector<Individual> all;
    for (size_t k = 0; all.size() < rankings[0].size(); ++k) {
      for (const auto& ranking : rankings) {
        if (k < ranking.size()) all.push_back(ranking[k]);
      }
    }
    return all;
  }

  // A ranking tells points of one sketch apart better than it does sketches, and what it thinks
  // little of would never be measured: the fittest points of each sketch in turn, and then all
  // others, fittest first.
  std::vector<Individual> survey_by(const CostModel& model,
                                    const std::vector<std::vector<Point>>& starts) {
    const size_t sketches = space.sketches().size();
    const size_t size =
        std::max(kLeastOfSketch, static_cast<size_t>(options.population) / sketches);
    std::vector<Individual> all;
    for (size_t k = 0; k < sketches; ++k) {
      const std::vector<Individual> own = evolve(first_generation_of(k, starts[k], size), model);
      all.insert(all.end(), own.begin(), own.end());
    }
    rank(all);
    if (all.empty()) return all;
    const double least = all.front().score - std::log(kPlausible);
    const auto end = std::ranges::find_if(all, [&](const auto& i) { return i.score < least; });
    std::unordered_map<size_t, size_t> of_sketch;
    std::vector<std::pair<size_t, Individual>> turns;  // how many of its sketch are fitter
    for (auto i = all.begin(); i != end; ++i) {
      turns.emplace_back(of_sketch[i->point.sketch]++, *i);
    }
    std::ranges::stable_sort(turns, {}, &std::pair<size_t, Individual>::first);
    std::ranges::copy(turns | std::views::values, all.begin());
    return all;
  }

  // Those that are the first of their sketch with some choice of a knob that has few: where a
  // ranking misjudges one way of doing a thing, it does so at all sizes.
  std::vector<Individual> each_way(const std::vector<Individual>& ranked) const {
    if (ranked.empty()) return {};
    const auto seconds = [&](const Individual& i) { return features.at(i.point)->prior_seconds; };
    const double most = kConceivable * seconds(*std::ranges::min_element(ranked, {}, seconds));
    std::set<std::tuple<size_t, size_t, size_t>> met;  // sketch, knob, choice
    const auto is_new = [&](const Individual& i) {
      if (seconds(i) > most) return false;
      const std::vector<Knob>& knobs = space.sketches()[i.point.sketch].knobs;
      bool first = false;
      for (size_t k = 0; k < knobs.size(); ++k) {
        if (knobs[k].choices.size() > kFewChoices) continue;
        first |= met.emplace(i.point.sketch, k, i.point.choice[k]).second;
      }
      return first;
    };
    std::vector<Individual> ways;
    std::ranges::copy_if(ranked, std::back_inserter(ways), is_new);
    return ways;
  }

  // The fastest measured points, of which few are of one sketch as long as there are others: those
  // after the fastest are mostly variants of it.
  std::vector<const Point*> fastest_of_sketches() const {
    std::vector<const Point*> chosen, others;
    std::unordered_map<size_t, size_t> of_sketch;
    for (const auto& [seconds, point] : measured) {
      if (chosen.size() == kClimbed || !std::isfinite(seconds)) break;
      (of_sketch[point.sketch]++ < kOfOneSketch ? chosen : others).push_back(&point);
    }
    others.resize(std::min(others.size(), kClimbed - chosen.size()));
    chosen.insert(chosen.end(), others.begin(), others.end());
    return chosen;
  }

  // Whether the last batch has brought nothing to speak of.
  bool stands_still() {
    const double best = measured.front().first;
    return best > (1 - kGain) * std::exchange(best_before, best);
  }

  // Of the next rival, if there is one, points that evolve from its fastest.
  std::vector<Individual> of_rival(const CostModel& model) {
    const auto& [least, fastest] = measured.front();
    std::map<size_t, std::vector<Point>> rivals;  // by sketch, their points fastest first
    for (const auto& [seconds, point] : measured) {
      const bool is_near = seconds <= kRival * least && point.sketch != fastest.sketch;
      if (!is_near && !rivals.contains(point.sketch)) continue;
      std::vector<Point>& known = rivals[point.sketch];
      if (known.size() < kParents) known.push_back(point);
    }
    if (rivals.empty()) return {};
    auto next = rivals.upper_bound(rival);
    if (next == rivals.end()) next = rivals.begin();
    rival = next->first;
    std::vector<Point> first = std::move(next->second);
    const auto size = static_cast<size_t>(options.population) / 2;
    for (size_t known = first.size(), i = 0; first.size() < size; ++i) {
      first.push_back(i % 2 == 0 ? space.mutate(first[i / 2 % known], rng)
                                 : space.random(rival, rng));
    }
    return evolve(std::move(first), model);
  }

  // Those first, at most so many, that are no variants of what was proposed or of each other, then
  // all the others.
  std::vector<Individual> novel_first(std::vector<Individual> ranked, size_t wanted) const {
    std::vector<const Features*> typical;
    for (const Individual& i : ranked) typical.push_back(features.at(i.point).get());
    Variants variants(typical);
    for (const auto& f : proposed) variants.add(*f);
    size_t found = 0;
    std::ranges::stable_partition(ranked, [&](const Individual& i) {
      return found < wanted && !tried.contains(i.point) && variants.add(*features.at(i.point)) &&
             ++found > 0;
    });
    return ranked;
  }

  // Points one step from these, fittest first. The model ranks them among each other only: where it
  // misjudges a whole region, the measured best still draws trials.
  std::vector<Individual> neighbours(const CostModel& model) {
    std::vector<Point> points;
    for (const Point* p : fastest_of_sketches()) {
      for (int n = 0; n < kNeighbours; ++n) points.push_back(space.mutate(*p, rng));
    }
    return score(std::move(points), model);
  }

  // Whether the budget nears its end: what is found by wandering further would not be refined.
  bool descends() const {
    if (options.descent_share <= 0) return false;
    return budget && budget().spent >= options.descent_from;
  }

  // Of each of the fastest measured points all that differ in one knob, fittest first.
  std::vector<Individual> descent(const CostModel& model) {
    std::vector<Point> points;
    for (size_t i = 0; i < std::min(kDescended, measured.size()); ++i) {
      if (!std::isfinite(measured[i].first)) break;
      for (Point& p : space.neighbours(measured[i].second)) {
        if (!tried.contains(p)) points.push_back(std::move(p));
      }
    }
    return score(std::move(points), model);
  }

  Proposal proposal(const Individual& chosen, Origin origin) {
    tried.insert(chosen.point);
    proposed.push_back(features.at(chosen.point));
    return {.point = chosen.point,
            .candidate = {.trace = space.trace(chosen.point),
                          .origin = origin,
                          .predicted = chosen.predicted},
            .features = features.at(chosen.point)};
  }
};

SearchPolicy::~SearchPolicy() = default;

Search::Search(const PolicyContext& c)
    : state_(new State{
          c.task, c.space, c.options, std::mt19937_64(c.seed), {}, {}, {}, c.features, c.budget}) {}
Search::~Search() = default;

std::vector<Proposal> Search::propose(int count, const CostModel& model) {
  State& s = *state_;
  const auto wanted = static_cast<size_t>(std::max(0, count));
  std::vector<Proposal> result;
  const auto take_one = [&](const Individual& one, Origin origin) {
    if (s.tried.contains(one.point)) return;
    if (s.repeats(one.point)) {
      s.tried.insert(one.point);
    } else {
      result.push_back(s.proposal(one, origin));
    }
  };
  const auto take = [&](const std::vector<Individual>& ranked, size_t until) {
    size_t looked_at = 0;
    for (size_t k = 0; k < ranked.size() && result.size() < until; ++k) {
      if (k == looked_at) looked_at = s.look_ahead(ranked, k, until - result.size());
      take_one(ranked[k], Origin::Search);
    }
  };
  // Shares of less than one come about in as many batches.
  const auto share = [&](double of) {
    return size_t(double(wanted) * of + std::uniform_real_distribution<>(0, 1)(s.rng));
  };
  if (s.features.size() > kCacheLimit) s.features.clear();
  const size_t chosen = wanted - std::min(wanted, share(s.options.random_share));
  if (s.measured.size() <= kUnsurveyed) {
    take(s.survey(model), chosen);
  } else {
    const auto population = static_cast<size_t>(s.options.population);
    if (s.descends()) {
      take(s.descent(model), std::min(chosen, share(s.options.descent_share)));
    } else if (model.trained()) {
      take(s.neighbours(model), share(s.options.neighbour_share));
    }
    if (model.trained()) {
      const size_t of_rival = s.stands_still() ? share(s.options.rival_share) : 0;
      if (of_rival > 0) {
        take(s.novel_first(s.of_rival(model), of_rival),
             std::min(chosen, result.size() + of_rival));
      }
      // Where several knobs are good together only, trials of each alone teach that it is bad.
      const size_t of_base = model.has_base() ? share(s.options.base_share) : 0;
      if (of_base > 0) {
        take(s.evolve(s.first_generation(population / 2), model, View::Base),
             std::min(chosen, result.size() + of_base));
      }
    }
    std::vector<Individual> all = s.evolve(s.first_generation(population), model);
    const size_t hoped = model.trained() ? std::min(chosen, share(s.options.hope_share)) : 0;
    take(all, std::max(result.size(), chosen - hoped));
    // Those that may be the fastest if the model is as wrong as it thinks it can be. A model that
    // is sure of all of them goes on with the fittest.
    std::ranges::stable_sort(all, std::greater{}, &Individual::hope);
    if (hoped > 0) all = s.novel_first(std::move(all), hoped);
    take(all, chosen);
  }
  // The blind share, and whatever evolution did not fill.
  for (size_t attempts = 0; result.size() < wanted && attempts < 50 * wanted; ++attempts) {
    const Point p = s.space.random(s.rng);
    if (s.tried.contains(p)) continue;
    const std::vector<Individual> one = s.score({p}, model);
    if (!one.empty()) take_one(one[0], Origin::Random);
  }
  return result;
}

void Search::observe(const Point& point, double seconds) {
  // The prior's choice and what a log knew were not proposed here.
  if (state_->tried.insert(point).second) state_->repeats(point);
  auto& measured = state_->measured;
  const auto at = std::upper_bound(measured.begin(), measured.end(), seconds,
                                   [](double s, const auto& m) { return s < m.first; });
  measured.insert(at, {seconds, point});
}

}  // namespace tw::autotune
