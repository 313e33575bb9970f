// SPDX-License-Identifier: Apache-2.0
// cache_read, set_scope
#include <gtest/gtest.h>

#include "ir/expr.h"
#include "tests/support/scheduled.h"

namespace tw {
namespace {

using test::loops;
using test::scheduled;

constexpr char kMatmul[] =
    "A = placeholder(int32, [4, 6])\n"
    "B = placeholder(int32, [6, 8])\n"
    "C = compute([y: 4, x: 8], reduce [k: 6], sum((A(y, k)*B(k, x))))\n"
    "arguments A B C\noutputs C\n";

// At each level the copy is as large as what is read during one iteration.
TEST(CacheRead, InEveryLoopOfItsReader) {
  const std::string base =
      "cache_read@1(s1, \"local\", [s2])\nsplit@1(s2, s2:1, factor=4)\nsplit@1(s2, s2:2, "
      "factor=3)\n"
      "reorder@1(s2, [t1.0, t2.0, s2:0, t2.1, t1.1])\n";
  const auto region = [&](const std::string& axis) {
    const std::string text = loops(kMatmul, base + "compute_at@1(t0.0, s2, " + axis + ")");
    const size_t begin = text.find("realize");
    return text.substr(begin, text.find(" {", begin) - begin);
  };
  EXPECT_EQ(region("t1.0"), "realize B.local<local>([0, 6], [(x.outer*4), 4])");
  EXPECT_EQ(region("t2.0"), "realize B.local<local>([(k.outer*3), 3], [(x.outer*4), 4])");
  EXPECT_EQ(region("t2.1"),
            "realize B.local<local>([((k.outer*3) + k.inner), 1], [(x.outer*4), 4])");
  EXPECT_EQ(region("t1.1"),
            "realize B.local<local>([((k.outer*3) + k.inner), 1], [((x.outer*4) + x.inner), 1])");
  EXPECT_EQ(loops(kMatmul, base + "compute_at@1(t0.0, s2, t2.0)"), R"(produce C {
  for (x.outer, 0, 2) {
    for (y.init, 0, 4) {
      for (x.inner.init, 0, 4) {
        C(y.init, ((x.outer*4) + x.inner.init)) = 0
      }
    }
    for (k.outer, 0, 2) {
      realize B.local<local>([(k.outer*3), 3], [(x.outer*4), 4]) {
        produce B.local {
          for (ax0, 0, 3) {
            for (ax1, 0, 4) {
              B.local((ax0 + (k.outer*3)), (ax1 + (x.outer*4))) = B((ax0 + (k.outer*3)), (ax1 + (x.outer*4)))
            }
          }
        }
        for (y, 0, 4) {
          for (k.inner, 0, 3) {
            for (x.inner, 0, 4) {
              C(y, ((x.outer*4) + x.inner)) = (C(y, ((x.outer*4) + x.inner)) + (A(y, ((k.outer*3) + k.inner))*B.local(((k.outer*3) + k.inner), ((x.outer*4) + x.inner))))
            }
          }
        }
      }
    }
  }
}
)");
}

TEST(CacheRead, OnlyItsReadersReadIt) {
  EXPECT_EQ(loops("A = placeholder(int32, [4])\n"
                  "P = compute([i: 4], (A(i) + 1))\n"
                  "B = compute([i: 4], (P(i)*2))\n"
                  "C = compute([i: 4], (P(i) + B(i)))\n"
                  "arguments A C\noutputs C\n",
                  "cache_read@1(s1, \"global\", [s3])"),
            R"(realize P<global>([0, 4]) {
  produce P {
    for (i, 0, 4) {
      P(i) = (A(i) + 1)
    }
  }
  realize P.global<global>([0, 4]) {
    produce P.global {
      for (i_1, 0, 4) {
        P.global(i_1) = P(i_1)
      }
    }
    realize B<global>([0, 4]) {
      produce B {
        for (i_2, 0, 4) {
          B(i_2) = (P(i_2)*2)
        }
      }
      produce C {
        for (i_3, 0, 4) {
          C(i_3) = (P.global(i_3) + B(i_3))
        }
      }
    }
  }
}
)");
}

TEST(CacheRead, OfOneOfSeveralOutputs) {
  const te::Tensor a = te::placeholder({4}, int_type(32), "A");
  const auto b = te::compute_many(
      {4}, [&](const std::vector<Var>& i) { return std::vector<Expr>{a(i[0]) + 1, a(i[0]) * 2}; },
      "B");
  const te::Tensor c =
      te::compute({4}, [&](const std::vector<Var>& i) { return b[0](i[0]) + b[1](i[0]); }, "C");
  const Schedule s = Schedule::create({c});
  const te::Tensor cache = s.cache_read(b[1], "local", {c.op()});
  EXPECT_EQ(cache.name(), "B.v1.local");
  EXPECT_EQ(to_text(s.trace()), "cache_read@1(s1, \"local\", [s2], value_index=1)\n");
  EXPECT_EQ(s[cache].data().inputs.size(), 1u);
  EXPECT_EQ(s[c].data().inputs.size(), 2u);
  EXPECT_EQ(s.stages()[2].op().get(), cache.op().get());
}

