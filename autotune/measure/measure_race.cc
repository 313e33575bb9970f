// SPDX-License-Identifier: Apache-2.0
#include "autotune/measure/measure_race.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <random>

#include "autotune/measure/race.h"

namespace tw::autotune {
namespace {

using nlohmann::json;
using Kind = WorkerEvent::Kind;

// All contenders run in one process, so that they share inputs and outputs.
constexpr size_t kSlot = 0;
// A visit takes at least so many seconds, besides the call that warms it up.
constexpr double kVisitSeconds = 1e-3;
// Workers that may be lost with one contender before it is out.
constexpr int kMostLosses = 2;
// A kernel that runs for some microseconds differs by up to 10 % with where its code, its constants
// and its arrays lie. Rounds of those below kShortSeconds are of so many instances in turn, each
// compiled for itself and with arrays of its own place.
constexpr size_t kInstances = 3;
constexpr double kShortSeconds = 2e-4;

class WorkerRace {
 public:
  WorkerRace(WorkerPool& pool, const Task& task, const std::vector<std::string>& traces,
             double seconds, const MeasureOptions& options, int64_t& next_id,
             const std::function<bool()>& stop)
      : pool_(pool),
        task_(task),
        seconds_(seconds),
        options_(options),
        next_id_(next_id),
        stop_(stop),
        race_(traces.size(), {.error = options.race_error, .incumbent = 0}) {
    for (const std::string& trace : traces) entrants_.push_back({.trace = trace});
  }

  RaceOutcome run() {
    while (!stopped() && goes_on() && !race_.running().empty()) {
      // Whoever is lost or taken out changes who takes part in the round, which begins again.
      if (all_compiled()) round();
    }
    RaceOutcome outcome{.settled = race_.settled()};
    for (size_t k = 0; k < entrants_.size(); ++k) outcome.seconds.push_back(race_.seconds(k));
    if (!stopped()) outcome.winner = race_.leader();
    return outcome;
  }

 private:
  struct Entrant {
    std::string trace;
    std::array<std::optional<int64_t>, kInstances> ids = {};  // of what the worker holds
    int losses = 0;
  };

  bool stopped() const { return stop_ && stop_(); }
  // However busy the machine is, what only one instance ran decides nothing.
  bool goes_on() const {
    return has_time(race_.rounds(), visiting_, seconds_) || (short_ && race_.rounds() < kInstances);
  }
  // Of the next round.
  size_t instance() const { return short_ ? race_.rounds() % kInstances : 0; }

  bool all_compiled() {
    for (size_t k : race_.running()) {
      if (entrants_[k].ids[instance()]) continue;
      const int64_t id = next_id_++;
      const json message = {{"do", "compile"}, {"id", id}, {"trace", entrants_[k].trace}};
      const auto reply = ask(k, id, message, options_.compile_timeout);
      if (!reply) return false;
      ++pool_.slot(kSlot).handled;
      ++pool_.slot(kSlot).held;
      entrants_[k].ids[instance()] = id;
    }
    return true;
  }

  // Another order each time: who runs after whom must not matter.
  void round() {
    const std::vector<size_t> running = race_.running();
    std::vector<size_t> order(running.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::shuffle(order, random_);
    std::vector<double> seconds(running.size());
    const auto start = Clock::now();
    bool whole = true;
    for (size_t i = 0; i < order.size() && whole; ++i) {
      const size_t who = running[order[i]];
      const int64_t id = entrants_[who].ids[instance()].value();
      const json message = {
          {"do", "visit"}, {"id", id}, {"place", instance()}, {"seconds", kVisitSeconds}};
      const auto reply = ask(who, id, message, options_.run_timeout);
      whole = reply.has_value();
      if (whole) seconds[order[i]] = reply->at("seconds");
    }
    if (!whole) return;
    visiting_ += std::chrono::duration<double>(Clock::now() - start).count();
    if (race_.rounds() == 0) short_ = std::ranges::min(seconds) < kShortSeconds;
    race_.add(seconds);
  }

  // Nothing when the worker is gone, the contender failed or is out, or everything is stopped.
  std::optional<json> ask(size_t k, int64_t id, const json& message, double timeout) {
    pool_.ask(kSlot, task_, id, message, timeout);
    while (!stopped()) {
      for (const WorkerEvent& event : pool_.wait(kTick)) {
        if (event.slot != kSlot) continue;  // an idle worker ended
        if (event.kind == Kind::Reply) {
          if (event.reply.value("ok", false)) return event.reply;
          race_.withdraw(k);
          return {};
        }
        for (Entrant& entrant : entrants_) entrant.ids = {};
        const bool hangs = event.kind == Kind::TimedOut;
        // One that it had not begun with is not what it died of.
        if (hangs || (event.started && ++entrants_[k].losses >= kMostLosses)) race_.withdraw(k);
        return {};
      }
    }
    return {};
  }

  WorkerPool& pool_;
  const Task& task_;
  const double seconds_;  // of visits, as has_time has it
  const MeasureOptions& options_;
  int64_t& next_id_;
  const std::function<bool()>& stop_;
  Race race_;
  std::vector<Entrant> entrants_;
  std::mt19937_64 random_{0};
  double visiting_ = 0;  // seconds, of whole rounds
  bool short_ = false;
};

}  // namespace

RaceOutcome run_race(WorkerPool& pool, const Task& task, const std::vector<std::string>& traces,
                     double seconds, const MeasureOptions& options, int64_t& next_id,
                     const std::function<bool()>& stop) {
  // No reply of this race must be taken for one of what follows.
  struct Reset {
    WorkerPool& pool;
    ~Reset() { pool.reset(); }
  } reset{pool};
  pool.recycle(options.recycle_after);
  return WorkerRace(pool, task, traces, seconds, options, next_id, stop).run();
}

}  // namespace tw::autotune
