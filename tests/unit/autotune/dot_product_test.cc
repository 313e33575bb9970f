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

}  // namespace
}  // namespace tw::autotune
