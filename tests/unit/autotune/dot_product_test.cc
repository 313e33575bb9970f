// SPDX-License-Identifier: Apache-2.0
// What sketches offer for products of narrow numbers, and how the prior ranks them.
#include "autotune/space/dot_product.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "autotune/prior_schedule.h"
#include "autotune/space/space.h"
#include "autotune/workloads.h"

namespace tw::autotune {
namespace {

const Target kTarget = Target::parse("llvm -mcpu=sapphirerapids");

std::vector<std::string> sketches_of(const char* workload, const Target& target = kTarget) {
  const Space space(make_task(parse_workload(workload).program, target, 1, workload));
  std::vector<std::string> descriptions;
  for (const Sketch& s : space.sketches()) descriptions.push_back(s.description);
  return descriptions;
}
bool has_groups(const std::vector<std::string>& sketches, const char* groups) {
  return std::ranges::any_of(
      sketches, [&](const std::string& s) { return s.find(groups) != std::string::npos; });
}

TEST(DotProducts, NarrowProductsArePackedInGroups) {
  EXPECT_TRUE(has_groups(sketches_of("gemm:m=16,n=64,k=30,w=1,dtype=u8s8s32"), "groups of 4"));
  EXPECT_TRUE(has_groups(sketches_of("dense:m=16,n=64,k=32,dtype=s8s8s32"), "groups of 4"));
  EXPECT_TRUE(has_groups(sketches_of("gemm:m=16,n=64,k=31,w=1,dtype=bf16bf16f32"), "groups of 2"));
  EXPECT_TRUE(
      has_groups(sketches_of("batch_gemm:b=2,m=16,n=64,k=32,dtype=bf16bf16f32"), "groups of 2"));
  // Not where sums are narrow, nor where the processor has no such instruction.
  EXPECT_FALSE(has_groups(sketches_of("gemm:m=16,n=64,k=32,w=1,dtype=bfloat16"), "groups"));
  EXPECT_FALSE(has_groups(sketches_of("gemm:m=16,n=64,k=32,w=1"), "groups"));
  EXPECT_FALSE(has_groups(
      sketches_of("gemm:m=16,n=64,k=32,w=1,dtype=u8s8s32", Target::parse("llvm -mcpu=x86-64-v3")),
      "groups"));
}

// Channels lie apart in images: both factors are packed, and padding is part of that.
TEST(DotProducts, ConvolutionsPackChannels) {
  for (const char* workload : {"conv2d:ci=8,h=9,co=32,k=3,p=1,dtype=u8s8s32",
                               "conv2d:ci=3,h=9,co=32,k=3,s=2,p=1,d=2,dtype=s8s8s32"}) {
    EXPECT_TRUE(has_groups(sketches_of(workload),
                           "tile[packed ff in groups of 4](compute) inline(pad_temp)"))
        << workload;
  }
  EXPECT_TRUE(has_groups(sketches_of("conv2d_bias_relu:ci=8,h=9,co=32,k=1,dtype=bf16bf16f32"),
                         "groups of 2](compute)"));
  EXPECT_FALSE(has_groups(sketches_of("conv2d:ci=8,h=9,co=32,k=3,p=1"), "groups"));
}

// Everything behind the sums is in their tile, also what is one value a channel, and images are
// one.
TEST(DotProducts, RequantizationIsFused) {
  const std::vector<std::string> sketches =
      sketches_of("conv2d_bias_relu:ci=8,h=9,co=32,k=3,p=1,dtype=u8s8u8");
  EXPECT_TRUE(std::ranges::any_of(sketches, [](const std::string& s) {
    return s.find("in groups of 4](compute)") != std::string::npos &&
           s.find("loops(") == std::string::npos;
  }));
}

TEST(DotProducts, ProductsAtOnce) {
  const DType s8 = int_type(8), u8 = uint_type(8), bf16 = bfloat_type(16);
  EXPECT_EQ(products_at_once(u8, s8, int_type(32), kTarget), 4);
  EXPECT_EQ(products_at_once(s8, s8, int_type(32), kTarget), 4);
  EXPECT_EQ(products_at_once(u8, u8, int_type(32), kTarget), 1);
  EXPECT_EQ(products_at_once(u8, s8, int_type(64), kTarget), 1);
  EXPECT_EQ(products_at_once(bf16, bf16, float_type(32), kTarget), 2);
  EXPECT_EQ(products_at_once(bf16, float_type(16), float_type(32), kTarget), 1);
  EXPECT_EQ(products_at_once(u8, s8, int_type(32), Target::parse("llvm -mcpu=skylake-avx512")), 1);
}

// The untuned schedule of a product of bytes is one with four of them at once: its loop over terms
// is there, in front of the lanes.
TEST(DotProducts, ThePriorTakesGroups) {
  const Task task =
      make_task(parse_workload("gemm:m=256,n=256,k=256,w=1,dtype=u8s8s32").program, kTarget, 1, "");
  const std::string trace = to_text(prior_schedule(task));
  EXPECT_NE(trace.find("factor=4, order=[0, 2, 1]"), std::string::npos) << trace;
}

// Also where no tile divides an extent, and where the operand is packed in every run.
TEST(DotProducts, ThePriorTakesGroupsOfOddSizes) {
  for (const char* workload :
       {"gemm:m=127,n=255,k=509,w=1,dtype=s8s8s32", "gemm:m=127,n=255,k=509,dtype=u8s8s32",
        "gemm:m=64,n=250,k=512,dtype=u8s8s32"}) {
    const Task task = make_task(parse_workload(workload).program, kTarget, 1, "");
    const std::string trace = to_text(prior_schedule(task));
    EXPECT_NE(trace.find("factor=4, order=[0, 2, 1]"), std::string::npos) << workload << trace;
  }
}

}  // namespace
}  // namespace tw::autotune
