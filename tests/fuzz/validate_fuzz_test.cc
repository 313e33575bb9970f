// SPDX-License-Identifier: Apache-2.0
// Whether a loop may run in parallel, or in lanes, by the schedule's validation and by brute force:
// the nest is run, and every element that an iteration of the loop reads or writes is noted. What
// races must be refused; what does not must be accepted, but for a few.
#include <gtest/gtest.h>

#include "schedule/kernel_part.h"
#include "schedule/scan_stages.h"
#include "schedule/schedule_data.h"
#include "schedule/validate.h"
#include "tests/support/race_observer.h"
#include "tests/support/random_schedule.h"

namespace tw {
namespace {

using test::Random;

// A loop of a stage, by position, and the tensors that the caller keeps.
struct Choice {
  size_t stage = 0, leaf = 0;
  ForKind kind = ForKind::Parallel;
  std::vector<te::Tensor> stored;
};

// Marks the loop in the schedule's data, whatever a primitive would say of it.
void mark(const Schedule& s, const Choice& choice, ForKind kind) {
  StageData& stage = *s.data().stages[choice.stage];
  AxisAttributes& marks = stage.axis_attributes[stage.leaf_axes[choice.leaf]->var];
  marks.for_kind = kind;
  marks.where = "script.py:1";
}

// Loops of one kind, so that the one that is marked is the only one that runs in parallel.
Schedule serial(const Schedule& s) {
  Schedule result = s.copy();
  for (const auto& stage : result.data().stages) {
    for (auto& [axis, marks] : stage->axis_attributes) {
      marks.for_kind = ForKind::Serial;
      marks.thread.clear();
    }
  }
  return result;
}

// What races when the loop is run in parallel; empty when nothing does.
std::string race_of(const Schedule& s, const test::ScheduleCase& c, const test::CaseData& data,
                    const Choice& choice) {
  const Schedule normal = normalize(s);
  const DomainMap domains = infer_bound(normal);
  mark(normal, choice, ForKind::Parallel);
  KernelPart part = parts_of(normal, {}).main;
  std::vector<InterpreterBuffer> buffers = data.fresh(), kept;
  InterpreterScope scope = data.scalars;
  for (size_t k = 0; k < buffers.size(); ++k) {
    const te::Tensor& t = c.program.arguments[k];
    scope.producers[{normal[t].op().get(), t.value_index()}] = &buffers[k];
  }
  kept.reserve(choice.stored.size());
  for (const te::Tensor& t : choice.stored) {
    const te::Tensor now = normal[t].op().output(t.value_index());
    int64_t size = 1;
    for (const Expr& e : now.shape()) size *= evaluate(e, data.scalars).i;
    kept.emplace_back(now.dtype(), size);
    scope.producers[{now.op().get(), now.value_index()}] = &kept.back();
    part.given.push_back(now);
  }
  test::RaceObserver observer;
  interpret(schedule_ops(normal, domains, {}, part), scope, {.observer = &observer});
  return observer.race();
}

class Labels {
 public:
  void compare(const Schedule& s, const test::ScheduleCase& c, const test::CaseData& data,
               const Choice& choice) {
    std::string race;
    try {
      race = race_of(s, c, data, choice);
    } catch (const UserError& error) {
      // A nest that cannot run has no label; other tests find why.
      ++without_label;
      return;
    }
    const Schedule marked = s.copy();
    mark(marked, choice, choice.kind);
    const std::vector<Finding> findings = check(marked, choice.stored);
    const StageData& stage = *s.data().stages[choice.stage];
    const std::string what = "'" + stage.leaf_axes[choice.leaf].name() + "' of '" + stage.name() +
                             "' in\n" + c.reproducer();
    for (const Finding& f : findings) {
      EXPECT_EQ(to_string(f.error.code), "parallel-reduction") << f.error.what << what;
      EXPECT_FALSE(f.error.what.empty() || f.error.axis.empty() || f.error.legal.empty()) << what;
      EXPECT_EQ(f.error.where, "script.py:1") << what;
      EXPECT_NE(("\n" + f.nest).find("\n> "), std::string::npos) << f.nest << what;
    }
    // The primitive must not let pass what races either.
    bool applied = true;
    try {
      const Schedule tried = s.copy();
      const Stage on = tried.stages()[choice.stage];
      on.parallel(on.leaf_axes()[choice.leaf]);
    } catch (const UserError&) {
      applied = false;
    }
    if (!race.empty()) {
      ++racing;
      racing_kept += choice.stored.empty() ? 0 : 1;
      EXPECT_FALSE(findings.empty()) << race << ": " << what;
      EXPECT_FALSE(applied && choice.stored.empty()) << race << ": " << what;
      return;
    }
    ++legal;
    legal_refused += findings.empty() ? 0 : 1;
    legal_not_applied += applied ? 0 : 1;
    if (findings.empty()) return;
    ++reasons[findings[0].error.what.substr(0, findings[0].error.what.find('\''))];
  }

