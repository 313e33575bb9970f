// SPDX-License-Identifier: Apache-2.0
// What the environment and the machine say about the pool.
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "runtime/environment.h"
#include "runtime/machine.h"
#include "runtime/thread_pool.h"

namespace tw {
namespace {

// The first number of OMP_NUM_THREADS, a list with one for each level of nesting; 0 without one.
// What OpenMP would not take is for OpenMP to say.
int openmp_num_threads() {
  const char* text = std::getenv("OMP_NUM_THREADS");
  if (text == nullptr) return 0;
  const std::string_view view(text);
  const std::string_view first = view.substr(0, view.find(','));
  int value = 0;
  const auto [end, error] = std::from_chars(first.data(), first.data() + first.size(), value);
  const bool whole = error == std::errc() && end == first.data() + first.size();
  return whole && value >= 1 && value <= ThreadPool::kMaxThreads ? value : 0;
}

}  // namespace

ThreadPoolOptions thread_pool_options_from_environment() {
  ThreadPoolOptions options;
  options.num_threads = environment_number("TILEWRIGHT_NUM_THREADS", 1, ThreadPool::kMaxThreads,
                                           openmp_num_threads());
  options.spin_microseconds =
      environment_number("TILEWRIGHT_SPIN_US", 0.0, 1e9, options.spin_microseconds);
  options.pin = environment_number("TILEWRIGHT_PIN", 0, 1, 0) == 1;
  return options;
}

int default_num_threads() { return std::clamp(host().usable_cpus, 1, ThreadPool::kMaxThreads); }

}  // namespace tw
