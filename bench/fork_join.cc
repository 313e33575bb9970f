// SPDX-License-Identifier: Apache-2.0
// How long a parallel region takes that does nothing: what each parallel loop of a kernel pays,
// with workers that spin or sleep, and that stay on a CPU of their own or not.
#include <fmt/format.h>

#include <memory>

#include "bench/google_benchmark.h"
#include "bench/sections.h"
#include "runtime/thread_pool.h"

namespace tw::bench {

void measure_fork_join(const Options& options, Results& results) {
  std::vector<Subject> subjects;
  for (const int threads : options.thread_counts()) {
    for (const bool pin : {false, true}) {
      if (threads == 1 && pin) continue;
      const auto pool =
          std::make_shared<ThreadPool>(ThreadPoolOptions{.num_threads = threads, .pin = pin});
      const auto regions = [pool](int count) {
        for (int i = 0; i < count; ++i) {
          pool->parallel_for([](int32_t, int32_t, void*) -> int32_t { return 0; }, nullptr);
        }
      };
      const auto subject = [&](const char* state) {
        return Subject{
            .name = fmt::format("fork-join/{}{}/{}", state, pin ? "-pinned" : "", threads),
            .run = {},
            .labels = {{"state", state}, {"pinned", pin}, {"threads", threads}}};
      };
      constexpr int kRegions = 200;
      subjects.push_back(subject("spinning"));
      subjects.back().run = [regions] { regions(kRegions); };
      subjects.back().parts = kRegions;
      if (threads == 1) continue;
      subjects.push_back(subject("parked"));
      subjects.back().run = [regions] { regions(1); };
      subjects.back().prepare = [pool] { pool->park(); };
      subjects.back().prepare_each = true;
    }
  }
  // Many short repetitions: one that the system interrupts, for milliseconds, is one of many.
  const int count = options.flag("quick") ? 101 : 301;
  time_interleaved(subjects, {.count = count, .seconds = 0.002}, results);
}

}  // namespace tw::bench
