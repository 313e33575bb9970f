// SPDX-License-Identifier: Apache-2.0
// How trials are best spent over several tasks: rules replay recorded tuning runs. A rule asks for
// the next trials of a task and is given those of the task's recorded run, so that rules are
// compared on the same runs and without the noise of a machine.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "autotune/log/log.h"
#include "autotune/measure/peak.h"
#include "autotune/task/workloads.h"
#include "autotune/task_scheduler.h"
#include "bench/sections.h"
#include "runtime/error.h"

namespace tw::bench {
namespace {

using autotune::TaskHistory;
using autotune::TaskPolicy;
using Rule = std::function<std::optional<size_t>(const std::vector<TaskHistory>&, int batch)>;

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr int kTasksOfList = 10;
constexpr std::array kBudgets = {200, 500};
// How often a layer stands in a network: mostly once, in ResNet-50 up to six times.
constexpr std::array kWeights = {1, 1, 1, 2, 3, 4, 6};

// The task with the greatest `score(task, first trial of its last batch)`; fewer trials where
// equal.
template <class Score>
std::optional<size_t> greatest(const std::vector<TaskHistory>& tasks, const Score& score) {
  std::optional<size_t> best;
  double of_best = 0;
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (tasks[i].exhausted) continue;
    const double s = score(tasks[i]);
    const bool fewer = best && s == of_best && tasks[i].best.size() < tasks[*best].best.size();
    if (!best || s > of_best || fewer) std::tie(best, of_best) = std::pair(std::optional(i), s);
  }
  return best;
}

// Who gained the most seconds by its last batch, where earlier gains count by half for each batch
// since: what a rule of thumb would do, and what the tuner did before it had a model of gains.
std::optional<size_t> by_last_gain(const std::vector<TaskHistory>& tasks, int batch) {
  const auto step = static_cast<size_t>(batch);
  return greatest(tasks, [&](const TaskHistory& t) {
    double gain = kNever;
    for (size_t at = 0; at + 1 < t.best.size(); at += step) {
      const double now = t.best[std::min(at + step, t.best.size() - 1)];
      const double least = std::isfinite(now) ? 0.01 * now : 0.01;
      const double faded = std::isfinite(gain) ? gain / 2 : 0;
      gain = std::max({std::isfinite(t.best[at]) ? t.best[at] - now : now, faded, least});
    }
    return gain;
  });
}

// Zheng et al., "Ansor" (2020), section 6, with its constants and without similar tasks.
std::optional<size_t> by_gradient(const std::vector<TaskHistory>& tasks, int batch) {
  constexpr double kBackward = 0.2;
  const auto step = static_cast<size_t>(batch);
  return greatest(tasks, [&](const TaskHistory& t) {
    const size_t trials = t.best.size();
    if (trials < 2 || !std::isfinite(t.best.back())) return kNever;
    const size_t since = std::min(step, trials - 1);
    const double before = t.best[trials - 1 - since];
    const double backward =
        std::isfinite(before) ? (before - t.best.back()) / static_cast<double>(since) : 0;
    const double forward = t.best.back() / static_cast<double>(trials);
    return t.weight * (kBackward * backward + (1 - kBackward) * forward);
  });
}

struct NamedRule {
  const char* name;
  Rule next;
};
const NamedRule kRules[] = {
    {"expected gain",
     [](const auto& tasks, int batch) {
       return autotune::next_task(tasks, batch, TaskPolicy::ExpectedGain);
     }},
    {"turns", [](const auto& tasks,
                 int batch) { return autotune::next_task(tasks, batch, TaskPolicy::Turns); }},
    {"last gain", by_last_gain},
    {"gradient", by_gradient},
};

// Best times so far, after each trial of one recorded run.
struct Recorded {
  std::vector<std::vector<double>> runs;  // one a log
  double limit_seconds = 0;
};

struct Entry {
  const std::vector<double>* run;
  double limit_seconds;
  double weight;
};

std::vector<Entry> draw(const std::vector<Recorded>& tasks, bool equal_parts,
                        std::mt19937_64& rng) {
  std::vector<size_t> order(tasks.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), rng);
  order.resize(std::min<size_t>(order.size(), kTasksOfList));
  std::vector<Entry> list;
  for (const size_t i : order) {
    const Recorded& t = tasks[i];
    const std::vector<double>& run = t.runs[rng() % t.runs.size()];
    const double drawn = kWeights[rng() % kWeights.size()];
    list.push_back({&run, t.limit_seconds, equal_parts ? 1 / run.back() : drawn});
  }
  return list;
}

