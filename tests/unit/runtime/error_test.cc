// SPDX-License-Identifier: Apache-2.0
#include "runtime/error.h"

#include <gtest/gtest.h>

#include <set>

#include "runtime/last_error.h"

namespace tw {
namespace {

constexpr ErrorCode kAll[] = {
#define ERROR_CODE(Name, Kind, Text) ErrorCode::Name,
#include "runtime/error_codes.def"
#undef ERROR_CODE
};

TEST(Error, CodesHaveDistinctStableIds) {
  std::set<std::string_view> ids;
  for (ErrorCode code : kAll) {
    const std::string_view id = to_string(code);
    EXPECT_EQ(id.find_first_not_of("abcdefghijklmnopqrstuvwxyz-"), std::string_view::npos) << id;
    EXPECT_TRUE(ids.insert(id).second) << id;
  }
}

TEST(Error, TheKindPicksTheClass) {
  for (ErrorCode code : kAll) {
    try {
      raise({.code = code, .what = "w"});
    } catch (const UserError& e) {
      EXPECT_EQ(kind_of(e.code()), ErrorKind::User);
    } catch (const InternalError& e) {
      EXPECT_EQ(kind_of(e.code()), ErrorKind::Internal);
    } catch (const MeasureError& e) {
      EXPECT_EQ(kind_of(e.code()), ErrorKind::Measure);
    }
  }
}

TEST(Error, MessagesSayWhereAndWhatWouldBeLegal) {
  const UserError full({.code = ErrorCode::FactorNotPositive,
                        .what = "factor is 0",
                        .stage = "C",
                        .axis = "i",
                        .where = "conv.py:12",
                        .legal = "a positive integer"});
  EXPECT_STREQ(full.what(),
               "stage 'C', axis 'i', conv.py:12: factor is 0; legal: a positive integer");
  EXPECT_STREQ(UserError({.code = ErrorCode::BadShape, .what = "w"}).what(), "w");
}

TEST(Error, FailedChecksAreInternal) {
  try {
    TW_CHECK(1 + 1 == 3, "arithmetic");
    ADD_FAILURE();
  } catch (const InternalError& e) {
    EXPECT_EQ(e.code(), ErrorCode::Internal);
    EXPECT_NE(std::string(e.what()).find("1 + 1 == 3: arithmetic"), std::string::npos);
  }
}

TEST(LastError, KeepsAnyException) {
  const auto kept = [](auto thrower) {
    try {
      thrower();
    } catch (...) {
      keep_current_exception();
    }
    LastError& error = last_error();
    EXPECT_TRUE(error.present);
    error.present = false;
    return std::pair(error.code, std::string(error.message));
  };
  EXPECT_EQ(kept([] { raise({.code = ErrorCode::BadShape, .what = "w"}); }),
            std::pair(ErrorCode::BadShape, std::string("w")));
  EXPECT_EQ(kept([] { throw std::bad_alloc(); }).first, ErrorCode::OutOfMemory);
  EXPECT_EQ(kept([] { throw std::runtime_error("r"); }),
            std::pair(ErrorCode::Internal, std::string("r")));
  EXPECT_EQ(kept([] { throw 3; }).first, ErrorCode::Internal);
}

TEST(LastError, BecomesATypedError) {
  LastError error;
  error.assign(ErrorCode::ArgumentShape, "shape");
  EXPECT_THROW(raise_last_error(error, "f"), UserError);
  try {
    raise_last_error(LastError(), "gemm");
  } catch (const InternalError& e) {
    EXPECT_STREQ(e.what(), "'gemm' failed and said nothing");
  }
}

}  // namespace
}  // namespace tw
