// SPDX-License-Identifier: Apache-2.0
#include "autotune/space/decisions.h"

#include <algorithm>

namespace tw::autotune {

bool Decisions::begin() {
  if (paths_ > 0) {
    add_branches();
    const auto uses = [this](const Path& branch) { return uses_[branch.back()]; };
    const auto best = std::ranges::min_element(branches_, {}, uses);
    if (best == branches_.end() || (paths_ >= kEnough && uses(*best) > 0)) return false;
    ahead_ = std::move(*best);
    branches_.erase(best);
  }
  ++paths_;
  path_.clear();
  return true;
}

size_t Decisions::next(size_t op, size_t ways) {
  if (ways == 1) return 0;
  Way taken = {.op = op, .of = ways, .way = 0};
  if (path_.size() < ahead_.size()) {
    taken = ahead_[path_.size()];
  } else {
    for (Way other = taken; other.way < ways; ++other.way) {
      if (uses_[other] < uses_[taken]) taken = other;
    }
  }
  ++uses_[taken];
  path_.push_back(taken);
  return taken.way;
}

std::vector<size_t> Decisions::taken() const {
  std::vector<size_t> ways;
  for (const Way& way : path_) ways.push_back(way.way);
  return ways;
}

// Of the path that has been taken, where it was free.
void Decisions::add_branches() {
  for (size_t k = ahead_.size(); k < path_.size(); ++k) {
    Path branch(path_.begin(), path_.begin() + static_cast<std::ptrdiff_t>(k + 1));
    for (size_t way = 0; way < path_[k].of; ++way) {
      branch.back().way = way;
      if (way != path_[k].way) branches_.push_back(branch);
    }
  }
}

}  // namespace tw::autotune
