// SPDX-License-Identifier: Apache-2.0
// Records a workload's candidates for the study of the cost model: points drawn at random, and
// those that the search proposes while it learns from its own. A record is one visit: a candidate
// is timed briefly, several times, among others in an order drawn anew each time, so that a machine
// whose speed drifts is unfair to none. Those that are not far behind are compiled once more, some
// time later, for as many visits again.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <future>
#include <map>

#include "autotune/learn/cost_models.h"
#include "autotune/log/log.h"
#include "autotune/measure/reference.h"
#include "autotune/search/prior_schedule.h"
#include "autotune/search/search.h"
#include "autotune/task/machine_kind.h"
#include "bench/contestant.h"
#include "bench/kernels.h"
#include "bench/sections.h"
#include "runtime/error.h"
#include "runtime/machine.h"
#include "runtime/thread_pool.h"
#include "runtime/time_evaluator.h"
#include "runtime/version.h"

namespace tw::bench {
namespace {

using autotune::Candidate;
using autotune::Origin;
using autotune::Record;
using Clock = std::chrono::steady_clock;

constexpr size_t kVisitsOfCompile = 3;
constexpr size_t kBatch = 64;        // candidates that are compiled and then timed in turn
constexpr int kSearchBatch = 32;     // a third of which would teach as much, but train more often
constexpr double kFarBehind = 3;     // times the best: not visited again
constexpr double kTolerance = 1e-4;  // of the largest element, as between peers
constexpr int kMostDraws = 20'000;   // until a space counts as exhausted

// What is known of a candidate.
struct Known {
  Origin origin;
  std::vector<double> visits;  // median seconds of each; empty: it failed
  double median() const {
    if (visits.empty()) return INFINITY;
    std::vector<double> sorted = visits;
    std::ranges::sort(sorted);
    return sorted[sorted.size() / 2];
  }
};

class Collection {
 public:
  Collection(const std::string& workload, const Target& target, autotune::Log& log, uint64_t seed,
             double budget, Clock::time_point end)
      : rng_(static_cast<std::mt19937::result_type>(seed)),
        problem_(make_problem(workload, rng_)),
        task_(autotune::make_task(problem_.workload.program, target, 1, problem_.workload.text)),
        space_(task_),
        log_(log),
        seed_(seed),
        budget_(budget),
        end_(end) {
    log_.add_task(task_);
    for (const Record& r : log_.records(task_.workload, task_.target_text, 1)) {
      if (r.caches == task_.caches) add(r);
    }
  }

  void begin_run(const std::string& run) { run_ = run; }
  bool in_time() const { return Clock::now() < end_; }
  size_t count(Origin origin) const {
    return static_cast<size_t>(
        std::ranges::count_if(known_, [&](const auto& k) { return k.second.origin == origin; }));
  }
  size_t visits() const {
    size_t n = 0;
    for (const auto& [trace, k] : known_) n += k.visits.size();
    return n;
  }

  void add_prior() {
    if (count(Origin::Prior) > 0) return;
    measure({{.trace = autotune::prior_schedule(task_), .origin = Origin::Prior}});
  }

  // Until there are `wanted` of these, the space is exhausted or the time is over.
  void draw(size_t wanted) {
    std::mt19937_64 rng(seed_ + known_.size());
    int draws = 0;
    while (in_time() && count(Origin::Random) < wanted && draws < kMostDraws) {
      std::map<std::string, Candidate> batch;
      const size_t room = std::min(kBatch, wanted - count(Origin::Random));
      while (batch.size() < room && ++draws < kMostDraws) {
        Trace trace = space_.trace(space_.random(rng));
        const std::string text = to_text(trace);
        if (!known_.contains(text) && legal(trace)) {
          batch.emplace(text, Candidate{.trace = std::move(trace), .origin = Origin::Random});
        }
      }
      std::vector<Candidate> candidates;
      for (auto& [text, c] : batch) candidates.push_back(std::move(c));
      measure(candidates);
    }
  }

