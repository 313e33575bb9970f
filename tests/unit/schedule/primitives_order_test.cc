// SPDX-License-Identifier: Apache-2.0
// fuse, reorder, and marks on axes
#include <gtest/gtest.h>

#include "ir/expr.h"
#include "tests/support/scheduled.h"

namespace tw {
namespace {

using test::loops;
using test::scheduled;

constexpr char kCube[] =
    "A = placeholder(int32, [3, 4, 5])\n"
    "B = compute([z: 3, y: 4, x: 5], (A(z, y, x) + 1))\n"
    "arguments A B\noutputs B\n";

TEST(Fuse, OfThree) {
  EXPECT_EQ(loops(kCube, "fuse@1(s1, [s1:0, s1:1, s1:2])"), R"(produce B {
  for (z.y.fused.x.fused, 0, 60) {
    B(floordiv(floordiv(z.y.fused.x.fused, 5), 4), floormod(floordiv(z.y.fused.x.fused, 5), 4), floormod(z.y.fused.x.fused, 5)) = (A(floordiv(floordiv(z.y.fused.x.fused, 5), 4), floormod(floordiv(z.y.fused.x.fused, 5), 4), floormod(z.y.fused.x.fused, 5)) + 1)
  }
}
)");
}

TEST(Fuse, OfOneIsThatOne) {
  const Schedule s = scheduled(kCube, "fuse@1(s1, [s1:1])\nparallel@1(s1, t0.0)");
  EXPECT_EQ(s.stage({.index = 1}).leaf_axes().size(), 3u);
  EXPECT_NE(loops(s).find("parallel (y, 0, 4)"), std::string::npos);
}

// The fused axis overruns through its outer part.
TEST(Fuse, SplitThatDoesNotDivide) {
  EXPECT_EQ(loops("A = placeholder(int32, [3, 5])\n"
                  "B = compute([y: 3, x: 5], (A(y, x) + 1))\n"
                  "arguments A B\noutputs B\n",
                  "fuse@1(s1, [s1:0, s1:1])\nsplit@1(s1, t0.0, factor=4)"),
            R"(produce B {
  for (y.x.fused.outer, 0, 4) {
    for (y.x.fused.inner, 0, 4) {
      if (likely((floordiv(((y.x.fused.outer*4) + y.x.fused.inner), 5) < 3))) {
        B(floordiv(((y.x.fused.outer*4) + y.x.fused.inner), 5), floormod(((y.x.fused.outer*4) + y.x.fused.inner), 5)) = (A(floordiv(((y.x.fused.outer*4) + y.x.fused.inner), 5), floormod(((y.x.fused.outer*4) + y.x.fused.inner), 5)) + 1)
      }
    }
  }
}
)");
}

TEST(Reorder, TheOthersKeepTheirPlaces) {
  const Schedule s = scheduled(kCube, "reorder@1(s1, [s1:2, s1:0])");
  const auto& leaves = s.stage({.index = 1}).leaf_axes();
  EXPECT_EQ(leaves[0].name(), "x");
  EXPECT_EQ(leaves[1].name(), "y");
  EXPECT_EQ(leaves[2].name(), "z");
}

TEST(Marks, BecomeLoopsAndAttributes) {
  EXPECT_EQ(loops(kCube,
                  "parallel@1(s1, s1:0)\nunroll@1(s1, s1:1)\nvectorize@1(s1, s1:2)\n"
                  "pragma@1(s1, s1:1, \"auto_unroll_max_step\", pragma_value=8)\n"
                  "pragma@1(s1, s1:1, \"unroll_explicit\", pragma_value=1)\n"
                  "pragma@1(s1, s1:1, \"auto_unroll_max_step\", pragma_value=16)"),
            R"(produce B {
  parallel (z, 0, 3) {
    // attr [] pragma_auto_unroll_max_step = 16
    // attr [] pragma_unroll_explicit = 1
    unrolled (y, 0, 4) {
      vectorized (x, 0, 5) {
        B(z, y, x) = (A(z, y, x) + 1)
      }
    }
  }
}
)");
}

TEST(Marks, TheLastOneCounts) {
  const std::string text = loops(kCube, "parallel@1(s1, s1:0)\nunroll@1(s1, s1:0)");
  EXPECT_EQ(text.find("parallel"), std::string::npos);
  EXPECT_NE(text.find("unrolled (z, 0, 3)"), std::string::npos);
}

// The threads are taken by the outermost one. A loop of one iteration is none.
TEST(Marks, ParallelInsideParallelIsSerial) {
  const std::string same = loops(kCube, "parallel@1(s1, s1:2)\nparallel@1(s1, s1:0)");
  EXPECT_NE(same.find("parallel (z, 0, 3)"), std::string::npos);
  EXPECT_NE(same.find("for (x, 0, 5)"), std::string::npos);
  const char* chain =
      "A = placeholder(int32, [4, 6])\n"
      "B = compute([y: 4, x: 6], (A(y, x) + 1))\n"
      "C = compute([y: 4, x: 6], (B(y, x)*2))\n"
      "arguments A C\noutputs C\n";
  const auto parallel_loops = [&](const char* trace) {
    const std::string text = loops(chain, trace);
    size_t count = 0;
    for (size_t at = 0; (at = text.find("parallel (", at)) != std::string::npos; ++at) ++count;
    return count;
  };
  EXPECT_EQ(parallel_loops("parallel@1(s1, s1:1)\ncompute_at@1(s1, s2, s2:0)\n"
                           "parallel@1(s2, s2:0)"),
            1);
  EXPECT_EQ(parallel_loops("parallel@1(s1, s1:1)\ncompute_at@1(s1, s2, s2:0)\n"
                           "parallel@1(s2, s2:1)"),
            2);
  EXPECT_EQ(parallel_loops("split@1(s2, s2:0, nparts=1)\nparallel@1(s2, t0.0)\n"
                           "parallel@1(s2, t0.1)\nparallel@1(s1, s1:0)"),
            2);
}

// The region of a stage inside a loop is constant although its tensor's extent is not.
TEST(Marks, VectorizeWhereOnlyTheTensorIsSymbolic) {
  EXPECT_NE(loops("n = var(int32)\n"
                  "A = placeholder(int32, [n])\n"
                  "B = compute([i: n], (A(i) + 1))\n"
                  "C = compute([i: n], (B(i)*2))\n"
                  "arguments A C\noutputs C\n",
                  "split@1(s2, s2:0, factor=4)\nvectorize@1(s1, s1:0)\ncompute_at@1(s1, s2, t0.0)")
                .find("vectorized (i, 0, 4)"),
            std::string::npos);
}

}  // namespace
}  // namespace tw
