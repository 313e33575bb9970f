// SPDX-License-Identifier: Apache-2.0
// Which of the code generator's passes are left out, and loops whose addresses nobody reduces.
#include "lower/llvm/generate_passes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/lower/llvm_support.h"

namespace tw::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A name that LLVM does not use would leave nothing out, unnoticed.
TEST(GeneratePasses, EachNameIsOneOfLlvm) {
  EXPECT_THAT(codegen::passes_without_effect(Target::host()), IsEmpty());
}

std::string body_of_inner_loop(const std::string& assembly) {
  const size_t begin = assembly.find("Inner Loop Header");
  const size_t end = assembly.find("\tj", begin);
  return begin == std::string::npos ? assembly : assembly.substr(begin, end - begin);
}

TEST(GeneratePasses, InnerLoopsDoNotMultiplyIndices) {
  const Kernel k = make_kernel(
      "for (i, 0, 64) { O[ramp((i*16), 1, 16)] = (A[ramp((i*48), 1, 16)] + A[ramp(((i*48) + 5), 1, "
      "16)]) }",
      {{"A", float_type(32), {64 * 48}}, {"O", float_type(32), {64 * 16}, true}});
  const std::string loop =
      body_of_inner_loop(compile({k}, Target::host(), {.keep_sources = true})->source("asm"));
  EXPECT_THAT(loop, HasSubstr("vaddps"));
  EXPECT_THAT(loop, ::testing::Not(HasSubstr("imul")));
  EXPECT_THAT(loop, ::testing::Not(HasSubstr("lea")));
  EXPECT_THAT(loop, ::testing::Not(HasSubstr("shl")));
}

TEST(GeneratePasses, StridesOfALoopThatDoesNotBeginAtZero) {
  NDArray a = NDArray::empty({40 * 12}, float_type(32)), o = NDArray::zeros({40}, float_type(32));
  for (int i = 0; i < 40 * 12; ++i) a.data_as<float>()[i] = static_cast<float>(i);
  const Kernel k = make_kernel(
      "for (j, 0, 2) { for (i, ((j*20) + 3), 17) { O[i] = (A[(i*12)] + A[((i*12) + 7)]) } }",
      {{"A", float_type(32), {40 * 12}}, {"O", float_type(32), {40}, true}});
  compile_function(k)(a, o);
  for (int i = 0; i < 40; ++i) {
    const bool written = i % 20 >= 3;
    EXPECT_EQ(o.data_as<float>()[i], written ? static_cast<float>(24 * i + 7) : 0) << i;
  }
}

}  // namespace
}  // namespace tw::test
