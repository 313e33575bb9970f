// SPDX-License-Identifier: Apache-2.0
#include "autotune/log/vendor_choice.h"

#include <algorithm>

#include "runtime/time_evaluator.h"

namespace tw::autotune {

std::optional<TimeRatio> ratio_of(const VendorChoice& choice, std::string_view way,
                                  std::string_view base) {
  const auto a = choice.seconds.find(std::string(way)), b = choice.seconds.find(std::string(base));
  if (a == choice.seconds.end() || b == choice.seconds.end()) return {};
  // Whoever is taken out of a race was in its first rounds.
  std::vector<double> ratios;
  for (size_t k = 0; k < std::min(a->second.size(), b->second.size()); ++k)
    ratios.push_back(a->second[k] / b->second[k]);
  if (ratios.empty()) return {};
  const TimeResult found = summarize(std::move(ratios));
  return TimeRatio{found.median, found.interval_low, found.interval_high};
}

std::string_view choose_way(const VendorChoice& choice) {
  const auto is_faster = [&](std::string_view way, std::string_view base) {
    const auto ratio = ratio_of(choice, way, base);
    return ratio && ratio->high < 1;
  };
  const std::string_view whole = is_faster(kVendor, kOurs) ? kVendor : kOurs;
  return is_faster(kParts, whole) ? kParts : whole;
}

}  // namespace tw::autotune
