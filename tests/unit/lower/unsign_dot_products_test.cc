// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "tests/unit/lower/llvm_support.h"
#include "tests/unit/lower/pass_text.h"

namespace tw {
namespace {

const Target kTarget = Target::parse("llvm -mcpu=sapphirerapids");

// A tile of `rows` and `columns` vectors, its loops unrolled, in a loop over groups of terms. Rows
// from the `guarded`-th on run under a condition on a loop outside.
std::string tile(int rows, int columns, const std::string& inner = "",
                 const std::string& type = "int8", int guarded = 100) {
  std::string text = fmt::format(
      "declare A: {0}*\ndeclare B: int8*\ndeclare C: int32*\n"
      "// attr [t] storage_scope = \"local\"\nallocate t[int32 * {1}]\n",
      type, rows * columns * 16);
  if (guarded < rows) text += "for (y, 0, 2) {\n";
  for (int v = 0; v < rows * columns; ++v)
    text += fmt::format("t[ramp({}, 1, 16)] = x16(0)\n", v * 16);
  text += "for (k, 0, 9) {\n" + inner;
  for (int r = 0; r < rows; ++r) {
    if (r >= guarded) text += fmt::format("  if (((y + {}) < {})) {{\n", r, guarded + 1);
    for (int c = 0; c < columns; ++c) {
      text += fmt::format(
          "  for (i, 0, 4) {{\n    t[ramp({0}, 1, 16)] = (t[ramp({0}, 1, 16)] + "
          "(x16(int32(A[(((k*4) "
          "+ i) + {1})]))*int32x16(B[ramp((((k*{2}) + i) + {3}), 4, 16)])))\n  }}\n",
          (r * columns + c) * 16, r * 36, columns * 64, c * 64);
    }
    if (r >= guarded) text += "  }\n";
  }
  text += "}\n";
  for (int v = 0; v < rows * columns; ++v) {
    text += fmt::format("C[ramp({0}, 1, 16)] = t[ramp({0}, 1, 16)]\n", v * 16);
  }
  if (guarded < rows) text += "}\n";
  return text;
}

std::string unsign(const std::string& text, const Target& target = kTarget) {
  return to_string(
      run_pass(pass::unsign_dot_products, Kernel{.body = parse_stmt(text)}, {}, target).body);
}
bool changes(const std::string& text, const Target& target = kTarget) {
  return unsign(text, target) != to_string(parse_stmt(text));
}

TEST(UnsignDotProducts, OneOffsetForARowOfTiles) {
  EXPECT_EQ(unsign(tile(2, 1)), R"(// attr [t] storage_scope = "local"
allocate t[int32 * 32]
// attr [offset] storage_scope = "local"
allocate offset[int32 * 16]
t[ramp(0, 1, 16)] = x16(0)
t[ramp(16, 1, 16)] = x16(0)
offset[ramp(0, 1, 16)] = x16(0)
for (k, 0, 9) {
  for (i, 0, 4) {
    offset[ramp(0, 1, 16)] = (offset[ramp(0, 1, 16)] + (x16(128)*int32x16(B[ramp((((k*64) + i) + 0), 4, 16)])))
  }
  for (i_1, 0, 4) {
    t[ramp(0, 1, 16)] = (t[ramp(0, 1, 16)] + (x16(int32(bitwise_xor(reinterpret<uint8>(A[(((k*4) + i_1) + 0)]), (uint8)128)))*int32x16(B[ramp((((k*64) + i_1) + 0), 4, 16)])))
  }
  for (i_1, 0, 4) {
    t[ramp(16, 1, 16)] = (t[ramp(16, 1, 16)] + (x16(int32(bitwise_xor(reinterpret<uint8>(A[(((k*4) + i_1) + 36)]), (uint8)128)))*int32x16(B[ramp((((k*64) + i_1) + 0), 4, 16)])))
  }
}
t[ramp(0, 1, 16)] = reinterpret<int32x16>((reinterpret<uint32x16>(t[ramp(0, 1, 16)]) - reinterpret<uint32x16>(offset[ramp(0, 1, 16)])))
t[ramp(16, 1, 16)] = reinterpret<int32x16>((reinterpret<uint32x16>(t[ramp(16, 1, 16)]) - reinterpret<uint32x16>(offset[ramp(0, 1, 16)])))
C[ramp(0, 1, 16)] = t[ramp(0, 1, 16)]
C[ramp(16, 1, 16)] = t[ramp(16, 1, 16)]
)");
}

// Where the sums go on through loops outside, as those over the taps of a window, the offset does
// too; where a loop outside moves them, it begins anew.
TEST(UnsignDotProducts, TheOffsetGoesThroughLoopsOverTheSameSums) {
  const auto nested = [](const std::string& step) {
    return unsign(
        "declare A: int8*\ndeclare B: int8*\n// attr [t] storage_scope = \"local\"\n"
        "allocate t[int32 * 64]\nfor (y, 0, 3) {\n  for (k, 0, 9) {\n" +
        [&] {
          std::string products;
          for (int r = 0; r < 2; ++r) {
            products += fmt::format(
                "    for (i, 0, 4) {{ t[ramp(({0} + {1}), 1, 16)] = (t[ramp(({0} + {1}), "
                "1, 16)] + (x16(int32(A[(((k*4) + i) + {2})]))*int32x16(B[ramp((((k*64) + "
                "i) + (y*576)), 4, 16)]))) }}\n",
                step, r * 16, r * 36);
          }
          return products;
        }() +
        "  }\n}\n");
  };
  const std::string zero = "offset[ramp(0, 1, 16)] = x16(0)\n";
  const std::string same = nested("0"), moved = nested("(y*32)");
  EXPECT_NE(same.find("\n" + zero + "for (y"), std::string::npos) << same;
  EXPECT_NE(moved.find("for (y, 0, 3) {\n  " + zero), std::string::npos) << moved;
}

TEST(UnsignDotProducts, OthersStay) {
  EXPECT_TRUE(changes(tile(3, 2)));
  EXPECT_TRUE(changes(tile(3, 2, "", "int8", 1)));
  EXPECT_FALSE(changes(tile(3, 2, "", "int8", 0))) << "no row that is always there reads B";
  EXPECT_FALSE(changes(tile(1, 2))) << "as many offsets as products";
  EXPECT_FALSE(changes(tile(2, 2, "", "uint8"))) << "one factor has no sign";
  EXPECT_FALSE(changes(tile(2, 2), Target::parse("llvm -mcpu=x86-64-v3"))) << "no instruction";
  EXPECT_FALSE(changes(tile(2, 2, "  C[k] = t[5]\n"))) << "a sum is read on the way";
  EXPECT_FALSE(changes(tile(2, 2, "  t[k] = 0\n"))) << "a sum is written on the way";
  EXPECT_FALSE(changes(tile(2, 1,
                            "  for (i, 0, 4) {\n    t[ramp(0, 1, 16)] = (t[ramp(0, 1, 16)] + "
                            "(x16(int32(A[i]))*int32x16(B[ramp((i + 64), 4, 16)])))\n  }\n")))
      << "sums of different columns";
  std::string outside = tile(2, 2);
  const size_t at = outside.find("// attr");
  outside.replace(at, outside.find("t[ramp") - at, "");
  EXPECT_FALSE(changes("declare t: int32*\n" + outside)) << "others may look at the sums";
}

TEST(UnsignDotProducts, ComputesTheSame) {
  std::mt19937 random(3);
  for (const auto& [rows, columns, guarded] :
       {std::tuple(2, 1, 9), {3, 2, 9}, {8, 3, 9}, {5, 4, 9}, {8, 3, 4}, {3, 2, 2}}) {
    const auto arrays = [&] {
      std::vector<NDArray> result;
      for (const auto& [size, type] : {std::pair(rows * 36, int_type(8)),
                                       {columns * 64 * 9, int_type(8)},
                                       {rows * columns * 16, int_type(32)}}) {
        result.push_back(NDArray::zeros({size}, type));
      }
      for (int k = 0; k < 2; ++k) {
        for (int64_t i = 0; i < result[static_cast<size_t>(k)].size(); ++i) {
          // The ends of the type often: there the offset is largest.
          const auto byte = static_cast<int8_t>(random());
          result[static_cast<size_t>(k)].data_as<int8_t>()[i] =
              random() % 3 == 0 ? int8_t{-128} : byte;
        }
      }
      return result;
    }();
    const std::string text = tile(rows, columns, "", "int8", guarded);
    const auto kernel_of = [&](const std::string& body) {
      return test::make_kernel(body, {{"A", int_type(8), {rows * 36}},
                                      {"B", int_type(8), {columns * 64 * 9}},
                                      {"C", int_type(32), {rows * columns * 16}, true}});
    };
    const std::string bare = text.substr(text.find("// attr"));
    std::string steps = text;  // the loop over steps unrolled
    steps.replace(steps.find("for (k,"), 3, "unrolled");
    steps =
        to_string(run_pass(pass::unroll_loop, Kernel{.body = parse_stmt(steps)}, {}, kTarget).body);
    const Kernel before = kernel_of(bare), after = kernel_of(unsign(text));
    const std::string declarations = text.substr(0, text.find("// attr"));
    EXPECT_TRUE(changes(declarations + steps));
    const Kernel straight = kernel_of(unsign(declarations + steps));
    const auto want = test::interpret_on(before, arrays);
    const auto expect_want = [&](const NDArray& got, const char* what) {
      EXPECT_EQ(std::memcmp(got.data(), want[2].data(), static_cast<size_t>(got.byte_size())), 0)
          << what << " " << rows << "x" << columns;
    };
    expect_want(test::interpret_on(after, arrays)[2], "interpreter");
    expect_want(test::interpret_on(straight, arrays)[2], "unrolled");
    if (!kTarget.features_missing_on_host().empty()) continue;
    const auto module = compile({after}, kTarget);
    test::call(module->get_function("kernel"), arrays);
    expect_want(arrays[2], "compiled");
    const std::string assembly = module->source("asm");
    int products = 0;
    for (size_t at = assembly.find("vpdpbusd"); at != std::string::npos;
         at = assembly.find("vpdpbusd", at + 1)) {
      ++products;
    }
    EXPECT_EQ(products % ((rows + 1) * columns), 0) << "one more for each column";
  }
}

}  // namespace
}  // namespace tw
