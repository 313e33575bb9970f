// SPDX-License-Identifier: Apache-2.0
// transform_layout, collapse_layout, rfactor
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

// A panel of B for each tile of C, as large as the tile needs, its innermost loop contiguous.
TEST(TransformLayout, PacksPanels) {
  EXPECT_EQ(loops(kMatmul,
                  "cache_read@1(s1, \"global\", [s2])\n"
                  "transform_layout@1(t0.0, axis=t0.0:1, factor=4, order=[1, 0, 2])\n"
                  "split@1(s2, s2:1, factor=4)\nreorder@1(s2, [t2.0, s2:0, s2:2, t2.1])\n"
                  "compute_at@1(t0.0, s2, t2.0)\nvectorize@1(t0.0, t0.0:2)"),
            R"(produce C {
  for (x.outer, 0, 2) {
    realize B.global<global>([x.outer, 1], [0, 6], [0, 4]) {
      produce B.global {
        for (ax0, 0, 6) {
          vectorized (ax1.i, 0, 4) {
            B.global(x.outer, ax0, ax1.i) = B(ax0, ((x.outer*4) + ax1.i))
          }
        }
      }
      for (y, 0, 4) {
        for (x.inner.init, 0, 4) {
          C(y, ((x.outer*4) + x.inner.init)) = 0
        }
        for (k, 0, 6) {
          for (x.inner, 0, 4) {
            C(y, ((x.outer*4) + x.inner)) = (C(y, ((x.outer*4) + x.inner)) + (A(y, k)*B.global(floordiv(((x.outer*4) + x.inner), 4), k, floormod(((x.outer*4) + x.inner), 4))))
          }
        }
      }
    }
  }
}
)");
}

// What the last tile has too much is zero.
TEST(TransformLayout, PadsTheLastTile) {
  EXPECT_EQ(loops("A = placeholder(float32, [10])\n"
                  "B = compute([i: 10], (A(i)*2.000000f))\n"
                  "C = compute([j: 10], B((9 - j)))\n"
                  "arguments A C\noutputs C\n",
                  "transform_layout@1(s1, axis=s1:0, factor=4)"),
            R"(realize B<global>([0, 3], [0, 4]) {
  produce B {
    for (i.o, 0, 3) {
      for (i.i, 0, 4) {
        B(i.o, i.i) = tvm_if_then_else(likely((((i.o*4) + i.i) < 10)), (A(((i.o*4) + i.i))*2.000000f), 0.000000f)
      }
    }
  }
  produce C {
    for (j, 0, 10) {
      C(j) = B(floordiv((9 - j), 4), floormod((9 - j), 4))
    }
  }
}
)");
}

// Elements of a reduction that pad keep the identity.
TEST(TransformLayout, OfAReduction) {
  EXPECT_EQ(loops("A = placeholder(int32, [3, 5])\n"
                  "B = compute([i: 5], reduce [k: 3], max(A(k, i), where=(k > 0)))\n"
                  "C = compute([i: 5], B(i))\n"
                  "arguments A C\noutputs C\n",
                  "transform_layout@1(s1, axis=s1:0, factor=2, order=[1, 0])"),
            R"(realize B<global>([0, 2], [0, 3]) {
  produce B {
    for (i.i, 0, 2) {
      for (i.o, 0, 3) {
        B(i.i, i.o) = -2147483648
        for (k, 0, 3) {
          if ((likely((((i.o*2) + i.i) < 5)) && (k > 0))) {
            B(i.i, i.o) = max(B(i.i, i.o), A(k, ((i.o*2) + i.i)))
          }
        }
      }
    }
  }
  produce C {
    for (i, 0, 5) {
      C(i) = B(floormod(i, 2), floordiv(i, 2))
    }
  }
}
)");
}

