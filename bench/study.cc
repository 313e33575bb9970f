// SPDX-License-Identifier: Apache-2.0
// What cost models are worth: searches replayed over recorded candidates (collect.cc makes the
// log), each with many seeds, and what each model thinks of the candidates that it was never shown.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <future>
#include <map>
#include <numeric>
#include <tuple>

#include "autotune/learn/cost_models.h"
#include "autotune/learn/transfer.h"
#include "autotune/log/log.h"
#include "autotune/study/simulation.h"
#include "bench/sections.h"
#include "runtime/error.h"
#include "runtime/machine.h"

namespace tw::bench {
namespace {

using autotune::Features;
using autotune::RecordedCandidate;
using autotune::Recording;

constexpr int kTrials[] = {8, 16, 32, 64, 128, 200};  // after which the regret is looked at
constexpr size_t kLookTrials = 64;                    // after which the model is asked about all
constexpr size_t kBest = 5;                           // of the truly best that are to be found
constexpr size_t kReasons = 3;                        // columns that explain errors best
constexpr size_t kOfTask = 300;  // candidates of each other task that teach beforehand

// Of one seed.
struct Outcome {
  std::vector<double> regret;  // after each trial
  double rank = 0;             // correlation, over candidates not asked for
  double found_one = 0, found_five = 0;
  std::vector<double> error;  // by candidate: true rank less that by the model, in parts of all
};

std::vector<size_t> order_by(const std::vector<double>& values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) { return values[i]; });
  return order;
}

std::vector<double> seconds_of(const Recording& recording) {
  std::vector<double> seconds;
  for (const RecordedCandidate& c : recording.candidates()) seconds.push_back(c.seconds);
  return seconds;
}

// By candidate, less is better.
std::vector<double> opinion(const Recording& recording, const autotune::CostModel& model) {
  std::vector<const Features*> features;
  for (const RecordedCandidate& c : recording.candidates()) features.push_back(c.features.get());
  std::vector<double> scores = model.predict(features);
  for (double& s : scores) s = -s;
  return scores;
}

// Beside the rows of the table of models: XGBoost without what other tasks teach.
constexpr std::string_view kAlone = "alone";

Outcome play(const autotune::Task& task, const Recording& recording, const std::string& name,
             const std::shared_ptr<const autotune::Experience>& others, uint64_t seed,
             const autotune::SimulationOptions& given) {
  Outcome result;
  const bool alone = name == kAlone;
  const auto model = autotune::cost_model(alone ? "xgboost" : name)(
      {.task = &task, .seed = seed, .experience = [&] { return alone ? nullptr : others; }});
  std::vector<double> thought;
  autotune::SimulationOptions options = given;
  options.seed = seed;
  options.trained = [&](size_t trials, const autotune::CostModel& trained) {
    if (trials >= kLookTrials && thought.empty()) thought = opinion(recording, trained);
  };
  const autotune::Simulation run = autotune::simulate(task, recording, *model, options);
  if (thought.empty()) thought = opinion(recording, *model);
  result.regret = run.regret;

  const std::vector<double> seconds = seconds_of(recording);
  const auto looked = std::min(kLookTrials, run.asked.size());
  std::vector<bool> asked(seconds.size());
  for (size_t k = 0; k < looked; ++k) asked[run.asked[k]] = true;
  std::vector<double> unseen_thought, unseen_seconds;
  for (size_t i = 0; i < seconds.size(); ++i) {
    if (asked[i]) continue;
    unseen_thought.push_back(thought[i]);
    unseen_seconds.push_back(seconds[i]);
  }
  result.rank = autotune::rank_correlation(unseen_thought, unseen_seconds);
  const std::vector<size_t> truly = order_by(seconds), supposed = order_by(thought);
  result.found_one = asked[truly[0]] ? 1 : 0;
  for (size_t k = 0; k < kBest; ++k) result.found_five += asked[truly[k]] ? 1.0 / kBest : 0;
  result.error.resize(seconds.size());
  for (size_t k = 0; k < truly.size(); ++k) {
    result.error[truly[k]] += double(k) / double(truly.size());
    result.error[supposed[k]] -= double(k) / double(truly.size());
  }
  return result;
}

