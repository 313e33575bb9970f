// SPDX-License-Identifier: Apache-2.0
// bind, create_group, double_buffer
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "schedule/validate.h"
#include "tests/support/scheduled.h"

namespace tw {
namespace {

using test::loops;

constexpr char kChain[] =
    "A = placeholder(int32, [30])\n"
    "B = compute([i: 30], (A(i)*2))\n"
    "C = compute([i: 30], (B(i) + 1))\n"
    "D = compute([i: 30], (C(i) + 3))\n"
    "arguments A D\noutputs D\n";

// What threads of a block share is what all of them need; what each has for itself, what it needs.
TEST(Bind, SharedMemoryIsForAllThreads) {
  EXPECT_EQ(loops(kChain,
                  "split@1(s3, s3:0, factor=8)\nsplit@1(s3, t0.1, factor=2)\n"
                  "bind@1(s3, t0.0, \"blockIdx.x\")\nbind@1(s3, t1.0, \"threadIdx.x[4]\")\n"
                  "set_scope@1(s1, \"shared\")\nset_scope@1(s2, \"local\")\n"
                  "compute_at@1(s1, s3, t1.0)\ncompute_at@1(s2, s3, t1.0)\n"
                  "split@1(s1, s1:0, nparts=4)\nbind@1(s1, t8.0, \"threadIdx.x[4]\")"),
            R"(produce D {
  // attr [] thread_axis = "blockIdx.x"
  for (i.outer, 0, 4) {
    // attr [] thread_axis = "threadIdx.x"
    for (i.inner.outer, 0, 4) {
      realize B<shared>([(i.outer*8), 8]) {
        produce B {
          // attr [] thread_axis = "threadIdx.x"
          for (i.outer_1, 0, 4) {
            for (i.inner, 0, 2) {
              if (likely(((((i.outer_1*2) + i.inner) + (i.outer*8)) < 30))) {
                B((((i.outer_1*2) + i.inner) + (i.outer*8))) = (A((((i.outer_1*2) + i.inner) + (i.outer*8)))*2)
              }
            }
          }
        }
        realize C<local>([((i.outer*8) + (i.inner.outer*2)), 2]) {
          produce C {
            for (i, 0, 2) {
              if (likely(((i + ((i.outer*8) + (i.inner.outer*2))) < 30))) {
                C((i + ((i.outer*8) + (i.inner.outer*2)))) = (B((i + ((i.outer*8) + (i.inner.outer*2)))) + 1)
              }
            }
          }
          for (i.inner.inner, 0, 2) {
            if (likely((((i.outer*8) + ((i.inner.outer*2) + i.inner.inner)) < 30))) {
              D(((i.outer*8) + ((i.inner.outer*2) + i.inner.inner))) = (C(((i.outer*8) + ((i.inner.outer*2) + i.inner.inner))) + 3)
            }
          }
        }
      }
    }
  }
}
)");
}

// The cell of a reduction across threads is one loop of it.
TEST(Bind, AReductionAxis) {
  EXPECT_EQ(
      loops("A = placeholder(int32, [4, 12])\n"
            "B = compute([i: 4], reduce [k: 12], sum(A(i, k)))\n"
            "arguments A B\noutputs B\n",
            "split@1(s1, s1:1, factor=4)\nrfactor@1(s1, t0.1)\n"
            "bind@1(s1, s1:0, \"threadIdx.y\")\nbind@1(s1, s1:1, \"threadIdx.x\")\n"
            "compute_at@1(t1.0, s1, s1:1)\nset_store_predicate@1(s1, \"(threadIdx.x == 0)\")"),
      R"(produce B {
  // attr [] thread_axis = "threadIdx.y"
  for (i, 0, 4) {
    B(i) = 0
    for (k.inner.v, 0, 4) {
      realize B.rf<global>([k.inner.v, 1], [i, 1]) {
        produce B.rf {
          B.rf(k.inner.v, i) = 0
          for (k.outer, 0, 3) {
            B.rf(k.inner.v, i) = (B.rf(k.inner.v, i) + A(i, ((k.outer*4) + k.inner.v)))
          }
        }
        B(i) = (B(i) + B.rf(k.inner.v, i))
      }
    }
  }
}
)");
}