TEST(CacheRead, OfACacheAndBesideCacheWrite) {
  const Schedule s = scheduled(kMatmul,
                               "cache_write@1(s2, \"local\")\n"
                               "cache_read@1(s0, \"global\", [t0.0])\n"
                               "cache_read@1(t1.0, \"local\", [t0.0])\n");
  const Stage panel = s.stage({.step = 2, .index = 0});
  EXPECT_EQ(panel.op().name(), "A.global.local");
  EXPECT_EQ(s[panel.data().inputs.at(0)].op().name(), "A.global");
}

// The loops, with what is marked on them and computed in them, go with the computation.
TEST(CacheWrite, TakesTheLoopsThatThereAre) {
  EXPECT_EQ(loops("A = placeholder(int32, [6])\n"
                  "P = compute([i: 6], (A(i) + 1))\n"
                  "B = compute([i: 6], (P(i)*2))\n"
                  "arguments A B\noutputs B\n",
                  "split@1(s2, s2:0, factor=4)\nreorder@1(s2, [t0.1, t0.0])\n"
                  "compute_at@1(s1, s2, t0.1)\nunroll@1(s2, t0.0)\ncache_write@1(s2, \"local\")"),
            R"(realize B.local<local>([0, 4], [0, 2]) {
  produce B.local {
    for (i.inner.c, 0, 4) {
      realize P<global>([i.inner.c, 5]) {
        produce P {
          for (i, 0, 5) {
            if (likely(((i + i.inner.c) < 6))) {
              P((i + i.inner.c)) = (A((i + i.inner.c)) + 1)
            }
          }
        }
        unrolled (i.outer.c, 0, 2) {
          B.local(i.inner.c, i.outer.c) = tvm_if_then_else(likely((((i.outer.c*4) + i.inner.c) < 6)), (P(((i.outer.c*4) + i.inner.c))*2), 0)
        }
      }
    }
  }
  produce B {
    for (i_1, 0, 6) {
      B(i_1) = B.local(floormod(i_1, 4), floordiv(i_1, 4))
    }
  }
}
)");
}

TEST(CacheWrite, KeepsTheLoopsOfAReduction) {
  EXPECT_EQ(loops(kMatmul,
                  "split@1(s2, s2:2, factor=4)\nsplit@1(s2, s2:1, factor=4)\n"
                  "reorder@1(s2, [t1.0, t0.0, s2:0, t0.1, t1.1])\ncache_write@1(s2, \"local\")\n"
                  "unroll@1(t3.0, t0.1)\nvectorize@1(t3.0, t3.0:2)"),
            R"(realize C.local<local>([0, 2], [0, 4], [0, 4]) {
  produce C.local {
    for (x.outer.c, 0, 2) {
      for (y.c.init, 0, 4) {
        vectorized (x.inner.c.init, 0, 4) {
          C.local(x.outer.c, y.c.init, x.inner.c.init) = 0
        }
      }
      for (k.outer, 0, 2) {
        for (y.c, 0, 4) {
          unrolled (k.inner, 0, 4) {
            if (likely((((k.outer*4) + k.inner) < 6))) {
              vectorized (x.inner.c, 0, 4) {
                C.local(x.outer.c, y.c, x.inner.c) = (C.local(x.outer.c, y.c, x.inner.c) + (A(y.c, ((k.outer*4) + k.inner))*B(((k.outer*4) + k.inner), ((x.outer.c*4) + x.inner.c))))
              }
            }
          }
        }
      }
    }
  }
  produce C {
    for (y, 0, 4) {
      for (x, 0, 8) {
        C(y, x) = C.local(floordiv(x, 4), y, floormod(x, 4))
      }
    }
  }
}
)");
}

TEST(SetScope, OfAStageBetween) {
  const Schedule s =
      scheduled(kMatmul, "cache_write@1(s2, \"local\")\nset_scope@1(t0.0, \"global\")");
  EXPECT_NE(loops(s).find("realize C.local<global>("), std::string::npos);
  s.stages()[2].set_scope("local");
  EXPECT_NE(loops(s).find("realize C.local<local>("), std::string::npos);
}

TEST(StorageAlign, PadsThePitchOfADimension) {
  EXPECT_EQ(loops("A = placeholder(int32, [4])\n"
                  "B = compute([i: 4], (A(i) + 1))\n"
                  "C = compute([i: 4], B(i))\n"
                  "arguments A C\noutputs C\n",
                  "storage_align@1(s1, s1:0, 8, 1)"),
            R"(// attr [0] row_pitch = 8
// attr [0] row_pitch_offset = 1
realize B<global>([0, 4]) {
  produce B {
    for (i, 0, 4) {
      B(i) = (A(i) + 1)
    }
  }
  produce C {
    for (i_1, 0, 4) {
      C(i_1) = B(i_1)
    }
  }
}
)");
}

}  // namespace
}  // namespace tw
