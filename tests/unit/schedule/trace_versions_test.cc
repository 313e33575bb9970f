// SPDX-License-Identifier: Apache-2.0
// Traces as logs of older programs have them: they do now what they did then.
#include <gtest/gtest.h>

#include "schedule/primitive.h"
#include "tests/support/expect_error.h"
#include "tests/support/scheduled.h"

namespace tw {
namespace {

using test::loops;
using test::scheduled;

constexpr char kProduct[] =
    "A = placeholder(float32, [8, 40])\n"
    "B = compute([y: 8, x: 40], (A(y, x)*2.000000f))\n"
    "C = compute([y: 8, x: 40], (A(y, x) + B(y, x)))\n"
    "arguments A C\noutputs C\n";

TEST(TraceVersions, PrefetchOfVersion1NamesTheAxisBeforeTheTensor) {
  const std::string then = "split@1(s2, s2:0, factor=2)\nprefetch@1(s2, t0.0, s0, 3)\n";
  const std::string now = "split@1(s2, s2:0, factor=2)\nprefetch@2(s2, s0, t0.0, 3)\n";
  EXPECT_EQ(loops(kProduct, then), loops(kProduct, now));
  EXPECT_NE(loops(kProduct, then).find("prefetch A([((y.outer*2) + 6), 2], [0, 40])"),
            std::string::npos)
      << loops(kProduct, then);
  EXPECT_EQ(to_text(scheduled(kProduct, then).trace()), now);
}

TEST(TraceVersions, AnOutputIsStillNamed) {
  constexpr char pair[] =
      "A = placeholder(float32, [8])\n"
      "B = compute([y: 8], [A(y), (A(y)*2.000000f)])\n"
      "C = compute([y: 8], (B.v0(y) + B.v1(y)))\n"
      "arguments A C\noutputs C\n";
  EXPECT_EQ(to_text(parse_trace("prefetch@1(s2, s2:0, s1, 3, value_index=1)")),
            "prefetch@2(s2, s1, s2:0, 3, value_index=1)\n");
  EXPECT_EQ(loops(pair, "prefetch@1(s2, s2:0, s1, 3, value_index=1)"),
            loops(pair, "prefetch@2(s2, s1, s2:0, 3, value_index=1)"));
}

TEST(TraceVersions, AStepOfThenIsAppliedWithoutItsText) {
  const Schedule s = scheduled(kProduct);
  const StageRef stage{.index = 2}, tensor{.index = 0};
  s.apply(Step{.primitive = "prefetch",
               .version = 1,
               .arguments = {stage, AxisRef{.index = 0, .stage = stage}, tensor, int64_t{3}}});
  EXPECT_EQ(to_text(s.trace()), "prefetch@2(s2, s0, s2:0, 3)\n");
}

TEST(TraceVersions, TheArgumentsAreThoseOfTheirVersion) {
  test::expect_error(ErrorCode::BadTrace, [] { parse_trace("prefetch@2(s2, s2:0, s0, 3)"); });
  test::expect_error(ErrorCode::BadTrace, [] { parse_trace("prefetch@1(s2, s0, s2:0, 3)"); });
  test::expect_error(ErrorCode::PrimitiveVersion,
                     [] { parse_trace("prefetch@3(s2, s0, s2:0, 3)"); });
  test::expect_error(ErrorCode::PrimitiveVersion,
                     [] { parse_trace("prefetch@0(s2, s0, s2:0, 3)"); });
}

// A new version must say what became of the one before it, here.
TEST(TraceVersions, EachOlderVersionIsReplayedAbove) {
  for (const Primitive& p : primitives()) {
    EXPECT_EQ(p.version, p.name == "prefetch" ? 2 : 1) << p.name;
    EXPECT_EQ(p.earlier.size(), static_cast<size_t>(p.version - 1)) << p.name;
  }
}

}  // namespace
}  // namespace tw
