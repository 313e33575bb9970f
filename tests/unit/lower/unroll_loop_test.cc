// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ir/visit.h"
#include "tests/unit/lower/pass_text.h"

namespace tw {
namespace {

std::string unrolled(std::string_view text, const PassOptions& options = {}) {
  return run_pass(pass::unroll_loop, text, options);
}

TEST(UnrollLoop, CopiesFoldTheirConstants) {
  EXPECT_EQ(unrolled(R"(declare A: float32*
declare B: float32*
for (x, 0, 8) {
  unrolled (i, 0, 2) {
    unrolled (j, 1, 2) {
      A[((((i*2) + j)*8) + x)] = B[(j*3)]
    }
  }
}
)"),
            R"(for (x, 0, 8) {
  A[(8 + x)] = B[3]
  A[(16 + x)] = B[6]
  A[(24 + x)] = B[3]
  A[(32 + x)] = B[6]
}
)");
}

// What a nest may become is bounded: the loops inside unroll, those around them stay.
TEST(UnrollLoop, AMillionCopiesAreALoop) {
  const std::string text = unrolled(R"(declare A: float32*
unrolled (i, 0, 100000) {
  unrolled (j, 0, 10) {
    unrolled (k, 0, 2) {
      A[((((i*10) + j)*2) + k)] = 0.000000f
    }
  }
}
)");
  EXPECT_TRUE(text.starts_with("for (i, 0, 100000) {\n  A[((i*10)*2)] = 0.000000f\n")) << text;
  EXPECT_EQ(text.find("unrolled"), std::string::npos);
  EXPECT_NE(text.find("A[((((i*10) + 9)*2) + 1)]"), std::string::npos) << text;
}

TEST(UnrollLoop, CopiesBindTheirOwnVariables) {
  EXPECT_EQ(unrolled(R"(declare A: float32*
unrolled (i, 0, 2) {
  // attr [t] storage_scope = "local"
  allocate t[float32 * 4]
  for (k, 0, 4) {
    let u = (k + i)
    t[k] = float32(u)
    A[u] = t[k]
  }
}
)"),
            R"({
  // attr [t] storage_scope = "local"
  allocate t[float32 * 4]
  for (k, 0, 4) {
    let u = k
    t[k] = float32(u)
    A[u] = t[k]
  }
}
// attr [t_1] storage_scope = "local"
allocate t_1[float32 * 4]
for (k_1, 0, 4) {
  let u_1 = (k_1 + 1)
  t_1[k_1] = float32(u_1)
  A[u_1] = t_1[k_1]
}
)");
}

constexpr std::string_view kSmall = R"(declare A: float32*
for (y, 0, 64) {
  for (x, 0, 2) {
    for (z, 0, 2) {
      A[((y + x) + z)] = 0.000000f
    }
  }
}
)";

TEST(UnrollLoop, AutomaticUpToTheBound) {
  EXPECT_EQ(unrolled(kSmall, {.auto_unroll_max_step = 4}), R"(for (y, 0, 64) {
  A[y] = 0.000000f
  A[(y + 1)] = 0.000000f
  A[(y + 1)] = 0.000000f
  A[((y + 1) + 1)] = 0.000000f
}
)");
  EXPECT_EQ(unrolled(kSmall, {.auto_unroll_max_step = 3}), R"(for (y, 0, 64) {
  for (x, 0, 2) {
    A[(y + x)] = 0.000000f
    A[((y + x) + 1)] = 0.000000f
  }
}
)");
  EXPECT_EQ(unrolled(kSmall), R"(for (y, 0, 64) {
  for (x, 0, 2) {
    for (z, 0, 2) {
      A[((y + x) + z)] = 0.000000f
    }
  }
}
)");
}

TEST(UnrollLoop, PragmaWinsOverOptions) {
  EXPECT_EQ(unrolled(R"(declare A: float32*
for (y, 0, 3) {
  // attr [0] pragma_auto_unroll_max_step = 2
  for (x, 0, 2) {
    A[((y*2) + x)] = 0.000000f
  }
}
)"),
            R"(for (y, 0, 3) {
  A[(y*2)] = 0.000000f
  A[((y*2) + 1)] = 0.000000f
}
)");
}

// Code generation has one instruction for the loop over four products, but not for its copies.
TEST(UnrollLoop, DotProductsStayLoops) {
  const Kernel kernel{.body = parse_stmt(R"(declare A: uint8*
declare B: int8*
declare C: int32*
for (k, 0, 2) {
  for (i, 0, 4) {
    C[ramp(0, 1, 16)] = (C[ramp(0, 1, 16)] + (x16(int32(A[((k*4) + i)]))*int32x16(B[ramp(((k*64) + i), 4, 16)])))
  }
}
)")};
  const auto copies = [&](const char* target) {
    const Kernel result =
        run_pass(pass::unroll_loop, kernel, {.auto_unroll_max_step = 8}, Target::parse(target));
    int loops = 0, stores = 0;
    for_each_stmt(result.body, [&](const Stmt& s) {
      loops += is<For>(s) ? 1 : 0;
      stores += is<Store>(s) ? 1 : 0;
    });
    return std::pair(loops, stores);
  };
  EXPECT_EQ(copies("llvm -mcpu=sapphirerapids"), std::pair(2, 2));
  EXPECT_EQ(copies("llvm -mcpu=x86-64-v3"), std::pair(0, 8));
}

TEST(UnrollLoop, MarksWhenNotExplicit) {
  EXPECT_EQ(unrolled(kSmall, {.auto_unroll_max_step = 4, .unroll_explicit = false}),
            R"(for (y, 0, 64) {
  unrolled (x, 0, 2) {
    unrolled (z, 0, 2) {
      A[((y + x) + z)] = 0.000000f
    }
  }
}
)");
}

}  // namespace
}  // namespace tw
