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

constexpr char kScale[] =
    "A = placeholder(float32, [8, 40])\n"
    "B = compute([y: 8, x: 40], (A(y, x)*2.000000f))\n"
    "arguments A B\noutputs B\n";

TEST(InjectPrefetch, TheLinesOfARow) {
  EXPECT_EQ(injected(kScale, "prefetch@1(s1, s1:0, s0, 2)"), R"(produce B {
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
  EXPECT_EQ(injected(kScale, "tile@1(s1, s1:0, s1:1, 4, 16)\nprefetch@1(s1, t0.1, s0, 1)"),
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

}  // namespace
}  // namespace tw
