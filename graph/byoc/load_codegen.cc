// SPDX-License-Identifier: Apache-2.0
#include "graph/byoc/load_codegen.h"

#include <dlfcn.h>

#include <cstdlib>
#include <mutex>

namespace tw::graph {
namespace {

// While it lives, a library that is loaded finds the number of rounds in the environment; libgomp
// reads it once, when it is loaded, and has no function that sets it.
class OpenMpSpin {
 public:
  OpenMpSpin() {
    if (std::getenv(kRounds) != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr) return;
    // A round is a pause, 140 cycles on processors since Skylake; fewer on others, which then
    // sleep earlier.
    is_ours_ = setenv(kRounds, "1000", 1) == 0;
  }
  ~OpenMpSpin() {
    if (is_ours_) unsetenv(kRounds);
  }
  OpenMpSpin(const OpenMpSpin&) = delete;
  OpenMpSpin& operator=(const OpenMpSpin&) = delete;

 private:
  static constexpr const char* kRounds = "GOMP_SPINCOUNT";
  bool is_ours_ = false;
};

}  // namespace

void* load_codegen(const char* path) {
  static std::mutex mutex;
  const std::lock_guard alone(mutex);
  if (void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD)) return library;
  const OpenMpSpin spin;
  return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

}  // namespace tw::graph
