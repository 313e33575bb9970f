// SPDX-License-Identifier: Apache-2.0
#include "autotune/tuner.h"

#include <fmt/format.h>
#include <malloc.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <random>
#include <unordered_map>

#include "autotune/prior_schedule.h"
#include "autotune/standings.h"
#include "runtime/error.h"
#include "runtime/machine.h"
#include "runtime/thread_pool.h"
#include "runtime/version.h"

namespace tw::autotune {
namespace {

// Small budgets train often, so that the model has a say in most trials; larger batches keep the
// share of time that search and training take low.
constexpr int kLeastBatch = 8, kGreatestBatch = 16, kBatchesOfTask = 8;

int batch_size(const TunerOptions& options, size_t tasks) {
  if (options.batch > 0) return options.batch;
  const int share = options.trials / static_cast<int>(kBatchesOfTask * std::max<size_t>(1, tasks));
  return std::clamp(share, kLeastBatch, kGreatestBatch);
}

// Races take about a tenth of the time that trials take: after a batch there may be a challenger
// for the incumbent, each of the two timed for half a trial's time; at the end one in so many of a
// task's trials is a finalist, timed for a whole one.
constexpr int kRoundsOfChallenge = 4, kRoundsOfFinal = 8, kTrialsOfFinalist = 20;
// Challenges in a row, where the first shows that the challenger was lucky.
constexpr int kMostChallenges = 2;

constexpr double kNever = std::numeric_limits<double>::infinity();

// What searching and training freed goes back to the machine: the pieces differ from round to
// round, and a long run would collect their gaps.
void return_free_memory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Everything known of one task while it is tuned.
struct TaskState {
  const Task* task;
  size_t index;
  Space space;
  Search search;
  std::unique_ptr<CostModel> model;
  // Of each trace that was measured: what the model learns from (throughput filled in before
  // training), seconds (infinity for failures), and where the search knows it.
  std::vector<Sample> samples;
  std::vector<double> sample_seconds;
  std::vector<std::optional<Point>> sample_points;
  std::unordered_map<std::string, size_t> sample_of;
  Standings standings;
  TaskSummary summary;
  std::optional<std::string> prior_trace;  // once it was tried
  int trials_of_run = 0;
  bool exhausted = false;
  // Seconds by which the last batches shortened the best time; decides who gets the next batch.
  double recent_gain = kNever;

  TaskState(const Task& t, size_t i, const TunerOptions& o)
      : task(&t),
        index(i),
        space(t),
        search(t, space, o.search, o.seed + i),
        model(make_cost_model(o.model, o.seed + i)) {
    summary.name = t.name;
    summary.workload = t.workload;
  }

  double best() const { return summary.best_seconds > 0 ? summary.best_seconds : kNever; }

  void count(const Record& r) {
    standings.add(r);
    if (const Standings::Entry* best = standings.best()) {
      summary.best_seconds = best->seconds;
      summary.best_trace = best->trace;
    }
    if (r.origin == Origin::Prior) prior_trace = r.trace;
    if (r.ok() && r.trace == prior_trace) summary.untuned_seconds = r.median();
    if (r.origin == Origin::Confirm) return;
    ++summary.trials;
    if (!r.ok()) ++summary.failures[std::string(to_string(*r.error))];
  }

  bool best_is_confirmed() const {
    const Standings::Entry* best = standings.best();
    return best == nullptr || best->confirmed();
  }

  void learn(const std::string& trace, std::shared_ptr<const Features> features,
             std::optional<Point> point, double seconds) {
    sample_of[trace] = samples.size();
    samples.push_back({.features = std::move(features)});
    sample_seconds.push_back(seconds);
    if (point) search.observe(*point, seconds);
    sample_points.push_back(std::move(point));
  }

  // Another timing takes the place of the first.
  void learn_again(const std::string& trace, double seconds) {
    const auto known = sample_of.find(trace);
    if (known == sample_of.end()) return;
    sample_seconds[known->second] = seconds;
    if (const auto& point = sample_points[known->second]) search.observe(*point, seconds);
  }

