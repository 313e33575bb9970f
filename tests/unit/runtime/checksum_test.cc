// SPDX-License-Identifier: Apache-2.0
#include "runtime/checksum.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace tw {
namespace {

TEST(Checksum, EachByteAndTheLengthCount) {
  std::set<uint64_t> seen;
  for (size_t n : {0, 1, 7, 31, 32, 33, 96, 100}) {
    std::string text(n, 'a');
    EXPECT_TRUE(seen.insert(checksum(text.data(), n)).second) << n;
    for (size_t i = 0; i < n; ++i) {
      text[i] ^= 4;
      EXPECT_TRUE(seen.insert(checksum(text.data(), n)).second) << n << ", byte " << i;
      text[i] ^= 4;
    }
    EXPECT_EQ(checksum(text.data(), n), checksum(std::string(n, 'a').data(), n));
  }
}

}  // namespace
}  // namespace tw
