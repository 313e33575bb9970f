// SPDX-License-Identifier: Apache-2.0
#include "schedule/schedule.h"

#include <gtest/gtest.h>

#include "ir/equal.h"
#include "ir/expr.h"
#include "tests/support/expect_error.h"
#include "tests/support/scheduled.h"

namespace tw {
namespace {

using test::expect_error;
using test::loops;
using test::scheduled;

struct Chain {
  te::Tensor a = te::placeholder({8, 8}, float_type(32), "A");
  te::Tensor b =
      te::compute({8, 8}, [this](const std::vector<Var>& i) { return a(i[0], i[1]) + 1; }, "B");
  te::Tensor c =
      te::compute({8, 8}, [this](const std::vector<Var>& i) { return b(i[0], i[1]) * 2; }, "C");
  Schedule s = Schedule::create({c});
};

TEST(Schedule, HasAStageForEachOperation) {
  const Chain x;
  ASSERT_EQ(x.s.stages().size(), 3u);
  EXPECT_EQ(x.s.stages()[0].op().get(), x.a.op().get());
  EXPECT_EQ(x.s[x.b].op().get(), x.b.op().get());
  EXPECT_TRUE(x.s[x.c].data().is_output);
  EXPECT_FALSE(x.s[x.b].data().is_output);
  EXPECT_EQ(x.s.ref_of(x.s[x.c]), (StageRef{.index = 2}));
  EXPECT_EQ(x.s.stage({.index = 1}).op().get(), x.b.op().get());
  const te::Tensor other = te::placeholder({1});
  EXPECT_EQ(expect_error(ErrorCode::UnknownStage, [&] { x.s[other]; }).legal, "A, B, C");
  expect_error(ErrorCode::UnknownStage, [&] { x.s.stage({.index = 3}); });
  expect_error(ErrorCode::PlaceholderStage, [&] { Schedule::create({x.a}); });
  expect_error(ErrorCode::BadArgument, [] { Schedule::create({}); });
  expect_error(ErrorCode::BadArgument, [&] { x.s[x.c].axis(2); });
  expect_error(ErrorCode::BadArgument, [&] { x.s[x.c].reduce_axis(0); });
  expect_error(ErrorCode::PlaceholderStage, [&] { x.s[x.a].axis(0); });
}

TEST(Schedule, RecordsWhatIsDone) {
  Chain x;
  const Stage c = x.s[x.c];
  const auto [xo, yo, xi, yi] = c.tile(c.axis(0), c.axis(1), 4, 2);
  {
    const SourceScope place("script.py:7");
    c.vectorize(yi);
  }
  x.s[x.b].compute_at(c, yo);
  c.pragma(xo, "auto_unroll_max_step", 16);
  EXPECT_EQ(to_text(x.s.trace()),
            "tile@1(s2, s2:0, s2:1, 4, 2)\n"
            "vectorize@1(s2, t0.3)  # script.py:7\n"
            "compute_at@1(s1, s2, t0.1)\n"
            "pragma@1(s2, t0.0, \"auto_unroll_max_step\", pragma_value=16)\n");
  EXPECT_EQ(x.s.axis({.step = 0, .index = 2}).get(), xi.get());
  EXPECT_EQ(x.s.ref_of(c, yi), (AxisRef{.step = 0, .index = 3}));
  EXPECT_EQ(x.s.ref_of(c, c.axis(1)), (AxisRef{.index = 1, .stage = {.index = 2}}));
  EXPECT_EQ(c.data().where, "script.py:7");
  // Stores say which line scheduled them.
  EXPECT_NE(loops(x.s, {.source_lines = true}).find("source_line = \"script.py:7\""),
            std::string::npos);
  EXPECT_EQ(loops(x.s).find("source_line"), std::string::npos);
}

TEST(Schedule, CopiesAreIndependent) {
  Chain x;
  const auto [outer, inner] = x.s[x.c].split(x.s[x.c].axis(0), 4);
  x.s[x.b].compute_at(x.s[x.c], outer);
  const Schedule copy = x.s.copy();
  EXPECT_EQ(loops(copy), loops(x.s));
  const std::string before = loops(x.s);
  // Axes of steps are shared identities; a copy takes them.
  copy[x.c].vectorize(inner);
  copy.stage({.index = 1}).compute_root();
  EXPECT_EQ(loops(x.s), before);
  EXPECT_EQ(x.s.trace().steps.size(), 2u);
  EXPECT_EQ(copy.trace().steps.size(), 4u);
  EXPECT_EQ(copy[x.b].data().attach_stage, nullptr);
  EXPECT_EQ(x.s[x.b].data().attach_stage, &x.s[x.c].data());
}

TEST(Schedule, ReplayGivesTheSameStatement) {
  Chain x;
  const te::Tensor local = x.s.cache_write(x.c, "local");
  const Stage c = x.s[x.c];
  const auto [outer, inner] = c.split(c.axis(0), 3);
  x.s[local].compute_at(c, outer);
  x.s[x.b].compute_inline();
  x.s[local].split_nparts(x.s[local].axis(1), 3);
  const te::Program program = te::make_program({x.c});
  const Schedule fresh = Schedule::create(te::parse_program(te::to_text(program)).outputs);
  fresh.apply(parse_trace(to_text(x.s.trace())));
  EXPECT_EQ(fresh.trace(), x.s.trace());
  EXPECT_EQ(loops(fresh), loops(x.s));
}

TEST(Schedule, ATraceFollowsTheStepsThatAreThere) {
  Chain x;
  x.s[x.b].parallel(x.s[x.b].axis(0));
  x.s.apply(parse_trace("split@1(s2, s2:0, factor=2)\nvectorize@1(s2, t0.1)"));
  EXPECT_EQ(to_text(x.s.trace()),
            "parallel@1(s1, s1:0)\nsplit@1(s2, s2:0, factor=2)\nvectorize@1(s2, t1.1)\n");
}

TEST(Schedule, ReplayErrorsNameTheStep) {
  Chain x;
  const ErrorInfo e = expect_error(ErrorCode::NotALeafAxis, [&] {
    x.s.apply(parse_trace("split@1(s2, s2:0, factor=2)\nsplit@1(s2, s2:0, factor=4)  # a.py:3"));
  });
  EXPECT_EQ(e.where, "step t1 split@1(s2, s2:0, factor=4) (a.py:3)");
  EXPECT_EQ(e.stage, "C");
  EXPECT_EQ(x.s.trace().steps.size(), 1u);
}

// Operations that share a reduce axis do not share a loop.
TEST(Schedule, SharedAxesAreToldApart) {
  const te::Tensor a = te::placeholder({8, 8}, int_type(32), "A");
  const IterVar k = te::reduce_axis({0, 8}, "k");
  const te::Tensor rows = te::compute(
      {8}, [&](const std::vector<Var>& i) { return te::sum(a(i[0], k.var()), {k}); }, "R");
  const te::Tensor all = te::compute(
      {8},
      [&](const std::vector<Var>& i) { return te::sum(a(i[0], k.var()) * rows(k.var()), {k}); },
      "S");
  const Schedule s = Schedule::create({all});
  EXPECT_EQ(s[rows].reduce_axis(0).get(), k.get());
  EXPECT_NE(s[all].reduce_axis(0)->var.get(), k->var.get());
  const auto [outer, inner] = s[all].split(k, 4);
  EXPECT_EQ(s[all].leaf_axes()[1].get(), outer.get());
  s[rows].compute_at(s[all], inner);
  EXPECT_EQ(loops(s),
            R"(produce S {
  for (i0, 0, 8) {
    S(i0) = 0
    for (k.outer, 0, 2) {
      for (k.inner, 0, 4) {
        realize R<global>([((k.outer*4) + k.inner), 1]) {
          produce R {
            R(((k.outer*4) + k.inner)) = 0
            for (k, 0, 8) {
              R(((k.outer*4) + k.inner)) = (R(((k.outer*4) + k.inner)) + A(((k.outer*4) + k.inner), k))
            }
          }
          S(i0) = (S(i0) + (A(i0, ((k.outer*4) + k.inner))*R(((k.outer*4) + k.inner))))
        }
      }
    }
  }
}
)");
}

}  // namespace
}  // namespace tw
