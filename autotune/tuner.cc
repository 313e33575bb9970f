// SPDX-License-Identifier: Apache-2.0
#include "autotune/tuner.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <malloc.h>
#include <sys/utsname.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <random>

#include "autotune/machine_kind.h"
#include "autotune/peak.h"
#include "autotune/prior_schedule.h"
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

constexpr double kNever = std::numeric_limits<double>::infinity();

// Where several tasks share the trials, the machine's limit is looked for so long.
constexpr double kPeakSeconds = 0.02;

// Groups of numbers narrower than 32 bits are multiplied and added at once, faster than what
// measure_fma_peak measures.
bool computes_with_narrow_numbers(const te::Program& program) {
  return std::ranges::any_of(program.arguments,
                             [](const te::Tensor& t) { return t.dtype().element_bytes() < 4; });
}

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
  std::unique_ptr<SearchPolicy> policy;
  std::unique_ptr<CostModel> model;
  std::vector<Sample> samples;         // throughput filled in before training
  std::vector<double> sample_seconds;  // infinity for failures
  TaskSummary summary;
  bool prior_tried = false;
  TaskHistory history;

  TaskState(const Task& t, size_t i, const TunerOptions& o)
      : task(&t),
        index(i),
        space(t, o.rules),
        policy(o.policy({*task, space, o.search, o.seed + i, o.features.get()})),
        model(o.model({.task = task, .seed = o.seed + i})) {
    summary.name = t.name;
    summary.workload = t.workload;
    if (!o.task_weights.empty()) history.weight = o.task_weights[i];
  }

  double best() const { return summary.best_seconds > 0 ? summary.best_seconds : kNever; }

  void count(const Record& r) {
    ++summary.trials;
    prior_tried |= r.origin == Origin::Prior;
    if (!r.ok()) ++summary.failures[std::string(to_string(*r.error))];
    if (r.ok() && r.origin == Origin::Prior) summary.untuned_seconds = r.median();
    if (r.median() < best()) {
      summary.best_seconds = r.median();
      summary.best_trace = r.trace;
    }
    history.best.push_back(best());
  }

  void learn(std::shared_ptr<const Features> features, double seconds) {
    samples.push_back({.features = std::move(features)});
    sample_seconds.push_back(seconds);
  }

  void train() {
    const double fastest = best();
    for (size_t i = 0; i < samples.size(); ++i) {
      samples[i].throughput = fastest < kNever ? fastest / sample_seconds[i] : 0;
    }
    model->train(samples);
  }
};

class Tuner {
 public:
  Tuner(const std::vector<Task>& tasks, Log& log, const TunerOptions& options,
        const std::function<void(const TunerEvent&)>& on_event, const std::atomic<bool>* stop)
      : options_(options),
        log_(log),
        on_event_(on_event),
        stop_(stop),
        measurer_(options.measurer != nullptr ? options.measurer
                                              : std::make_shared<LocalMeasurer>(options.measure)) {
    for (size_t i = 0; i < tasks.size(); ++i) {
      states_.push_back(std::make_unique<TaskState>(tasks[i], i, options));
    }
  }

  TunerReport run() {
    begin_log();
    find_limits();
    for (auto& s : states_) {
      if (options_.resume) resume(*s);
      announce(*s, nullptr);
    }
    // Every task first gets the prior's schedule, then batches by expected gain.
    for (auto& s : states_) {
      if (!s->prior_tried && goes_on()) measure_prior(*s);
    }
    while (goes_on()) {
      const auto next = choose();
      if (!next) break;
      run_batch(*states_[*next]);
    }
    TunerReport report{.timings = measurer_->timings(),
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
    std::random_device device;
    run_ = fmt::format("{:08x}{:08x}", device(), device());
    log_.begin_run({.id = run_,
                    .host = host_name(),
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
      ++trials_;
      if (stopped()) continue;  // whose features nobody will use
      Trace trace;
      try {
        trace = parse_trace(r.trace);
        s.learn(std::make_shared<Features>(extract_features(*s.task, trace)), r.median());
      } catch (const UserError&) {
        continue;  // by a version with other primitives: still a trial, but teaches nothing
      }
      if (auto point = s.space.find(trace)) s.policy->observe(*point, r.median());
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

  // What the machine's arithmetic allows; a single task gets all trials whatever it says.
  void find_limits() {
    if (states_.size() < 2) return;
    std::map<std::string, double> peaks;  // tasks of a list mostly share target and threads
    for (auto& s : states_) {
      if (computes_with_narrow_numbers(s->task->program)) continue;
      double& peak = peaks[fmt::format("{} {}", s->task->target_text, s->task->threads)];
      if (peak == 0) {
        ThreadPool::global().park();
        peak = measure_fma_peak(s->task->target, s->task->threads, kPeakSeconds);
      }
      s->history.limit_seconds = s->task->operations / peak;
    }
  }

  std::optional<size_t> choose() const {
    std::vector<TaskHistory> histories;
    for (const auto& s : states_) histories.push_back(s->history);
    return next_task(histories, batch_size(options_, states_.size()), options_.task_policy);
  }

  void run_batch(TaskState& s) {
    const int room = std::min(batch_size(options_, states_.size()), options_.trials - trials_);
    const Stopwatch search;
    const std::vector<Proposal> proposals = s.policy->propose(room, *s.model);
    search_seconds_ += search.seconds();
    if (proposals.empty()) {
      s.history.exhausted = true;
      return;
    }
    measure(s, proposals);
    train(s);
  }

  void measure(TaskState& s, const std::vector<Proposal>& proposals) {
    std::vector<Candidate> batch;
    for (const Proposal& p : proposals) batch.push_back(p.candidate);
    ThreadPool::global().park();  // nobody but the candidates has the cores
    measurer_->measure(
        *s.task, batch, s.summary.best_seconds,
        [&](const Record& measured) {
          Record r = measured;
          r.run = run_;
          r.seed = options_.seed;
          if (r.host.empty()) r.host = host_name();
          if (r.kind.empty()) r.kind = machine_kind();
          r.elapsed_seconds = clock_.seconds();
          r.id = log_.append(r);
          ++trials_;
          s.count(r);
          announce(s, &r);
          // Records arrive in any order; the trace says which proposal it was.
          const auto proposal =
              std::find_if(proposals.begin(), proposals.end(),
                           [&](const auto& p) { return to_text(p.candidate.trace) == r.trace; });
          if (proposal == proposals.end()) return;
          s.learn(proposal->features, r.median());
          s.policy->observe(proposal->point, r.median());
        },
        [this] { return stopped(); });
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
  std::shared_ptr<Measurer> measurer_;
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
  const auto positive = [](double w) { return w > 0 && std::isfinite(w); };
  if (const auto& weights = options.task_weights;
      !weights.empty() &&
      (weights.size() != tasks.size() || !std::ranges::all_of(weights, positive))) {
    raise({.code = ErrorCode::BadArgument,
           .what = fmt::format("weights [{}] for {} tasks", fmt::join(weights, ", "), tasks.size()),
           .legal = "a positive number for each task, or none"});
  }
  for (const Task& task : tasks) {
    if (!task.target.features_missing_on_host().empty())
      raise_missing_features(task.target, "tuning");
  }
  return Tuner(tasks, log, options, on_event, stop).run();
}

}  // namespace tw::autotune
