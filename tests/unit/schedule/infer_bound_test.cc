// SPDX-License-Identifier: Apache-2.0
#include "schedule/infer_bound.h"

#include <gtest/gtest.h>

#include "ir/expr.h"
#include "schedule/normalize.h"
#include "schedule/schedule_data.h"
#include "tests/support/scheduled.h"

namespace tw {
namespace {

using test::scheduled;

// The region of operation k that is computed: "[min, extent] …".
std::string region(const Schedule& schedule, int k, const ScheduleOptions& options = {}) {
  const Schedule s = normalize(schedule);
  const DomainMap domains = infer_bound(s, options);
  std::string result;
  for (const IterVar& axis : s.stage({.index = k}).op()->data_axes()) {
    const Range& r = domains.at(axis->var);
    result += (result.empty() ? "[" : " [") + to_string(r.min) + ", " + to_string(r.extent) + "]";
  }
  return result;
}

constexpr char kConvolution[] =
    "data = placeholder(float32, [2, 16, 16])\n"
    "pad = compute([c: 2, h: 18, w: 18], tvm_if_then_else(((((h >= 1) && (h < 17)) && (w >= 1)) && "
    "(w < 17)), "
    "data(c, (h - 1), (w - 1)), 0.0f))\n"
    "weight = placeholder(float32, [4, 2, 3, 3])\n"
    "conv = compute([f: 4, y: 16, x: 16], reduce [rc: 2, ry: 3, rx: 3], "
    "sum((pad(rc, (y + ry), (x + rx))*weight(f, rc, ry, rx))))\n"
    "out = compute([f: 4, y: 16, x: 16], max(conv(f, y, x), 0.0f))\n"
    "arguments data weight out\noutputs out\n";

TEST(InferBound, StagesAtTheOutermostLevelAreComputedWhole) {
  EXPECT_EQ(region(scheduled(kConvolution), 1), "[0, 2] [0, 18] [0, 18]");
  EXPECT_EQ(region(scheduled(kConvolution), 3), "[0, 4] [0, 16] [0, 16]");
}

// Padding at an outer row loop: the rows of a tile and their halo.
TEST(InferBound, PaddingInsideALoopOfTheConvolution) {
  EXPECT_EQ(
      region(scheduled(kConvolution, "split@1(s3, s3:1, factor=4)\ncompute_at@1(s1, s3, t0.0)"), 1),
      "[0, 2] [(y.outer*4), 6] [0, 18]");
  EXPECT_EQ(
      region(scheduled(kConvolution, "split@1(s3, s3:1, factor=5)\ncompute_at@1(s1, s3, t0.0)"), 1),
      "[0, 2] [(y.outer*5), 7] [0, 18]");
  EXPECT_EQ(region(scheduled(kConvolution,
                             "reorder@1(s3, [s3:0, s3:1, s3:3, s3:2])\ncompute_at@1(s1, s3, s3:3)"),
                   1),
            "[rc, 1] [y, 3] [0, 18]");
  EXPECT_EQ(region(scheduled(kConvolution, "compute_at@1(s1, s3, s3:5)"), 1),
            "[rc, 1] [(y + ry), 1] [(x + rx), 1]");
}

// Through a stage that is itself inside: its loops run, and move the region.
TEST(InferBound, ThroughAStageThatIsInside) {
  const char* both =
      "tile@1(s4, s4:1, s4:2, 8, 4)\n"
      "compute_at@1(s3, s4, t0.1)\n";
  EXPECT_EQ(region(scheduled(kConvolution, both), 3), "[f, 1] [(y.outer*8), 8] [(x.outer*4), 4]");
  const Schedule outer = scheduled(kConvolution, std::string(both) + "compute_at@1(s1, s4, t0.0)");
  EXPECT_EQ(region(outer, 1), "[0, 2] [(y.outer*8), 10] [0, 18]");
  const Schedule same = scheduled(kConvolution, std::string(both) + "compute_at@1(s1, s4, t0.1)");
  EXPECT_EQ(region(same, 1), "[0, 2] [(y.outer*8), 10] [(x.outer*4), 6]");
  const Schedule inner = scheduled(kConvolution, std::string(both) + "compute_at@1(s1, s3, s3:1)");
  EXPECT_EQ(region(inner, 1), "[0, 2] [((y.outer*8) + y), 3] [(x.outer*4), 6]");
}

TEST(InferBound, AFusedLoop) {
  const char* fused = "fuse@1(s4, [s4:0, s4:1])\n";
  EXPECT_EQ(region(scheduled(kConvolution, std::string(fused) + "compute_at@1(s3, s4, t0.0)"), 3),
            "[floordiv(f.y.fused, 16), 1] [floormod(f.y.fused, 16), 1] [0, 16]");
  // Tiles of the fused axis that never cross a row, that are rows, and that cross.
  const auto tile = [&](int by) {
    return region(scheduled(kConvolution, std::string(fused) + "split@1(s4, t0.0, factor=" +
                                              std::to_string(by) + ")\ncompute_at@1(s3, s4, t1.0)"),
                  3);
  };
  EXPECT_EQ(tile(8),
            "[floordiv(f.y.fused.outer, 2), 1] [(floormod(f.y.fused.outer, 2)*8), 8] [0, 16]");
  EXPECT_EQ(tile(32), "[(f.y.fused.outer*2), 2] [0, 16] [0, 16]");
  EXPECT_EQ(tile(12), "[floordiv((f.y.fused.outer*3), 4), 2] [0, 16] [0, 16]");
}

TEST(InferBound, TheUnionOfConsumersAndReads) {
  const char* program =
      "A = placeholder(int32, [20])\n"
      "B = compute([i: 20], (A(i) + 1))\n"
      "C = compute([i: 16], (B(i) + B((i + 3))))\n"
      "D = compute([i: 16], (C(i) + B((i + 1))))\n"
      "arguments A D\noutputs D\n";
  const char* trace =
      "split@1(s3, s3:0, factor=4)\ncompute_at@1(s2, s3, t0.0)\ncompute_at@1(s1, s3, t0.0)";
  EXPECT_EQ(region(scheduled(program, trace), 1), "[(i.outer*4), 7]");
  EXPECT_EQ(region(scheduled(program, trace), 2), "[(i.outer*4), 4]");
}

TEST(InferBound, SymbolicShapes) {
  const char* program =
      "n = var(int32)\n"
      "m = var(int32)\n"
      "A = placeholder(int32, [n, m])\n"
      "B = compute([i: n, j: m], (A(i, j) + 1))\n"
      "C = compute([i: n, j: m], (B(i, j)*2))\n"
      "arguments A C\noutputs C\n";
  EXPECT_EQ(region(scheduled(program), 1), "[0, n] [0, m]");
  EXPECT_EQ(
      region(scheduled(program, "split@1(s2, s2:0, factor=8)\ncompute_at@1(s1, s2, t0.0)"), 1),
      "[(i.outer*8), 8] [0, m]");
}

TEST(InferBound, WhatIsNotKnownIsReadWhole) {
  const char* program =
      "A = placeholder(int32, [8])\n"
      "I = placeholder(int32, [6])\n"
      "B = compute([i: 8], (A(i) + 1))\n"
      "C = compute([i: 6], B(I(i)))\n"
      "arguments A I C\noutputs C\n";
  EXPECT_EQ(region(scheduled(program, "compute_at@1(s1, s3, s3:0)"), 1), "[0, 8]");
}

TEST(InferBound, FactorsAboveTheRegion) {
  const Schedule s = scheduled(
      kConvolution,
      "tile@1(s4, s4:1, s4:2, 8, 4)\ncompute_at@1(s3, s4, t0.1)\nsplit@1(s3, s3:2, factor=16)");
  const auto inner = [&](const ScheduleOptions& options) {
    const Schedule n = normalize(s);
    return *as_const_int(infer_bound(n, options).at(n.axis({.step = 2, .index = 1})->var).extent);
  };
  EXPECT_EQ(inner({}), 4);
  EXPECT_EQ(inner({.clamp_split_factor = false}), 16);
}

TEST(Normalize, LeavesTheScheduleAlone) {
  const Schedule s = scheduled(kConvolution, "compute_inline@1(s1)\ncompute_at@1(s3, s4, s4:1)");
  const Schedule n = normalize(s);
  EXPECT_EQ(n.trace(), s.trace());
  EXPECT_EQ(s.stage({.index = 1}).data().attach_type, AttachType::Inline);
  EXPECT_EQ(n.stage({.index = 1}).data().attach_type, AttachType::InlinedAlready);
  EXPECT_TRUE(s.stage({.index = 3}).data().relations.empty());
  // Its data axes start where the outer loops say.
  EXPECT_EQ(n.stage({.index = 3}).data().relations.size(), 3u);
  // The origin still finds the stage.
  EXPECT_EQ(n[s.stage({.index = 3}).op()].data().ref, (StageRef{.index = 3}));
  EXPECT_NE(n.stage({.index = 3}).op().get(), s.stage({.index = 3}).op().get());
  EXPECT_EQ(test::loops(n), test::loops(s));
}

TEST(Normalize, RebasesReductionsThatStartElsewhere) {
  EXPECT_EQ(test::loops("A = placeholder(int32, [9])\n"
                        "S = compute([], reduce [k: (2, 5)], sum(A(k)))\n"
                        "arguments A S\noutputs S\n",
                        "unroll@1(s1, s1:0)"),
            R"(produce S {
  S() = 0
  unrolled (k, 0, 5) {
    S() = (S() + A((k + 2)))
  }
}
)");
}

}  // namespace
}  // namespace tw
