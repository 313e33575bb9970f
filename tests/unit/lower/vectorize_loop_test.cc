// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "runtime/error.h"
#include "tests/unit/lower/pass_text.h"

namespace tw {
namespace {

std::string vectorized(std::string_view text, bool predicate_tail = false,
                       const Target& target = {}) {
  const Kernel kernel{.body = parse_stmt(text)};
  return to_string(
      run_pass(pass::vectorize_loop, kernel, {.predicate_tail = predicate_tail}, target).body);
}

TEST(VectorizeLoop, StoresBecomeRamps) {
  EXPECT_EQ(vectorized(R"(declare y: int32
declare A: float32*
declare B: float32*
declare C: float32*
vectorized (x, 0, 8) {
  C[((y*8) + x)] = (A[((y*8) + x)] + B[y])
}
)"),
            "C[ramp((y*8), 1, 8)] = (A[ramp((y*8), 1, 8)] + x8(B[y]))\n");
}

TEST(VectorizeLoop, LoopsAreSerialWhereNothingIsVectorized) {
  const Kernel kernel{
      .body = parse_stmt("declare A: float32*\nvectorized (x, 0, 8) {\n  A[x] = 1f\n}\n")};
  const Stmt body = run_pass(pass::vectorize_loop, kernel, {.vectorize = false}, Target{}).body;
  EXPECT_EQ(as<For>(body)->for_kind, ForKind::Serial);
}

TEST(VectorizeLoop, StridedAndGatheredIndices) {
  EXPECT_EQ(vectorized(R"(declare A: float32*
declare B: int32*
declare C: float32*
vectorized (x, 0, 4) {
  C[(3 - x)] = A[B[(x*5)]]
}
)"),
            "C[ramp(3, -1, 4)] = A[B[ramp(0, 5, 4)]]\n");
}

TEST(VectorizeLoop, QuotientsOfOnePeriodAreScalar) {
  EXPECT_EQ(vectorized(R"(declare A: float32*
declare C: float32*
for (y, 0, 4) {
  vectorized (x, 0, 4) {
    C[((y*4) + x)] = A[((floordiv(((y*4) + x), 8)*100) + floormod(((y*4) + x), 8))]
  }
}
)"),
            R"(for (y, 0, 4) {
  C[ramp((y*4), 1, 4)] = A[ramp(((floordiv((y*4), 8)*100) + floormod((y*4), 8)), 1, 4)]
}
)");
}

TEST(VectorizeLoop, TailRunsLaneByLane) {
  EXPECT_EQ(vectorized(R"(declare C: float32*
for (y, 0, 7) {
  vectorized (xx.inner.init, 0, 16) {
    if (likely((xx.inner.init < 9))) {
      C[((y*9) + xx.inner.init)] = 0.000000f
    }
  }
}
)"),
            R"(for (y, 0, 7) {
  for (xx.inner.init.s, 0, 16) {
    if (likely((xx.inner.init.s < 9))) {
      C[((y*9) + xx.inner.init.s)] = 0.000000f
    }
  }
}
)");
}

TEST(VectorizeLoop, TailIsMasked) {
  EXPECT_EQ(vectorized(R"(declare A: float32*
declare B: float32*
declare C: float32*
for (y, 0, 2) {
  vectorized (x, 0, 8) {
    if (likely((((y*8) + x) < 9))) {
      C[((y*8) + x)] = (A[((y*8) + x)]*B[y])
    }
  }
}
)",
                       true),
            R"(for (y, 0, 2) {
  C[ramp((y*8), 1, 8)] = ((A[ramp((y*8), 1, 8)] if (ramp((y*8), 1, 8) < x8(9)))*x8(B[y])) if (ramp((y*8), 1, 8) < x8(9))
}
)");
}

TEST(VectorizeLoop, LessThanAVectorIsAVectorWhoseLastLanesAreOff) {
  const std::string text = R"(declare C: float32*
declare y: int32
vectorized (x, y, 7) {
  C[x] = 0.000000f
}
)";
  const Target masks{.vector_bits = 512, .has_masks = true};
  EXPECT_EQ(vectorized(text, true, masks),
            "C[ramp(y, 1, 8)] = x8(0.000000f) if (ramp(y, 1, 8) < x8((y + 7)))\n");
  EXPECT_EQ(vectorized(text, true), R"(C[ramp(y, 1, 4)] = x4(0.000000f)
C[ramp((y + 4), 1, 2)] = x2(0.000000f)
C[(y + 6)] = 0.000000f
)");
}

