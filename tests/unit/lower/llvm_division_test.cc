// SPDX-License-Identifier: Apache-2.0
// Quotients and remainders of all pairs of bytes: the definition in plain integers, the
// interpreter, and machine code of scalars, of vectors, and of divisors that are constants.
#include <gtest/gtest.h>

#include <numeric>

#include "tests/unit/lower/llvm_support.h"

namespace tw::test {
namespace {

constexpr int kBytes = 256;

struct Division {
  const char* text;  // with {0} for the dividend and {1} for the divisor
  bool floors, remainder;
};
constexpr Division kDivisions[] = {
    {"({0}/{1})", false, false},
    {"({0} % {1})", false, true},
    {"floordiv({0}, {1})", true, false},
    {"floormod({0}, {1})", true, true},
};

// Of what is defined everywhere: by zero the quotient and the remainder are 0, and -128 by -1
// wraps.
int expected(const Division& op, int a, int b) {
  if (b == 0) return 0;
  int quotient = a / b, remainder = a % b;
  if (op.floors && remainder != 0 && (remainder < 0) != (b < 0)) {
    --quotient;
    remainder += b;
  }
  return op.remainder ? remainder : quotient;
}

int byte_at(DType type, int k) { return type.is_uint() ? k : k - 128; }

// All bytes, in order.
NDArray bytes(DType type) {
  NDArray a = NDArray::empty({kBytes}, type);
  for (int k = 0; k < kBytes; ++k)
    static_cast<uint8_t*>(a.data())[k] = static_cast<uint8_t>(byte_at(type, k));
  return a;
}

std::string filled(const Division& op, const std::string& a, const std::string& b) {
  return fmt::format(fmt::runtime(op.text), a, b);
}

class Divisions : public ::testing::TestWithParam<DType> {
 protected:
  // Row a of the result has a divided by b in column b, for each b of `columns`.
  void check(const Division& op, const std::string& text, const std::vector<int>& columns) {
    const DType type = GetParam();
    const std::vector<TensorArgument> tensors = {
        {"A", type, {kBytes}}, {"B", type, {kBytes}}, {"O", type, {kBytes * kBytes}, true}};
    const Kernel kernel = make_kernel(text, tensors);
    std::vector<NDArray> arrays = {bytes(type), bytes(type),
                                   NDArray::zeros({kBytes * kBytes}, type)};
    const NDArray interpreted = interpret_on(kernel, arrays)[2];
    call(compile_function(kernel), arrays);
    const auto* got = static_cast<const uint8_t*>(arrays[2].data());
    const auto* run = static_cast<const uint8_t*>(interpreted.data());
    for (int row = 0; row < kBytes; ++row) {
      for (int column : columns) {
        const int a = byte_at(type, row), b = byte_at(type, column), i = row * kBytes + column;
        const auto want = static_cast<uint8_t>(expected(op, a, b));
        ASSERT_EQ(int(got[i]), int(want)) << op.text << ", compiled: " << a << " by " << b;
        ASSERT_EQ(int(run[i]), int(want)) << op.text << ", interpreted: " << a << " by " << b;
      }
    }
  }
};

TEST_P(Divisions, OfAllPairsOfBytes) {
  std::vector<int> all(kBytes);
  std::iota(all.begin(), all.end(), 0);
  for (const Division& op : kDivisions) {
    check(op,
          "for (i, 0, 256) { for (j, 0, 256) { O[((i*256) + j)] = " + filled(op, "A[i]", "B[j]") +
              " } }",
          all);
    check(op,
          "for (i, 0, 256) { for (j, 0, 8) { O[ramp(((i*256) + (j*32)), 1, 32)] = " +
              filled(op, "x32(A[i])", "B[ramp((j*32), 1, 32)]") + " } }",
          all);
  }
}

// Machine code of these is a multiplication and shifts.
TEST_P(Divisions, ByConstants) {
  const std::string type = to_string(GetParam());
  for (const Division& op : kDivisions) {
    std::string text;
    std::vector<int> columns;
    for (int k = 0; k < kBytes; k += k % 128 < 8 ? 1 : 15) {
      columns.push_back(k);
      const std::string constant = fmt::format("{}({})", type, byte_at(GetParam(), k));
      text += fmt::format("for (i{0}, 0, 256) {{ O[((i{0}*256) + {0})] = {1} }}\n", k,
                          filled(op, fmt::format("A[i{}]", k), constant));
    }
    check(op, text, columns);
  }
}

INSTANTIATE_TEST_SUITE_P(Bytes, Divisions, ::testing::Values(int_type(8), uint_type(8)),
                         [](const auto& info) { return std::string(to_string(info.param)); });

}  // namespace
}  // namespace tw::test
