// SPDX-License-Identifier: Apache-2.0
// Random schedules of te programs, checked and, where one fails, shrunk. A check is a name and a
// function; a folder that lowers or compiles adds its own to those here:
//
//   std::vector<ScheduleCheck> checks = schedule_checks();
//   checks.push_back({"after every pass", [](const ScheduleCase& c, const CaseData& data) { … }});
//   fuzz_schedules(checks, 100, 0.8);
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/expr.h"
#include "ir/print.h"
#include "ir/visit.h"
#include "runtime/error.h"
#include "schedule/infer_bound.h"
#include "schedule/normalize.h"
#include "schedule/primitive.h"
#include "schedule/scan_stages.h"
#include "schedule/schedule.h"
#include "schedule/schedule_data.h"
#include "schedule/te/compute.h"
#include "schedule/tensor_intrin.h"
#include "tests/support/random_program.h"
#include "tests/support/reproducer.h"
#include "tests/support/schedule_case.h"
#include "tests/support/shrink_schedule.h"

namespace tw::test {

// Steps from the table of primitives alone, so that a new row is tried without a change here.
class RandomSchedule {
 public:
  RandomSchedule(Random& random, const te::Program& program)
      : random_(random), schedule_(Schedule::create(program.outputs)) {}

  Trace make(int64_t steps) {
    for (int64_t k = 0; k < steps; ++k) {
      if (random_.chance(8)) {
        factor_reduction();
      } else {
        try_step();
      }
    }
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
    const te::ComputeNode* compute = te::as_op<te::ComputeNode>(stage.op());
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

  std::string some_thread() {
    static const std::vector<std::string> tags = {"threadIdx.x", "threadIdx.x", "threadIdx.y",
                                                  "blockIdx.x",  "vthread",     "vthread"};
    return random_.pick(tags);
  }

  void apply(const Step& step) {
    const std::string before = to_text(schedule_.trace());
    try {
      schedule_.apply(step);
    } catch (const UserError&) {
      EXPECT_EQ(before, to_text(schedule_.trace())) << "a step that failed was recorded";
    }
  }

  // A reduction whose loop is split, mostly by what does not divide it, and one part factored: by
  // single steps that comes about too rarely.
  void factor_reduction() {
    std::vector<std::pair<Stage, IterVar>> loops;
    for (const Stage& stage : schedule_.stages()) {
      for (const IterVar& leaf : stage.leaf_axes()) {
        if (leaf->kind == IterKind::Reduction) loops.emplace_back(stage, leaf);
      }
    }
    if (loops.empty()) return;
    const auto [stage, loop] = random_.pick(loops);
    try {
      const Stage::Pair parts = stage.split(loop, random_.between(2, 5));
      schedule_.rfactor(stage.op().output(0), random_.chance(50) ? parts.inner : parts.outer,
                        random_.chance(50) ? -1 : 0);
    } catch (const UserError&) {
      return;  // marked, tensorized, or too long to be one
    }
  }

  void try_step() {
    const auto table = primitives();
    // What makes structure comes more often than marks do.
    const Primitive* primitive =
        &table[static_cast<size_t>(random_.between(0, static_cast<int64_t>(table.size()) - 1))];
    if (random_.chance(40)) {
      static const std::vector<std::string> often = {
          "split",   "split",      "compute_at",      "compute_at",
          "reorder", "fuse",       "cache_read",      "transform_layout",
          "rfactor", "precompute", "collapse_layout", "bind",
          "bind"};
      primitive = find_primitive(random_.pick(often));
    }
    // Loops seldom are what an intrinsic computes, and then nothing is lowered.
    if (primitive->name == "tensorize" && !random_.chance(5)) return;
    // There are no vectors of vectors.
    if (primitive->name == "vectorize" && schedule_.outputs()[0].dtype().is_vector()) return;
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
        case ParameterType::Place:
          if (p.name == "tensor") {  // what the stage reads, or what is stored around it
            if (random_.chance(30)) {
              const Stage writer = random_.chance(50) ? stage : some_consumer(stage);
              step.arguments.emplace_back(schedule_.ref_of(writer));
              break;
            }
            if (stage.data().inputs.empty()) return;
            step.arguments.emplace_back(
                schedule_.ref_of(schedule_[random_.pick(stage.data().inputs)]));
            break;
          }
          // A group in place of a stage, now and then.
          if (p.type == ParameterType::Place && !schedule_.data().groups.empty() &&
              random_.chance(30)) {
            StageData* group = random_.pick(schedule_.data().groups).get();
            step.arguments.emplace_back(group->ref);
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
          for (const IterVar& axis : some_axes(
                   stage, primitive->name == "fuse" || primitive->name == "collapse_layout")) {
            refs.push_back(schedule_.ref_of(stage, axis));
          }
          step.arguments.emplace_back(std::move(refs));
          break;
        }
        case ParameterType::Stages:
          if (primitive->name == "create_group") {
            const Stage member = p.name == "inputs" && !stage.data().inputs.empty()
                                     ? schedule_[random_.pick(stage.data().inputs)]
                                     : stage;
            step.arguments.emplace_back(std::vector<StageRef>{schedule_.ref_of(member)});
            break;
          }
          step.arguments.emplace_back(some_readers(stage));
          break;
        case ParameterType::Int:
          step.arguments.emplace_back(random_.between(1, random_.chance(80) ? 5 : 16));
          break;
        case ParameterType::Ints:
          step.arguments.emplace_back(
              some_order(stage, !std::holds_alternative<std::monostate>(step.arguments.back())));
          break;
        case ParameterType::Size:
          if (random_.chance(10)) {
            step.arguments.emplace_back(random_.chance(50) ? std::string("v0")
                                                           : std::string("floordiv(v0, 3)"));
            break;
          }
          step.arguments.emplace_back(random_.between(1, random_.chance(80) ? 5 : 16));
          break;
        case ParameterType::Condition:
          step.arguments.emplace_back(
              std::string(random_.chance(80) ? "(threadIdx.x == 0)" : "(threadIdx.y < 2)"));
          break;
        case ParameterType::Thread:
          step.arguments.emplace_back(some_thread());
          break;
        case ParameterType::Threads:
          step.arguments.emplace_back(
              std::vector<std::string>{"threadIdx.x[16]", "blockIdx.x[64]"});
          break;
        case ParameterType::Group:
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
          static const std::vector<std::string> scopes = {"local", "global", "shared", "shared",
                                                          "warp"};
          static const std::vector<std::string> pragmas = {
              "auto_unroll_max_step", "unroll_explicit", "parallel_dynamic", "store_nontemporal"};
          step.arguments.emplace_back(random_.pick(p.name == "scope" ? scopes : pragmas));
          break;
        }
      }
      first = false;
    }
    apply(step);
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
          if (stage.data().name() != error.info().stage) continue;
          if (holder_of(schedule_.data(), stage.data()) != nullptr) return;  // it cannot move
          stage.compute_root();
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

// Of all cases, the share that factors_a_tail.
constexpr double kLeastTails = 0.08;

// Whether an axis was made of a loop that is no divisor of the reduction: then the new stage tests
// its terms.
inline bool factors_a_tail(const ScheduleCase& c) {
  const Schedule s = c.schedule();
  for (size_t k = 0; k < c.trace.steps.size(); ++k) {
    if (c.trace.steps[k].primitive != "rfactor") continue;
    for (const Expr& e : s.stage({.step = static_cast<int>(k), .index = 0}).op()->evaluated()) {
      bool tests = false;
      for_each_part(e, [&](const Expr& part) {
        const Call* call = as<Call>(part);
        tests |= call != nullptr && call->name == "likely";
      });
      if (tests) return true;
    }
  }
  return false;
}

// Tries random cases, `base` at scale 1, of which a share of `least` must not be refused; the first
// that fails is shrunk and reported as texts. Those of each `series` are others.
inline void fuzz_schedules(const std::vector<ScheduleCheck>& checks, int base, double least,
                           uint64_t series = 0, RandomProgramOptions options = {}) {
  FuzzCases cases(base, least);
  int tails = 0;
  while (cases.next()) {
    const uint64_t case_seed = cases.seed() + series * 1'000'003;
    const ScheduleCase c = random_case(case_seed, options);
    tails += factors_a_tail(c) ? 1 : 0;
    const std::optional<std::string> failure = failure_of(c, checks, cases);
    if (!failure) continue;
    // The same check must fail, so that one fault does not turn into another.
    const std::string check = failure->substr(0, failure->find(": "));
    const ScheduleCase small = shrink(c, [&](const ScheduleCase& s) {
      const std::optional<std::string> other = failure_of(s, checks);
      return other && other->starts_with(check);
    });
    const std::string file = keep_reproducer(
        small, fmt::format("{}_{}",
                           testing::UnitTest::GetInstance()->current_test_info()->test_suite_name(),
                           case_seed));
    FAIL() << "case seed " << case_seed << "\n"
           << (file.empty() ? "" : "kept as " + file + "\n") << small.reproducer() << "\n"
           << *failure_of(small, checks);
  }
  std::printf("[  cases   ] %d with rfactor of a split that does not divide\n", tails);
  EXPECT_TRUE(enough_cases(tails, cases.cases(), kLeastTails)) << "they have become rare";
}

}  // namespace tw::test
