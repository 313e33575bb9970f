// SPDX-License-Identifier: Apache-2.0
#include "autotune/search/policies.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <set>
#include <string>

#include "autotune/learn/cost_models.h"
#include "autotune/task/workloads.h"
#include "tests/support/expect_error.h"
#include "tests/unit/autotune/made_times.h"

namespace tw::autotune {
namespace {

// Of one machine, so that the space and what is drawn from it are the same everywhere.
Task task_of(const std::string& text) {
  return make_task(parse_workload(text).program, Target::parse("llvm -mcpu=x86-64-v3"), 1, text);
}

using made::Oracle;

TEST(Policies, EachProposesLegalPointsOnce) {
  const Task task = task_of("gemm:m=48,n=96,k=64");
  const Space space(task);
  const auto model = cost_model("prior")({});
  for (const PolicyRow& row : search_policies()) {
    SCOPED_TRACE(row.name);
    const auto policy = row.make({task, space, {}, 1});
    std::set<std::string> seen;
    for (int round = 0; round < 4; ++round) {
      const auto proposals = policy->propose(8, *model);
      EXPECT_EQ(proposals.size(), 8u);
      for (const Proposal& p : proposals) {
        EXPECT_TRUE(space.within_limits(p.point));
        ASSERT_NE(p.features, nullptr);
        EXPECT_EQ(space.trace(p.point), p.candidate.trace);
        EXPECT_TRUE(seen.insert(to_text(p.candidate.trace)).second);
      }
      // The second half comes back only later, as where many are in flight.
      for (size_t k = 0; k < 4; ++k) policy->observe(proposals[k].point, 1e-3);
    }
  }
}

// A policy that goes on after one with the same seed, and what that one proposed.
struct Resumed {
  Resumed(const PolicyRow& row, const PolicyContext& context, const CostModel& model, size_t trials)
      : policy(row.make(context)) {
    for (const Proposal& p : row.make(context)->propose(static_cast<int>(trials), model)) {
      policy->observe(p.point, 1e-3);
      known.insert(p.point);
    }
    EXPECT_EQ(known.size(), trials);
  }
  std::unique_ptr<SearchPolicy> policy;
  std::set<Point> known;
};

TEST(Policies, WhatWasMeasuredBeforeIsNotProposed) {
  const Task task = task_of("gemm:m=48,n=96,k=64");
  const Space space(task);
  const auto model = cost_model("prior")({});
  for (const PolicyRow& row : search_policies()) {
    SCOPED_TRACE(row.name);
    const Resumed run(row, {task, space, {}, 1}, *model, 8);
    for (const Proposal& p : run.policy->propose(8, *model)) {
      EXPECT_FALSE(run.known.contains(p.point));
    }
    // A search that would only meet again what the earlier one drew is not exhausted.
    const Resumed longer(row, {task, space, {}, 1}, *model, 64);
    EXPECT_EQ(longer.policy->propose(1, *model).size(), 1u);
  }
}

TEST(Policies, AGridMeetsEveryPointOfASmallSpace) {
  const Task task = task_of("transpose:m=4,n=4");
  const Space space(task);
  std::set<Point> all;
  for (size_t k = 0; k < space.sketches().size(); ++k) {
    std::vector<Point> points = {{.sketch = k}};
    for (const Knob& knob : space.sketches()[k].knobs) {
      std::vector<Point> longer;
      for (const Point& p : points) {
        for (size_t c = 0; c < knob.size(); ++c) {
          longer.push_back(p);
          longer.back().choice.push_back(c);
        }
      }
      points = std::move(longer);
    }
    for (const Point& p : points) {
      if (!space.within_limits(p)) continue;
      try {
        extract_features(task, space.schedule(p));
        all.insert(p);
      } catch (const UserError&) {
        continue;
      }
    }
  }
  const auto model = cost_model("prior")({});
  const auto policy = make_grid_policy({task, space});
  std::set<Point> met;
  for (const Proposal& p : policy->propose(1 << 20, *model)) met.insert(p.point);
  EXPECT_EQ(met, all);
  EXPECT_TRUE(policy->propose(8, *model).empty());
}

TEST(PoliciesStudy, AnnealingFindsWhatChanceDoesNot) {
  const Task task = task_of("gemm:m=48,n=96,k=64");
  const Space space(task);
  const made::Drawn drawn = made::draw(task, space, 200, 1);
  for (const uint64_t seed : {1, 2, 3}) {
    const made::MadeTimes times(drawn, seed);
    double fastest = INFINITY;  // of two hundred points at random
    for (const auto& f : drawn.features) fastest = std::min(fastest, times.seconds(*f));
    const auto proposals =
        make_annealing_policy({task, space, {}, seed})->propose(16, Oracle(times));
    ASSERT_EQ(proposals.size(), 16u);
    EXPECT_LT(times.seconds(*proposals.front().features), fastest) << seed;
  }
}

TEST(Policies, AnUnknownNameListsTheRows) {
  const ErrorInfo info =
      tw::test::expect_error(ErrorCode::BadArgument, [] { search_policy("simplex"); });
  EXPECT_EQ(info.legal, "evolutionary, descent, annealing, random, grid");
}

}  // namespace
}  // namespace tw::autotune
