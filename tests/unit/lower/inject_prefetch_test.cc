// SPDX-License-Identifier: Apache-2.0
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

}  // namespace
}  // namespace tw
