// SPDX-License-Identifier: Apache-2.0
// compute_at, compute_inline, compute_root, cache_write
#include <gtest/gtest.h>

#include "ir/expr.h"
#include "tests/support/scheduled.h"

namespace tw {
namespace {

using test::loops;
using test::scheduled;

constexpr char kChain[] =
    "A = placeholder(int32, [9])\n"
    "B = compute([i: 9], (A(i) + 1))\n"
    "C = compute([j: 9], (B(j)*2))\n"
    "arguments A C\noutputs C\n";
constexpr char kMatmul[] =
    "A = placeholder(int32, [4, 6])\n"
    "B = placeholder(int32, [6, 8])\n"
    "C = compute([y: 4, x: 8], reduce [k: 6], sum((A(y, k)*B(k, x))))\n"
    "D = compute([y: 4, x: 8], (C(y, x) + 1))\n"
    "arguments A B D\noutputs D\n";

TEST(ComputeAt, ARegionThatOverhangsIsGuarded) {
  EXPECT_EQ(loops(kChain, "split@1(s2, s2:0, factor=4)\ncompute_at@1(s1, s2, t0.0)"), R"(produce C {
  for (j.outer, 0, 3) {
    realize B<global>([(j.outer*4), 4]) {
      produce B {
        for (i, 0, 4) {
          if (likely(((i + (j.outer*4)) < 9))) {
            B((i + (j.outer*4))) = (A((i + (j.outer*4))) + 1)
          }
        }
      }
      for (j.inner, 0, 4) {
        if (likely((((j.outer*4) + j.inner) < 9))) {
          C(((j.outer*4) + j.inner)) = (B(((j.outer*4) + j.inner))*2)
        }
      }
    }
  }
}
)");
}

TEST(ComputeAt, ComputeRootTakesItBack) {
  EXPECT_EQ(loops(kChain, "compute_at@1(s1, s2, s2:0)\ncompute_root@1(s1)"), loops(kChain));
  EXPECT_EQ(loops(kChain, "compute_inline@1(s1)\ncompute_root@1(s1)"), loops(kChain));
}

TEST(ComputeInline, InChainsIntoReductionsAndConditions) {
  EXPECT_EQ(loops("A = placeholder(int32, [6])\n"
                  "B = compute([i: 6], (A(i) + 1))\n"
                  "C = compute([i: 6], (B(i)*2))\n"
                  "D = compute([], reduce [k: 6], sum(C(k), where=(B(k) > 0)))\n"
                  "arguments A D\noutputs D\n",
                  "compute_inline@1(s1)\ncompute_inline@1(s2)"),
            R"(produce D {
  D() = 0
  for (k, 0, 6) {
    if (((A(k) + 1) > 0)) {
      D() = (D() + ((A(k) + 1)*2))
    }
  }
}
)");
}

// The reduction moves into the cache; the stage becomes a copy and keeps its reference.
TEST(CacheWrite, OfAReduction) {
  const Schedule s = scheduled(kMatmul, "cache_write@1(s2, \"local\")");
  const Stage copy = s.stage({.index = 2}), cache = s.stage({.step = 0, .index = 0});
  EXPECT_EQ(copy.leaf_axes().size(), 2u);
  ASSERT_EQ(cache.leaf_axes().size(), 3u);
  EXPECT_EQ(cache.leaf_axes()[0].name(), "y.c");
  EXPECT_EQ(cache.leaf_axes()[2].name(), "k");
  EXPECT_EQ(s.stages()[2].op().get(), cache.op().get());
  EXPECT_EQ(loops(s), R"(realize C.local<local>([0, 4], [0, 8]) {
  produce C.local {
    for (y.c, 0, 4) {
      for (x.c, 0, 8) {
        C.local(y.c, x.c) = 0
        for (k, 0, 6) {
          C.local(y.c, x.c) = (C.local(y.c, x.c) + (A(y.c, k)*B(k, x.c)))
        }
      }
    }
  }
  realize C<global>([0, 4], [0, 8]) {
    produce C {
      for (y, 0, 4) {
        for (x, 0, 8) {
          C(y, x) = C.local(y, x)
        }
      }
    }
    produce D {
      for (y_1, 0, 4) {
        for (x_1, 0, 8) {
          D(y_1, x_1) = (C(y_1, x_1) + 1)
        }
      }
    }
  }
}
)");
}

TEST(CacheWrite, OfAnOutputAndOfACache) {
  const te::Tensor a = te::placeholder({4}, int_type(32), "A");
  const te::Tensor b =
      te::compute({4}, [&](const std::vector<Var>& i) { return a(i[0]) + 1; }, "B");
  const Schedule s = Schedule::create({b});
  const te::Tensor first = s.cache_write(b, "global");
  const te::Tensor second = s.cache_write(first, "local");
  EXPECT_EQ(first.name(), "B.global");
  EXPECT_EQ(second.name(), "B.global.local");
  // The program's tensor still names the output's stage, and the first cache's its own.
  EXPECT_TRUE(s[b].data().is_output);
  EXPECT_EQ(s[first].data().storage.scope, "global");
  EXPECT_EQ(s[second].data().storage.scope, "local");
  ASSERT_EQ(s.outputs().size(), 1u);
  EXPECT_EQ(s.outputs()[0].op().get(), s[b].op().get());
  EXPECT_EQ(s.stages().size(), 4u);
}

TEST(CacheWrite, OfSeveralOutputs) {
  EXPECT_EQ(loops("A = placeholder(int32, [4])\n"
                  "B = compute([i: 4], [(A(i) + 1), (A(i)*2)])\n"
                  "C = compute([i: 4], (B.v0(i) + B.v1(i)))\n"
                  "arguments A C B.v1\noutputs C B.v1\n",
                  "cache_write@1(s1, \"local\")\ncompute_at@1(t0.0, s1, s1:0)"),
            R"(realize B.v0<global>([0, 4]) {
  produce B {
    for (i, 0, 4) {
      realize B.local.v0<local>([i, 1]) {
        realize B.local.v1<local>([i, 1]) {
          produce B.local {
            B.local.v0(i) = (A(i) + 1)
            B.local.v1(i) = (A(i)*2)
          }
          B.v0(i) = B.local.v0(i)
          B.v1(i) = B.local.v1(i)
        }
      }
    }
  }
  produce C {
    for (i_1, 0, 4) {
      C(i_1) = (B.v0(i_1) + B.v1(i_1))
    }
  }
}
)");
}

}  // namespace
}  // namespace tw
