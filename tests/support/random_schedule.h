// SPDX-License-Identifier: Apache-2.0
// Random schedules of te programs, checked and shrunk. A check is a name and a function; a folder
// that lowers or compiles adds its own to those here:
//
//   std::vector<ScheduleCheck> checks = schedule_checks();
//   checks.push_back({"after every pass", [](const ScheduleCase& c, const CaseData& data) { … }});
//   fuzz_schedules(checks, fuzz_cases(100), fuzz_seed());
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/equal.h"
#include "ir/interpret.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "runtime/error.h"
#include "schedule/infer_bound.h"
#include "schedule/primitive.h"
#include "schedule/rewrite_operation.h"
#include "schedule/schedule.h"
#include "schedule/schedule_data.h"
#include "schedule/te/evaluate.h"
#include "schedule/te/text.h"
#include "schedule/tensor_intrin.h"
#include "tests/support/random_program.h"

namespace tw::test {

// ---------------------------------------------------------------------------------------------
// A case and its data

struct ScheduleCase {
  te::Program program;
  std::vector<std::pair<Var, int64_t>> scalars;
  Trace trace;
  uint64_t data_seed = 0;

  Schedule schedule() const {
    Schedule s = Schedule::create(program.outputs);
    s.apply(trace);
    return s;
  }
  std::string reproducer() const {
    std::string text = te::to_text(program) + "\n" + to_text(trace);
    for (const auto& [var, value] : scalars)
      text += var.name() + " = " + std::to_string(value) + "\n";
    return text;
  }
};

// Contents of the program's arguments: inputs filled, outputs as the definition has them.
struct CaseData {
  InterpreterScope scalars;
  std::vector<InterpreterBuffer> arguments;
  std::vector<std::vector<int64_t>> shapes;
  std::vector<bool> is_output;

