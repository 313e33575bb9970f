// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/scheduled.h"
#include "tests/unit/lower/pass_text.h"

namespace tw {
namespace {

std::string injected(std::string_view program, std::string_view trace) {
  const Schedule s = normalize(test::scheduled(program, trace));
  return to_string(
      run_pass(pass::inject_prefetch, Kernel{.body = schedule_ops(s, infer_bound(s))}).body);
}

// The line of the prefetch alone.
std::string fetched(std::string_view program, std::string_view trace) {
  const std::string text = injected(program, trace);
  const size_t begin = text.find("prefetch(");
  return begin == std::string::npos ? "" : text.substr(begin, text.find('\n', begin) - begin);
}

constexpr char kScale[] =
    "A = placeholder(float32, [8, 40])\n"
    "B = compute([y: 8, x: 40], (A(y, x)*2.000000f))\n"
    "arguments A B\noutputs B\n";

TEST(InjectPrefetch, TheLinesOfARow) {
  EXPECT_EQ(injected(kScale, "prefetch@2(s1, s0, s1:0, 2)"), R"(produce B {
  for (y, 0, 8) {
    unrolled (line, 0, 3) {
      prefetch(A((y + 2), (line*16)), 0, 3, 1)
    }
    for (x, 0, 40) {
      B(y, x) = (A(y, x)*2.000000f)
    }
  }
}
)");
}

TEST(InjectPrefetch, OneLineOfATile) {
  EXPECT_EQ(injected(kScale, "tile@1(s1, s1:0, s1:1, 4, 16)\nprefetch@2(s1, s0, t0.1, 1)"),
            R"(produce B {
  for (y.outer, 0, 2) {
    for (x.outer, 0, 3) {
      unrolled (row, 0, 4) {
        prefetch(A(((y.outer*4) + row), ((x.outer*16) + 16)), 0, 3, 1)
      }
      for (y.inner, 0, 4) {
        for (x.inner, 0, 16) {
          if (likely((((x.outer*16) + x.inner) < 40))) {
            B(((y.outer*4) + y.inner), ((x.outer*16) + x.inner)) = (A(((y.outer*4) + y.inner), ((x.outer*16) + x.inner))*2.000000f)
          }
        }
      }
    }
  }
}
)");
}

constexpr char kProduct[] =
    "A = placeholder(float32, [8, 64])\n"
    "B = placeholder(float32, [4, 64, 48])\n"
    "C = compute([i: 8, j: 192], reduce [k: 64], "
    "sum((A(i, k)*B(floordiv(j, 48), k, floormod(j, 48)))))\n"
    "arguments A B C\noutputs C\n";

// The next panel of B, 64×48 elements in one piece, by the 4×64 iterations between: 12 elements
// each, one line.
TEST(InjectPrefetch, AnEqualShareOfALaterIteration) {
  EXPECT_EQ(fetched(kProduct,
                    "cache_write@1(s2, \"local\")\n"
                    "tile@1(s2, s2:0, s2:1, 2, 48)\n"
                    "reorder@1(s2, [t1.1, t1.0])\n"
                    "compute_at@1(t0.0, s2, t1.0)\n"
                    "reorder@1(t0.0, [t0.0:2, t0.0:0, t0.0:1])\n"
                    "prefetch_ahead@1(t0.0, t0.0:2, s1, s2, t1.1)"),
            "prefetch(B((j.outer + 1), 0, (((i.outer*64) + k)*12)), 0, 3, 1)");
}

// The same where both loops are fused: four iterations read one panel.
TEST(InjectPrefetch, AGroupReadsTheSame) {
  EXPECT_EQ(fetched(kProduct,
                    "cache_write@1(s2, \"local\")\n"
                    "tile@1(s2, s2:0, s2:1, 2, 48)\n"
                    "reorder@1(s2, [t1.1, t1.0])\n"
                    "fuse@1(s2, [t1.1, t1.0])\n"
                    "compute_at@1(t0.0, s2, t3.0)\n"
                    "reorder@1(t0.0, [t0.0:2, t0.0:0, t0.0:1])\n"
                    "prefetch_ahead@1(t0.0, t0.0:2, s1, s2, t3.0, group=4)"),
            "prefetch(B((floordiv(j.outer.i.outer.fused, 4) + 1), 0, "
            "(((floormod(j.outer.i.outer.fused, 4)*64) + k)*12)), 0, 3, 1)");
}

