// SPDX-License-Identifier: Apache-2.0
#include "autotune/tuner.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <malloc.h>
#include <sys/utsname.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <utility>

#include "autotune/measure/async_measurer.h"
#include "autotune/measure/confirm.h"
#include "autotune/measure/peak.h"
#include "autotune/search/prior_schedule.h"
#include "autotune/task/machine_kind.h"
#include "runtime/error.h"
#include "runtime/machine.h"
#include "runtime/thread_pool.h"
#include "runtime/version.h"

namespace tw::autotune {
namespace {

// Small budgets train often, so that the model has a say in most trials; larger batches keep the
// share of time that search and training take low.
constexpr int kLeastBatch = 8, kGreatestBatch = 24, kBatchesOfTask = 8;

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

// The prior's schedule is none of a space that is made by other rules.
bool is_point(const Space& space, const Point& p) {
  return p.choice.size() == space.sketches()[p.sketch].knobs.size();
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
  TaskSummary summary;
  std::unique_ptr<SearchPolicy> policy;
  std::unique_ptr<CostModel> model;
  std::vector<Sample> samples;         // throughput filled in before training
  std::vector<double> sample_seconds;  // infinity for failures
  bool prior_tried = false;
  int untrained = 0;  // samples since the model was trained, where candidates are proposed ahead
  TaskHistory history;

  TaskState(const Task& t, size_t i, const TunerOptions& o,
            const std::function<Transfer(const Task&)>& transfer,
            const std::function<Budget()>& budget)
      : task(&t),
        index(i),
        space(t, o.rules),
        policy(o.policy({*task, space, o.search, o.seed + i, o.features.get(), budget})),
        model(o.model({.task = task, .seed = o.seed + i, .experience = [&] {
                         const Transfer found = transfer(*task);
                         summary.transfer = found.source;
                         return found.experience;
                       }})) {
    summary.name = t.name;
    summary.workload = t.workload;
    if (!o.task_weights.empty()) history.weight = o.task_weights[i];
  }

  double best() const { return summary.best_seconds > 0 ? summary.best_seconds : kNever; }

  // `comparable`: measured on a machine of the kind that this run is about.
  void count(const Record& r, bool comparable = true) {
    ++summary.trials;
    prior_tried |= r.origin == Origin::Prior;
    if (!r.ok()) ++summary.failures[std::string(to_string(*r.error))];
    if (!comparable) {
      history.best.push_back(best());
      return;
    }
    if (r.ok() && r.origin == Origin::Prior) summary.untuned_seconds = r.median();
    if (r.median() < best()) {
      summary.best_seconds = r.median();
      summary.best_trace = r.trace;
    }
    history.best.push_back(best());
  }

  void learn(std::shared_ptr<const Features> features, const Record& r) {
    samples.push_back({.features = std::move(features), .spread = r.spread()});
    sample_seconds.push_back(r.median());
  }

  std::shared_ptr<Features> features_of(const Trace& trace, const FeatureSet* own) const {
    auto features = std::make_shared<Features>(extract_features(*task, trace));
    if (own != nullptr) features->own = own->extract(*task, trace);
    return features;
  }

  void train() {
    untrained = 0;
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
    const auto transfer = [&](const Task& task) { return transfer_to(task, tasks); };
    const auto budget = [this] { return this->budget(); };
    for (size_t i = 0; i < tasks.size(); ++i) {
      states_.push_back(std::make_unique<TaskState>(tasks[i], i, options, transfer, budget));
    }
  }

  TunerReport run() {
    begin_log();
    kind_ = measurer_->kind();
    find_limits();
    for (auto& s : states_) {
      if (options_.resume) resume(*s);
      announce(*s, nullptr);
    }
    if (AsyncMeasurer* m = measurer_->asynchronous(); m != nullptr) {
      run_ahead(*m);
    } else {
      run_batches();
    }
    for (auto& s : states_) {
      if (!stopped()) confirm(*s);
    }
    TunerReport report{.timings = measurer_->timings(),
                       .seconds = clock_.seconds(),
                       .search_seconds = search_seconds_,
                       .train_seconds = train_seconds_,
                       .stopped = trials_ < options_.trials && stopped(),
                       .notes = {notes_.begin(), notes_.end()}};
    for (auto& s : states_) report.tasks.push_back(s->summary);
    return report;
  }

 private:
  bool stopped() const {
    return (stop_ != nullptr && stop_->load()) ||
           (options_.time_limit > 0 && clock_.seconds() >= options_.time_limit);
  }

  Budget budget() const {
    const double trials = double(trials_) / options_.trials;
    const double time = options_.time_limit > 0 ? clock_.seconds() / options_.time_limit : 0;
    return {.trials_left = std::max(0, options_.trials - trials_),
            .spent = std::min(1.0, std::max(trials, time))};
  }

  // Tasks that are measured in the same way learn from the same others, which are read once.
  const Transfer& transfer_to(const Task& task, const std::vector<Task>& tuned) {
    const auto [at, is_new] = transfers_.try_emplace(
        fmt::format("{} {} {}", task.target_text, task.threads, to_string(task.caches)));
    if (is_new) {
      at->second =
          find_transfer(options_.transfer, log_, task, tuned, measurer_->kind(), options_.seed);
      if (!at->second.refusal.empty()) notes_.insert(at->second.refusal);
    }
    return at->second;
  }

  bool goes_on() const { return trials_ < options_.trials && !stopped(); }

  // Every task first gets the prior's schedule, then batches by expected gain.
  void run_batches() {
    for (auto& s : states_) {
      if (!s->prior_tried && goes_on()) measure(*s, {prior_proposal(*s)});
    }
    while (goes_on()) {
      const auto next = choose();
      if (!next) break;
      run_batch(*states_[*next]);
    }
  }

  // A proposal that is being measured.
  struct Flight {
    TaskState* task;
    Proposal proposal;
  };

  // The same where the measurer takes candidates while others are under way. They are proposed a
  // batch at a time, which costs hardly more than one, and wait in `stock_`.
  void run_ahead(AsyncMeasurer& measurer) {
    for (auto& s : states_) {
      if (!s->prior_tried) stock_.push_back({s.get(), prior_proposal(*s)});
    }
    try {
      while (!stopped()) {
        launch(measurer);
        if (flights_.empty()) break;
        collect(measurer, kTick);
        while (!answers_.empty()) land(measurer);
        for (auto& s : states_) {
          if (s->untrained >= batch_size(options_, states_.size())) train(*s);
        }
      }
    } catch (...) {
      on_error(measurer);
      throw;
    }
    give_up(measurer);
  }

  void collect(AsyncMeasurer& measurer, double seconds) {
    std::ranges::move(measurer.wait(seconds), std::back_inserter(answers_));
  }

  void launch(AsyncMeasurer& measurer) {
    const auto most = std::min<int64_t>(measurer.capacity(), options_.trials - trials_);
    while (std::cmp_less(flights_.size(), most) && !stopped()) {
      if (stock_.empty()) restock();
      if (stock_.empty()) return;
      const int64_t ticket = next_ticket_++;
      Flight& flight = flights_[ticket] = std::move(stock_.front());
      stock_.pop_front();
      measurer.submit(ticket, *flight.task->task, flight.proposal.candidate,
                      flight.task->summary.best_seconds);
    }
  }

  // Another batch of the task that should gain most, taking it that what is under way brings
  // nothing.
  void restock() {
    while (const auto next = choose()) {
      TaskState& s = *states_[*next];
      for (Proposal& p : propose(s, batch_size(options_, states_.size()))) {
        stock_.push_back({&s, std::move(p)});
      }
      if (!stock_.empty()) return;
    }
  }

  // Takes the first of the answers.
  void land(AsyncMeasurer& measurer, bool to_learn = true) {
    const AsyncMeasurer::Answer answer = std::move(answers_.front());
    answers_.pop_front();
    const auto found = flights_.find(answer.ticket);
    if (found == flights_.end()) return;
    const Flight flight = std::move(found->second);
    flights_.erase(found);
    TaskState& s = *flight.task;
    const Record r = keep(s, measurer.complete(*s.task, flight.proposal.candidate, answer.record));
    if (!to_learn) return;
    ++s.untrained;
    learn(s, r, flight.proposal);
  }

  // What is known already is kept, even if nothing is to be learnt from it any more.
  void give_up(AsyncMeasurer& measurer) {
    if (!flights_.empty()) collect(measurer, 0);
    while (!answers_.empty()) land(measurer, false);
    if (!flights_.empty()) measurer.cancel();
    flights_.clear();
  }

  // The same after an error, which nothing that goes wrong here may hide.
  void on_error(AsyncMeasurer& measurer) noexcept {
    watched_ = false;
    for (int attempt = 0; attempt < 2; ++attempt) {
      try {
        give_up(measurer);
        return;
      } catch (...) {
        continue;  // the measurer itself is what failed, or the log
      }
    }
  }

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
    if (!on_event_ || !watched_) return;
    on_event_({.task = s.index,
               .record = record,
               .trial = trials_,
               .trials = options_.trials,
               .summary = &s.summary});
  }

