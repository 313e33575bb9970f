// SPDX-License-Identifier: Apache-2.0
// How fast the search thinks: feature vectors a second, and proposals a second before and after the
// model is trained. One thread.
#include <fmt/format.h>

#include <chrono>
#include <random>

#include "autotune/learn/cost_models.h"
#include "autotune/search/search.h"
#include "autotune/space/space.h"
#include "autotune/task/workloads.h"
#include "bench/sections.h"
#include "runtime/error.h"

namespace tw::bench {
namespace {

double seconds_of(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Measurement rate(const std::string& name) {
  return {.name = name, .unit = "1/s", .higher_is_better = true};
}

}  // namespace

void measure_search(const Options& options, Results& results) {
  const autotune::Workload workload = autotune::parse_workload(
      options.text("workload", "conv2d_bias_relu:n=1,ci=64,h=56,w=56,co=64,k=3,s=1,p=1"));
  const autotune::Task task = autotune::make_task(workload.program, options.target(),
                                                  options.count("threads", 1), workload.label);
  const int repetitions = options.flag("quick") ? 5 : 15;
  results.fact("workload", workload.text);

  const autotune::Space space(task);
  double bits = 0;
  for (const autotune::Sketch& sketch : space.sketches()) bits = std::max(bits, sketch.log_size());
  results.fact("sketches", space.sketches().size());
  results.fact("log2_points", bits);

  std::mt19937_64 rng(1);
  Measurement features = rate("features");
  for (int i = 0; i < repetitions; ++i) {
    constexpr int kCount = 100;
    std::vector<Trace> traces;
    while (traces.size() < kCount) traces.push_back(space.trace(space.random(rng)));
    features.samples.push_back(kCount / seconds_of([&] {
                                 for (const Trace& trace : traces) {
                                   try {
                                     autotune::extract_features(task, trace);
                                   } catch (
                                       const UserError&) {  // not legal: costs time all the same
                                   }
                                 }
                               }));
  }
  results.add(std::move(features));

  Measurement prior = rate("proposals/prior"), trained = rate("proposals/xgboost");
  Measurement training = {.name = "training/xgboost", .labels = {{"samples", 128}}};
  for (int i = 0; i < repetitions; ++i) {
    constexpr int kBatch = 16;
    autotune::Search search(task, space, {}, i);
    const auto model = autotune::cost_model("xgboost")({.seed = static_cast<uint64_t>(i)});
    std::vector<autotune::Sample> samples;
    std::vector<autotune::Proposal> proposals;
    prior.samples.push_back(kBatch /
                            seconds_of([&] { proposals = search.propose(kBatch, *model); }));
    // The prior stands in for measurements.
    while (samples.size() < 128 && !proposals.empty()) {
      for (autotune::Proposal& p : proposals) {
        search.observe(p.point, p.features->prior_seconds);
        samples.push_back({.features = p.features, .throughput = 1 / p.features->prior_seconds});
      }
      if (samples.size() < 128) proposals = search.propose(kBatch, *model);
    }
    double best = 0;
    for (const autotune::Sample& s : samples) best = std::max(best, s.throughput);
    for (autotune::Sample& s : samples) s.throughput /= best;
    training.samples.push_back(seconds_of([&] { model->train(samples); }));
    trained.samples.push_back(kBatch / seconds_of([&] { search.propose(kBatch, *model); }));
  }
  results.add(std::move(prior));
  results.add(std::move(trained));
  results.add(std::move(training));
}

}  // namespace tw::bench
