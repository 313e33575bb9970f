// SPDX-License-Identifier: Apache-2.0
// How long a parallel region takes that does nothing: what each parallel loop of a kernel pays.
#include <fmt/format.h>

#include <memory>

#include "bench/google_benchmark.h"
#include "bench/sections.h"
#include "runtime/thread_pool.h"

namespace tw::bench {

void measure_fork_join(const Options& options, Results& results) {
  std::vector<Subject> subjects;
  for (const int threads : options.thread_counts()) {
    const auto pool = std::make_shared<ThreadPool>(ThreadPoolOptions{.num_threads = threads});
    const auto region = [pool] {
      pool->parallel_for([](int32_t, int32_t, void*) -> int32_t { return 0; }, nullptr);
    };
    subjects.push_back({.name = fmt::format("fork-join/spinning/{}", threads),
                        .run = region,
                        .labels = {{"state", "spinning"}, {"threads", threads}}});
    if (threads == 1) continue;
    subjects.push_back({.name = fmt::format("fork-join/parked/{}", threads),
                        .run = region,
                        .prepare = [pool] { pool->park(); },
                        .prepare_each = true,
                        .labels = {{"state", "parked"}, {"threads", threads}}});
  }
  const bool quick = options.flag("quick");
  time_interleaved(subjects, {.count = quick ? 7 : 15, .seconds = quick ? 0.02 : 0.1}, results);
}

}  // namespace tw::bench
