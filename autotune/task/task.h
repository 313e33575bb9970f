// SPDX-License-Identifier: Apache-2.0
// What is tuned: a te program for a target. Nothing here knows an operator's name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lower/llvm/target.h"
#include "schedule/te/text.h"

namespace tw::autotune {

// What the caches hold while candidates are timed: everything that fits, or everything but
// constants, which come from where a network's kernels find them (cold_constants.h). Times of one
// are not compared with times of the other.
enum class CacheState : uint8_t { Hot, ColdConstants };
std::string_view to_string(CacheState state);  // "hot", "cold-constants"
// Throws BadArgument for any other text.
CacheState parse_cache_state(std::string_view text);

struct Task {
  std::string name;      // a label for people
  std::string te_text;   // canonical; what workers and the log hold
  te::Program program;   // parsed from te_text, so that every process sees the same one
  std::string workload;  // te::workload_id: the key, with target_text, of the log
  Target target;
  std::string target_text;
  int threads = 1;  // threads that the kernel may use; part of the key
  // In which its candidates are timed; part of the key too. Always Hot without constants.
  CacheState caches = CacheState::Hot;
  double operations = 0;  // te::count_operations
};

// Rebuilds the program from its text, so traces refer to the same operations everywhere.
Task make_task(const te::Program& program, const Target& target, int threads, std::string name = "",
               CacheState caches = CacheState::Hot);
Task make_task(std::string_view te_text, const Target& target, int threads, std::string name = "",
               CacheState caches = CacheState::Hot);

// Shape of a tensor whose extents are constants; SymbolicExtent otherwise.
std::vector<int64_t> constant_shape(const te::Tensor& tensor);

}  // namespace tw::autotune
