// SPDX-License-Identifier: Apache-2.0
// The space of programs whose stages may stand inside each other, and of those that fill memory.
#include "autotune/space/space.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "autotune/cost/features.h"
#include "autotune/cost/loop_nest.h"
#include "autotune/log/replay.h"
#include "autotune/search/prior_schedule.h"
#include "autotune/space/data_axes.h"
#include "autotune/task/workloads.h"
#include "ir/print.h"
#include "runtime/error.h"
#include "schedule/infer_bound.h"
#include "schedule/normalize.h"
#include "schedule/schedule_ops.h"

namespace tw::autotune {
namespace {

Task task_of(std::string_view workload) {
  return make_task(parse_workload(workload).program, Target::parse("llvm -mcpu=x86-64-v4"), 1);
}

Task task_of_te(const std::string& te) {
  return make_task(te::parse_program("te 1\n" + te), Target::parse("llvm -mcpu=x86-64-v4"), 1);
}

bool applies(const Task& task, const Trace& trace) {
  try {
    extract_features(task, trace);
    return true;
  } catch (const UserError&) {
    return false;
  }
}

size_t knobs_of_kind(const Sketch& sketch, Knob::Kind kind) {
  return static_cast<size_t>(
      std::ranges::count(sketch.knobs, kind, [](const Knob& k) { return k.kind; }));
}

// Steps that all points of a sketch have in common are applied once; a point is still its trace.
TEST(Space, ASchedulesStepsAreThoseOfTheTrace) {
  for (const char* workload :
       {"conv2d_bias_relu:resnet50.3", "softmax:m=40,n=50", "gemm:bert.ffn"}) {
    const Task task = task_of(workload);
    const Space space(task);
    std::mt19937_64 rng(5);
    for (int i = 0; i < 20; ++i) {
      const Point p = space.random(rng);
      if (!applies(task, space.trace(p))) continue;
      EXPECT_EQ(to_text(space.schedule(p).trace()), to_text(space.trace(p)));
      EXPECT_EQ(prior_seconds(task, space.schedule(p)), prior_seconds(task, space.trace(p)));
    }
  }
}

// The stages of each step have vectors, threads by choice, and go into each other where that is
// cheap; the scan itself, and what it stores, stay as they are.
TEST(Space, WhatAScanComputesInItsStepsHasChoices) {
  const Task task = make_task(R"(te 1
X = placeholder(float32, [12, 8, 64])
W = placeholder(float32, [64, 64])
S = placeholder(float32, [12, 8, 64])
begin = compute([t: 1, b: 8, j: 64], 0.000000f)
h = compute([t: 12, b: 8, j: 64], reduce [k: 64], sum((S((t - 1), b, k)*W(k, j))))
g = compute([t: 12, b: 8, j: 64], (h(t, b, j) + X(t, b, j)))
u = compute([t: 12, b: 8, j: 64], tanh(g(t, b, j)))
R = scan(init=[begin], update=[u], state=[S], inputs=[X])
D = compute([t: 12, b: 8, j: 64], (R(t, b, j)*X(t, b, j)))
arguments X W D
outputs D
)",
                              Target::parse("llvm -mcpu=x86-64-v4"), 4);
  const Space space(task);
  std::mt19937_64 rng(3);
  ASSERT_EQ(space.sketches().size(), 1u);
  const Sketch& sketch = space.sketches()[0];
  EXPECT_EQ(sketch.description, "loops(D) scan(u) inline(g) scan(h) scan(begin)");
  EXPECT_EQ(knobs_of_kind(sketch, Knob::Kind::Parallel), 3u);
  EXPECT_GE(knobs_of_kind(sketch, Knob::Kind::Tile), 4u);
  size_t parallel = 0;
  for (int i = 0; i < 30; ++i) {
    const Trace trace = space.trace(space.random(rng));
    EXPECT_TRUE(applies(task, trace)) << to_text(trace);
    parallel += std::ranges::count(trace.steps, "parallel", &Step::primitive) > 1;
  }
  EXPECT_GT(parallel, 5u);
  EXPECT_LT(parallel, 30u);
  // What is written is slower by more than any noise of the model.
  EXPECT_LT(prior_seconds(task, prior_schedule(task)) * 2,
            prior_seconds(task, Schedule::create(task.program.outputs)));
}

// Stages are placed by several knobs, and only some combinations let all readers see all stages.
TEST(Space, PlacesOfStagesAreLegal) {
  for (const char* workload : {"softmax:m=40,n=50", "layer_norm:m=40,n=50"}) {
    const Task task = task_of(workload);
    const Space space(task);
    std::mt19937_64 rng(3);
    size_t inside = 0;
    for (int i = 0; i < 60; ++i) {
      const Point p = space.random(rng);
      const Sketch& sketch = space.sketches()[p.sketch];
      ASSERT_GE(knobs_of_kind(sketch, Knob::Kind::Location), 2u);
      for (const Point& q : {p, space.mutate(p, rng), space.crossover(p, space.random(rng), rng)}) {
        EXPECT_TRUE(space.within_limits(q));
        EXPECT_TRUE(applies(task, space.trace(q))) << to_text(space.trace(q));
      }
      const Trace trace = space.trace(p);
      inside += std::ranges::none_of(trace.steps,
                                     [](const Step& s) { return s.primitive == "compute_root"; });
    }
    EXPECT_GT(inside, 3u) << workload << ": everything inside the loops of the output";
  }
}

// What the check refuses, the schedule refuses too.
TEST(Space, RefusedPlacesAreIllegal) {
  const Task task = task_of("softmax:m=40,n=50");
  const Space space(task);
  std::mt19937_64 rng(5);
  size_t refused = 0;
  for (int i = 0; i < 40; ++i) {
    Point p = space.random(rng);
    const Sketch& sketch = space.sketches()[p.sketch];
    for (size_t k = 0; k < p.choice.size(); ++k) {
      if (sketch.knobs[k].kind == Knob::Kind::Location)
        p.choice[k] = rng() % sketch.knobs[k].size();
    }
    EXPECT_EQ(applies(task, space.trace(p)), space.within_limits(p)) << to_text(space.trace(p));
    refused += space.within_limits(p) ? 0 : 1;
  }
  EXPECT_GT(refused, 3u);
}

TEST(Space, LargeResultsMayGoAroundTheCaches) {
  for (const auto& [workload, expected] : {std::pair{"elementwise:m=1024,n=1024", 1},
                                           {"transpose:m=1024,n=1024", 1},
                                           {"softmax:m=1024,n=1024", 1},
                                           {"conv2d_bias_relu:ci=8,h=64,co=64,k=1", 1},
                                           {"elementwise:m=64,n=64", 0},
                                           {"conv2d_bias_relu:ci=8,h=16,co=64,k=1", 0},
                                           {"row_sum:m=1024,n=1024", 0}}) {
    const Space space(task_of(workload));
    for (const Sketch& sketch : space.sketches()) {
      EXPECT_EQ(knobs_of_kind(sketch, Knob::Kind::Store), static_cast<size_t>(expected))
          << workload;
    }
  }
}

// Tiles are stored in rows that lie apart: smaller results than those may have their lines fetched.
// The fall-back stores row after row.
TEST(Space, LinesOfTilesMayBeFetchedBeforeTheyAreStored) {
  for (const auto& [workload, expected] :
       {std::pair{"conv2d_bias_relu:ci=8,h=128,co=64,k=1",
                  std::vector<std::string>{"pragma", "prefetch", "pragma"}},
        {"conv2d_bias_relu:ci=8,h=64,co=64,k=1", {"pragma", "prefetch"}},
        {"elementwise:m=1024,n=1024", {"pragma", "pragma"}}}) {
    const Task task = task_of(workload);
    const Space space(task);
    for (size_t k = 0; k < space.sketches().size(); ++k) {
      const Sketch& sketch = space.sketches()[k];
      for (const Knob& knob : sketch.knobs) {
        if (knob.kind != Knob::Kind::Store) continue;
        std::vector<std::string> names;
        for (const Step& step : knob.steps) names.push_back(step.primitive);
        EXPECT_EQ(names, expected) << workload;
      }
    }
    std::mt19937_64 rng(3);
    size_t fetched = 0;
    for (int i = 0; i < 40; ++i) {
      const Point p = space.random(rng);
      const Trace trace = space.trace(p);
      EXPECT_TRUE(applies(task, trace)) << to_text(trace);
      EXPECT_EQ(space.find(parse_trace(to_text(trace))), p) << to_text(trace);
      fetched += to_text(trace).find("prefetch@") != std::string::npos ? 1 : 0;
    }
    EXPECT_EQ(fetched > 0, expected.size() > 1 && expected[1] == "prefetch");
  }
}

// Tiles that share vectors of constants may fetch those of the next ones, where constants are cold.
// No tile of a product with a vector shares any, and tiles of pixels read single weights.
TEST(Space, ColdConstantsMayBeFetchedForTheNextTiles) {
  const auto cold = [](std::string_view workload) {
    return make_task(parse_workload(workload).program, Target::parse("llvm -mcpu=x86-64-v4"), 1, "",
                     CacheState::ColdConstants);
  };
  struct Row {
    Task task;
    std::string_view fetching, others;  // words in descriptions of sketches
  };
  for (const auto& [task, fetching, others] :
       {Row{cold("conv2d_bias_relu:ci=16,h=14,co=32,k=1"), "packed ff", "none"},
        Row{cold("gemm:m=24,n=96,k=40,w=1"), "tile", "packed i"},
        Row{cold("gemm:m=1,n=96,k=40,w=1"), "none", "none"},
        Row{cold("gemm:m=24,n=96,k=40"), "none", "none"},
        Row{task_of("conv2d_bias_relu:ci=16,h=14,co=32,k=1"), "none", "none"}}) {
    const Space space(task);
    size_t fetched = 0;
    for (const Sketch& sketch : space.sketches()) {
      const auto has = [&](std::string_view words) {
        return sketch.description.find(words) != std::string::npos;
      };
      const bool expected = has(fetching) && !has(others);
      EXPECT_EQ(knobs_of_kind(sketch, Knob::Kind::Fetch), expected ? 1u : 0u) << sketch.description;
      fetched += expected ? 1 : 0;
    }
    EXPECT_EQ(fetched > 0, fetching != "none");
    std::mt19937_64 rng(3);
    for (int i = 0; fetched > 0 && i < 40; ++i) {
      Point p = space.random(rng);
      const Sketch& sketch = space.sketches()[p.sketch];
      const auto found = std::ranges::find(sketch.knobs, Knob::Kind::Fetch, &Knob::kind);
      if (found == sketch.knobs.end()) continue;
      const auto knob = static_cast<size_t>(found - sketch.knobs.begin());
      p.choice[knob] = static_cast<size_t>(i) % sketch.knobs[knob].size();
      const Trace trace = space.trace(p);
      ASSERT_TRUE(applies(task, trace)) << to_text(trace);
      EXPECT_EQ(space.find(parse_trace(to_text(trace))), p) << to_text(trace);
      const std::string loops = to_string(
          lower_candidate(task.program, space.schedule(p), task.target, task.caches).entry().body);
      EXPECT_EQ(loops.find("prefetch(") != std::string::npos, p.choice[knob] > 0) << loops;
    }
  }
}

// Loops that set short sums to zero unroll together with those that add to them: sums whose
// position a loop decides would not be registers.
TEST(Space, ShortSumsAreSetToZeroInStraightCode) {
  const Space convolution(task_of("conv2d_bias_relu:n=1,ci=64,h=8,w=8,co=8,k=3,s=1,p=1"));
  for (const Knob& knob : convolution.sketches()[0].knobs) {
    if (knob.kind == Knob::Kind::Unroll) EXPECT_EQ(knob.places.size(), 1u);
  }
  const Task task = task_of("depthwise_conv2d:c=4,h=8,w=8,k=3,s=1,p=1");
  const Space space(task);
  for (const Sketch& sketch : space.sketches()) {
    for (const Knob& knob : sketch.knobs) {
      if (knob.kind != Knob::Kind::Unroll) continue;
      ASSERT_EQ(knob.places.size(), 2u) << sketch.description;
      for (const std::vector<int64_t>& v : knob.values) EXPECT_EQ(v[0], v[1]);
      // The reduction's outer loop, and the first over data inside it.
      EXPECT_EQ(sketch.skeleton.steps[knob.places[0].step].primitive, "pragma");
      EXPECT_EQ(sketch.skeleton.steps[knob.places[1].step].primitive, "pragma");
    }
  }
}

size_t sketches_with(const Space& space, std::string_view words) {
  return static_cast<size_t>(std::ranges::count_if(space.sketches(), [&](const Sketch& s) {
    return s.description.find(words) != std::string::npos;
  }));
}

// What reductions over rows and columns read is one walk, and long enough for lanes, where rows lie
// behind one another.
TEST(Space, DimensionsBehindOneAnotherAreWalkedAsOne) {
  const auto in_lanes = [](std::string_view shape, std::string_view read) {
    const Space space(task_of_te(
        fmt::format("A = placeholder(float32, {})\nS = compute([c: 4], reduce [y: 14, x: 14], "
                    "sum({}))\narguments A S\noutputs S\n",
                    shape, read)));
    return sketches_with(space, "lanes");
  };
  EXPECT_EQ(in_lanes("[4, 14, 14]", "A(c, y, x)"), 1u);
  EXPECT_EQ(in_lanes("[4, 14, 15]", "A(c, y, x)"), 0u);  // columns are left out
  EXPECT_EQ(in_lanes("[4, 14, 14]", "A(c, x, y)"), 0u);  // another order
  EXPECT_EQ(in_lanes("[14, 4, 14]", "A(y, c, x)"), 0u);  // another dimension between
  EXPECT_EQ(in_lanes("[4, 14, 14]", "(A(c, y, x)*A(c, x, y))"), 0u);
}

// Each lane has all that is reduced together: a greatest element and its place.
TEST(Space, PlacesAlongRowsAreFoundInLanes) {
  const Space space(task_of_te(R"(A = placeholder(float32, [5, 70])
T = compute([i: 5], reduce [k: 70], reduce(identity=[2147483647, (float32)-inf], lhs=[a0, a1], rhs=[b0, b1], result=[select(((a1 > b1) || ((a1 == b1) && (a0 < b0))), a0, b0), max(a1, b1)], source=[k, A(i, k)]))
arguments A T.v0 T.v1
outputs T.v0 T.v1
)"));
  EXPECT_EQ(sketches_with(space, "lanes"), 1u);
}

// A masked store to what the next step reads again would be waited for.
TEST(Space, SumsWithoutReuseDoNotStandInTheResult) {
  const Space space(
      task_of_te("A = placeholder(float32, [3, 9, 43])\nM = compute([c: 3, y: 4, x: 21], reduce "
                 "[v: 3, u: 3], max(A(c, ((y*2) + v), ((x*2) + u))))\narguments A M\noutputs M\n"));
  ASSERT_EQ(sketches_with(space, "loops"), space.sketches().size());
  for (const Sketch& sketch : space.sketches()) {
    EXPECT_TRUE(std::ranges::any_of(sketch.skeleton.steps, [](const Step& step) {
      return step.primitive == "cache_write";
    })) << sketch.description;
  }
}

// The loops of the first schedule of exp(A) + B as text; A is [3, 8, columns].
std::string loops_of_sum(int columns, std::string_view other, std::string_view index) {
  const Space space(task_of_te(fmt::format(
      "A = placeholder(float32, [3, 8, {0}])\nB = placeholder(float32, {1})\n"
      "C = compute([c: 3, y: 8, x: {0}], (exp(A(c, y, x)) + B({2})))\narguments A B C\noutputs C\n",
      columns, other, index)));
  std::mt19937_64 rng(1);
  const Schedule s = normalize(space.schedule(space.random(rng)));
  return to_string(schedule_ops(s, infer_bound(s)));
}

// Rows of 55 elements follow each other as one; where they do not in one operand, or are whole
// vectors, they stay.
TEST(Space, RowsThatEndInsideAVectorAreOne) {
  const auto fuses = [](const std::string& loops, const char* axes) {
    return loops.find(axes) != std::string::npos;
  };
  EXPECT_TRUE(fuses(loops_of_sum(55, "[3, 8, 55]", "c, y, x"), "c.y.fused.x.fused"));
  const std::string planes = loops_of_sum(55, "[3, 1, 1]", "c, 0, 0");
  EXPECT_TRUE(fuses(planes, "y.x.fused")) << planes;
  EXPECT_FALSE(fuses(planes, "y.fused.x.fused")) << planes;
  EXPECT_FALSE(fuses(loops_of_sum(55, "[3, 8, 56]", "c, y, x"), "x.fused"));
  EXPECT_FALSE(fuses(loops_of_sum(64, "[3, 8, 64]", "c, y, x"), "x.fused"));
}

// What subtracts a mean of planes computes the mean once a plane, and the plane as one row.
TEST(Space, RowsThatNeedOneSumAreSeveralAxesAsOne) {
  const Space space(
      task_of_te("A = placeholder(float32, [4, 16, 8, 24])\n"
                 "M = compute([n: 4, c: 16], reduce [i: 8, j: 24], sum(A(n, c, i, j)))\n"
                 "B = compute([n: 4, c: 16, y: 8, x: 24], (A(n, c, y, x) - M(n, c)))\n"
                 "arguments A B\noutputs B\n"));
  std::mt19937_64 rng(1);
  size_t inside = 0;
  for (int i = 0; i < 40; ++i) {
    const Schedule s = normalize(space.schedule(space.random(rng)));
    const std::string loops = to_string(schedule_ops(s, infer_bound(s)));
    if (!loops.starts_with("produce B")) continue;  // all means first
    ++inside;
    const size_t row = loops.find("(y.x.fused.outer");
    EXPECT_NE(row, std::string::npos) << loops;
    EXPECT_LT(loops.find("produce M "), row) << loops;
  }
  EXPECT_GT(inside, 0u);
}

// Channels that were in blocks behind the image go before it: blocks are transposed in registers,
// pixels are lanes whatever the width of the image.
TEST(Space, ChannelsInBlocksAreTransposed) {
  const auto space_of = [](int block) {
    return Space(task_of_te(fmt::format(
        "A = placeholder(float32, [4, 14, 14, {0}])\n"
        "B = compute([c: {1}, y: 14, x: 14], (A(floordiv(c, {0}), y, x, floormod(c, {0})) + 1f))\n"
        "arguments A B\noutputs B\n",
        block, 4 * block)));
  };
  const Space space = space_of(16);
  EXPECT_EQ(sketches_with(space, "transpose"), 1u);
  EXPECT_EQ(sketches_with(space_of(6), "transpose"), 0u);
  std::mt19937_64 rng(1);
  for (int i = 0; i < 20; ++i) {
    const Schedule s = normalize(space.schedule(space.random(rng)));
    const std::string loops = to_string(schedule_ops(s, infer_bound(s)));
    EXPECT_NE(loops.find("y.x.fused"), std::string::npos) << loops;
  }
}

// Windows of one element leave positions as they are: images are packed along their rows, and
// along no other axis. Wider windows overlap, and nothing is packed.
TEST(Space, ImagesArePackedWhereWindowsHaveOneElement) {
  const Space one(task_of("conv2d:ci=8,h=32,co=32,k=1"));
  EXPECT_EQ(sketches_with(one, "packed"), 2u);
  EXPECT_EQ(sketches_with(one, "packed yy.xx"), 1u);
  EXPECT_EQ(sketches_with(Space(task_of("conv2d:ci=8,h=32,co=32,k=3,p=1")), "packed"), 1u);
}

std::vector<std::string> names_of_data_axes(std::string_view te) {
  const te::Program program = te::parse_program("te 1\n" + std::string(te));
  std::vector<std::string> names;
  for (const OperationFacts& f : analyze(program)) {
    if (f.compute == nullptr || !f.is_reduction) continue;
    for (const DataAxis& axis : data_axes(f)) names.push_back(axis.name);
  }
  return names;
}

// Where the image is read as it lies, a tile need not end where a row does.
TEST(Space, AxesThatAreWalkedTogetherAreOne) {
  using Names = std::vector<std::string>;
  const auto convolution = [](std::string_view shape, std::string_view out,
                              std::string_view index) {
    return fmt::format(
        "A = placeholder(float32, {})\nW = placeholder(float32, [4, 8])\n"
        "C = compute({}, reduce [k: 8], sum((A({})*W(c, k))))\n"
        "arguments A W C\noutputs C\n",
        shape, out, index);
  };
  EXPECT_EQ(
      names_of_data_axes(convolution("[2, 8, 5, 7]", "[n: 2, c: 4, y: 5, x: 7]", "n, k, y, x")),
      (Names{"n", "c", "y.x"}));
  EXPECT_EQ(
      names_of_data_axes(convolution("[2, 5, 7, 8]", "[n: 2, y: 5, x: 7, c: 4]", "n, y, x, k")),
      (Names{"n.y.x", "c"}));
  // A part of each row, every other column, rows and columns swapped, a use of a row's number.
  EXPECT_EQ(
      names_of_data_axes(convolution("[2, 8, 5, 9]", "[n: 2, c: 4, y: 5, x: 7]", "n, k, y, x")),
      (Names{"n", "c", "y", "x"}));
  EXPECT_EQ(names_of_data_axes(
                convolution("[2, 8, 5, 14]", "[n: 2, c: 4, y: 5, x: 7]", "n, k, y, (x*2)")),
            (Names{"n", "c", "y", "x"}));
  EXPECT_EQ(
      names_of_data_axes(convolution("[2, 8, 7, 5]", "[n: 2, c: 4, y: 5, x: 7]", "n, k, x, y")),
      (Names{"n", "c", "y", "x"}));
  EXPECT_EQ(names_of_data_axes("A = placeholder(int32, [8, 5, 7])\n"
                               "C = compute([c: 4, y: 5, x: 7], reduce [k: 8], "
                               "sum(((A(k, y, x)*c) + y)))\n"
                               "arguments A C\noutputs C\n"),
            (Names{"c", "y", "x"}));
}

// With those tiles; the first choice where a knob has no such label.
Point point_with(const Space& space, size_t sketch,
                 const std::map<std::string, std::vector<int64_t>>& tiles) {
  const std::vector<Knob>& knobs = space.sketches()[sketch].knobs;
  Point point{.sketch = sketch, .choice = std::vector<size_t>(knobs.size())};
  for (size_t k = 0; k < knobs.size(); ++k) {
    const auto wanted = tiles.find(knobs[k].label);
    if (wanted == tiles.end()) continue;
    const auto at = std::ranges::find(knobs[k].choices, wanted->second);
    EXPECT_NE(at, knobs[k].choices.end()) << knobs[k].label;
    point.choice[k] = size_t(at - knobs[k].choices.begin());
  }
  return point;
}

// The extents of the three innermost loops around the first statement that sums.
std::vector<int64_t> inner_loops_of_sums(const Space& space, const Point& point) {
  const Schedule normal = normalize(space.schedule(point));
  for (const NestStatement& s : analyze_nest(schedule_ops(normal, infer_bound(normal)))) {
    if (std::ranges::none_of(s.loops, &NestLoop::reduces)) continue;
    std::vector<int64_t> extents;
    for (const NestLoop& loop : s.loops) extents.push_back(loop.extent);
    return {extents.end() - 3, extents.end()};
  }
  return {};
}

// Copies of a tensor behind one another may be written together, so that it is read once; the last
// axis is in vectors anyway, and where anything else moves along the axis nothing is read again.
TEST(Space, CopiesMayBeWrittenTogether) {
  const auto sketches = [](const std::string& value) {
    return sketches_with(Space(task_of_te("x = placeholder(float32, [8, 64])\n"
                                          "y = placeholder(float32, [32, 192])\n"
                                          "t = compute([i: 32, j: 192], " +
                                          value + ")\narguments x y t\noutputs t\n")),
                         "copies inside");
  };
  EXPECT_EQ(sketches("x(floormod(i, 8), floormod(j, 64))"), 1u);
  EXPECT_EQ(sketches("(x(floormod(i, 8), 3)*x(floormod(i, 8), 5))"), 1u);
  EXPECT_EQ(sketches("x(0, floormod(j, 64))"), 0u);
  EXPECT_EQ(sketches("(x(floormod(i, 8), 0)*y(i, j))"), 0u);
  EXPECT_EQ(sketches("(x(floormod(i, 8), 0)*x(floormod(i, 4), 0))"), 0u);
  EXPECT_EQ(sketches("x(floormod(i, 5), 0)"), 0u) << "copies do not divide the axis";
}

// Of a tile in straight code the inner loop is the one over its few vectors, in whichever order the
// axes were written: the outer one then needs one element at a time, and registers hold sums.
TEST(Space, VectorsOfATileStayWhileElementsPass) {
  const Space space(
      task_of_te("x = placeholder(float32, [4, 6, 6, 16])\n"
                 "w = placeholder(float32, [4, 4, 16, 16])\n"
                 "o = compute([f: 4, y: 6, z: 6, b: 16], reduce [c: 4, d: 16], "
                 "sum((x(c, y, z, d)*w(f, c, d, b))))\narguments x w o\noutputs o\n"));
  const Point point = point_with(
      space, 0, {{"o.f", {1, 1, 2}}, {"o.y.z", {1, 1, 12}}, {"o.b", {1, 1, 16}}, {"o.d", {16}}});
  EXPECT_EQ(inner_loops_of_sums(space, point), (std::vector<int64_t>{12, 2, 16}));
}

// What is packed in the call is packed as a whole, or inside a loop of what reads it; constants
// are packed when the kernel is built.
TEST(Space, PackedArgumentsMayMoveIntoBlocks) {
  for (const auto& [workload, expected] : {std::pair{"gemm:m=64,n=64,k=64", 2},
                                           {"gemm:m=64,n=64,k=64,w=1", 1},
                                           {"conv2d:ci=8,h=32,co=32,k=1", 1}}) {
    const Task task = task_of(workload);
    const Space space(task);
    size_t movable = 0;
    for (const Sketch& sketch : space.sketches()) {
      movable += knobs_of_kind(sketch, Knob::Kind::Location);
    }
    EXPECT_EQ(movable, static_cast<size_t>(expected)) << workload;
    std::mt19937_64 rng(11);
    for (int i = 0; i < 20; ++i) {
      const Trace trace = space.trace(space.random(rng));
      EXPECT_TRUE(applies(task, trace)) << to_text(trace);
    }
  }
}

// Lanes that lie apart in an operand are packed by transposing tiles of its rows, as many columns
// at a time as lanes and row have in common; of odd rows elements are copied one by one.
TEST(Space, RowsOfPackedOperandsAreTransposed) {
  const auto transposed_at = [](int64_t row) {
    const Space space(
        task_of_te(fmt::format("A = placeholder(float32, [64, {0}])\n"
                               "B = placeholder(float32, [64, {0}])\n"
                               "C = compute([i: 64, j: 64], reduce [k: {0}], "
                               "sum((A(i, k)*B(j, k))))\n"
                               "arguments A B C\noutputs C\n",
                               row)));
    std::mt19937_64 rng(5);
    size_t found = 0;
    for (size_t k = 0; k < space.sketches().size(); ++k) {
      if (space.sketches()[k].description.find("packed") == std::string::npos) continue;
      for (int i = 0; i < 10; ++i) {
        const Schedule s = normalize(space.schedule(space.random(k, rng)));
        for (const NestStatement& n : analyze_nest(schedule_ops(s, infer_bound(s)))) {
          const std::string& name = n.accesses[0].producer->name;
          if (name != "B.global" && name != "A.global") continue;
          // Tiles of one element a row have no lanes.
          if (n.loops.back().kind != ForKind::Vectorized) continue;
          const NestLoop& column = n.loops[n.loops.size() - 2];
          EXPECT_EQ(column.kind, ForKind::Unrolled);
          EXPECT_EQ(column.extent, std::gcd(row, 16));
          ++found;
        }
      }
    }
    return found;
  };
  EXPECT_GE(transposed_at(96), 5u);
  EXPECT_GE(transposed_at(100), 5u);
  EXPECT_EQ(transposed_at(99), 0u);
}

// A sum of two products: both in the tiles of the sum, or the one stored and the other added to it.
TEST(Space, ProductsThatMeetShareTilesOrAreStored) {
  const te::Program program = te::parse_program(
      "te 1\nA = placeholder(float32, [64, 32])\nB = placeholder(float32, [32, 48])\n"
      "C = placeholder(float32, [64, 32])\nD = placeholder(float32, [32, 48])\n"
      "P = compute([i: 64, j: 48], reduce [k: 32], sum((A(i, k)*B(k, j))))\n"
      "Q = compute([i: 64, j: 48], reduce [k: 32], sum((C(i, k)*D(k, j))))\n"
      "S = compute([i: 64, j: 48], (P(i, j) + Q(i, j)))\narguments A B C D S\noutputs S\n");
  const Task task = make_task(program, Target::parse("llvm -mcpu=x86-64-v4"), 1);
  const Space space(task);
  EXPECT_GE(sketches_with(space, "beside"), 3u) << "plain, and both packed either way";
  EXPECT_EQ(sketches_with(space, "tile(Q) beside(P)"), 1u);
  EXPECT_EQ(sketches_with(space, "tile(Q) tile(P)"), 1u);
  EXPECT_EQ(sketches_with(space, "tile[packed j](Q) tile[packed j](P)"), 1u);
  std::mt19937_64 rng(3);
  for (size_t k = 0; k < space.sketches().size(); ++k) {
    const std::string text = to_text(space.trace(space.random(k, rng)));
    EXPECT_TRUE(applies(task, space.trace(space.random(k, rng)))) << text;
  }
}

// What is stored in another order than it is summed in is summed in the tiles that the knobs say.
TEST(Space, TilesOfWhatIsStoredPermutedAreTheKnobs) {
  const Space space(
      task_of_te("A = placeholder(float32, [48, 32])\nB = placeholder(float32, [32, 64])\n"
                 "P = compute([i: 48, j: 64], reduce [k: 32], sum((A(i, k)*B(k, j))))\n"
                 "T = compute([j: 64, i: 48], (P(i, j)*P(i, j)))\narguments A B T\noutputs T\n"));
  EXPECT_EQ(sketches_with(space, "tile(P) "), 1u) << "the product is stored, then turned";
  ASSERT_EQ(sketches_with(space, "tile[stored permuted](P)"), 1u);
  const auto permuted = std::ranges::find_if(space.sketches(), [](const Sketch& sketch) {
    return sketch.description.find("tile[stored permuted](P)") != std::string::npos;
  });
  EXPECT_EQ(
      inner_loops_of_sums(space, point_with(space, size_t(permuted - space.sketches().begin()),
                                            {{"P.i", {1, 1, 4}}, {"P.j", {1, 1, 32}}})),
      (std::vector<int64_t>{4, 2, 16}));
}

// x = exp(x) + tanh(x) and the like, again and again: what is read twice is computed once.
class Diamonds : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(Diamonds, AreWalkedOnce) {
  constexpr int kLevels = 60;
  const auto [left, right] = GetParam();
  std::string text =
      "te 1\nA = placeholder(float32, [16, 24])\nB = placeholder(float32, [24, 32])\n"
      "y0 = compute([i: 16, j: 32], reduce [k: 24], sum((A(i, k)*B(k, j))))\n";
  for (int k = 0; k < kLevels; ++k) {
    text += fmt::format(
        "l{0} = compute([i: 16, j: 32], {1})\nr{0} = compute([i: 16, j: 32], {2})\n"
        "y{3} = compute([i: 16, j: 32], (l{0}(i, j) + r{0}(i, j)))\n",
        k, fmt::format(fmt::runtime(left), k), fmt::format(fmt::runtime(right), k), k + 1);
  }
  text += fmt::format("arguments A B y{0}\noutputs y{0}\n", kLevels);
  const Task task = make_task(te::parse_program(text), Target::parse("llvm -mcpu=x86-64-v4"), 1);
  const Space space(task);
  std::mt19937_64 rng(3);
  for (size_t k = 0; k < space.sketches().size(); ++k) {
    const Point p = space.random(k, rng);
    EXPECT_TRUE(applies(task, space.trace(p))) << to_text(space.trace(p));
    EXPECT_TRUE(space.within_limits(space.mutate(p, rng)));
  }
}

INSTANTIATE_TEST_SUITE_P(Space, Diamonds,
                         testing::Values(std::pair{"exp(y{}(i, j))", "tanh(y{}(i, j))"},
                                         std::pair{"(y{}(i, j)*2.0f)", "max(y{}(i, j), 1.0f)"},
                                         std::pair{"(y{0}(i, j)*y{0}(i, j))", "y{}(i, j)"}));

// So that steps are not spent on what has few ways and is soon known.
TEST(Space, StepsChangeKnobsAsOftenAsTheyHaveBits) {
  const Space space(task_of("attention:b=2,m=32,n=32,k=16"));
  std::mt19937_64 rng(1);
  const Sketch& sketch = space.sketches()[1];
  std::vector<double> changed(sketch.knobs.size());
  const Point p = space.random(1, rng);
  double steps = 0;
  for (int i = 0; i < 20'000; ++i) {
    const Point q = space.mutate(p, rng);
    for (size_t k = 0; k < changed.size(); ++k) {
      changed[k] += q.choice[k] != p.choice[k];
      steps += q.choice[k] != p.choice[k];
    }
  }
  // Limits refuse some steps of tiles and of places.
  for (size_t k = 0; k < changed.size(); ++k) {
    if (sketch.knobs[k].kind != Knob::Kind::Unroll) continue;
    const double expected = sketch.knobs[k].bits() / sketch.log_size() * steps;
    EXPECT_NEAR(changed[k] / expected, 1, 0.5) << sketch.knobs[k].label;
  }
}

}  // namespace
}  // namespace tw::autotune
