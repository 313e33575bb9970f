// SPDX-License-Identifier: Apache-2.0
#include "schedule/trace.h"

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace tw {
namespace {

using test::expect_error;

Trace one(Step step) { return {.steps = {std::move(step)}}; }

TEST(Trace, PrintsAStepALine) {
  Trace trace;
  const StageRef program{.index = 2}, made{.step = 0, .index = 0};
  trace.steps.push_back({.primitive = "cache_write", .arguments = {program, std::string("local")}});
  trace.steps.push_back({.primitive = "split",
                         .arguments = {made, AxisRef{.index = 1, .stage = made}, int64_t{16}, {}},
                         .where = "conv.py:12"});
  trace.steps.push_back(
      {.primitive = "split",
       .arguments = {program, AxisRef{.index = 0, .stage = program}, {}, int64_t{4}}});
  trace.steps.push_back({.primitive = "reorder",
                         .arguments = {made, std::vector<AxisRef>{{.step = 1, .index = 1},
                                                                  {.step = 1, .index = 0}}}});
  const std::string text = to_text(trace);
  EXPECT_EQ(text,
            "cache_write@1(s2, \"local\")\n"
            "split@1(t0.0, t0.0:1, factor=16)  # conv.py:12\n"
            "split@1(s2, s2:0, nparts=4)\n"
            "reorder@1(t0.0, [t1.1, t1.0])\n");
  const Trace back = parse_trace(text);
  EXPECT_EQ(back, trace);
  EXPECT_EQ(back.steps[1].where, "conv.py:12");
  EXPECT_EQ(to_text(back), text);
}

TEST(Trace, StringsKeepQuotesAndLines) {
  const Trace trace = one({.primitive = "pragma",
                           .arguments = {StageRef{.index = 0}, AxisRef{.step = 3, .index = 1},
                                         std::string("a \"b\" \\ # c\nd"), int64_t{-7}}});
  EXPECT_EQ(parse_trace(to_text(trace)), trace);
}

TEST(Trace, EmptyLinesAndCommentsArePassedOver) {
  const Trace trace = parse_trace("\n# a comment\n  compute_root@1(s1)\r\n\n");
  ASSERT_EQ(trace.steps.size(), 1u);
  EXPECT_EQ(to_text(trace), "compute_root@1(s1)\n");
}

TEST(Trace, HashIsOfStepsOnly) {
  const Trace a = parse_trace("compute_root@1(s1)  # a.py:1\n"),
              b = parse_trace("compute_root@1(s1)");
  EXPECT_EQ(a, b);
  EXPECT_EQ(trace_hash(a), trace_hash(b));
  EXPECT_NE(trace_hash(a), trace_hash(parse_trace("compute_root@1(s2)")));
  // Logs of other machines hold it.
  EXPECT_EQ(trace_hash(a), 10298859712768575659u);
}

TEST(Trace, ErrorsNameTheLine) {
  const auto fails = [](std::string_view text, ErrorCode code = ErrorCode::BadTrace) {
    return expect_error(code, [&] { parse_trace(text); });
  };
  EXPECT_EQ(fails("compute_root@1(s1)\nsplit@1(s1, s1, factor=2)").where, "trace:2:15");
  EXPECT_EQ(fails("compute_root@1(s1) s2").where, "trace:1:20");
  EXPECT_EQ(fails("split@1(s1, s1:0, factors=2)").what, "there is no parameter 'factors'");
  EXPECT_EQ(fails("split@1(s1, factor=2)").what, "argument 'parent' of 'split' is missing");
  fails("split@1(s1, s1:0, factor=two)");
  fails("split@1(s1, s1:0, factor=2");
  fails("split@1(s1, s1:-1, factor=2)");
  fails("split@1(x1, s1:0, factor=2)");
  fails("compute_root@1(s1, s2)");
  fails("compute_root@one(s1)");
  fails("compute_root(s1)");
  fails("cache_write@1(s1, \"local)");
  fails("@1(s1)");
  EXPECT_EQ(fails("spilt@1(s1, s1:0, factor=2)", ErrorCode::UnknownPrimitive).what,
            "there is no primitive 'spilt'; the nearest is 'split'");
  EXPECT_EQ(fails("split@9(s1)", ErrorCode::PrimitiveVersion).legal, "version 1 or older");
}

}  // namespace
}  // namespace tw
