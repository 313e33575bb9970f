// SPDX-License-Identifier: Apache-2.0
// Threads of libraries that use OpenMP.
#pragma once

#include <dlfcn.h>

namespace tw::vendor {

// There may be several OpenMP libraries: the one that a vendor's library loaded itself is meant.
inline void set_threads(int threads) {
  using Set = void(int);
  static Set* const set = [] {
    void* openmp = dlopen("libgomp.so.1", RTLD_NOW | RTLD_NOLOAD);
    return openmp == nullptr ? nullptr
                             : reinterpret_cast<Set*>(dlsym(openmp, "omp_set_num_threads"));
  }();
  if (set != nullptr) set(threads);
}

}  // namespace tw::vendor
