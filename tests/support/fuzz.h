// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace tw::test {

/// Factor on the number of random cases: 1 in `./tw test`, larger with `--long`, smaller under a
/// sanitizer. Read from the environment variable TW_FUZZ_SCALE.
inline double fuzz_scale() {
  const char* text = std::getenv("TW_FUZZ_SCALE");
  return text == nullptr ? 1.0 : std::max(0.0, std::strtod(text, nullptr));
}

/// Number of cases to try where `base` is the number at scale 1; at least one.
inline int fuzz_cases(int base) { return std::max(1, static_cast<int>(base * fuzz_scale())); }

/// Seed of the random generators, the same in every run unless TW_FUZZ_SEED gives another.
inline std::uint64_t fuzz_seed() {
  const char* text = std::getenv("TW_FUZZ_SEED");
  return text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
}

}  // namespace tw::test