  void search(size_t wanted) {
    if (count(Origin::Search) >= wanted) return;
    autotune::Search search(task_, space_, {}, seed_ + count(Origin::Search));
    const auto model = autotune::cost_model("xgboost")({.task = &task_, .seed = seed_});
    std::vector<autotune::Sample> samples;
    std::vector<double> seconds;
    const auto learn = [&](const autotune::Point& point, const Trace& trace,
                           std::shared_ptr<const autotune::Features> features) {
      const double median = known_.at(to_text(trace)).median();
      search.observe(point, median);
      samples.push_back({.features = std::move(features)});
      seconds.push_back(median);
    };
    for (const auto& [text, k] : known_) {
      if (k.origin == Origin::Random) continue;  // the search is to find its own way
      const Trace trace = parse_trace(text);
      const auto point = space_.find(trace);
      if (!point) continue;
      learn(*point, trace,
            std::make_shared<autotune::Features>(
                autotune::extract_features(task_, space_.schedule(*point))));
    }
    while (in_time() && count(Origin::Search) < wanted) {
      train(*model, samples, seconds);
      const auto proposals = search.propose(kSearchBatch, *model);
      std::vector<Candidate> batch;
      for (const autotune::Proposal& p : proposals) {
        if (known_.contains(to_text(p.candidate.trace))) continue;  // one that was drawn
        batch.push_back(p.candidate);
        batch.back().origin = Origin::Search;
      }
      if (proposals.empty()) return;
      measure(batch);
      for (const autotune::Proposal& p : proposals) learn(p.point, p.candidate.trace, p.features);
    }
  }

  // Visits those that have fewer than `wanted` and may be among the best.
  void revisit(size_t wanted) {
    double best = INFINITY;
    for (const auto& [text, k] : known_) best = std::min(best, k.median());
    std::vector<Candidate> left;
    for (const auto& [text, k] : known_) {
      if (k.visits.size() >= wanted || !(k.median() <= kFarBehind * best)) continue;
      left.push_back({.trace = parse_trace(text), .origin = k.origin});
    }
    std::ranges::shuffle(left, rng_);
    for (size_t at = 0; at < left.size() && in_time(); at += kBatch) {
      const auto begin = left.begin() + static_cast<std::ptrdiff_t>(at);
      measure({begin, begin + static_cast<std::ptrdiff_t>(std::min(kBatch, left.size() - at))});
    }
  }

 private:
  struct Compiled {
    Record record;
    std::optional<BuiltKernel> kernel;
    double first = 0;  // seconds of its first call
  };

  static void train(autotune::CostModel& model, std::vector<autotune::Sample>& samples,
                    const std::vector<double>& seconds) {
    if (seconds.empty()) return;
    const double fastest = std::ranges::min(seconds);
    for (size_t i = 0; i < samples.size(); ++i) samples[i].throughput = fastest / seconds[i];
    model.train(samples);
  }

  bool legal(const Trace& trace) const {
    try {
      autotune::prior_seconds(task_, trace);
      return true;
    } catch (const UserError&) {
      return false;
    }
  }

  void add(const Record& r) {
    Known& k = known_.try_emplace(r.trace, Known{.origin = r.origin}).first->second;
    if (r.ok()) k.visits.push_back(r.median());
  }
  void keep(const Record& r) {
    log_.append(r);
    add(r);
  }

  std::vector<CallArgument> arguments() const {
    std::vector<CallArgument> result;
    for (size_t k = 0; k < problem_.inputs.size(); ++k) {
      if (!te::is_constant(task_.program.arguments[k])) result.emplace_back(problem_.inputs[k]);
    }
    result.emplace_back(problem_.output);
    return result;
  }

  Compiled compile(const Candidate& candidate) const {
    Compiled c;
    c.record = {.seed = seed_,
                .run = run_,
                .host = autotune::host_name(),
                .kind = autotune::machine_kind()};
    autotune::describe(c.record, task_, candidate);
    const auto start = Clock::now();
    try {
      c.kernel =
          build_kernel(task_.te_text, c.record.trace, task_.target, nullptr, problem_.inputs);
    } catch (const Error& e) {
      c.record.error = ErrorCode::CompileFailed;
      c.record.message = e.what();
    }
    c.record.compile_seconds = std::chrono::duration<double>(Clock::now() - start).count();
    return c;
  }

  bool right() const {
    double greatest = 0, apart = 0;
    for (int64_t i = 0; i < expected_.size(); ++i) {
      const double x = expected_.data_as<float>()[i], y = problem_.output.data_as<float>()[i];
      greatest = std::max(greatest, std::abs(x));
      apart = std::isnan(y) ? INFINITY : std::max(apart, std::abs(x - y));
    }
    return apart <= kTolerance * greatest;
  }

