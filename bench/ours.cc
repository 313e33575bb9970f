// SPDX-License-Identifier: Apache-2.0
// Our kernels in a comparison: the unscheduled loop nest, the untuned prior, the best of a log.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "autotune/log/log.h"
#include "autotune/search/prior_schedule.h"
#include "bench/contestant.h"
#include "bench/kernels.h"
#include "runtime/thread_pool.h"
#include "runtime/version.h"

namespace tw::bench {
namespace {

// What runs for some microseconds differs by up to 5 % with where its code and its constants lie:
// so repetitions are of so many copies in turn, of fewer where their constants take much memory.
constexpr int64_t kMostCopies = 8;
constexpr int64_t kBytesOfCopies = 32 << 20;

int64_t copies_of(const Problem& problem, const autotune::Task& task) {
  int64_t bytes = 1;
  for (size_t k = 0; k < problem.inputs.size(); ++k) {
    if (te::is_constant(task.program.arguments[k])) bytes += problem.inputs[k].byte_size();
  }
  return std::clamp<int64_t>(kBytesOfCopies / bytes, 1, kMostCopies);
}

class Ours final : public Contestant {
 public:
  Ours(std::string name, const Problem& problem, const autotune::Task& task, const Trace& trace,
       std::vector<std::string> also)
      : name_(std::move(name)),
        also_(std::move(also)),
        threads_(task.threads),
        most_copies_(static_cast<size_t>(copies_of(problem, task))),
        build_([problem, te = task.te_text, trace = to_text(trace), target = task.target] {
          return build_kernel(te, trace, target, nullptr, problem.inputs).function;
        }) {
    for (size_t k = 0; k < problem.inputs.size(); ++k) {
      if (!te::is_constant(task.program.arguments[k])) arguments_.emplace_back(problem.inputs[k]);
    }
    arguments_.emplace_back(problem.output);
  }
  std::string name() const override { return name_; }
  std::vector<std::string> also() const override { return also_; }
  // The last copy is the one that runs. The first times it is made, so that who only compares
  // results makes one.
  void prepare() override {
    ThreadPool::global().set_num_threads(threads_);
    if (copies_.size() < most_copies_) {
      copies_.push_back(build_());
    } else {
      std::ranges::rotate(copies_, copies_.begin() + 1);
    }
  }
  void run() override { copies_.back().call(arguments_); }

 private:
  std::string name_;
  std::vector<std::string> also_;
  int threads_;
  size_t most_copies_;
  std::function<Function()> build_;  // shares the problem's arrays
  std::vector<Function> copies_;
  std::vector<CallArgument> arguments_;
};

std::optional<Trace> best_of_log(const std::string& path, const autotune::Task& task) {
  if (path.empty()) return {};
  const autotune::Log log(path, autotune::Log::Mode::Read);
  const auto best = log.best(task.workload, task.target_text, task.threads);
  return best ? std::optional(parse_trace(best->trace)) : std::nullopt;
}

void enter(const Problem& problem, int threads, const Options& options, Contestants& list) {
  const autotune::Task task = autotune::make_task(problem.workload.program, options.target(),
                                                  threads, problem.workload.label);
  // The loop nest as written is serial: it takes part once, and not where a single run would take
  // longer than all other contestants together (a few GFLOP/s at best).
  if (threads == 1 && problem.operations <= options.number("unscheduled-limit", 3e9)) {
    list.push_back(make_ours("unscheduled", problem, task, Trace{}));
  }
  const Trace prior = autotune::prior_schedule(task);
  const std::optional<Trace> tuned = best_of_log(options.text("log"), task);
  // Tuning may leave the prior's schedule where it was; timed twice it would seem to differ.
  const bool kept = tuned && to_text(*tuned) == to_text(prior);
  list.push_back(make_ours("untuned", problem, task, prior,
                           kept ? std::vector<std::string>{"tuned"} : std::vector<std::string>{}));
  if (const auto trace = hand_schedule(problem, task)) {
    list.push_back(make_ours("hand", problem, task, *trace));
  }
  if (tuned && !kept) list.push_back(make_ours("tuned", problem, task, *tuned));
}

}  // namespace

std::unique_ptr<Contestant> make_ours(std::string name, const Problem& problem,
                                      const autotune::Task& task, const Trace& trace,
                                      std::vector<std::string> also) {
  return std::make_unique<Ours>(std::move(name), problem, task, trace, std::move(also));
}

Library ours() {
  return {.name = "tilewright",
          .enter = enter,
          .version = [] { return fmt::format("{}, LLVM {}", version(), llvm_version()); },
          .park = [] { ThreadPool::global().park(); }};
}

}  // namespace tw::bench
