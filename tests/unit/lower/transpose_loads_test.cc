// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/support/assembly.h"
#include "tests/unit/lower/llvm_support.h"
#include "tests/unit/lower/pass_text.h"

namespace tw {
namespace {

std::string transposed(std::string_view text) { return run_pass(pass::transpose_loads, text); }

TEST(TransposeLoads, ColumnsComeFromRows) {
  EXPECT_EQ(transposed(R"(declare C: float32*
declare t: float32*
unrolled (j, 0, 4) {
  C[ramp((j*56), 1, 4)] = t[ramp(j, 16, 4)]
}
)"),
            R"(let tile = t[ramp(0, 1, 4)]
let tile_1 = t[ramp(16, 1, 4)]
let tile_2 = t[ramp(32, 1, 4)]
let tile_3 = t[ramp(48, 1, 4)]
let tile_4 = shuffle([tile, tile_1], [0, 4, 1, 5])
let tile_5 = shuffle([tile, tile_1], [2, 6, 3, 7])
let tile_6 = shuffle([tile_2, tile_3], [0, 4, 1, 5])
let tile_7 = shuffle([tile_2, tile_3], [2, 6, 3, 7])
let tile_8 = shuffle([tile_4, tile_6], [0, 1, 4, 5])
let tile_9 = shuffle([tile_4, tile_6], [2, 3, 6, 7])
let tile_10 = shuffle([tile_5, tile_7], [0, 1, 4, 5])
let tile_11 = shuffle([tile_5, tile_7], [2, 3, 6, 7])
C[ramp((0*56), 1, 4)] = tile_8
C[ramp((1*56), 1, 4)] = tile_9
C[ramp((2*56), 1, 4)] = tile_10
C[ramp((3*56), 1, 4)] = tile_11
)");
}

// Every number of columns and lanes, with lanes that are off, computes what it did.
TEST(TransposeLoads, ResultsStay) {
  for (int columns : {4, 8, 16, 32}) {
    for (int lanes : {4, 8, 16}) {
      for (int on : {lanes, lanes - 3}) {
        const std::string mask = fmt::format("(ramp(0, 1, {0}) < x{0}({1}))", lanes, on);
        const std::string text = fmt::format(
            "unrolled (j, 0, {0}) {{ O[ramp((j*{1}), 1, {1})] = "
            "((T[ramp((j + 3), 40, {1})] if {2}) + x{1}(B[j])) if {2} }}",
            columns, lanes, mask);
        const test::TensorArgument o{"O", float_type(32), {512}, true},
            t{"T", float_type(32), {700}}, b{"B", float_type(32), {32}};
        const Kernel before = test::make_kernel(text, {o, t, b});
        const Kernel after = run_pass(pass::transpose_loads, before);
        EXPECT_EQ(to_string(after.body).find("unrolled"), std::string::npos) << text;
        std::vector<NDArray> arrays;
        for (int64_t size : {512, 700, 32}) {
          arrays.push_back(NDArray::zeros({size}, float_type(32)));
          for (int64_t i = 0; i < size; ++i) arrays.back().data_as<float>()[i] = float(i % 97);
        }
        const auto want = test::interpret_on(before, arrays);
        const auto got = test::interpret_on(after, arrays);
        for (const char* target : {"llvm", "llvm -mcpu=x86-64-v3", "llvm -mcpu=x86-64"}) {
          std::vector<NDArray> mine;
          for (const NDArray& a : arrays) mine.push_back(a.copy());
          test::call(test::compile_function(after, Target::parse(target)), mine);
          for (int64_t i = 0; i < 512; ++i) {
            ASSERT_EQ(got[0].data_as<float>()[i], want[0].data_as<float>()[i])
                << text << " at " << i;
            ASSERT_EQ(mine[0].data_as<float>()[i], want[0].data_as<float>()[i])
                << text << " for " << target << " at " << i;
          }
        }
      }
    }
  }
}

// Code generation neither merges the shuffles nor has to look for instructions.
TEST(TransposeLoads, EachShuffleIsAnInstruction) {
  const Kernel kernel = run_pass(
      pass::transpose_loads,
      test::make_kernel("unrolled (j, 0, 8) { O[ramp((j*16), 1, 16)] = T[ramp(j, 40, 16)] }",
                        {{"O", float_type(32), {512}, true}, {"T", float_type(32), {700}}}));
  const std::string assembly = test::assembly_for("llvm -mcpu=sapphirerapids", kernel);
  EXPECT_EQ(test::count(assembly, "vunpck"), 16);
  EXPECT_EQ(test::count(assembly, "vshuff"), 8);
  EXPECT_EQ(test::count(assembly, "vperm"), 0);
}

TEST(TransposeLoads, OtherLoopsStay) {
  for (const char* text :
       {// The tile is the one that is written.
        "unrolled (j, 0, 4) {\n  t[ramp((j + 8), 16, 4)] = t[ramp(j, 16, 4)]\n}\n",
        // Columns two apart; rows that overlap; as many columns as there are no lanes.
        "unrolled (j, 0, 4) {\n  C[ramp((j*4), 1, 4)] = t[ramp((j*2), 16, 4)]\n}\n",
        "unrolled (j, 0, 4) {\n  C[ramp((j*4), 1, 4)] = t[ramp(j, 3, 4)]\n}\n",
        "unrolled (j, 0, 6) {\n  C[ramp((j*4), 1, 4)] = t[ramp(j, 16, 4)]\n}\n",
        // Not loaded at all when n is 0.
        "unrolled (j, 0, 4) {\n  C[ramp((j*4), 1, 4)] = tvm_if_then_else((n > 0), t[ramp(j, 16, "
        "4)], "
        "x4(0.000000f))\n}\n",
        // Masks that differ from column to column.
        "unrolled (j, 0, 4) {\n  C[ramp((j*4), 1, 4)] = (t[ramp(j, 16, 4)] if (ramp(0, 1, 4) < "
        "x4(j)))\n}\n"}) {
    EXPECT_EQ(
        transposed(std::string("declare C: float32*\ndeclare t: float32*\ndeclare n: int32\n") +
                   text),
        text);
  }
}

}  // namespace
}  // namespace tw
