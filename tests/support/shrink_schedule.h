// SPDX-License-Identifier: Apache-2.0
// A smaller case that fails in the same way: fewer steps, fewer operations, smaller numbers.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/error.h"
#include "schedule/primitive.h"
#include "schedule/schedule.h"
#include "schedule/te/compute.h"
#include "tests/support/schedule_case.h"

namespace tw::test {

// Keeps the steps that `stage_of` and the steps kept before it still make sense of.
class TraceFilter {
 public:
  // `stage_of[k]`: the new number of operation k of the program, or -1 when it is gone.
  TraceFilter(std::vector<int> stage_of, const std::vector<bool>& wanted)
      : stage_of_(std::move(stage_of)), wanted_(wanted) {}

  Trace filter(const Trace& trace) {
    Trace result;
    for (size_t k = 0; k < trace.steps.size(); ++k) {
      Step step = trace.steps[k];
      bool kept = wanted_[k];
      for (Argument& a : step.arguments) kept = kept && std::visit(*this, a);
      step_of_.push_back(kept ? static_cast<int>(result.steps.size()) : -1);
      if (kept) result.steps.push_back(std::move(step));
    }
    return result;
  }
  bool operator()(StageRef& ref) const {
    int& number = ref.step < 0 ? ref.index : ref.step;
    number = (ref.step < 0 ? stage_of_ : step_of_)[static_cast<size_t>(number)];
    return number >= 0;
  }
  bool operator()(AxisRef& ref) const {
    if (ref.step < 0) return (*this)(ref.stage);
    ref.step = step_of_[static_cast<size_t>(ref.step)];
    return ref.step >= 0;
  }
  template <class T>
    requires std::is_same_v<T, AxisRef> || std::is_same_v<T, StageRef>
  bool operator()(std::vector<T>& refs) const {
    for (T& ref : refs) {
      if (!(*this)(ref)) return false;
    }
    return true;
  }
  template <class T>
  bool operator()(T&) const {
    return true;
  }

 private:
  std::vector<int> stage_of_, step_of_;
  const std::vector<bool>& wanted_;
};

// The case with other outputs, and `cut` (which may be undefined) made an input.
inline ScheduleCase with_program(const ScheduleCase& c, std::vector<te::Tensor> outputs,
                                 const te::Operation& cut) {
  const std::vector<te::Operation> before = te::operations(c.program.outputs);
  std::map<const Producer*, te::Operation> next;
  for (const te::Operation& op : before) {
    if (cut.defined() && op.same_as(cut)) {
      next[op.get()] = te::placeholder(op->output_shape(0), op->output_dtype(0), op->name).op();
      continue;
    }
    next[op.get()] = op->with_reads([&](const ProducerLoad& read) -> Expr {
      const te::Operation& source = next.at(read.producer.get());
      if (source.get() == read.producer.get()) return {};
      ProducerLoad changed = read;
      changed.producer = source;
      return make(std::move(changed));
    });
  }
  for (te::Tensor& t : outputs) t = next.at(t.op().get()).output(t.value_index());
  ScheduleCase result = c;
  result.program = te::make_program(outputs);
  const std::vector<te::Operation> after = te::operations(outputs);
  std::vector<int> stage_of(before.size(), -1);
  for (size_t k = 0; k < before.size(); ++k) {
    for (size_t j = 0; j < after.size(); ++j) {
      if (next.at(before[k].get()).same_as(after[j])) stage_of[k] = static_cast<int>(j);
    }
  }
  const std::vector<bool> all(c.trace.steps.size(), true);
  result.trace = TraceFilter(stage_of, all).filter(c.trace);
  return result;
}

// A smaller case that fails too. `fails` is false for a case that cannot be built.
inline ScheduleCase shrink(ScheduleCase c, const std::function<bool(const ScheduleCase&)>& fails) {
  const auto accept = [&](const ScheduleCase& smaller) {
    bool failing = false;
    try {
      smaller.schedule();
      failing = fails(smaller);
    } catch (const Error&) {
    }
    if (failing) c = smaller;
    return failing;
  };
  // Some operations cannot do without one that they read.
  const auto accept_program = [&](const std::vector<te::Tensor>& outputs,
                                  const te::Operation& cut) {
    try {
      return accept(with_program(c, outputs, cut));
    } catch (const Error&) {
      return false;
    }
  };
  const auto is_output = [&](const te::Operation& op) {
    for (const te::Tensor& t : c.program.outputs) {
      if (t.op().same_as(op)) return true;
    }
    return false;
  };
  // A scan keeps its parts, and they make no sense without it.
  const auto is_part = [](const te::Operation& op, const std::vector<te::Operation>& all) {
    for (const te::Operation& other : all) {
      for (const te::Part& part : other->parts()) {
        if (part.tensor.op().same_as(op)) return true;
      }
    }
    return false;
  };
  const auto identity = [&] {
    std::vector<int> stage_of(te::operations(c.program.outputs).size());
    for (size_t k = 0; k < stage_of.size(); ++k) stage_of[k] = static_cast<int>(k);
    return stage_of;
  };
  bool changed = true;
  for (int round = 0; changed && round < 20; ++round) {
    changed = false;
    for (size_t k = c.trace.steps.size(); k-- > 0;) {
      if (k >= c.trace.steps.size()) continue;
      std::vector<bool> wanted(c.trace.steps.size(), true);
      wanted[k] = false;
      ScheduleCase smaller = c;
      smaller.trace = TraceFilter(identity(), wanted).filter(c.trace);
      changed |= accept(smaller);
    }
    const std::vector<te::Operation> operations = te::operations(c.program.outputs);
    for (const te::Operation& op : operations) {
      const te::ComputeNode* compute = te::as_op<te::ComputeNode>(op);
      if (compute == nullptr ||
          (c.program.outputs.size() == 1 && c.program.outputs[0].op().same_as(op)))
        continue;
      if (is_part(op, operations)) continue;
      if (accept_program({op.output(0)}, {}) ||
          (op->num_outputs() == 1 && !is_output(op) && accept_program(c.program.outputs, op))) {
        changed = true;
        break;
      }
    }
    for (size_t k = 0; c.program.outputs.size() > 1 && k < c.program.outputs.size(); ++k) {
      std::vector<te::Tensor> outputs = c.program.outputs;
      outputs.erase(outputs.begin() + static_cast<std::ptrdiff_t>(k));
      if (accept_program(outputs, {})) {
        changed = true;
        break;
      }
    }
  }
  return c;
}

}  // namespace tw::test
