// SPDX-License-Identifier: Apache-2.0
// Code that equal kernels share.
#include <gtest/gtest.h>

#include "ir/parse.h"
#include "tests/unit/lower/llvm_support.h"

namespace tw::test {
namespace {

// W2[i] = W[i] * factor, both constants of the kernel.
struct Packing {
  Kernel kernel{.name = "pack"};
  NDArray from = NDArray::zeros({16}, float_type(32)), to = NDArray::zeros({16}, float_type(32));

  explicit Packing(int factor, int extent = 16, const std::string& first = "W") {
    kernel.body =
        parse_stmt(fmt::format("declare {0}: float32*\ndeclare W2: float32*\n"
                               "for (i, 0, {1}) {{ W2[i] = ({0}[i]*{2}.000000f) }}",
                               first, extent, factor));
    for (const Var& v : free_vars(kernel.body)) {
      kernel.constants.push_back({.name = v.name(),
                                  .dtype = float_type(32),
                                  .shape = {16},
                                  .var = v,
                                  .value = v.name() == "W2" ? to : from});
    }
    for (int i = 0; i < 16; ++i) from.data_as<float>()[i] = static_cast<float>(i + 1);
  }
  // Seconds that generating took.
  double run(const Target& target = Target::host()) {
    CompileTimings timings;
    compile_preparation(kernel, target, &timings).call({});
    return timings.generate;
  }
};

TEST(ObjectCache, EqualKernelsShareCodeAndHaveArraysOfTheirOwn) {
  Packing one(3), other(3, 16, "weight");
  EXPECT_GT(one.run(), 0);
  EXPECT_EQ(other.run(), 0);
  EXPECT_EQ(one.to.data_as<float>()[15], 48);
  EXPECT_EQ(other.to.data_as<float>()[15], 48);
  other.from.data_as<float>()[0] = 7;
  other.run();
  EXPECT_EQ(other.to.data_as<float>()[0], 21);
  EXPECT_EQ(one.to.data_as<float>()[0], 3);
}

TEST(ObjectCache, OthersDoNot) {
  Packing(4).run();
  Packing factor(5), extent(4, 8);
  EXPECT_GT(factor.run(), 0);
  EXPECT_GT(extent.run(), 0);
  EXPECT_EQ(factor.to.data_as<float>()[15], 80);
  EXPECT_EQ(extent.to.data_as<float>()[15], 0);
  EXPECT_EQ(extent.to.data_as<float>()[7], 32);
  Packing elsewhere(4);
  EXPECT_GT(elsewhere.run(Target::parse("llvm -mcpu=x86-64-v2")), 0);
  EXPECT_EQ(elsewhere.to.data_as<float>()[15], 64);
}

// The roles of two constants exchanged: equal but for the order of the slots.
TEST(ObjectCache, SlotsFollowTheOrderOfConstants) {
  Packing straight(6), reversed(6);
  std::swap(reversed.kernel.constants[0], reversed.kernel.constants[1]);
  straight.run();
  reversed.run();
  EXPECT_EQ(reversed.to.data_as<float>()[15], 96);
}

// More kernels than are kept; the first is compiled again.
TEST(ObjectCache, KeepsTheLast) {
  EXPECT_GT(Packing(100).run(), 0);
  EXPECT_EQ(Packing(100).run(), 0);
  for (int factor = 101; factor < 180; ++factor) Packing(factor).run();
  EXPECT_GT(Packing(100).run(), 0);
}

}  // namespace
}  // namespace tw::test