  void train() {
    const auto fastest = std::ranges::min_element(sample_seconds);
    for (size_t i = 0; i < samples.size(); ++i) {
      samples[i].throughput = *fastest < kNever ? *fastest / sample_seconds[i] : 0;
    }
    model->train(samples);
  }
};

class Tuner {
 public:
  Tuner(const std::vector<Task>& tasks, Log& log, const TunerOptions& options,
        const std::function<void(const TunerEvent&)>& on_event, const std::atomic<bool>* stop)
      : options_(options), log_(log), on_event_(on_event), stop_(stop), measurer_(options.measure) {
    for (size_t i = 0; i < tasks.size(); ++i) {
      states_.push_back(std::make_unique<TaskState>(tasks[i], i, options));
    }
  }

  TunerReport run() {
    begin_log();
    for (auto& s : states_) {
      if (options_.resume) resume(*s);
      announce(*s, nullptr);
    }
    // Every task first gets the prior's schedule, then batches by expected gain.
    for (auto& s : states_) {
      if (!s->prior_trace && goes_on()) measure_prior(*s);
    }
    while (goes_on()) {
      TaskState* next = choose();
      if (next == nullptr) break;
      run_batch(*next);
    }
    for (auto& s : states_) {
      const auto most = static_cast<size_t>(s->trials_of_run / kTrialsOfFinalist);
      if (most > 0) race(*s, s->standings.finalists(most), kRoundsOfFinal);
      if (most > 0) challenge(*s);
    }
    TunerReport report{.timings = measurer_.timings(),
                       .seconds = clock_.seconds(),
                       .search_seconds = search_seconds_,
                       .train_seconds = train_seconds_,
                       .stopped = trials_ < options_.trials && stopped()};
    for (auto& s : states_) report.tasks.push_back(s->summary);
    return report;
  }

 private:
  bool stopped() const {
    return (stop_ != nullptr && stop_->load()) ||
           (options_.time_limit > 0 && clock_.seconds() >= options_.time_limit);
  }

  bool goes_on() const { return trials_ < options_.trials && !stopped(); }

  void begin_log() {
    utsname name{};
    uname(&name);
    char host_name[256] = "";
    gethostname(host_name, sizeof host_name - 1);
    std::random_device device;
    run_ = fmt::format("{:08x}{:08x}", device(), device());
    log_.begin_run({.id = run_,
                    .host = host_name,
                    .cpu = host().cpu_name,
                    .os = fmt::format("{} {}", name.sysname, name.release),
                    .version = std::string(version()),
                    .llvm_version = llvm_version(),
                    .seed = options_.seed,
                    .command = options_.command});
    for (auto& s : states_) log_.add_task(*s->task);
  }

  void announce(const TaskState& s, const Record* record) {
    if (!on_event_) return;
    on_event_({.task = s.index,
               .record = record,
               .trial = trials_,
               .trials = options_.trials,
               .summary = &s.summary});
  }

  // Trials of earlier runs count, teach the model and are not repeated.
  void resume(TaskState& s) {
    for (const Record& r : log_.records(s.task->workload, s.task->target_text, s.task->threads)) {
      s.count(r);
      if (r.origin != Origin::Confirm) ++trials_;
      if (stopped()) continue;  // whose features nobody will use
      if (r.origin == Origin::Confirm) {
        s.learn_again(r.trace, r.median());
        continue;
      }
      try {
        const Trace trace = parse_trace(r.trace);
        s.learn(r.trace, std::make_shared<Features>(extract_features(*s.task, trace)),
                s.space.find(trace), r.median());
      } catch (const UserError&) {
        // By a version with other primitives: still a trial, but teaches nothing.
      }
    }
    if (!s.samples.empty()) train(s);
  }

  void measure_prior(TaskState& s) {
    const Stopwatch search;
    Candidate prior{.trace = prior_schedule(*s.task), .origin = Origin::Prior};
    const auto point = s.space.find(prior.trace);
    Proposal p{.point = point.value_or(Point{}),
               .candidate = prior,
               .features = std::make_shared<Features>(extract_features(*s.task, prior.trace))};
    search_seconds_ += search.seconds();
    measure(s, {p});
  }

  TaskState* choose() {
    TaskState* best = nullptr;
    for (auto& s : states_) {
      if (s->exhausted) continue;
      if (best == nullptr || s->recent_gain > best->recent_gain ||
          (s->recent_gain == best->recent_gain && s->summary.trials < best->summary.trials)) {
        best = s.get();
      }
    }
    return best;
  }

