// SPDX-License-Identifier: Apache-2.0
// What passes that load vectors in another way must leave as it was.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/unit/lower/llvm_support.h"
#include "tests/unit/lower/pass_text.h"

namespace tw::test {

// The text stores `results` elements of O and reads A, which has `elements`, beyond which nothing
// may be read: the interpreter and machine code, with masks and without, find what they found.
template <typename T>
void expect_same_results(KernelPass pass, const std::string& text, DType type, int64_t results,
                         int64_t elements) {
  const TensorArgument o{"O", type, {results}, true}, a{"A", type, {elements}};
  const Kernel before = make_kernel(text, {o, a});
  for (const Target& target : {Target::host(), Target::parse("llvm -mcpu=x86-64-v3")}) {
    const Kernel after = run_pass(pass, before, {}, target);
    std::vector<NDArray> arrays = {NDArray::zeros({results}, type),
                                   NDArray::zeros({elements}, type)};
    for (int64_t i = 0; i < elements; ++i) arrays[1].data_as<T>()[i] = static_cast<T>(i + 1);
    const auto want = interpret_on(before, arrays);
    const auto got = interpret_on(after, arrays);
    call(compile_function(after, target), arrays);
    for (int64_t i = 0; i < results; ++i) {
      ASSERT_EQ(got[0].data_as<T>()[i], want[0].data_as<T>()[i]) << text << i;
      ASSERT_EQ(arrays[0].data_as<T>()[i], want[0].data_as<T>()[i]) << text << i;
    }
  }
}

// The loop that one instruction adds stays as it is.
inline void expect_dot_products_stay(KernelPass pass) {
  const Kernel kernel{.body = parse_stmt(R"(declare S: int32*
declare X: uint8*
declare W: int8*
for (k, 0, 4) {
  S[ramp(0, 1, 16)] = (S[ramp(0, 1, 16)] + (x16(int32(X[k]))*int32x16(W[ramp(k, 4, 16)])))
}
)")};
  const Target target = Target::parse("llvm -mcpu=znver4");
  EXPECT_EQ(to_string(run_pass(pass, kernel, {}, target).body), to_string(kernel.body));
}

}  // namespace tw::test