TEST(TransformLayout, OrderAloneTransposes) {
  const Schedule s = scheduled(kMatmul, "cache_read@1(s1, \"global\", [s2])");
  const Stage copy = s.stage({.step = 0, .index = 0});
  copy.transform_layout({1, 0});
  EXPECT_EQ(to_text(s.trace().steps.back()), "transform_layout@1(t0.0, order=[1, 0])");
  EXPECT_EQ(copy.leaf_axes()[0].name(), "ax1");
  copy.transform_layout(copy.axis(0), 4);
  copy.transform_layout(copy.axis(2), 3, {0, 2, 1, 3});
  EXPECT_EQ(copy.leaf_axes().size(), 4u);
  EXPECT_EQ(loops(s), R"(realize B.global<global>([0, 2], [0, 2], [0, 4], [0, 3]) {
  produce B.global {
    for (ax1.o, 0, 2) {
      for (ax0.o, 0, 2) {
        for (ax1.i, 0, 4) {
          for (ax0.i, 0, 3) {
            B.global(ax1.o, ax0.o, ax1.i, ax0.i) = B(((ax0.o*3) + ax0.i), ((ax1.o*4) + ax1.i))
          }
        }
      }
    }
  }
  produce C {
    for (y, 0, 4) {
      for (x, 0, 8) {
        C(y, x) = 0
        for (k, 0, 6) {
          C(y, x) = (C(y, x) + (A(y, k)*B.global(floordiv(x, 4), floordiv(k, 3), floormod(x, 4), floormod(k, 3))))
        }
      }
    }
  }
}
)");
}

constexpr char kRows[] =
    "A = placeholder(int32, [3, 5, 7])\n"
    "B = compute([c: 3, y: 5, x: 7], (A(c, y, x)*2))\n"
    "C = compute([c: 3, y: 5, x: 7], (B(c, y, x) + 1))\n"
    "arguments A C\noutputs C\n";

TEST(CollapseLayout, NeighboursBecomeOne) {
  EXPECT_EQ(loops(kRows, "collapse_layout@1(s1, [s1:1, s1:2])"),
            R"(realize B<global>([0, 3], [0, 35]) {
  produce B {
    for (c, 0, 3) {
      for (y.x, 0, 35) {
        B(c, y.x) = (A(c, floordiv(y.x, 7), floormod(y.x, 7))*2)
      }
    }
  }
  produce C {
    for (c_1, 0, 3) {
      for (y, 0, 5) {
        for (x, 0, 7) {
          C(c_1, y, x) = (B(c_1, ((y*7) + x)) + 1)
        }
      }
    }
  }
}
)");
}

TEST(CollapseLayout, OfAllDimensions) {
  EXPECT_EQ(loops(kRows, "collapse_layout@1(s1, [s1:0, s1:1, s1:2])"),
            R"(realize B<global>([0, 105]) {
  produce B {
    for (c.y.x, 0, 105) {
      B(c.y.x) = (A(floordiv(c.y.x, 35), floormod(floordiv(c.y.x, 7), 5), floormod(c.y.x, 7))*2)
    }
  }
  produce C {
    for (c, 0, 3) {
      for (y, 0, 5) {
        for (x, 0, 7) {
          C(c, y, x) = (B(((((c*5) + y)*7) + x)) + 1)
        }
      }
    }
  }
}
)");
}

// A tile of the consumer's fused axis needs as many elements as it has, and ends where it likes.
TEST(CollapseLayout, OfATileThatCrossesRows) {
  const std::string text =
      loops(kRows,
            "collapse_layout@1(s1, [s1:1, s1:2])\n"
            "fuse@1(s2, [s2:1, s2:2])\nsplit@1(s2, t1.0, factor=5)\ncompute_at@1(s1, s2, t2.0)");
  EXPECT_NE(text.find("realize B<global>([c, 1], [(y.x.fused.outer*5), 5])"), std::string::npos)
      << text;
  EXPECT_EQ(text.find("likely"), std::string::npos) << text;
}

// Loops around the tile, of which the fused axis is a part, stand still.
TEST(CollapseLayout, OfATileOfATile) {
  const std::string text = loops(kRows,
                                 "collapse_layout@1(s1, [s1:0, s1:1, s1:2])\n"
                                 "fuse@1(s2, [s2:0, s2:1, s2:2])\nsplit@1(s2, t1.0, factor=35)\n"
                                 "split@1(s2, t2.1, factor=5)\ncompute_at@1(s1, s2, t3.0)");
  EXPECT_NE(text.find("realize B<global>([((c.y.fused.x.fused.outer*35) + "
                      "(c.y.fused.x.fused.inner.outer*5)), 5])"),
            std::string::npos)
      << text;
}

