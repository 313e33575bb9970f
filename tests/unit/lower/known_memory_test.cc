// SPDX-License-Identifier: Apache-2.0
// What the emitter knows of memory inside a block: what is loaded and stored twice is made once,
// and nothing is known any longer of what may have changed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/support/assembly.h"
#include "tests/unit/lower/llvm_support.h"

namespace tw::test {
namespace {

using test::count;

constexpr int kElements = 64;
const TensorArgument kA{"A", int_type(32), {kElements}};
const TensorArgument kN{"N", int_type(32), {kElements}};
const TensorArgument kO{"O", int_type(32), {kElements}, true};

// N[0] is 3, what LLVM and the emitter cannot know.
std::vector<NDArray> arrays() {
  std::vector<NDArray> all;
  for (int k = 0; k < 3; ++k) {
    NDArray& a = all.emplace_back(NDArray::empty({kElements}, int_type(32)));
    for (int i = 0; i < kElements; ++i) a.data_as<int32_t>()[i] = k == 1 ? 3 : 100 * k + i * 7 % 64;
  }
  return all;
}

// Compiled as the emitter leaves it, and optimised.
void expect_as_interpreted(const std::string& text) {
  SCOPED_TRACE(text);
  const Kernel kernel = make_kernel(text, {kA, kN, kO});
  const NDArray want = interpret_on(kernel, arrays())[2];
  for (const char* target : {"llvm -opt=0", "llvm"}) {
    const std::vector<NDArray> mine = arrays();
    call(compile_function(kernel, Target::parse(target)), mine);
    for (int i = 0; i < kElements; ++i) {
      ASSERT_EQ(mine[2].data_as<int32_t>()[i], want.data_as<int32_t>()[i]) << target << ' ' << i;
    }
  }
}

// Accesses of `buffer` in what the emitter writes for the body.
struct Accesses {
  int loads, stores;
  bool operator==(const Accesses&) const = default;
};
Accesses accesses(const std::string& body) {
  const std::string text = "// attr [] compute_scope = \"body\"\n" + body;
  expect_as_interpreted(text);
  std::string ll =
      compile({make_kernel(text, {kA, kN, kO})}, Target::parse("llvm -opt=0"))->source("ll");
  ll = ll.substr(ll.find("@kernel.compute("));
  return {count(ll, "load i32, ") + count(ll, "load <4 x i32>, "),
          count(ll, "store i32 ") + count(ll, "store <4 x i32> ")};
}

TEST(KnownMemory, WhatIsThereIsNotLoadedAgain) {
  EXPECT_EQ(accesses("O[1] = A[0] O[2] = A[0]"), (Accesses{1, 2}));
  EXPECT_EQ(accesses("O[1] = A[0] O[2] = O[1]"), (Accesses{1, 2}));
  EXPECT_EQ(accesses("O[ramp(0, 1, 4)] = A[ramp(8, 1, 4)] O[ramp(4, 1, 4)] = O[ramp(0, 1, 4)]"),
            (Accesses{1, 2}));
}

TEST(KnownMemory, AStoreWhoseValueNothingReadsGoes) {
  EXPECT_EQ(accesses("O[1] = A[0] O[1] = (O[1] + A[1]) O[1] = (O[1] + A[2])"), (Accesses{3, 1}));
  EXPECT_EQ(accesses("O[1] = A[0] O[2] = A[1] O[1] = A[2]"), (Accesses{3, 2}));
}

TEST(KnownMemory, OtherPlacesOfABufferMayBeTheSame) {
  const std::string n = "let n = N[0] ";  // one load more
  EXPECT_EQ(accesses(n + "O[3] = A[0] O[n] = A[1] O[4] = O[3]"), (Accesses{4, 3}));
  EXPECT_EQ(accesses(n + "O[3] = A[0] O[5] = O[n] O[3] = A[1]"), (Accesses{4, 3}));
  // Another buffer's never are.
  EXPECT_EQ(accesses(n + "O[n] = A[3] O[4] = A[3]"), (Accesses{2, 2}));
  // Parts, and beyond.
  EXPECT_EQ(accesses("O[ramp(0, 1, 4)] = A[ramp(0, 1, 4)] O[3] = A[9] O[ramp(4, 1, 4)] = "
                     "O[ramp(0, 1, 4)]"),
            (Accesses{3, 3}));
  EXPECT_EQ(accesses("O[3] = A[9] O[ramp(0, 1, 4)] = A[ramp(0, 1, 4)] O[4] = O[3]"),
            (Accesses{3, 3}));
  EXPECT_EQ(accesses("O[ramp(0, 1, 4)] = A[ramp(0, 1, 4)] O[ramp(2, 1, 4)] = A[ramp(8, 1, 4)] "
                     "O[ramp(8, 1, 4)] = O[ramp(0, 1, 4)]"),
            (Accesses{3, 3}));
}

TEST(KnownMemory, MaskedAccessesTouchTheirBuffer) {
  const std::string mask = "(ramp(0, 1, 4) < x4(N[0]))";
  EXPECT_EQ(accesses("O[ramp(0, 1, 4)] = A[ramp(0, 1, 4)] O[ramp(0, 1, 4)] = A[ramp(4, 1, 4)] if " +
                     mask + " O[ramp(4, 1, 4)] = O[ramp(0, 1, 4)]"),
            (Accesses{4, 2}));
  EXPECT_EQ(
      accesses("O[ramp(0, 1, 4)] = A[ramp(0, 1, 4)] O[ramp(4, 1, 4)] = (O[ramp(1, 1, 4)] if " +
               mask + ") O[ramp(0, 1, 4)] = A[ramp(4, 1, 4)]"),
      (Accesses{3, 3}));
}

TEST(KnownMemory, CallsMayTouchEverythingAndPrefetchesNothing) {
  const std::string before = "O[0] = A[0] ", after = " O[1] = (O[0] + A[0])";
  EXPECT_EQ(accesses(before + after), (Accesses{1, 2}));
  EXPECT_EQ(accesses(before + "prefetch<int32>(O[0], 0, 3, 1)" + after), (Accesses{1, 2}));
  EXPECT_EQ(accesses(before + "allocate t[int32 * 4096] { t[5] = 1 O[2] = t[N[0] + 2] }" + after),
            (Accesses{5, 4}));
}

TEST(KnownMemory, NothingIsKnownInAnotherBlock) {
  EXPECT_EQ(
      accesses("let n = N[0] { O[0] = A[0] } if ((n < 5)) { O[0] = A[1] } O[1] = (O[0] + A[0])"),
      (Accesses{5, 3}));
  EXPECT_EQ(accesses("O[0] = A[0] for (i, 0, 5) { O[0] = (O[0] + A[0]) } O[1] = O[0]"),
            (Accesses{4, 3}));
}

// Straight lines of accesses that overlap in every way.
TEST(KnownMemory, AnyOrderOfAccesses) {
  std::mt19937 rng(1);
  const auto below = [&](uint32_t n) { return static_cast<int>(rng() % n); };
  for (int program = 0; program < 24; ++program) {
    std::string text = "let n = N[0] for (i, 0, 2) {\n";
    for (int s = 0; s < 40; ++s) {
      const int lanes = std::array{1, 4, 4, 8}[static_cast<size_t>(below(4))];
      const auto index = [&] {
        const std::string start =
            fmt::format("({}{})", std::array{"", "n + ", "(i*4) + "}[static_cast<size_t>(below(3))],
                        4 * below(5) + (below(4) == 0 ? 1 : 0));
        if (lanes == 1) return start;
        return fmt::format("ramp({}, {}, {})", start, below(5) == 0 ? 2 : 1, lanes);
      };
      const char* from = below(2) == 0 ? "A" : "O";
      const std::string mask =
          lanes == 1 ? "(n < 4)"
                     : fmt::format("(ramp({}, 1, {}) < x{}(n))", below(4), lanes, lanes);
      const std::string to = index(), first = index(), second = index();
      text += fmt::format("O[{}] = ({}[{}] - O[{}]){}\n", to, from, first, second,
                          below(6) == 0 ? " if " + mask : "");
    }
    expect_as_interpreted(text + "}");
  }
}

}  // namespace
}  // namespace tw::test
