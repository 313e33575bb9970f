// SPDX-License-Identifier: Apache-2.0
// Tests of tiles that overhang: which there are, and where they stand.
#include <gtest/gtest.h>

#include "tests/support/scheduled.h"

namespace tw {
namespace {

using test::loops;

constexpr char kMatmul[] =
    "A = placeholder(int32, [7, 6])\n"
    "B = placeholder(int32, [6, 8])\n"
    "C = compute([y: 7, x: 8], reduce [k: 6], sum((A(y, k)*B(k, x))))\n"
    "arguments A B C\noutputs C\n";
// Register tiles of 2 x 8 in blocks of 4 rows.
constexpr char kTile[] =
    "split@1(s2, s2:0, factor=4)\nsplit@1(s2, t1.1, factor=2)\ncompute_at@1(t0.0, s2, t2.0)\n"
    "reorder@1(t0.0, [t0.0:2, t0.0:0, t0.0:1])\nunroll@1(t0.0, t0.0:0)\nvectorize@1(t0.0, "
    "t0.0:1)\n";

// A may not be read past its end: the test is one of a row, outside the lanes.
TEST(Overhang, OfWhatIsNotPackedIsTested) {
  EXPECT_EQ(loops(kMatmul, std::string("cache_write@1(s2, \"local\")\n") + kTile), R"(produce C {
  for (y.outer, 0, 2) {
    for (y.inner.outer, 0, 2) {
      realize C.local<local>([((y.outer*4) + (y.inner.outer*2)), 2], [0, 8]) {
        produce C.local {
          unrolled (y.c.init, 0, 2) {
            vectorized (x.c.init, 0, 8) {
              if (likely(((y.c.init + ((y.outer*4) + (y.inner.outer*2))) < 7))) {
                C.local((y.c.init + ((y.outer*4) + (y.inner.outer*2))), x.c.init) = 0
              }
            }
          }
          for (k, 0, 6) {
            unrolled (y.c, 0, 2) {
              if (likely(((y.c + ((y.outer*4) + (y.inner.outer*2))) < 7))) {
                vectorized (x.c, 0, 8) {
                  C.local((y.c + ((y.outer*4) + (y.inner.outer*2))), x.c) = (C.local((y.c + ((y.outer*4) + (y.inner.outer*2))), x.c) + (A((y.c + ((y.outer*4) + (y.inner.outer*2))), k)*B(k, x.c)))
                }
              }
            }
          }
        }
        for (y.inner.inner, 0, 2) {
          for (x, 0, 8) {
            if (likely((((y.outer*4) + ((y.inner.outer*2) + y.inner.inner)) < 7))) {
              C(((y.outer*4) + ((y.inner.outer*2) + y.inner.inner)), x) = C.local(((y.outer*4) + ((y.inner.outer*2) + y.inner.inner)), x)
            }
          }
        }
      }
    }
  }
}
)");
}

// The packed rows are padded: all rows of the tile are computed.
TEST(Overhang, OfPackedOperandsIsComputed) {
  EXPECT_EQ(loops(kMatmul, std::string("cache_write@1(s2, \"local\")\n") + kTile +
                               "cache_read@1(s0, \"global\", [t0.0])\n"
                               "transform_layout@1(t7.0, axis=t7.0:0, factor=2, order=[0, 2, 1])\n"
                               "compute_at@1(t7.0, s2, t1.0)"),
            R"(produce C {
  for (y.outer, 0, 2) {
    realize A.global<global>([(y.outer*2), 2], [0, 6], [0, 2]) {
      produce A.global {
        for (ax0.o, 0, 2) {
          for (ax1, 0, 6) {
            for (ax0.i, 0, 2) {
              A.global((ax0.o + (y.outer*2)), ax1, ax0.i) = tvm_if_then_else(likely(((((ax0.o + (y.outer*2))*2) + ax0.i) < 7)), A((((ax0.o + (y.outer*2))*2) + ax0.i), ax1), 0)
            }
          }
        }
      }
      for (y.inner.outer, 0, 2) {
        realize C.local<local>([((y.outer*4) + (y.inner.outer*2)), 2], [0, 8]) {
          produce C.local {
            unrolled (y.c.init, 0, 2) {
              vectorized (x.c.init, 0, 8) {
                C.local((y.c.init + ((y.outer*4) + (y.inner.outer*2))), x.c.init) = 0
              }
            }
            for (k, 0, 6) {
              unrolled (y.c, 0, 2) {
                vectorized (x.c, 0, 8) {
                  C.local((y.c + ((y.outer*4) + (y.inner.outer*2))), x.c) = (C.local((y.c + ((y.outer*4) + (y.inner.outer*2))), x.c) + (A.global(floordiv((y.c + ((y.outer*4) + (y.inner.outer*2))), 2), k, floormod((y.c + ((y.outer*4) + (y.inner.outer*2))), 2))*B(k, x.c)))
                }
              }
            }
          }
          for (y.inner.inner, 0, 2) {
            for (x, 0, 8) {
              if (likely((((y.outer*4) + ((y.inner.outer*2) + y.inner.inner)) < 7))) {
                C(((y.outer*4) + ((y.inner.outer*2) + y.inner.inner)), x) = C.local(((y.outer*4) + ((y.inner.outer*2) + y.inner.inner)), x)
              }
            }
          }
        }
      }
    }
  }
}
)");
}

// Tiles that lie outside as a whole are left out, with what is computed for them.
TEST(Overhang, TilesOutside) {
  EXPECT_EQ(
      loops("A = placeholder(int32, [9])\n"
            "B = compute([i: 9], (A(i) + 1))\n"
            "C = compute([j: 9], (B(j)*2))\n"
            "arguments A C\noutputs C\n",
            "split@1(s2, s2:0, factor=6)\nsplit@1(s2, t0.1, factor=2)\ncompute_at@1(s1, s2, t1.0)"),
      R"(produce C {
  for (j.outer, 0, 2) {
    for (j.inner.outer, 0, 3) {
      if (likely((((j.outer*6) + (j.inner.outer*2)) < 9))) {
        realize B<global>([((j.outer*6) + (j.inner.outer*2)), 2]) {
          produce B {
            for (i, 0, 2) {
              if (likely(((i + ((j.outer*6) + (j.inner.outer*2))) < 9))) {
                B((i + ((j.outer*6) + (j.inner.outer*2)))) = (A((i + ((j.outer*6) + (j.inner.outer*2)))) + 1)
              }
            }
          }
          for (j.inner.inner, 0, 2) {
            if (likely((((j.outer*6) + ((j.inner.outer*2) + j.inner.inner)) < 9))) {
              C(((j.outer*6) + ((j.inner.outer*2) + j.inner.inner))) = (B(((j.outer*6) + ((j.inner.outer*2) + j.inner.inner)))*2)
            }
          }
        }
      }
    }
  }
}
)");
}

}  // namespace
}  // namespace tw
