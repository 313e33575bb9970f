// SPDX-License-Identifier: Apache-2.0
#include "runtime/thread_count.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/error.h"
#include "runtime/thread_pool.h"

namespace tw {
namespace {

TEST(ThreadCount, OpenMpFollows) {
  void* library = dlopen("libgomp.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) GTEST_SKIP() << dlerror();
  const auto most = reinterpret_cast<int (*)()>(dlsym(library, "omp_get_max_threads"));
  ASSERT_NE(most, nullptr);
  const int before = ThreadPool::global().num_threads();
  for (int n : {3, 1, 2}) {
    const std::vector<std::string> told = set_thread_count(n);
    EXPECT_EQ(
        std::ranges::count(told, "libgomp.so.1.0.0") + std::ranges::count(told, "libgomp.so.1"), 1);
    EXPECT_EQ(most(), n);
    EXPECT_EQ(ThreadPool::global().num_threads(), n);
  }
  EXPECT_THROW(set_thread_count(0), UserError);
  EXPECT_EQ(most(), 2);
  set_thread_count(before);
}

}  // namespace
}  // namespace tw
