// SPDX-License-Identifier: Apache-2.0
#include "autotune/measure/measure.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <map>
#include <utility>

#include "autotune/measure/measure_pool.h"
#include "autotune/measure/measure_race.h"
#include "autotune/measure/reference_cache.h"
#include "autotune/task/machine_kind.h"
#include "runtime/error.h"
#include "runtime/machine.h"
#include "runtime/time_evaluator.h"

namespace tw::autotune {
namespace {

using nlohmann::json;
using Kind = WorkerEvent::Kind;

// Seconds that an unscheduled program, and the bound of its errors, may take.
constexpr double kReferenceTimeout = 600;
// Workers that may be lost, by no fault of a candidate's, before it counts as lost.
constexpr int kMostLosses = 2;
// Reference results kept at a time; each takes two descriptors, of which a process may have 1,024.
constexpr size_t kMostReferences = 64;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

ErrorCode parse_error(const json& reply) {
  static constexpr ErrorCode kClasses[] = {ErrorCode::CompileFailed, ErrorCode::RunCrashed,
                                           ErrorCode::WrongResult,   ErrorCode::OutOfMemory,
                                           ErrorCode::WorkerLost,    ErrorCode::DiskFull};
  const std::string text = reply.value("error", "");
  for (ErrorCode code : kClasses) {
    if (to_string(code) == text) return code;
  }
  return ErrorCode::WorkerLost;
}

// Signals that a program brings upon itself.
bool own_fault(int signal) {
  return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL ||
         signal == SIGABRT || signal == SIGTRAP || signal == SIGSYS;
}

struct Failure {
  ErrorCode code;
  std::string message;
};
Failure classify(const WorkerEvent& event, bool running, const MeasureOptions& options) {
  if (event.kind == Kind::TimedOut) {
    return running ? Failure{ErrorCode::RunTimeout,
                             fmt::format("ran for more than {} s", options.run_timeout)}
                   : Failure{ErrorCode::CompileTimeout,
                             fmt::format("compiled for more than {} s", options.compile_timeout)};
  }
  const ProcessEnd& end = event.end;
  // The compiler has no other way to say so.
  if (end.said.find("out of memory") != std::string::npos) {
    return {ErrorCode::OutOfMemory, end.text()};
  }
  if (own_fault(end.signal)) {
    return {running ? ErrorCode::RunCrashed : ErrorCode::CompileFailed,
            (running ? "the kernel was " : "the compiler was ") + end.text()};
  }
  if (end.signal == 0 && running) {
    return {ErrorCode::RunCrashed, "the worker " + end.text() + " while the kernel ran"};
  }
  return {ErrorCode::WorkerLost, fmt::format("its worker was lost: {}", end.text())};
}

// The fastest candidate of a task so far.
struct Fastest {
  double median = 0;  // seconds; 0: none
  double bound = 0;   // where its interval ends: who is above it is behind

  void take(const std::vector<double>& seconds) {
    const TimeResult times = summarize(seconds);
    if (median > 0 && times.median >= median) return;
    median = times.median;
    bound = times.interval_high;
  }
};

}  // namespace

struct LocalMeasurer::State {
  MeasureOptions options;
  WorkerPool pool;
  MeasureTimings timings;
  ReferenceCache references;               // by workload, target
  std::map<std::string, Fastest> fastest;  // by workload, target, threads and caches
  int64_t candidates = 0;                  // ids of candidates, over all batches

  static size_t worker_count(const MeasureOptions& options) {
    return static_cast<size_t>(
        std::max(1, options.workers > 0 ? options.workers : host().usable_cpus));
  }
  explicit State(const MeasureOptions& given)
      : options(given),
        pool(worker_count(given), worker_program(given.worker_path), given.seed),
        references(given.reference_bytes, kMostReferences) {}

