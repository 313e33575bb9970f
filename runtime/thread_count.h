// SPDX-License-Identifier: Apache-2.0
// The one owner of the number of threads in a process: our pool, and the OpenMP and BLAS libraries
// that others have loaded.
#pragma once

#include <string>
#include <vector>

#include "runtime/api.h"

namespace tw {

// Sets the global pool to n threads, and every OpenMP, OpenBLAS or MKL library that is loaded now
// to as many. Returns the file names of those. What is loaded later has its own idea: call again.
// OpenMP keeps the number by thread, so it is the calling thread's regions that change.
// Throws as ThreadPool::set_num_threads does, before anything has changed.
TW_API std::vector<std::string> set_thread_count(int n);

}  // namespace tw
