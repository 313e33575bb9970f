// SPDX-License-Identifier: Apache-2.0
#include "autotune/search/variants.h"

#include <gtest/gtest.h>

#include <random>

#include "autotune/task/workloads.h"
#include "tests/unit/autotune/made_times.h"

namespace tw::autotune {
namespace {

TEST(Variants, AreNearWhatIsKnown) {
  const Task task = make_task(parse_workload("gemm:m=48,n=96,k=64").program,
                              Target::parse("llvm -mcpu=sapphirerapids"), 1);
  const Space space(task);
  const made::Drawn drawn = made::draw(task, space, 100, 1);
  Variants variants(drawn.all());
  EXPECT_TRUE(variants.add(*drawn.features[0]));
  EXPECT_FALSE(variants.add(*drawn.features[0])) << "the same again";
  EXPECT_FALSE(variants.add(*drawn.features[0])) << "variants are not remembered";

  // Of points drawn at random most are none; of those one step from each other many are.
  size_t far = 0;
  for (const auto& f : drawn.features) far += variants.add(*f);
  EXPECT_GE(far, 60u);
  size_t near = 0, steps = 0;
  std::mt19937_64 rng(2);
  for (const Point& p : drawn.points) {
    near += !variants.add(extract_features(task, space.schedule(space.mutate(p, rng))));
    ++steps;
  }
  EXPECT_GE(near, steps / 3);
  EXPECT_LT(near, steps);
}

}  // namespace
}  // namespace tw::autotune
