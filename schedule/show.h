// SPDX-License-Identifier: Apache-2.0
// A schedule as people read it: stages as a nest of loops, with what is marked on them.
//
//   inputs A float32[64, 64], B float32[64, 64]
//   produce D  float32[64, 64], output
//     parallel (y.outer, 0, 16)
//       produce C  float32[4, 64], local
//         for (y, 0, 4)
//           for (k, 0, 64)  reduction
//             vectorized (x, 0, 64)
//       for (y.inner, 0, 4)
//         vectorized (x, 0, 64)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/domain_map.h"
#include "schedule/schedule_data.h"

namespace tw {

// One line: what stands there, and what is to be known of it.
struct NestRow {
  enum class Kind : uint8_t { Note, Stage, Loop };
  Kind kind = Kind::Note;
  int depth = 0;
  std::string text;                // "parallel (y.outer, 0, 16)"
  std::vector<std::string> notes;  // "reduction", "pragma unroll_explicit = 1"
  bool is_marked = false;
};

// What a rendering points at, by name: a loop of the stage, or the stage itself where it has no
// loop of that name.
struct Culprit {
  std::string stage, axis;
};
// That of an error. An axis that a stage may not be computed at is a loop of another one: the stage
// itself is wrong.
Culprit culprit_of(const ErrorInfo& error);

// The rows of the whole schedule, with regions and extents where bounds can be inferred.
std::vector<NestRow> nest_rows(const Schedule& schedule);
// The rows of the nests that the stage of `culprit` stands in, and of those that read it, as they
// are: extents are shown where they do not depend on where the stage is computed.
std::vector<NestRow> nest_rows(const ScheduleData& schedule, const Culprit& culprit);

// In lines of at most `width` columns; where a row is marked, "> " stands before it.
std::string to_text(const std::vector<NestRow>& rows, size_t width = 80);
// A <pre> element for notebooks: stages in bold, notes in grey.
std::string to_html(const std::vector<NestRow>& rows);

}  // namespace tw
