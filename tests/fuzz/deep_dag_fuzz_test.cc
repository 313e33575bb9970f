// SPDX-License-Identifier: Apache-2.0
// Programs whose every stage reads the one before it twice: a walk that visits what it met before
// would take 2^60 steps, and the test would not end.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/expr.h"
#include "lower/llvm/target.h"
#include "lower/pipeline.h"
#include "schedule/te/text.h"
#include "tests/support/fuzz.h"
#include "tests/support/random_ir.h"
#include "tests/support/scheduled.h"
#include "tests/support/te_run.h"

namespace tw {
namespace {

using te::Tensor;
using test::Random;

constexpr int kLevels = 60;

struct Diamonds {
  std::vector<Tensor> constants, inputs, levels;
  const Tensor& output() const { return levels.back(); }
};

// Values stay small, so that float32 is exact: 0.5·x(i) + 0.5·x(i') with indices mirrored at times.
Diamonds diamonds(Random& random, bool constant) {
  Diamonds d;
  const Tensor a = te::placeholder({8}, float_type(32), "A", constant);
  (constant ? d.constants : d.inputs).push_back(a);
  Tensor x = a;
  for (int level = 0; level < kLevels; ++level) {
    const bool mirrored = random.chance(30);
    x = te::compute(
        {8},
        [&](const std::vector<Var>& i) {
          const Expr half = make_const_float(float_type(32), 0.5);
          const Expr other = mirrored ? x(7 - i[0]) : x(i[0]);
          return x(i[0]) * half + other * half;
        },
        fmt::format("x{}", level));
    d.levels.push_back(x);
  }
  if (constant) {
    const Tensor b = te::placeholder({8}, float_type(32), "B");
    d.inputs.push_back(b);
    d.levels.push_back(
        te::compute({8}, [&](const std::vector<Var>& i) { return x(i[0]) + b(i[0]); }, "out"));
  }
  return d;
}

void expect_lowers(const Schedule& s, const Diamonds& d) {
  const Schedule normalized = normalize(s);
  const Stmt body = schedule_ops(normalized, infer_bound(normalized));
  EXPECT_TRUE(body.defined());
  std::vector<LowerArgument> arguments(d.inputs.begin(), d.inputs.end());
  arguments.emplace_back(d.output());
  const KernelModule module = lower_module(s, arguments, d.constants, Target());
  EXPECT_EQ(module.preparation() != nullptr, !d.constants.empty());
}

TEST(DeepDagFuzz, EveryStageInALoopOfTheNext) {
  test::FuzzCases cases(4, 1);
  while (cases.next()) {
    Random random(cases.seed());
    const Diamonds d = diamonds(random, false);
    const Schedule s = Schedule::create({d.output()});
    const IterVar outer = s[d.output()].split(s[d.output()].axis(0), 4).outer;
    int inside = 0;
    for (size_t k = 0; k + 1 < d.levels.size(); ++k) {
      if (!random.chance(60)) continue;
      s[d.levels[k]].compute_at(s[d.output()], outer);
      ++inside;
    }
    // What is read by a stage outside the loop has to stand outside too.
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t k = 0; k + 2 < d.levels.size(); ++k) {
        const bool here = s[d.levels[k]].data().attach_type == AttachType::Scope;
        const bool next = s[d.levels[k + 1]].data().attach_type == AttachType::Scope;
        if (!here || next) continue;
        s[d.levels[k]].compute_root();
        moved = true;
      }
    }
    EXPECT_GT(inside, 10);
    expect_lowers(s, d);
  }
}

// Inlined, each level doubles an expression; in large ones repeated parts are computed once.
TEST(DeepDagFuzz, StagesInline) {
  test::FuzzCases cases(2, 1);
  while (cases.next()) {
    Random random(cases.seed());
    const Diamonds d = diamonds(random, false);
    const Schedule few = Schedule::create({d.output()});
    for (size_t k = 0; k + 1 < d.levels.size(); ++k) {
      if (k % 4 != 3) few[d.levels[k]].compute_inline();
    }
    expect_lowers(few, d);
    const Schedule all = Schedule::create({d.output()});
    for (size_t k = 0; k + 1 < d.levels.size(); ++k) all[d.levels[k]].compute_inline();
    expect_lowers(all, d);
  }
}

TEST(DeepDagFuzz, StagesPrecomputed) {
  Random random(test::fuzz_seed() + 2);
  const Diamonds d = diamonds(random, true);
  const Schedule s = Schedule::create({d.output()});
  for (size_t k = 0; k + 1 < d.levels.size(); ++k) {
    if (k + 2 == d.levels.size() || random.chance(50)) s[d.levels[k]].precompute();
  }
  expect_lowers(s, d);
  // What depends on an argument of the call is found as fast.
  const Diamonds variable = diamonds(random, false);
  const Tensor last =
      te::compute({8}, [&](const std::vector<Var>& i) { return variable.output()(i[0]); }, "last");
  const Schedule refused = Schedule::create({last});
  EXPECT_THROW(refused[variable.output()].precompute(), UserError);
}

TEST(DeepDagFuzz, CachesAndLayouts) {
  Random random(test::fuzz_seed() + 3);
  const Diamonds d = diamonds(random, false);
  const Schedule s = Schedule::create({d.output()});
  for (size_t k = 0; k + 1 < d.levels.size(); k += 6) {
    if (random.chance(50)) {
      s.cache_write(d.levels[k], "local");
    } else {
      s[d.levels[k]].transform_layout(s[d.levels[k]].axis(0), 4);
    }
  }
  expect_lowers(s, d);
}

TEST(DeepDagFuzz, TextHashAndValues) {
  Random random(test::fuzz_seed() + 4);
  const Diamonds d = diamonds(random, false);
  const te::Program program = te::make_program({d.output()});
  const te::Program again = te::parse_program(te::to_text(program));
  EXPECT_EQ(te::workload_hash(again), te::workload_hash(program));
  EXPECT_EQ(te::count_operations(program), kLevels * 8 * 3.0);
  const test::Array ones({8}, std::vector<double>(8, 1.0));
  EXPECT_EQ(test::run(d.output(), {ones}).data, ones.data);
}

// One expression whose parts stand in two places each.
TEST(DeepDagFuzz, ABodyOfSharedParts) {
  const Tensor a = te::placeholder({8}, float_type(32), "A");
  const Tensor b = te::compute({8}, [&](const std::vector<Var>& i) {
    Expr x = a(i[0]);
    for (int k = 0; k < kLevels; ++k) x = x * x + x;
    return x;
  });
  const test::Array zeros({8}, std::vector<double>(8, 0.0));
  EXPECT_EQ(test::run(b, {zeros}).data, zeros.data);
}

}  // namespace
}  // namespace tw
