// SPDX-License-Identifier: Apache-2.0
#include "runtime/element.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/error.h"

namespace tw {
namespace {

int64_t through(DType type, int64_t value) {
  unsigned char memory[8] = {};
  store_int(memory, type, value);
  return load_as_int(memory, type);
}

double through(DType type, double value) {
  unsigned char memory[8] = {};
  store_double(memory, type, value);
  return load_as_double(memory, type);
}

TEST(Element, IntegersWrap) {
  EXPECT_EQ(through(int_type(8), int64_t{200}), -56);
  EXPECT_EQ(through(uint_type(8), int64_t{-1}), 255);
  EXPECT_EQ(through(int_type(16), int64_t{40000}), 40000 - 65536);
  EXPECT_EQ(through(uint_type(32), int64_t{-1}), 0xffffffff);
  EXPECT_EQ(through(int_type(64), std::numeric_limits<int64_t>::min()),
            std::numeric_limits<int64_t>::min());
  EXPECT_EQ(through(bool_type(), int64_t{7}), 1);
  for (DType type : {int_type(8), uint_type(16), int_type(32), uint_type(64), bool_type()}) {
    for (int64_t value : {0l, 1l, -1l, 127l, 128l, 65535l, 1l << 31, -(1l << 40)}) {
      EXPECT_EQ(through(type, value), wrap_to(type, value)) << to_string(type) << ' ' << value;
    }
  }
}

TEST(Element, FloatsToIntegersTruncate) {
  EXPECT_EQ(through(int_type(32), 2.9), 2);
  EXPECT_EQ(through(int_type(32), -2.9), -2);
  EXPECT_EQ(through(int_type(8), 300.0), 44);
  EXPECT_EQ(through(uint_type(64), 0x1p63), 0x1p63);
  EXPECT_EQ(through(int_type(32), std::nan("")), 0);
  EXPECT_EQ(through(bool_type(), 0.25), 1);
  EXPECT_EQ(through(bool_type(), 0.0), 0);
}

TEST(Element, FloatsRound) {
  EXPECT_EQ(through(float_type(32), 0.1), static_cast<double>(0.1f));
  EXPECT_EQ(through(float_type(64), 0.1), 0.1);
  EXPECT_EQ(round_to(float_type(16), 1 + 0x1p-11), 1.0);
  EXPECT_EQ(round_to(bfloat_type(16), 1 + 0x1p-8 + 0x1p-30), 1 + 0x1p-7);
  EXPECT_EQ(round_to(float_type(16), 1e6), std::numeric_limits<double>::infinity());
}

// A large integer is rounded once: the same as the compiler's own conversion.
TEST(Element, IntegersToFloatsRoundOnce) {
  for (int shift = 20; shift < 63; ++shift) {
    for (int64_t low : {-3, -1, 0, 1, 3}) {
      for (int64_t high : {0x1000001l, 0x1000003l, 0xffffffl}) {
        const int64_t value =
            static_cast<int64_t>(static_cast<uint64_t>(high) << (shift % 39)) + low;
        for (int64_t v : {value, -value}) {
          unsigned char memory[4];
          store_int(memory, float_type(32), v);
          float got;
          std::memcpy(&got, memory, 4);
          EXPECT_EQ(got, static_cast<float>(v)) << v;
        }
      }
    }
  }
  unsigned char memory[4];
  for (int64_t v : {std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()}) {
    store_int(memory, float_type(32), v);
    EXPECT_EQ(load_as_double(memory, float_type(32)), static_cast<double>(static_cast<float>(v)));
  }
}

TEST(Element, HandlesAreNoNumbers) {
  unsigned char memory[8] = {};
  EXPECT_THROW(load_as_double(memory, handle_type()), UserError);
  EXPECT_THROW(store_int(memory, handle_type(), 1), UserError);
  EXPECT_THROW(store_double(memory, handle_type(), 1), UserError);
}

}  // namespace
}  // namespace tw
