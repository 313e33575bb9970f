// SPDX-License-Identifier: Apache-2.0
// One wrong step each. Whatever fails leaves the schedule and its trace as they were.
#include <gtest/gtest.h>

#include "ir/expr.h"
#include "tests/support/expect_error.h"
#include "tests/support/scheduled.h"

namespace tw {
namespace {

using test::expect_error;
using test::loops;
using test::scheduled;

// s0 A, s1 P of A, s2 B, s3 C = reduction of P and B, s4 D, an output.
constexpr char kProgram[] =
    "A = placeholder(int32, [4, 6])\n"
    "P = compute([y: 4, x: 6], (A(y, x) + 1))\n"
    "B = placeholder(int32, [6, 8])\n"
    "C = compute([y: 4, x: 8], reduce [k: 6], sum((P(y, k)*B(k, x))))\n"
    "D = compute([y: 4, x: 8], (C(y, x) + 1))\n"
    "arguments A B D\noutputs D\n";

// Applies `before`, then expects `step` to fail with `code` and to change nothing.
ErrorInfo refused(ErrorCode code, std::string_view step, std::string_view before = "",
                  std::string_view program = kProgram) {
  const Schedule s = scheduled(program, before);
  const std::string trace = to_text(s.trace());
  const std::string statement = loops(s);
  const Trace wrong = parse_trace(step);
  const ErrorInfo info = expect_error(code, [&] { s.apply(wrong.steps.at(0)); });
  EXPECT_EQ(to_text(s.trace()), trace);
  EXPECT_EQ(loops(s), statement);
  return info;
}

TEST(ScheduleErrors, FactorIsPositive) {
  const ErrorInfo e = refused(ErrorCode::FactorNotPositive, "split@1(s3, s3:1, factor=0)");
  EXPECT_EQ(e.what, "factor is 0");
  EXPECT_EQ(e.stage, "C");
  EXPECT_EQ(e.axis, "x");
  EXPECT_EQ(e.where, "step t0 split@1(s3, s3:1, factor=0)");
  EXPECT_EQ(e.legal, "a positive 32-bit integer");
  EXPECT_EQ(refused(ErrorCode::FactorNotPositive, "split@1(s3, s3:1, nparts=-4)").what,
            "nparts is -4");
  EXPECT_EQ(refused(ErrorCode::FactorNotPositive, "tile@1(s3, s3:0, s3:1, 4, 0)").axis, "x");
  refused(ErrorCode::BadArgument, "split@1(s3, s3:1, factor=4294967296)");
}

TEST(ScheduleErrors, SplitTakesFactorOrParts) {
  EXPECT_EQ(refused(ErrorCode::SplitArguments, "split@1(s3, s3:1, factor=2, nparts=2)").what,
            "split with both factor and nparts");
  EXPECT_EQ(refused(ErrorCode::SplitArguments, "split@1(s3, s3:1)").legal,
            "one of factor and nparts");
}

TEST(ScheduleErrors, AnAxisThatWasConsumed) {
  const ErrorInfo e = refused(ErrorCode::NotALeafAxis, "vectorize@1(s3, s3:1)",
                              "split@1(s3, s3:1, factor=4)  # gemm.py:9");
  EXPECT_EQ(e.what, "the axis is no longer a loop: step t0 split (gemm.py:9) consumed it");
  EXPECT_EQ(e.stage, "C");
  EXPECT_EQ(e.axis, "x");
  EXPECT_EQ(e.legal, "the leaf axes of 'C': y, x.outer, x.inner, k");
  refused(ErrorCode::NotALeafAxis, "reorder@1(s3, [s3:0, s3:1])", "fuse@1(s3, [s3:0, s3:1])");
  refused(ErrorCode::NotALeafAxis, "compute_at@1(s1, s3, s3:0)", "tile@1(s3, s3:0, s3:1, 2, 2)");
}

TEST(ScheduleErrors, AnAxisOfAnotherStage) {
  const ErrorInfo e = refused(ErrorCode::NotAnAxisOfStage, "split@1(s4, s3:1, factor=2)");
  EXPECT_EQ(e.stage, "D");
  EXPECT_EQ(e.legal, "the leaf axes of 'D': y, x");
  refused(ErrorCode::NotAnAxisOfStage, "compute_at@1(s1, s3, s4:0)");
  refused(ErrorCode::NotAnAxisOfStage, "split@1(s4, s4:2, factor=2)");
  // The methods say it too, with the script's line.
  const Schedule s = scheduled(kProgram);
  const SourceScope place("gemm.py:3");
  const Stage c = s.stage({.index = 3}), d = s.stage({.index = 4});
  EXPECT_EQ(expect_error(ErrorCode::NotAnAxisOfStage, [&] { d.split(c.axis(0), 2); }).where,
            "gemm.py:3");
  EXPECT_EQ(expect_error(ErrorCode::FactorNotPositive, [&] { d.split(d.axis(0), 0); }).where,
            "gemm.py:3");
  expect_error(ErrorCode::NotAnAxisOfStage, [&] { d.split(IterVar(), 2); });
}

TEST(ScheduleErrors, AnAxisTwice) {
  EXPECT_EQ(refused(ErrorCode::DuplicateAxis, "reorder@1(s3, [s3:1, s3:0, s3:1])").axis, "x");
  refused(ErrorCode::DuplicateAxis, "tile@1(s3, s3:1, s3:1, 2, 2)");
  refused(ErrorCode::DuplicateAxis, "fuse@1(s3, [s3:1, s3:1])");
}

TEST(ScheduleErrors, ListsOfAxesAreNotEmpty) {
  refused(ErrorCode::BadArgument, "fuse@1(s3, [])");
  refused(ErrorCode::BadArgument, "reorder@1(s3, [])");
}

TEST(ScheduleErrors, FuseOfNeighboursOfOneKind) {
  const ErrorInfo e = refused(ErrorCode::FuseNotAdjacent, "fuse@1(s3, [s3:0, s3:2])");
  EXPECT_EQ(e.axis, "k");
  EXPECT_EQ(e.legal, "neighbours in the order y, x, k");
  refused(ErrorCode::FuseNotAdjacent, "fuse@1(s3, [s3:1, s3:0])");
  EXPECT_EQ(refused(ErrorCode::FuseKinds, "fuse@1(s3, [s3:1, s3:2])").what,
            "fuse of 'x', a data axis, with a reduction axis");
}

TEST(ScheduleErrors, ReductionsDoNotRunAtOnce) {
  refused(ErrorCode::ParallelReduction, "parallel@1(s3, s3:2)");
  refused(ErrorCode::ParallelReduction, "vectorize@1(s3, s3:2)");
  refused(ErrorCode::ParallelReduction, "parallel@1(s3, t0.0)", "split@1(s3, s3:2, factor=2)");
}

constexpr char kSymbolic[] =
    "n = var(int32)\n"
    "A = placeholder(int32, [n])\n"
    "B = compute([i: n], (A(i) + 1))\n"
    "C = compute([i: n], reduce [k: n], sum((B(i)*A(k))))\n"
    "arguments A C\noutputs C\n";

TEST(ScheduleErrors, SymbolicExtentsAreNotLanes) {
  const ErrorInfo e = refused(ErrorCode::SymbolicExtent, "vectorize@1(s2, s2:0)", "", kSymbolic);
  EXPECT_EQ(e.stage, "C");
  EXPECT_EQ(e.axis, "i");
  refused(ErrorCode::SymbolicExtent, "vectorize@1(s2, t0.0)", "split@1(s2, s2:0, factor=4)",
          kSymbolic);
  refused(ErrorCode::SymbolicExtent, "unroll@1(s2, t0.1)", "split@1(s2, s2:0, nparts=4)",
          kSymbolic);
  refused(ErrorCode::SymbolicExtent, "unroll@1(s2, s2:1)", "", kSymbolic);
}

// B may still be computed inside a loop of C, for a part of constant size; lowering knows.
TEST(ScheduleErrors, SymbolicExtentsAtLowering) {
  const ErrorInfo e = expect_error(ErrorCode::SymbolicExtent,
                                   [] { loops(kSymbolic, "vectorize@1(s1, s1:0)  # a.py:4"); });
  EXPECT_EQ(e.stage, "B");
  EXPECT_EQ(e.axis, "i");
  EXPECT_EQ(e.where, "a.py:4");
}

TEST(ScheduleErrors, ComputeAtAStageThatDoesNotConsume) {
  const ErrorInfo e = refused(ErrorCode::NotAConsumer, "compute_at@1(s3, s1, s1:0)");
  EXPECT_EQ(e.stage, "C");
  EXPECT_EQ(e.what, "'P' does not consume it");
  EXPECT_EQ(e.legal, "D");
  EXPECT_EQ(refused(ErrorCode::BadAttach, "compute_at@1(s4, s3, s3:0)").stage, "D");
}

TEST(ScheduleErrors, ComputeAtWhereItCannotBe) {
  EXPECT_EQ(refused(ErrorCode::BadAttach, "compute_at@1(s3, s3, s3:0)").what,
            "a stage cannot be computed inside its own loops");
  EXPECT_EQ(refused(ErrorCode::BadAttach, "compute_at@1(s4, s3, s3:0)").legal, "compute_root");
  refused(ErrorCode::BadAttach, "compute_at@1(s2, s3, s3:0)", "compute_inline@1(s3)",
          "A = placeholder(int32, [4])\nB = placeholder(int32, [4])\n"
          "P = compute([i: 4], (A(i) + B(i)))\nC = compute([i: 4], (P(i) + 1))\n"
          "D = compute([i: 4], (C(i) + 1))\narguments A B D\noutputs D\n");
}

TEST(ScheduleErrors, AConsumerThatCannotSeeItsProducer) {
  const Schedule s = scheduled(kProgram, "compute_at@1(s1, s4, s4:0)");
  const ErrorInfo e = expect_error(ErrorCode::BadAttach, [&] { loops(s); });
  EXPECT_EQ(e.stage, "P");
  EXPECT_EQ(e.what, "computed inside 'y' of 'D', where its consumer 'C' cannot see it");
  EXPECT_EQ(e.legal,
            "compute_root, or inside y, x, k of 'C'; or 'C' computed inside that loop too");
  // Inside the same stage, but further in than the consumer.
  expect_error(ErrorCode::BadAttach,
               [&] { loops(kProgram, "compute_at@1(s3, s4, s4:0)\ncompute_at@1(s1, s4, s4:1)"); });
  loops(kProgram, "compute_at@1(s3, s4, s4:1)\ncompute_at@1(s1, s4, s4:0)");
}

TEST(ScheduleErrors, AnAxisThatIsMarked) {
  EXPECT_EQ(
      refused(ErrorCode::BadArgument, "split@1(s3, s3:0, factor=2)", "parallel@1(s3, s3:0)").axis,
      "y");
  refused(ErrorCode::BadArgument, "fuse@1(s3, [s3:0, s3:1])", "vectorize@1(s3, s3:1)");
  refused(ErrorCode::BadArgument, "tile@1(s3, s3:0, s3:1, 2, 2)", "unroll@1(s3, s3:1)");
}

TEST(ScheduleErrors, WhatCannotBeInlined) {
  EXPECT_EQ(refused(ErrorCode::CannotInline, "compute_inline@1(s3)").what,
            "a reduction has to be stored");
  EXPECT_EQ(refused(ErrorCode::CannotInline, "compute_inline@1(s4)").what,
            "an output has to be stored");
  const char* program =
      "A = placeholder(int32, [4])\n"
      "P = compute([i: 4], (A(i) + 1))\n"
      "B = compute([i: 4], [P(i), (A(i)*2)])\n"
      "C = compute([i: 4], (B.v0(i) + B.v1(i)))\n"
      "D = compute([i: 4], (C(i) + 1))\n"
      "arguments A D\noutputs D\n";
  EXPECT_EQ(refused(ErrorCode::CannotInline, "compute_inline@1(s3)", "compute_at@1(s2, s3, s3:0)",
                    program)
                .legal,
            "move 'B' first");
}

TEST(ScheduleErrors, WhatCannotBeCached) {
  EXPECT_EQ(refused(ErrorCode::BadArgument, "cache_write@1(s3, \"texture\")").legal,
            "global, local, shared, warp, amx.tile; '' for what lowering finds best");
  // One output of several.
  const te::Tensor a = te::placeholder({4});
  const auto two = te::compute_many(
      {4}, [&](const std::vector<Var>& i) { return std::vector<Expr>{a(i[0]), a(i[0]) + 1}; }, "B");
  const Schedule s = Schedule::create(two);
  expect_error(ErrorCode::CannotCache, [&] { s.cache_write(two[0], "local"); });
  expect_error(ErrorCode::CannotCache, [&] { s.cache_write({two[1], two[0]}, "local"); });
  EXPECT_EQ(s.cache_write(two, "local").size(), 2u);
}

TEST(ScheduleErrors, CacheReadForWhoDoesNotRead) {
  EXPECT_EQ(refused(ErrorCode::NotAConsumer, "cache_read@1(s2, \"local\", [s4])").legal, "C");
  EXPECT_EQ(refused(ErrorCode::NotAConsumer, "cache_read@1(s4, \"local\", [s3])").legal, "none");
  EXPECT_EQ(refused(ErrorCode::BadArgument, "cache_read@1(s2, \"local\", [])").legal, "C");
  EXPECT_EQ(refused(ErrorCode::BadArgument, "cache_read@1(s2, \"local\", [s3, s3])").legal,
            "each reader once");
  EXPECT_EQ(refused(ErrorCode::BadArgument, "cache_read@1(s2, \"wrap\", [s3])").legal,
            "global, local, shared, warp, amx.tile; '' for what lowering finds best");
  EXPECT_EQ(
      refused(ErrorCode::BadArgument, "cache_read@1(s2, \"local\", [s3], value_index=1)").legal,
      "0 to 0");
}

TEST(ScheduleErrors, ScopesOfStages) {
  EXPECT_EQ(refused(ErrorCode::BadArgument, "set_scope@1(s3, \"texture\")").legal,
            "global, local, shared, warp, amx.tile; '' for what lowering finds best");
  EXPECT_EQ(refused(ErrorCode::BadArgument, "set_scope@1(s4, \"local\")").what,
            "the memory of an output belongs to the caller");
  refused(ErrorCode::PlaceholderStage, "set_scope@1(s0, \"local\")");
}

TEST(ScheduleErrors, LayoutsThatCannotBe) {
  EXPECT_EQ(refused(ErrorCode::CannotCache, "transform_layout@1(s4, axis=s4:0, factor=2)").what,
            "the layout of an output belongs to the caller");
  refused(ErrorCode::PlaceholderStage, "transform_layout@1(s2, order=[1, 0])");
  EXPECT_EQ(refused(ErrorCode::CannotCache, "transform_layout@1(s3, axis=s3:0, factor=2)",
                    "split@1(s3, s3:1, factor=2)")
                .legal,
            "transform_layout first");
  EXPECT_EQ(refused(ErrorCode::BadArgument, "transform_layout@1(s3, axis=s3:2, factor=2)").legal,
            "y, x");
  refused(ErrorCode::BadArgument, "transform_layout@1(s3)");
  refused(ErrorCode::BadArgument, "transform_layout@1(s3, axis=s3:0)");
  refused(ErrorCode::BadArgument, "transform_layout@1(s3, factor=2)");
  refused(ErrorCode::FactorNotPositive, "transform_layout@1(s3, axis=s3:0, factor=0)");
  for (const char* order : {"[0, 1]", "[0, 1, 1]", "[0, 1, 3]", "[-1, 0, 1]"}) {
    EXPECT_EQ(
        refused(ErrorCode::BadArgument,
                std::string("transform_layout@1(s3, axis=s3:0, factor=2, order=") + order + ")")
            .legal,
        "each number from 0 to 2 once");
  }
}

TEST(ScheduleErrors, DimensionsThatDoNotCollapse) {
  EXPECT_EQ(refused(ErrorCode::CannotCache, "collapse_layout@1(s4, [s4:0, s4:1])").what,
            "the layout of an output belongs to the caller");
  EXPECT_EQ(refused(ErrorCode::BadArgument, "collapse_layout@1(s3, [s3:0])").what,
            "1 axes to collapse");
  EXPECT_EQ(refused(ErrorCode::FuseNotAdjacent, "collapse_layout@1(s3, [s3:1, s3:0])").legal,
            "neighbours in the order y, x");
  EXPECT_EQ(refused(ErrorCode::BadArgument, "collapse_layout@1(s3, [s3:1, s3:2])").legal, "y, x");
  EXPECT_EQ(refused(ErrorCode::CannotCache, "collapse_layout@1(s3, [s3:0, s3:1])",
                    "reorder@1(s3, [s3:1, s3:0])")
                .legal,
            "collapse_layout first");
}

TEST(ScheduleErrors, RowPitches) {
  EXPECT_EQ(refused(ErrorCode::BadArgument, "storage_align@1(s4, s4:0, 16, 0)").what,
            "the memory of an output belongs to the caller");
  EXPECT_EQ(refused(ErrorCode::BadArgument, "storage_align@1(s3, s3:2, 16, 0)").legal,
            "y, x, before it is split");
  refused(ErrorCode::FactorNotPositive, "storage_align@1(s3, s3:0, 0, 0)");
  EXPECT_EQ(refused(ErrorCode::BadArgument, "storage_align@1(s3, s3:0, 4, 4)").legal, "0 to 3");
}

TEST(ScheduleErrors, PrefetchOfWhatIsNotRead) {
  const ErrorInfo e = refused(ErrorCode::NotAConsumer, "prefetch@2(s4, s2, s4:0, 1)");
  EXPECT_EQ(e.what, "it does not read output 0 of 'B', nor does 'D' store it");
  EXPECT_EQ(e.legal, "C, or what 'D' stores");
  refused(ErrorCode::NotAConsumer, "prefetch@2(s4, s3, s4:0, 1, value_index=1)");
  refused(ErrorCode::BadArgument, "prefetch@2(s4, s3, s4:0, -1)");
  refused(ErrorCode::NotAConsumer, "prefetch@2(s4, s4, s4:0, 0, value_index=1)");
  refused(ErrorCode::NotAConsumer, "prefetch@2(s3, s4, s3:0, 0)");
}

TEST(ScheduleErrors, SharesOfWhatIsNotRead) {
  EXPECT_EQ(refused(ErrorCode::NotAConsumer, "prefetch_ahead@1(s3, s3:1, s3, s4, s4:0)").legal,
            "P, B, or what 'D' stores");
  refused(ErrorCode::FactorNotPositive, "prefetch_ahead@1(s4, s4:1, s3, s4, s4:0, group=-1)");
  // Of a loop that is not around: found when the schedule is lowered, as later steps may move it.
  for (const char* trace :
       {"prefetch_ahead@1(s4, s4:0, s3, s4, s4:1)", "prefetch_ahead@1(s3, s3:0, s1, s4, s4:0)",
        "compute_at@1(s3, s4, s4:0)\nprefetch_ahead@1(s3, s3:0, s1, s4, s4:1)",
        "prefetch_ahead@1(s4, s4:1, s3, s4, s4:0)\nsplit@1(s4, s4:0, factor=2)"}) {
    const Schedule s = scheduled(kProgram, trace);
    EXPECT_EQ(expect_error(ErrorCode::BadAttach, [&] { loops(s); }).legal,
              "a loop outside it, of this stage or of one that it is computed in")
        << trace;
  }
}

TEST(ScheduleErrors, SizesThatAreNoSizes) {
  refused(ErrorCode::BadArgument, "split@1(s3, s3:0, factor=\"v0\")");
  refused(ErrorCode::BadArgument, "split@1(s3, s3:0, factor=\"(3 +\")");
  refused(ErrorCode::BadArgument, "split@1(s3, s3:0, factor=\"threadIdx.x\")");
}

TEST(ScheduleErrors, ThreadsThatAreNone) {
  EXPECT_EQ(refused(ErrorCode::BadArgument, "bind@1(s3, s3:0, \"threadIdx.w\")").what,
            "'threadIdx.w' is no thread axis");
  refused(ErrorCode::BadArgument, "bind@1(s3, s3:0, \"threadIdx.x[0]\")");
  refused(ErrorCode::BadArgument, "bind@1(s3, s3:0, \"threadIdx.x[4\")");
  EXPECT_EQ(refused(ErrorCode::ParallelReduction, "bind@1(s3, s3:2, \"blockIdx.x\")").axis, "k");
  refused(ErrorCode::ParallelReduction, "bind@1(s3, s3:2, \"vthread\")");
  EXPECT_EQ(refused(ErrorCode::BadArgument, "bind@1(s3, s3:1, \"threadIdx.x\")",
                    "bind@1(s3, s3:0, \"threadIdx.x\")")
                .legal,
            "one axis of a stage for each thread axis; fuse them first");
  refused(ErrorCode::BadArgument, "env_threads@1(s3, [\"threadIdx.x\"])");
  refused(ErrorCode::BadArgument, "env_threads@1(s3, [\"vthread[2]\"])");
  refused(ErrorCode::BadArgument, "set_store_predicate@1(s3, \"(y == 0)\")");
  refused(ErrorCode::BadArgument, "set_store_predicate@1(s3, \"(threadIdx.x + 1)\")");
  refused(ErrorCode::BadArgument, "double_buffer@1(s4)");
  // Known with the extents.
  for (const char* trace :
       {"bind@1(s3, s3:0, \"threadIdx.x[2]\")",
        "env_threads@1(s3, [\"threadIdx.x[2]\"])\nbind@1(s3, s3:0, \"threadIdx.x\")",
        "bind@1(s3, s3:0, \"threadIdx.x\")\n"
        "set_store_predicate@1(s3, \"(threadIdx.x == 0)\")"}) {
    const Schedule s = scheduled(kProgram, trace);
    EXPECT_EQ(expect_error(ErrorCode::BadArgument, [&] { loops(s); }).stage, "C") << trace;
  }
  // One of the threads that reduce together stores; all of these threads compute all.
  loops(kProgram,
        "bind@1(s3, s3:2, \"threadIdx.x\")\nset_store_predicate@1(s3, \"(threadIdx.x == 3)\")");
}

TEST(ScheduleErrors, GroupsThatCannotBe) {
  const std::string group = "create_group@1(s3, [s3], [s1])";  // C alone
  EXPECT_EQ(refused(ErrorCode::BadAttach, "compute_at@1(s3, s4, s4:0)", group).what,
            "'D' is outside the group of 'C'");
  refused(ErrorCode::BadAttach, "compute_at@1(t0.0, s3, s3:0)", group);
  refused(ErrorCode::BadArgument, "split@1(t0.0, s3:0, factor=2)", group);
  refused(ErrorCode::BadAttach, "compute_at@1(t0.0, s4, s4:0)", "create_group@1(s4, [s4], [s3])");
  loops(kProgram, group + "\ncompute_at@1(t0.0, s4, s4:0)");
}

TEST(ScheduleErrors, WhatCannotBeFactored) {
  EXPECT_EQ(refused(ErrorCode::CannotFactor, "rfactor@1(s3, s3:0)").legal, "k");
  EXPECT_EQ(refused(ErrorCode::CannotFactor, "rfactor@1(s4, s4:0)").legal, "a reduction");
  EXPECT_EQ(refused(ErrorCode::BadArgument, "rfactor@1(s3, s3:2, factor_axis=3)").legal,
            "-3 to 2; -1 is the last place");
  refused(ErrorCode::BadArgument, "rfactor@1(s3, s3:2, factor_axis=-4)");
}

TEST(ScheduleErrors, PlaceholdersAreNotComputed) {
  for (const char* step :
       {"compute_root@1(s0)", "compute_inline@1(s0)", "cache_write@1(s0, \"local\")",
        "compute_at@1(s0, s1, s1:0)", "reorder@1(s2, [])"}) {
    refused(ErrorCode::PlaceholderStage, step);
  }
}

TEST(ScheduleErrors, PragmasHaveNames) {
  EXPECT_EQ(refused(ErrorCode::BadArgument, "pragma@1(s3, s3:0, \"auto_unroll_max_setp\", 4)").what,
            "unknown pragma 'auto_unroll_max_setp'; the nearest is 'auto_unroll_max_step'");
  refused(ErrorCode::BadArgument, "pragma@1(s3, s3:0, \"\")");
  const ErrorInfo e =
      refused(ErrorCode::BadArgument, "pragma@1(s3, s3:0, \"auto_unroll_max_step\", \"v0\")");
  EXPECT_EQ(e.what, "pragma_value of 'auto_unroll_max_step' is an expression or a text");
  EXPECT_EQ(e.axis, "y");
}

TEST(ScheduleErrors, PragmasOfTvmSayWhatToWriteInstead) {
  const auto instead = [](const std::string& pragma) {
    return refused(ErrorCode::BadArgument, "pragma@1(s3, s3:0, " + pragma + ")").legal;
  };
  EXPECT_NE(instead("\"debug_skip_region\", 1").find("placeholder"), std::string::npos);
  // With the code, as scripts give it.
  EXPECT_NE(instead("\"import_llvm\", \"define void @f() { ret void }\"").find("RTLD_GLOBAL"),
            std::string::npos);
  EXPECT_NE(instead("\"import_c\", \"void f() {}\"").find("call_extern"), std::string::npos);
}

TEST(ScheduleErrors, OnlyConstantsArePrecomputed) {
  constexpr char kConstant[] =
      "A = placeholder(int32, [4, 6])\n"
      "B = placeholder(int32, [6, 8], constant)\n"
      "P = compute([y: 6, x: 8], (B(y, x) + 1))\n"
      "C = compute([y: 4, x: 8], reduce [k: 6], sum((A(y, k)*P(k, x))))\n"
      "D = compute([y: 4, x: 8], (C(y, x) + 1))\n"
      "arguments A B D\noutputs D\n";
  // s0 A, s1 B, s2 P, s3 C, s4 D
  const ErrorInfo e = refused(ErrorCode::NotConstant, "precompute@1(s3)", "", kConstant);
  EXPECT_EQ(e.what, "it depends on 'A', whose values only a call has");
  EXPECT_EQ(e.stage, "C");
  refused(ErrorCode::NotConstant, "precompute@1(s4)", "", kConstant);
  // A size that only a call has, of what it reads.
  constexpr char kSymbolic[] =
      "n = var(int32)\n"
      "A = placeholder(int32, [n])\n"
      "B = placeholder(int32, [6], constant)\n"
      "P = compute([x: n], B(floormod(x, 6)))\n"
      "Q = compute([x: 6], (P(0) + B(x)))\n"
      "C = compute([x: n], (A(x) + Q(floormod(x, 6))))\n"
      "arguments A B C\noutputs C\n";
  EXPECT_EQ(refused(ErrorCode::NotConstant, "precompute@1(s3)", "", kSymbolic).what,
            "it depends on 'n', whose values only a call has");
  refused(ErrorCode::BadArgument, "precompute@1(s2)", "set_scope@1(s2, \"local\")", kConstant);
  refused(ErrorCode::BadArgument, "precompute@1(s2)", "storage_align@1(s2, s2:0, 16, 4)",
          kConstant);
  refused(ErrorCode::BadArgument, "set_scope@1(s2, \"local\")", "precompute@1(s2)", kConstant);
  refused(ErrorCode::BadArgument, "storage_align@1(s2, s2:0, 16, 4)", "precompute@1(s2)",
          kConstant);
}

}  // namespace
}  // namespace tw
