// SPDX-License-Identifier: Apache-2.0
// What is refused of a whole schedule. Primitives refuse most of it when it is asked for; here it
// is put into the schedule's data, as a primitive with a fault would.
#include "schedule/validate.h"

#include <gtest/gtest.h>

#include "schedule/dependence.h"
#include "schedule/schedule_error.h"
#include "tests/support/expect_error.h"
#include "tests/support/scheduled.h"

namespace tw {
namespace {

using test::expect_error;
using test::scheduled;

// s0 A, s1 P, s2 B, s3 C = reduction of P and B, s4 D of C, s5 E of C and D.
constexpr char kProgram[] =
    "A = placeholder(int32, [8, 6])\n"
    "P = compute([y: 8, x: 6], (A(y, x) + 1))\n"
    "B = placeholder(int32, [6, 8])\n"
    "C = compute([y: 8, x: 8], reduce [k: 6], sum((P(y, k)*B(k, x))))\n"
    "D = compute([y: 8, x: 8], (C(y, x) + 1))\n"
    "E = compute([y: 8, x: 8], (D(y, x) + C(y, x)))\n"
    "arguments A B E\noutputs E\n";

StageData& stage(const Schedule& s, const char* name) {
  for (const auto& data : s.data().stages) {
    if (data->name() == name) return *data;
  }
  throw std::runtime_error(name);
}

void mark(StageData& stage, size_t leaf, ForKind kind) {
  AxisAttributes& marks = stage.axis_attributes[stage.leaf_axes[leaf]->var];
  marks.for_kind = kind;
  marks.where = "gemm.py:7";
}

void attach(StageData& stage, StageData& parent, const IterVar& axis) {
  stage.attach_type = AttachType::Scope;
  stage.attach_stage = &parent;
  stage.attach_axis = axis;
}

// The only finding, which lowering raises as well.
ErrorInfo only_finding(const Schedule& s) {
  const std::vector<Finding> findings = check(s);
  EXPECT_EQ(findings.size(), 1u);
  if (findings.empty()) return {};
  const ErrorInfo raised = expect_error(findings[0].error.code, [&] { infer_bound(normalize(s)); });
  EXPECT_EQ(raised.what, findings[0].error.what);
  return findings[0].error;
}

TEST(Validate, NothingIsWrongWithALegalSchedule) {
  const Schedule s = scheduled(kProgram,
                               "split@1(s5, s5:0, factor=4)\nparallel@1(s5, t0.0)\n"
                               "vectorize@1(s5, s5:1)\ncompute_at@1(s4, s5, t0.0)\n"
                               "compute_at@1(s3, s5, t0.0)\ncompute_inline@1(s1)\n");
  EXPECT_TRUE(check(s).empty());
}

TEST(Validate, ALoopOverAReductionAxis) {
  const Schedule s = scheduled(kProgram, "split@1(s3, s3:2, factor=2)");
  mark(stage(s, "C"), 2, ForKind::Parallel);
  const ErrorInfo e = only_finding(s);
  EXPECT_EQ(to_string(e.code), "parallel-reduction");
  EXPECT_EQ(e.stage, "C");
  EXPECT_EQ(e.axis, "k.outer");
  EXPECT_EQ(e.where, "gemm.py:7");
  EXPECT_EQ(e.what,
            "a parallel loop over 'k', a reduction axis, whose iterations write one element");
  EXPECT_EQ(e.legal, "y, x, or a data axis that rfactor makes of it");
  EXPECT_EQ(check(s)[0].nest,
            "  produce C  int32[8, 8]\n"
            "    for (y, 0, 8)\n"
            "      for (x, 0, 8)\n"
            ">       parallel (k.outer, 0, 3)  reduction\n"
            "          for (k.inner, 0, 2)  reduction\n"
            "  produce D  int32[8, 8]\n"
            "    for (y, 0, 8)\n"
            "      for (x, 0, 8)\n"
            "  produce E  int32[8, 8], output\n"
            "    for (y, 0, 8)\n"
            "      for (x, 0, 8)\n");
}

// The kind that a leaf says it has is not asked: it is part of a reduction axis.
TEST(Validate, AFusedAxisThatMixes) {
  const Schedule s = scheduled(kProgram);
  StageData& c = stage(s, "C");
  auto* relation = new FuseRelation;
  relation->outer = c.leaf_axes[1];
  relation->inner = c.leaf_axes[2];
  relation->fused = IterVar({}, Var("x.k.fused"), IterKind::DataParallel);
  add_relation(c, RelationRef(relation), 0);
  EXPECT_EQ(names(roots_of(c, c.leaf_axes[1])), "x, k");
  mark(c, 1, ForKind::Vectorized);
  const ErrorInfo e = expect_error(ErrorCode::ParallelReduction, [&] { validate(s.data()); });
  EXPECT_EQ(e.axis, "x.k.fused");
  EXPECT_EQ(e.legal, "y, or a data axis that rfactor makes of it");
  mark(c, 1, ForKind::Unrolled);
  validate(s.data());
}

TEST(Validate, LoopsThatMustRunInOrder) {
  const Schedule s = scheduled(
      "I = compute([t: 1, i: 4], i)\n"
      "X = placeholder(int32, [6, 4])\n"
      "S = placeholder(int32, [6, 4])\n"
      "U = compute([t: 6, i: 4], (S(max((t - 1), 0), i) + X(t, i)))\n"
      "R = scan(init=[I], update=[U], state=[S])\n"
      "arguments X R\noutputs R\n");
  mark(stage(s, "R"), 0, ForKind::Parallel);
  const ErrorInfo e = only_finding(s);
  EXPECT_EQ(to_string(e.code), "parallel-reduction");
  EXPECT_EQ(e.stage, "R");
  EXPECT_EQ(e.legal, "an axis of a stage that is computed in each step");
  mark(stage(s, "R"), 0, ForKind::Serial);
  mark(stage(s, "U"), 1, ForKind::Parallel);
  EXPECT_TRUE(check(s).empty());
}

// A loop of one iteration depends on none.
TEST(Validate, AReductionThatRunsOnce) {
  const Schedule s = scheduled(kProgram, "split@1(s3, s3:2, factor=6)");
  mark(stage(s, "C"), 2, ForKind::Parallel);
  EXPECT_TRUE(check(s).empty());
  mark(stage(s, "C"), 3, ForKind::Parallel);
  EXPECT_EQ(only_finding(s).axis, "k.inner");
}

// Nor does a primitive refuse what has nothing to wait for.
TEST(Validate, PrimitivesTakeAReductionThatRunsOnce) {
  for (const char* mark : {"parallel@1(s3, t0.0)\n", "vectorize@1(s3, t0.0)\n",
                           "bind@1(s3, t0.0, \"blockIdx.x\")\n"}) {
    const std::string split = "split@1(s3, s3:2, factor=6)\n";
    EXPECT_TRUE(check(scheduled(kProgram, split + mark)).empty()) << mark;
    expect_error(ErrorCode::ParallelReduction,
                 [&] { scheduled(kProgram, "split@1(s3, s3:2, factor=3)\n" + std::string(mark)); });
  }
}

TEST(Validate, AConsumerOutside) {
  const Schedule s = scheduled(kProgram);
  {
    const SourceScope place("gemm.py:9");
    s.stage({.index = 3}).compute_at(s.stage({.index = 4}), s.stage({.index = 4}).axis(1));
  }
  ErrorInfo e = only_finding(s);
  EXPECT_EQ(to_string(e.code), "bad-attach");
  EXPECT_EQ(e.stage, "C");
  EXPECT_EQ(e.axis, "x");
  EXPECT_EQ(e.where, "gemm.py:9");
  EXPECT_EQ(e.what, "computed inside 'x' of 'D', where its consumer 'E' cannot see it");
  EXPECT_EQ(e.legal, "compute_root; or 'E' computed inside that loop too");
  // The loops that all consumers run inside of.
  s.stage({.index = 4}).compute_at(s.stage({.index = 5}), s.stage({.index = 5}).axis(0));
  e = only_finding(s);
  EXPECT_EQ(e.legal, "compute_root, or inside y of 'E'; or 'E' computed inside that loop too");
}

TEST(Validate, PlacesThatAreNone) {
  const auto refused = [](const std::function<void(const Schedule&)>& spoil) {
    const Schedule s = scheduled(kProgram);
    spoil(s);
    const std::vector<Finding> findings = check(s);
    EXPECT_FALSE(findings.empty());
    return findings.empty() ? "" : findings[0].error.what;
  };
  EXPECT_EQ(refused([](const Schedule& s) {
              attach(stage(s, "D"), stage(s, "D"), stage(s, "D").leaf_axes[0]);
            }),
            "a stage cannot be computed inside its own loops");
  EXPECT_EQ(refused([](const Schedule& s) {
              attach(stage(s, "D"), stage(s, "E"), stage(s, "E").leaf_axes[0]);
              s.stage({.index = 5}).split(s.stage({.index = 5}).axis(1), 2);
              stage(s, "D").attach_axis = stage(s, "E").op->root_axes()[1];
            }),
            "'E' has no such loop; it was split or fused since");
  EXPECT_EQ(refused([](const Schedule& s) {
              attach(stage(s, "P"), stage(s, "D"), stage(s, "D").leaf_axes[0]);
              stage(s, "D").attach_type = AttachType::Inline;
            }),
            "'D' is inlined and has no loops");
  EXPECT_EQ(refused([](const Schedule& s) {
              attach(stage(s, "E"), stage(s, "D"), stage(s, "D").leaf_axes[0]);
            }),
            "an output is computed whole, not inside 'D'");
  EXPECT_EQ(refused([](const Schedule& s) {
              attach(stage(s, "C"), stage(s, "D"), stage(s, "D").leaf_axes[0]);
              attach(stage(s, "D"), stage(s, "C"), stage(s, "C").leaf_axes[0]);
            }),
            "'D' is itself computed inside this stage");
  EXPECT_EQ(refused([&](const Schedule& s) {
              attach(stage(s, "C"), stage(s, "D"), stage(s, "D").leaf_axes[0]);
              stage(s, "C").attach_stage = nullptr;
            }),
            "computed inside the loop of no stage");
}

TEST(Validate, CyclesAndTwoProducers) {
  const Schedule cycle = scheduled(kProgram);
  std::swap(cycle.data().stages[3], cycle.data().stages[4]);
  const std::vector<Finding> findings = check(cycle);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].error.stage, "D");
  EXPECT_EQ(findings[0].error.what, "it reads 'C', which is not computed before it");
  const Schedule twice = scheduled(kProgram);
  stage(twice, "D").op = stage(twice, "C").op;
  const std::vector<Finding> producers = check(twice);
  ASSERT_FALSE(producers.empty());
  EXPECT_EQ(producers[0].error.what, "two stages compute this tensor");
}

