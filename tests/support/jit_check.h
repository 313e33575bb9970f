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

// `bound`: constants are built into the kernel, and what can be is precomputed.
inline std::string check_machine_code(const ScheduleCase& c, const CaseData& data,
                                      const LowerOptions& options, const Target& target,
                                      bool bound = false) {
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
  std::vector<te::Tensor> constants;
  std::vector<ConstantValue> values;
  std::vector<LowerArgument> variables;
  const std::vector<LowerArgument> all = lower_arguments(c);
  for (size_t k = 0; k < all.size(); ++k) {
    if (bound && k < arrays.size() && te::is_constant(all[k].tensor)) {
      constants.push_back(all[k].tensor);
      values.push_back({all[k].tensor, arrays[k]});
      continue;
    }
    variables.push_back(all[k]);
    if (k < arrays.size()) arguments.emplace_back(arrays[k]);
  }
  KernelModule module = lower_module(c.schedule(), variables, constants, target, options);
  bind_constants(module, values);
  const Kernel kernel = prepare(std::move(module), target).entry();
  const Function function = compile({kernel}, target)->get_function(kernel.name);
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
      {"machine code, constants built in",
       [target](const ScheduleCase& c, const CaseData& d) {
         return check_machine_code(c, d, random_lower_options(c.data_seed, false), target, true);
       }},
      {"machine code, some passes disabled",
       [target](const ScheduleCase& c, const CaseData& d) {
         return check_machine_code(c, d, random_lower_options(c.data_seed, true), target);
       }},
  };
}

}  // namespace tw::test
