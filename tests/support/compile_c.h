// SPDX-License-Identifier: Apache-2.0
// Compiles a C source of the tree into a shared library, as a C user would.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/support/source_dir.h"

namespace tw::test {

// Path of the library, in a temporary place; empty (and a failure) when `cc` refuses. The source
// is checked as strict C99 with warnings as errors.
inline std::string compile_c(const std::string& source) {
  std::string path = testing::TempDir() + "/tilewright-XXXXXX.so";
  const int file = mkstemps(path.data(), 3);
  if (file < 0) {
    ADD_FAILURE() << "no temporary file " << path;
    return {};
  }
  close(file);
  const std::string root = source_dir();
  const std::string command = "cc -std=c99 -pedantic -Wall -Wextra -Werror -O1 -fPIC -shared -I '" +
                              root + "' -o '" + path + "' '" + root + "/" + source + "'";
  if (std::system(command.c_str()) != 0) {
    ADD_FAILURE() << command;
    std::remove(path.c_str());
    return {};
  }
  return path;
}

}  // namespace tw::test