TEST(Validate, FindsAllThatIsWrong) {
  const Schedule s = scheduled(kProgram);
  mark(stage(s, "C"), 2, ForKind::Parallel);
  attach(stage(s, "C"), stage(s, "D"), stage(s, "D").leaf_axes[1]);
  mark(stage(s, "D"), 0, ForKind::Vectorized);
  const std::vector<Finding> findings = check(s);
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].error.code, ErrorCode::BadAttach);
  EXPECT_EQ(findings[1].error.what,
            "a parallel loop over 'k', a reduction axis, whose iterations write one element");
}

// Both are found, each with the loop at which the intrinsic was to stand.
TEST(Validate, EveryTensorizeThatDoesNotFit) {
  const Schedule s = scheduled(
      "A = placeholder(int32, [8, 6])\n"
      "B = compute([y: 8], reduce [k: 6], sum(A(y, k)))\n"
      "C = compute([y: 8], reduce [k: 6], sum((A(y, k) + B(y))))\n"
      "arguments A C\noutputs C\n",
      "tensorize@1(s1, s1:0, \"vnni.dot_u8s8\")\ntensorize@1(s2, s2:0, \"vnni.dot_u8s8\")\n");
  const std::vector<Finding> findings = check(s);
  ASSERT_EQ(findings.size(), 2u);
  for (const Finding& f : findings) {
    EXPECT_EQ(to_string(f.error.code), "cannot-tensorize");
    EXPECT_NE(f.nest.find("\n> "), std::string::npos) << f.nest;
  }
  EXPECT_NE(findings[0].error.stage, findings[1].error.stage);
}