  // Trials of earlier runs count, teach the model and are not repeated.
  void resume(TaskState& s) {
    for (const Record& r : log_.records(s.task->workload, s.task->target_text, s.task->threads)) {
      if (!same_kind(r.kind, kind_)) continue;  // by a machine that this one is not compared with
      if (r.caches != s.task->caches) continue;
      s.count(r);
      ++trials_;
      if (stopped()) continue;  // whose features nobody will use
      Trace trace;
      try {
        trace = parse_trace(r.trace);
        s.learn(s.features_of(trace, options_.features.get()), r);
      } catch (const UserError&) {
        continue;  // by a version with other primitives: still a trial, but teaches nothing
      }
      if (auto point = s.space.find(trace)) s.policy->observe(*point, r.median());
    }
    if (!s.samples.empty()) train(s);
  }

  Proposal prior_proposal(TaskState& s) {
    const Stopwatch search;
    s.prior_tried = true;
    Candidate prior{.trace = prior_schedule(*s.task), .origin = Origin::Prior};
    const auto point = s.space.find(prior.trace);
    Proposal p{.point = point.value_or(Point{}),
               .candidate = prior,
               .features = s.features_of(prior.trace, options_.features.get())};
    search_seconds_ += search.seconds();
    return p;
  }

  // What the machine's arithmetic allows; a single task gets all trials whatever it says.
  void find_limits() {
    if (states_.size() < 2 || options_.measurer != nullptr) return;
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
    for (const auto& [ticket, flight] : flights_) {
      histories[flight.task->index].best.push_back(flight.task->best());
    }
    return next_task(histories, batch_size(options_, states_.size()), options_.task_policy);
  }

