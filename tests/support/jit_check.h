// SPDX-License-Identifier: Apache-2.0
// Machine code of a random schedule against the definition. Outputs start as garbage, so that an
// element nobody writes is seen.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "lower/llvm/compile.h"
#include "runtime/module.h"
#include "tests/support/lower_check.h"

namespace tw::test {

inline std::string check_machine_code(const ScheduleCase& c, const CaseData& data,
                                      const LowerOptions& options, const Target& target) {
  const Kernel kernel = lower(c.schedule(), lower_arguments(c), target, options);
  const Function function = compile({kernel}, target)->get_function(kernel.name);
  std::vector<NDArray> arrays;
  std::vector<CallArgument> arguments;
  const std::vector<InterpreterBuffer> inputs = data.fresh();
  for (size_t k = 0; k < inputs.size(); ++k) {
    arrays.push_back(NDArray::empty(data.shapes[k], inputs[k].element()));
    if (data.is_output[k]) {
      std::memset(arrays[k].data(), 0x5a, static_cast<size_t>(arrays[k].byte_size()));
    } else {
      inputs[k].copy_to(arrays[k].data());
    }
  }
  for (const NDArray& a : arrays) arguments.emplace_back(a);
  for (const auto& [var, value] : c.scalars) arguments.emplace_back(value);
  function.call(arguments);
  std::vector<InterpreterBuffer> results;
  for (size_t k = 0; k < arrays.size(); ++k) {
    results.push_back(
        InterpreterBuffer::from_bytes(inputs[k].element(), arrays[k].data(), arrays[k].size()));
  }
  const std::string difference = data.difference(c, results);
  return difference.empty() ? difference : difference + "\n" + to_string(kernel.body);
}

inline std::vector<ScheduleCheck> jit_checks(const Target& target) {
  return {
      {"machine code",
       [target](const ScheduleCase& c, const CaseData& d) {
         return check_machine_code(c, d, random_lower_options(c.data_seed, false), target);
       }},
      {"machine code, some passes disabled",
       [target](const ScheduleCase& c, const CaseData& d) {
         return check_machine_code(c, d, random_lower_options(c.data_seed, true), target);
       }},
  };
}

}  // namespace tw::test