  void run_batch(TaskState& s) {
    const int room = std::min(batch_size(options_, states_.size()), options_.trials - trials_);
    const double before = s.best();
    const Stopwatch search;
    const std::vector<Proposal> proposals = s.search.propose(room, *s.model);
    search_seconds_ += search.seconds();
    if (proposals.empty()) {
      s.exhausted = true;
      return;
    }
    measure(s, proposals);
    challenge(s);
    train(s);
    const double gain = before < kNever && s.best() < kNever ? before - s.best() : s.best();
    // A task that stood still gets its turn again, though later: gains fade, never to zero.
    const double faded = s.recent_gain < kNever ? 0.5 * s.recent_gain : 0;
    s.recent_gain = std::max({gain, faded, 0.01 * (s.best() < kNever ? s.best() : 1)});
  }

  void measure(TaskState& s, const std::vector<Proposal>& proposals) {
    std::vector<Candidate> batch;
    for (const Proposal& p : proposals) batch.push_back(p.candidate);
    ThreadPool::global().park();  // nobody but the candidates has the cores
    measurer_.measure(
        *s.task, batch, s.summary.best_seconds,
        [&](const Record& measured) {
          ++trials_;
          ++s.trials_of_run;
          const Record r = keep(s, measured);
          announce(s, &r);
          // Records arrive in any order; the trace says which proposal it was.
          const auto proposal =
              std::find_if(proposals.begin(), proposals.end(),
                           [&](const auto& p) { return to_text(p.candidate.trace) == r.trace; });
          if (proposal == proposals.end()) return;
          s.learn(r.trace, proposal->features, proposal->point, r.median());
        },
        [this] { return stopped(); });
  }

  void challenge(TaskState& s) {
    for (int k = 0; k < kMostChallenges; ++k) {
      race(s, s.standings.challenge(1), kRoundsOfChallenge);
      if (s.best_is_confirmed()) break;
    }
  }

  // Times traces again that have a record. These are no trials.
  void race(TaskState& s, const std::vector<Standings::Entry>& entries, int rounds) {
    std::vector<Candidate> batch;
    for (const Standings::Entry& entry : entries) {
      try {
        batch.push_back({.trace = parse_trace(entry.trace), .origin = Origin::Confirm});
      } catch (const UserError&) {
        // By a version with other primitives.
      }
    }
    if (batch.size() < 2 || stopped()) return;
    ThreadPool::global().park();
    measurer_.race(
        *s.task, batch, rounds,
        [&](const Record& measured) {
          const Record r = keep(s, measured);
          s.learn_again(r.trace, r.median());
        },
        [this] { return stopped(); });
    announce(s, nullptr);
  }

  Record keep(TaskState& s, Record r) {
    r.run = run_;
    r.seed = options_.seed;
    r.elapsed_seconds = clock_.seconds();
    r.id = log_.append(r);
    s.count(r);
    return r;
  }

  void train(TaskState& s) {
    const Stopwatch watch;
    s.train();
    return_free_memory();
    train_seconds_ += watch.seconds();
  }

  const TunerOptions& options_;
  Log& log_;
  const std::function<void(const TunerEvent&)>& on_event_;
  const std::atomic<bool>* stop_;
  Measurer measurer_;
  std::vector<std::unique_ptr<TaskState>> states_;
  Stopwatch clock_;
  std::string run_;
  int trials_ = 0;
  double search_seconds_ = 0, train_seconds_ = 0;
};

}  // namespace

TunerReport tune(const std::vector<Task>& tasks, Log& log, const TunerOptions& options,
                 const std::function<void(const TunerEvent&)>& on_event,
                 const std::atomic<bool>* stop) {
  if (options.trials < 1) {
    raise({.code = ErrorCode::BadTrials,
           .what = fmt::format("{} trials", options.trials),
           .legal = "one or more"});
  }
  for (const Task& task : tasks) {
    if (!task.target.features_missing_on_host().empty())
      raise_missing_features(task.target, "tuning");
  }
  return Tuner(tasks, log, options, on_event, stop).run();
}

}  // namespace tw::autotune
