// SPDX-License-Identifier: Apache-2.0
#include "autotune/task/cold_constants.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "runtime/element.h"

namespace tw::autotune {
namespace {

const char* address(const CallArgument& argument) {
  return static_cast<const char*>(static_cast<const DLTensor*>(argument.pointer())->data);
}

TEST(ColdConstants, CallsOfARoundReadAllOfTheMemory) {
  const NDArray image = NDArray::zeros({4}, float_type(32));
  const NDArray weight = NDArray::zeros({1000, 25}, float_type(32)), bias = image.copy();
  const NDArray memory = cold_memory(1 << 20);
  const auto* first = memory.data_as<char>();
  ArgumentRotation calls({image, weight, bias}, {false, true, true}, memory);
  ASSERT_EQ(calls.size(), 1u + (1 << 20) / (100'032 + 64));
  EXPECT_EQ(address(calls.next()[1]), weight.data());
  std::set<const char*> places;
  for (size_t call = 1; call < calls.size(); ++call) {
    const auto& arguments = calls.next();
    EXPECT_EQ(address(arguments[0]), image.data());
    for (size_t k : {1u, 2u}) {
      EXPECT_TRUE(places.insert(address(arguments[k])).second);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(address(arguments[k])) % NDArray::kAlignment, 0u);
      EXPECT_GE(address(arguments[k]), first);
      EXPECT_LE(address(arguments[k]) + (k == 1 ? weight : bias).byte_size(), first + (1 << 20));
    }
  }
  EXPECT_EQ(address(calls.next()[1]), weight.data());
}

TEST(ColdConstants, IndicesKeepTheirValues) {
  const NDArray indices = NDArray::zeros({8}, int_type(32));
  indices.data_as<int32_t>()[3] = 7;
  ArgumentRotation calls({indices}, {true}, cold_memory(1 << 10));
  ASSERT_GT(calls.size(), 1u);
  std::set<const char*> places;
  for (size_t call = 0; call < calls.size(); ++call) {
    const char* data = address(calls.next()[0]);
    EXPECT_EQ(reinterpret_cast<const int32_t*>(data)[3], 7);
    places.insert(data);
  }
  EXPECT_EQ(places.size(), calls.size());
}

TEST(ColdConstants, NothingRotatesWithoutConstantsOrMemory) {
  const NDArray a = NDArray::zeros({8}, float_type(32));
  EXPECT_EQ(ArgumentRotation({a}, {false}, cold_memory(1 << 10)).size(), 1u);
  EXPECT_EQ(ArgumentRotation({a}, {true}, NDArray()).size(), 1u);
  EXPECT_EQ(ArgumentRotation({NDArray::zeros({0}, float_type(32))}, {true}, cold_memory(64)).size(),
            1u);
}

TEST(ColdConstants, ManySmallOnesAreFew) {
  const NDArray a = NDArray::zeros({8}, float_type(32));
  EXPECT_LE(ArgumentRotation({a}, {true}, cold_memory(1 << 20)).size(), 1000u);
}

// Denormal numbers, infinities and NaN take longer.
TEST(ColdConstants, MemoryHoldsPlainNumbersOfEveryType) {
  const NDArray memory = cold_memory(4096);
  for (DType type : {float_type(16), bfloat_type(16), float_type(32), float_type(64)}) {
    for (int64_t at = 0; at < memory.byte_size(); at += type.element_bytes()) {
      const double value = load_as_double(memory.data_as<char>() + at, type);
      EXPECT_GT(value, 1e-6) << at;
      EXPECT_LT(value, 10) << at;
    }
  }
}

}  // namespace
}  // namespace tw::autotune