TEST(RFactor, TheInnerPartOfASplit) {
  EXPECT_EQ(loops("A = placeholder(int32, [4, 12])\n"
                  "B = compute([i: 4], reduce [k: 12], sum(A(i, k)))\n"
                  "arguments A B\noutputs B\n",
                  "split@1(s1, s1:1, factor=3)\nrfactor@1(s1, t0.1)\ncompute_at@1(t1.0, s1, s1:0)"),
            R"(produce B {
  for (i, 0, 4) {
    realize B.rf<global>([0, 3], [i, 1]) {
      produce B.rf {
        for (k.inner, 0, 3) {
          B.rf(k.inner, i) = 0
          for (k.outer, 0, 4) {
            B.rf(k.inner, i) = (B.rf(k.inner, i) + A(i, ((k.outer*3) + k.inner)))
          }
        }
      }
      B(i) = 0
      for (k.inner.v, 0, 3) {
        B(i) = (B(i) + B.rf(k.inner.v, i))
      }
    }
  }
}
)");
}

// Terms outside the domain are left out, whichever part is factored.
TEST(RFactor, ExtentsThatDoNotDivide) {
  EXPECT_EQ(loops("A = placeholder(int32, [10])\n"
                  "B = compute([], reduce [k: 10], max(A(k), where=(A(k) < 5)))\n"
                  "arguments A B\noutputs B\n",
                  "split@1(s1, s1:0, factor=4)\nrfactor@1(s1, t0.0)"),
            R"(realize B.rf<global>([0, 3]) {
  produce B.rf {
    for (k.outer, 0, 3) {
      B.rf(k.outer) = -2147483648
      for (k.inner, 0, 4) {
        if (tvm_if_then_else(likely((((k.outer*4) + k.inner) < 10)), (A(((k.outer*4) + k.inner)) < 5), (bool)0)) {
          B.rf(k.outer) = max(B.rf(k.outer), A(((k.outer*4) + k.inner)))
        }
      }
    }
  }
  produce B {
    B() = -2147483648
    for (k.outer.v, 0, 3) {
      B() = max(B(), B.rf(k.outer.v))
    }
  }
}
)");
}

// What a script holds it goes on with: loops of the reduction in the new stage, of data in the old.
TEST(RFactor, AfterSplitsOfBothKinds) {
  EXPECT_EQ(loops("A = placeholder(int32, [8, 12])\n"
                  "P = compute([i: 8, k: 12], (A(i, k)*2))\n"
                  "B = compute([i: 8], reduce [k: 12], sum(P(i, k)))\n"
                  "arguments A B\noutputs B\n",
                  "split@1(s2, s2:1, factor=3)\nsplit@1(s2, s2:0, factor=4)\n"
                  "reorder@1(s2, [t1.0, t0.0, t1.1, t0.1])\nparallel@1(s2, t1.0)\n"
                  "compute_at@1(s1, s2, t0.1)\nrfactor@1(s2, t0.0)\n"
                  "compute_at@1(t5.0, s2, t1.1)\nsplit@1(t5.0, t0.1, factor=2)\n"
                  "parallel@1(t5.0, t0.0)"),
            R"(produce B {
  parallel (i.outer, 0, 2) {
    for (i.inner.init, 0, 4) {
      B(((i.outer*4) + i.inner.init)) = 0
    }
    for (k.outer.v, 0, 4) {
      for (i.inner, 0, 4) {
        realize B.rf<global>([k.outer.v, 1], [((i.outer*4) + i.inner), 1]) {
          produce B.rf {
            B.rf(k.outer.v, ((i.outer*4) + i.inner)) = 0
            for (k.inner.outer, 0, 2) {
              for (k.inner.inner, 0, 2) {
                realize P<global>([((i.outer*4) + i.inner), 1], [(((k.outer.v*3) + (k.inner.outer*2)) + k.inner.inner), 1]) {
                  produce P {
                    if (likely(((((k.outer.v*3) + (k.inner.outer*2)) + k.inner.inner) < 12))) {
                      P(((i.outer*4) + i.inner), (((k.outer.v*3) + (k.inner.outer*2)) + k.inner.inner)) = (A(((i.outer*4) + i.inner), (((k.outer.v*3) + (k.inner.outer*2)) + k.inner.inner))*2)
                    }
                  }
                  if (likely((((k.inner.outer*2) + k.inner.inner) < 3))) {
                    B.rf(k.outer.v, ((i.outer*4) + i.inner)) = (B.rf(k.outer.v, ((i.outer*4) + i.inner)) + P(((i.outer*4) + i.inner), ((k.outer.v*3) + ((k.inner.outer*2) + k.inner.inner))))
                  }
                }
              }
            }
          }
          B(((i.outer*4) + i.inner)) = (B(((i.outer*4) + i.inner)) + B.rf(k.outer.v, ((i.outer*4) + i.inner)))
        }
      }
    }
  }
}
)");
}

