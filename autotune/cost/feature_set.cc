// SPDX-License-Identifier: Apache-2.0
#include "autotune/cost/feature_set.h"

#include <algorithm>
#include <cmath>

#include "runtime/error.h"
#include "runtime/thread_pool.h"

namespace tw::autotune {

FeatureSet::~FeatureSet() = default;

const std::vector<std::string>& matrix_columns() {
  static const std::vector<std::string>* names = [] {
    auto* made = new std::vector<std::string>(feature_names());
    made->emplace_back("log2 prior seconds");
    return made;
  }();
  return *names;
}

std::vector<float> matrix_row(const Features& features) {
  std::vector<float> row;
  features.append_to(row);
  row.resize(feature_names().size(), 0);  // zeros where nothing is stored
  row.push_back(static_cast<float>(std::log2(std::max(features.prior_seconds, 1e-12))));
  return row;
}

std::vector<std::shared_ptr<const Features>> extract_features(
    const Task& task, const Space& space, const std::vector<const Point*>& points,
    const FeatureSet* own) {
  std::vector<std::shared_ptr<const Features>> found(points.size());
  std::vector<size_t> missing;
  for (size_t k = 0; k < points.size(); ++k) {
    found[k] = space.known_features(*points[k]);
    if (found[k] == nullptr) missing.push_back(k);
  }
  if (!missing.empty()) {  // zero tasks would mean one a thread
    parallel_for({.num_tasks = static_cast<int32_t>(missing.size()), .chunking = Chunking::Dynamic},
                 [&](int32_t i, int32_t) {
                   const size_t k = missing[static_cast<size_t>(i)];
                   try {
                     found[k] = std::make_shared<Features>(
                         extract_features(task, space.schedule(*points[k])));
                   } catch (const UserError&) {
                     // A combination of choices that the schedule refuses is not part of the space.
                   }
                 });
  }
  for (size_t k = 0; own != nullptr && k < points.size(); ++k) {
    if (found[k] == nullptr) continue;
    auto with_own = std::make_shared<Features>(*found[k]);
    with_own->own = own->extract(task, space.trace(*points[k]));
    found[k] = std::move(with_own);
  }
  return found;
}

}  // namespace tw::autotune
