// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/unit/lower/pass_text.h"

namespace tw {
namespace {

std::string promoted(std::string_view text) {
  const Kernel kernel{.body = parse_stmt(text)};
  return to_string(
      run_pass(pass::promote_accumulator, kernel, {}, {.vector_bits = 512, .has_masks = true})
          .body);
}

// Statements in which `body` runs nine times; whether C gets a local buffer.
bool promotes(std::string_view body) {
  const std::string text = fmt::format(
      "declare A: float32*\n"
      "declare D: int32*\n"
      "declare C: float32*\n"
      "declare n: int32\n"
      "for (k, 0, 9) {{\n{}\n}}\n",
      body);
  return promoted(text).find("C.acc") != std::string::npos;
}

TEST(PromoteAccumulator, MaskedVectorsAreLocalWhileTheLoopRuns) {
  EXPECT_EQ(promoted(R"(declare A: float32*
declare C: float32*
declare n: int32
for (k, 0, 9) {
  unrolled (i, 0, 2) {
    C[ramp((i*40), 1, 16)] = x16(0.000000f)
    C[ramp(((i*40) + 16), 1, 16)] = ((C[ramp(((i*40) + 16), 1, 16)] if (ramp(16, 1, 16) < x16(n))) + x16(A[k])) if (ramp(16, 1, 16) < x16(n))
  }
}
)"),
            R"(// attr [C.acc] storage_scope = "local"
allocate C.acc[float32 * 64]
unrolled (i, 0, 2) {
  C.acc[ramp((i*16), 1, 16)] = C[ramp((i*40), 1, 16)]
}
unrolled (i_1, 0, 2) {
  C.acc[ramp(((i_1*16) + 32), 1, 16)] = (C[ramp(((i_1*40) + 16), 1, 16)] if (ramp(16, 1, 16) < x16(n)))
}
for (k, 0, 9) {
  unrolled (i_2, 0, 2) {
    C.acc[ramp((i_2*16), 1, 16)] = x16(0.000000f)
    C.acc[ramp(((i_2*16) + 32), 1, 16)] = (C.acc[ramp(((i_2*16) + 32), 1, 16)] + x16(A[k]))
  }
}
unrolled (i_3, 0, 2) {
  C[ramp((i_3*40), 1, 16)] = C.acc[ramp((i_3*16), 1, 16)]
}
unrolled (i_4, 0, 2) {
  C[ramp(((i_4*40) + 16), 1, 16)] = C.acc[ramp(((i_4*16) + 32), 1, 16)] if (ramp(16, 1, 16) < x16(n))
}
)");
}

TEST(PromoteAccumulator, TheOutermostLoopWhoseVectorsFitRegisters) {
  // 64 rows are too many for registers, the two of an iteration of y are not.
  const std::string text = promoted(R"(declare A: float32*
declare C: float32*
for (r, 0, 3) {
  for (y, 0, 32) {
    for (k, 0, 9) {
      for (i, 0, 2) {
        C[ramp(((y*80) + (i*40)), 1, 16)] = ((C[ramp(((y*80) + (i*40)), 1, 16)] if (ramp(0, 1, 16) < x16(12))) + x16(A[k])) if (ramp(0, 1, 16) < x16(12))
      }
    }
  }
}
)");
  EXPECT_EQ(text.substr(0, text.find("    for (k")), R"(for (r, 0, 3) {
  for (y, 0, 32) {
    // attr [C.acc] storage_scope = "local"
    allocate C.acc[float32 * 32]
    for (i, 0, 2) {
      C.acc[ramp((i*16), 1, 16)] = (C[ramp(((y*80) + (i*40)), 1, 16)] if (ramp(0, 1, 16) < x16(12)))
    }
)");
}

constexpr std::string_view kMask = "if (ramp(0, 1, 16) < x16(n))";

// One vector with a mask, at this index of C.
std::string sum(std::string_view index, std::string_view mask = kMask) {
  return fmt::format("C[{0}] = ((C[{0}] {1}) + x16(1.000000f)) {1}\n", index, mask);
}

TEST(PromoteAccumulator, PlacesThatMoveWithTheLoopStay) {
  EXPECT_TRUE(promotes(sum("ramp(n, 1, 16)")));
  EXPECT_FALSE(promotes(sum("ramp((k*16), 1, 16)")));
  EXPECT_FALSE(promotes(sum("ramp(D[k], 1, 16)")));
  EXPECT_FALSE(promotes(sum("ramp(n, 1, 16)", "if (ramp(0, 1, 16) < x16(k))")));
  EXPECT_FALSE(promotes("let y = (k + 1)\n" + sum("ramp(y, 1, 16)")));
}

TEST(PromoteAccumulator, VectorsThatShareElementsStay) {
  EXPECT_TRUE(promotes(sum("ramp(n, 1, 16)") + sum("ramp((n + 16), 1, 16)")));
  EXPECT_FALSE(promotes(sum("ramp(n, 1, 16)") + sum("ramp((n + 15), 1, 16)")));
  EXPECT_FALSE(promotes(sum("ramp(n, 1, 16)") + sum("ramp(0, 1, 16)")));
  EXPECT_FALSE(promotes(sum("ramp(n, 1, 16)") + "C[n] = 0.000000f\n"));
  EXPECT_TRUE(promotes("unrolled (i, 0, 4) {\n" + sum("ramp((i*16), 1, 16)") + "}\n"));
  EXPECT_FALSE(promotes("unrolled (i, 0, 4) {\n" + sum("ramp((i*12), 1, 16)") + "}\n"));
  // Rows of twelve elements, which the mask keeps apart.
  EXPECT_TRUE(promotes("unrolled (i, 0, 4) {\n" +
                       sum("ramp((i*12), 1, 16)", "if (ramp(n, 1, 16) < x16((n + 12)))") + "}\n"));
}

TEST(PromoteAccumulator, OtherLanesThanThoseOfTheMaskStay) {
  EXPECT_FALSE(
      promotes(sum("ramp(0, 1, 16)") + sum("ramp(0, 1, 16)", "if (ramp(0, 1, 16) < x16(3))")));
  EXPECT_FALSE(promotes(sum("ramp(0, 1, 16)") + "C[ramp(0, 1, 16)] = x16(0.000000f)\n"));
  EXPECT_FALSE(promotes(sum("ramp(0, 2, 16)")));
}

TEST(PromoteAccumulator, WhatIsNotStoredInEachIterationStays) {
  EXPECT_FALSE(promotes("if ((k < 3)) {\n" + sum("ramp(0, 1, 16)") + "}\n"));
  EXPECT_FALSE(promotes("for (i, 0, n) {\n" + sum("ramp(0, 1, 16)") + "}\n"));
  EXPECT_FALSE(promotes(sum("ramp(0, 1, 16)") + "A[k] = C[40]\n"));
  EXPECT_FALSE(promotes(fmt::format("C[ramp(0, 1, 16)] = x16(1.000000f) {}\n", kMask)));
  EXPECT_EQ(promoted("declare C: float32*\n"
                     "declare n: int32\n"
                     "for (k, 0, n) {\n" +
                     sum("ramp(0, 1, 16)") + "}\n")
                .find("C.acc"),
            std::string::npos);
}

TEST(PromoteAccumulator, WhoseAddressIsTakenStays) {
  EXPECT_FALSE(promotes(sum("ramp(0, 1, 16)") + "prefetch(address_of(C[64]), 0, 3, 1)\n"));
}

TEST(PromoteAccumulator, LanesThatAreOffDivideNothing) {
  EXPECT_FALSE(promotes(sum("ramp(0, 1, 16)") +
                        "D[ramp(0, 1, 16)] = floordiv(D[ramp(16, 1, 16)], D[ramp(32, 1, 16)])\n"));
}

}  // namespace
}  // namespace tw
