// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace tw::test {

/// While it lives the prior looks at as many points as for users, not at the few that tests do with
/// (tests/README.md): for tests of what is decided by how fast it holds a kernel to be.
class WholePrior {
 public:
  WholePrior() {
    if (const char* points = std::getenv(kPoints)) before_ = points;
    unsetenv(kPoints);
  }
  ~WholePrior() { before_ ? setenv(kPoints, before_->c_str(), 1) : unsetenv(kPoints); }
  WholePrior(const WholePrior&) = delete;
  WholePrior& operator=(const WholePrior&) = delete;

 private:
  static constexpr const char* kPoints = "TILEWRIGHT_PRIOR_POINTS";
  std::optional<std::string> before_;
};

}  // namespace tw::test
