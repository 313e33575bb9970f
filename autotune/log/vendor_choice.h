// SPDX-License-Identifier: Apache-2.0
// How a part of a network is computed, where there are several ways: decided by times that a Race
// took in turns, and kept in the log. Nothing here runs or reads a clock.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autotune/task/task.h"

namespace tw::autotune {

// Ways to compute a part: all by our kernels, all by another code generator, or its own parts each
// as they were chosen.
inline constexpr std::string_view kOurs = "ours", kVendor = "vendor", kParts = "parts";

// What a choice is about.
struct VendorKey {
  std::string program;           // hash of the part: operators, attributes, shapes
  std::string codegen, version;  // of the other code generator, and of what it calls
  std::string target;            // Target::text
  int threads = 1;
  CacheState caches = CacheState::ColdConstants;
};

struct VendorChoice {
  VendorKey key;
  std::string name;                                    // the part's nodes, for people
  std::string_view chosen = kOurs;                     // of the ways above
  std::map<std::string, std::vector<double>> seconds;  // by way: one of each round it was in
  // Our kernels when it was made: workloads, and the trials that their schedules are of; 0: the
  // prior's. With others the choice may be another.
  std::map<std::string, int64_t> kernels;
  std::string message;              // why the other code generator took no part; empty: it did
  std::string host, kind, created;  // as a Record's
};

// The time of one way in parts of another's: the median over rounds that both were in, and its
// bounds at 95 % confidence (TimeResult). Nothing where there is no such round.
struct TimeRatio {
  double median = 0, low = 0, high = 0;
};
std::optional<TimeRatio> ratio_of(const VendorChoice& choice, std::string_view way,
                                  std::string_view base);

// Ours, unless the upper bound of another way's ratio to it is below 1; the parts' ways, only where
// that is so of their ratio to the better of the other two.
std::string_view choose_way(const VendorChoice& choice);

}  // namespace tw::autotune