// A column of the features: the greatest over a candidate's statements.
std::vector<double> column(const Recording& recording, size_t index) {
  const size_t width = autotune::feature_names().size();
  std::vector<double> values;
  for (const RecordedCandidate& c : recording.candidates()) {
    std::vector<float> rows;
    c.features->append_to(rows);
    double greatest = -INFINITY;
    for (size_t r = 0; r < c.features->num_rows(); ++r) {
      greatest = std::max(greatest, double(rows[r * width + index]));
    }
    values.push_back(greatest);
  }
  return values;
}

// Where the model was most wrong, and the columns whose values go with its errors.
nlohmann::json mistakes(const Recording& recording, const std::vector<double>& error) {
  const auto& candidates = recording.candidates();
  nlohmann::json reasons = nlohmann::json::array(), worst = nlohmann::json::array();
  std::vector<std::pair<double, size_t>> columns;
  for (size_t i = 0; i < autotune::feature_names().size(); ++i) {
    columns.emplace_back(autotune::rank_correlation(column(recording, i), error), i);
  }
  std::ranges::stable_sort(columns, std::greater{},
                           [](const auto& c) { return std::abs(c.first); });
  for (size_t k = 0; k < kReasons; ++k) {
    reasons.push_back({autotune::feature_names()[columns[k].second], columns[k].first});
  }
  // Praised wrongly, and missed.
  const std::vector<size_t> order = order_by(error);
  for (const size_t i : {order.back(), order.front()}) {
    const auto& c = candidates[i];
    worst.push_back({{"slowdown", c.seconds / recording.best_seconds()},
                     {"error", error[i]},
                     {"sketch", recording.sketches()[c.point.sketch].description},
                     {"trace", to_text(c.trace)}});
  }
  return {{"reasons", reasons}, {"worst", worst}};
}

std::vector<double> mean_error(const std::vector<Outcome>& outcomes) {
  std::vector<double> mean(outcomes.front().error.size());
  for (const Outcome& o : outcomes) {
    for (size_t i = 0; i < mean.size(); ++i) mean[i] += o.error[i] / double(outcomes.size());
  }
  return mean;
}

std::vector<double> each(const std::vector<Outcome>& outcomes, auto value) {
  std::vector<double> values;
  for (const Outcome& o : outcomes) values.push_back(value(o));
  return values;
}

// Seeds at once, as many as there are cores.
std::vector<Outcome> play_all(const autotune::Task& task, const Recording& recording,
                              const std::string& model,
                              const std::shared_ptr<const autotune::Experience>& others,
                              size_t seeds, const autotune::SimulationOptions& options) {
  std::vector<Outcome> outcomes(seeds);
  std::atomic<size_t> next = 0;
  std::vector<std::future<void>> threads;
  for (int t = 0; t < host().usable_cpus; ++t) {
    threads.push_back(std::async(std::launch::async, [&] {
      for (size_t k = next++; k < seeds; k = next++) {
        outcomes[k] = play(task, recording, model, others, k + 1, options);
      }
    }));
  }
  for (auto& t : threads) t.get();
  return outcomes;
}

// How much visits to one candidate differ: the median, over those within twice the best, of
// (largest - least) / least.
double noise_of(const Recording& recording) {
  std::vector<double> spreads;
  for (const RecordedCandidate& c : recording.candidates()) {
    if (c.visits.size() < 2 || c.seconds > 2 * recording.best_seconds()) continue;
    const auto [least, most] = std::ranges::minmax(c.visits);
    spreads.push_back(most / least - 1);
  }
  if (spreads.empty()) return 0;
  std::ranges::sort(spreads);
  return spreads[spreads.size() / 2];
}

// Records that may be compared with each other: of one target, number of threads, state of the
// caches, and kind of machine.
using How = std::tuple<std::string, int, autotune::CacheState, std::string>;
std::map<How, std::vector<autotune::Record>> apart(const std::vector<autotune::Record>& records) {
  std::map<How, std::vector<autotune::Record>> groups;
  for (const autotune::Record& r : records) {
    groups[{r.target, r.threads, r.caches, r.kind}].push_back(r);
  }
  return groups;
}

}  // namespace

