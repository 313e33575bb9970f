// SPDX-License-Identifier: Apache-2.0
// What sketches offer for products of narrow numbers, and how the prior ranks them.
#include "autotune/space/dot_product.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "autotune/search/prior_schedule.h"
#include "autotune/space/space.h"
#include "autotune/task/workloads.h"
#include "schedule/te/compute.h"

namespace tw::autotune {
namespace {

const Target kTarget = Target::parse("llvm -mcpu=sapphirerapids");
const Target kVectors = Target::parse("llvm -mcpu=sapphirerapids -mattr=-amx-tile");

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
  // Sums are float32 where the result is not.
  EXPECT_TRUE(has_groups(sketches_of("gemm:m=16,n=64,k=32,w=1,dtype=bfloat16"), "groups of 2"));
  // Not of other types, nor where the processor has no such instruction.
  EXPECT_FALSE(has_groups(sketches_of("gemm:m=16,n=64,k=32,w=1,dtype=float16"), "groups"));
  EXPECT_FALSE(has_groups(sketches_of("gemm:m=16,n=64,k=32,w=1"), "groups"));
  EXPECT_FALSE(has_groups(
      sketches_of("gemm:m=16,n=64,k=32,w=1,dtype=u8s8s32", Target::parse("llvm -mcpu=x86-64-v3")),
      "groups"));
}

// Programs of one product and what follows it, as te text.
std::string product_text(const char* a, const char* b, const char* sum, const char* read_b,
                         const char* shape_b) {
  return fmt::format(
      "te 1\nA = placeholder({0}, [20, 70])\nB = placeholder({1}, [{4}])\n"
      "C = compute([i: 20, j: 40], reduce [k: 70], sum(({2}(A(i, k))*{2}(B({3})))))\n"
      "arguments A B C\noutputs C\n",
      a, b, sum, read_b, shape_b);
}
std::optional<TileProduct> tile_product_of(const std::string& text,
                                           const Target& target = kTarget) {
  const te::Program program = te::parse_program(text);
  return find_tile_product(*te::as_op<te::ComputeNode>(program.outputs[0].op()), target);
}

TEST(TileProducts, FactorsAreFoundByHowTheyAreRead) {
  const auto product = tile_product_of(product_text("uint8", "int8", "int32", "k, j", "70, 40"));
  ASSERT_TRUE(product.has_value());
  EXPECT_EQ(product->a.name(), "A");
  EXPECT_EQ(product->row, 0u);
  EXPECT_EQ(product->column, 1u);
  EXPECT_EQ(product->a_row, 0u);
  EXPECT_EQ(product->b_column, 1u);
  EXPECT_EQ(product->b_depth, 0u);
  EXPECT_EQ(product->depth(), 64);
  EXPECT_EQ(product->product(), "u8s8");
  EXPECT_EQ(product->sum_type, "s32");
  const auto halves =
      tile_product_of(product_text("bfloat16", "bfloat16", "float32", "j, k", "40, 70"));
  ASSERT_TRUE(halves.has_value());
  EXPECT_EQ(halves->b_column, 0u);
  EXPECT_EQ(halves->product(), "bf16");
  EXPECT_EQ(halves->depth(), 32);
  // The factor that is written first may be the one that columns walk through.
  const auto swapped = tile_product_of(
      "te 1\nW = placeholder(int8, [40, 70])\nX = placeholder(uint8, [20, 70])\n"
      "C = compute([i: 20, j: 40], reduce [k: 70], sum((int32(W(j, k))*int32(X(i, k)))))\n"
      "arguments W X C\noutputs C\n");
  ASSERT_TRUE(swapped.has_value());
  EXPECT_EQ(swapped->a.name(), "X");
  EXPECT_EQ(swapped->product(), "u8s8");
}

TEST(TileProducts, OtherExpressionsAndTargetsHaveNone) {
  const std::string bytes = product_text("uint8", "int8", "int32", "k, j", "70, 40");
  EXPECT_FALSE(tile_product_of(bytes, Target::parse("llvm -mcpu=x86-64-v4")).has_value());
  EXPECT_FALSE(tile_product_of(bytes, Target::parse("llvm -mcpu=sapphirerapids -mattr=-amx-tile")));
  EXPECT_FALSE(tile_product_of(bytes, Target::parse("llvm -mcpu=sapphirerapids -mattr=-amx-int8")));
  EXPECT_FALSE(tile_product_of(product_text("int8", "int8", "int64", "k, j", "70, 40")));
  EXPECT_FALSE(tile_product_of(product_text("float16", "float16", "float32", "k, j", "70, 40")));
  EXPECT_FALSE(tile_product_of(product_text("int8", "int8", "int32", "(k + j), j", "109, 40")));
  // Of the rows of `a` what lies side by side must be summed, and a sum of one row fills no tile.
  EXPECT_FALSE(tile_product_of(
      "te 1\nA = placeholder(int8, [70, 20])\nB = placeholder(int8, [70, 40])\n"
      "C = compute([i: 20, j: 40], reduce [k: 70], sum((int32(A(k, i))*int32(B(k, j)))))\n"
      "arguments A B C\noutputs C\n"));
  EXPECT_FALSE(tile_product_of(
      "te 1\nA = placeholder(int8, [1, 70])\nB = placeholder(int8, [70, 40])\n"
      "C = compute([i: 1, j: 40], reduce [k: 70], sum((int32(A(i, k))*int32(B(k, j)))))\n"
      "arguments A B C\noutputs C\n"));
}

// Steps of a sketch's trace with this primitive and text.
size_t steps_with(const std::string& trace, std::string_view text) {
  size_t found = 0;
  for (size_t at = trace.find(text); at != std::string::npos; at = trace.find(text, at + 1))
    ++found;
  return found;
}

TEST(TileProducts, SketchesLoadRowsInPlaceWhereTilesDivide) {
  struct Row {
    const char* workload;
    size_t sketches, copies;  // of A, in memory
  };
  for (const auto& [workload, sketches, copies] :
       {Row{"gemm:m=64,n=96,k=128,w=1,dtype=u8s8s32", 2, 0},
        Row{"gemm:m=64,n=90,k=128,w=1,dtype=s8s8s32", 1, 0},
        Row{"gemm:m=63,n=96,k=128,w=1,dtype=u8s8s32", 1, 1},
        Row{"gemm:m=64,n=96,k=100,w=1,dtype=u8s8s32", 1, 1},
        Row{"gemm:m=64,n=96,k=96,w=1,dtype=bf16bf16f32", 2, 0},
        Row{"batch_gemm:b=3,m=32,n=64,k=32,dtype=bf16bf16f32", 2, 0},
        Row{"gemm:m=64,n=96,k=96,w=1", 0, 0}}) {
    const Space space(make_task(parse_workload(workload).program, kTarget, 1, workload));
    size_t found = 0;
    for (const Sketch& sketch : space.sketches()) {
      if (sketch.description.find("amx") == std::string::npos) continue;
      ++found;
      const std::string trace = to_text(sketch.skeleton);
      EXPECT_EQ(steps_with(trace, "\"global\""), copies + 1) << workload << "\n" << trace;
      EXPECT_EQ(steps_with(trace, "precompute"), workload[0] == 'g' ? 1u : 0u) << trace;
    }
    EXPECT_EQ(found, sketches) << workload;
  }
}

// Two tiles by three would need more registers than there are.
TEST(TileProducts, TilesFitTheRegisters) {
  const char* workload = "gemm:m=192,n=192,k=128,w=1,dtype=u8s8s32";
  const Space space(make_task(parse_workload(workload).program, kTarget, 1, workload));
  std::set<std::pair<int64_t, int64_t>> shapes;
  std::mt19937_64 rng(1);
  for (int i = 0; i < 400; ++i) {
    const Point p = space.random(rng);
    const Sketch& sketch = space.sketches()[p.sketch];
    if (sketch.description.find("amx") == std::string::npos) continue;
    for (const Point& q : {p, space.mutate(p, rng)}) {
      const auto tiles = [&](size_t k) { return sketch.knobs[k].choices[q.choice[k]][1]; };
      shapes.emplace(tiles(0), tiles(1));
    }
  }
  const std::set<std::pair<int64_t, int64_t>> all = {{1, 1}, {1, 2}, {1, 3}, {2, 1}, {2, 2}};
  EXPECT_EQ(shapes, all);
}

TEST(TileProducts, ThePriorTakesThem) {
  for (const char* workload :
       {"gemm:m=128,n=3072,k=768,w=1,dtype=u8s8s32", "gemm:m=127,n=255,k=509,w=1,dtype=s8s8s32",
        "gemm:m=512,n=512,k=512,w=1,dtype=bf16bf16f32"}) {
    const Task task = make_task(parse_workload(workload).program, kTarget, 1, workload);
    const std::string trace = to_text(prior_schedule(task));
    EXPECT_NE(trace.find("amx.dot_"), std::string::npos) << workload << "\n" << trace;
  }
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
  const Task task = make_task(parse_workload("gemm:m=256,n=256,k=256,w=1,dtype=u8s8s32").program,
                              kVectors, 1, "");
  const std::string trace = to_text(prior_schedule(task));
  EXPECT_NE(trace.find("factor=4, order=[0, 2, 1]"), std::string::npos) << trace;
}

// Also where no tile divides an extent, and where the operand is packed in every run.
TEST(DotProducts, ThePriorTakesGroupsOfOddSizes) {
  for (const char* workload :
       {"gemm:m=127,n=255,k=509,w=1,dtype=s8s8s32", "gemm:m=127,n=255,k=509,dtype=u8s8s32",
        "gemm:m=64,n=250,k=512,dtype=u8s8s32"}) {
    const Task task = make_task(parse_workload(workload).program, kVectors, 1, "");
    const std::string trace = to_text(prior_schedule(task));
    EXPECT_NE(trace.find("factor=4, order=[0, 2, 1]"), std::string::npos) << workload << trace;
  }
}

}  // namespace
}  // namespace tw::autotune