TEST(VectorizeLoop, OtherLengthsAreVectorsOfPowersOfTwo) {
  const auto stores = [](int extent, const Target& target) {
    return vectorized(fmt::format("declare C: float32*\n"
                                  "vectorized (x, 0, {}) {{\n"
                                  "  C[x] = 0.000000f\n"
                                  "}}\n",
                                  extent),
                      true, target);
  };
  const Target masks{.vector_bits = 512, .has_masks = true};
  EXPECT_EQ(stores(24, masks),
            "C[ramp(0, 1, 16)] = x16(0.000000f)\n"
            "C[ramp(16, 1, 8)] = x8(0.000000f)\n");
  EXPECT_EQ(stores(59, masks),
            "C[ramp(0, 1, 32)] = x32(0.000000f)\n"
            "C[ramp(32, 1, 16)] = x16(0.000000f)\n"
            "C[ramp(48, 1, 16)] = x16(0.000000f) if (ramp(48, 1, 16) < x16(59))\n");
  EXPECT_EQ(stores(20, Target{.vector_bits = 256}),
            "C[ramp(0, 1, 16)] = x16(0.000000f)\n"
            "C[ramp(16, 1, 4)] = x4(0.000000f)\n");
}

TEST(VectorizeLoop, MaskKeepsSharedReadsBehindATest) {
  // With no lane on, B[y] must not be read: y may be out of its range.
  EXPECT_EQ(vectorized(R"(declare B: float32*
declare C: float32*
declare n: int32
for (y, 0, 2) {
  vectorized (x, 0, 8) {
    if (likely((((y*8) + x) < n))) {
      C[((y*8) + x)] = B[y]
    }
  }
}
)",
                       true),
            R"(for (y, 0, 2) {
  if (likely(((y*8) < n))) {
    C[ramp((y*8), 1, 8)] = x8(B[y]) if (ramp((y*8), 1, 8) < x8(n))
  }
}
)");
}

TEST(VectorizeLoop, ConditionsSplitIntoSharedAndLanes) {
  EXPECT_EQ(vectorized(R"(declare C: float32*
for (y, 0, 8) {
  vectorized (x, 0, 8) {
    if ((likely((y < 5)) && likely((x < 3)))) {
      C[((y*3) + x)] = 1.000000f
    }
  }
}
)",
                       true),
            R"(for (y, 0, 8) {
  if (likely((y < 5))) {
    C[ramp((y*3), 1, 8)] = x8(1.000000f) if (ramp(0, 1, 8) < x8(3))
  }
}
)");
}

TEST(VectorizeLoop, PaddingBecomesMaskedLoads) {
  const std::string text = R"(declare A: float32*
declare C: float32*
vectorized (x, 0, 8) {
  C[x] = tvm_if_then_else(((2 <= x) && (x < 6)), A[(x - 2)], 0.000000f)
}
)";
  EXPECT_EQ(vectorized(text, true),
            "C[ramp(0, 1, 8)] = "
            "(A[ramp(-2, 1, 8)] if ((x8(2) <= ramp(0, 1, 8)) && (ramp(0, 1, 8) < x8(6))))\n");
  EXPECT_EQ(vectorized(text, false), R"(for (x.s, 0, 8) {
  C[x.s] = tvm_if_then_else(((2 <= x.s) && (x.s < 6)), A[(x.s - 2)], 0.000000f)
}
)");
}

TEST(VectorizeLoop, PaddingWithAnotherValueIsSelected) {
  const std::string text = R"(declare A: float32*
declare C: float32*
vectorized (x, 0, 8) {
  C[x] = tvm_if_then_else((x < 6), A[x], 1.000000f)
}
)";
  EXPECT_EQ(vectorized(text, true),
            "C[ramp(0, 1, 8)] = select((ramp(0, 1, 8) < x8(6)), "
            "(A[ramp(0, 1, 8)] if (ramp(0, 1, 8) < x8(6))), x8(1.000000f))\n");
}

TEST(VectorizeLoop, BuffersInsideGetAnElementALane) {
  EXPECT_EQ(vectorized(R"(declare A: float32*
declare C: float32*
vectorized (x, 0, 4) {
  // attr [t] storage_scope = "local"
  allocate t[float32 * 2]
  t[0] = A[x]
  t[1] = (t[0]*2.000000f)
  C[x] = t[1]
}
)"),
            R"(// attr [t] storage_scope = "local"
allocate t[float32 * 2 * 4]
t[ramp(0, 1, 4)] = A[ramp(0, 1, 4)]
t[ramp(4, 1, 4)] = (t[ramp(0, 1, 4)]*x4(2.000000f))
C[ramp(0, 1, 4)] = t[ramp(4, 1, 4)]
)");
}

