// SPDX-License-Identifier: Apache-2.0
#include "autotune/feature_set.h"

#include <algorithm>
#include <cmath>

#include "runtime/error.h"
#include "runtime/thread_pool.h"

namespace tw::autotune {

FeatureSet::~FeatureSet() = default;

const std::vector<std::string>& pooled_feature_names() {
  static const std::vector<std::string>* names = [] {
    auto* made = new std::vector<std::string>;
    for (const std::string& name : feature_names()) made->push_back("max " + name);
    for (const std::string& name : feature_names()) made->push_back("mean " + name);
    made->emplace_back("log2 prior seconds");
    return made;
  }();
  return *names;
}

std::vector<float> pooled_features(const Features& features) {
  const size_t columns = feature_names().size(), rows = features.num_rows();
  std::vector<float> matrix, row(2 * columns + 1, 0);
  features.append_to(matrix);
  for (size_t c = 0; c < columns; ++c) {
    float most = rows > 0 ? matrix[c] : 0;
    double sum = 0;
    for (size_t r = 0; r < rows; ++r) {
      most = std::max(most, matrix[r * columns + c]);
      sum += static_cast<double>(matrix[r * columns + c]);
    }
    row[c] = most;
    row[columns + c] = static_cast<float>(sum / static_cast<double>(std::max<size_t>(1, rows)));
  }
  row.back() = static_cast<float>(std::log2(std::max(features.prior_seconds, 1e-12)));
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