  const Reference* reference(const Task& task, const std::function<bool()>& stop);
};

// Both halves at once, on two workers where there are two. Null when stopped.
const Reference* LocalMeasurer::State::reference(const Task& task,
                                                 const std::function<bool()>& stop) {
  const std::string key = task.workload + " " + task.target_text;
  if (const Reference* found = references.find(key)) return found;
  const auto start = Clock::now();
  Reference made;
  const std::pair<const char*, const MemoryFile*> parts[] = {{"reference", &made.result},
                                                             {"tolerance", &made.tolerance}};
  std::vector<size_t> missing = {0, 1};
  size_t waiting = 0;
  int losses = 0;
  while (!made.error && (!missing.empty() || waiting > 0)) {
    if (stop && stop()) {
      pool.reset();
      return nullptr;
    }
    for (size_t k = 0; k < pool.size() && !missing.empty(); ++k) {
      if (pool.slot(k).busy) continue;
      const size_t part = missing.back();
      missing.pop_back();
      pool.ask(k, task, static_cast<int64_t>(part),
               {{"do", parts[part].first}, {"path", parts[part].second->path()}},
               kReferenceTimeout);
      ++waiting;
    }
    for (const WorkerEvent& event : pool.wait(kTick)) {
      if (event.request < 0) continue;
      --waiting;
      if (event.kind == Kind::Reply) {
        if (event.reply.value("ok", false)) continue;
        made.error = parse_error(event.reply);
        made.message = event.reply.value("message", "");
      } else {
        const Failure failure = classify(event, false, options);
        const bool lost = event.kind == Kind::Died && failure.code == ErrorCode::WorkerLost;
        if (lost && (!event.started || ++losses < kMostLosses)) {
          missing.push_back(static_cast<size_t>(event.request));
          continue;
        }
        made.error = failure.code;
        made.message = event.kind == Kind::TimedOut
                           ? fmt::format("took more than {} s", kReferenceTimeout)
                           : failure.message;
      }
      made.message = "the reference result cannot be made: " + made.message;
    }
  }
  pool.reset();
  timings.reference += seconds_since(start);
  return references.add(key, std::move(made));
}

namespace {

enum class Stage : uint8_t { Waiting, Compiling, Compiled, Done };

// One batch on its way through compile and timing phases.
struct Batch {
  const Task& task;
  const std::vector<Candidate>& candidates;
  const MeasureOptions& options;
  WorkerPool& pool;
  MeasureTimings& timings;
  const Reference* reference;
  int64_t first_id;
  Fastest& fastest;
  const std::function<void(const Record&)>& done;
  const std::function<bool()>& stop;

  std::vector<Record> records = {};
  std::vector<Stage> stages = {};
  std::vector<size_t> holders = {};  // the slot that compiled it
  std::vector<int> losses = {};

  bool stopped() const { return stop && stop(); }
  int64_t id(size_t c) const { return first_id + static_cast<int64_t>(c); }
  size_t index(int64_t id) const { return static_cast<size_t>(id - first_id); }
  bool any(Stage stage) const { return std::ranges::find(stages, stage) != stages.end(); }

  void begin() {
    stages.assign(candidates.size(), Stage::Waiting);
    holders.assign(candidates.size(), 0);
    losses.assign(candidates.size(), 0);
    for (const Candidate& candidate : candidates) {
      Record& record = records.emplace_back();
      describe(record, task, candidate);
      record.seed = options.seed;
    }
  }

  void finish(size_t c) {
    stages[c] = Stage::Done;
    if (done) done(records[c]);
  }
  void fail(size_t c, ErrorCode code, std::string message) {
    records[c].error = code;
    records[c].message = std::move(message);
    finish(c);
  }

  // A worker is gone. What it held must be compiled again, by others. Whether a candidate did it:
  // the one that it was working on, or, when it had not begun with that, the one before, unless
  // such a thing happens once only.
  void lost(const WorkerEvent& event, bool running) {
    for (size_t c = 0; c < stages.size(); ++c) {
      const bool here = stages[c] == Stage::Compiled && holders[c] == event.slot;
      if (here || (event.request >= 0 && c == index(event.request))) stages[c] = Stage::Waiting;
    }
    const bool named = event.started || event.kind == Kind::TimedOut;
    const int64_t culprit = named ? event.request : event.last;
    if (culprit < first_id) return;
    const size_t c = index(culprit);
    if (stages[c] == Stage::Done) return;
    Failure failure = classify(event, running, options);
    if (!named) failure.code = ErrorCode::WorkerLost;
    if (failure.code == ErrorCode::WorkerLost && ++losses[c] < kMostLosses) return;
    fail(c, failure.code, failure.message);
  }

  void compile_phase() {
    const auto start = Clock::now();
    pool.recycle(options.recycle_after);
    while (!stopped() && (any(Stage::Waiting) || any(Stage::Compiling))) {
      for (size_t k = 0; k < pool.size(); ++k) {
        if (pool.slot(k).busy) continue;
        const auto next = std::ranges::find(stages, Stage::Waiting);
        if (next == stages.end()) break;
        const auto c = static_cast<size_t>(next - stages.begin());
        stages[c] = Stage::Compiling;
        pool.ask(k, task, id(c), {{"do", "compile"}, {"id", id(c)}, {"trace", records[c].trace}},
                 options.compile_timeout);
      }
      for (const WorkerEvent& event : pool.wait(kTick)) compile_event(event);
    }
    timings.compile_wall += seconds_since(start);
  }

