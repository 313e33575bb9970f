// SPDX-License-Identifier: Apache-2.0
#include "autotune/measure/reference_cache.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace tw::autotune {
namespace {

Reference reference(int64_t bytes) {
  Reference r;
  std::ofstream(r.result.path()) << std::string(static_cast<size_t>(bytes), 'x');
  return r;
}

size_t descriptors() {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                                           std::filesystem::directory_iterator{}));
}

TEST(ReferenceCache, WhatWasUsedLastStays) {
  ReferenceCache cache(300, 10);
  for (const char* key : {"a", "b", "c"}) cache.add(key, reference(100));
  EXPECT_EQ(cache.bytes(), 300);
  EXPECT_NE(cache.find("a"), nullptr);
  EXPECT_EQ(cache.find("d"), nullptr);
  const Reference* d = cache.add("d", reference(100));
  EXPECT_EQ(d->bytes(), 100);
  EXPECT_EQ(cache.find("d"), d);
  EXPECT_EQ(cache.find("b"), nullptr);
  EXPECT_NE(cache.find("a"), nullptr);
  EXPECT_NE(cache.find("c"), nullptr);
}

TEST(ReferenceCache, OneLargerThanTheLimitStaysAlone) {
  ReferenceCache cache(300, 10);
  cache.add("a", reference(100));
  cache.add("b", reference(1000));
  EXPECT_EQ(cache.size(), 1u);
  EXPECT_NE(cache.find("b"), nullptr);
}

TEST(ReferenceCache, DescriptorsHaveALimitOfTheirOwn) {
  const size_t before = descriptors();
  ReferenceCache cache(1 << 20, 4);
  for (int k = 0; k < 20; ++k) cache.add(std::to_string(k), reference(1));
  EXPECT_EQ(cache.size(), 4u);
  EXPECT_EQ(descriptors(), before + 8);
}

}  // namespace
}  // namespace tw::autotune
