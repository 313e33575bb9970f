// SPDX-License-Identifier: Apache-2.0
// Products of matrices as a hand would schedule them: operands packed into panels, blocks of the
// reduction factored out, register tiles. Sizes seldom divide; every block may overhang.
#include <gtest/gtest.h>

#include "ir/expr.h"
#include "tests/support/fuzz.h"
#include "tests/support/jit_check.h"
#include "tests/support/random_schedule.h"

namespace tw {
namespace {

using test::Random;
using test::ScheduleCase;

struct Blocks {
  int64_t rows, columns, depth;              // register tile, and how much of the reduction at once
  int64_t block_rows, block_columns, lanes;  // cache blocks; vectors of the register tile
  int pack_a, pack_b;                        // 0: not, else where
};

constexpr char kProgram[] =
    "te 1\n"
    "A = placeholder(int32, [{m}, {k}])\n"
    "B = placeholder(int32, [{k}, {n}])\n"
    "C = compute([y: {m}, x: {n}], reduce [r: {k}], sum((A(y, r)*B(r, x))))\n"
    "arguments A B C\noutputs C\n";

Trace packed(const te::Program& program, const Blocks& b, bool factored) {
  const Schedule s = Schedule::create(program.outputs);
  const te::Tensor c = program.outputs[0];
  const te::Tensor lhs = program.arguments[0], rhs = program.arguments[1];
  te::Tensor tile;
  if (factored) {
    tile = s.rfactor(c, s[c].split(s[c].reduce_axis(0), b.depth).outer);
    s[tile].set_scope("local");
  } else {
    tile = s.cache_write(c, "local");
  }
  te::Tensor panels_a, panels_b;
  if (b.pack_a) {
    panels_a = s.cache_read(lhs, "global", {s[tile].op()});
    s[panels_a].transform_layout(s[panels_a].axis(0), b.rows, {0, 2, 1});
  }
  if (b.pack_b) {
    panels_b = s.cache_read(rhs, "global", {s[tile].op()});
    s[panels_b].transform_layout(s[panels_b].axis(1), b.columns, {1, 0, 2});
  }
  const Stage out = s[c], local = s[tile];
  const auto [jc, j1] = out.split(out.axis(1), b.block_columns);
  const auto [jr, j2] = out.split(j1, b.columns);
  const auto [jv, jl] = out.split(j2, b.lanes);
  const auto [ic, i1] = out.split(out.axis(0), b.block_rows);
  const auto [ir, i2] = out.split(i1, b.rows);
  const IterVar depth = factored ? out.reduce_axis(0) : ic;
  out.reorder(factored ? std::vector<IterVar>{jc, depth, ic, jr, ir, i2, jv, jl}
                       : std::vector<IterVar>{jc, ic, jr, ir, i2, jv, jl});
  out.unroll(i2);
  out.unroll(jv);
  out.vectorize(jl);
  local.compute_at(out, ir);
  const int first = factored ? 1 : 0;
  const auto [lv, ll] = local.split(local.axis(first + 1), b.lanes);
  local.reorder({local.reduce_axis(0), local.axis(first), lv, ll});
  local.unroll(local.axis(first));
  local.unroll(lv);
  local.vectorize(ll);
  const auto place = [&](const Stage& panels, int where) {
    const IterVar axes[] = {jc, depth, ic, jr, ir};
    if (where <= 5) panels.compute_at(out, axes[where - 1]);
    if (where == 6) panels.compute_at(local, local.reduce_axis(0));
  };
  if (b.pack_a) place(s[panels_a], b.pack_a);
  if (b.pack_b) {
    place(s[panels_b], b.pack_b);
    s[panels_b].vectorize(s[panels_b].axis(2));
  }
  return s.trace();
}

ScheduleCase random_matmul(uint64_t seed) {
  Random random(seed);
  std::string text = kProgram;
  for (const char* size : {"{m}", "{n}", "{k}"}) {
    const std::string value = std::to_string(random.between(1, 40));
    for (size_t at; (at = text.find(size)) != std::string::npos;) text.replace(at, 3, value);
  }
  Blocks b{.rows = random.between(1, 6),
           .columns = 0,
           .depth = random.between(1, 12),
           .block_rows = 0,
           .block_columns = 0,
           .lanes = random.between(1, 4),
           .pack_a = static_cast<int>(random.between(0, 7)),
           .pack_b = static_cast<int>(random.between(0, 7))};
  b.columns = b.lanes * random.between(1, 3);
  b.block_rows = b.rows * random.between(1, 4);
  b.block_columns = b.columns * random.between(1, 4);
  ScheduleCase c{.program = te::parse_program(text), .scalars = {}, .trace = {}, .data_seed = seed};
  c.trace = packed(c.program, b, random.chance(70));
  return c;
}

TEST(PackedMatmulFuzz, EveryBlockingComputesTheDefinition) {
  std::vector<test::ScheduleCheck> checks = test::schedule_checks();
  for (test::ScheduleCheck& check : test::jit_checks(Target::host()))
    checks.push_back(std::move(check));
  test::FuzzCases cases(60, 1);
  while (cases.next()) {
    const uint64_t seed = cases.seed();
    const ScheduleCase c = random_matmul(seed);
    const auto failure = test::failure_of(c, checks, cases);
    ASSERT_FALSE(failure.has_value()) << "case seed " << seed << "\n"
                                      << c.reproducer() << "\n"
                                      << *failure;
  }
}

}  // namespace
}  // namespace tw