// There are no vectors of addresses, and who has one counts on elements that lie side by side.
TEST(VectorizeLoop, CallsThatGetAddressesRunLaneByLane) {
  EXPECT_EQ(vectorized(R"(declare A: float32*
declare C: float32*
vectorized (x, 0, 4) {
  C[x] = call_pure_intrinsic<float32>("llvm.some.load", address_of(A[(x*2)]))
  C[x] = (C[x] + call_pure_intrinsic<float32>("llvm.some.load", address_of(A[0])))
  C[x] = call_pure_extern<float32>("first_of", address_of(A[x]))
}
)"),
            R"(for (x.s, 0, 4) {
  C[x.s] = call_pure_intrinsic<float32>("llvm.some.load", address_of(A[(x.s*2)]))
}
C[ramp(0, 1, 4)] = (C[ramp(0, 1, 4)] + x4(call_pure_intrinsic<float32>("llvm.some.load", address_of(A[0]))))
for (x.s_1, 0, 4) {
  C[x.s_1] = call_pure_extern<float32>("first_of", address_of(A[x.s_1]))
}
)");
  const std::string allocated = R"(declare C: float32*
vectorized (x, 0, 4) {
  allocate t[float32 * 2]
  call_extern<int32>("fill", address_of(t[0]), 2)
  C[x] = t[1]
}
)";
  EXPECT_EQ(vectorized(allocated), R"(for (x.s, 0, 4) {
  // attr [t] storage_scope = "global"
  allocate t[float32 * 2]
  call_extern<int32>("fill", address_of(t[0]), 2)
  C[x.s] = t[1]
}
)");
}

TEST(VectorizeLoop, LoopBoundsThatDifferBetweenLanes) {
  EXPECT_EQ(vectorized(R"(declare A: float32*
vectorized (x, 0, 4) {
  for (k, 0, x) {
    A[x] = (A[x] + 1.000000f)
  }
}
)"),
            R"(for (x.s, 0, 4) {
  for (k, 0, x.s) {
    A[x.s] = (A[x.s] + 1.000000f)
  }
}
)");
}

TEST(VectorizeLoop, LetsBecomeVectorsUnlessALaneNeedsThem) {
  EXPECT_EQ(vectorized(R"(declare A: int32*
declare B: int32*
vectorized (x, 0, 4) {
  let t = (A[x] + 1)
  B[x] = (t*t)
}
)"),
            R"(let t = (A[ramp(0, 1, 4)] + x4(1))
B[ramp(0, 1, 4)] = (t*t)
)");
  EXPECT_EQ(vectorized(R"(declare A: int32*
declare B: int32*
vectorized (x, 0, 4) {
  let t = (A[x] + 1)
  for (k, 0, t) {
    B[x] = k
  }
}
)"),
            R"(for (x.s, 0, 4) {
  let t = (A[x.s] + 1)
  for (k, 0, t) {
    B[x.s] = k
  }
}
)");
}

TEST(VectorizeLoop, OneElementForAllLanes) {
  EXPECT_EQ(vectorized(R"(declare A: int32*
vectorized (x, 0, 4) {
  A[0] = (A[0] + 1)
}
)"),
            R"(for (x.s, 0, 4) {
  A[0] = (A[0] + 1)
}
)");
}

TEST(VectorizeLoop, LanesThatHandValuesOnStaySerial) {
  EXPECT_EQ(vectorized(R"(declare A: int32*
declare B: int32*
declare T: int32*
vectorized (x, 0, 4) {
  T[0] = A[x]
  B[x] = T[0]
}
)"),
            R"(for (x, 0, 4) {
  T[0] = A[x]
  B[x] = T[0]
}
)");
  EXPECT_EQ(vectorized(R"(declare A: int32*
vectorized (x, 0, 4) {
  A[floordiv(x, 2)] = (A[floordiv(x, 2)] + x)
}
)"),
            R"(for (x.s, 0, 4) {
  A[floordiv(x.s, 2)] = (A[floordiv(x.s, 2)] + x.s)
}
)");
}

TEST(VectorizeLoop, WideLoopsAreCut) {
  EXPECT_EQ(vectorized(R"(declare A: int32*
vectorized (x, 0, 1000) {
  A[x] = x
}
)"),
            R"(for (x.part, 0, 15) {
  A[ramp((x.part*64), 1, 64)] = ramp((x.part*64), 1, 64)
}
A[ramp(960, 1, 32)] = ramp(960, 1, 32)
A[ramp(992, 1, 8)] = ramp(992, 1, 8)
)");
}

TEST(VectorizeLoop, InnermostVectorWins) {
  EXPECT_EQ(vectorized(R"(declare A: int32*
vectorized (y, 0, 4) {
  vectorized (x, 0, 4) {
    A[((y*4) + x)] = 1
  }
}
)"),
            R"(for (y, 0, 4) {
  A[ramp((y*4), 1, 4)] = x4(1)
}
)");
}

TEST(VectorizeLoop, SymbolicExtentIsRefused) {
  try {
    vectorized("declare n: int32\ndeclare A: int32*\nvectorized (x, 0, n) {\n  A[x] = 1\n}\n");
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::SymbolicExtent);
  }
}

}  // namespace
}  // namespace tw