double summed(const std::vector<TaskHistory>& tasks) {
  double sum = 0;
  for (const TaskHistory& t : tasks) sum += t.weight * t.best.back();
  return sum;
}

// The weighted sum of best times after each budget.
std::array<double, kBudgets.size()> replay(const std::vector<Entry>& list, const Rule& rule,
                                           int batch) {
  std::vector<TaskHistory> tasks;
  for (const Entry& e : list) {
    tasks.push_back(
        {.weight = e.weight, .limit_seconds = e.limit_seconds, .best = {e.run->front()}});
  }
  std::array<double, kBudgets.size()> sums = {};
  auto spent = static_cast<int>(tasks.size());
  for (size_t b = 0; b < kBudgets.size(); ++b) {
    while (spent < kBudgets[b]) {
      const auto next = rule(tasks, batch);
      if (!next) break;
      TaskHistory& t = tasks[*next];
      const std::vector<double>& run = *list[*next].run;
      for (int k = 0; k < batch && spent < kBudgets[b] && !t.exhausted; ++k, ++spent) {
        t.best.push_back(run[t.best.size()]);
        t.exhausted = t.best.size() == run.size();
      }
    }
    sums[b] = summed(tasks);
  }
  return sums;
}

std::vector<double> best_so_far(const std::vector<autotune::Record>& records) {
  std::vector<double> best;
  for (const autotune::Record& r : records) {
    best.push_back(std::min(best.empty() ? kNever : best.back(), r.median()));
  }
  return best;
}

}  // namespace

void measure_tasks(const Options& options, Results& results) {
  const int threads = options.count("threads", 1), lists = options.count("lists", 40);
  const int batch = options.count("batch", 8);
  const double peak = autotune::measure_fma_peak(options.target(), threads);
  std::vector<Recorded> tasks;
  std::vector<double> powers;
  for (const std::string& text : options.list("workload", "")) {
    const autotune::Task task =
        autotune::make_task(autotune::parse_workload(text).program, options.target(), threads);
    Recorded& recorded = tasks.emplace_back();
    recorded.limit_seconds = task.operations / peak;
    for (const std::string& path : options.list("logs", "")) {
      const autotune::Log log(path, autotune::Log::Mode::Read);
      auto records = log.records(task.workload, task.target_text, threads);
      std::erase_if(records, [&](const autotune::Record& r) { return r.caches != task.caches; });
      auto run = best_so_far(records);
      if (run.empty() || !std::isfinite(run.back())) continue;
      powers.push_back(
          autotune::room_power({.limit_seconds = recorded.limit_seconds, .best = run}));
      recorded.runs.push_back(std::move(run));
    }
    if (recorded.runs.empty()) {
      raise({.code = ErrorCode::NoRecord,
             .what = fmt::format("no verified trial of {} in the logs", text),
             .legal = "logs in which every workload was tuned"});
    }
  }
  for (const bool equal_parts : {false, true}) {
    for (const NamedRule& rule : kRules) {
      std::array<std::vector<double>, kBudgets.size()> samples;
      for (int seed = 1; seed <= lists; ++seed) {
        std::mt19937_64 rng(static_cast<uint64_t>(seed));  // the same lists for every rule
        const auto sums = replay(draw(tasks, equal_parts, rng), rule.next, batch);
        for (size_t b = 0; b < sums.size(); ++b) samples[b].push_back(sums[b]);
      }
      const char* parts = equal_parts ? "equal parts" : "as long as they run";
      for (size_t b = 0; b < samples.size(); ++b) {
        results.add({.name = fmt::format("{}/{}/{}", parts, kBudgets[b], rule.name),
                     .samples = std::move(samples[b]),
                     .labels = {{"parts", parts}, {"trials", kBudgets[b]}, {"rule", rule.name}}});
      }
    }
  }
  results.fact("powers", powers);
  results.fact("tasks", tasks.size());
  results.fact("batch", batch);
}

}  // namespace tw::bench
