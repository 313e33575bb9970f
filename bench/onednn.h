// SPDX-License-Identifier: Apache-2.0
// oneDNN as the benchmarks call it: the only file of them that includes it.
#pragma once

#if TW_HAVE_ONEDNN
#include <dlfcn.h>

#include <dnnl.hpp>

#include "runtime/error.h"

namespace tw::bench {

inline const dnnl::engine& onednn_engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

// oneDNN computes on OpenMP's threads.
inline void set_openmp_threads(int threads) {
  static const auto set =
      reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
  TW_CHECK(set != nullptr, "oneDNN without OpenMP");
  set(threads);
}

}  // namespace tw::bench
#endif