// Whole rows continue into one another; rows of a tile are walked one after the other. What is
// more than a line is several prefetches.
TEST(InjectPrefetch, SharesOfRows) {
  const auto share = [](std::string_view scope) {
    return fetched(kScale, "tile@1(s1, s1:0, s1:1, 4, 20)\nprefetch_ahead@1(s1, t0.2, s0, s1, " +
                               std::string(scope) + ")");
  };
  EXPECT_EQ(share("t0.0"),
            "prefetch(A(((y.outer*4) + 4), ((((x.outer*4) + y.inner)*20) + (line*16))), 0, 3, 1)");
  EXPECT_EQ(share("t0.1"),
            "prefetch(A(((y.outer*4) + y.inner), (((x.outer*20) + 20) + (line*16))), 0, 3, 1)");
}

// What one iteration will store is fetched for writing, before the sums that are computed for it.
TEST(InjectPrefetch, WhatIsStoredStandsBeforeTheSums) {
  EXPECT_EQ(injected("A = placeholder(float32, [8, 5])\n"
                     "C = compute([y: 8, x: 40], reduce [k: 5], sum(A(y, k)))\n"
                     "arguments A C\noutputs C\n",
                     "cache_write@1(s1, \"local\")\n"
                     "tile@1(s1, s1:0, s1:1, 4, 20)\n"
                     "compute_at@1(t0.0, s1, t1.1)\n"
                     "prefetch@2(s1, s1, t1.1, 0)"),
            R"(produce C {
  for (y.outer, 0, 2) {
    for (x.outer, 0, 2) {
      unrolled (row, 0, 4) {
        unrolled (line, 0, 2) {
          prefetch(C(((y.outer*4) + row), ((x.outer*20) + min((line*16), 19))), 1, 3, 1)
        }
      }
      realize C.local<local>([(y.outer*4), 4], [(x.outer*20), 20]) {
        produce C.local {
          for (y.c, 0, 4) {
            for (x.c, 0, 20) {
              C.local((y.c + (y.outer*4)), (x.c + (x.outer*20))) = 0.000000f
              for (k, 0, 5) {
                C.local((y.c + (y.outer*4)), (x.c + (x.outer*20))) = (C.local((y.c + (y.outer*4)), (x.c + (x.outer*20))) + A((y.c + (y.outer*4)), k))
              }
            }
          }
        }
        for (y.inner, 0, 4) {
          for (x.inner, 0, 20) {
            C(((y.outer*4) + y.inner), ((x.outer*20) + x.inner)) = C.local(((y.outer*4) + y.inner), ((x.outer*20) + x.inner))
          }
        }
      }
    }
  }
}
)");
}

// How many lines each row of a tile is taken to touch.
TEST(InjectPrefetch, LinesOfRowsThatBeginAnywhere) {
  const auto lines = [](int width, int tile) {
    const std::string text = injected(
        fmt::format("A = placeholder(float32, [4, {0}])\n"
                    "B = compute([y: 4, x: {0}], (A(y, x)*2.000000f))\narguments A B\noutputs B\n",
                    width),
        fmt::format("tile@1(s1, s1:0, s1:1, 2, {})\nprefetch@2(s1, s1, t0.1, 0)", tile));
    const std::string head = "(line, 0, ";
    const size_t at = text.find(head);
    return at == std::string::npos ? 1 : std::stoi(text.substr(at + head.size()));
  };
  EXPECT_EQ(lines(64, 16), 1);
  EXPECT_EQ(lines(56, 8), 1);
  EXPECT_EQ(lines(56, 14), 2);
  EXPECT_EQ(lines(40, 20), 2);
  EXPECT_EQ(lines(49, 16), 2);
  EXPECT_EQ(lines(49, 18), 3);
}

