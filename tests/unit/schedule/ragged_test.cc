// SPDX-License-Identifier: Apache-2.0
// Reductions that are longer for one element than for another, from the definition to loops.
#include <gtest/gtest.h>

#include "ir/arithmetic/analyzer.h"
#include "ir/expr.h"
#include "schedule/te/check_bounds.h"
#include "schedule/te/ragged.h"
#include "schedule/validate.h"
#include "tests/support/expect_error.h"
#include "tests/support/schedule_case.h"
#include "tests/support/scheduled.h"

namespace tw {
namespace {

using test::expect_error;
using test::loops;
using test::scheduled;

// s0 A, s1 P, s2 B: sums up to the diagonal, s3 C.
constexpr char kTriangle[] =
    "A = placeholder(int32, [10, 10])\n"
    "P = compute([i: 10, k: 10], (A(i, k)*2))\n"
    "B = compute([i: 10], reduce [k: (i + 1)], sum(P(i, k)))\n"
    "C = compute([i: 10], (B(i) + 1))\n"
    "arguments A C\noutputs C\n";
// From the diagonal on, one of two axes.
constexpr char kUpper[] =
    "A = placeholder(int32, [10, 10, 3])\n"
    "P = compute([i: 10, k: 10, c: 3], (A(i, k, c)*2))\n"
    "B = compute([i: 10], reduce [k: (i, (10 - i)), c: 3], max(P(i, k, c)))\n"
    "C = compute([i: 10], (B(i) + 1))\n"
    "arguments A C\noutputs C\n";
// Along the diagonal: less than the rows are long.
constexpr char kBand[] =
    "A = placeholder(int32, [12, 2])\n"
    "P = compute([k: 12, j: 2], (A(k, j)*2))\n"
    "B = compute([i: 10, j: 2], reduce [k: (i, 3)], sum(P(k, j)))\n"
    "C = compute([i: 10, j: 2], (B(i, j) + 1))\n"
    "arguments A C\noutputs C\n";
// Rows of a matrix whose entries stand one after the other. s0 N, s1 S, s2 W, s3 A, s4 P, s5 B, s6
// C.
constexpr char kRows[] =
    "N = placeholder(int32, [10])\n"
    "S = compute([i: 10], floormod((N(i)*N(i)), 23))\n"
    "W = compute([i: 10], floormod(N(i), 8))\n"
    "A = placeholder(int32, [30])\n"
    "P = compute([e: 30], (A(e)*2))\n"
    "B = compute([i: 10], reduce [k: (S(i), W(i))], sum(P(k)))\n"
    "C = compute([i: 10], (B(i) + 1))\n"
    "arguments A N C\noutputs C\n";
// Extents are symbols.
constexpr char kSymbolic[] =
    "n = var(int32)\n"
    "A = placeholder(int32, [n, n])\n"
    "P = compute([i: n, k: n], (A(i, k)*2))\n"
    "B = compute([i: n], reduce [k: (i + 1)], sum(P(i, k)))\n"
    "C = compute([i: n], (B(i) + 1))\n"
    "arguments A C\noutputs C\n";

void expect_right(const std::string& program, const std::string& trace) {
  SCOPED_TRACE(program + trace);
  test::ScheduleCase c{.program = te::parse_program("te 1\n" + program),
                       .scalars = {},
                       .trace = parse_trace(trace),
                       .data_seed = 3};
  if (program.starts_with("n = ")) {
    c.scalars.emplace_back(free_vars(c.program.arguments[0].shape()[0])[0], 7);
  }
  const test::Outcome outcome = test::outcome_of(c, test::schedule_checks());
  EXPECT_EQ(outcome.failure.value_or(""), "");
  EXPECT_FALSE(outcome.refused);
}

TEST(Ragged, TextIsReadBack) {
  for (const char* program : {kTriangle, kUpper, kRows, kSymbolic}) {
    const std::string text = std::string("te 1\n") + program;
    EXPECT_EQ(te::to_text(te::parse_program(text)), text);
  }
}

TEST(Ragged, WhichAxesAre) {
  const auto axes_of = [](const std::string& program, size_t op) {
    const te::Program p = te::parse_program("te 1\n" + program);
    std::string result;
    for (const IterVar& a : te::operations(p.outputs)[op]->root_axes())
      result += te::is_ragged(*te::operations(p.outputs)[op], a) ? 'r' : '.';
    return result;
  };
  EXPECT_EQ(axes_of(kTriangle, 2), ".r");
  EXPECT_EQ(axes_of(kUpper, 2), ".r.");
  EXPECT_EQ(axes_of(kSymbolic, 1), "..");
}

TEST(Ragged, Hulls) {
  Analyzer analyzer;
  const Var i("i"), o("o"), n("n");
  const auto text = [&](const Range& r) {
    return r.min.defined() ? to_string(r.min) + ", " + to_string(r.extent) : "none";
  };
  EXPECT_EQ(text(te::hull({0, i + 1}, {{i, {0, 10}}}, analyzer)), "0, 10");
  EXPECT_EQ(text(te::hull({i, 10 - i}, {{i, {2, 5}}}, analyzer)), "2, 8");
  EXPECT_EQ(text(te::hull({0, o * 4 + i + 1}, {{i, {0, 4}}}, analyzer)), "0, ((o*4) + 4)");
  EXPECT_EQ(text(te::hull({0, i + 1}, {{i, {0, n}}}, analyzer)), "0, n");
  EXPECT_EQ(text(te::hull({0, i + 1}, {{i, {0, o}}, {o, {0, 5}}}, analyzer)), "0, 4");
  EXPECT_EQ(text(te::hull({0, i + 1}, {{i, {}}}, analyzer)), "none");
}

TEST(Ragged, LoopsEndWhereTheElementsDo) {
  EXPECT_EQ(loops(kTriangle,
                  "compute_inline@1(s1)\nsplit@1(s2, s2:1, factor=4)\n"
                  "compute_at@1(s2, s3, s3:0)"),
            R"(produce C {
  for (i, 0, 10) {
    realize B<global>([i, 1]) {
      produce B {
        B(i) = 0
        for (k.outer, 0, (floordiv(i, 4) + 1)) {
          for (k.inner, 0, 4) {
            if (likely((((k.outer*4) + k.inner) < (i + 1)))) {
              B(i) = (B(i) + (A(i, ((k.outer*4) + k.inner))*2))
            }
          }
        }
      }
      C(i) = (B(i) + 1)
    }
  }
}
)");
}

// Loops over data inside: the longest of theirs, and a test.
TEST(Ragged, LoopsOverDataInside) {
  EXPECT_EQ(loops(kTriangle,
                  "compute_inline@1(s1)\nsplit@1(s2, s2:0, factor=5)\n"
                  "reorder@1(s2, [t1.0, s2:1, t1.1])\n"),
            R"(realize B<global>([0, 10]) {
  produce B {
    for (i.outer, 0, 2) {
      for (i.inner.init, 0, 5) {
        B(((i.outer*5) + i.inner.init)) = 0
      }
      for (k, 0, ((i.outer*5) + 5)) {
        for (i.inner, 0, 5) {
          if (likely((k < (((i.outer*5) + i.inner) + 1)))) {
            B(((i.outer*5) + i.inner)) = (B(((i.outer*5) + i.inner)) + (A(((i.outer*5) + i.inner), k)*2))
          }
        }
      }
    }
  }
  produce C {
    for (i, 0, 10) {
      C(i) = (B(i) + 1)
    }
  }
}
)");
}

