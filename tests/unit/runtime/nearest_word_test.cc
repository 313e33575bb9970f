// SPDX-License-Identifier: Apache-2.0
#include "runtime/nearest_word.h"

#include <gtest/gtest.h>

namespace tw {
namespace {

TEST(NearestWord, Misspellings) {
  EXPECT_EQ(nearest_word("spilt", {"tile", "split", "fuse"}), "split");
  EXPECT_EQ(nearest_word("vectorise", {"parallel", "vectorize", "unroll"}), "vectorize");
  EXPECT_EQ(nearest_word("x", {}), "");
  EXPECT_EQ(nearest_index("x", {}), 0u);
}

// What is written is more often cut short than wrong, and its first letter is right.
TEST(NearestWord, Abbreviations) {
  EXPECT_EQ(nearest_word("cascade", {"cannonlake", "c3", "cascadelake"}), "cascadelake");
  EXPECT_EQ(nearest_word("x", {"y", "xlonger", "xlong"}), "xlong");
  EXPECT_EQ(nearest_word("zen", {"c3", "k8", "penryn", "znver4"}), "znver4");
}

// What resembles nothing gets no suggestion.
TEST(NearestWord, WordsOfTheirOwn) {
  EXPECT_EQ(nearest_word("frobnicate", {"fuse", "split", "vectorize"}), "");
  EXPECT_EQ(nearest_word("pack", {"parallel", "reorder"}), "");
  EXPECT_EQ(nearest_word("", {"ab", "a"}), "");
  EXPECT_EQ(nearest_word("q", {"unroll_loop"}), "");
  EXPECT_EQ(suggestion(nearest_word("frobnicate", {"fuse"})), "");
  EXPECT_EQ(suggestion("fuse"), "; the nearest is 'fuse'");
}

}  // namespace
}  // namespace tw
