// SPDX-License-Identifier: Apache-2.0
// Who of a few is the fastest, decided as times come in. Contenders are visited in turns, so that
// what else the machine does meets all of them alike, and compared with each other round by round.
// Nothing here runs or reads a clock.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "autotune/measure/behind.h"
#include "autotune/task/record.h"

namespace tw::autotune {

struct RaceOptions {
  // Probability, at most, that the winner of a settled race is by more than `tie` slower than one
  // of the others.
  double error = 0.05;
  double tie = 0.01;        // two that differ by less, in parts of one's time, are equally fast
  size_t most_rounds = 60;  // then the race ends unsettled
  // Who wins unless another one seems to be by more than a tie faster; nobody: the least median.
  std::optional<size_t> incumbent = std::nullopt;
};

// Each ordered pair (a, b) has two tests by betting (see behind.h), which may be looked at after
// each round: one of the claim that a is no slower than b (of the incumbent: but for a tie), one of
// the claim that a is by more than `tie` faster. A refuted first claim takes a out of the race; the
// race is settled once the second claim is refuted of everybody else in it and the leader. The
// claims are about the median of the ratio of two times of one round; its noise is assumed to be as
// behind.h has it, rounds independent.
class Race {
 public:
  explicit Race(size_t contenders, const RaceOptions& options = {});

  // Who is to be visited in the next round, ascending; empty when the race is over.
  std::vector<size_t> running() const;
  size_t rounds() const { return rounds_; }  // added so far
  // One round: the seconds of each of running().
  void add(const std::vector<double>& seconds);
  // Takes out one whose times cannot be had.
  void withdraw(size_t contender);

  // The leader is the fastest, but for a tie.
  bool settled() const { return settled_; }
  // Of those in the race the one with the least median, or the incumbent where their rounds do not
  // speak against its claim: who bet against it has lost, which at the odds of behind.h is so where
  // it held in more than some quarter of them. None where all are withdrawn, or no round was run.
  std::optional<size_t> leader() const;
  // Of one contender, a number a round that it was in.
  const std::vector<double>& seconds(size_t contender) const { return seconds_[contender]; }

 private:
  struct Pair {
    BehindTest no_slower, faster;
  };
  bool refuted(const BehindTest& claim) const { return claim.capital() >= enough_; }
  bool beaten_by_nobody(size_t contender) const;
  bool keeps_first_place(size_t challenger) const;
  void decide();

  RaceOptions options_;
  double enough_;
  std::vector<bool> out_;
  std::vector<std::vector<Pair>> pairs_;  // [a][b]
  std::vector<std::vector<double>> seconds_;
  size_t rounds_ = 0;
  bool settled_ = false;
};

// What is meant for the visits of a race of so many trials.
double race_seconds(size_t trials);

// Whether a race that nothing has decided goes on when its rounds took so much of the seconds that
// were meant for it. One of slow kernels may take longer than was meant, though not without bound:
// a few rounds are less than a burst of what else the machine does, and then the incumbent stays
// however slow it is.
bool has_time(size_t rounds, double spent, double meant);

// Which records of one task to race, as indices: the prior's schedule, where it is among them, and
// then the fastest ones whose intervals leave open who is first. Kernels that are alike once
// lowered take part once.
std::vector<size_t> contenders(const std::vector<Record>& records);

}  // namespace tw::autotune