TEST(Ragged, EverySchedulesLoopsComputeIt) {
  // Operations stand in other places in the programs: P, B and C are stages of these numbers.
  const auto traces = [](const std::string& p, const std::string& b, const std::string& c) {
    const auto named = [&](std::string text) {
      for (const auto& [name, number] : {std::pair{'P', p}, {'B', b}, {'C', c}}) {
        for (size_t at; (at = text.find(std::string("$") + name)) != std::string::npos;)
          text.replace(at, 2, "s" + number);
      }
      return text;
    };
    std::vector<std::string> result;
    for (const char* text : {
             "",
             "split@1($B, $B:1, factor=4)\n",
             "split@1($B, $B:1, nparts=3)\n",
             "split@1($B, $B:0, factor=4)\nsplit@1($B, $B:1, factor=3)\n",
             "split@1($B, $B:1, factor=4)\nsplit@1($B, t0.1, factor=3)\n",
             "split@1($B, $B:0, factor=4)\ncompute_at@1($P, $B, t0.0)\n",
             "split@1($B, $B:0, factor=4)\ncompute_at@1($P, $B, t0.1)\n",
             "split@1($B, $B:1, factor=4)\ncompute_at@1($P, $B, t0.0)\n",
             "split@1($B, $B:1, factor=4)\ncompute_at@1($P, $B, t0.1)\n",
             "compute_at@1($P, $B, $B:0)\n",
             "compute_at@1($P, $B, $B:1)\n",
             "compute_inline@1($P)\n",
             "compute_at@1($B, $C, $C:0)\n",
             "split@1($C, $C:0, factor=4)\ncompute_at@1($B, $C, t0.0)\n"
             "split@1($B, $B:1, factor=3)\ncompute_at@1($P, $B, t2.0)\n",
             "split@1($C, $C:0, factor=4)\ncompute_at@1($B, $C, t0.0)\n"
             "compute_at@1($P, $C, t0.0)\n",
             "cache_write@1($B, \"local\")\n",
             "split@1($B, $B:0, factor=4)\nsplit@1($B, $B:1, factor=4)\n"
             "cache_write@1($B, \"local\")\n",
             "cache_write@1($B, \"local\")\nsplit@1($B, $B:0, factor=4)\n"
             "compute_at@1(t0.0, $B, t1.0)\n",
             "cache_read@1($P, \"local\", [$B])\nsplit@1($B, $B:1, factor=4)\n"
             "compute_at@1(t0.0, $B, t1.0)\n",
             "cache_read@1($P, \"local\", [$B])\nsplit@1($B, $B:0, factor=3)\n"
             "compute_at@1(t0.0, $B, t1.0)\n",
             "split@1($B, $B:1, factor=4)\nrfactor@1($B, t0.1)\n",
             "split@1($B, $B:1, factor=4)\nrfactor@1($B, t0.1)\ncompute_at@1(t1.0, $B, $B:0)\n",
             "split@1($B, $B:0, factor=4)\nsplit@1($B, $B:1, factor=3)\nrfactor@1($B, t1.1)\n"
             "compute_at@1(t2.0, $B, t0.0)\n",
             "transform_layout@1($B, $B:0, 4)\n",
             "parallel@1($B, $B:0)\n",
             "split@1($C, $C:0, factor=4)\nvectorize@1($C, t0.1)\n",
             "bind@1($B, $B:0, \"threadIdx.x\")\n",
         }) {
      result.push_back(named(text));
    }
    return result;
  };
  for (const std::string& trace : traces("1", "2", "3")) {
    expect_right(kTriangle, trace);
    expect_right(kUpper, trace);
    expect_right(kSymbolic, trace);
  }
  for (const std::string& trace : traces("4", "5", "6")) expect_right(kRows, trace);
  for (const char* trace : {
           "split@1(s2, s2:0, factor=4)\ncompute_at@1(s1, s2, t0.0)\n",
           "split@1(s2, s2:0, factor=4)\nreorder@1(s2, [t0.0, s2:2, t0.1])\n"
           "compute_at@1(s1, s2, t0.0)\n",
           "split@1(s2, s2:0, factor=4)\nsplit@1(s2, s2:2, factor=2)\n"
           "reorder@1(s2, [t0.0, t1.0, t0.1, t1.1])\ncompute_at@1(s1, s2, t1.0)\n",
           "split@1(s3, s3:0, factor=4)\ncompute_at@1(s2, s3, t0.0)\ncompute_at@1(s1, s3, t0.0)\n",
           "rfactor@1(s2, s2:2)\n",
       }) {
    expect_right(kBand, trace);
  }
  // What has a length that is the longest goes further.
  for (const char* trace : {
           "split@1(s2, s2:0, factor=4)\nreorder@1(s2, [t0.0, s2:1, t0.1])\n",
           "split@1(s2, s2:0, factor=4)\nreorder@1(s2, [s2:1, t0.0, t0.1])\n",
           "split@1(s2, s2:0, factor=4)\nsplit@1(s2, s2:1, factor=3)\n"
           "reorder@1(s2, [t0.0, t1.0, t0.1, t1.1])\ncompute_at@1(s1, s2, t1.0)\n",
           "split@1(s2, s2:0, factor=4)\nreorder@1(s2, [t0.0, s2:1, t0.1])\nvectorize@1(s2, "
           "t0.1)\n",
           "split@1(s2, s2:1, factor=4)\nrfactor@1(s2, t0.0)\n",
           "rfactor@1(s2, s2:1)\n",
           "rfactor@1(s2, s2:1)\ncompute_at@1(t0.0, s2, s2:0)\n",
           "split@1(s2, s2:0, factor=4)\nreorder@1(s2, [t0.0, s2:1, t0.1])\n"
           "cache_write@1(s2, \"local\")\n",
       }) {
    expect_right(kTriangle, trace);
    expect_right(kUpper, trace);
    expect_right(kSymbolic, trace);
  }
  expect_right(kUpper, "fuse@1(s2, [s2:1, s2:2])\n");
  expect_right(kUpper,
               "fuse@1(s2, [s2:1, s2:2])\nsplit@1(s2, t0.0, factor=4)\n"
               "rfactor@1(s2, t1.1)\n");
  // What says how long the rows are, computed where they are.
  expect_right(kRows, "compute_inline@1(s1)\ncompute_inline@1(s2)\n");
  expect_right(kRows, "compute_at@1(s1, s5, s5:0)\ncompute_at@1(s2, s5, s5:0)\n");
  expect_right(kRows,
               "split@1(s5, s5:0, factor=4)\ncompute_at@1(s1, s5, t0.0)\n"
               "cache_read@1(s2, \"local\", [s5])\ncompute_at@1(t2.0, s5, t0.0)\n");
}