  // Compiles on all cores; then everything is still but the candidate that is timed.
  void measure(const std::vector<Candidate>& candidates) {
    if (!expected_.defined()) {
      build_kernel(task_.te_text, to_text(Trace{}), task_.target, nullptr, problem_.inputs)
          .function.call(arguments());
      expected_ = problem_.output.copy();
    }
    const auto cores = static_cast<size_t>(host().usable_cpus);
    std::vector<Compiled> batch(candidates.size());
    std::atomic<size_t> next = 0;
    std::vector<std::future<void>> threads;
    for (size_t t = 0; t < cores; ++t) {
      threads.push_back(std::async(std::launch::async, [&] {
        for (size_t k = next++; k < candidates.size(); k = next++) {
          batch[k] = compile(candidates[k]);
        }
      }));
    }
    for (auto& t : threads) t.get();
    ThreadPool::global().park();
    const std::vector<CallArgument> given = arguments();
    for (Compiled& c : batch) {
      if (!c.record.error) {
        autotune::fill_garbage(problem_.output);
        const auto start = Clock::now();
        c.kernel->function.call(given);
        c.first = std::chrono::duration<double>(Clock::now() - start).count();
        if (!right()) c.record.error = ErrorCode::WrongResult;
      }
      if (c.record.error) keep(c.record);
    }
    std::erase_if(batch, [](const Compiled& c) { return c.record.error.has_value(); });
    std::vector<size_t> order(batch.size());
    for (size_t k = 0; k < order.size(); ++k) order[k] = k;
    std::vector<Record> records;
    for (size_t visit = 0; visit < kVisitsOfCompile; ++visit) {
      std::ranges::shuffle(order, rng_);
      for (const size_t k : order) {
        Record r = batch[k].record;
        r.seconds = measure_until(batch[k].kernel->function, given,
                                  {.budget_seconds = budget_,
                                   .relative_interval = 0,
                                   .max_samples = 8,
                                   .min_sample_seconds = budget_ / 10,
                                   .warm_up = batch[k].first < budget_})
                        .seconds;
        records.push_back(std::move(r));
      }
    }
    for (const Record& r : records) keep(r);
  }

  std::mt19937 rng_;
  Problem problem_;
  autotune::Task task_;
  autotune::Space space_;
  autotune::Log& log_;
  uint64_t seed_;
  double budget_;
  Clock::time_point end_;
  std::string run_;
  NDArray expected_;
  std::map<std::string, Known> known_;  // by trace
};

}  // namespace

void collect_candidates(const Options& options, Results& results) {
  const auto end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(
                         std::chrono::duration<double>(options.number("time-limit", 1e9)));
  const auto seed = static_cast<uint64_t>(options.count("seed", 1));
  const auto random = static_cast<size_t>(options.count("random", 1000));
  const auto searched = static_cast<size_t>(options.count("search", 500));
  const auto visits = static_cast<size_t>(options.count("visits", 6));
  ThreadPool::global().set_num_threads(options.threads());
  autotune::Log log(options.text("log", "study.db"), autotune::Log::Mode::Write);
  std::random_device device;
  const std::string run = fmt::format("{:08x}{:08x}", device(), device());
  log.begin_run({.id = run,
                 .host = autotune::host_name(),
                 .cpu = host().cpu_name,
                 .version = std::string(version()),
                 .llvm_version = llvm_version(),
                 .seed = seed,
                 .command = "bench collect"});
  nlohmann::json counts = nlohmann::json::array();
  for (const std::string& workload : options.list("workload", "")) {
    if (Clock::now() >= end) break;
    Collection c(workload, options.target(), log, seed, options.number("run-budget", 0.003), end);
    c.begin_run(run);
    c.add_prior();
    c.draw(random);
    c.search(searched);
    c.revisit(visits);
    counts.push_back({{"workload", workload},
                      {"random", c.count(Origin::Random)},
                      {"search", c.count(Origin::Search)},
                      {"visits", c.visits()},
                      {"finished", c.in_time()}});
  }
  results.fact("counts", counts);
}

}  // namespace tw::bench