  void compile_event(const WorkerEvent& event) {
    if (event.kind != Kind::Reply) return lost(event, false);
    const size_t c = index(event.request);
    Slot& slot = pool.slot(event.slot);
    ++slot.handled;
    if (!event.reply.value("ok", false)) {
      return fail(c, parse_error(event.reply), event.reply.value("message", ""));
    }
    ++slot.held;
    holders[c] = event.slot;
    stages[c] = Stage::Compiled;
    records[c].compile_seconds = event.reply.value("seconds", 0.0);
    records[c].ir_hash = event.reply.value("ir_hash", "");
    timings.compile_cpu += records[c].compile_seconds;
  }

  // One candidate after the other; nobody else computes meanwhile.
  void run_phase() {
    const auto start = Clock::now();
    for (size_t c = 0; c < stages.size() && !stopped(); ++c) {
      if (stages[c] == Stage::Compiled) run(c);
    }
    timings.run += seconds_since(start);
  }

  void run(size_t c) {
    json request = {{"do", "run"},
                    {"id", id(c)},
                    {"budget", options.run_budget},
                    {"relative_interval", options.relative_interval},
                    {"min_repeats", options.min_repeats},
                    {"longest", options.run_timeout},
                    {"bound", fastest.bound},
                    {"behind_error", options.behind_error}};
    if (reference != nullptr) {
      request["reference"] = reference->result.path();
      request["tolerance"] = reference->tolerance.path();
    }
    const size_t slot = holders[c];
    pool.ask(slot, task, id(c), request, options.run_timeout);
    while (stages[c] == Stage::Compiled && !stopped()) {
      for (const WorkerEvent& event : pool.wait(kTick)) {
        if (event.kind == Kind::Reply) {
          run_event(c, event);
        } else {
          lost(event, event.request >= 0);
        }
      }
    }
  }

  void run_event(size_t c, const WorkerEvent& event) {
    --pool.slot(event.slot).held;
    if (!event.reply.value("ok", false)) {
      return fail(c, parse_error(event.reply), event.reply.value("message", ""));
    }
    records[c].seconds = event.reply.at("seconds").get<std::vector<double>>();
    fastest.take(records[c].seconds);
    finish(c);
  }
};

}  // namespace

Measurer::~Measurer() = default;
std::string Measurer::kind() const { return machine_kind(); }

LocalMeasurer::LocalMeasurer(const MeasureOptions& options)
    : state_(std::make_unique<State>(options)) {}
LocalMeasurer::~LocalMeasurer() = default;

std::vector<Record> LocalMeasurer::measure(const Task& task, const std::vector<Candidate>& batch,
                                           double best_seconds,
                                           const std::function<void(const Record&)>& done,
                                           const std::function<bool()>& stop) {
  State& s = *state_;
  const Reference* reference = nullptr;
  if (s.options.verify && !batch.empty()) {
    reference = s.reference(task, stop);
    if (reference == nullptr) return {};
  }
  Fastest& fastest = s.fastest[fmt::format("{} {} {} {}", task.workload, task.target_text,
                                           task.threads, to_string(task.caches))];
  // Of what an earlier measurer found, nothing but the median is known.
  if (fastest.median != best_seconds) fastest = {best_seconds, best_seconds};
  Batch work = {task,      batch,        s.options, s.pool, s.timings,
                reference, s.candidates, fastest,   done,   stop};
  s.candidates += static_cast<int64_t>(batch.size());
  work.begin();
  // Whatever `done` throws, no reply of this batch must be taken for one of the next.
  struct Reset {
    WorkerPool& pool;
    ~Reset() { pool.reset(); }
  } reset{s.pool};
  if (reference != nullptr && reference->error) {
    for (size_t c = 0; c < batch.size() && !work.stopped(); ++c) {
      work.fail(c, *reference->error, reference->message);
    }
  }
  while (!work.stopped() && (work.any(Stage::Waiting) || work.any(Stage::Compiled))) {
    work.compile_phase();
    work.run_phase();
  }
  std::vector<Record> records;
  for (size_t c = 0; c < batch.size(); ++c) {
    if (work.stages[c] == Stage::Done) records.push_back(std::move(work.records[c]));
  }
  return records;
}

RaceOutcome Measurer::race(const Task&, const std::vector<std::string>&, double,
                           const std::function<bool()>&) {
  return {};
}

RaceOutcome LocalMeasurer::race(const Task& task, const std::vector<std::string>& traces,
                                double seconds, const std::function<bool()>& stop) {
  const auto start = Clock::now();
  RaceOutcome outcome =
      run_race(state_->pool, task, traces, seconds, state_->options, state_->candidates, stop);
  state_->timings.race += seconds_since(start);
  return outcome;
}

const MeasureTimings& LocalMeasurer::timings() const { return state_->timings; }

int64_t LocalMeasurer::worker_memory() const { return state_->pool.resident_bytes(); }

}  // namespace tw::autotune
