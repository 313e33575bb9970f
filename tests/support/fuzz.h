// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace tw::test {

/// Factor on the number of random cases: 1 in `./tw test`, larger with `--long`, smaller under a
/// sanitizer. Read from the environment variable TW_FUZZ_SCALE.
inline double fuzz_scale() {
  const char* text = std::getenv("TW_FUZZ_SCALE");
  return text == nullptr ? 1.0 : std::max(0.0, std::strtod(text, nullptr));
}

/// Seed of the random generators, the same in every run unless TW_FUZZ_SEED gives another.
inline std::uint64_t fuzz_seed() {
  const char* text = std::getenv("TW_FUZZ_SEED");
  return text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
}

/// Whether enough of `cases` random cases ran, where a share of `least` or more does: two standard
/// deviations fewer are taken for chance.
inline bool enough_cases(int ran, int cases, double least) {
  return cases > 0 && ran >= least * cases - 2 * std::sqrt(least * (1 - least) * cases);
}

/// The cases of a fuzz test, of which some may be refused: legal errors, nothing to compare. At its
/// end it prints both numbers, and the test fails when a smaller share ran than it states.
///
///   FuzzCases cases(400, 0.9);
///   while (cases.next()) {
///     const auto c = random_case(cases.seed());
///     if (!legal(c)) { cases.refuse(); continue; }
///     ...
///   }
class FuzzCases {
 public:
  /// `base` cases at scale 1, at least one; `least` is the share of them that must run.
  FuzzCases(int base, double least)
      : count_(std::max(1, static_cast<int>(base * fuzz_scale()))), least_(least) {}
  FuzzCases(const FuzzCases&) = delete;
  FuzzCases& operator=(const FuzzCases&) = delete;
  ~FuzzCases() {
    std::printf("[  cases   ] %d ran, %d refused\n", ran(), refused_);
    if (testing::Test::HasFailure()) return;  // which ended the loop
    EXPECT_TRUE(enough_cases(ran(), cases(), least_))
        << "of " << cases() << " cases " << refused_ << " were refused; a share of " << least_
        << " must run";
  }

  /// Goes to the next case; false after the last.
  bool next() {
    this_was_refused_ = false;
    return ++index_ < count_;
  }
  /// Counts this case as refused, however often it is called.
  void refuse() {
    refused_ += this_was_refused_ ? 0 : 1;
    this_was_refused_ = true;
  }

  int index() const { return index_; }
  /// Of this case alone, from which it can be made again.
  std::uint64_t seed() const {
    return fuzz_seed() * 1'000'003 + static_cast<std::uint64_t>(index_);
  }
  int cases() const { return std::min(index_, count_); }
  int ran() const { return cases() - refused_; }

 private:
  int count_, index_ = -1, refused_ = 0;
  double least_;
  bool this_was_refused_ = false;
};

}  // namespace tw::test
