// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/unit/lower/pass_text.h"

namespace tw {
namespace {

std::string unmasked(std::string_view text) { return run_pass(pass::unmask_accumulator, text); }

TEST(UnmaskAccumulator, SameMaskEverywhere) {
  EXPECT_EQ(unmasked(R"(declare A: float32*
declare C: float32*
for (x, 0, 3) {
  // attr [t] storage_scope = "local"
  allocate t[float32 * 2 * 32]
  for (i, 0, 2) {
    for (v, 0, 2) {
      t[ramp(((i*32) + (v*16)), 1, 16)] = x16(0.000000f) if (ramp(((x*32) + (v*16)), 1, 16) < x16(40))
    }
  }
  for (i, 0, 2) {
    for (w, 0, 2) {
      C[ramp(((((i*3) + x)*32) + (w*16)), 1, 16)] = (t[ramp(((i*32) + (w*16)), 1, 16)] if (ramp(((x*32) + (w*16)), 1, 16) < x16(40))) if (ramp(((x*32) + (w*16)), 1, 16) < x16(40))
    }
  }
}
)"),
            R"(for (x, 0, 3) {
  // attr [t] storage_scope = "local"
  allocate t[float32 * 2 * 32]
  for (i, 0, 2) {
    for (v, 0, 2) {
      t[ramp(((i*32) + (v*16)), 1, 16)] = x16(0.000000f)
    }
  }
  for (i, 0, 2) {
    for (w, 0, 2) {
      C[ramp(((((i*3) + x)*32) + (w*16)), 1, 16)] = t[ramp(((i*32) + (w*16)), 1, 16)] if (ramp(((x*32) + (w*16)), 1, 16) < x16(40))
    }
  }
}
)");
}

TEST(UnmaskAccumulator, MasksThatDifferStay) {
  // The second store must not touch lanes that the first one wrote.
  EXPECT_EQ(unmasked(R"(declare C: float32*
// attr [t] storage_scope = "local"
allocate t[float32 * 8]
t[ramp(0, 1, 8)] = x8(0.000000f) if (ramp(0, 1, 8) < x8(7))
t[ramp(0, 1, 8)] = x8(1.000000f) if (ramp(0, 1, 8) < x8(3))
C[ramp(0, 1, 8)] = (t[ramp(0, 1, 8)] if (ramp(0, 1, 8) < x8(7)))
)"),
            R"(// attr [t] storage_scope = "local"
allocate t[float32 * 8]
t[ramp(0, 1, 8)] = x8(0.000000f) if (ramp(0, 1, 8) < x8(7))
t[ramp(0, 1, 8)] = x8(1.000000f) if (ramp(0, 1, 8) < x8(3))
C[ramp(0, 1, 8)] = (t[ramp(0, 1, 8)] if (ramp(0, 1, 8) < x8(7)))
)");
}

TEST(UnmaskAccumulator, RowsBecomeWholeVectors) {
  // Row 1 starts in the lanes that are off in row 0.
  EXPECT_EQ(unmasked(R"(declare C: float32*
// attr [t] storage_scope = "local"
allocate t[float32 * 2 * 28]
for (y, 0, 2) {
  t[ramp((y*28), 1, 16)] = x16(0.000000f)
  t[ramp(((y*28) + 16), 1, 16)] = x16(0.000000f) if (ramp(16, 1, 16) < x16(28))
}
for (y, 0, 2) {
  for (v, 0, 2) {
    C[ramp(((y*28) + (v*16)), 1, 16)] = (t[ramp(((y*28) + (v*16)), 1, 16)] if (ramp((v*16), 1, 16) < x16(28))) if (ramp((v*16), 1, 16) < x16(28))
  }
}
)"),
            R"(// attr [t] storage_scope = "local"
allocate t[float32 * 2 * 32]
for (y, 0, 2) {
  t[ramp((y*32), 1, 16)] = x16(0.000000f)
  t[ramp(((y*32) + 16), 1, 16)] = x16(0.000000f)
}
for (y, 0, 2) {
  for (v, 0, 2) {
    C[ramp(((y*28) + (v*16)), 1, 16)] = t[ramp(((y*32) + (v*16)), 1, 16)] if (ramp((v*16), 1, 16) < x16(28))
  }
}
)");
}

TEST(UnmaskAccumulator, ElementsThatOthersSeeStay) {
  // The second store must leave lanes 3 to 7 alone, which the load sees.
  constexpr const char* kText = R"(// attr [t] storage_scope = "local"
allocate t[float32 * 8]
t[ramp(0, 1, 8)] = x8(0.000000f)
t[ramp(0, 1, 8)] = x8(1.000000f) if (ramp(0, 1, 8) < x8(3))
C[ramp(0, 1, 8)] = t[ramp(0, 1, 8)]
)";
  EXPECT_EQ(unmasked(std::string("declare C: float32*\n") + kText), kText);
}

TEST(UnmaskAccumulator, VectorsAcrossRowsStay) {
  constexpr const char* kText = R"(// attr [t] storage_scope = "local"
allocate t[float32 * 2 * 12]
t[ramp(0, 1, 16)] = x16(0.000000f)
t[ramp(16, 1, 16)] = x16(0.000000f) if (ramp(16, 1, 16) < x16(24))
)";
  EXPECT_EQ(unmasked(kText), kText);
}

// Columns of several rows, one element: what the masks leave alone is no element.
TEST(UnmaskAccumulator, ColumnsOfLongerRowsKeepTheirOwnMasks) {
  EXPECT_EQ(unmasked(R"(declare C: float32*
// attr [t] storage_scope = "local"
allocate t[float32 * 4 * 13]
for (i, 0, 4) {
  t[ramp((i*13), 1, 16)] = x16(0.000000f) if (ramp(0, 1, 16) < x16(13))
}
for (c, 0, 13) {
  C[ramp((c*4), 1, 4)] = (t[ramp(c, 13, 4)] if (ramp(0, 1, 4) < x4(3))) if (ramp(0, 1, 4) < x4(3))
}
C[0] = t[28]
)"),
            R"(// attr [t] storage_scope = "local"
allocate t[float32 * 4 * 16]
for (i, 0, 4) {
  t[ramp((i*16), 1, 16)] = x16(0.000000f)
}
for (c, 0, 13) {
  C[ramp((c*4), 1, 4)] = (t[ramp(c, 16, 4)] if (ramp(0, 1, 4) < x4(3))) if (ramp(0, 1, 4) < x4(3))
}
C[0] = t[34]
)");
  // Element 12 of a row is never stored, and read.
  const std::string other = R"(declare C: float32*
// attr [t] storage_scope = "local"
allocate t[float32 * 4 * 13]
t[12] = 1.000000f
t[ramp(0, 1, 16)] = x16(0.000000f) if (ramp(0, 1, 16) < x16(12))
C[0] = t[12]
)";
  EXPECT_EQ(unmasked(other), other.substr(other.find('/')));
}

TEST(UnmaskAccumulator, LimitsThatMoveStay) {
  EXPECT_EQ(unmasked(R"(declare C: float32*
// attr [t] storage_scope = "local"
allocate t[float32 * 8]
for (k, 0, 2) {
  t[ramp(0, 1, 8)] = x8(0.000000f) if (ramp(0, 1, 8) < x8(k))
}
)"),
            R"(// attr [t] storage_scope = "local"
allocate t[float32 * 8]
for (k, 0, 2) {
  t[ramp(0, 1, 8)] = x8(0.000000f) if (ramp(0, 1, 8) < x8(k))
}
)");
}

}  // namespace
}  // namespace tw