  int without_label = 0, racing = 0, racing_kept = 0, legal = 0, legal_refused = 0,
      legal_not_applied = 0;
  std::map<std::string, int> reasons;
};

// Those that the caller might want to have of a run: stored, and as the program has them.
std::vector<te::Tensor> intermediates(const Schedule& s) {
  std::vector<te::Tensor> result;
  for (const auto& stage : s.data().stages) {
    const bool own = stage->origin_op.defined() && !stage->is_output && !is_placeholder(*stage) &&
                     stage->attach_type != AttachType::Inline &&
                     holder_of(s.data(), *stage) == nullptr;
    for (int k = 0; own && k < stage->op->num_outputs(); ++k) {
      const te::Tensor now = stage->op.output(k);
      const std::vector<Expr> before = stage->origin_op.output(k).shape(), after = now.shape();
      if (std::ranges::equal(before, after, [](auto& a, auto& b) { return equal(a, b); }))
        result.push_back(now);
    }
  }
  return result;
}

TEST(ValidateFuzz, LoopsThatRaceAreRefusedAndOthersAreNot) {
  Labels labels;
  test::FuzzCases cases(400, 0.5);
  while (cases.next() && !HasFailure()) {
    const test::ScheduleCase c = test::random_case(
        cases.seed() + 7'000'000, {.least_operations = 2, .most_elements = 60, .scan_percent = 15});
    const Schedule s = serial(c.schedule());
    // Schedules that lowering refuses for other reasons have no nest to run.
    if (!check(s).empty()) {
      cases.refuse();
      continue;
    }
    const test::CaseData data = test::make_data(c);
    Random random(cases.seed());
    for (int k = 0; k < 4 && !HasFailure(); ++k) {
      // Lanes need extents that are constants.
      const bool lanes = c.scalars.empty() && random.chance(50);
      Choice choice{.kind = lanes ? ForKind::Vectorized : ForKind::Parallel};
      for (const te::Tensor& t : intermediates(s)) {
        if (random.chance(40)) choice.stored.push_back(t);
      }
      if (!check(s, choice.stored).empty()) continue;
      for (int tries = 0; tries < 20; ++tries) {
        choice.stage = static_cast<size_t>(
            random.between(0, static_cast<int64_t>(s.data().stages.size()) - 1));
        const StageData& stage = *s.data().stages[choice.stage];
        if (stage.leaf_axes.empty() || stage.attach_type == AttachType::Inline) continue;
        choice.leaf = static_cast<size_t>(
            random.between(0, static_cast<int64_t>(stage.leaf_axes.size()) - 1));
        labels.compare(s, c, data, choice);
        break;
      }
    }
  }
  std::printf(
      "[  labels  ] %d race, %d of them in a tensor that the caller keeps; %d are legal, of "
      "which %d are refused by check and %d by the primitive\n",
      labels.racing, labels.racing_kept, labels.legal, labels.legal_refused,
      labels.legal_not_applied);
  for (const auto& [reason, count] : labels.reasons)
    std::printf("[  labels  ] %d legal ones: %s\n", count, reason.c_str());
  EXPECT_LT(labels.legal_refused * 20, labels.legal);
  EXPECT_LT(labels.legal_not_applied * 20, labels.legal);
  EXPECT_LT(labels.without_label * 50, labels.legal);
  if (test::fuzz_scale() >= 1) {
    EXPECT_GE(labels.racing + labels.legal, 300);
    EXPECT_GE(labels.racing, 100);
    EXPECT_GE(labels.racing_kept, 10);
  }
}

}  // namespace
}  // namespace tw