// What a caller wants to have of a stage inside a loop is shared by the loop's iterations.
constexpr char kStencil[] =
    "A = placeholder(int32, [20])\n"
    "C = compute([i: 18], reduce [k: 3], sum(A((i + k))))\n"
    "D = compute([i: 16], (C(i) + C((i + 2))))\n"
    "arguments A D\noutputs D\n";
constexpr char kPoints[] =
    "A = placeholder(int32, [20])\n"
    "C = compute([i: 18], reduce [k: 3], sum(A((i + k))))\n"
    "D = compute([i: 16], (C((i + 1)) + 1))\n"
    "arguments A D\noutputs D\n";

std::vector<Finding> kept(const char* program, ForKind kind) {
  const Schedule s = scheduled(program, "split@1(s2, s2:0, factor=4)\ncompute_at@1(s1, s2, t0.0)");
  mark(stage(s, "D"), 0, kind);
  EXPECT_TRUE(check(s).empty());
  return check(s, {s.stage({.index = 1}).op().output(0)});
}

TEST(Validate, ATensorOfTheCallerThatIterationsShare) {
  ASSERT_EQ(kept(kStencil, ForKind::Parallel).size(), 1u);
  const ErrorInfo e = kept(kStencil, ForKind::Parallel)[0].error;
  EXPECT_EQ(to_string(e.code), "parallel-reduction");
  EXPECT_EQ(e.stage, "D");
  EXPECT_EQ(e.axis, "i.outer");
  EXPECT_EQ(e.what,
            "iterations of this parallel loop might compute the same elements of 'C', an argument, "
            "which they share");
  EXPECT_EQ(kept(kStencil, ForKind::Vectorized).size(), 1u);
  EXPECT_TRUE(kept(kStencil, ForKind::Serial).empty());
  EXPECT_TRUE(kept(kPoints, ForKind::Parallel).empty());
}

TEST(Validate, PrimitivesShowTheLoops) {
  const Schedule s = scheduled(kProgram);
  try {
    s.stage({.index = 3}).parallel(s.stage({.index = 3}).reduce_axis(0));
    FAIL();
  } catch (const ScheduleError& e) {
    EXPECT_NE(e.nest().find(">       for (k, 0, 6)  reduction\n"), std::string::npos) << e.nest();
  }
  try {
    s.apply(parse_trace("split@1(s3, s3:1, factor=0)"));
    FAIL();
  } catch (const ScheduleError& e) {
    EXPECT_NE(e.nest().find("\n>     for (x, 0, 8)\n"), std::string::npos) << e.nest();
  }
}

}  // namespace
}  // namespace tw
