// SPDX-License-Identifier: Apache-2.0
// split, tile
#include <gtest/gtest.h>

#include "ir/expr.h"
#include "tests/support/scheduled.h"

namespace tw {
namespace {

using test::loops;

constexpr char kVector[] =
    "A = placeholder(int32, [9])\n"
    "B = compute([i: 9], (A(i) + 1))\n"
    "arguments A B\noutputs B\n";
constexpr char kMatrix[] =
    "A = placeholder(int32, [8, 9])\n"
    "B = compute([y: 8, x: 9], (A(y, x) + 1))\n"
    "arguments A B\noutputs B\n";

TEST(Split, ByAFactorThatDoesNotDivide) {
  EXPECT_EQ(loops(kVector, "split@1(s1, s1:0, factor=4)"), R"(produce B {
  for (i.outer, 0, 3) {
    for (i.inner, 0, 4) {
      if (likely((((i.outer*4) + i.inner) < 9))) {
        B(((i.outer*4) + i.inner)) = (A(((i.outer*4) + i.inner)) + 1)
      }
    }
  }
}
)");
}

TEST(Split, ByAFactorThatDivides) {
  EXPECT_EQ(loops(kVector, "split@1(s1, s1:0, factor=3)"), R"(produce B {
  for (i.outer, 0, 3) {
    for (i.inner, 0, 3) {
      B(((i.outer*3) + i.inner)) = (A(((i.outer*3) + i.inner)) + 1)
    }
  }
}
)");
}

TEST(Split, ByParts) {
  EXPECT_EQ(loops(kVector, "split@1(s1, s1:0, nparts=2)"), R"(produce B {
  for (i.outer, 0, 2) {
    for (i.inner, 0, 5) {
      if (likely((((i.outer*5) + i.inner) < 9))) {
        B(((i.outer*5) + i.inner)) = (A(((i.outer*5) + i.inner)) + 1)
      }
    }
  }
}
)");
}

// The seed's convolution splits 9 by 16 and keeps the factor; the default does not.
TEST(Split, AFactorAboveTheExtentIsTheExtentUnlessAskedOtherwise) {
  const char* trace = "split@1(s1, s1:0, factor=16)";
  EXPECT_EQ(loops(kVector, trace), R"(produce B {
  for (i.inner, 0, 9) {
    B(i.inner) = (A(i.inner) + 1)
  }
}
)");
  EXPECT_EQ(loops(kVector, trace, {.clamp_split_factor = false}), R"(produce B {
  for (i.inner, 0, 16) {
    if (likely((i.inner < 9))) {
      B(i.inner) = (A(i.inner) + 1)
    }
  }
}
)");
  EXPECT_EQ(loops(kVector, "split@1(s1, s1:0, nparts=16)"), R"(produce B {
  for (i.outer, 0, 9) {
    B(i.outer) = (A(i.outer) + 1)
  }
}
)");
}

// Past the inner part's end begins the next outer one: that needs a test of its own. Past the outer
// part's end, the test of the whole axis holds the line.
TEST(Split, OfASplit) {
  EXPECT_EQ(loops(kVector, "split@1(s1, s1:0, factor=3)\nsplit@1(s1, t0.1, factor=2)"),
            R"(produce B {
  for (i.outer, 0, 3) {
    for (i.inner.outer, 0, 2) {
      for (i.inner.inner, 0, 2) {
        if (likely((((i.inner.outer*2) + i.inner.inner) < 3))) {
          B(((i.outer*3) + ((i.inner.outer*2) + i.inner.inner))) = (A(((i.outer*3) + ((i.inner.outer*2) + i.inner.inner))) + 1)
        }
      }
    }
  }
}
)");
  EXPECT_EQ(loops(kVector, "split@1(s1, s1:0, factor=3)\nsplit@1(s1, t0.0, factor=2)"),
            R"(produce B {
  for (i.outer.outer, 0, 2) {
    for (i.outer.inner, 0, 2) {
      for (i.inner, 0, 3) {
        if (likely((((((i.outer.outer*2) + i.outer.inner)*3) + i.inner) < 9))) {
          B(((((i.outer.outer*2) + i.outer.inner)*3) + i.inner)) = (A(((((i.outer.outer*2) + i.outer.inner)*3) + i.inner)) + 1)
        }
      }
    }
  }
}
)");
}