  // Buffers for another run: inputs filled, outputs never written.
  std::vector<InterpreterBuffer> fresh() const {
    std::vector<InterpreterBuffer> result;
    for (size_t k = 0; k < arguments.size(); ++k) {
      result.push_back(is_output[k] ? InterpreterBuffer(arguments[k].element(), arguments[k].size())
                                    : arguments[k]);
    }
    return result;
  }
  // What of `run` differs from the definition; empty when nothing does.
  std::string difference(const ScheduleCase& c, const std::vector<InterpreterBuffer>& run) const {
    for (size_t k = 0; k < arguments.size(); ++k) {
      if (!is_output[k]) continue;
      const std::string& name = c.program.arguments[k].name();
      for (int64_t i = 0; i < arguments[k].size(); ++i) {
        const std::string place = name + "[" + std::to_string(i) + "]";
        if (!run[k].written(i)) return place + " was never written";
        const int64_t got = run[k].at(i).i, expected = arguments[k].at(i).i;
        if (got != expected)
          return place + " is " + std::to_string(got) + ", not " + std::to_string(expected);
      }
    }
    return {};
  }
};

inline CaseData make_data(const ScheduleCase& c) {
  CaseData data;
  for (const auto& [var, value] : c.scalars)
    data.scalars.values[var] = {.type = var.dtype(), .i = value};
  for (const te::Tensor& t : c.program.arguments) {
    std::vector<int64_t> shape;
    int64_t size = 1;
    for (const Expr& e : t.shape()) {
      shape.push_back(evaluate(e, data.scalars).i);
      size *= shape.back();
    }
    bool output = false;
    for (const te::Tensor& o : c.program.outputs) output |= o == t;
    InterpreterBuffer buffer(t.dtype(), size);
    if (!output) {
      Random random(c.data_seed + std::hash<std::string>()(t.name()));
      for (int64_t i = 0; i < size; ++i)
        buffer.set(i, {.type = t.dtype(), .i = random.between(-8, 8)});
    }
    data.arguments.push_back(std::move(buffer));
    data.shapes.push_back(std::move(shape));
    data.is_output.push_back(output);
  }
  std::vector<InterpreterBuffer*> pointers;
  for (InterpreterBuffer& b : data.arguments) pointers.push_back(&b);
  te::evaluate(c.program, pointers, data.scalars);
  return data;
}

// ---------------------------------------------------------------------------------------------
// Checks

// Gives what is wrong, or nothing. Throwing is a failure too, but for the errors by which lowering
// refuses a schedule.
struct ScheduleCheck {
  std::string name;
  std::function<std::string(const ScheduleCase&, const CaseData&)> run;
};

inline bool is_refusal(const Error& error) {
  return error.code() == ErrorCode::BadAttach || error.code() == ErrorCode::SymbolicExtent ||
         error.code() == ErrorCode::CannotTensorize;
}

// Runs the statement that schedule_ops makes.
inline std::string check_loop_nest(const ScheduleCase& c, const CaseData& data,
                                   const ScheduleOptions& options) {
  const Schedule s = normalize(c.schedule());
  const Stmt body = schedule_ops(s, infer_bound(s, options), options);
  std::vector<Var> symbols;
  for (const auto& [var, value] : c.scalars) symbols.push_back(var);
  verify(body, {Property::WellFormed}, symbols);
  std::vector<InterpreterBuffer> buffers = data.fresh();
  InterpreterScope scope = data.scalars;
  for (size_t k = 0; k < buffers.size(); ++k) {
    const te::Tensor& t = c.program.arguments[k];
    scope.producers[{s[t].op().get(), t.value_index()}] = &buffers[k];
  }
  try {
    interpret(body, scope, {.shuffle_parallel = true, .seed = c.data_seed});
  } catch (const Error& error) {
    return std::string(error.what()) + "\n" + to_string(body);
  }
  const std::string difference = data.difference(c, buffers);
  return difference.empty() ? difference : difference + "\n" + to_string(body);
}

// A process that has the two texts only makes the same statement.
inline std::string check_replay(const ScheduleCase& c, const CaseData&) {
  const Schedule here = c.schedule();
  const Trace trace = parse_trace(to_text(here.trace()));
  if (!(trace == c.trace)) return "the trace changes when it is printed and parsed";
  const Schedule there = Schedule::create(te::parse_program(te::to_text(c.program)).outputs);
  there.apply(trace);
  const auto statement = [](const Schedule& schedule) {
    const Schedule s = normalize(schedule);
    return schedule_ops(s, infer_bound(s));
  };
  const Stmt a = statement(here), b = statement(there);
  if (structural_hash(a) != structural_hash(b))
    return "the hash differs\n" + to_string(a) + to_string(b);
  if (to_string(a) != to_string(b)) return "the text differs\n" + to_string(a) + to_string(b);
  return {};
}

inline std::vector<ScheduleCheck> schedule_checks() {
  return {
      {"schedule_ops",
       [](const ScheduleCase& c, const CaseData& d) { return check_loop_nest(c, d, {}); }},
      {"schedule_ops, factors kept, trivial loops kept",
       [](const ScheduleCase& c, const CaseData& d) {
         return check_loop_nest(c, d, {.clamp_split_factor = false, .keep_trivial_loops = true});
       }},
      {"replay", check_replay},
  };
}

// The first check that fails, with what it says.
inline std::optional<std::string> failure_of(const ScheduleCase& c,
                                             const std::vector<ScheduleCheck>& checks) {
  std::string name = "data";
  try {
    const CaseData data = make_data(c);
    for (const ScheduleCheck& check : checks) {
      name = check.name;
      const std::string wrong = check.run(c, data);
      if (!wrong.empty()) return name + ": " + wrong;
    }
  } catch (const Error& error) {
    if (is_refusal(error)) return {};
    return name + ": " + error.what();
  }
  return {};
}

// ---------------------------------------------------------------------------------------------
// Random steps

// Steps from the table of primitives alone, so that a new row is tried without a change here.
class RandomSchedule {
 public:
  RandomSchedule(Random& random, const te::Program& program)
      : random_(random), schedule_(Schedule::create(program.outputs)) {}

  Trace make(int64_t steps) {
    for (int64_t k = 0; k < steps; ++k) try_step();
    settle();
    return schedule_.trace();
  }

