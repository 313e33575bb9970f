// SPDX-License-Identifier: Apache-2.0
// Text against a file of tests/golden/. TILEWRIGHT_UPDATE_GOLDEN=1 writes the files instead.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/support/source_dir.h"

namespace tw {

inline std::string read_golden(const std::string& name) {
  std::ifstream in(source_dir() + "/tests/golden/" + name);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

inline void expect_golden(const std::string& name, const std::string& text) {
  if (std::getenv("TILEWRIGHT_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(source_dir() + "/tests/golden/" + name) << text;
    return;
  }
  EXPECT_EQ(text, read_golden(name))
      << "tests/golden/" << name << "; TILEWRIGHT_UPDATE_GOLDEN=1 writes what is now";
}

}  // namespace tw
