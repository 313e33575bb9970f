// SPDX-License-Identifier: Apache-2.0
// The limit that stands beside the contestants: what the multipliers do in the same run. Alone and
// for a moment they may be faster, on cores that lower their clock once wide vectors are in use.
#include <algorithm>
#include <cmath>

#include "autotune/measure/peak.h"
#include "bench/contestant.h"
#include "runtime/thread_pool.h"

namespace tw::bench {

std::optional<Subject> arithmetic_limit(const Problem& problem, int threads,
                                        const Options& options) {
  const auto is_f32 = [](const NDArray& a) { return a.dtype() == float_type(32); };
  if (!is_f32(problem.output) || !std::all_of(problem.inputs.begin(), problem.inputs.end(), is_f32))
    return std::nullopt;
  const autotune::FmaLoop loop(options.target());
  const double rounds = problem.operations / (loop.operations() * threads);
  return Subject{.run = [loop, count = static_cast<int64_t>(
                                   std::ceil(rounds))] { loop.run(ThreadPool::global(), count); },
                 .prepare = [threads] { ThreadPool::global().set_num_threads(threads); }};
}

}  // namespace tw::bench
