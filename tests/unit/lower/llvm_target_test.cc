// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lower/llvm/target.h"
#include "runtime/error.h"
#include "runtime/instruction_sets.h"

namespace tw {
namespace {

using ::testing::HasSubstr;

void expect_unknown(const std::string& text, const std::string& what, const std::string& legal) {
  try {
    Target::parse(text);
    FAIL() << text << " was accepted";
  } catch (const UserError& e) {
    EXPECT_EQ(e.code(), ErrorCode::UnknownTarget);
    EXPECT_THAT(e.info().what, HasSubstr(what));
    EXPECT_THAT(e.info().legal, HasSubstr(legal));
  }
}

TEST(Target, HostIsExplicitAndStable) {
  const Target host = Target::parse("llvm");
  EXPECT_EQ(host.text(), Target::host().text());
  EXPECT_THAT(host.text(), HasSubstr("-mcpu="));
  EXPECT_EQ(Target::parse(host.text()).text(), host.text());
  EXPECT_EQ(Target::parse("llvm -mcpu=native").text(), host.text());
  EXPECT_TRUE(host.features_missing_on_host().empty());
}

TEST(Target, VectorFacts) {
  const Target znver4 = Target::parse("llvm -mcpu=znver4");
  EXPECT_EQ(znver4.vector_bits, 512);
  EXPECT_EQ(znver4.vector_registers, 32);
  EXPECT_EQ(znver4.vector_lanes(32), 16);
  EXPECT_TRUE(znver4.has_fma);
  EXPECT_TRUE(znver4.has_masks);
  EXPECT_TRUE(znver4.masks(8) && znver4.masks(32));
  EXPECT_TRUE(znver4.has_ldexp);
  EXPECT_FALSE(Target::parse("llvm -mcpu=x86-64-v3 -mattr=+avx512f,+avx512vl").has_ldexp);
  EXPECT_FALSE(Target::parse("llvm -mcpu=x86-64-v3 -mattr=+avx512f").masks(8));
  const Target v3 = Target::parse("llvm -mcpu=x86-64-v3");
  EXPECT_EQ(v3.vector_bits, 256);
  EXPECT_EQ(v3.vector_registers, 16);
  EXPECT_TRUE(v3.has_fma);
  EXPECT_FALSE(v3.has_masks);
  const Target plain = Target::parse("llvm -mcpu=x86-64");
  EXPECT_EQ(plain.vector_bits, 128);
  EXPECT_FALSE(plain.has_fma);
  EXPECT_EQ(Target::parse("llvm -mcpu=znver4 -mattr=-avx512f").vector_bits, 256);
  EXPECT_EQ(Target::parse("llvm -mcpu=x86-64-v3 -mattr=+avx512f").vector_bits, 512);
}

TEST(Target, OneMachineOneText) {
  const std::string plain = Target::parse("llvm -mcpu=znver4").text();
  EXPECT_EQ(plain, "llvm -mcpu=znver4");
  EXPECT_EQ(Target::parse("llvm  -mattr=+avx512f,+fma -mcpu=znver4").text(), plain);
  EXPECT_EQ(Target::parse("llvm -mcpu=x86-64 -mattr=+avx2,+avx,+fma").text(),
            Target::parse("llvm -mcpu=x86-64 -mattr=+fma,+avx2").text());
  EXPECT_EQ(Target::parse("llvm -mcpu=znver4 -opt=2").text(), "llvm -mcpu=znver4 -opt=2");
  EXPECT_EQ(Target::parse("llvm -mcpu=znver4 -opt=3").text(), plain);
}

TEST(Target, UnknownPartsNameTheNearest) {
  expect_unknown("lvm", "'lvm'", "llvm");
  expect_unknown("", "''", "llvm");
  expect_unknown("llvm -mcpu=znver44", "cpu 'znver44'", "znver4");
  expect_unknown("llvm -mcpu=zen", "cpu 'zen'", "znver");
  expect_unknown("llvm -mcpu=sapphire", "cpu 'sapphire'", "sapphirerapids");
  expect_unknown("llvm -mattr=+avx512ff", "+avx512ff", "+avx512f");
  expect_unknown("llvm -mattr=avx2", "no sign", "+avx2");
  expect_unknown("llvm -mcpus=znver4", "-mcpus", "-mcpu");
  expect_unknown("llvm -opt=9", "'9'", "-opt=3");
  expect_unknown("llvm -mtriple=pdp11-dec-unix -mcpu=x", "pdp11", "x86");
}

TEST(Target, FeaturesThatTheHostLacks) {
  EXPECT_TRUE(Target::parse("llvm -mcpu=x86-64").features_missing_on_host().empty());
  // No processor has both of these.
  EXPECT_FALSE(Target::parse("llvm -mcpu=x86-64-v3 -mattr=+fma4,+xop,+avx10.1-512")
                   .features_missing_on_host()
                   .empty());
}

// The runtime, which has no LLVM to ask, finds the same.
TEST(Target, InstructionSetsOfTheHost) {
  const std::vector<std::string> mine = Target::host().instruction_sets();
  EXPECT_FALSE(mine.empty());
  EXPECT_EQ(missing_instruction_sets(mine), std::vector<std::string>{});
  const Target every = Target::parse(
      "llvm -mcpu=x86-64-v4 -mattr=+amx-bf16,+amx-int8,+avx512bf16,+avx512bitalg,+avx512fp16,"
      "+avx512vbmi2,+avx512vnni,+avx512vpopcntdq,+avxifma,+avxneconvert,+avxvnni,+avxvnniint16,"
      "+avxvnniint8,+fma4,+gfni,+sse4a,+tbm,+vaes,+vpclmulqdq,+xop");
  std::vector<std::string> found = missing_instruction_sets(every.instruction_sets());
  std::vector<std::string> expected = every.features_missing_on_host();
  std::erase(expected, "evex512");  // LLVM's own: avx512f in vectors of 512 bits
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace tw
