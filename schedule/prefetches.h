// SPDX-License-Identifier: Apache-2.0
// What the marks of prefetch and prefetch_ahead on one loop become.
#pragma once

#include <cstdint>

#include "schedule/relation.h"
#include "schedule/schedule_data.h"

namespace tw {

// Of a line of a cache: one is fetched at a time (lower/inject_prefetch.cc).
inline constexpr int64_t kLineBytes = 64;

// The prefetches that stand first in the body of leaf `k` of the stage; undefined when there are
// none. Of a region whose extents are not known nothing is fetched, nor of a tensor that was
// inlined or is computed further in.
Stmt prefetches(const ScheduleData& schedule, const StageData& stage, size_t k,
                const DomainMap& domains, Analyzer& analyzer);

}  // namespace tw
