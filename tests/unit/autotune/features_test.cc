// SPDX-License-Identifier: Apache-2.0
#include "autotune/cost/features.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "autotune/cost/statement_features.h"
#include "autotune/log/replay.h"
#include "autotune/task/workloads.h"
#include "schedule/te/text.h"
#include "tests/unit/autotune/made_times.h"

namespace tw::autotune {
namespace {

std::vector<float> values(const Features& f) {
  std::vector<float> row;
  f.append_to(row);
  return row;
}

float value(const Features& f, const std::string& name) {
  const auto& names = feature_names();
  const auto at = std::ranges::find(names, name);
  EXPECT_NE(at, names.end()) << name;
  return at == names.end() ? 0 : values(f)[static_cast<size_t>(at - names.begin())];
}

class FeaturesTest : public testing::Test {
 protected:
  Task task_ = make_task(parse_workload("gemm:m=48,n=96,k=64").program,
                         Target::parse("llvm -mcpu=skylake-avx512"), 1, "gemm");

  // A product with tiles of so many rows and lanes.
  Features tiled(int64_t rows, int64_t lanes, bool vectorized = true) const {
    Schedule s = Schedule::create(task_.program.outputs);
    const Stage c = s[task_.program.outputs[0]];
    const auto [io, ii] = c.split(c.axis(0), rows);
    const auto [jo, ji] = c.split(c.axis(1), lanes);
    c.reorder({io, jo, c.reduce_axis(0), ii, ji});
    c.unroll(ii);
    if (vectorized) c.vectorize(ji);
    return extract_features(task_, std::move(s));
  }
};

TEST_F(FeaturesTest, OneRowOfNamedNumbers) {
  const Features f = tiled(4, 16);
  EXPECT_EQ(f.num_rows(), 1u);
  EXPECT_EQ(values(f).size(), feature_names().size());
  const std::set<std::string> names(feature_names().begin(), feature_names().end());
  EXPECT_EQ(names.size(), feature_names().size());
  EXPECT_TRUE(std::ranges::all_of(values(f), [](float x) { return std::isfinite(x); }));
}

TEST_F(FeaturesTest, TellApartWhatDiffers) {
  EXPECT_EQ(value(tiled(4, 16), "main.code.lanes"), 0) << "sixteen floats fill a vector";
  EXPECT_EQ(value(tiled(4, 8), "main.code.lanes"), -1);
  EXPECT_LT(value(tiled(4, 16, false), "main.code.lanes"), -1);
  EXPECT_LT(value(tiled(4, 16), "main.code.registers"), value(tiled(8, 16), "main.code.registers"));
  EXPECT_LT(value(tiled(4, 16), "main.code.instances"), value(tiled(8, 16), "main.code.instances"));
  EXPECT_EQ(value(tiled(4, 16), "main.loops.reduced"), 6) << "64 terms";
  EXPECT_GT(value(tiled(24, 48), "main.cost.spills"), value(tiled(4, 16), "main.cost.spills"));
}

// What one statement costs does not say what another does.
TEST_F(FeaturesTest, TheMainStatementDoesMostOfTheWork) {
  const Features f = tiled(4, 16);
  EXPECT_EQ(value(f, "main.is_init"), 0);
  EXPECT_EQ(value(f, "rest.is_init"), 1) << "sums are set to zero";
  EXPECT_GT(value(f, "main.cost.total"), value(f, "rest.cost.total"));
  EXPECT_NEAR(value(f, "main.cost.total") + value(f, "rest.cost.total"), 1, 0.01);
}

TEST_F(FeaturesTest, AreRelativeToTheTarget) {
  Task narrow = task_;
  narrow.target = Target::parse("llvm -mcpu=haswell");
  const Space space(task_);
  std::mt19937_64 rng(1);
  const Trace trace = space.trace(space.random(rng));
  const Features wide_f = extract_features(task_, trace),
                 narrow_f = extract_features(narrow, trace);
  EXPECT_EQ(value(narrow_f, "main.iterations"), value(wide_f, "main.iterations"));
  EXPECT_EQ(value(narrow_f, "main.code.lanes"), value(wide_f, "main.code.lanes") + 1);
}

// Programs that lower alike have the same features, and others have others: the model can tell
// apart what there is to tell, and nothing else.
TEST_F(FeaturesTest, StandForTheProgram) {
  const Space space(task_);
  std::map<std::vector<float>, std::set<std::string>> programs;
  std::map<std::string, std::set<std::vector<float>>> rows;
  const made::Drawn drawn = made::draw(task_, space, 150, 1);
  for (size_t i = 0; i < drawn.points.size(); ++i) {
    const Kernel kernel = lower_program(task_.program, space.schedule(drawn.points[i]),
                                        te::constants_of(task_.program), task_.target, "k")
                              .entry();
    programs[values(*drawn.features[i])].insert(ir_hash(kernel));
    rows[ir_hash(kernel)].insert(values(*drawn.features[i]));
  }
  EXPECT_GT(double(programs.size()), 0.95 * double(rows.size()));
  EXPECT_LT(double(programs.size()), 1.15 * double(rows.size()));
}

}  // namespace
}  // namespace tw::autotune
