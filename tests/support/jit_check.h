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

// The arrays of a call, with outputs moved to the memory of inputs where the kernel allows that and
// they have as many bytes. Each input takes one output.
inline std::vector<NDArray> in_place(const FunctionInfo& info, std::vector<NDArray> arrays) {
  std::vector<bool> taken(arrays.size(), false);
  for (size_t k = 0; k < arrays.size(); ++k) {
    for (int32_t j : info.arguments[k].may_share) {
      const auto input = static_cast<size_t>(j);
      if (taken[input] || arrays[input].byte_size() != arrays[k].byte_size()) continue;
      taken[input] = true;
      // Shapes may differ where a reshape reads and writes at one place of memory.
      arrays[k] = arrays[input].reshape(arrays[k].shape());
      break;
    }
  }
  return arrays;
}

// `bound`: constants are built into the kernel, and what can be is precomputed. Calls the kernel a
// second time, without checks, and a third time in place.
inline std::string check_machine_code(const ScheduleCase& c, const CaseData& data,
                                      const LowerOptions& options, const Target& target,
                                      bool bound = false) {
  std::vector<NDArray> arrays;
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
  }
  KernelModule module = lower_module(c.schedule(), variables, constants, target, options);
  bind_constants(module, values);
  module = prepare(std::move(module), target);
  const Function function = compile(module, target)->get_function(module.entry().name);

  const auto difference = [&](const std::vector<NDArray>& found) {
    std::vector<InterpreterBuffer> results;
    for (size_t k = 0; k < found.size(); ++k) {
      results.push_back(
          InterpreterBuffer::from_bytes(inputs[k].element(), found[k].data(), found[k].size()));
    }
    return data.difference(c, results);
  };
  const auto run = [&](const Function& f, const std::vector<NDArray>& on) {
    // The call's arguments are those of `arrays` that are no bound constants.
    std::vector<CallArgument> given;
    for (size_t k = 0; k < on.size(); ++k) {
      if (!bound || !te::is_constant(all[k].tensor)) given.emplace_back(on[k]);
    }
    for (const auto& [var, value] : c.scalars) given.emplace_back(value);
    f.call(given);
    return difference(on);
  };
  std::string wrong = run(function, arrays);
  if (wrong.empty()) {
    for (size_t k = 0; k < arrays.size(); ++k) {
      if (data.is_output[k])
        std::memset(arrays[k].data(), 0x5a, static_cast<size_t>(arrays[k].byte_size()));
    }
    wrong = run(function.unchecked(), arrays);
    if (!wrong.empty()) wrong = "without checks: " + wrong;
  }
  if (wrong.empty() && !bound) {
    wrong = run(function, in_place(function.info(), arrays));
    if (!wrong.empty()) wrong = "in place: " + wrong;
  }
  return wrong.empty() ? wrong : wrong + "\n" + text_of(module);
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