TEST(CreateGroup, MovesWhatHasNoPlaceOfItsOwn) {
  EXPECT_EQ(loops(kChain,
                  "create_group@1(s2, [s2], [s0])\nsplit@1(s3, s3:0, factor=8)\n"
                  "compute_at@1(t0.0, s3, t1.0)\n"),
            R"(produce D {
  for (i.outer, 0, 4) {
    realize B<global>([(i.outer*8), 8]) {
      produce B {
        for (i, 0, 8) {
          if (likely(((i + (i.outer*8)) < 30))) {
            B((i + (i.outer*8))) = (A((i + (i.outer*8)))*2)
          }
        }
      }
      realize C<global>([(i.outer*8), 8]) {
        produce C {
          for (i_1, 0, 8) {
            if (likely(((i_1 + (i.outer*8)) < 30))) {
              C((i_1 + (i.outer*8))) = (B((i_1 + (i.outer*8))) + 1)
            }
          }
        }
        for (i.inner, 0, 8) {
          if (likely((((i.outer*8) + i.inner) < 30))) {
            D(((i.outer*8) + i.inner)) = (C(((i.outer*8) + i.inner)) + 3)
          }
        }
      }
    }
  }
}
)");
}

TEST(CreateGroup, InsideAnother) {
  EXPECT_EQ(loops(kChain,
                  "create_group@1(s1, [s1], [s0])\ncreate_group@1(s2, [s2], [s0])\n"
                  "compute_at@1(t0.0, s2, s2:0)\ncompute_at@1(t1.0, s3, s3:0)\n"),
            R"(produce D {
  for (i, 0, 30) {
    realize C<global>([i, 1]) {
      produce C {
        realize B<global>([i, 1]) {
          produce B {
            B(i) = (A(i)*2)
          }
          C(i) = (B(i) + 1)
        }
      }
      D(i) = (C(i) + 3)
    }
  }
}
)");
}

// What a stage of a group is divided into moves with the group, with the groups that are around it.
TEST(CreateGroup, TakesNewStages) {
  const auto place_of = [](std::string_view step) {
    const Schedule s = test::scheduled(
        "A = placeholder(int32, [12, 9])\n"
        "B = compute([i: 12, k: 9], (A(i, k) + 1))\n"
        "C = compute([i: 12], reduce [k: 9], sum(B(i, k)))\n"
        "D = compute([i: 12], (C(i) + 3))\n"
        "E = compute([i: 12], (D((11 - i))*2))\n"
        "arguments A E\noutputs E\n",
        fmt::format("create_group@1(s3, [s3], [s0])\ncreate_group@1(s2, [s2], [s0])\n"
                    "split@1(s4, s4:0, factor=4)\ncompute_at@1(t0.0, s4, t2.0)\n{}",
                    step));
    const StageData& made = s.stage({.step = 4, .index = 0}).data();
    EXPECT_TRUE(check(s, {}).empty()) << step;
    if (made.group == nullptr) return std::string("no group");
    return std::string(made.group->group == nullptr ? "outer" : "inner");
  };
  EXPECT_EQ(place_of("cache_write@1(s2, \"local\")"), "inner");
  EXPECT_EQ(place_of("cache_read@1(s1, \"local\", [s2])"), "inner");
  EXPECT_EQ(place_of("rfactor@1(s2, s2:1)"), "inner");
  EXPECT_EQ(place_of("cache_write@1(s3, \"local\")"), "outer");
  EXPECT_EQ(place_of("cache_read@1(s2, \"local\", [s3])"), "inner");
  // An input of the group is outside of it, and so is its copy.
  EXPECT_EQ(place_of("cache_read@1(s0, \"local\", [s1])"), "no group");
}

TEST(DoubleBuffer, IsMarked) {
  EXPECT_EQ(loops(kChain, "compute_inline@1(s1)\ncompute_at@1(s2, s3, s3:0)\ndouble_buffer@1(s2)"),
            R"(produce D {
  for (i, 0, 30) {
    // attr [0] double_buffer = 1
    realize C<global>([i, 1]) {
      produce C {
        C(i) = ((A(i)*2) + 1)
      }
      D(i) = (C(i) + 3)
    }
  }
}
)");
}

}  // namespace
}  // namespace tw
