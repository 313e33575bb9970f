// SPDX-License-Identifier: Apache-2.0
#include "autotune/cost/math_cost.h"

#include <gtest/gtest.h>

#include "autotune/cost/loop_nest.h"
#include "autotune/cost/prior.h"
#include "schedule/infer_bound.h"
#include "schedule/normalize.h"
#include "schedule/schedule.h"
#include "schedule/schedule_ops.h"

namespace tw::autotune {
namespace {

TEST(MathCost, CountsTheArithmetic) {
  const MathCost exp = math_cost("exp", float_type(32)), tanh = math_cost("tanh", float_type(32));
  EXPECT_GT(exp.operations, 15);
  EXPECT_LT(exp.operations, 25);
  EXPECT_EQ(exp.divisions, 0);
  EXPECT_EQ(tanh.divisions, 1);
  EXPECT_GT(math_cost("erf", float_type(32)).operations, tanh.operations);
  EXPECT_EQ(math_cost("exp", float_type(16)).operations, exp.operations);
}

TEST(MathCost, CallsHaveNone) {
  EXPECT_EQ(math_cost("sin", float_type(32)).operations, 0);
  EXPECT_EQ(math_cost("exp", float_type(64)).operations, 0);
}

double arithmetic(const char* name, DType type, bool fma) {
  const MachineModel machine{.vector_bits = 512, .vector_registers = 32, .fma = fma};
  const te::Tensor x = te::placeholder({64}, type, "x");
  const te::Tensor y = te::compute(
      {64},
      [&](const std::vector<Var>& i) {
        return call(type, name, {x({i[0]})}, CallKind::PureIntrinsic);
      },
      "y");
  const Schedule s = normalize(Schedule::create({y}));
  const std::vector<NestStatement> nest = analyze_nest(schedule_ops(s, infer_bound(s)));
  return statement_cost(nest[0], machine, warm_accesses(nest, machine)[0]).arithmetic;
}

// On processors with multiply-adds exp takes half of what a call does: measured, 2.3 ns against
// 4.7 ns a vector of 512 bits (`./tw bench math`, Zen 5).
TEST(MathCost, ThePriorKnowsWhatIsArithmetic) {
  const DType single = float_type(32), both = float_type(64);
  const double call = arithmetic("sin", single, true);
  EXPECT_EQ(arithmetic("sin", single, false), call);
  EXPECT_EQ(arithmetic("exp", single, false), call);
  EXPECT_LT(arithmetic("exp", single, true), 0.6 * call);
  EXPECT_GT(arithmetic("exp", single, true), 0.3 * call);
  EXPECT_EQ(arithmetic("exp", both, true), arithmetic("sin", both, true));
}

}  // namespace
}  // namespace tw::autotune
