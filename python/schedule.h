// SPDX-License-Identifier: Apache-2.0
// A stage as Python holds it: with the schedule that it belongs to.
#pragma once

#include "python/bind.h"
#include "schedule/schedule.h"

namespace tw::python {

struct PyStage {
  Schedule schedule;
  Stage stage;
};

}  // namespace tw::python
