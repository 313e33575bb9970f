// SPDX-License-Identifier: Apache-2.0
#include "autotune/measure/race.h"

#include <algorithm>
#include <set>
#include <string>

#include "runtime/time_evaluator.h"

namespace tw::autotune {
namespace {

// Besides the prior's schedule; a race of all that may be first would take longer than they differ.
constexpr size_t kMostContenders = 3;
// Medians of different moments differ by more than their intervals say.
constexpr double kDrift = 1.03;
// So many seconds of visits for each trial, within bounds: a short run should not spend its time on
// the order of those that are alike. In 287 races of four contenders that 0.3 s did not settle, the
// leader after a quarter of the rounds was, in the second half of them, by 0.1 % slower than the
// leader after half of them, and never slower than the prior's schedule.
constexpr double kSecondsPerTrial = 1.5e-3, kLeastSeconds = 0.1, kMostSeconds = 0.3;
// Rounds that a race has in any case, if they take no more than the most seconds.
constexpr size_t kLeastRounds = 12;

double median_of(const std::vector<double>& seconds) { return summarize(seconds).median; }

}  // namespace

Race::Race(size_t contenders, const RaceOptions& options)
    : options_(options),
      // One error is shared by two tests of each ordered pair.
      enough_(2.0 * static_cast<double>(contenders * (contenders - 1)) / options.error),
      out_(contenders, false),
      pairs_(contenders,
             std::vector<Pair>(contenders, {BehindTest(1, 0), BehindTest(1 - options.tie, 0)})),
      seconds_(contenders) {
  if (options.incumbent >= contenders) options_.incumbent.reset();
  if (!options_.incumbent) return;
  // Arrays of other places change the order of two that are nearly as fast.
  for (Pair& pair : pairs_[*options_.incumbent]) pair.no_slower = {1 / (1 - options.tie), 0};
}

std::vector<size_t> Race::running() const {
  std::vector<size_t> result;
  if (settled_ || rounds_ >= options_.most_rounds || out_.size() < 2) return result;
  for (size_t k = 0; k < out_.size(); ++k) {
    if (!out_[k]) result.push_back(k);
  }
  return result;
}

void Race::add(const std::vector<double>& seconds) {
  const std::vector<size_t> who = running();
  for (size_t i = 0; i < who.size(); ++i) {
    seconds_[who[i]].push_back(seconds[i]);
    for (size_t j = 0; j < who.size(); ++j) {
      if (i == j) continue;
      Pair& pair = pairs_[who[i]][who[j]];
      pair.no_slower.add(seconds[i] / seconds[j]);
      pair.faster.add(seconds[i] / seconds[j]);
    }
  }
  ++rounds_;
  decide();
}

void Race::withdraw(size_t contender) {
  out_[contender] = true;
  decide();
}

// Nobody who is still in the race is by more than a tie faster.
bool Race::beaten_by_nobody(size_t contender) const {
  for (size_t other = 0; other < out_.size(); ++other) {
    if (other == contender || out_[other]) continue;
    if (!refuted(pairs_[other][contender].faster)) return false;
  }
  return true;
}

void Race::decide() {
  // Whoever takes another one out stays itself, so somebody always remains.
  for (size_t a = 0; a < out_.size(); ++a) {
    for (size_t b = 0; b < out_.size() && !out_[a]; ++b) {
      if (a != b && !out_[b] && refuted(pairs_[a][b].no_slower)) out_[a] = true;
    }
  }
  const std::optional<size_t> first = leader();
  settled_ = first && beaten_by_nobody(*first);
}

std::optional<size_t> Race::leader() const {
  std::optional<size_t> best;
  for (size_t k = 0; k < out_.size(); ++k) {
    if (out_[k] || seconds_[k].empty()) continue;
    if (!best || median_of(seconds_[k]) < median_of(seconds_[*best])) best = k;
  }
  return best && keeps_first_place(*best) ? options_.incumbent : best;
}

// Whether there is an incumbent in the race, and its rounds with this one do not speak against it.
bool Race::keeps_first_place(size_t challenger) const {
  const std::optional<size_t> incumbent = options_.incumbent;
  if (!incumbent || out_[*incumbent] || *incumbent == challenger) return false;
  return pairs_[*incumbent][challenger].no_slower.capital() <= 1;
}

double race_seconds(size_t trials) {
  return std::clamp(kSecondsPerTrial * static_cast<double>(trials), kLeastSeconds, kMostSeconds);
}

bool has_time(size_t rounds, double spent, double meant) {
  return spent < meant || (rounds < kLeastRounds && spent < kMostSeconds);
}

std::vector<size_t> contenders(const std::vector<Record>& records) {
  std::vector<size_t> order;
  std::optional<size_t> prior;
  for (size_t k = 0; k < records.size(); ++k) {
    if (!records[k].ok() || records[k].seconds.empty()) continue;
    order.push_back(k);
    if (records[k].origin == Origin::Prior) prior = k;
  }
  std::ranges::stable_sort(order, {}, [&](size_t k) { return records[k].median(); });
  if (order.empty()) return {};
  // Seconds, up to which a median may be the least.
  const double open = summarize(records[order[0]].seconds).interval_high * kDrift;
  std::vector<size_t> chosen;
  std::set<std::string> kernels;
  if (prior) {
    chosen.push_back(*prior);
    kernels.insert(records[*prior].ir_hash);
  }
  const size_t most = chosen.size() + kMostContenders;
  for (size_t k : order) {
    if (chosen.size() == most || summarize(records[k].seconds).interval_low > open) continue;
    if (kernels.insert(records[k].ir_hash).second) chosen.push_back(k);
  }
  return chosen;
}

}  // namespace tw::autotune
