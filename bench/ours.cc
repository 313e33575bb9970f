// SPDX-License-Identifier: Apache-2.0
// Our kernels in a comparison: the unscheduled loop nest, the untuned prior, the best of a log.
#include <fmt/format.h>

#include "autotune/log/log.h"
#include "autotune/search/prior_schedule.h"
#include "bench/contestant.h"
#include "bench/kernels.h"
#include "runtime/thread_pool.h"
#include "runtime/version.h"

namespace tw::bench {
namespace {

class Ours final : public Contestant {
 public:
  Ours(std::string name, const Problem& problem, const autotune::Task& task, const Trace& trace)
      : name_(std::move(name)),
        threads_(task.threads),
        function_(build_kernel(task.te_text, to_text(trace), task.target, nullptr, problem.inputs)
                      .function),
        problem_(problem) {
    for (size_t k = 0; k < problem_.inputs.size(); ++k) {
      if (!te::is_constant(task.program.arguments[k])) arguments_.emplace_back(problem_.inputs[k]);
    }
    arguments_.emplace_back(problem_.output);
  }
  std::string name() const override { return name_; }
  void prepare() override { ThreadPool::global().set_num_threads(threads_); }
  void run() override { function_.call(arguments_); }

 private:
  std::string name_;
  int threads_;
  Function function_;
  Problem problem_;  // shares its arrays
  std::vector<CallArgument> arguments_;
};

void enter(const Problem& problem, int threads, const Options& options, Contestants& list) {
  const autotune::Task task = autotune::make_task(problem.workload.program, options.target(),
                                                  threads, problem.workload.label);
  // The loop nest as written is serial: it takes part once, and not where a single run would take
  // longer than all other contestants together (a few GFLOP/s at best).
  if (threads == 1 && problem.operations <= options.number("unscheduled-limit", 3e9)) {
    list.push_back(make_ours("unscheduled", problem, task, Trace{}));
  }
  list.push_back(make_ours("untuned", problem, task, autotune::prior_schedule(task)));
  if (const auto trace = hand_schedule(problem, task)) {
    list.push_back(make_ours("hand", problem, task, *trace));
  }
  const std::string path = options.text("log");
  if (path.empty()) return;
  const autotune::Log log(path, autotune::Log::Mode::Read);
  if (const auto best = log.best(task.workload, task.target_text, threads)) {
    list.push_back(make_ours("tuned", problem, task, parse_trace(best->trace)));
  }
}

}  // namespace

std::unique_ptr<Contestant> make_ours(std::string name, const Problem& problem,
                                      const autotune::Task& task, const Trace& trace) {
  return std::make_unique<Ours>(std::move(name), problem, task, trace);
}

Library ours() {
  return {.name = "tilewright",
          .enter = enter,
          .version = [] { return fmt::format("{}, LLVM {}", version(), llvm_version()); },
          .park = [] { ThreadPool::global().park(); }};
}

}  // namespace tw::bench
