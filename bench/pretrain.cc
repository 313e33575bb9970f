// SPDX-License-Identifier: Apache-2.0
// The model of other tasks that comes with the library, made from recorded candidates
// (collect.cc), and what such a model is worth: for each workload, made from all others, its first
// choice among the candidates recorded.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "autotune/learn/learning_labels.h"
#include "autotune/learn/transfer.h"
#include "autotune/study/simulation.h"
#include "bench/sections.h"
#include "runtime/error.h"

namespace tw::bench {
namespace {

using autotune::Experience;
using autotune::Lessons;
using autotune::Sample;

constexpr uint64_t kSeed = 1;
constexpr int kOfTask = 300;
constexpr size_t kAll = 1'000'000;
// Halves of the candidates, drawn anew each time: one choice alone says little.
constexpr int kDraws = 100;
constexpr size_t kFirst[] = {1, 8};

std::vector<Sample> but(const Lessons& lessons, int task) {
  std::vector<Sample> rest = lessons.samples;
  std::erase_if(rest, [&](const Sample& s) { return s.task == task; });
  return rest;
}

// The share of the best of what is there that the best of the first `count` by score reach, each
// of some halves.
std::vector<double> reached(const std::vector<Sample>& own, const std::vector<double>& score,
                            size_t count) {
  std::vector<double> shares;
  for (int draw = 0; draw < kDraws; ++draw) {
    std::mt19937_64 rng(static_cast<uint64_t>(draw));
    std::vector<size_t> half;
    double best = 0, found = 0;
    for (size_t i = 0; i < own.size(); ++i) {
      if (rng() % 2 == 0) continue;
      half.push_back(i);
      best = std::max(best, own[i].throughput);
    }
    std::ranges::stable_sort(half, std::greater{}, [&](size_t i) { return score[i]; });
    for (size_t k = 0; k < std::min(count, half.size()); ++k) {
      found = std::max(found, own[half[k]].throughput);
    }
    shares.push_back(found / best);
  }
  return shares;
}

void judge(const std::string& name, const std::vector<Sample>& own, const Experience& experience,
           Results& results) {
  std::vector<const autotune::Features*> rows;
  std::vector<double> prior, speed;
  for (const Sample& s : own) {
    rows.push_back(s.features.get());
    prior.push_back(autotune::prior_score(*s.features));
    speed.push_back(s.throughput);
  }
  std::vector<double> taught = experience.opinion(rows).score;
  for (size_t i = 0; i < taught.size(); ++i) taught[i] += prior[i];
  for (const auto& [model, score] : {std::pair("prior", &prior), {"pretrained", &taught}}) {
    const auto add = [&](const std::string& what, std::vector<double> samples) {
      results.add({.name = fmt::format("{}/{}/{}", name, model, what),
                   .unit = "",
                   .higher_is_better = true,
                   .samples = std::move(samples),
                   .labels = {{"workload", name}, {"model", model}, {"what", what}}});
    };
    for (const size_t count : kFirst) {
      add(fmt::format("first {}", count), reached(own, *score, count));
    }
    add("rank correlation", {autotune::rank_correlation(*score, speed)});
  }
}

}  // namespace

void pretrain_model(const Options& options, Results& results) {
  const autotune::Log log(options.text("log", "study.db"), autotune::Log::Mode::Read);
  const auto of_task = static_cast<size_t>(options.count("of-task", kOfTask));
  const autotune::LessonsOptions some{.most_of_task = of_task, .most = kAll, .seconds = INFINITY};
  const Lessons lessons = autotune::lessons_of(log, some);
  autotune::LessonsOptions every = some;
  every.most_of_task = kAll;
  const Lessons all = autotune::lessons_of(log, every);
  if (lessons.workloads.size() < 3) {
    raise({.code = ErrorCode::NoRecord,
           .what = fmt::format("{} workloads in the log", lessons.workloads.size()),
           .where = log.path(),
           .legal = "three or more, of 16 trials or more each"});
  }
  std::map<std::string, std::string> names;
  for (const auto& w : log.workloads()) names[w.id] = w.name;
  for (size_t task = 0; task < lessons.workloads.size(); ++task) {
    const auto number = static_cast<int>(task);
    const auto experience = Experience::learn(but(lessons, number), kSeed);
    std::vector<Sample> own;
    std::ranges::copy_if(all.samples, std::back_inserter(own),
                         [&](const Sample& s) { return s.task == number; });
    judge(names.at(lessons.workloads[task]), own, *experience, results);
  }
  const std::string bytes = Experience::learn(lessons.samples, kSeed)->save();
  if (const std::string output = options.text("output"); !output.empty()) {
    std::ofstream file(output, std::ios::binary);
    file << bytes;
    if (!file.flush()) {
      raise({.code = ErrorCode::BadArgument,
             .what = fmt::format("cannot write '{}'", output),
             .legal = "a file in a folder that is there"});
    }
  }
  results.fact("bytes", bytes.size());
  results.fact("samples", lessons.samples.size());
  results.fact("workloads", lessons.workloads.size());
}

}  // namespace tw::bench
