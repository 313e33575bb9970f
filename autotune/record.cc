// SPDX-License-Identifier: Apache-2.0
#include "autotune/record.h"

#include <limits>

#include "runtime/time_evaluator.h"

namespace tw::autotune {

std::string_view to_string(Origin origin) {
  switch (origin) {
    case Origin::Prior:
      return "prior";
    case Origin::Search:
      return "search";
    case Origin::Random:
      return "random";
    case Origin::Script:
      return "script";
    case Origin::Confirm:
      return "confirm";
  }
  return "search";
}

double Record::median() const {
  if (!ok() || seconds.empty()) return std::numeric_limits<double>::infinity();
  return summarize(seconds).median;
}

}  // namespace tw::autotune
