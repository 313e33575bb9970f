// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ir/interpret.h"
#include "tests/unit/lower/pass_text.h"

namespace tw {
namespace {

std::string lowered(std::string_view text) { return run_pass(pass::lower_intrin, text); }

TEST(LowerIntrin, PowersOfTwo) {
  EXPECT_EQ(lowered(R"(declare A: int32*
declare x: int32
A[floormod(x, 8)] = floordiv(x, 16)
)"),
            "A[bitwise_and(x, 7)] = shift_right(x, 4)\n");
}

TEST(LowerIntrin, KnownSigns) {
  EXPECT_EQ(lowered(R"(declare A: int32*
for (x, 0, 100) {
  A[floormod(x, 7)] = floordiv((x - 3), 7)
}
)"),
            R"(for (x, 0, 100) {
  A[(x % 7)] = (let t = (x - 3) in select(((t % 7) < 0), ((t/7) - 1), (t/7)))
}
)");
}

// The share of a task, as lower_parallel writes it: nothing in it is below zero.
TEST(LowerIntrin, SignsOfTheLoopOfATask) {
  EXPECT_EQ(lowered(R"(declare A: int32*
let tasks = min(num_threads(), 28)
// attr [task] parallel_launch = tasks
let chunk = (28 / tasks)
let rest = (28 % tasks)
for (x, ((task*chunk) + min(task, rest)), chunk) {
  A[floormod(x, 7)] = floordiv((x + task), 7)
}
)"),
            R"(let tasks = min(num_threads(), 28)
// attr [task] parallel_launch = tasks
let chunk = (28/tasks)
let rest = (28 % tasks)
for (x, ((task*chunk) + min(task, rest)), chunk) {
  A[(x % 7)] = ((x + task)/7)
}
)");
}

TEST(LowerIntrin, Mathematics) {
  EXPECT_EQ(
      lowered(R"(declare A: float32*
declare B: int32*
A[0] = sigmoid(A[1])
A[1] = rsqrt(A[2])
A[2] = select(isnan(A[3]), 1.000000f, 0.000000f)
B[0] = fabs(B[1])
B[2] = pow(B[1], 5)
if (likely((B[0] < 3))) {
  B[1] = 2
}
)"),
      R"(A[0] = (let t = A[1] in (let t_1 = exp((0.000000f - fabs(t))) in (select((t >= 0.000000f), 1.000000f, t_1)/(1.000000f + t_1))))
A[1] = (1.000000f/sqrt(A[2]))
A[2] = select((let t_2 = A[3] in (t_2 != t_2)), 1.000000f, 0.000000f)
B[0] = (let t_3 = B[1] in select((t_3 < 0), (0 - t_3), t_3))
B[2] = (let t_4 = B[1] in int32((let t_5 = uint32(t_4) in (let t_6 = (uint32(t_4)*uint32(t_4)) in (let t_7 = (t_6*t_6) in (t_5*t_7))))))
if ((B[0] < 3)) {
  B[1] = 2
}
)");
}

TEST(LowerIntrin, FloorDivisionKeepsItsMeaning) {
  const Var x("x"), y("y");
  for (const bool quotient : {true, false}) {
    const Expr e = quotient ? make(FloorDiv{.a = x, .b = y}) : make(FloorMod{.a = x, .b = y});
    const Kernel kernel = run_pass(pass::lower_intrin, Kernel{.body = make(Evaluate{.value = e})});
    const Expr after = as<Evaluate>(kernel.body)->value;
    for (int a = -13; a <= 13; ++a) {
      for (int b = -5; b <= 5; ++b) {
        if (b == 0) continue;
        InterpreterScope scope;
        scope.values[x] = Value{.type = int_type(32), .i = a};
        scope.values[y] = Value{.type = int_type(32), .i = b};
        EXPECT_EQ(evaluate(after, scope).i, evaluate(e, scope).i) << a << " " << b;
      }
    }
    for (int b : {-4, -3, 3, 4, 8}) {
      const Expr by = quotient ? make(FloorDiv{.a = x, .b = b}) : make(FloorMod{.a = x, .b = b});
      const Expr low =
          as<Evaluate>(
              run_pass(pass::lower_intrin, Kernel{.body = make(Evaluate{.value = by})}).body)
              ->value;
      for (int a = -13; a <= 13; ++a) {
        InterpreterScope scope;
        scope.values[x] = Value{.type = int_type(32), .i = a};
        EXPECT_EQ(evaluate(low, scope).i, evaluate(by, scope).i) << a << " " << b;
      }
    }
  }
}

}  // namespace
}  // namespace tw
