// SPDX-License-Identifier: Apache-2.0
#include "autotune/standings.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tw::autotune {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// How much faster than a confirmed time one that is not must be. The best of 200 single timings on
// a busy machine was found 1.2 to 1.8 times as fast as the same kernel really is.
constexpr double kDoubt = 1.25;
// How much faster a challenger must look: less is not worth the time of a race, and the final one
// will tell.
constexpr double kWorthARace = 1.05;

}  // namespace

void Standings::add(const Record& r) {
  const bool again = r.origin == Origin::Confirm;
  if (!again) in_race_ = false;
  if (!again && !r.ok()) return;
  const auto [at, fresh] = by_trace_.try_emplace(r.trace, entries_.size());
  if (fresh) entries_.push_back({.trace = r.trace, .seconds = kNever});
  Entry& e = entries_[at->second];
  if (again) {
    // The incumbent opens a race, so its coming back opens another.
    const int last = static_cast<int>(races_.size()) - 1;
    if (!in_race_ || r.run != run_ || e.race == last) races_.emplace_back();
    in_race_ = true;
    run_ = r.run;
    e.race = static_cast<int>(races_.size()) - 1;
    races_.back().emplace_back(at->second, r.median());
  } else if (e.confirmed() || r.median() >= e.seconds) {
    return;
  }
  e.seconds = r.median();
  e.record = r.id;
}

// By an entry that is still in good standing: one that failed later beats nobody.
std::vector<bool> Standings::beaten() const {
  std::vector<bool> result(entries_.size());
  for (size_t race = 0; race < races_.size(); ++race) {
    double fastest = kNever;
    for (const auto& [entry, seconds] : races_[race]) {
      if (std::isfinite(entries_[entry].seconds)) fastest = std::min(fastest, seconds);
    }
    for (const auto& [entry, seconds] : races_[race]) {
      if (entries_[entry].race == static_cast<int>(race)) result[entry] = seconds > fastest;
    }
  }
  return result;
}

// Those that were in no race count as slower by `doubt`; not at all where it is infinite.
const Standings::Entry* Standings::leading(double doubt) const {
  const std::vector<bool> lost = beaten();
  const Entry* result = nullptr;
  double least = kNever;
  for (size_t i = 0; i < entries_.size(); ++i) {
    const Entry& e = entries_[i];
    const double believed = e.confirmed() ? e.seconds : e.seconds * doubt;
    if (lost[i] || believed >= least) continue;
    least = believed;
    result = &e;
  }
  return result;
}

const Standings::Entry* Standings::best() const { return leading(kDoubt); }

template <class Eligible>
std::vector<Standings::Entry> Standings::field(size_t most, Eligible eligible) const {
  const Entry* first = leading(kNever);  // the incumbent
  std::vector<Entry> result;
  for (const Entry& e : entries_) {
    if (&e != first && std::isfinite(e.seconds) && eligible(e, first)) result.push_back(e);
  }
  std::ranges::stable_sort(result, {}, &Entry::seconds);
  // Without an incumbent one more takes its place.
  if (result.size() > most) result.resize(most + (first == nullptr ? 1 : 0));
  if (first != nullptr && !result.empty()) result.insert(result.begin(), *first);
  return result;
}

std::vector<Standings::Entry> Standings::challenge(size_t most) const {
  return field(most, [](const Entry& e, const Entry* first) {
    return !e.confirmed() && (first == nullptr || e.seconds * kWorthARace < first->seconds);
  });
}

std::vector<Standings::Entry> Standings::finalists(size_t most) const {
  return field(most, [](const Entry&, const Entry*) { return true; });
}

}  // namespace tw::autotune