 private:
  // Mostly one with loops.
  Stage some_stage() {
    const std::vector<Stage> stages = schedule_.stages();
    Stage stage = random_.pick(stages);
    for (int tries = 0; tries < 5 && stage.leaf_axes().empty(); ++tries)
      stage = random_.pick(stages);
    return stage;
  }
  // Mostly one that consumes `stage`, be it through others.
  Stage some_consumer(const Stage& stage) {
    const std::vector<StageData*> consumers = all_consumers_of(schedule_.data(), stage.data());
    if (consumers.empty() || random_.chance(10)) return some_stage();
    return Stage(&schedule_.data(), random_.pick(consumers));
  }
  // Runs of neighbours for fuse, any selection for the rest.
  std::vector<IterVar> some_axes(const Stage& stage, bool neighbours) {
    std::vector<IterVar> axes = stage.leaf_axes();
    if (axes.empty()) return axes;
    const auto n = static_cast<int64_t>(axes.size());
    if (neighbours) {
      const int64_t first = random_.between(0, n - 1),
                    count = random_.between(1, std::min<int64_t>(3, n - first));
      return {axes.begin() + first, axes.begin() + first + count};
    }
    for (int64_t k = n - 1; k > 0; --k)
      std::swap(axes[static_cast<size_t>(k)], axes[static_cast<size_t>(random_.between(0, k))]);
    axes.resize(static_cast<size_t>(random_.between(1, n)));
    return axes;
  }

  IterVar some_axis(const Stage& stage, bool reduction) {
    IterVar axis = random_.pick(stage.leaf_axes());
    for (int tries = 0; reduction && tries < 9 && axis->kind != IterKind::Reduction; ++tries)
      axis = random_.pick(stage.leaf_axes());
    return axis;
  }
  // A permutation of the stage's dimensions, one of which may have been tiled.
  std::vector<int64_t> some_order(const Stage& stage, bool tiled) {
    const te::ComputeNode* compute = compute_of(stage.data());
    std::vector<int64_t> order(compute ? compute->axis.size() + (tiled ? 1 : 0) : 1);
    for (size_t k = 0; k < order.size(); ++k) order[k] = static_cast<int64_t>(k);
    for (size_t k = order.size(); k-- > 1;)
      std::swap(order[k], order[static_cast<size_t>(random_.between(0, static_cast<int64_t>(k)))]);
    return order;
  }
  // Mostly stages that read `stage`.
  std::vector<StageRef> some_readers(const Stage& stage) {
    std::vector<StageRef> refs;
    for (StageData* reader : consumers_of(schedule_.data(), stage.data())) {
      if (random_.chance(70)) refs.push_back(reader->ref);
    }
    if (random_.chance(5)) refs.push_back(schedule_.ref_of(some_stage()));
    return refs;
  }

  void try_step() {
    const auto table = primitives();
    // What makes structure comes more often than marks do.
    const Primitive* primitive =
        &table[static_cast<size_t>(random_.between(0, static_cast<int64_t>(table.size()) - 1))];
    if (random_.chance(40)) {
      static const std::vector<std::string> often = {
          "split", "split",      "compute_at",       "compute_at", "reorder",
          "fuse",  "cache_read", "transform_layout", "rfactor",    "precompute"};
      primitive = find_primitive(random_.pick(often));
    }
    // Loops seldom are what an intrinsic computes, and then nothing is lowered.
    if (primitive->name == "tensorize" && !random_.chance(5)) return;
    Step step{.primitive = std::string(primitive->name),
              .version = primitive->version,
              .arguments = {},
              .where = {}};
    Stage stage = some_stage();
    bool first = true;
    for (const Parameter& p : primitive->parameters) {
      // A factor goes with its axis more often than not.
      const bool pair =
          p.name == "factor" && !step.arguments.empty() && primitive->name == "transform_layout";
      const bool alone = pair && std::holds_alternative<std::monostate>(step.arguments.back());
      if (p.optional &&
          (pair ? alone : random_.chance(primitive->name == "transform_layout" ? 20 : 50))) {
        step.arguments.emplace_back();
        continue;
      }
      switch (p.type) {
        case ParameterType::Stage:
        case ParameterType::Producer:
          if (p.name == "tensor") {  // what the stage reads
            if (stage.data().inputs.empty()) return;
            step.arguments.emplace_back(
                schedule_.ref_of(schedule_[random_.pick(stage.data().inputs)]));
            break;
          }
          if (!first) stage = some_consumer(stage);
          step.arguments.emplace_back(schedule_.ref_of(stage));
          break;
        case ParameterType::Axis: {
          if (stage.leaf_axes().empty()) return;
          step.arguments.emplace_back(
              schedule_.ref_of(stage, some_axis(stage, primitive->name == "rfactor")));
          break;
        }
        case ParameterType::Axes: {
          std::vector<AxisRef> refs;
          for (const IterVar& axis : some_axes(stage, primitive->name == "fuse")) {
            refs.push_back(schedule_.ref_of(stage, axis));
          }
          step.arguments.emplace_back(std::move(refs));
          break;
        }
        case ParameterType::Stages:
          step.arguments.emplace_back(some_readers(stage));
          break;
        case ParameterType::Int:
          step.arguments.emplace_back(random_.between(1, random_.chance(80) ? 5 : 16));
          break;
        case ParameterType::Ints:
          step.arguments.emplace_back(
              some_order(stage, !std::holds_alternative<std::monostate>(step.arguments.back())));
          break;
        case ParameterType::Float:
          step.arguments.emplace_back(0.5);
          break;
        case ParameterType::Intrin: {
          std::vector<std::string> names = tensor_intrin_names();
          names.emplace_back("none");
          step.arguments.emplace_back(random_.pick(names));
          break;
        }
        case ParameterType::Str: {
          static const std::vector<std::string> scopes = {"local", "global"};
          static const std::vector<std::string> pragmas = {"auto_unroll_max_step",
                                                           "unroll_explicit"};
          step.arguments.emplace_back(random_.pick(p.name == "scope" ? scopes : pragmas));
          break;
        }
      }
      first = false;
    }
    const std::string before = to_text(schedule_.trace());
    try {
      schedule_.apply(step);
    } catch (const UserError&) {
      EXPECT_EQ(before, to_text(schedule_.trace())) << "a step that failed was recorded";
    }
  }

