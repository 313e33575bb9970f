// SPDX-License-Identifier: Apache-2.0
#include "runtime/log.h"

#include <gtest/gtest.h>

#include <string>

namespace tw {
namespace {

std::string logged(LogLevel from) {
  const LogLevel before = log_level();
  set_log_level(from);
  testing::internal::CaptureStderr();
  log_debug("one");
  log_info("two");
  log_warning("three");
  set_log_level(before);
  return testing::internal::GetCapturedStderr();
}

TEST(Log, LevelsFilter) {
  EXPECT_EQ(logged(LogLevel::Debug),
            "tilewright debug: one\ntilewright info: two\ntilewright warning: three\n");
  EXPECT_EQ(logged(LogLevel::Info), "tilewright info: two\ntilewright warning: three\n");
  EXPECT_EQ(logged(LogLevel::Warning), "tilewright warning: three\n");
  EXPECT_EQ(logged(LogLevel::Silent), "");
}

}  // namespace
}  // namespace tw