  void run_batch(TaskState& s) {
    const int room = std::min(batch_size(options_, states_.size()), options_.trials - trials_);
    const std::vector<Proposal> proposals = propose(s, room);
    if (proposals.empty()) return;
    measure(s, proposals);
    train(s);
  }

  // Nothing where the task is exhausted.
  std::vector<Proposal> propose(TaskState& s, int count) {
    const Stopwatch search;
    std::vector<Proposal> proposals = s.policy->propose(count, *s.model);
    search_seconds_ += search.seconds();
    s.history.exhausted = proposals.empty();
    return proposals;
  }

  // In the log and counted; the record as the log has it.
  Record keep(TaskState& s, Record r) {
    r.run = run_;
    r.seed = options_.seed;
    if (r.host.empty()) r.host = host_name();
    if (r.kind.empty()) r.kind = measurer_->kind();
    if (kind_.empty()) kind_ = r.kind;
    r.elapsed_seconds = clock_.seconds();
    r.id = log_.append(r);
    ++trials_;
    s.count(r, same_kind(r.kind, kind_));
    announce(s, &r);
    return r;
  }

  void learn(TaskState& s, const Record& r, const Proposal& proposal) {
    if (!same_kind(r.kind, kind_)) return;
    s.learn(proposal.features, r);
    if (is_point(s.space, proposal.point)) s.policy->observe(proposal.point, r.median());
  }

  void measure(TaskState& s, const std::vector<Proposal>& proposals) {
    std::vector<Candidate> batch;
    for (const Proposal& p : proposals) batch.push_back(p.candidate);
    ThreadPool::global().park();  // nobody but the candidates has the cores
    measurer_->measure(
        *s.task, batch, s.summary.best_seconds,
        [&](const Record& measured) {
          const Record r = keep(s, measured);
          // Records arrive in any order; the trace says which proposal it was.
          const auto proposal =
              std::find_if(proposals.begin(), proposals.end(),
                           [&](const auto& p) { return to_text(p.candidate.trace) == r.trace; });
          if (proposal != proposals.end()) learn(s, r, *proposal);
        },
        [this] { return stopped(); });
  }

  // What the summary says is what a race of the best found, where there was one.
  void confirm(TaskState& s) {
    ThreadPool::global().park();
    const auto confirmed =
        confirm_best(*measurer_, *s.task, log_, run_, [this] { return stopped(); });
    if (!confirmed) return;
    s.summary.best_seconds = confirmed->seconds;
    s.summary.best_trace = confirmed->winner.trace;
    if (confirmed->prior_seconds) s.summary.untuned_seconds = *confirmed->prior_seconds;
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
  std::map<std::string, Transfer> transfers_;  // by target, threads and caches
  std::set<std::string> notes_;
  Stopwatch clock_;
  std::vector<std::unique_ptr<TaskState>> states_;
  std::string run_;
  std::string kind_;                   // of the machines that are compared; "": not known yet
  std::deque<Flight> stock_;           // proposed, not submitted yet
  std::map<int64_t, Flight> flights_;  // by ticket
  std::deque<AsyncMeasurer::Answer> answers_;  // not taken yet
  bool watched_ = true;                        // events are passed on
  int64_t next_ticket_ = 1;
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
    if (options.measurer == nullptr && !task.target.features_missing_on_host().empty())
      raise_missing_features(task.target, "tuning");
  }
  return Tuner(tasks, log, options, on_event, stop).run();
}

}  // namespace tw::autotune
