// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ir/expr.h"
#include "ir/verify.h"
#include "tests/support/scheduled.h"

namespace tw {
namespace {

using test::loops;

constexpr char kMatmul[] =
    "A = placeholder(int32, [4, 6])\n"
    "B = placeholder(int32, [6, 8])\n"
    "C = compute([y: 4, x: 8], reduce [k: 6], sum((A(y, k)*B(k, x))))\n"
    "arguments A B C\noutputs C\n";

// Data loops before the first reduction loop are shared; those after it run twice.
TEST(ScheduleOps, TheReductionStartsWhereItsFirstLoopDoes) {
  EXPECT_EQ(loops(kMatmul,
                  "split@1(s2, s2:1, factor=3)\nreorder@1(s2, [s2:0, s2:2, t0.0, "
                  "t0.1])\nvectorize@1(s2, t0.1)"),
            R"(produce C {
  for (y, 0, 4) {
    for (x.outer.init, 0, 3) {
      vectorized (x.inner.init, 0, 3) {
        if (likely((((x.outer.init*3) + x.inner.init) < 8))) {
          C(y, ((x.outer.init*3) + x.inner.init)) = 0
        }
      }
    }
    for (k, 0, 6) {
      for (x.outer, 0, 3) {
        vectorized (x.inner, 0, 3) {
          if (likely((((x.outer*3) + x.inner) < 8))) {
            C(y, ((x.outer*3) + x.inner)) = (C(y, ((x.outer*3) + x.inner)) + (A(y, k)*B(k, ((x.outer*3) + x.inner))))
          }
        }
      }
    }
  }
}
)");
}

TEST(ScheduleOps, AProducerBetweenInitializationAndUpdateIsInTheUpdate) {
  EXPECT_EQ(loops("A = placeholder(int32, [6])\n"
                  "P = compute([i: 6], (A(i) + 1))\n"
                  "S = compute([], reduce [k: 6], sum(P(k)))\n"
                  "arguments A S\noutputs S\n",
                  "split@1(s2, s2:0, factor=4)\ncompute_at@1(s1, s2, t0.0)"),
            R"(produce S {
  S() = 0
  for (k.outer, 0, 2) {
    realize P<global>([(k.outer*4), 4]) {
      produce P {
        for (i, 0, 4) {
          if (likely(((i + (k.outer*4)) < 6))) {
            P((i + (k.outer*4))) = (A((i + (k.outer*4))) + 1)
          }
        }
      }
      for (k.inner, 0, 4) {
        if (likely((((k.outer*4) + k.inner) < 6))) {
          S() = (S() + P(((k.outer*4) + k.inner)))
        }
      }
    }
  }
}
)");
}

// The place of the largest element must not be compared with the element just replaced.
TEST(ScheduleOps, TuplesAreComputedBeforeAnyIsStored) {
  EXPECT_EQ(
      loops("A = placeholder(int32, [8])\n"
            "M = compute([], reduce [k: 8], reduce(identity=[-100, 9], lhs=[v0, i0], rhs=[v1, i1], "
            "result=[max(v0, v1), select((v0 >= v1), i0, i1)], source=[A(k), k]))\n"
            "arguments A M.v0 M.v1\noutputs M.v0 M.v1\n"),
      R"(produce M {
  M.v0() = -100
  M.v1() = 9
  for (k, 0, 8) {
    let M.v1 = select((M.v0() >= A(k)), M.v1(), k)
    M.v0() = max(M.v0(), A(k))
    M.v1() = M.v1
  }
}
)");
}

TEST(ScheduleOps, IndependentComponentsNeedNoVariable) {
  EXPECT_EQ(
      loops("A = placeholder(int32, [8])\n"
            "M = compute([], reduce [k: 8], reduce(identity=[0, 0], lhs=[a0, b0], rhs=[a1, b1], "
            "result=[(a0 + a1), (b0 + b1)], source=[A(k), (A(k)*A(k))]))\n"
            "arguments A M.v0 M.v1\noutputs M.v0 M.v1\n")
          .find("let"),
      std::string::npos);
}

TEST(ScheduleOps, TrivialLoops) {
  const char* trace =
      "split@1(s2, s2:0, factor=4)\nsplit@1(s2, s2:1, factor=1)\nvectorize@1(s2, t1.1)";
  EXPECT_EQ(loops(kMatmul, trace), R"(produce C {
  for (y.inner, 0, 4) {
    for (x.outer, 0, 8) {
      C(y.inner, x.outer) = 0
      for (k, 0, 6) {
        C(y.inner, x.outer) = (C(y.inner, x.outer) + (A(y.inner, k)*B(k, x.outer)))
      }
    }
  }
}
)");
  const std::string kept = loops(kMatmul, trace, {.keep_trivial_loops = true});
  EXPECT_NE(kept.find("for (y.outer, 0, 1)"), std::string::npos);
  EXPECT_NE(kept.find("vectorized (x.inner, 0, 1)"), std::string::npos);
}

// An output that is not asked for still needs its place.
TEST(ScheduleOps, OutputsOfTheCallerAreNotRealized) {
  const std::string text = loops(
      "A = placeholder(int32, [4])\n"
      "B = compute([i: 4], [(A(i) + 1), (A(i)*2)])\n"
      "arguments A B.v1\noutputs B.v1\n");
  EXPECT_NE(text.find("realize B.v0<global>([0, 4])"), std::string::npos);
  EXPECT_EQ(text.find("realize B.v1"), std::string::npos);
}

TEST(ScheduleOps, ALoopThatSeveralStagesAreComputedIn) {
  EXPECT_EQ(loops("A = placeholder(int32, [6])\n"
                  "B = compute([i: 6], (A(i) + 1))\n"
                  "C = compute([i: 6], (B(i)*2))\n"
                  "D = compute([i: 6], (B(i) - C(i)))\n"
                  "arguments A D\noutputs D\n",
                  "compute_at@1(s2, s3, s3:0)\ncompute_at@1(s1, s3, s3:0)\nparallel@1(s3, s3:0)"),
            R"(produce D {
  parallel (i, 0, 6) {
    realize B<global>([i, 1]) {
      produce B {
        B(i) = (A(i) + 1)
      }
      realize C<global>([i, 1]) {
        produce C {
          C(i) = (B(i)*2)
        }
        D(i) = (B(i) - C(i))
      }
    }
  }
}
)");
}

}  // namespace
}  // namespace tw
