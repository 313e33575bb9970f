// SPDX-License-Identifier: Apache-2.0
// Data of a program of any element type: floats may differ from the definition by their rounding
// errors, integers may not.
#pragma once

#include <algorithm>

#include "autotune/measure/reference.h"
#include "tests/support/schedule_case.h"

namespace tw::test {

inline CaseData make_workload_data(const ScheduleCase& c) {
  CaseData data = make_data(c);
  data.tolerance.resize(data.arguments.size());
  const autotune::ErrorBound bound = autotune::error_bound(c.program);
  if (bound.program.outputs.empty()) return data;
  std::vector<InterpreterBuffer> results;
  results.reserve(bound.program.outputs.size());
  std::vector<InterpreterBuffer*> pointers;
  const auto place = [](const std::vector<te::Tensor>& list, const te::Tensor& t) {
    return static_cast<size_t>(std::ranges::find(list, t) - list.begin());
  };
  for (const te::Tensor& t : bound.program.arguments) {
    if (const size_t at = place(c.program.arguments, t); at < data.arguments.size()) {
      pointers.push_back(&data.arguments[at]);
      continue;
    }
    int64_t size = 1;
    for (int64_t extent : autotune::constant_shape(t)) size *= extent;
    results.emplace_back(t.dtype(), size);
    pointers.push_back(&results.back());
  }
  te::evaluate(bound.program, pointers, {});
  for (size_t k = 0; k < bound.outputs.size(); ++k) {
    if (bound.outputs[k] < 0) continue;
    const te::Tensor& image = bound.program.outputs[static_cast<size_t>(bound.outputs[k])];
    const InterpreterBuffer& of = *pointers[place(bound.program.arguments, image)];
    std::vector<double>& tolerance =
        data.tolerance[place(c.program.arguments, c.program.outputs[k])];
    for (int64_t i = 0; i < of.size(); ++i) tolerance.push_back(of.at(i).f * bound.factors[k]);
  }
  return data;
}

}  // namespace tw::test