TEST(Split, SymbolicExtent) {
  EXPECT_EQ(loops("n = var(int32)\n"
                  "A = placeholder(int32, [n])\n"
                  "B = compute([i: n], (A(i) + 1))\n"
                  "arguments A B\noutputs B\n",
                  "split@1(s1, s1:0, factor=4)\nvectorize@1(s1, t0.1)"),
            R"(produce B {
  for (i.outer, 0, floordiv((n + 3), 4)) {
    vectorized (i.inner, 0, 4) {
      if (likely((((i.outer*4) + i.inner) < n))) {
        B(((i.outer*4) + i.inner)) = (A(((i.outer*4) + i.inner)) + 1)
      }
    }
  }
}
)");
}

// The stage is computed in the same iterations as before.
TEST(Split, OfAnAxisThatAStageIsComputedAt) {
  EXPECT_EQ(loops("A = placeholder(int32, [8, 6])\n"
                  "P = compute([y: 8, x: 6], (A(y, x)*2))\n"
                  "B = compute([y: 8, x: 6], (P(y, x) + 1))\n"
                  "arguments A B\noutputs B\n",
                  "compute_at@1(s1, s2, s2:0)\nsplit@1(s2, s2:0, factor=4)"),
            R"(produce B {
  for (y.outer, 0, 2) {
    for (y.inner, 0, 4) {
      realize P<global>([((y.outer*4) + y.inner), 1], [0, 6]) {
        produce P {
          for (x, 0, 6) {
            P(((y.outer*4) + y.inner), x) = (A(((y.outer*4) + y.inner), x)*2)
          }
        }
        for (x_1, 0, 6) {
          B(((y.outer*4) + y.inner), x_1) = (P(((y.outer*4) + y.inner), x_1) + 1)
        }
      }
    }
  }
}
)");
}

TEST(Fuse, OfAnAxisThatAStageIsComputedAt) {
  EXPECT_EQ(loops("A = placeholder(int32, [8, 6])\n"
                  "P = compute([y: 8, x: 6], (A(y, x)*2))\n"
                  "B = compute([y: 8, x: 6], (P(y, x) + 1))\n"
                  "arguments A B\noutputs B\n",
                  "compute_at@1(s1, s2, s2:0)\nfuse@1(s2, [s2:0, s2:1])"),
            R"(produce B {
  for (y.x.fused, 0, 48) {
    realize P<global>([floordiv(y.x.fused, 6), 1], [floormod(y.x.fused, 6), 1]) {
      produce P {
        P(floordiv(y.x.fused, 6), floormod(y.x.fused, 6)) = (A(floordiv(y.x.fused, 6), floormod(y.x.fused, 6))*2)
      }
      B(floordiv(y.x.fused, 6), floormod(y.x.fused, 6)) = (P(floordiv(y.x.fused, 6), floormod(y.x.fused, 6)) + 1)
    }
  }
}
)");
}

TEST(Fuse, OfNoAxisAtRankZero) {
  ScheduleOptions options;
  options.keep_trivial_loops = true;
  EXPECT_EQ(loops("A = placeholder(int32, [8])\n"
                  "B = compute([], reduce [k: 8], sum(A(k)))\n"
                  "arguments A B\noutputs B\n",
                  "fuse@1(s1, [])\nsplit@1(s1, t0.0, factor=4)\nparallel@1(s1, t1.0)", options),
            R"(produce B {
  parallel (singleton.outer, 0, 1) {
    for (singleton.inner, 0, 1) {
      B() = 0
      for (k, 0, 8) {
        B() = (B() + A(k))
      }
    }
  }
}
)");
}

TEST(Tile, SplitsAndOrders) {
  EXPECT_EQ(loops(kMatrix, "tile@1(s1, s1:0, s1:1, 4, 3)"), R"(produce B {
  for (y.outer, 0, 2) {
    for (x.outer, 0, 3) {
      for (y.inner, 0, 4) {
        for (x.inner, 0, 3) {
          B(((y.outer*4) + y.inner), ((x.outer*3) + x.inner)) = (A(((y.outer*4) + y.inner), ((x.outer*3) + x.inner)) + 1)
        }
      }
    }
  }
}
)");
}

}  // namespace
}  // namespace tw