// What is reduced is computed inside a loop over data: the partial sums are too, inside the
// innermost of these loops.
TEST(RFactor, BesideAStageInADataLoop) {
  const std::string program =
      "A = placeholder(int32, [4, 10])\n"
      "Q = compute([i: 4, k: 10], (A(i, k)*2))\n"
      "P = compute([i: 4, k: 10], (Q(i, k) + 1))\n"
      "B = compute([i: 4, j: 2], reduce [k: 10], sum((P(i, k) + j)))\n"
      "arguments A B\noutputs B\n";
  EXPECT_EQ(loops(program,
                  "compute_at@1(s2, s3, s3:0)\ncompute_inline@1(s1)\n"
                  "split@1(s3, s3:2, factor=4)\nrfactor@1(s3, t2.1)"),
            R"(produce B {
  for (i, 0, 4) {
    realize P<global>([i, 1], [0, 10]) {
      produce P {
        for (k, 0, 10) {
          P(i, k) = ((A(i, k)*2) + 1)
        }
      }
      realize B.rf<global>([0, 4], [i, 1], [0, 2]) {
        produce B.rf {
          for (k.inner, 0, 4) {
            for (j, 0, 2) {
              B.rf(k.inner, i, j) = 0
              for (k.outer, 0, 3) {
                if (likely((((k.outer*4) + k.inner) < 10))) {
                  B.rf(k.inner, i, j) = (B.rf(k.inner, i, j) + (P(i, ((k.outer*4) + k.inner)) + j))
                }
              }
            }
          }
        }
        for (j_1, 0, 2) {
          B(i, j_1) = 0
          for (k.inner.v, 0, 4) {
            B(i, j_1) = (B(i, j_1) + B.rf(k.inner.v, i, j_1))
          }
        }
      }
    }
  }
}
)");
  // That of a stage which nothing of it is read by stays where it is.
  const std::string started =
      "A = placeholder(int32, [4, 10])\n"
      "P = compute([i: 4], (A(i, 0)*2))\n"
      "B = compute([i: 4], reduce [k: 10], sum(A(i, k)), init=[P(i)])\n"
      "arguments A B\noutputs B\n";
  const Schedule s = scheduled(started, "compute_at@1(s1, s2, s2:0)\nrfactor@1(s2, s2:1)");
  EXPECT_EQ(s.stage({.step = 1, .index = 0}).data().attach_type, AttachType::GroupRoot);
}

TEST(RFactor, AWholeAxisAndItsPlace) {
  EXPECT_EQ(loops("A = placeholder(int32, [4, 12])\n"
                  "B = compute([i: 4], reduce [k: 12], sum(A(i, k)))\n"
                  "arguments A B\noutputs B\n",
                  "rfactor@1(s1, s1:1, factor_axis=-1)"),
            R"(realize B.rf<global>([0, 4], [0, 12]) {
  produce B.rf {
    for (i, 0, 4) {
      for (k, 0, 12) {
        B.rf(i, k) = A(i, k)
      }
    }
  }
  produce B {
    for (i_1, 0, 4) {
      B(i_1) = 0
      for (k.v, 0, 12) {
        B(i_1) = (B(i_1) + B.rf(i_1, k.v))
      }
    }
  }
}
)");
}

}  // namespace
}  // namespace tw
