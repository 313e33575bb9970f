// SPDX-License-Identifier: Apache-2.0
#include "autotune/task/cold_constants.h"

#include <algorithm>

namespace tw::autotune {
namespace {

// Constants of which so many do not fill the caches are read in no time.
constexpr size_t kMostCalls = 256;

int64_t aligned(int64_t bytes) {
  constexpr auto kAlignment = static_cast<int64_t>(NDArray::kAlignment);
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

NDArray cold_memory(int64_t bytes) {
  NDArray memory = NDArray::empty({bytes / 4}, uint_type(32));
  auto* words = memory.data_as<uint32_t>();
  for (int64_t i = 0; i < memory.size(); ++i) {
    // Both halves alike: bfloat16 and float32 of 0.5 to 1, float16 of 1.75 to 2, float64 of 3e-5.
    const uint32_t half = 0x3f00 + static_cast<uint32_t>(i * 7 % 0x80);
    words[i] = half << 16 | half;
  }
  return memory;
}

ArgumentRotation::ArgumentRotation(std::vector<NDArray> arrays, const std::vector<bool>& rotates,
                                   const NDArray& memory) {
  held_ = arrays;
  calls_.emplace_back(arrays.begin(), arrays.end());
  if (!memory.defined()) return;
  int64_t bytes = 0;  // of one call
  for (size_t k = 0; k < arrays.size(); ++k) {
    if (rotates[k]) bytes += aligned(arrays[k].byte_size());
  }
  if (bytes == 0) return;
  for (int64_t at = 0; at + bytes <= memory.byte_size() && calls_.size() < kMostCalls;) {
    for (size_t k = 0; k < arrays.size(); ++k) {
      if (!rotates[k]) continue;
      if (arrays[k].dtype().is_float()) {
        arrays[k] = NDArray::over(memory.data_as<char>() + at, nullptr, arrays[k].shape(),
                                  arrays[k].dtype());
      } else {
        arrays[k] = arrays[k].copy();
      }
      at += aligned(arrays[k].byte_size());
    }
    held_.insert(held_.end(), arrays.begin(), arrays.end());
    calls_.emplace_back(arrays.begin(), arrays.end());
  }
}

const std::vector<CallArgument>& ArgumentRotation::next() {
  const std::vector<CallArgument>& call = calls_[next_];
  if (++next_ == calls_.size()) next_ = 0;
  return call;
}

}  // namespace tw::autotune
