// SPDX-License-Identifier: Apache-2.0
// A checksum against damage, not against forgery, at the speed of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tw {

// Words of 8 bytes, little-endian, go in turn through four chains, so that memory and not the
// multiplier is the limit; bytes that are left go into the count they are added to.
inline uint64_t checksum(const void* data, size_t n) {
  const auto* bytes = static_cast<const char*>(data);
  uint64_t lanes[4] = {1, 2, 3, 4};
  size_t i = 0;
  for (; i + 32 <= n; i += 32) {
    for (size_t k = 0; k < 4; ++k) {
      uint64_t word = 0;
      std::memcpy(&word, bytes + i + 8 * k, 8);
      lanes[k] = (lanes[k] ^ word) * 0x9e3779b97f4a7c15;
      lanes[k] ^= lanes[k] >> 29;
    }
  }
  uint64_t hash = n;
  for (; i < n; ++i) hash = (hash ^ static_cast<uint8_t>(bytes[i])) * 0x100000001b3;
  for (uint64_t lane : lanes) hash = (hash ^ lane) * 0xbf58476d1ce4e5b9;
  return hash;
}

}  // namespace tw
