// SPDX-License-Identifier: Apache-2.0
#include "autotune/search/prior_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <random>
#include <vector>

#include "autotune/cost/features.h"
#include "autotune/space/space.h"
#include "autotune/task/workloads.h"
#include "runtime/error.h"
#include "runtime/thread_pool.h"
#include "tests/support/whole_prior.h"

namespace tw::autotune {
namespace {

Task task_of(const std::string& text) {
  return make_task(parse_workload(text).program, Target::host(), 1, text);
}

TEST(PriorSchedule, IsOneOnAnyNumberOfThreads) {
  const Task task = task_of("conv2d_bias_relu:n=1,ci=16,h=14,w=14,co=32,k=3,s=1,p=1");
  const int threads = ThreadPool::global().num_threads();
  ThreadPool::global().set_num_threads(1);
  const Trace alone = prior_schedule(task);
  ThreadPool::global().set_num_threads(3);
  const Trace together = prior_schedule(task);
  ThreadPool::global().set_num_threads(threads);
  EXPECT_EQ(alone, together);
}

TEST(PriorSchedule, LooksAtFewerPointsWhereTheEnvironmentSaysSo) {
  const Task task = task_of("gemm:m=96,n=64,k=80,w=1");
  const test::WholePrior before;
  const auto points = [&task](const char* text) {
    setenv("TILEWRIGHT_PRIOR_POINTS", text, 1);
    return prior_choice(task).points;
  };
  const size_t whole = prior_choice(task).points;
  EXPECT_GT(whole, 512u);
  EXPECT_LE(points("64"), 80u);
  EXPECT_GT(points("256"), points("64"));
  EXPECT_EQ(points("many"), whole);
}

TEST(PriorScheduleStudy, BeatsTheBestOfManyRandomPoints) {
  for (const char* text : {"gemm:m=96,n=64,k=80,w=1", "depthwise_conv2d:n=1,c=32,h=14,w=14",
                           "softmax:m=48,n=100", "row_sum:m=64,n=200"}) {
    const Task task = task_of(text);
    const Space space(task);
    std::mt19937_64 rng(3);
    double best = std::numeric_limits<double>::infinity();
    for (int i = 0; i < 200; ++i) {
      try {
        best = std::min(best, prior_seconds(task, space.trace(space.random(rng))));
      } catch (const UserError&) {
      }
    }
    const double found = prior_seconds(task, prior_schedule(task));
    EXPECT_LE(found, best) << text;
    EXPECT_EQ(found, extract_features(task, prior_schedule(task)).prior_seconds) << text;
  }
}

// The gradient of a strided convolution is four reductions, whose knobs add up. It multiplies as
// often as that of one with stride 1 over the small image.
TEST(PriorScheduleStudy, LooksLongerWhereKnobsAreMany) {
  const auto found = [](const char* text) {
    return prior_choice(
        make_task(parse_workload(text).program, Target::parse("llvm -mcpu=znver4"), 1, text));
  };
  const PriorChoice one = found("conv2d_data_gradient:n=1,ci=128,h=28,w=28,co=128,k=3,s=1,p=1"),
                    four = found("conv2d_data_gradient:n=1,ci=128,h=56,w=56,co=128,k=3,s=2,p=1");
  EXPECT_GT(four.points, 2 * one.points);
  EXPECT_LT(four.seconds, 3 * one.seconds);
}

// Of each sketch by itself, better than what chance finds in it.
TEST(PriorScheduleStudy, ClimbsInOneSketch) {
  const Task task = task_of("attention:b=2,m=32,n=32,k=16");
  const Space space(task);
  ASSERT_GE(space.sketches().size(), 4u);
  std::mt19937_64 rng(3);
  for (size_t sketch = 0; sketch < 4; ++sketch) {
    double best = std::numeric_limits<double>::infinity();
    for (int i = 0; i < 100; ++i) {
      try {
        best = std::min(best, prior_seconds(task, space.trace(space.random(sketch, rng))));
      } catch (const UserError&) {
      }
    }
    const std::vector<Point> found = prior_points(task, space, sketch, 1);
    ASSERT_EQ(found.size(), 4u);
    EXPECT_EQ(found, prior_points(task, space, sketch, 1));
    std::vector<double> seconds;
    for (const Point& p : found) {
      EXPECT_EQ(p.sketch, sketch);
      seconds.push_back(prior_seconds(task, space.trace(p)));
    }
    EXPECT_TRUE(std::ranges::is_sorted(seconds));
    EXPECT_LT(seconds.front(), 0.9 * best) << sketch;
  }
}

}  // namespace
}  // namespace tw::autotune