// No row is known to be the longest.
TEST(Ragged, LengthsThatAreReadAreRefusedInside) {
  const auto split = "split@1(s5, s5:0, factor=4)\nreorder@1(s5, [t0.0, s5:1, t0.1])\n";
  const ErrorInfo order = expect_error(ErrorCode::LoopOrder, [&] { loops(kRows, split); });
  EXPECT_EQ(order.what,
            "'k' has another length for each iteration of i.inner, which stands inside of it, and "
            "no length that is the longest");
  EXPECT_EQ(order.stage, "B");
  EXPECT_EQ(order.axis, "k");
  EXPECT_EQ(order.legal, "an order with i.inner outside of k");
  const ErrorInfo factor =
      expect_error(ErrorCode::CannotFactor, [&] { scheduled(kRows, "rfactor@1(s5, s5:1)"); });
  EXPECT_EQ(factor.axis, "k");
  EXPECT_EQ(factor.legal, "split it by a factor, and rfactor of the inner loop");
}

// It is read before the first loop over terms.
TEST(Ragged, WhatTheLengthIsReadFromInsideTheTermsIsTooLate) {
  const Schedule s = scheduled(kRows, "compute_at@1(s2, s5, s5:1)\n");
  const std::vector<Finding> findings = check(s);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].error.what,
            "computed inside 'k' of 'B', whose reduction is as long as what this stage computes");
  EXPECT_EQ(findings[0].error.legal, "compute_root, or inside i of 'B'");
  expect_error(ErrorCode::BadAttach, [&] { infer_bound(normalize(s)); });
}

