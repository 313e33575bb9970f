// SPDX-License-Identifier: Apache-2.0
// Lowering a random schedule: after every pass the kernel is verified, run by the interpreter, and
// printed and parsed. The first pass after which something differs is the bug.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "ir/parse.h"
#include "lower/pipeline.h"
#include "tests/support/random_schedule.h"

namespace tw::test {

inline std::vector<LowerArgument> lower_arguments(const ScheduleCase& c) {
  std::vector<LowerArgument> arguments;
  for (const te::Tensor& t : c.program.arguments) arguments.emplace_back(t);
  for (const auto& [var, value] : c.scalars) arguments.emplace_back(var);
  return arguments;
}

// Options drawn from the case, so that a shrunk case keeps them.
inline LowerOptions random_lower_options(uint64_t seed, bool disable) {
  Random random(seed ^ 0x6c6f776572);
  LowerOptions options{.name = "f", .verify = true};
  options.schedule.clamp_split_factor = random.chance(70);
  options.schedule.keep_trivial_loops = random.chance(20);
  options.passes.predicate_tail = random.chance(60);
  options.passes.vectorize = random.chance(95);
  options.passes.partition_const_loop = random.chance(50);
  options.passes.auto_unroll_max_step = random.chance(50) ? 0 : 16;
  options.passes.unroll_explicit = random.chance(80);
  if (!disable) return options;
  for (const Pass& p : passes()) {
    if (p.optional && random.chance(40)) options.disabled.emplace_back(p.name);
  }
  return options;
}

inline std::string round_trip(const Stmt& body) {
  const std::string text = to_string(body, {.declarations = true});
  const Stmt again = parse_stmt(text);
  if (to_string(again, {.declarations = true}) != text)
    return "text changes when it is parsed and printed";
  if (!equal(again, body, {.map_free_vars = true})) return "parsing the text gives another tree";
  return {};
}

inline std::string round_trip(const KernelModule& module) {
  std::string wrong;
  for (const Kernel& kernel : module.kernels) {
    if (wrong.empty()) wrong = round_trip(kernel.body);
  }
  return wrong;
}

// What launches in the module find.
inline void bind_devices(const KernelModule& module, InterpreterScope& scope) {
  for (const Kernel& kernel : module.kernels) {
    if (kernel.role != KernelRole::Device) continue;
    InterpreterFunction& function = scope.functions[kernel.name];
    for (const KernelArgument& a : kernel.arguments) function.parameters.push_back(a.var);
    function.body = kernel.body;
  }
}

inline std::string text_of(const KernelModule& module) {
  std::string text;
  for (const Kernel& kernel : module.kernels) text += kernel.name + ":\n" + to_string(kernel.body);
  return text;
}

// Runs the entry in whatever stage it is.
inline std::string run_kernel(const KernelModule& module, bool has_signature, const ScheduleCase& c,
                              const CaseData& data) {
  const Kernel& kernel = module.entry();
  std::vector<InterpreterBuffer> buffers = data.fresh();
  InterpreterScope scope;
  bind_devices(module, scope);
  for (size_t k = 0; k < kernel.arguments.size(); ++k) {
    const KernelArgument& a = kernel.arguments[k];
    if (k >= buffers.size()) {
      const Value value{.type = int_type(64), .i = c.scalars[k - buffers.size()].second};
      scope.arguments.push_back({.value = value});
      if (!has_signature) scope.values[a.var] = value;
      continue;
    }
    scope.arguments.push_back({.tensor = &buffers[k], .shape = data.shapes[k]});
    if (has_signature) continue;
    scope.buffers[a.var] = &buffers[k];
    if (a.producer.defined()) scope.producers[{a.producer.get(), a.value_index}] = &buffers[k];
  }
  if (!has_signature) {
    for (const auto& [var, value] : c.scalars)
      scope.values[var] = {.type = var.dtype(), .i = value};
  }
  interpret(kernel.body, scope, {.shuffle_parallel = true, .seed = c.data_seed});
  return data.difference(c, buffers);
}

inline std::string check_every_pass(const ScheduleCase& c, const CaseData& data,
                                    const LowerOptions& options) {
  std::string wrong;
  bool has_signature = false;
  std::string current = "schedule_to_module";
  KernelModule last;
  const auto observer = [&](std::string_view pass, const KernelModule& module) {
    if (!wrong.empty()) return;
    current = pass;
    has_signature |= pass == "make_api";
    const std::string before = last.kernels.empty() ? std::string("…\n") : text_of(last);
    last = module;
    try {
      wrong = run_kernel(module, has_signature, c, data);
      if (wrong.empty()) wrong = round_trip(module);
    } catch (const Error& error) {
      wrong = error.what();
    }
    if (!wrong.empty()) {
      wrong = "after " + current + ": " + wrong + "\n---- before\n" + before + "---- after\n" +
              text_of(module);
    }
  };
  try {
    lower_module(c.schedule(), lower_arguments(c), {}, Target{}, options, nullptr, observer);
  } catch (const Error& error) {
    if (is_refusal(error)) throw;
    if (wrong.empty()) {
      wrong = std::string(error.what()) + "\n---- last\n" + text_of(last);
    }
  }
  if (wrong.empty()) return wrong;
  std::string text = "clamp " + std::to_string(options.schedule.clamp_split_factor) + ", masks " +
                     std::to_string(options.passes.predicate_tail) + ", partition " +
                     std::to_string(options.passes.partition_const_loop) + ", unroll " +
                     std::to_string(options.passes.auto_unroll_max_step) + ", disabled";
  for (const std::string& d : options.disabled) text += " " + d;
  return text + "\n" + wrong;
}

// With constants bound: the preparation, then the kernel, both as they are at the end.
inline std::string check_parts(const ScheduleCase& c, const CaseData& data,
                               const LowerOptions& options) {
  std::vector<te::Tensor> constants;
  std::vector<LowerArgument> variables;
  std::vector<InterpreterBuffer> buffers = data.fresh();
  std::map<const Producer*, InterpreterBuffer*> values;
  InterpreterScope scope;
  const std::vector<LowerArgument> all = lower_arguments(c);
  for (size_t k = 0; k < all.size(); ++k) {
    if (k < buffers.size() && te::is_constant(all[k].tensor)) {
      constants.push_back(all[k].tensor);
      values[all[k].tensor.op().get()] = &buffers[k];
      continue;
    }
    variables.push_back(all[k]);
    if (k < buffers.size()) {
      scope.arguments.push_back({.tensor = &buffers[k], .shape = data.shapes[k]});
    } else {
      scope.arguments.push_back(
          {.value = {.type = int_type(64), .i = c.scalars[k - buffers.size()].second}});
    }
  }
  const KernelModule module = lower_module(c.schedule(), variables, constants, Target{}, options);
  std::deque<InterpreterBuffer> prepared;
  const auto bind = [&](const Kernel& kernel, InterpreterScope& into) {
    for (const KernelConstant& constant : kernel.constants) {
      if (scope.buffers.contains(constant.var)) {
        into.buffers[constant.var] = scope.buffers[constant.var];
      } else if (auto value = values.find(constant.producer.get()); value != values.end()) {
        into.buffers[constant.var] = value->second;
      } else {
        int64_t size = 1;
        for (const Expr& extent : constant.shape) size *= *as_const_int(extent);
        prepared.emplace_back(constant.dtype, size);
        scope.buffers[constant.var] = into.buffers[constant.var] = &prepared.back();
      }
    }
  };
  const InterpretOptions how{.shuffle_parallel = true, .seed = c.data_seed};
  if (const Kernel* preparation = module.preparation()) {
    InterpreterScope before;
    bind_devices(module, before);
    bind(*preparation, before);
    interpret(preparation->body, before, how);
  }
  bind_devices(module, scope);
  bind(module.entry(), scope);
  interpret(module.entry().body, scope, how);
  return data.difference(c, buffers);
}

inline std::vector<ScheduleCheck> lower_checks() {
  return {
      {"constants bound",
       [](const ScheduleCase& c, const CaseData& d) {
         return check_parts(c, d, random_lower_options(c.data_seed, false));
       }},
      {"every pass",
       [](const ScheduleCase& c, const CaseData& d) {
         return check_every_pass(c, d, random_lower_options(c.data_seed, false));
       }},
      {"some passes disabled",
       [](const ScheduleCase& c, const CaseData& d) {
         return check_every_pass(c, d, random_lower_options(c.data_seed, true));
       }},
  };
}

}  // namespace tw::test
