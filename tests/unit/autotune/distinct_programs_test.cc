// SPDX-License-Identifier: Apache-2.0
#include "autotune/search/distinct_programs.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "autotune/log/replay.h"
#include "autotune/task/workloads.h"
#include "runtime/error.h"
#include "schedule/te/text.h"
#include "tests/unit/autotune/made_times.h"

namespace tw::autotune {
namespace {

class DistinctProgramsTest : public testing::TestWithParam<const char*> {
 protected:
  // Legal points one or a few steps from each other, as a search meets them: those that lower alike
  // are mostly neighbours.
  std::vector<Point> neighbours(size_t count) const {
    std::mt19937_64 rng(1);
    std::vector<Point> points = made::draw(task_, space_, 6, 1).points;
    while (points.size() < count) {
      const Point p = space_.mutate(points[rng() % points.size()], rng);
      try {
        extract_features(task_, space_.schedule(p));
        points.push_back(p);
      } catch (const UserError&) {
        continue;  // not legal
      }
    }
    return points;
  }
  std::string kernel(const Point& p) const {
    return ir_hash(lower_program(task_.program, space_.schedule(p), te::constants_of(task_.program),
                                 task_.target, "k")
                       .entry());
  }

  Task task_ = make_task(parse_workload(GetParam()).program, Target::host(), 1, "task");
  Space space_{task_};
};

TEST_P(DistinctProgramsTest, AreThoseThatLowerToOtherKernels) {
  DistinctPrograms programs(task_, space_);
  std::set<std::string> kernels;
  size_t repeated = 0;
  for (const Point& p : neighbours(400)) {
    const bool fresh = kernels.insert(kernel(p)).second;
    EXPECT_EQ(programs.add(p), fresh) << to_text(space_.trace(p));
    repeated += !fresh;
  }
  EXPECT_GT(repeated, 5u);
}

TEST_P(DistinctProgramsTest, OutlinesSayWhichKernelsCanBeEqual) {
  std::map<uint64_t, std::string> kernel_of_code;
  std::map<std::string, std::string> loops_of_kernel;
  std::set<std::string> loops;
  for (const Point& p : neighbours(150)) {
    const Outline own = outline(task_, space_.schedule(p));
    const std::string hash = kernel(p);
    EXPECT_EQ(kernel_of_code.try_emplace(own.code, hash).first->second, hash);
    EXPECT_EQ(loops_of_kernel.try_emplace(hash, own.loops).first->second, own.loops);
    loops.insert(own.loops);
  }
  // Few kernels share their loops with another, so few are lowered.
  EXPECT_GT(loops.size() * 2, loops_of_kernel.size());
}

INSTANTIATE_TEST_SUITE_P(Workloads, DistinctProgramsTest,
                         testing::Values("gemm:m=48,n=96,k=64", "softmax:m=64,n=96",
                                         "depthwise_conv2d:n=1,c=32,h=14,w=14,k=3,s=1,p=1",
                                         "conv2d_bias_relu:n=1,ci=16,h=14,w=14,co=32,k=3,s=1,p=1"));

}  // namespace
}  // namespace tw::autotune