TEST(Ragged, EndsThatCannotBe) {
  const te::Tensor a = te::placeholder({8, 8}, int_type(32), "A");
  const auto sum_of = [&](const std::function<std::vector<IterVar>(const Var&)>& axes) {
    te::compute({8}, [&](const std::vector<Var>& i) -> Expr {
      const std::vector<IterVar> k = axes(i[0]);
      return te::sum(a(i[0], k[0]->var), k);
    });
  };
  const ErrorInfo nested = expect_error(ErrorCode::BadReduction, [&] {
    sum_of([](const Var&) {
      const IterVar k = te::reduce_axis({0, 8}, "k");
      return std::vector<IterVar>{k, te::reduce_axis({0, k->var + 1}, "l")};
    });
  });
  EXPECT_EQ(nested.what, "the ends of axis 'l' depend on 'k', an axis of the same reduction");
  EXPECT_EQ(nested.legal,
            "ends that depend on axes of the compute; where= for what depends on 'k'");
  expect_error(ErrorCode::BadShape, [&] { te::placeholder({a(0, 0)}); });
  expect_error(ErrorCode::BadShape, [&] {
    const IterVar k = te::reduce_axis({0, 8}, "k");
    te::reduce_axis({0, te::sum(a(0, k->var), {k})}, "l");
  });
}

// Whether reads stay inside is judged of the terms that there are.
TEST(Ragged, Bounds) {
  const auto doubt = [](const std::string& domain, const std::string& index) {
    const te::Program p = te::parse_program(
        "te 1\nA = placeholder(int32, [8])\n"
        "B = compute([i: 8], reduce [k: " +
        domain + "], sum(A(" + index + ")))\narguments A B\noutputs B\n");
    const auto found = te::doubtful_read(p.outputs[0].op());
    return found ? found->error.what : "";
  };
  EXPECT_EQ(doubt("(i + 1)", "k"), "");
  EXPECT_EQ(doubt("(i + 2)", "k"), "index 0 of 'A', k, is 8 where k is 8, i is 7");
  EXPECT_EQ(doubt("(i, (8 - i))", "k"), "");
  EXPECT_EQ(doubt("(i, (8 - i))", "(k - i)"), "");
  EXPECT_EQ(doubt("(i + 1)", "(i - k)"), "");
  EXPECT_NE(doubt("(i + 1)", "(k - i)"), "");
}

}  // namespace
}  // namespace tw