  // Moves stages that a consumer cannot see to the outermost level.
  void settle() {
    for (size_t tries = 0; tries <= schedule_.stages().size(); ++tries) {
      try {
        infer_bound(normalize(schedule_));
        return;
      } catch (const UserError& error) {
        if (error.code() != ErrorCode::BadAttach) return;
        for (const Stage& stage : schedule_.stages()) {
          if (stage.data().name() == error.info().stage) stage.compute_root();
        }
      }
    }
  }

  Random& random_;
  Schedule schedule_;
};

inline ScheduleCase random_case(uint64_t seed, RandomProgramOptions options = {}) {
  Random random(seed);
  ProgramCase p = random_program(random, options);
  ScheduleCase c{.program = std::move(p.program),
                 .scalars = std::move(p.scalars),
                 .trace = {},
                 .data_seed = seed};
  c.trace = RandomSchedule(random, c.program).make(random.between(0, 18));
  return c;
}

// ---------------------------------------------------------------------------------------------
// Shrinking

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
    next[op.get()] = rewrite_reads(op, [&](const ProducerLoad& read) -> Expr {
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
  const auto is_output = [&](const te::Operation& op) {
    for (const te::Tensor& t : c.program.outputs) {
      if (t.op().same_as(op)) return true;
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
      if (accept(with_program(c, {op.output(0)}, {})) ||
          (op->num_outputs() == 1 && !is_output(op) &&
           accept(with_program(c, c.program.outputs, op)))) {
        changed = true;
        break;
      }
    }
    for (size_t k = 0; c.program.outputs.size() > 1 && k < c.program.outputs.size(); ++k) {
      std::vector<te::Tensor> outputs = c.program.outputs;
      outputs.erase(outputs.begin() + static_cast<std::ptrdiff_t>(k));
      if (accept(with_program(c, outputs, {}))) {
        changed = true;
        break;
      }
    }
  }
  return c;
}

// Tries `cases` random cases; the first that fails is shrunk and reported as texts.
inline void fuzz_schedules(const std::vector<ScheduleCheck>& checks, int cases, uint64_t seed,
                           RandomProgramOptions options = {}) {
  for (int k = 0; k < cases; ++k) {
    const uint64_t case_seed = seed * 1'000'003 + static_cast<uint64_t>(k);
    const ScheduleCase c = random_case(case_seed, options);
    const std::optional<std::string> failure = failure_of(c, checks);
    if (!failure) continue;
    // The same check must fail, so that one fault does not turn into another.
    const std::string check = failure->substr(0, failure->find(": "));
    const ScheduleCase small = shrink(c, [&](const ScheduleCase& s) {
      const std::optional<std::string> other = failure_of(s, checks);
      return other && other->starts_with(check);
    });
    FAIL() << "case seed " << case_seed << "\n"
           << small.reproducer() << "\n"
           << *failure_of(small, checks);
  }
}

}  // namespace tw::test
