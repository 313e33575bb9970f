// SPDX-License-Identifier: Apache-2.0
// Reductions that are longer for one element than for another: their inputs, lengths and spaces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "autotune/cost/features.h"
#include "autotune/cost/loop_nest.h"
#include "autotune/measure/reference.h"
#include "autotune/search/prior_schedule.h"
#include "autotune/space/space.h"
#include "autotune/task/positions.h"
#include "ir/expr.h"
#include "schedule/schedule_ops.h"
#include "schedule/te/compute.h"
#include "schedule/te/ragged_length.h"

namespace tw::autotune {
namespace {

constexpr char kTriangle[] = R"(te 1
A = placeholder(float32, [512, 512])
x = placeholder(float32, [512])
y = compute([i: 512], reduce [k: (i + 1)], sum((A(i, k)*x(k))))
arguments A x y
outputs y
)";
constexpr char kSparse[] = R"(te 1
rows = placeholder(int32, [1025])
columns = placeholder(int32, [20480])
V = placeholder(float32, [20480])
X = placeholder(float32, [300, 64])
C = compute([i: 1024, j: 64], reduce [k: (rows((i + 1)) - rows(i))], sum((V((rows(i) + k))*X(columns((rows(i) + k)), j))))
arguments rows columns V X C
outputs C
)";

Task task_of(const char* text) { return make_task(text, Target::parse("llvm -mcpu=x86-64-v4"), 2); }

TEST(Ragged, PositionsAreInside) {
  const te::Program program = te::parse_program(kSparse);
  const std::vector<Positions> found = positions_of(program);
  ASSERT_EQ(found.size(), 5u);
  EXPECT_TRUE(found[0].ascending);
  EXPECT_EQ(found[0].count, 20480);
  EXPECT_FALSE(found[1].ascending);
  EXPECT_EQ(found[1].count, 300);
  EXPECT_EQ(found[2].count, 0);
  EXPECT_EQ(found[3].count, 0);

  const NDArray rows = NDArray::empty({1025}, int_type(32));
  fill_input(rows, 5, 0, found[0]);
  const int32_t* ends = rows.data_as<int32_t>();
  EXPECT_EQ(ends[0], 0);
  EXPECT_EQ(ends[1024], 20480);
  EXPECT_TRUE(std::is_sorted(ends, ends + 1025));
  const NDArray columns = NDArray::empty({20480}, int_type(32));
  fill_input(columns, 5, 1, found[1]);
  const auto [least, greatest] =
      std::minmax_element(columns.data_as<int32_t>(), columns.data_as<int32_t>() + 20480);
  EXPECT_GE(*least, 0);
  EXPECT_LT(*greatest, 300);
  EXPECT_GT(*greatest, 250);
}

TEST(Ragged, LengthsAreThoseInTheMiddle) {
  const Var i("i"), k("k");
  const auto middle = [&](const Var& v) { return v.same_as(i) ? Expr(100) : Expr(); };
  EXPECT_EQ(te::expected_length(i + 1, middle, 0), 101);
  EXPECT_EQ(te::expected_length(floor_div(i + 4, 4), middle, 0), 26);
  EXPECT_EQ(te::expected_length(k, middle, 0), 1);
  const te::Program program = te::parse_program(kSparse);
  const auto* c = te::as_op<te::ComputeNode>(program.outputs[0].op());
  const auto outside = [&](const Var& v) {
    return v.same_as(c->axis[0].var()) ? Expr(512) : Expr();
  };
  const IterVar axis = c->reduce_axis[0];
  EXPECT_EQ(te::elements_along(c->body[0], axis.var()), 20480);
  EXPECT_EQ(te::expected_length(axis->domain.extent, outside, 20480), 20);
}

TEST(Ragged, SumsOfRowsHaveLanesAndThreads) {
  const Space space(task_of(kTriangle));
  ASSERT_FALSE(space.sketches().empty());
  EXPECT_EQ(space.sketches()[0].description, "lanes(y)");
  const std::string trace = to_text(prior_schedule(task_of(kTriangle)));
  EXPECT_THAT(trace, testing::HasSubstr("parallel"));
  EXPECT_THAT(trace, testing::HasSubstr("vectorize"));
}

TEST(Ragged, DenseAxesRunInVectors) {
  const Task task = task_of(kSparse);
  const Space space(task);
  ASSERT_EQ(space.sketches().size(), 1u);
  EXPECT_EQ(space.sketches()[0].description, "loops(C)");
  const std::string trace = to_text(prior_schedule(task));
  EXPECT_THAT(trace, testing::HasSubstr("parallel"));
  EXPECT_THAT(trace, testing::HasSubstr("vectorize"));
}

// The prior counts the elements that rows are expected to have.
TEST(Ragged, LoopsOfReadLengthCount) {
  const Task task = task_of(kSparse);
  const double whole = prior_seconds(task, Schedule::create(task.program.outputs));
  std::string text = kSparse;
  for (size_t at; (at = text.find("20480")) != std::string::npos;) text.replace(at, 5, "81920");
  const Task longer = task_of(text.c_str());
  const double four = prior_seconds(longer, Schedule::create(longer.program.outputs));
  EXPECT_GT(four, 2 * whole);
}

}  // namespace
}  // namespace tw::autotune
