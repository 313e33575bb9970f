// SPDX-License-Identifier: Apache-2.0
#include "runtime/dtype.h"

#include <gtest/gtest.h>

#include "runtime/error.h"

namespace tw {
namespace {

TEST(DType, PrintsAndParses) {
  for (const char* text :
       {"int8", "int16", "int32", "int64", "uint8", "uint64", "float16", "float32", "float64",
        "bfloat16", "bool", "handle", "float32x16", "boolx8", "int8x4", "bfloat16x32"}) {
    EXPECT_EQ(to_string(parse_dtype(text)), text);
  }
  EXPECT_EQ(parse_dtype("float32x16"), float_type(32, 16));
  EXPECT_EQ(parse_dtype("float32x1"), float_type(32));
  EXPECT_EQ(parse_dtype("bool"), bool_type());
}

TEST(DType, RefusesOtherText) {
  for (const char* text :
       {"",         "float",     "float31",    "float8",        "int",
        "int7",     "uint128",   "Float32",    "float32 ",      " float32",
        "float32x", "float32x0", "float32x-1", "float32x70000", "float32y4",
        "bfloat32", "bool8",     "handle64",   "double",        "int99999999999"}) {
    try {
      parse_dtype(text);
      ADD_FAILURE() << text;
    } catch (const UserError& e) {
      EXPECT_EQ(e.code(), ErrorCode::UnknownDType) << text;
      EXPECT_NE(std::string(e.what()).find("'" + std::string(text) + "'"), std::string::npos);
    }
  }
}

TEST(DType, Properties) {
  EXPECT_TRUE(bfloat_type(16).is_float());
  EXPECT_FALSE(bool_type().is_integer());
  EXPECT_EQ(float_type(32, 8).element(), float_type(32));
  EXPECT_EQ(bool_type().element_bytes(), 1);
  EXPECT_EQ(int_type(16, 4).element_bytes(), 2);
  EXPECT_TRUE(int_type(8, 2).is_vector());
}

}  // namespace
}  // namespace tw