void study_models(const Options& options, Results& results) {
  const autotune::Log log(options.text("log", "study.db"), autotune::Log::Mode::Read);
  const auto seeds = static_cast<size_t>(options.count("seeds", options.flag("quick") ? 4 : 20));
  autotune::SimulationOptions simulation{.trials = options.count("trials", 200),
                                         .batch = options.count("batch", 16)};
  simulation.search.descent_from = options.number("descent-from", simulation.search.descent_from);
  simulation.search.descent_share =
      options.number("descent-share", simulation.search.descent_share);
  const std::string only = options.text("workload");
  const autotune::Lessons lessons =
      autotune::lessons_of(log, {.most_of_task = kOfTask, .most = SIZE_MAX, .seconds = INFINITY});
  nlohmann::json workloads = nlohmann::json::array();
  for (const autotune::Log::Workload& w : log.workloads()) {
    if (w.name.find(only) == std::string::npos) continue;
    for (const auto& [how, records] : apart(log.records(w.id))) {
      const auto& [target, threads, caches, kind] = how;
      const bool hot = caches == autotune::CacheState::Hot;
      const std::string name_of_workload =
          hot ? w.name : fmt::format("{}, {}", w.name, to_string(caches));
      // For the machine that the log is from, which need not be this one.
      const autotune::Task task =
          autotune::make_task(w.te_text, Target::parse(target), threads, w.name, caches);
      const Recording recording(task, records);
      // What the pretrained model would be if this workload had not been recorded.
      std::vector<autotune::Sample> rest = lessons.samples;
      std::erase_if(rest, [&](const autotune::Sample& s) {
        return lessons.workloads[static_cast<size_t>(s.task)] == w.id;
      });
      const auto others = autotune::Experience::learn(rest, 1);
      nlohmann::json facts = {
          {"workload", name_of_workload}, {"candidates", recording.candidates().size()},
          {"visits", records.size()},     {"best", recording.best_seconds()},
          {"noise", noise_of(recording)}, {"mistakes", nlohmann::json::object()}};
      for (const auto& [origin, name] :
           {std::pair(autotune::Origin::Random, "random"), {autotune::Origin::Search, "search"}}) {
        facts[name] =
            std::ranges::count(recording.candidates(), origin, &RecordedCandidate::origin);
      }
      for (const std::string& model :
           options.list("models", "xgboost;alone;prior;shuffled;random")) {
        const auto outcomes = play_all(task, recording, model, others, seeds, simulation);
        const auto add = [&](const std::string& what, std::vector<double> samples) {
          results.add(
              {.name = fmt::format("{}/{}/{}", name_of_workload, model, what),
               .unit = "",
               .higher_is_better = !what.starts_with("regret"),
               .samples = std::move(samples),
               .labels = {{"workload", name_of_workload}, {"model", model}, {"what", what}}});
        };
        for (const int trials : kTrials) {
          if (trials > simulation.trials) continue;
          add(fmt::format("regret after {}", trials), each(outcomes, [&](const Outcome& o) {
                return o.regret[std::min(o.regret.size(), static_cast<size_t>(trials)) - 1];
              }));
        }
        add("rank correlation", each(outcomes, [](const Outcome& o) { return o.rank; }));
        add("best found", each(outcomes, [](const Outcome& o) { return o.found_one; }));
        add("best 5 found", each(outcomes, [](const Outcome& o) { return o.found_five; }));
        facts["mistakes"][model] = mistakes(recording, mean_error(outcomes));
      }
      workloads.push_back(std::move(facts));
    }
  }
  if (workloads.empty()) {
    raise({.code = ErrorCode::NoRecord,
           .what = "no trial of such a workload",
           .where = log.path(),
           .legal = "a log that ./tw bench model --collect made"});
  }
  results.fact("workloads", workloads);
  results.fact("seeds", seeds);
  results.fact("look", kLookTrials);
}

}  // namespace tw::bench