constexpr char kTwoTiles[] =
    "A = placeholder(float32, [8, 64])\n"
    "B = compute([y: 8, x: 64], (A(y, x)*2.000000f))\n"
    "C = compute([y: 8, x: 64], (B(y, x) + 1.000000f))\n"
    "arguments A C\noutputs C\n";

// Rows that are known to begin with a line are fetched without the one more.
TEST(InjectPrefetch, LinesOfRowsThatBeginWithOne) {
  EXPECT_EQ(fetched(kTwoTiles, "tile@1(s2, s2:0, s2:1, 4, 32)\nprefetch@2(s2, s2, t0.1, 0)"),
            "prefetch(C(((y.outer*4) + row), ((x.outer*32) + (line*16))), 1, 3, 1)");
  EXPECT_EQ(
      fetched(kTwoTiles, "tile@1(s2, s2:0, s2:1, 4, 24)\nprefetch@2(s2, s2, t0.1, 1)"),
      "prefetch(C(((y.outer*4) + row), (((x.outer*24) + 24) + min((line*16), 23))), 1, 3, 1)");
  // Whole rows are one.
  EXPECT_EQ(fetched(kTwoTiles, "split@1(s2, s2:0, factor=4)\nprefetch@2(s2, s2, t0.0, 1)"),
            "prefetch(C(((y.outer*4) + 4), (line*16)), 1, 3, 1)");
  // The memory of a stage that is no output may begin anywhere in the tensor.
  EXPECT_EQ(fetched(kTwoTiles,
                    "split@1(s2, s2:0, factor=4)\ncompute_at@1(s1, s2, t0.0)\n"
                    "prefetch@2(s1, s1, s1:0, 1)"),
            "prefetch(B((((y.outer*4) + y) + 1), min((line*16), 63)), 1, 3, 1)");
  // What is local needs no fetching.
  EXPECT_EQ(fetched(kTwoTiles, "set_scope@1(s1, \"local\")\nprefetch@2(s1, s1, s1:0, 1)"), "");
}

// A result of no dimensions is one line for good, and its sums fetch none; as text it may be asked
// for nevertheless.
TEST(InjectPrefetch, AScalar) {
  const auto sum = [](std::string_view trace) {
    return fetched(
        "A = placeholder(float32, [8])\n"
        "C = compute([], reduce [k: 8], sum(A(k)))\narguments A C\noutputs C\n",
        trace);
  };
  EXPECT_EQ(sum("prefetch@2(s1, s1, s1:0, 0)"), "");
  EXPECT_EQ(sum("split@1(s1, s1:0, factor=2)\nprefetch_ahead@1(s1, t0.1, s1, s1, t0.0)"), "");
  EXPECT_EQ(run_pass(pass::inject_prefetch, "declare C: float32[]\nprefetch_write C()\n"),
            "prefetch(C(), 1, 3, 1)\n");
}

// The iterations of the sums fetch shares of the next tile of what their reader stores. Of 16
// elements each, from anywhere in a line to anywhere in the next, one line.
TEST(InjectPrefetch, SharesOfWhatIsStored) {
  EXPECT_EQ(fetched(kProduct,
                    "cache_write@1(s2, \"local\")\n"
                    "tile@1(s2, s2:0, s2:1, 2, 48)\n"
                    "compute_at@1(t0.0, s2, t1.1)\n"
                    "reorder@1(t0.0, [t0.0:2, t0.0:0, t0.0:1])\n"
                    "split@1(t0.0, t0.0:2, nparts=6)\n"
                    "prefetch_ahead@1(t0.0, t4.0, s2, s2, t1.1)"),
            "prefetch(C(((i.outer*2) + floordiv(k.outer, 3)), (((j.outer*48) + (floormod(k.outer, "
            "3)*16)) + 48)), 1, 3, 1)");
}

}  // namespace
}  // namespace tw
