// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "runtime/error.h"

namespace tw::test {

// Runs `f`, expects it to throw an Error of `code`, and returns what the error knows.
template <class F>
ErrorInfo expect_error(ErrorCode code, F f) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(to_string(e.code()), to_string(code)) << e.what();
    return e.info();
  }
  ADD_FAILURE() << "no error, expected " << to_string(code);
  return {};
}

// The same for errors whose whole text is what a test compares.
template <class F>
std::string expect_message(ErrorCode code, F f) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(to_string(e.code()), to_string(code)) << e.what();
    return e.what();
  }
  ADD_FAILURE() << "no error, expected " << to_string(code);
  return {};
}

}  // namespace tw::test
