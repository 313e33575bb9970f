// SPDX-License-Identifier: Apache-2.0
// Brute force: runs a statement and notes which iterations of its parallel loops touch the same
// element of memory that they share, at least one of them writing. It knows nothing of schedules.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/interpret.h"

namespace tw::test {

class RaceObserver : public RunObserver {
 public:
  // The first conflict found; empty when there is none.
  const std::string& race() const { return race_; }

  void begin_loop(ForKind kind) override {
    loops_.push_back({.is_parallel = kind == ForKind::Parallel});
  }
  void begin_iteration(int64_t value) override {
    loops_.back().iteration = value;
    loops_.back().began = ++clock_;
  }
  void end_loop() override { loops_.pop_back(); }
  void allocated(const InterpreterBuffer& buffer) override { born_[&buffer] = ++clock_; }

  void access(const InterpreterBuffer& buffer, int64_t index, bool is_write) override {
    const auto birth = born_.find(&buffer);
    const int64_t born = birth == born_.end() ? 0 : birth->second;
    for (Loop& loop : loops_) {
      // What an iteration allocates is its own.
      if (!loop.is_parallel || born > loop.began) continue;
      Touched& touched = loop.touched[{born, &buffer, index}];
      const auto other = [&](const std::vector<int64_t>& iterations) {
        for (int64_t i : iterations) {
          if (i != loop.iteration) return true;
        }
        return false;
      };
      if (race_.empty() && (other(touched.writers) || (is_write && other(touched.readers)))) {
        race_ = fmt::format("iteration {} {} element {}, which another one {}", loop.iteration,
                            is_write ? "writes" : "reads", index,
                            other(touched.writers) ? "writes" : "reads");
      }
      // Two are enough to tell whether there is another one.
      std::vector<int64_t>& list = is_write ? touched.writers : touched.readers;
      if (list.size() < 2 && (list.empty() || list.back() != loop.iteration))
        list.push_back(loop.iteration);
    }
  }

 private:
  struct Touched {
    std::vector<int64_t> readers, writers;
  };
  using Element = std::tuple<int64_t, const InterpreterBuffer*, int64_t>;
  struct Loop {
    bool is_parallel = false;
    int64_t iteration = 0, began = 0;
    std::map<Element, Touched> touched = {};
  };

  std::vector<Loop> loops_;
  std::unordered_map<const InterpreterBuffer*, int64_t> born_;
  int64_t clock_ = 0;
  std::string race_;
};

}  // namespace tw::test
